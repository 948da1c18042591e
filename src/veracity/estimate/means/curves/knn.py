"""The k nearest forecasts: how often those whose log odds are closest came true (N17 section 4)."""

from __future__ import annotations

import numpy as np

from veracity.estimate.means.curves._curve import Curve
from veracity.estimate.means.curves._smooth import FURTHEST, Entries
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid

HALVINGS = 52  # of the greatest distance: entries whose distances differ by less than 1e-12 are equally near


def curve(histogram: Histogram, grid: Grid, *, neighbours: int | None = None) -> Curve:
    """Return the share that came true among the `neighbours` entries nearest to each cell; None: by their number.

    An entry is its own neighbour. Those that are equally near and more than the places left share these.
    """
    entries = Entries.of(histogram, grid)
    total = entries.sums[0, -1]
    k = min(float(number_of_neighbours(total) if neighbours is None else neighbours), total)
    x = entries.place
    near, far = np.zeros(len(x)), np.full(len(x), 2.0 * FURTHEST)  # closer than `near` are fewer than k entries
    for _ in range(HALVINGS):
        middle = (near + far) / 2.0
        enough = entries.within(middle)[0] >= k
        near, far = np.where(enough, near, middle), np.where(enough, middle, far)
    whole = entries.within(near) * (near > 0.0)
    shared = entries.within(far) - whole
    part = (k - whole[0]) / shared[0]
    _, weight, true, _ = whole + part * shared
    squares = whole[3] + part**2 * shared[3]
    return entries.smoothed(true / weight, np.where(near > 0.0, 1.0, part) / weight, squares / weight**2)


def number_of_neighbours(entries: float) -> int:
    """Return the default number of neighbours: the power 2/3 of the entries, best of those compared in bench/curves."""
    return max(int(entries ** (2.0 / 3.0)), 5)
