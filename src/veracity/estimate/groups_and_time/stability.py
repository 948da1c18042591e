"""Does calibration hold over time? Signed tests of level and slope after recalibration.

Whether *calibration* changes is asked, not whether the loss does: harder times or groups change the loss of calibrated
forecasts too. So outcomes are compared with C, the forecasts recalibrated on average: c with nuisance N, residuals
u = y − c and variances w = c(1 − c). A direction z over cases (1: level; x less its mean: slope), times a function of
time or of the group (`group_calibration.py`), is made orthogonal to N, so that the fit of C cannot make it look larger
or smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from veracity.estimate.calibration.joint import MOST, frequent_classes
from veracity.estimate.calibration.residuals import LEAST_IN_FIT, Many, Two, cases_of, ranges_of
from veracity.estimate.calibration.slope import RIDGE, fit
from veracity.estimate.calibration.verdict import in_class_order, spread_zeros
from veracity.formulas.differences import number_of_cosines
from veracity.inputs import Forecasts
from veracity.inputs.content import class_order
from veracity.types import Array, Floats, Ints

CURVE = 5  # ranges with equal counts, within which the calibration curve has a level of its own
FEWEST_TIMES = 20
TRENDS = 2  # slow cosines that are tested against the faster ones
FEWEST_COSINES = 6
LEVEL, SLOPE = "level", "slope"
NOTHING = 1e-9  # variance of a direction below which it is 0 but for rounding


class Aligned(NamedTuple):
    """Forecasts, their cases, and what stands beside them; `flipped`: p is that of the first of two classes."""

    p: Floats
    cases: Two | Many
    beside: Array
    flipped: bool


def aligned(rows: Forecasts, beside: Array, block: Array | None = None) -> Aligned:
    """Return rows for tests, in an order of `beside` and of content."""
    some = np.flatnonzero((rows.copies > 0) & (rows.mass > 0.0))
    some = some[np.argsort(beside[some], kind="stable")]
    if (beside[some[1:]] == beside[some[:-1]]).any():
        some = some[np.lexsort([rows.row_hashes[some], beside[some]])]
    order = np.arange(rows.k) if rows.picks_only else class_order(rows)
    p, y = in_class_order(np.asarray(rows.scores[some], dtype=np.float64), rows.observed[some], order)
    count = np.asarray(rows.copies[some], dtype=np.float64)
    weight = np.ones(len(some)) if rows.weights is None else np.asarray(rows.weights[some], dtype=np.float64)
    ranges = ranges_of(p)
    realised = p[np.arange(len(y)), y] if p.ndim == 2 else np.where(y == 1, p, 1.0 - p)
    if (realised <= 0.0).any():
        p = spread_zeros(p, int(count.sum()))
    block = None if block is None else np.asarray(block)[some]
    p, cases = cases_of(p, y, count, weight, block, ranges, np.arange(len(some)))
    return Aligned(p, cases, beside[some], rows.k == 2 and bool(order[0] == 1))


@dataclass(frozen=True, eq=False)
class Recalibrated:
    """Two classes: forecasts recalibrated on average, what is left of the outcomes, and the directions of the fit.

    u         (n,) mass·(y − c)
    w         (n,) mass·weight·c(1 − c)
    nuisance  (n, m) indicators of ranges, and x
    ranges    (n,) the range of each forecast
    x         (n,) log-odds of the forecast
    c         (n,) recalibrated probability of the event
    """

    u: Floats
    w: Floats
    nuisance: Floats
    ranges: Ints
    x: Floats
    c: Floats

    @classmethod
    def of(cls, cases: Two, p: Floats) -> Recalibrated:
        x = Two.scalar(p, LEAST_IN_FIT)
        order = np.argsort(x, kind="stable")
        share = np.cumsum(cases.count[order]) / cases.count.sum()
        edges = x[order][np.minimum(np.searchsorted(share, np.arange(1, CURVE) / CURVE), len(x) - 1)]
        ranges = np.searchsorted(edges, x, side="right")
        used = np.unique(ranges)
        nuisance = np.array([*(ranges == j for j in used), x], dtype=np.float64).T  # column by column
        c = tilted(x, nuisance, cases.y, cases.mass)
        return cls(cases.mass * (cases.y - c), cases.mass2 * c * (1.0 - c), nuisance, ranges, x, c)

    def direction(self, name: str) -> Floats:
        """Return z of the cases: 1, or x less its mean."""
        if name == LEVEL:
            return np.ones(len(self.x))
        z = self.x - float(self.w @ self.x / max(self.w.sum(), 1e-300))
        return np.where(np.abs(z) > 1e-9 * np.abs(self.x).max(), z, 0.0)  # of constant forecasts, rounding

    @cached_property
    def inverse(self) -> Floats:
        """Inverse of N′WN."""
        bend = self.nuisance.T @ (self.nuisance * self.w[:, None])
        return np.asarray(np.linalg.pinv(bend, rcond=1e-10, hermitian=True))

    @cached_property
    def left(self) -> Floats:
        """N′u, which the ridge of the fit leaves."""
        return np.asarray(self.nuisance.T @ self.u)


def tilted(x: Floats, features: Floats, y: Floats | Ints, mass: Floats) -> Floats:
    """Return c with logit c = x + features·θ, θ with the largest likelihood less ¼|θ|²."""
    from scipy.special import expit

    def value(theta: Floats) -> float:
        eta = x + features @ theta
        softplus = np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))  # quicker than logaddexp
        return float(mass @ (y * eta - softplus) - RIDGE / 2.0 * theta @ theta)

    theta = np.zeros(features.shape[1])
    best = value(theta)
    for _ in range(30):
        c = expit(x + features @ theta)
        gradient = features.T @ (mass * (y - c)) - RIDGE * theta
        bend = features.T @ (features * (mass * c * (1.0 - c))[:, None]) + RIDGE * np.eye(len(theta))
        step = np.linalg.solve(bend, gradient)
        done = gradient @ step < 1e-8
        while (tried := value(theta + step)) < best - 1e-9 * abs(best):  # too long a step of nearly certain forecasts
            step = step / 2.0
        theta, best = theta + step, max(tried, best)
        if done:
            break
    return np.asarray(expit(x + features @ theta))


def drift(cases: Two | Many, p: Floats, time: Array) -> dict[str, float] | None:
    """Return p-values of slow changes of level and slope in time; None with fewer than 20 different times.

    Cosines φ_j of the rank of time, each in units of its own standard deviation: the two slowest against the faster
    ones, F(2, B − 2). Difficulty that changes in time, a wrong curve, and outcomes that depend on their neighbours
    leave that ratio as it is. `time` is in order.
    """
    cosines = Cosines.of(time)
    if cosines.times < FEWEST_TIMES:
        return None
    return _drift_of_two(cases, p, cosines) if isinstance(cases, Two) else _drift_of_many(cases, p, cosines)


@dataclass(frozen=True, eq=False)
class Cosines:
    """Sums over cases of values times φ_j = cos(πj(m − ½)/n) or φ_j², for the m-th of n different times.

    first   where each time begins among the cases, which are in order
    number  B, the largest j
    """

    first: Ints
    number: int

    @classmethod
    def of(cls, time: Array) -> Cosines:
        first = np.flatnonzero(np.concatenate([[True], time[1:] != time[:-1]]))
        return cls(first, max(FEWEST_COSINES, number_of_cosines(len(first))))

    @property
    def times(self) -> int:
        return len(self.first)

    def sums(self, values: Floats, squared: bool = False) -> Floats:
        """Return (B, …) sums of (n, …) values times φ_j, or times φ_j² = (1 + φ_2j)/2."""
        from scipy.fft import dct

        by_time = values if len(self.first) == len(values) else np.add.reduceat(values, self.first, axis=0)
        transform = dct(by_time, axis=0)[: 2 * self.number + 1] / 2.0
        if not squared:
            return np.asarray(transform[1 : self.number + 1])
        return np.asarray((transform[0] + transform[2 : 2 * self.number + 1 : 2]) / 2.0)


def _drift_of_two(cases: Two, p: Floats, cosines: Cosines) -> dict[str, float]:
    recalibrated, p_values = Recalibrated.of(cases, p), {}
    for name in (LEVEL, SLOPE):
        z = recalibrated.direction(name)
        along = cosines.sums(recalibrated.nuisance * (recalibrated.w * z)[:, None])
        share = along @ recalibrated.inverse
        score = cosines.sums(recalibrated.u * z) - share @ recalibrated.left
        whole = cosines.sums(recalibrated.w * z**2, squared=True)
        variance = whole - np.einsum("ij,ij->i", share, along)
        known = variance > NOTHING * np.maximum(whole, NOTHING)
        p_values[name] = f_test(np.where(known, score**2 / np.where(known, variance, 1.0), 0.0), 1)
    return p_values


def f_test(squares: Floats, df: int) -> float:
    """Return the p-value of the two slowest of squared cosine sums, each of df degrees of freedom, against the rest."""
    from scipy.special import fdtrc

    slow, fast = float(squares[:TRENDS].mean()), float(squares[TRENDS:].mean())
    if fast <= 0.0 or df < 1:
        return 1.0
    return float(fdtrc(TRENDS * df, (len(squares) - TRENDS) * df, slow / fast))


@dataclass(frozen=True, eq=False)
class Residuals:
    """More classes: residuals of levels (rare classes as one) and of the slope of each row, C being ln c = a + b ln p.

    u      (n, k + 1) mass·(e_y − c) and mass·(x_y − Σ_j c_j x_j)
    c      (n, k) probabilities of the classes that have a level of their own, and of the rest as one
    lean   (n, k) Σ over the classes of each of c (x − mean)
    slope  (n,) variance of x under c
    mass2  (n,)
    of_class  (K,) where each class went
    whole, x  (n, K) c and ln p of all classes
    """

    u: Floats
    c: Floats
    lean: Floats
    slope: Floats
    mass2: Floats
    of_class: Ints
    whole: Floats
    x: Floats

    @classmethod
    def of(cls, cases: Many, p: Floats, most: int = MOST) -> Residuals:
        cases = cases.for_fit(p)
        whole, x = fit(cases, p, level=True, scalar=True).p, cases.x
        mean = np.einsum("ij,ij->i", whole, x)
        lean = whole * (x - mean[:, None])
        slope = np.einsum("ij,ij->i", lean, x)
        scalar = x[cases.at_outcome] - mean
        c, of_class = frequent_classes(whole, cases.mass, most)
        lean = np.column_stack([lean[:, of_class == j].sum(axis=1) for j in range(c.shape[1])])
        rest = -c
        rest[np.arange(len(c)), of_class[cases.y]] += 1.0
        u = np.column_stack([rest, scalar]) * cases.mass[:, None]
        return cls(u, c, lean, slope, cases.mass2, of_class, whole, x)

    @property
    def levels(self) -> int:
        return int(self.c.shape[1])

    def column(self, a: int) -> Floats:
        """(n, k + 1) covariances of residual a of each row with all of them, given c."""
        if a == self.levels:
            return np.column_stack([self.lean, self.slope]) * self.mass2[:, None]
        own = np.column_stack([-self.c * self.c[:, [a]], self.lean[:, a]])
        own[:, a] += self.c[:, a]
        return own * self.mass2[:, None]


def _drift_of_many(cases: Many, p: Floats, cosines: Cosines) -> dict[str, float]:
    """Return p-values for more classes; the slope is projected on the levels."""
    residuals = Residuals.of(cases, p)
    k = residuals.levels
    shape = (cosines.number, k + 1, k + 1)
    fitted, once, twice = np.empty(shape[1:]), np.empty(shape), np.empty(shape)
    for a in range(k + 1):
        column = residuals.column(a)
        fitted[a], once[:, a], twice[:, a] = column.sum(axis=0), cosines.sums(column), cosines.sums(column, True)
    # projected on what the fit of C has made zero: less the regression on the sums without φ
    along = once @ np.linalg.pinv(fitted, rcond=1e-10, hermitian=True)
    s = cosines.sums(residuals.u) - along @ residuals.u.sum(axis=0)
    v = twice - along @ once.transpose(0, 2, 1)
    inverse = np.linalg.pinv(v[:, :k, :k], rcond=1e-10, hermitian=True)
    levels = np.einsum("ji,jil,jl->j", s[:, :k], inverse, s[:, :k])
    share = np.einsum("ji,jil->jl", v[:, k, :k], inverse)
    left = v[:, k, k] - np.einsum("ji,ji->j", share, v[:, :k, k])
    whole = float(residuals.mass2 @ np.einsum("ij,ij->i", residuals.whole, residuals.x**2))  # in units of the weights
    known = left > NOTHING * np.maximum(v[:, k, k], whole)
    slope = s[:, k] - np.einsum("ji,ji->j", share, s[:, :k])
    slopes = np.where(known, slope**2 / np.where(known, left, 1.0), 0.0)
    rank = int(np.linalg.matrix_rank(fitted[:k, :k], tol=1e-10 * max(float(np.trace(fitted[:k, :k])), 1e-300)))
    return {LEVEL: f_test(levels, rank), SLOPE: f_test(slopes, 1)}
