"""The rising curve that fits best: pooled adjacent violators over the cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veracity.estimate.means.curves._curve import Curve, collect
from veracity.formulas.isotonic import pooled_blocks
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid


def curve(histogram: Histogram, grid: Grid) -> Curve:
    """Return a curve whose bins are blocks of cells with one frequency."""
    cells = collect(histogram, grid, histogram.cells.astype(np.int64))
    start = cells.start[pooled_blocks(cells.source, cells.weight)]
    start[:1] = 0
    blocks = collect(histogram, grid, start)
    return replace(blocks, source=blocks.true_weight / blocks.weight)
