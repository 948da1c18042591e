"""Forecasts and outcomes as the calibration tests see them: sums of residuals, their covariance, and null draws.

Every test is a function of residuals, each a sum over rows of (outcome − forecast):

    level    U_k = Σ_i w_i (1[y_i = k] − p_ik)
    scalar   G   = Σ_i w_i (x_iy − Σ_j p_ij x_ij), x a function of the forecast
    ranges   U_b = Σ_i w_i (1[p_iy in b] − Σ_{j in b} p_ij)
    square   Σ_i w_i (y_i − p_i) x_i² of two classes
    joint    S_jk of more classes (`joint.py`)

Those of level, scalar and ranges are also the gradient, and their covariance under the forecasts the information
matrix, of the exponential family p' ∝ p·exp(a_k + (b − 1) x + c_range) at p: the fits and the tests share everything
here. Two classes use the event's column alone. Nothing depends on the order of rows or of classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.calibration.joint import Joint
from veracity.formulas.rules import largest
from veracity.types import Floats, Ints

CUTS = np.array([0.001, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99, 0.999])
EDGES = np.concatenate([[0.0], CUTS, [1.0]])
RANGES = len(CUTS) + 1
LEAST_IN_TEST, LEAST_IN_FIT = 1e-4, 1e-12  # logarithms of smaller probabilities are those of these
DRAWS = 999
CELL = 0.05  # of log-odds and of log-weights: two-class forecasts closer than this are drawn together
MOST_MISSES = 4_000  # expected outcomes other than the pick; beyond, sums of residuals are normal
MOST_OUTCOMES = 200_000  # rows drawn one by one
FEW = 25.0  # a sum of indicators with a smaller variance is nearer to Poisson than to normal
AT_ONCE = 1 << 10  # rows whose outcomes are drawn together
ROUND = np.uint64(0xBF58476D1CE4E5B9)


def ranges_of(p: Floats) -> NDArray[np.int8]:
    """Return the range of each probability; a cut, in any precision, belongs to the range above it."""
    ranges = np.zeros(p.shape, np.int8)
    for cut in CUTS * (1.0 - 1e-7):  # quicker than a search for each
        ranges += p >= cut
    return ranges


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows of forecasts: `count` cases each, of importance `weight` (scaled so that Σ w = Σ w²), in dependent blocks.

    The columns of sums of residuals are the level (`levels` of them), one scalar, the ranges, and what one kind of
    cases adds to them: `beyond` is where that begins.
    """

    y: Ints
    count: Floats
    weight: Floats
    block: Ints | None
    x: Floats  # the scalar of each forecast
    ranges: NDArray[np.int8]

    @staticmethod
    def scalar(p: Floats, least: float) -> Floats:
        """Return x at forecasts p, none taken below `least`."""
        raise NotImplementedError

    def for_fit(self, p: Floats) -> Self:
        """Return the cases with the scalar of the fits at p."""
        return replace(self, x=self.scalar(p, LEAST_IN_FIT))

    def for_test(self, p: Floats) -> Self:
        """Return the cases with the scalar of the tests at p; the ranges stay those of the first forecasts."""
        return replace(self, x=self.scalar(p, LEAST_IN_TEST))

    @property
    def beyond(self) -> int:
        """Number of the columns that fits know: level, scalar and ranges."""
        return int(self.levels) + 1 + RANGES  # type: ignore[attr-defined]

    def take(self, rows: slice | Ints) -> Self:
        """Return some rows, as independent ones."""
        columns = {name: getattr(self, name)[rows] for name in ("y", "count", "weight", "x", "ranges")}
        return replace(self, block=None, **columns)

    @cached_property
    def mass(self) -> Floats:
        return self.count * self.weight

    @cached_property
    def mass2(self) -> Floats:
        return self.mass if (self.weight == 1.0).all() else self.mass * self.weight

    @property
    def n(self) -> float:
        """Number of cases, or of equally weighted cases with the same precision."""
        return float(self.mass.sum())


