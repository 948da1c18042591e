"""Exact values of N17's one-dimensional examples: quadrature and root finding instead of draws.

The line is cut where the model's probability crosses the precision limit, a bin edge or its own extremes; on every
piece it is monotone and smooth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.formulas.distributions import CoupledNormal
from veracity.simulate import TwoClasses

Array = NDArray[Any]
MEANS = (1.0, 0.0, -2.0 / 3.0)  # decisiveness, geometric accuracy, robustness
PRECISION = 0.01  # q_lim of N17, which is also the width of its bins


@dataclass(frozen=True)
class Population:
    """One example with everything N17 says about it, as numbers of the population."""

    case: TwoClasses
    limit: float = PRECISION
    low: float = -math.inf  # the source may be cut to a finite range, as a plot is
    high: float = math.inf

    # ---- the three means of model and source

    @cached_property
    def model(self) -> Array:
        """Means of the model's probability of the outcome, clipped to [limit, 1 - limit]."""
        return self._means(lambda x: self.case.log_odds(x), self.limit)

    @cached_property
    def true(self) -> Array:
        """The same means of the true posterior, given x."""
        return self._means(lambda x: self.case.true_log_odds(x), 0.0)

    @cached_property
    def calibrated(self) -> Array:
        """The source probability per class: P(class | model's probability) in bins of width 0.01."""
        true, every = np.stack(self._columns, axis=1)  # (class, bin) each
        held = true > 0
        return _generalized(true[held] / every[held], true[held])

    @cached_property
    def pooled(self) -> Array:
        """The source probability of (16): columns of both classes in one set of bins."""
        true, every = self._columns[0] + self._columns[1]
        held = true > 0
        return _generalized(true[held] / every[held], true[held])

    def slope(self, source: Array) -> float:
        """N17's orientation, model over source: above 1 (steeper than 45 degrees) is over-confident."""
        return float((self.model[0] - self.model[2]) / (source[0] - source[2]))

    # ---- classification

    @cached_property
    def classified(self) -> float:
        """Share of correct picks."""
        return sum(
            0.5 * self._mass(label, a, b)
            for a, b in self._pieces([0.0])
            for label in (0, 1)
            if (self.case.log_odds(_inside(a, b)) > 0) == (label == 1)
        )

    def area(self, judged_by: tuple[CoupledNormal, CoupledNormal]) -> float:
        """Area under the ROC curve of the model's probability, when the classes are distributed as `judged_by`."""
        monotone = self._pieces([])

        def better(x: float) -> float:
            """P(orange has higher model odds than x)."""
            level = float(self.case.log_odds(x))
            return sum(_above(self.case.log_odds, level, judged_by[1], a, b) for a, b in monotone)

        return sum(_quad(lambda x: float(judged_by[0].pdf(x)) * better(x), a, b) for a, b in monotone)

    def roc(self, judged_by: tuple[CoupledNormal, CoupledNormal], thresholds: Array) -> tuple[Array, Array]:
        """False and true positive rates of "model's probability of orange above the threshold"."""
        rates = np.zeros((2, len(thresholds)))
        for j, q in enumerate(thresholds):
            level = math.log(q) - math.log1p(-q)
            for a, b in self._pieces([level]):
                if self.case.log_odds(_inside(a, b)) > level:
                    rates[:, j] += [float(f.cdf(b) - f.cdf(a)) for f in judged_by]
        return rates[0], rates[1]

    # ---- pieces

    def _mass(self, label: int, a: float, b: float) -> float:
        f = self.case.source[label]
        a, b = max(a, self.low), min(b, self.high)
        total = f.cdf(self.high) - f.cdf(self.low)
        middle = float(f.median())
        part = f.sf(a) - f.sf(b) if a > middle else f.cdf(b) - f.cdf(a)  # the tail that does not cancel
        return max(float(part / total), 0.0) if a < b else 0.0

    def _means(self, log_odds: Callable[[Any], Any], limit: float) -> Array:
        values = []
        cuts = [math.log(limit) - math.log1p(-limit), math.log1p(-limit) - math.log(limit)] if limit else []
        pieces = self._pieces(cuts, log_odds)
        for m in MEANS:
            total = 0.0
            for label in (0, 1):
                sign = 1.0 if label == 1 else -1.0
                f = self.case.source[label]
                norm = float(f.cdf(self.high) - f.cdf(self.low))

                def integrand(x: float, m: float = m, sign: float = sign, f: CoupledNormal = f) -> float:
                    log_q = -np.logaddexp(0.0, -sign * log_odds(x))
                    if limit:
                        log_q = min(max(log_q, math.log(limit)), math.log1p(-limit))
                    log_f = float(f.logpdf(x))
                    if m:
                        return math.exp(log_f + m * log_q)
                    return math.exp(log_f) * log_q if log_f > -700.0 else 0.0

                total += 0.5 * sum(_quad(integrand, a, b) for a, b in pieces) / norm
            values.append(total ** (1.0 / m) if m else math.exp(total))
        return np.array(values)

    @cached_property
    def _columns(self) -> tuple[Array, Array]:
        """For green's and orange's column of forecasts: (mass where the class is true, all mass) of every bin.

        Bins are [a, a + 0.01) of the clipped value, so 0.01 itself shares its bin and 0.99 has one of its own.
        """
        edges = np.arange(1, 100) / 100.0
        levels = np.log(edges) - np.log1p(-edges)
        mass = np.zeros((len(edges) + 1, 2))
        for a, b in self._pieces(list(levels)):
            k = int(np.searchsorted(levels, self.case.log_odds(_inside(a, b))))
            mass[k] += [0.5 * self._mass(label, a, b) for label in (0, 1)]
        columns = []
        for label, column in enumerate((mass[::-1].copy(), mass)):  # green's forecast is 1 - q
            first = round(self.limit * 100)
            column[first] += column[:first].sum(axis=0)
            column[:first] = 0.0
            columns.append(np.array([column[:, label], column.sum(axis=1)]))
        return columns[0], columns[1]

    def _pieces(self, levels: list[float], log_odds: Callable[[Any], Any] | None = None) -> list[tuple[float, float]]:
        """The line cut at extremes of the log odds and where they cross the levels."""
        log_odds = log_odds or self.case.log_odds
        # Dense near the classes, ever wider outwards: beyond 1e5 a tail of kappa 0.5 holds 1e-10.
        outer = np.geomspace(12.0, 1e6, 600)
        x = np.concatenate([1.0 - outer[::-1], np.linspace(-10.99, 12.99, 4801), 1.0 + outer])
        with np.errstate(invalid="ignore", over="ignore"):
            y = np.asarray(log_odds(x), dtype=np.float64)
        held = np.isfinite(y)
        x, y = x[held], y[held]
        cuts = {float(c) for level in levels for c in _crossings(log_odds, level, x, y - level)}
        cuts |= set(_extremes(log_odds, x, y))
        inside = [c for c in sorted(cuts) if self.low < c < self.high]
        ends = [self.low, *inside, self.high]
        return list(itertools.pairwise(ends))


