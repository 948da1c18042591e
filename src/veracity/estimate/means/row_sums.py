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
