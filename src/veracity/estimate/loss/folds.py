"""Folds of a cross-validation that depend on what rows hold, not on names, on the order of anything, nor on parts.

The j-th of equal cases goes to fold hash(p, y, weight, j) mod 5: equal forecasts are spread over folds at random, with
their outcomes, as independent cases are. A cluster goes as a whole, by the sum of the hashes of its cases, so one of a
single case goes where that case goes by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.inputs import Forecasts
from veracity.inputs.content import Hashes, cluster_keys, cluster_numbers
from veracity.kernels.hashes import SEED, mix
from veracity.state.analysis_rows import count_before
from veracity.types import Array

FOLDS = 5
BLOCKS, MORE_BLOCKS, LONG_SERIES = 8, 12, 200  # blocks of a time series, and from how many cases there are more
ONE_BY_ONE = 64  # copies of a row beyond which their numbers in the folds are drawn at once


@dataclass(frozen=True, eq=False)
class Folds:
    """Which cases are left out together.

    row      (m,) the row of each entry
    fold     (m,) its fold
    copies   (m,) how many cases of that row are in that fold
    cluster  (m,) numbers of entries whose cases depend on each other; None where all are independent
    repeats  the copies of an entry are as many independent cases, each with a part in every entry of its cluster
    """

    row: Array
    fold: Array
    copies: Array
    cluster: Array | None
    repeats: bool = False

    @property
    def used(self) -> list[int]:
        """The folds that hold a case."""
        return [int(f) for f in np.unique(self.fold)]


def folds(
    rows: Forecasts, keys: Hashes | None = None, clusters: Array | None = None, time: Array | None = None
) -> Folds:
    """Return the folds: contiguous in time, or whole clusters, or whole cases, or single cases.

    `keys` are the hashes of the rows, where they are known.
    """
    counts = np.asarray(rows.copies, dtype=np.int64)
    if time is not None:
        return _whole(_contiguous(time, counts, FOLDS), counts, blocks(None, time, counts))
    key = rows.row_hashes if keys is None else keys
    if clusters is not None:
        number = cluster_numbers(clusters, key, counts)
        hashes = cluster_keys(number, key, counts)
        return _whole(_spread(hashes, np.ones(len(hashes), np.int64))[1][number], counts, number)
    case = None if rows.case is None else np.unique(rows.case, return_inverse=True)[1].ravel()
    if case is not None and case.max(initial=-1) + 1 < len(case):
        return _whole_cases(case, key, counts)
    row, fold, copies = _spread(key, counts)
    return Folds(row, fold, copies, None)


def blocks(clusters: Array | None, time: Array | None, counts: Array, keys: Hashes | None = None) -> Array | None:
    """Return the number of each row's cluster, or of its contiguous block in time; None if rows are independent.

    Clusters are in the order of what they hold where the hashes of rows are given.
    """
    if clusters is not None:
        if keys is not None:
            return cluster_numbers(clusters, keys, counts)
        return np.asarray(np.unique(clusters, return_inverse=True)[1]).ravel()
    return None if time is None else _contiguous(time, counts, BLOCKS if counts.sum() < LONG_SERIES else MORE_BLOCKS)


def _whole(fold: Array, counts: Array, cluster: Array | None) -> Folds:
    """Return one fold for all cases of a row."""
    return Folds(np.arange(len(counts)), fold, counts, cluster)


def _whole_cases(case: Array, key: Hashes, counts: Array) -> Folds:
    """Return a fold for each copy of a case with all its rows; `case` numbers the case of each row."""
    first = np.unique(case, return_index=True)[1]
    at, fold, copies = _spread(cluster_keys(case, key, np.ones(len(case))), counts[first])
    start = np.searchsorted(at, np.arange(len(first) + 1))  # the folds of each case, one after another
    number = np.diff(start)[case]
    row = np.repeat(np.arange(len(case)), number)
    place = np.arange(len(row)) - np.repeat(np.cumsum(number) - number, number) + start[case[row]]
    return Folds(row, fold[place], copies[place], place, repeats=True)


def _spread(key: Hashes, counts: Array) -> tuple[Array, Array, Array]:
    """Return (row, fold, copies) of a fold for each case of a row by itself, rows in order.

    Rows with one key are copies of one case, however many rows hold them.
    """
    n, first = len(key), count_before(key, counts)
    keys, at = np.unique(key, return_inverse=True)
    total = np.bincount(at, weights=counts).astype(np.int64)
    few = np.flatnonzero(total[at] <= ONE_BY_ONE)
    row = np.repeat(few, counts[few])
    j = np.arange(len(row)) - np.repeat(np.cumsum(counts[few]) - counts[few], counts[few]) + first[row]
    spread = np.bincount(row * FOLDS + _fold_of(key[row], j), minlength=n * FOLDS).reshape(n, FOLDS)
    many = np.flatnonzero(total > ONE_BY_ONE)
    if many.size:
        ends = np.zeros((len(keys), FOLDS + 1), np.int64)  # of the copies in each fold, one fold after another
        ends[many, 1:] = np.cumsum(_drawn(keys[many], total[many]), axis=1)
        rows = np.flatnonzero(total[at] > ONE_BY_ONE)
        inside = ends[at[rows]].clip(first[rows, None], (first + counts)[rows, None])
        spread[rows] = np.diff(inside, axis=1)
    row, fold = np.nonzero(spread)
    return row, fold, spread[row, fold]


def _fold_of(key: Hashes, j: Array | int = 0) -> Array:
    """Return (n,) fold of the j-th case with each key."""
    h = mix(mix(key + np.asarray(j).astype(np.uint64) * SEED) * SEED)
    return np.asarray((h >> np.uint64(33)) % np.uint64(FOLDS)).astype(np.int64)


def _drawn(key: Hashes, counts: Array) -> Array:
    """Return (n, folds) numbers of many equal cases in the folds: normal approximation of binomial draws, by key."""
    from scipy.special import ndtri

    out, left = np.zeros((len(key), FOLDS), np.int64), counts.copy()
    for fold in range(FOLDS - 1):
        h = mix(mix(key ^ np.uint64(fold + 1)) * SEED)
        share = 1.0 / (FOLDS - fold)
        z = ndtri((((h >> np.uint64(11)).astype(np.float64)) + 0.5) * 2.0**-53)
        draws = np.rint(left * share + z * np.sqrt(left * share * (1.0 - share)))
        out[:, fold] = np.clip(draws, 0, left)
        left = left - out[:, fold]
    out[:, -1] = left
    return out


def _contiguous(time: Array, counts: Array, number: int) -> Array:
    """Return (n,) contiguous blocks of about equal numbers of cases; equal times stay together."""
    place = np.unique(time, return_inverse=True)[1].ravel()
    size = np.bincount(place, weights=counts)
    middle = np.cumsum(size) - size / 2.0
    return np.asarray((middle / max(size.sum(), 1.0) * number).astype(np.int64)[place])
