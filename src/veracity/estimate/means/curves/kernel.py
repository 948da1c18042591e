"""Kernel regression: forecasts count the more, the closer their log odds are (N17 section 4)."""

from __future__ import annotations

import numpy as np

from veracity.estimate.means.curves._curve import Curve
from veracity.estimate.means.curves._smooth import FURTHEST, Entries
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid


def curve(histogram: Histogram, grid: Grid, *, bandwidth: float | None = None) -> Curve:
    """Return the mean outcome with the weights 1 − (distance/bandwidth)² (Epanechnikov); None: by spread and number.

    Around each cell the sums of the powers of distance are differences of running sums, about the middle of a stretch
    one bandwidth long, so that nothing cancels.
    """
    entries = Entries.of(histogram, grid)
    h = default_bandwidth(entries) if bandwidth is None else bandwidth
    x = entries.place
    stretch = np.floor((x + FURTHEST) / h)
    weight, true, squares = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
    for here in np.unique(stretch):
        own = slice(*np.searchsorted(stretch, [here, here + 1]))
        some = slice(*np.searchsorted(x, [x[own][0] - h, x[own][-1] + h]))
        middle = (x[own][0] + x[own][-1]) / 2.0
        t, at = (x[some] - middle) / h, (x[own] - middle) / h
        first, last = np.searchsorted(t, at - 1.0), np.searchsorted(t, at + 1.0, side="right")

        def moments(mass, powers, t=t, first=first, last=last):
            running = np.cumsum(np.vstack([np.zeros((1, powers)), mass[:, None] * t[:, None] ** np.arange(powers)]), 0)
            return (running[last] - running[first]).T

        for sums, mass in ((weight, entries.weight[some]), (true, entries.true_weight[some])):
            m0, m1, m2 = moments(mass, 3)
            sums[own] = m0 - (m2 - 2.0 * at * m1 + at**2 * m0)
        # (1 − d²)² = 1 − 2d² + d⁴
        m0, m1, m2, m3, m4 = moments(entries.weight2[some], 5)
        second = m2 - 2.0 * at * m1 + at**2 * m0
        fourth = m4 - 4.0 * at * m3 + 6.0 * at**2 * m2 - 4.0 * at**3 * m1 + at**4 * m0
        squares[own] = m0 - 2.0 * second + fourth
    return entries.smoothed(true / weight, 1.0 / weight, squares / weight**2)


def default_bandwidth(entries: Entries) -> float:
    """Return the bandwidth: 2.34 spreads of the log odds over the fifth root of their number (Silverman 1986)."""
    x, share = entries.place, entries.weight / entries.weight.sum()
    finite = np.abs(x) < FURTHEST
    x, share = x[finite], share[finite]
    if not len(x):
        return 1.0
    share = share / share.sum()
    running = share.cumsum()
    quartiles = x[np.minimum(np.searchsorted(running, [0.25, 0.75]), len(x) - 1)]
    spread = np.sqrt(share @ (x - share @ x) ** 2)
    narrow = (quartiles[1] - quartiles[0]) / 1.34
    spread = min(spread, narrow) if narrow > 0.0 else spread
    number = entries.weight.sum() ** 2 / entries.weight2.sum()
    return float(2.34 * spread * number**-0.2) or 1.0
