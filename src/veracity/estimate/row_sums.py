"""Moments of rows and cells, and what each row adds to them, for intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels.result import Histogram

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 1 << 17  # multiplications of a product for which a BLAS takes no threads: they cost more than they save


def power_moments(t: Floats, share: Floats, powers: int) -> Floats:
    """(3, powers): of t, t², t³ … the mean, and the mean square and cube of the distance to it, weighted by `share`.

    >>> power_moments(np.array([0.5, 1.0]), np.array([0.5, 0.5]), 2).round(6)
    array([[0.75    , 0.625   ],
           [0.0625  , 0.140625],
           [0.      , 0.      ]])
    """
    out = np.empty((3, powers))
    x = np.empty((powers, len(t)))
    x[0], done = t, 1
    while done < powers:  # each block of powers from the one before
        more = min(done, powers - done)
        np.multiply(x[:more], x[done - 1], out=x[done : done + more])
        done += more
    out[0] = np.einsum("ri,i->r", x, share)
    with np.errstate(invalid="ignore"):  # infinite ones have no distance
        x -= out[0][:, None]
        square = x * x
        out[1], out[2] = np.einsum("ri,i->r", square, share), np.einsum("ri,ri,i->r", square, x, share)
    return out


def true_cells(h: Histogram) -> tuple[Ints, Floats]:
    """Return cells with true entries: (2, cells) numbers and counts, (4, cells) Σw, Σw p, Σw ln p, Σw p^(−2/3)."""
    assert h.true_sum is not None
    assert h.true_log is not None
    assert h.true_power is not None
    weight = h.true.astype(np.float64) if h.true_weight is None else h.true_weight
    some = (weight > 0.0).nonzero()[0]
    sums = np.array([weight[some], h.true_sum[some], h.true_log[some], h.true_power[some]])
    return np.array([h.cells[some], h.true[some]], dtype=np.int64), sums


def row_influences(
    p: NDArray[Any],
    y: NDArray[Any],
    edges: Floats,
    own: Floats,
    every: Floats,
    columns: Floats,
) -> None:
    """Fill (m + 1, rows): own[bin of the true entry] − Σ_j every[bin of entry j], and last the true entry itself.

    p      (rows, k) probabilities of any kind of float, y (rows,) the column of the true entry.
    edges  (bins,) where each bin begins; what lies below the first is in the first.
    own, every  (bins, m) added for the true entry, and subtracted for each entry.

    >>> filled = np.empty((3, 1))
    >>> row_influences(np.array([[0.2, 0.8]]), np.array([1]), np.array([0.0, 0.5]), np.eye(2), np.eye(2), filled)
    >>> filled.T
    array([[-1. ,  0. ,  0.8]])
    """
    m = own.shape[1]
    hits, true = row_bins(p, y, edges)
    parts = np.array_split(hits, hits.size * every.shape[1] // BLOCK + 1)
    columns[:m] = (own[true] - np.concatenate([part @ every for part in parts])).T
    columns[m] = p[np.arange(len(p)), y]


def mixed_errors(x: Floats, share: Floats, square: Floats, mixes: Floats) -> Floats:
    """√Σ square·(Σ_c mix_c (x_c − mean of x_c))² of each mix of columns, means weighted by `share`.

    x      (m, rows) columns; those with 0 in a mix may be infinite.
    mixes  (mixes, m) how much of each column.

    >>> half = np.array([0.5, 0.5])
    >>> mixed_errors(np.array([[1.0, 3.0], [2.0, 1.0]]), half, half, np.array([[1.0, 0.0], [1.0, 2.0]]))
    array([1., 0.])
    """
    with np.errstate(invalid="ignore", over="ignore"):
        x = x - np.einsum("ci,i->c", x, share)[:, None]
        finite = np.isfinite(np.einsum("ci->c", x))
        parts = np.array_split(np.where(finite[:, None], x, 0.0), x.size * len(mixes) // BLOCK + 1, axis=1)
        moved = np.concatenate([mixes @ part for part in parts], axis=1)
        for i in np.flatnonzero(mixes[:, ~finite].any(axis=1)):
            moved[i] = sum((mixes[i, c] * x[c] for c in mixes[i].nonzero()[0]), np.zeros(len(share)))
        out: Floats = np.sqrt(np.einsum("mi,mi,i->m", moved, moved, square))
    return out


def row_bins(p: NDArray[Any], y: NDArray[Any], edges: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return (rows, bins) numbers of entries of a row in each bin, and the bin of the true entry."""
    n, k = p.shape
    flat = np.ravel(p)
    above = np.flatnonzero(flat >= edges[1] if len(edges) > 1 else [])  # with many classes most are in the first bin
    places = above // k * len(edges) + edges.searchsorted(flat[above], side="right") - 1
    hits = np.bincount(places, minlength=n * len(edges)).reshape(n, -1).astype(float)
    hits[:, 0] = k - hits[:, 1:].sum(axis=1)
    return hits, np.maximum(edges.searchsorted(p[np.arange(n), y], side="right") - 1, 0)
