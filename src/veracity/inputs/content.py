"""What rows, classes and clusters hold, as 64-bit keys: nothing depends on a name, nor on the order of anything.

Names and columns come and go; what a class holds stays: its probabilities and outcomes beside those of the other
classes. Keys of classes and clusters are sums over cases modulo 2^64, so parts may come in any order. Two of them with
one key hold the same, and may be exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veracity.kernels.hashes import SEED, mix
from veracity.types import Array

if TYPE_CHECKING:
    from veracity.inputs.forecasts import Forecasts

Hashes = NDArray[np.uint64]

BLOCK = 1 << 16  # entries hashed together
FINE = 2.0**30  # two classes are hashed to 1e-9: p of one class and 1 − p of the other are the same forecast
HAPPENED = np.uint64(0xD6E8FEB86659FD93)
EVEN = 1e-9  # mean forecasts of two classes that differ by less are equal


def _entries(rows: Forecasts) -> Iterator[tuple[slice, Hashes]]:
    """Yield parts of the rows with the bits of their probabilities."""
    p = rows.matrix
    step = max(1, BLOCK // rows.k)
    for start in range(0, len(p), step):
        part = slice(start, start + step)
        block = p[part] + 0.0  # −0 becomes 0
        yield part, np.ascontiguousarray(np.rint(block * FINE) if rows.k == 2 else block).view(np.uint64)


def _weights(rows: Forecasts) -> Hashes:
    """Return (n,) 64 bits of the weights, whose scale does not matter; equal weights are as none."""
    if rows.weights is None:
        return np.full(len(rows), np.uint64(FINE))
    share = np.asarray(rows.weights, dtype=np.float64) / max(float(rows.weights.max(initial=0.0)), 5e-324)
    return np.rint(share * FINE).astype(np.uint64)


def class_keys(rows: Forecasts) -> Hashes:
    """Return (k,) 64 bits of each class: its forecasts and outcomes, and the rows that they are in."""
    weights, copies, keys = _weights(rows), rows.copies.astype(np.uint64), np.zeros(rows.k, np.uint64)
    for part, bits in _entries(rows):
        own = mix(bits) * SEED
        own[np.arange(len(own)), rows.observed[part]] ^= HAPPENED
        own = mix(own)
        whole = mix(own.sum(axis=1, dtype=np.uint64) ^ mix(weights[part] * SEED))
        own ^= whole[:, None]
        keys += (mix(mix(own) * SEED) * copies[part, None]).sum(axis=0, dtype=np.uint64)
    return mix(keys)


def class_order(rows: Forecasts) -> NDArray[np.int64]:
    """Return the classes in an order that follows from what they hold; of two, the one predicted less often is last.

    So p of the rarer event, which may be tiny, is the one that tests use.
    """
    if rows.k == 2:
        share = float(rows.mass @ rows.positive / rows.mass.sum())
        if abs(share - 0.5) > EVEN:
            return np.array([0, 1] if share < 0.5 else [1, 0])
    return np.argsort(rows.class_keys, kind="stable")


def forecast_hashes(rows: Forecasts, classes: Hashes) -> Hashes:
    """Return (n,) 64 bits of each forecast; `classes` are the keys of the classes."""
    hashes = np.empty(len(rows), np.uint64)
    for part, bits in _entries(rows):
        hashes[part] = mix(mix(bits ^ classes) * SEED).sum(axis=1, dtype=np.uint64)
    return mix(hashes)


def row_hashes(rows: Forecasts, hashes: Hashes, classes: Hashes) -> Hashes:
    """Return (n,) 64 bits of forecast, outcome and weight; `hashes` are those of the forecasts."""
    return mix(mix(hashes * SEED ^ classes[rows.observed]) * SEED ^ _weights(rows))


def cluster_keys(cluster: Array, rows: Hashes, copies: Array) -> Hashes:
    """Return (clusters,) 64 bits of what each holds, of a single case its own; `cluster` numbers that of each row."""
    keys = np.zeros(int(cluster.max(initial=-1)) + 1, np.uint64)
    np.add.at(keys, cluster, rows * np.asarray(copies).astype(np.uint64))
    return keys


def cluster_numbers(clusters: Array, rows: Hashes, copies: Array) -> NDArray[np.int64]:
    """Return (n,) number of each row's cluster, clusters in the order of their keys."""
    number = np.unique(clusters, return_inverse=True)[1].ravel()
    rank = np.argsort(np.argsort(cluster_keys(number, rows, copies), kind="stable"), kind="stable")
    return np.asarray(rank[number])
