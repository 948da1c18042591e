"""Do rows seem to repeat? Outcomes of neighbouring forecasts that agree more than those of forecasts a little apart.

Copies of a case have nearly the same forecast and the same outcome. With C the forecasts recalibrated on average and
residuals r of the outcomes, T = Σ_i [s(i, nearest) − mean of s(i, neighbours further off)], s the product of residuals:
a wrong calibration curve moves both alike, copies only the first. T is compared with that of outcomes drawn from C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from veracity.estimate.calibration.residuals import DRAWS, Many
from veracity.estimate.calibration.slope import PER_CLASS, fit
from veracity.estimate.groups_and_time.stability import aligned
from veracity.estimate.loss.recalibration import recalibration
from veracity.inputs import Forecasts
from veracity.records.findings import Finding
from veracity.records.findings_of_results import RepeatedForecasts, RepeatedRows
from veracity.state.analysis_rows import hashes
from veracity.state.clusters import ClusterScores
from veracity.state.tally import Tally
from veracity.types import Floats, Ints

MOST_CASES = 20_000  # that are looked at
MOST_OF_MANY = 5_000  # of more than two classes
FEWEST = 100  # cases below which nothing is looked for
FURTHER, FURTHER_OF_MANY = (20, 40), (6, 15)  # neighbours that the nearest is compared with
SUSPICIOUS = 3.5  # z, from the exact variance, from which outcomes are drawn
FIRES = 4.0  # z among the draws
LEAST = 1e-6  # probabilities below are as near to each other as this
CLOSE, MOSTLY = 0.5, 0.5  # distance of a copy, as a share of that of further cases; share of T from such pairs
TIMES = 3.0  # as much as the other pairs, on average: where nearer outcomes only agree somewhat more, nothing repeats
TIED = 0.5  # share of T from equal forecasts from which these are taken as the copies
LITTLE = 0.1  # of the mean variance of outcomes
AT_ONCE = 1 << 22  # numbers held together
FEW_ROWS = 2_000  # of which all distances are taken
BLOCK, GROUP = 1_000, 8  # rows whose products are held together; distances of which the least bounds the nearest
BY_TREE = 20  # classes up to which a tree finds the nearest forecasts faster than all distances


@dataclass(frozen=True)
class Repetition:
    """How far neighbours agree: z among draws, cases looked at, and whether equal forecasts are the copies."""

    z: float
    cases: int
    tied: bool


def repeated_rows(tally: Tally) -> Repetition | None:
    """Return that the rows of a tally seem to repeat; None where clusters, time or cases tell which belong together."""
    rows = tally.analysis.rows
    known = tally.by_key is not None or rows.case is not None or rows.clusters is not None
    if known or tally.shares_only or not tally.measurable or not len(rows):
        return None
    return repetition(rows.precise(), tally.plan.random_state)


def has_equal_forecasts(tally: Tally) -> bool:
    """Return whether forecasts may be equal; two classes count as if they were, as looking for copies costs little."""
    rows = tally.analysis.rows
    return rows.k == 2 or bool((rows.copies > 1).any()) or len(np.unique(hashes(rows))) < len(rows)


def forecasts_as_clusters(tally: Tally) -> Tally:
    """Return a tally whose rows with equal forecasts depend on each other."""
    rows = tally.analysis.rows
    if not len(rows):
        return tally
    rows = replace(rows, clusters=hashes(rows))
    return replace(tally, analysis=replace(tally.analysis, rows=rows), by_key=ClusterScores.of(rows.precise()))


def finding(repeats: Repetition, option: str) -> Finding:
    """Return what must be known about rows that seem to repeat; `option` names their cases."""
    return (RepeatedForecasts if repeats.tied else RepeatedRows)(total=repeats.cases, option=option)


def repetition(rows: Forecasts, seed: int = 0) -> Repetition | None:
    """Return that rows seem to repeat; None where they do not, or where there are too few to tell."""
    most = MOST_CASES if rows.k == 2 else MOST_OF_MANY
    rows = rows.take(np.flatnonzero(np.cumsum(rows.copies) <= most))
    if int(rows.copies.sum()) < FEWEST:
        return None
    p, cases, key, _ = aligned(rows, rows.forecast_hashes)
    c = fit(cases.for_fit(p), p, level=rows.k == 2 or cases.n >= PER_CLASS * cases.levels, scalar=True).p
    row = np.repeat(np.arange(len(p)), cases.count.astype(np.int64))
    if p.ndim == 1:
        row, key = row[np.argsort(p[row], kind="stable")], p
    rng, tie = np.random.default_rng(seed), _numbered(key[row])
    y = cases.y[row][np.lexsort([rng.random(len(row)), tie])]  # outcomes of equal forecasts in a random order
    least = 1.0 / (2.0 * len(row))
    neighbours: _OfTwo | _OfMany
    if isinstance(cases, Many):
        neighbours = _OfMany.of(p[row], _floored(c[row], least), tie)
        if not neighbours.suspicious(y):
            return None
        pooled = recalibrated(rows, p, cases)  # whatever curve or confusion of classes the first one missed
        neighbours = replace(neighbours, c=_floored(pooled[row], least))
    else:
        neighbours = _OfTwo(np.clip(c[row], least, 1.0 - least), tie)
    return neighbours.judged(y, rng) if neighbours.is_local(y) else None


def _floored(c: Floats, least: float) -> Floats:
    c = np.maximum(c, least / c.shape[1])
    return np.asarray(c / c.sum(axis=1, keepdims=True))


def recalibrated(rows: Forecasts, p: Floats, cases: Many) -> Floats:
    """Return p recalibrated by the pool of all maps, cross-fitted; p itself of too few rows."""
    forecasts = Forecasts(
        p, cases.y, tuple(range(rows.k)), weights=cases.weight, counts=cases.count.astype(np.int64)
    )  # in the order of the cases
    pool = recalibration(forecasts)
    if pool is None:
        return p
    share = pool.folds.copies / np.bincount(pool.folds.row, pool.folds.copies)[pool.folds.row]
    out = np.zeros(p.shape)
    np.add.at(out, pool.folds.row, pool.calibrated * share[:, None])
    return out


def _numbered(key: NDArray[Any]) -> Ints:
    """(n,) number of the forecast of each row; equal ones are one after another."""
    return np.cumsum(np.concatenate([[True], key[1:] != key[:-1]]))


class _Neighbours:
    """How far outcomes of neighbours agree: T, its part from equal forecasts, its variance, and draws of outcomes."""

    c: Floats

    def agreement(self, y: Ints) -> tuple[Floats, Floats]:
        """(draws,) T of outcomes (draws, n), and its part from equal forecasts."""
        raise NotImplementedError

    @property
    def variance(self) -> float:
        raise NotImplementedError

    def drawn(self, number: int, rng: np.random.Generator) -> Ints:
        """(number, n) outcomes drawn from C."""
        raise NotImplementedError

    def suspicious(self, y: Ints) -> bool:
        """Return whether T is so large by its variance that outcomes need to be drawn."""
        return bool(self.agreement(y[None])[0][0] >= SUSPICIOUS * np.sqrt(self.variance))

    def judged(self, y: Ints, rng: np.random.Generator) -> Repetition | None:
        """Return that T is beyond all draws, and by more than four of their standard deviations."""
        if not self.suspicious(y):
            return None
        (agreement,), (equal,) = self.agreement(y[None])
        step = max(1, AT_ONCE // self.c.size)
        sizes = [min(step, DRAWS - start) for start in range(0, DRAWS, step)]
        draws = np.concatenate([self.agreement(self.drawn(size, rng))[0] for size in sizes])
        z = float((agreement - draws.mean()) / max(float(draws.std()), 1e-300))
        return Repetition(z, len(y), bool(equal >= TIED * agreement)) if z > FIRES and agreement > draws.max() else None


@dataclass(frozen=True, eq=False)
class _OfTwo(_Neighbours):
    """Cases in the order of their forecasts, residuals about in units of their standard deviation."""

    c: Floats
    tie: Ints

    @cached_property
    def _scale(self) -> Floats:
        """(n,) variance of the outcome, and a little: a miss of a nearly certain forecast must not decide alone."""
        v = self.c * (1.0 - self.c)
        return np.asarray(v + LITTLE * v.mean())

    def agreement(self, y: Ints) -> tuple[Floats, Floats]:
        r = (y - self.c) / np.sqrt(self._scale)
        next_to, apart = _beside(r)
        equal = self.tie[1 : next_to.shape[1] + 1] == self.tie[: next_to.shape[1]]
        total = next_to.sum(axis=1) - apart.sum(axis=1) / (FURTHER[1] - FURTHER[0] + 1)
        return total, next_to[:, equal].sum(axis=1)

    def is_local(self, y: Ints) -> bool:
        """Return whether T is suspicious without its largest pair: two near misses by certain forecasts are chance."""
        r = ((y - self.c) / np.sqrt(self._scale))[None]
        next_to, apart = _beside(r)
        left = float((next_to - apart / (FURTHER[1] - FURTHER[0] + 1)).sum() - next_to.max(initial=0.0))
        return left >= SUSPICIOUS * float(np.sqrt(self.variance))

    @property
    def variance(self) -> float:
        """Products of different pairs are uncorrelated."""
        next_to, apart = _beside((self.c * (1.0 - self.c) / self._scale)[None])
        return float(next_to.sum() + apart.sum() / (FURTHER[1] - FURTHER[0] + 1) ** 2)

    def drawn(self, number: int, rng: np.random.Generator) -> Ints:
        return (rng.random((number, len(self.c))) < self.c).astype(np.int64)


def _beside(r: Floats) -> tuple[Floats, Floats]:
    """(draws, cases) of values times those of the next case, and times the sum of those of further ones."""
    near, far = FURTHER
    own = r[:, : r.shape[1] - far]
    sums = np.concatenate([np.zeros((len(r), 1)), np.cumsum(r, axis=1)], axis=1)
    return own * r[:, 1 : own.shape[1] + 1], own * (sums[:, far + 1 :] - sums[:, near : sums.shape[1] - 1 - far + near])


@dataclass(frozen=True, eq=False)
class _OfMany(_Neighbours):
    """Cases with their neighbours (n, 1 + further): the nearest counts 1 in T, all further ones together −1.

    close  (n,) whether the nearest is so much nearer than the further ones as a copy would be
    """

    c: Floats
    tie: Ints
    near: Ints
    close: NDArray[np.bool_]

    @classmethod
    def of(cls, p: Floats, c: Floats, tie: Ints) -> _OfMany:
        (first, last), x = FURTHER_OF_MANY, np.log(np.maximum(p, LEAST))
        near = nearest(x, last)[:, [0, *range(first - 1, last)]]
        least, further = (np.linalg.norm(x - x[near[:, column]], axis=1) for column in (0, 1))
        return cls(c, tie, near, (least < CLOSE * further) | (tie[near[:, 0]] == tie))

    def is_local(self, y: Ints) -> bool:
        """Return whether the agreement is that of cases next to each other, and not of regions of many classes.

        Where a network is wrong in whole regions, nearer outcomes agree more than further ones without any copy.
        """
        rest = -self.c
        rest[np.arange(len(y)), y] += 1.0
        products = np.stack([np.einsum("ij,ij->i", rest, rest[other]) for other in self.near.T])
        agree = self._share @ products
        close, others = agree[self.close], agree[~self.close]
        return bool(
            close.sum() >= MOSTLY * agree.sum() and close.sum() * len(others) >= TIMES * others.sum() * len(close)
        )

    @property
    def _share(self) -> Floats:
        """What the product of the residuals of a case and of each neighbour counts in T."""
        further = self.near.shape[1] - 1
        return np.append(1.0, np.full(further, -1.0 / further))

    @cached_property
    def _expected(self) -> tuple[Floats, Floats]:
        """Σ_j over neighbours, both ways, of share·c_j (n, k), and Σ over pairs of share·c_i·c_j; nearest and equal."""
        share = self._share * np.ones(self.near.shape)
        equal = np.where((self.tie[self.near] == self.tie[:, None]) & (share > 0.0), share, 0.0)
        n, columns = self.near.shape
        at = np.repeat(np.arange(n), columns), self.near.ravel()
        sums, both = np.zeros((2, *self.c.shape)), np.zeros(2)
        for place, w in enumerate((share, equal)):
            used = np.flatnonzero(w.ravel())
            pairs = sparse.csr_array((w.ravel()[used], (at[0][used], at[1][used])), shape=(n, n))
            one_way = pairs @ self.c
            sums[place] = one_way + pairs.T @ self.c
            both[place] = np.einsum("ij,ij->", one_way, self.c)
        return sums, both

    def agreement(self, y: Ints) -> tuple[Floats, Floats]:
        sums, both = self._expected
        same = [(y == y[:, other]) for other in self.near.T]
        equal = self.tie[self.near[:, 0]] == self.tie
        matches = sum(w * one.sum(axis=1) for w, one in zip(self._share, same, strict=True))
        rows = np.arange(len(self.c))
        less = [one[rows, y].sum(axis=1) for one in sums]
        return np.asarray(matches - less[0] + both[0]), np.asarray(same[0][:, equal].sum(axis=1) - less[1] + both[1])

    @property
    def variance(self) -> float:
        """Σ over pairs of (their share)²·tr(V_i V_j), V = diag(c) − cc′."""
        n = len(self.c)
        i, j = np.repeat(np.arange(n), self.near.shape[1]), self.near.ravel()
        _, first, at = np.unique(np.minimum(i, j) * n + np.maximum(i, j), return_index=True, return_inverse=True)
        share = np.bincount(at.ravel(), np.tile(self._share, n))
        trace, square = np.empty(self.near.shape), self.c**2
        for column, other in enumerate(self.near.T):
            b = self.c[other]
            product = np.einsum("ij,ij->i", self.c, b)
            cubes = np.einsum("ij,ij->i", square, b) + np.einsum("ij,ij->i", self.c, square[other])
            trace[:, column] = product + product**2 - cubes
        return float(share**2 @ trace.ravel()[first])

    def drawn(self, number: int, rng: np.random.Generator) -> Ints:
        ends = np.cumsum(self.c, axis=1)
        ends[:, -1] = 1.0
        n, k = ends.shape
        flat = (ends + np.arange(n)[:, None]).ravel()
        draws = [np.searchsorted(flat, np.arange(n) + rng.random(n), "right") - k * np.arange(n) for _ in range(number)]
        return np.asarray(np.minimum(np.array(draws), k - 1))


def nearest(x: Floats, number: int) -> Ints:
    """(n, number) the nearest other rows of each row, by Euclidean distance."""
    return (_by_tree if len(x) > FEW_ROWS and x.shape[1] <= BY_TREE else _by_products)(x, number)


def _by_tree(x: Floats, number: int) -> Ints:
    from scipy.spatial import cKDTree

    place = np.asarray(cKDTree(x).query(x, number + 1)[1])
    itself = place == np.arange(len(x))[:, None]
    itself[~itself.any(axis=1), -1] = True  # one of many equal rows
    return np.asarray(place[~itself].reshape(len(x), number))


def _by_products(x: Floats, number: int) -> Ints:
    """Return the nearest rows from all distances, each product of two blocks of rows taken once.

    A row's limit bounds the distance of its last neighbour: so many groups of columns have a row as near as that.
    """
    n, half = len(x), np.einsum("ij,ij->i", x, x) / 2.0
    limit, found = np.full(n, np.inf), list[tuple[Ints, Ints, Floats]]()
    blocks = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
    for one, other in combinations_with_replacement(blocks, 2):
        products = x[one] @ x[other].T
        turned = [] if one == other else [(other, one, np.ascontiguousarray(products.T))]
        for rows, columns, product in [(one, other, products), *turned]:
            distance = half[columns] - product  # half its square, less that of the row
            if rows == columns:
                np.fill_diagonal(distance, np.inf)
            wide = distance.shape[1] // GROUP
            if wide >= number:
                groups = distance[:, : wide * GROUP].reshape(-1, GROUP, wide).min(axis=1)
                limit[rows] = np.minimum(limit[rows], np.partition(groups, number - 1, axis=1)[:, number - 1])
            place = np.flatnonzero(distance <= limit[rows, None])
            row, column = np.divmod(place, distance.shape[1])
            found.append((row + rows.start, column + columns.start, distance.ravel()[place]))
    row, column, near = (np.concatenate(parts) for parts in zip(*found, strict=True))
    row, column, near = (values[near <= limit[row]] for values in (row, column, near))
    order = np.lexsort((column, near, row))
    first = np.searchsorted(row[order], np.arange(n))
    return np.asarray(column[order][first[:, None] + np.arange(number)])
