"""Bins of given width: the calibration errors' fifteenths, and N17's hundredths under its preset."""

from __future__ import annotations

import numpy as np

from veracity.estimate.means.curves._curve import Curve, collect
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid


def curve(histogram: Histogram, grid: Grid, *, cuts: tuple[float, ...], own: tuple[float, ...] = ()) -> Curve:
    """Return bins [a, b) between `cuts`, each a cut of the grid; the atoms `own` are bins by themselves."""
    start = {0, *(grid.atom(c) for c in cuts), *(grid.atom(c) for c in own), *(grid.atom(c) + 1 for c in own)}
    return collect(histogram, grid, np.array(sorted(start), dtype=np.int64))
