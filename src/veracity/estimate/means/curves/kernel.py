"""Kernel regression: forecasts count the more, the closer their log odds are (N17 section 4)."""

from __future__ import annotations

import numpy as np

from veracity.estimate.means.curves._curve import Curve
from veracity.estimate.means.curves._smooth import FURTHEST, Entries
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.types import Floats, Ints


def curve(histogram: Histogram, grid: Grid, *, bandwidth: float | None = None) -> Curve:
    """Return the mean outcome with the weights 1 − (distance/bandwidth)² (Epanechnikov); None: by spread and number.

    Around each cell the sums of the powers of distance are differences of running sums, about the middle of a stretch
    one bandwidth long, so that nothing cancels.
    """
    entries = Entries.of(histogram, grid)
    h = default_bandwidth(entries) if bandwidth is None else bandwidth
    x = entries.place
    stretch = np.floor((x + FURTHEST) / h)
    weight, true, squares = np.empty((3, len(x)))
    for here in np.unique(stretch):
        own = slice(*np.searchsorted(stretch, [here, here + 1]))
        some = slice(*np.searchsorted(x, [x[own][0] - 1.01 * h, x[own][-1] + 1.01 * h]))
        middle = (x[own][0] + x[own][-1]) / 2.0
        t, at = (x[some] - middle) / h, (x[own] - middle) / h
        ends = np.searchsorted(t, at - 1.0), np.searchsorted(t, at + 1.0, side="right")
        for sums, mass in ((weight, entries.weight[some]), (true, entries.true_weight[some])):
            m = _moments(t, mass, 3, ends)
            sums[own] = m[0] - (m[2] - 2.0 * at * m[1] + at**2 * m[0])
        m = _moments(t, entries.weight2[some], 5, ends)  # (1 − d²)² = 1 − 2d² + d⁴
        second = m[2] - 2.0 * at * m[1] + at**2 * m[0]
        fourth = m[4] - 4.0 * at * m[3] + 6.0 * at**2 * m[2] - 4.0 * at**3 * m[1] + at**4 * m[0]
        squares[own] = m[0] - 2.0 * second + fourth
    return entries.smoothed(true / weight, 1.0 / weight, squares / weight**2)


def _moments(t: Floats, mass: Floats, powers: int, ends: tuple[Ints, Ints]) -> Floats:
    """Return (powers, cells) the sums of mass·t^j between the ends."""
    terms = mass * t ** np.arange(powers)[:, None]
    running = np.concatenate([np.zeros((powers, 1)), terms.cumsum(axis=1)], axis=1)
    return np.asarray(running[:, ends[1]] - running[:, ends[0]])


def default_bandwidth(entries: Entries) -> float:
    """Return the bandwidth: 2.34 spreads of the log odds over the fifth root of their number (Silverman 1986)."""
    x, share = entries.place, entries.weight / entries.weight.sum()
    finite = np.abs(x) < FURTHEST
    x, share = x[finite], share[finite]
    if not share.sum() > 0.0:
        return 1.0
    share = share / share.sum()
    quartiles = x[np.minimum(np.searchsorted(share.cumsum(), [0.25, 0.75]), len(x) - 1)]
    spread = float(np.sqrt(share @ (x - share @ x) ** 2))
    narrow = float(quartiles[1] - quartiles[0]) / 1.34
    number = entries.weight.sum() ** 2 / entries.weight2.sum()
    return float(2.34 * (min(spread, narrow) if narrow > 0.0 else spread) * number**-0.2) or 1.0
