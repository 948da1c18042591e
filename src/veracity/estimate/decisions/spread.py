"""How far several means vary together, whether cases are independent, in clusters or in time; simultaneous bands."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from veracity.estimate.comparison.compare import FEWEST_CLUSTERS, FEWEST_TIMES
from veracity.formulas.differences import half_width, number_of_cosines
from veracity.inputs import Forecasts
from veracity.state.clusters import CLUSTER, TIME
from veracity.state.tally import Tally
from veracity.types import Array, Floats

DRAWS = 2_000  # of a band: its half-width varies by 2 %
ROUNDING = 1e-12  # of the largest variance: what is below comes from rounding, and its root would show at 1e-8
AT_ONCE = 1 << 12  # times whose cosines are computed together


@dataclass(frozen=True, eq=False)
class Dependence:
    """Which rows depend on each other.

    key     (n,) number of the cluster or time of each row, in their order; None: rows are independent
    copies  (n,) how many equal cases each row is
    """

    copies: Array
    kind: str | None = None
    key: Array | None = None
    lags: int | None = None

    @classmethod
    def of_rows(cls, rows: Forecasts, clusters: Array | None, lags: int | None = None) -> Dependence:
        """Return that of rows; without clusters, their times decide."""
        by = rows.time if clusters is None else clusters
        if by is None:
            return cls(rows.copies)
        key = np.unique(by, return_inverse=True)[1].ravel()
        return cls(rows.copies, TIME if clusters is None else CLUSTER, key, lags)

    @classmethod
    def of(cls, tally: Tally, rows: Forecasts) -> Dependence:
        """Return that of analysis rows of a tally."""
        return cls.of_rows(rows, tally.dependent(rows), tally.plan.lags)

    @cached_property
    def number(self) -> int:
        """Number of clusters, times or cases."""
        return int(self.copies.sum()) if self.key is None else int(self.key.max(initial=-1)) + 1

    @property
    def reason(self) -> str | None:
        """Why there can be no intervals, if so."""
        least = {None: 2, CLUSTER: FEWEST_CLUSTERS, TIME: FEWEST_TIMES}[self.kind]
        what = {None: "cases", CLUSTER: "clusters", TIME: "times"}[self.kind]
        few = f"{self.number} {what.removesuffix('s') if self.number == 1 else what}"
        return f"{few}: too few for an interval (from {least})" if self.number < least else None

    @property
    def method(self) -> str:
        return {None: "independent cases", CLUSTER: f"{self.number:,} clusters", TIME: f"{self.number:,} times"}[
            self.kind
        ]

    @property
    def df(self) -> float:
        """Degrees of freedom of t intervals."""
        if self.kind == CLUSTER:
            return self.number - 1.0
        return math.inf if self.kind is None or self.lags is not None else float(number_of_cosines(self.number))

    def by_key(self, values: Floats | sparse.csr_matrix) -> Floats | sparse.csr_matrix:
        """Return sums of the rows of each cluster or time."""
        n = len(self.copies)
        return sparse.csr_matrix((np.ones(n), (self.key, np.arange(n))), (self.number, n)) @ values

    def covariance(self, u: Floats) -> Floats:
        """Return the covariance of the means whose influences (n, means) are the rows of u."""
        if self.key is None:
            scaled = u / np.sqrt(np.maximum(self.copies, 1))[:, None]
            return np.asarray(scaled.T @ scaled)
        return self.of_sums(self.by_key(u), np.zeros(self.number), np.zeros(u.shape[1]))

    def of_sums(self, sums: Floats | sparse.csr_matrix, weight: Floats, mean: Floats) -> Floats:
        """Return the covariance of totals from sums by key (keys, columns), each less its weight times the mean."""
        if self.kind == CLUSTER:
            cross = np.asarray(sums.T @ weight).ravel()
            square = sums.T @ sums
            square = _dense(square)
            centred = square - np.outer(cross, mean) - np.outer(mean, cross) + (weight @ weight) * np.outer(mean, mean)
            return np.asarray(centred * (self.number / max(self.number - 1.0, 1.0)))
        if self.lags is not None:
            u = _dense(sums) - np.outer(weight, mean)
            return _bartlett(u, min(self.lags, self.number - 1))
        b = number_of_cosines(self.number)
        waves = np.zeros((b, len(mean)))
        for start in range(0, self.number, AT_ONCE):
            t = np.arange(start, min(start + AT_ONCE, self.number))
            cosines = np.cos(np.pi * np.arange(1, b + 1)[:, None] * (t + 0.5) / self.number)
            waves += cosines @ sums[t] - np.outer(cosines @ weight[t], mean)
        return np.asarray(waves.T @ waves * (2.0 / b))


def _dense(values: Any) -> Floats:
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


def _bartlett(u: Floats, lags: int) -> Floats:
    total = u.T @ u
    for lag in range(1, lags + 1):
        cross = u[lag:].T @ u[: len(u) - lag]
        total = total + (1.0 - lag / (lags + 1.0)) * (cross + cross.T)
    return np.asarray(total)


def errors(covariance: Floats) -> Floats:
    """Return standard errors; what rounding leaves of a constant is 0."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def half(level: float, df: float) -> float:
    """Return the half-width of an interval in standard errors."""
    return half_width(level, df)


def deviations(covariance: Floats, df: float, seed: int) -> Floats:
    """Return Gaussian draws of the errors of all means, (draws, means); 0 where nothing varies.

    That is the multiplier bootstrap of the influences, with Gaussian weights for cases, clusters or cosines.
    """
    scale = errors(covariance)
    some = scale > 1e-12 * max(float(scale.max(initial=0.0)), 1e-300)
    if not some.any():
        return np.zeros((DRAWS, len(scale)))
    values, vectors = np.linalg.eigh(covariance[np.ix_(some, some)])
    values = np.where(values > ROUNDING * values[-1], values, 0.0)
    root = (vectors * np.sqrt(values)) @ vectors.T  # the symmetric one: no sign is arbitrary
    rng = np.random.default_rng(seed)
    drawn: Floats = rng.standard_normal((DRAWS, int(some.sum()))) @ root
    if math.isfinite(df):
        drawn /= np.sqrt(rng.chisquare(df, DRAWS) / df)[:, None]
    if some.all():
        return drawn
    every = np.zeros((DRAWS, len(scale)))
    every[:, some] = drawn
    return every


def largest_deviation(covariance: Floats, df: float, level: float, seed: int, *, studentised: bool = False) -> float:
    """Return the half-width of a band that holds for all means at once, or in standard errors of each."""
    drawn, scale = np.abs(deviations(covariance, df, seed)), errors(covariance)
    drawn = drawn / np.where(scale > 0.0, scale, 1.0) if studentised else drawn
    return float(np.quantile(drawn.max(axis=1, initial=0.0), level))
