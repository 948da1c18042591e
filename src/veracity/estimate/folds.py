"""Folds of a cross-validation that depend on what rows hold, not on the order of rows or classes, nor on parts.

The j-th of equal cases goes to fold hash(p, y, weight, j) mod 5: equal forecasts are spread over folds at random, with
their outcomes, as independent cases are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.data import Forecasts
from veracity.data.arguments import keys_of
from veracity.kernels.hashes import SEED, mix
from veracity.state.rows import count_before

Array = NDArray[Any]
Hashes = NDArray[np.uint64]

FOLDS = 5
BLOCKS, MORE_BLOCKS, LONG_SERIES = 8, 12, 200  # blocks of a time series, and from how many cases there are more
BLOCK = 1 << 16  # entries hashed together
FINE = 2.0**30  # two classes are hashed to 1e-9: p of one class and 1 − p of the other are the same forecast
ONE_BY_ONE = 64  # copies of a row beyond which their numbers in the folds are drawn at once


@dataclass(frozen=True, eq=False)
class Folds:
    """Which cases are left out together.

    row      (m,) the row of each entry
    fold     (m,) its fold
    copies   (m,) how many cases of that row are in that fold
    cluster  (m,) numbers of entries whose cases depend on each other; None where all are independent
    """

    row: Array
    fold: Array
    copies: Array
    cluster: Array | None

    @property
    def used(self) -> list[int]:
        """The folds that hold a case."""
        return [int(f) for f in np.unique(self.fold)]


def folds(rows: Forecasts, hashes: Hashes, clusters: Array | None = None, time: Array | None = None) -> Folds:
    """Return the folds: contiguous in time, or whole clusters, or whole cases, or single cases.

    `hashes` are those of the forecasts.
    """
    counts = np.asarray(rows.copies, dtype=np.int64)
    if time is not None:
        return _whole(_contiguous(time, counts, FOLDS), counts, blocks(None, time, counts))
    if clusters is not None:
        return _whole(_fold_of(keys_of(clusters)), counts, blocks(clusters, None, counts))
    key = row_hashes(rows, hashes)
    if rows.case is not None:
        case = np.unique(rows.case, return_inverse=True)[1].ravel()
        whole = np.zeros(int(case.max()) + 1, np.uint64)
        np.add.at(whole, case, key)
        return _whole(_fold_of(whole, count_before(whole, np.ones(len(whole), np.int64)))[case], counts, case)
    return _single(key, counts)


def blocks(clusters: Array | None, time: Array | None, counts: Array) -> Array | None:
    """Return the number of each row's cluster, or of its contiguous block in time; None if rows are independent."""
    if clusters is not None:
        return np.asarray(np.unique(clusters, return_inverse=True)[1]).ravel()
    return None if time is None else _contiguous(time, counts, BLOCKS if counts.sum() < LONG_SERIES else MORE_BLOCKS)


def _whole(fold: Array, counts: Array, cluster: Array | None) -> Folds:
    """Return one fold for all cases of a row."""
    return Folds(np.arange(len(counts)), fold, counts, cluster)


def _single(key: Hashes, counts: Array) -> Folds:
    """Return a fold for each case of a row by itself."""
    n = len(key)
    first = count_before(key, counts)
    few = np.flatnonzero(counts <= ONE_BY_ONE)
    row = np.repeat(few, counts[few])
    j = np.arange(len(row)) - np.repeat(np.cumsum(counts[few]) - counts[few], counts[few]) + first[row]
    spread = np.bincount(row * FOLDS + _fold_of(key[row], j), minlength=n * FOLDS).reshape(n, FOLDS)
    many = np.flatnonzero(counts > ONE_BY_ONE)
    if many.size:
        spread[many] = _drawn(key[many], counts[many])
    row, fold = np.nonzero(spread)
    return Folds(row, fold, spread[row, fold], None)


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
        found = np.rint(left * share + z * np.sqrt(left * share * (1.0 - share)))
        out[:, fold] = np.clip(found, 0, left)
        left = left - out[:, fold]
    out[:, -1] = left
    return out


def _contiguous(time: Array, counts: Array, number: int) -> Array:
    """Return (n,) contiguous blocks of about equal numbers of cases; equal times stay together."""
    place = np.unique(time, return_inverse=True)[1].ravel()
    size = np.bincount(place, weights=counts)
    middle = np.cumsum(size) - size / 2.0
    return np.asarray((middle / max(size.sum(), 1.0) * number).astype(np.int64)[place])


def forecast_hashes(rows: Forecasts) -> Hashes:
    """Return (n,) 64 bits of each forecast, whatever the order of the classes."""
    p, names = rows.matrix, keys_of(np.array([str(c) for c in rows.classes]))
    out = np.empty(len(p), np.uint64)
    step = max(1, BLOCK // rows.k)
    for start in range(0, len(p), step):
        block = p[start : start + step] + 0.0  # −0 becomes 0
        bits = np.ascontiguousarray(np.rint(block * FINE) if rows.k == 2 else block).view(np.uint64) ^ names
        out[start : start + step] = mix(mix(bits) * SEED).sum(axis=1, dtype=np.uint64)
    return mix(out)


def row_hashes(rows: Forecasts, hashes: Hashes) -> Hashes:
    """Return (n,) 64 bits of forecast, outcome and weight, whose scale does not matter."""
    h = mix(hashes * SEED ^ keys_of(np.array([str(c) for c in rows.classes]))[rows.observed])
    if rows.weights is not None:
        share = np.asarray(rows.weights, dtype=np.float64) / max(float(rows.weights.max(initial=0.0)), 5e-324)
        h = mix(h * SEED ^ np.rint(share * FINE).astype(np.uint64))
    return h
