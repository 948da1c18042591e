"""Does calibration hold over time and in every group? Signed tests of level and slope after recalibration.

Whether *calibration* changes is asked, not whether the loss does: harder times or groups change the loss of calibrated
forecasts too. So outcomes are compared with C, the forecasts recalibrated on average: c with nuisance N, residuals
u = y − c and variances w = c(1 − c). A direction z over cases (1: level; x less its mean: slope), times a function of
time or of the group, is made orthogonal to N, so that the fit of C cannot make it look larger or smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.calibration_tests import p_values
from veracity.estimate.cases import DRAWS, LEAST_IN_FIT, Many, Two
from veracity.estimate.slope import RIDGE, fit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CURVE = 5  # ranges with equal counts, within which the calibration curve has a level of its own
FEWEST_TIMES = 20
TRENDS = 2  # slow cosines that are tested against the faster ones
AT_ONCE = 1 << 22  # numbers of a block of directions
LEVEL, SLOPE = "level", "slope"


@dataclass(frozen=True, eq=False)
class Recalibrated:
    """Two classes: forecasts recalibrated on average, what is left of the outcomes, and the directions of the fit.

    u         (n,) w·(y − c)
    w         (n,) w²·c(1 − c)
    nuisance  (n, m) indicators of ranges, and x
    x         (n,) log-odds of the forecast
    c         (n,) recalibrated probability of the event
    """

    u: Floats
    w: Floats
    nuisance: Floats
    x: Floats
    c: Floats

    @classmethod
    def of(cls, cases: Two, p: Floats) -> Recalibrated:
        x = Two.scalar(p, LEAST_IN_FIT)
        edges = np.quantile(x, np.arange(1, CURVE) / CURVE)
        ranges = np.searchsorted(edges, x, side="right")
        used = [j for j in range(CURVE) if (ranges == j).any()]
        nuisance = np.column_stack([*(ranges == j for j in used), x]).astype(np.float64)
        c = tilted(p, x, nuisance, cases.y, cases.mass)
        return cls(cases.mass * (cases.y - c), cases.mass2 * c * (1.0 - c), nuisance, x, c)

    def direction(self, name: str) -> Floats:
        """Return z of the cases: 1, or x less its mean."""
        if name == LEVEL:
            return np.ones(len(self.x))
        return self.x - float(self.w @ self.x / max(self.w.sum(), 1e-300))

    @cached_property
    def _inverse(self) -> Floats:
        bend = self.nuisance.T @ (self.nuisance * self.w[:, None])
        return np.asarray(np.linalg.pinv(bend, rcond=1e-10, hermitian=True))

    def orthogonal(self, directions: Floats) -> Floats:
        """Return (n, j) directions less what the nuisance explains of them."""
        along = self._inverse @ (self.nuisance.T @ (directions * self.w[:, None]))
        return np.asarray(directions - self.nuisance @ along)


def tilted(p: Floats, x: Floats, features: Floats, y: Floats | Ints, mass: Floats) -> Floats:
    """Return c with logit c = x + features·θ, θ with the largest likelihood less ¼|θ|²."""
    from scipy.special import expit

    theta, c = np.zeros(features.shape[1]), np.asarray(expit(x))
    for _ in range(30):
        gradient = features.T @ (mass * (y - c)) - RIDGE * theta
        bend = features.T @ (features * (mass * c * (1.0 - c))[:, None]) + RIDGE * np.eye(len(theta))
        step = np.linalg.solve(bend, gradient)
        theta = theta + step
        c = np.asarray(expit(x + features @ theta))
        if gradient @ step < 1e-8:
            break
    return c


def drift(cases: Two | Many, p: Floats, time: Floats) -> dict[str, float] | None:
    """Return p-values of slow changes of level and slope in time; None with fewer than 20 different times.

    Cosines φ_j of the rank of time, each in units of its own standard deviation: the two slowest against the faster
    ones, F(2, B − 2). Difficulty that changes in time, a wrong curve, and outcomes that depend on their neighbours
    leave that ratio as it is.
    """
    order, place = np.unique(time, return_inverse=True)
    times = len(order)
    if times < FEWEST_TIMES:
        return None
    number = max(6, int(0.41 * times ** (2.0 / 3.0)))
    phase = math.pi * (place.ravel() + 0.5) / times
    if isinstance(cases, Two):
        held = Recalibrated.of(cases, p)
        return {name: _drift_of_two(held, held.direction(name), phase, number) for name in (LEVEL, SLOPE)}
    return _drift_of_many(cases, p, phase, number)


def _drift_of_two(held: Recalibrated, z: Floats, phase: Floats, number: int) -> float:
    squares = np.empty(number)
    step = max(1, AT_ONCE // len(phase))
    for start in range(0, number, step):
        j = np.arange(start, min(start + step, number)) + 1
        e = held.orthogonal(np.cos(np.outer(phase, j)) * z[:, None])
        variance = np.einsum("ij,ij,i->j", e, e, held.w)
        squares[j - 1] = np.where(variance > 1e-12, (held.u @ e) ** 2 / np.maximum(variance, 1e-300), 0.0)
    return f_test(squares, 1)


def f_test(squares: Floats, df: int) -> float:
    """Return the p-value of the two slowest of squared cosine sums, each of df degrees of freedom, against the rest."""
    from scipy.special import fdtrc

    slow, fast = squares[:TRENDS].mean(), squares[TRENDS:].mean()
    if fast <= 0.0:
        return 1.0
    return float(fdtrc(TRENDS * df, (len(squares) - TRENDS) * df, slow / fast))


def _drift_of_many(cases: Many, p: Floats, phase: Floats, number: int) -> dict[str, float]:
    """Return p-values for more classes: C is ln c = a + b ln p; the slope is projected on the levels."""
    cases = cases.for_fit(p)
    k, c = cases.levels, fit(cases, p, level=True, scalar=True).p
    rest = -c
    rest[cases.at_outcome] += 1.0
    x = cases.x
    mean = np.einsum("ij,ij->i", c, x)
    scalar = x[cases.at_outcome] - mean
    level_squares, slope_squares = np.empty(number), np.empty(number)
    # residuals of a row and their covariance given c: (levels, slope)
    both = np.column_stack([rest, scalar]) * cases.mass[:, None]
    fitted = _moments(c, x, mean, cases.mass2)
    for j in range(1, number + 1):
        phi = np.cos(phase * j)
        once, twice = _moments(c, x, mean, cases.mass2 * phi), _moments(c, x, mean, cases.mass2 * phi**2)
        # projected on what the fit of C has made zero: s_j less its regression on the sums without φ
        along = once @ np.linalg.pinv(fitted, rcond=1e-10, hermitian=True)
        s, v = phi @ both, twice - along @ once.T
        inverse = np.linalg.pinv(v[:k, :k], rcond=1e-10, hermitian=True)
        level_squares[j - 1] = s[:k] @ inverse @ s[:k]
        share = v[k, :k] @ inverse
        left = v[k, k] - share @ v[:k, k]
        slope_squares[j - 1] = (s[k] - share @ s[:k]) ** 2 / left if left > 1e-12 else 0.0
    return {LEVEL: f_test(level_squares, k - 1), SLOPE: f_test(slope_squares, 1)}


def _moments(c: Floats, x: Floats, mean: Floats, mass: Floats) -> Floats:
    """Return (k + 1, k + 1) Σ mass·Cov of the residuals of levels and slope of a row with probabilities c."""
    weighted = c * mass[:, None]
    k = c.shape[1]
    out = np.empty((k + 1, k + 1))
    out[:k, :k] = np.diag(weighted.sum(axis=0)) - c.T @ weighted
    lean = weighted * (x - mean[:, None])
    out[:k, k] = out[k, :k] = lean.sum(axis=0)
    out[k, k] = float(np.einsum("ij,ij->", lean, x))
    return out


# -- groups -----------------------------------------------------------------------------------------------------------

MOST_DRAWN = 20_000_000  # outcomes times groups that are drawn; beyond, the scores of groups are normal


@dataclass(frozen=True, eq=False)
class GroupScores:
    """How far one direction is off in every group: z, that of drawn outcomes, and a size.

    z      (groups,) score over (its variance under C + 1)^½; of the levels of several classes its length
    drawn  (draws, groups) the same of outcomes that follow C
    shift  (groups,) log-odds by which the group is off, shrunk by what chance explains; None of several classes
    """

    z: Floats
    drawn: Floats
    shift: Floats | None = None

    @cached_property
    def p(self) -> float:
        """Of Σz² and max z² together, the smaller of the two among the same draws."""
        both = np.vstack([self.z, self.drawn]) ** 2
        ranks = [p_values(both.sum(axis=1)), p_values(both.max(axis=1))]
        return float(p_values(-np.minimum(*ranks))[0])

    @property
    def named(self) -> Ints:
        """Numbers of the groups beyond the 95 % quantile of the largest |z| of the draws."""
        limit = float(np.quantile(np.abs(self.drawn).max(axis=1), 0.95))
        return np.flatnonzero(np.abs(self.z) > limit)


def shrunk(score: Floats, variance: Floats) -> Floats:
    """Return score/variance of each group, drawn towards 0 as far as chance explains it (DerSimonian–Laird)."""
    known = variance > 1e-9
    v = np.where(known, variance, 1.0)
    d, weights = np.where(known, score / v, 0.0), np.where(known, v, 0.0)
    total = max(float(weights.sum()), 1e-300)
    excess = float(weights @ (d - weights @ d / total) ** 2) - (known.sum() - 1)
    free = total - float((weights**2).sum()) / total
    between = max(0.0, excess / free) if free > 0.0 else 0.0
    return np.asarray(d * between / (between + 1.0 / v) if between > 0.0 else 0.0 * d)


def group_scores(cases: Two | Many, p: Floats, group: Ints, seed: int = 0) -> dict[str, GroupScores]:
    """Return the scores of level and slope in every group; `group` numbers the groups of the cases from 0."""
    rng = np.random.default_rng(seed)
    if isinstance(cases, Two):
        return _groups_of_two(cases, p, group, rng)
    return _groups_of_many(cases, p, group, rng)


def _groups_of_two(cases: Two, p: Floats, group: Ints, rng: np.random.Generator) -> dict[str, GroupScores]:
    held, number = Recalibrated.of(cases, p), int(group.max()) + 1
    indicator = (group[:, None] == np.arange(number)).astype(np.float64)
    directions = {name: held.orthogonal(indicator * held.direction(name)[:, None]) for name in (LEVEL, SLOPE)}
    if cases.block is not None:
        sums = {
            name: _by_block(e * held.u[:, None], cases.block, int(cases.block.max()) + 1)
            for name, e in directions.items()
        }
        signs = 1.0 - 2.0 * rng.integers(0, 2, (DRAWS, int(cases.block.max()) + 1))
        drawn = {name: signs @ one for name, one in sums.items()}
    elif len(p) * number <= MOST_DRAWN:
        # copies of a row share its forecast: the events among them are binomial
        events = rng.binomial(cases.count.astype(np.int64), np.clip(held.c, 0.0, 1.0), (DRAWS, len(p)))
        rest = (events - cases.count * held.c) * cases.weight
        drawn = {name: rest @ e for name, e in directions.items()}
    else:
        drawn = {name: _normal(e.T @ (e * held.w[:, None]), rng) for name, e in directions.items()}
    found = {}
    for name, e in directions.items():
        score, variance = held.u @ e, np.einsum("ij,ij,i->j", e, e, held.w)
        scale = np.sqrt(variance + 1.0)
        found[name] = GroupScores(score / scale, drawn[name] / scale, shrunk(score, variance))
    return found


def _groups_of_many(cases: Many, p: Floats, group: Ints, rng: np.random.Generator) -> dict[str, GroupScores]:
    """Return the scores for more classes: C is ln c = a + b ln p; the slope is projected on the levels."""
    cases = cases.for_fit(p)
    k, number = cases.levels, int(group.max()) + 1
    c = fit(cases, p, level=True, scalar=True).p
    rest, x, mean = -c, cases.x, np.einsum("ij,ij->i", c, cases.x)
    rest[cases.at_outcome] += 1.0
    both = np.column_stack([rest, x[cases.at_outcome] - mean]) * cases.mass[:, None]
    parts = [np.flatnonzero(group == g) for g in range(number)]
    covariance = np.array([_moments(c[i], x[i], mean[i], cases.mass2[i]) for i in parts])
    inverse = np.linalg.pinv(covariance.sum(axis=0), rcond=1e-10, hermitian=True)
    along = covariance @ inverse  # what the fit of C takes from each group
    left = covariance - along @ covariance
    if cases.block is not None:
        sums = _by_block(both, cases.block * number + group, (int(cases.block.max()) + 1) * number)
        signs = 1.0 - 2.0 * rng.integers(0, 2, (DRAWS, int(cases.block.max()) + 1))
        raw = (signs @ sums.reshape(signs.shape[1], -1)).reshape(DRAWS, number, k + 1)
    else:
        raw = np.stack([_normal(one, rng) for one in covariance], axis=1)
    observed = np.array([both[i].sum(axis=0) for i in parts])[None]
    every = np.vstack([observed, raw])
    every = every - np.einsum("gij,dj->dgi", along, every.sum(axis=1))
    levels, slopes = np.empty((2, len(every), number))
    for g in range(number):
        own = np.linalg.pinv(left[g][:k, :k] + np.eye(k), hermitian=True)
        levels[:, g] = np.sqrt(np.maximum(np.einsum("di,ij,dj->d", every[:, g, :k], own, every[:, g, :k]), 0.0))
        share = left[g][k, :k] @ own
        spread = left[g][k, k] - share @ left[g][:k, k]
        slopes[:, g] = (every[:, g, k] - every[:, g, :k] @ share) / math.sqrt(max(spread, 0.0) + 1.0)
    return {LEVEL: GroupScores(levels[0], levels[1:]), SLOPE: GroupScores(slopes[0], slopes[1:])}


def _by_block(values: Floats, block: Ints, number: int) -> Floats:
    return np.column_stack([np.bincount(block, column, number) for column in values.T])


def _normal(covariance: Floats, rng: np.random.Generator) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(rng.standard_normal((DRAWS, len(covariance))) @ root.T)