def _generalized(values: Array, weights: Array) -> Array:
    weights = weights / weights.sum()
    return np.array([(weights @ values**m) ** (1 / m) if m else math.exp(weights @ np.log(values)) for m in MEANS])


def _inside(a: float, b: float) -> float:
    """A point between a and b, either of which may be infinite."""
    if math.isinf(a) and math.isinf(b):
        return 0.0
    if math.isinf(a):
        return b - 1.0 - abs(b)
    if math.isinf(b):
        return a + 1.0 + abs(a)
    return (a + b) / 2.0


def _crossings(f: Callable[[Any], Any], level: float, x: Array, y: Array) -> list[float]:
    """Where f meets the level; y = f(x) - level on a grid that separates the crossings."""
    from scipy.optimize import brentq

    changes = np.flatnonzero(np.sign(y[:-1]) * np.sign(y[1:]) < 0)
    found = [brentq(lambda t: float(f(t)) - level, x[i], x[i + 1], xtol=1e-13, rtol=1e-14) for i in changes]
    return [*found, *x[y == 0]]


def _extremes(f: Callable[[Any], Any], x: Array, y: Array) -> list[float]:
    from scipy.optimize import minimize_scalar

    found = []
    rising = np.sign(np.diff(y))
    for i in np.flatnonzero(rising[:-1] * rising[1:] < 0):
        best = minimize_scalar(
            lambda t, s=rising[i]: -s * float(f(t)), bounds=(x[i], x[i + 2]), method="bounded", options={"xatol": 1e-10}
        )
        found.append(float(best.x))
    return found


def _above(f: Callable[[Any], Any], level: float, density: CoupledNormal, a: float, b: float) -> float:
    """P(density in (a, b) and f > level), f monotone there."""
    from scipy.optimize import brentq

    inner = max(a, -1e7), min(b, 1e7)
    at_a, at_b = (float(f(t)) - level for t in inner)
    if at_a > 0 and at_b > 0:
        return float(density.cdf(b) - density.cdf(a))
    if at_a <= 0 and at_b <= 0:
        return 0.0
    cut = brentq(lambda t: float(f(t)) - level, *inner, xtol=1e-12)
    return float(density.cdf(b) - density.cdf(cut)) if at_b > 0 else float(density.cdf(cut) - density.cdf(a))


def _quad(f: Callable[[float], float], a: float, b: float) -> float:
    from scipy.integrate import quad

    return float(quad(f, a, b, epsabs=1e-11, epsrel=1e-10, limit=400)[0])
