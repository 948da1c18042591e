"""Isotonic regression on cells: the curve without a number of bins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veracity.estimate.curves import Curve, collect
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid


def fit(histogram: Histogram, grid: Grid) -> Curve:
    """Pool adjacent violators over the cells; a bin is a block of cells with one frequency."""
    from scipy.optimize import isotonic_regression

    cells = collect("isotonic", histogram, grid, histogram.cells.astype(np.int64))
    fitted = isotonic_regression(cells.source, weights=cells.weight)
    start = cells.start[fitted.blocks[:-1]]
    start[:1] = 0
    curve = collect("isotonic", histogram, grid, start)
    return replace(curve, source=curve.true_weight / curve.weight)
