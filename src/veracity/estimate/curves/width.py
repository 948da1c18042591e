"""Bins of equal width, as N17's figures have them (preset N17: width 0.01, the clip limits in bins of their own)."""

from __future__ import annotations

import numpy as np

from veracity.estimate.curves import Curve, collect
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid


def fit(histogram: Histogram, grid: Grid, *, cuts: tuple[float, ...], own: tuple[float, ...] = ()) -> Curve:
    """Bins [a, b) between `cuts`, each a cut of the grid; the atoms `own` are bins by themselves."""
    start = {0, *(grid.atom(c) for c in cuts), *(grid.atom(c) for c in own), *(grid.atom(c) + 1 for c in own)}
    return collect("width", histogram, grid, np.array(sorted(start), dtype=np.int64))
