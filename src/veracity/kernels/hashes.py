"""64 bits from what a row holds: they decide whether it is in a sample, however the rows were cut into parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity import kernels

_native: Any
try:
    from veracity.kernels import _native  # type: ignore[attr-defined,no-redef]
except ImportError:  # installed where there was no compiler
    _native = None

Hashes = NDArray[np.uint64]

BLOCK = 1 << 14  # rows hashed together: stays in cache
FOLD = np.uint64(32)
MULTIPLY, ODD = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def column_hashes(y: NDArray[Any] | None, columns: list[NDArray[Any]]) -> Hashes:
    """Of each row's outcome and of its numbers in these columns, the same for float32 and float64.

    >>> two = np.array([0.25, 0.5])
    >>> bool((column_hashes(np.array([0, 1]), [two]) == column_hashes(np.array([0, 1]), [two.astype("f4")])).all())
    True
    """
    out = np.zeros(len(columns[0]), dtype=np.uint64)
    for start in range(0, len(out), BLOCK):
        part = slice(start, start + BLOCK)
        h, bits = out[part], np.empty(len(out[part]))
        if y is not None:
            np.multiply(y[part], ODD.view(np.int64), out=h.view(np.int64), casting="unsafe", dtype=np.int64)
        for column in columns:
            np.add(column[part], 0.0, out=bits)  # turns −0 into 0
            h ^= bits.view(np.uint64)
            mix(h)
    return out


def mix(h: Hashes) -> None:
    """In place, one round of splitmix64's finaliser: every input bit moves the leading output bits, which decide."""
    h ^= h >> FOLD
    h *= MULTIPLY


def true_hashes(p: NDArray[Any], y: NDArray[Any], kernel: str | None = None) -> Hashes:
    """Of each row's outcome, the probability that it had and that of the next class, p (n, k).

    Sharp models give probability 1 to much of what happens, and rounded ones 0 to most of the rest: either column
    alone would be the same in many rows.

    >>> of_columns = column_hashes(np.array([1]), [np.array([0.7]), np.array([0.1])])
    >>> true_hashes(np.array([[0.2, 0.7, 0.1]]), np.array([1])) == of_columns
    array([ True])
    """
    if (kernel or kernels.NAME) == "native" and p.dtype in (np.float32, np.float64):
        out = np.empty(len(p), np.uint64)
        _native.true_hashes(p, np.require(y, np.int64, ("C", "A")), out)
        return out
    rows = np.arange(len(p))
    return column_hashes(y, [p[rows, y], p[rows, (y.astype(np.int64) + 1) % p.shape[1]]])


def forecast_hashes(p: NDArray[Any]) -> Hashes:
    """Return 64 bits for each forecast of p, (n,) or (n, k): Σ_j mix(bits of p_j), whatever the order of classes."""
    out = np.zeros(len(p), dtype=np.uint64)
    step = max(1, BLOCK // (1 if p.ndim == 1 else max(p.shape[1], 1)))
    for start in range(0, len(p), step):
        bits = (p[start : start + step].astype(np.float64) + 0.0).view(np.uint64)
        mix(bits)
        bits *= ODD
        mix(bits)
        out[start : start + step] = bits if bits.ndim == 1 else bits.sum(axis=1, dtype=np.uint64)
    mix(out)
    return out
