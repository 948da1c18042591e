"""Moments of cells, for intervals."""

from __future__ import annotations

import numpy as np

from veracity.kernels.result import Histogram
from veracity.types import Floats, Ints


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


NARROW = 1e-2  # variance of ln p in a cell, below which two moments beyond the mean describe it


def log_power_mean(weight: Floats, sums: Floats, r: float) -> float:
    """Return ln P_r of the entries of cells from Σw p, Σw ln p and Σw p^(−2/3) of each: exact at −2/3, 0 and 1.

    Variance v and third moment m of ln p in a cell follow from these, and E p^r = e^(r E ln p) (1 + r² v/2 + r³ m/6) to
    the fourth power of the width of a cell.

    >>> p = np.array([0.5, 0.5001, 0.9])
    >>> sums = np.array([p, np.log(p), p ** (-2 / 3)])
    >>> cells = np.add.reduceat(sums, [0, 2], axis=1)
    >>> bool(abs(log_power_mean(np.array([2.0, 1.0]), cells, -0.5) - np.log((p**-0.5).mean()) / -0.5) < 1e-14)
    True
    """
    share, log = weight / weight.sum(), sums[1] / weight
    if r == 0.0:
        return float(share @ log)
    if np.isneginf(log).any():
        if r < 0.0:
            return -np.inf
        weight, sums, share, log = (x[..., np.isfinite(log)] for x in (weight, sums, share, log))
        if not len(log):
            return -np.inf
    up, down = sums[0] / weight * np.exp(-log) - 1.0, sums[2] / weight * np.exp(2.0 / 3.0 * log) - 1.0
    variance = np.maximum((27.0 * down + 8.0 * up) / 10.0, 0.0)
    third = up - variance / 2.0  # m/6
    beyond = np.where(variance < NARROW, r**2 * variance / 2.0 + r**3 * third, 0.0)
    exponents = np.log(share) + r * log
    peak = exponents.max()
    return float((peak + np.log(np.exp(exponents - peak) @ (1.0 + beyond))) / r)