@dataclass(frozen=True, eq=False)
class Two(Cases):
    """Two classes, p (m,) the probability of the event."""

    levels = 1

    @staticmethod
    def scalar(p: Floats, least: float) -> Floats:
        """Return x of the event less that of its complement."""
        return np.asarray(np.log(np.maximum(p, least)) - np.log(np.maximum(1.0 - p, least)))

    @cached_property
    def features(self) -> Floats:
        """(m, 3 + ranges) what multiplies the residual of a row: 1, x, the ranges, x²."""
        return _two_features(self.x, self.ranges)

    @cached_property
    def _square(self) -> Floats:
        return np.asarray(self.x**2)

    def _by_range(self, values: Floats) -> Floats:
        """Return (ranges,) sums of (m,) values."""
        return np.asarray(np.bincount(self.ranges, values, RANGES), dtype=np.float64)

    def residuals(self, p: Floats, ranges: bool = True) -> Floats:
        rest = self.mass * (self.y - p)
        return np.concatenate([[rest.sum(), rest @ self.x], self._by_range(rest), [rest @ self._square]])

    def residuals_by_block(self, p: Floats) -> Floats:
        assert self.block is not None
        return _sums_by_block(self.features * (self.mass * (self.y - p))[:, None], self.block)

    def covariance(self, p: Floats, mass: Floats, columns: Ints | None = None) -> Floats:
        """Return Σ mass·Cov(residuals of a row) if outcomes follow p; `mass2` gives the covariance of the sums."""
        spread = mass * p * (1.0 - p)
        moved = spread * self.x
        turned = moved * self.x
        whole, lean, bent = (self._by_range(values) for values in (spread, moved, turned))
        one, last = slice(2, 2 + RANGES), 2 + RANGES
        matrix = np.zeros((last + 1, last + 1))
        matrix[one, one] = np.diag(whole)
        for column, of_ranges in ((0, whole), (1, lean), (last, bent)):
            matrix[column, one] = matrix[one, column] = of_ranges
        sums = whole.sum(), lean.sum(), bent.sum(), turned @ self.x, turned @ self._square
        for i, a in enumerate((0, 1, last)):
            for j, b in enumerate((0, 1, last)):
                matrix[a, b] = sums[i + j]
        return matrix if columns is None else matrix[np.ix_(columns, columns)]

    def variances(self, p: Floats) -> Floats:
        spread = self.mass2 * p * (1.0 - p)
        by_range = self._by_range(spread)
        return np.concatenate(
            [[spread.sum(), spread @ self._square], by_range, [(spread * self._square) @ self._square]]
        )

    def tilted(self, p: Floats, theta: Floats) -> Floats:
        """Return the member θ of the exponential family at p."""
        level, scalar, *others = np.concatenate([theta, np.zeros(3 + RANGES - len(theta))])
        shift = (level + np.array(others[:RANGES]))[self.ranges] + scalar * self.x
        if others[RANGES]:
            shift += others[RANGES] * self._square
        shift = np.clip(shift, -700.0, 700.0)
        with np.errstate(over="ignore"):
            odds = np.exp(np.minimum(shift, 700.0))
        return np.asarray(p * odds / (p * odds + (1.0 - p)))

    def realised(self, p: Floats) -> Floats:
        return np.where(self.y == 1, p, 1.0 - p)

    def mean_log(self, p: Floats) -> Floats:
        """Return (m,) Σ_j p_j ln p_j."""
        return _p_log_p(p) + _p_log_p(1.0 - p)

    def draws(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return (999, columns) sums of residuals of outcomes drawn from the forecasts.

        Forecasts whose log-odds, and weights whose logarithms, are within 0.05 are drawn together.
        """
        low, high = np.maximum(p, 1e-30), np.maximum(1.0 - p, 1e-30)
        key = np.rint(np.log(low / high) / CELL).astype(np.int64) * 4096
        key += np.clip(np.rint(np.log(np.maximum(self.weight, 1e-30)) / CELL), -2047, 2047).astype(np.int64) + 2048
        place = np.unique(key * 16 + self.ranges, return_inverse=True)[1]
        size = np.bincount(place, self.count)
        share = np.bincount(place, self.count * p) / size
        weight = np.sqrt(np.bincount(place, self.mass * self.weight) / size)
        x = np.bincount(place, self.count * self.x) / size
        ranges = np.zeros(len(size), dtype=np.int8)
        ranges[place] = self.ranges
        features = _two_features(x, ranges) * weight[:, None]
        share = np.clip(share, 0.0, 1.0)
        events = rng.binomial(size.astype(np.int64), share, (DRAWS, len(size)))
        return np.asarray((events - size * share) @ features)


@dataclass(frozen=True, eq=False)
class Many(Cases):
    """More than two classes, p (m, k)."""

    first: Ints  # row at which each distinct (forecast, weight) begins

    @staticmethod
    def scalar(p: Floats, least: float) -> Floats:
        return np.asarray(np.log(np.maximum(p, least)))

    @property
    def levels(self) -> int:
        return int(self.x.shape[1])

    @cached_property
    def at_outcome(self) -> tuple[Ints, Ints]:
        return np.arange(len(self.y)), self.y

    @cached_property
    def row_and_range(self) -> Ints:
        """(m·k,) number of the row and range of each entry."""
        return (self.ranges + RANGES * np.arange(len(self.y))[:, None]).ravel()

    def range_mass(self, p: Floats) -> Floats:
        """Return (m, ranges) Σ_{j in b} p_ij."""
        sums = np.bincount(self.row_and_range, p.ravel(), len(p) * RANGES)
        return np.asarray(sums, dtype=np.float64).reshape(-1, RANGES)

    def residuals(self, p: Floats, ranges: bool = True) -> Floats:
        """Return the sums of residuals; without `ranges` those columns are 0."""
        level = np.bincount(self.y, self.mass, self.levels) - self.mass @ p
        scalar = self.mass @ (self.x[self.at_outcome] - np.einsum("ij,ij->i", p, self.x))
        by_range = np.zeros(RANGES)
        if ranges:
            by_range = np.bincount(self.ranges[self.at_outcome], self.mass, RANGES) - self.mass @ self.range_mass(p)
        return np.concatenate([level, [scalar], by_range])

    def joint(self, p: Floats) -> Joint:
        """Return the residuals of pairs of classes at forecasts p."""
        return Joint.of(p, self.mass)

    def residuals_by_block(self, p: Floats) -> Floats:
        assert self.block is not None
        level = -p
        level[self.at_outcome] += 1.0
        scalar = self.x[self.at_outcome] - np.einsum("ij,ij->i", p, self.x)
        ranges = -self.range_mass(p)
        ranges[np.arange(len(p)), self.ranges[self.at_outcome]] += 1.0
        return _sums_by_block(np.column_stack([level, scalar, ranges]) * self.mass[:, None], self.block)

    def covariance(self, p: Floats, mass: Floats, columns: Ints | None = None) -> Floats:
        """Return Σ mass·Cov(residuals of a row) if outcomes follow p, of some columns or all."""
        columns = np.arange(self.levels + 1 + RANGES) if columns is None else columns
        level, ranges = bool((columns < self.levels).any()), bool((columns > self.levels).any())
        weighted, k = p * mass[:, None], self.levels if level else 0  # k² entries only where they are asked for
        mean = np.einsum("ij,ij->i", p, self.x)
        lean = weighted * (self.x - mean[:, None])
        matrix = np.zeros((k + 1 + RANGES, k + 1 + RANGES))
        ones = np.ones(len(p))  # quicker than sums along columns
        matrix[k, k] = np.einsum("ij,ij->", lean, self.x)
        if level:
            matrix[:k, :k] = np.diag(mass @ p) - p.T @ weighted
            matrix[:k, k] = matrix[k, :k] = ones @ lean
        if ranges:
            s = self.range_mass(p)
            matrix[k, k + 1 :] = matrix[k + 1 :, k] = ones @ self.range_mass(lean)
            matrix[k + 1 :, k + 1 :] = np.diag(mass @ s) - s.T @ (s * mass[:, None])
        if level and ranges:
            place = (self.ranges + RANGES * np.arange(k)).ravel()
            both = np.bincount(place, weighted.ravel(), k * RANGES).reshape(k, RANGES) - weighted.T @ s
            matrix[:k, k + 1 :], matrix[k + 1 :, :k] = both, both.T
        return matrix[np.ix_(columns - self.levels + k, columns - self.levels + k)]

    def variances(self, p: Floats) -> Floats:
        w, s = self.mass2, self.range_mass(p)
        mean = np.einsum("ij,ij->i", p, self.x)
        scalar = w @ (np.einsum("ij,ij,ij->i", p, self.x, self.x) - mean**2)
        return np.concatenate([w @ p - np.einsum("i,ij,ij->j", w, p, p), [scalar], w @ (s * (1.0 - s))])

    def class_slopes(self, p: Floats) -> tuple[Floats, Floats]:
        """Return residuals of 1[y = k] and of x·1[y = k] for every class, and their information."""
        k, w, z = self.levels, self.mass, p * self.x
        both = np.column_stack([p, z])
        outcomes = [np.bincount(self.y, v, k) for v in (w, w * self.x[self.at_outcome])]
        information = -(both.T @ (both * w[:, None]))
        diagonals = w @ p, w @ z, w @ (z * self.x)
        for row, column, diagonal in ((0, 0, 0), (0, k, 1), (k, 0, 1), (k, k, 2)):
            information[np.arange(k) + row, np.arange(k) + column] += diagonals[diagonal]
        return np.concatenate(outcomes) - w @ both, information

    def tilted(self, p: Floats, theta: Floats) -> Floats:
        """Return the member θ of the exponential family at p."""
        k = self.levels
        shift = theta[k] * self.x
        if theta[:k].any():
            shift += theta[:k]
        if theta[k + 1 :].any():
            shift += theta[k + 1 :][self.ranges]
        shift -= largest(shift)
        tilted: Floats = p * np.exp(shift)
        total = tilted.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, tilted / np.where(total > 0.0, total, 1.0), p)  # 0: too small for a number

    def realised(self, p: Floats) -> Floats:
        return np.asarray(p[self.at_outcome])

    def mean_log(self, p: Floats) -> Floats:
        """Return (m,) Σ_j p_j ln p_j."""
        return np.asarray(_p_log_p(p).sum(axis=1))

    def draws(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return (999, columns) sums of residuals of drawn outcomes, or of their normal approximation.

        Beside normal draws, residuals of pairs of classes are the sums of blocks of rows with random signs.
        """
        first = self.first
        count = np.add.reduceat(self.count, first)
        distinct = replace(self.take(first), count=count)
        q = p[first] if len(first) < len(p) else p
        misses = count @ (1.0 - q.max(axis=1))
        if misses > MOST_MISSES or count.sum() > MOST_OUTCOMES:
            pairs = self.joint(p).signed(self.y, self.mass, DRAWS, rng)
            return np.hstack([distinct.normal_draws(q, rng), pairs])
        return distinct.outcome_draws(q, rng)

    def outcome_draws(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Draw whether the outcome is the pick, and only if not, which other class it is."""
        pick = p.argmax(axis=1)
        at_pick = np.arange(len(p)), pick
        as_picked = replace(self, y=pick).residuals(p)
        others = p.copy()
        others[at_pick] = 0.0
        others = others.cumsum(axis=1)
        limit = np.minimum(others[:, -1] / (others[:, -1] + p[at_pick]) * 2.0**32, 2.0**32 - 1).astype(np.uint32)
        row = np.repeat(np.arange(len(p)), self.count.astype(np.int64))
        residuals = np.tile(as_picked, (DRAWS, 1))
        joint = self.joint(p)
        pairs = np.zeros((DRAWS, joint.size, joint.size))
        for start in range(0, len(row), AT_ONCE):
            part = row[start : start + AT_ONCE]
            miss = np.flatnonzero(rng.integers(0, 2**32, (len(part), DRAWS), np.uint32) < limit[part][:, None])
            place, draw = np.divmod(miss, DRAWS)
            i = part[place]
            j = _search(others, i, rng.random(len(i)) * others[i, -1])
            self._move(residuals, draw, i, pick[i], j)
            joint.move(pairs, draw, i, pick[i], j, self.weight[i])
        pairs += joint.outcome_sums(pick, self.mass)
        return np.hstack([residuals, joint.residuals(pairs, residuals[:, : self.levels])])

    def _move(self, sums: Floats, draw: Ints, i: Ints, pick: Ints, j: Ints) -> None:
        """Add to (draws, columns) how the residuals change where the outcome of row i is j and not the pick."""
        k, w = self.levels, self.weight[i]

        def moved(to: Ints, away: Ints, bins: int) -> Floats:
            place, weight = np.concatenate([draw * bins + to, draw * bins + away]), np.concatenate([w, -w])
            return np.asarray(np.bincount(place, weight, DRAWS * bins), dtype=np.float64).reshape(DRAWS, bins)

        sums[:, :k] += moved(j, pick, k)
        sums[:, k] += np.bincount(draw, w * (self.x[i, j] - self.x[i, pick]), DRAWS)
        sums[:, k + 1 :] += moved(self.ranges[i, j].astype(np.int64), self.ranges[i, pick].astype(np.int64), RANGES)

    def normal_draws(self, p: Floats, rng: np.random.Generator) -> Floats:
        """Return normal draws with the exact covariance; sums of few indicators keep their Poisson margins."""
        covariance = self.covariance(p, self.mass2)
        draws = normal(covariance, rng)
        k, variance = self.levels, np.diag(covariance)
        mean = np.concatenate([self.mass2 @ p, [np.inf], self.mass2 @ self.range_mass(p)])
        for column in np.flatnonzero((variance > 0.0) & (variance < FEW)):
            if column != k:
                sign = 1.0 if variance[column] > mean[column] / 2 else -1.0  # −1: nearly certain, misses are few
                draws[:, column] = sign * poisson_margin(sign * draws[:, column], variance[column])
        return draws


def normal(covariance: Floats, rng: np.random.Generator) -> Floats:
    """Return (999, columns) normal draws with this covariance, which may be singular."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(scale, scale)
    lost = scale < 1e-7 * scale.max()  # rounding of the largest covers what these have in common with others
    correlation[lost], correlation[:, lost] = 0.0, 0.0
    correlation[np.diag_indices(len(scale))] = 1.0 + 1e-9
    root = np.linalg.cholesky(correlation)
    return np.asarray((rng.standard_normal((DRAWS, len(scale))) @ root.T) * scale)


def prepared(
    p: Floats, y: Ints, count: Floats, weight: Floats, block: Ints | None, ranges: NDArray[np.int8] | None = None
) -> tuple[Floats, Two | Many]:
    """Return forecasts and cases in an order that follows from their content; p (m,) of the event, or (m, k)."""
    wide = p if p.ndim == 2 else p[:, None]
    multipliers = np.random.default_rng(1).integers(0, 2**63, wide.shape[1], np.uint64) | np.uint64(1)
    key = (_mixed(wide) * multipliers).sum(axis=1, dtype=np.uint64)
    order = np.lexsort([y, weight, key] if block is None else [y, weight, key, block])
    ranges = (ranges_of(p) if ranges is None else ranges)[order]
    p, y, count, weight, key = p[order], y[order], count[order], weight[order], key[order]
    block = None if block is None else block[order]
    new = (key[1:] != key[:-1]) | (weight[1:] != weight[:-1])
    return cases_of(p, y, count, weight, block, ranges, np.flatnonzero(np.concatenate([[True], new])))


def cases_of(
    p: Floats, y: Ints, count: Floats, weight: Floats, block: Ints | None, ranges: NDArray[np.int8], first: Ints
) -> tuple[Floats, Two | Many]:
    """Return forecasts that sum to one, and their cases for tests; `first` is where distinct forecasts begin."""
    scaled = weight * ((count * weight).sum() / (count * weight**2).sum())
    if p.ndim == 1:
        return p, Two(y, count, scaled, block, Two.scalar(p, LEAST_IN_TEST), ranges)
    p = p / p.sum(axis=1, keepdims=True)
    return p, Many(y, count, scaled, block, Many.scalar(p, LEAST_IN_TEST), ranges, first)


def _mixed(values: Floats) -> NDArray[np.uint64]:
    bits = (values + 0.0).view(np.uint64)
    bits ^= bits >> np.uint64(32)
    bits *= ROUND
    return bits ^ (bits >> np.uint64(29))


def _two_features(x: Floats, ranges: NDArray[np.int8]) -> Floats:
    columns = [np.ones(len(x)), x, *(ranges == number for number in range(RANGES)), x**2]
    return np.array(columns, dtype=np.float64).T  # column by column


def _p_log_p(p: Floats) -> Floats:
    return np.asarray(p * np.log(np.where(p > 0.0, p, 1.0)))


def _sums_by_block(values: Floats, block: Ints) -> Floats:
    """Return sums of rows by block; blocks are in order."""
    starts = starts_of(block)
    return values if len(starts) == len(values) else np.asarray(np.add.reduceat(values, starts, axis=0))


def starts_of(block: Ints) -> Ints:
    """Return where each block of rows begins; blocks are in order."""
    return np.flatnonzero(np.concatenate([[True], block[1:] != block[:-1]]))


def _search(cumulative: Floats, row: Ints, value: Floats) -> Ints:
    """Return the first column of each row whose cumulative sum exceeds the value."""
    low, high = np.zeros(len(row), dtype=np.int64), np.full(len(row), cumulative.shape[1] - 1)
    for _ in range(int(cumulative.shape[1] - 1).bit_length()):
        middle = (low + high) >> 1
        above = cumulative[row, middle] > value
        low, high = np.where(above, low, middle + 1), np.where(above, middle, high)
    return np.asarray(np.minimum(low, high))


def poisson_margin(normal: Floats, variance: float) -> Floats:
    """Return Poisson variables less their mean, in the order of the normal variables."""
    from scipy.special import ndtr, pdtr

    steps = pdtr(np.arange(int(variance + 10.0 * np.sqrt(variance) + 10.0)), variance)
    return np.asarray(np.searchsorted(steps, ndtr(normal / np.sqrt(variance))) - variance)
