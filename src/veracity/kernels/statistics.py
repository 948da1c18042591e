"""Sums over bins, and moments for intervals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels.result import Histogram

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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


def bin_sums(
    cells: NDArray[np.int32], offsets: Ints, start: Ints, columns: tuple[NDArray[Any], ...]
) -> tuple[Ints, Floats]:
    """Return the histogram of each bin that has cells, ascending, and (columns, bins) the sums of columns over it.

    cells    of histograms one after another, ascending in each; histogram i is offsets[i] … offsets[i + 1].
    start    (bins,) the cell at which each bin begins, the first 0.

    >>> cells, offsets, columns = np.array([0, 3, 9, 2], dtype=np.int32), np.array([0, 3, 4]), (np.arange(4.0),)
    >>> bin_sums(cells, offsets, np.array([0, 3]), columns)
    (array([0, 0, 1]), array([[0., 3., 3.]]))
    """
    used = slice(offsets[0], offsets[-1])
    span = 1 + max(int(cells[used].max(initial=0)), int(start[-1]))
    before = np.arange(len(offsets) - 1) * span  # makes the cells of all histograms one ascending row
    ascending = cells[used] + before.repeat(np.diff(offsets))
    first = ascending.searchsorted((before[:, None] + start).ravel())
    filled = np.flatnonzero(first < np.append(first[1:], len(ascending)))  # with many classes most bins are empty
    sums = np.array([np.add.reduceat(values[used], first[filled]) for values in columns], dtype=np.float64)
    return filled // len(start), sums


def gaps(of: Ints, sums: Floats, histograms: int, rows: float) -> Floats:
    """(5, histograms): mean |frequency − forecast| in bins; less what chance adds; standard error; the largest; and
    the mean gap of calibrated forecasts. NaN without entries.

    of    (bins,) the histogram of each bin.
    sums  (3, bins) Σw of all entries and of the true ones, counts or weights, and Σwp.
    rows  how many rows a weight of 1 is worth.

    >>> of, every, true, total = np.array([0, 0, 1]), [1.0, 4.0, 8.0], [1.0, 1.0, 8.0], [0.5, 1.0, 0.5]
    >>> gaps(of, np.array([every, true, total]), 2, 1.0)[[0, 3]]
    array([[0.1   , 0.9375],
           [0.5   , 0.9375]])
    """
    from scipy.special import erf

    of, (weight, true, total) = of[sums[0] > 0.0], sums[:, sums[0] > 0.0]
    observed, gap = true / weight, np.abs(true - total) / weight
    error = np.sqrt(np.maximum(observed * (1.0 - observed), 0.0) / (weight * rows))
    # A gap with normal noise is on average this large (folded normal); its excess over `gap` is bias.
    varies = error > 0.0
    z = gap / np.where(varies, error, 1.0)
    noisy = error * math.sqrt(2.0 / math.pi) * np.exp(-z * z / 2.0) + gap * erf(z / math.sqrt(2.0))
    bias = np.where(varies, noisy - gap, 0.0)
    by_chance = _gap_by_chance(np.clip(total / weight, 0.0, 1.0), weight * rows)
    whole = np.bincount(of, weight, histograms)
    share, largest = weight / whole[of], np.zeros(histograms)
    np.maximum.at(largest, of, gap)
    mean, debiased, squares, chance = (
        np.bincount(of, x, histograms)
        for x in (share * gap, share * (gap - bias), (share * error) ** 2, share * by_chance)
    )
    found = np.array([mean, np.maximum(debiased, 0.0), np.sqrt(squares), largest, chance])
    found[:3, whole == 0.0] = found[4, whole == 0.0] = np.nan
    return found


def _gap_by_chance(p: Floats, n: Floats) -> Floats:
    """E|X/n − p| of a binomial X with n trials: 2 (1 − p)^(n−m) p^(m+1) (m + 1) C(n, m + 1)/n, m = ⌊np⌋ (De Moivre)."""
    from scipy.special import gammaln, xlog1py, xlogy

    n = np.maximum(np.rint(n.round(9)), 1.0)  # halves, whatever rounding did to them
    m = np.minimum(np.floor(n * p), n - 1.0)
    chosen = gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m)
    found: Floats = 2.0 * np.exp(xlog1py(n - m, -p) + xlogy(m + 1.0, p) + chosen) / n
    return found
