"""What curves that smooth share: entries by their log odds, and what an outcome adds to its own frequency."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from veracity.estimate.means.curves._curve import Curve, collect
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.types import Floats

FURTHEST = 750.0  # log odds of probabilities 0 and 1, beyond those of all others


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of a histogram by the log odds of their cells.

    cells    one bin for every cell
    place    log odds of the mean entry of each cell
    weight2  squared weights of all entries
    """

    cells: Curve
    place: Floats
    weight2: Floats

    @classmethod
    def of(cls, histogram: Histogram, grid: Grid) -> Entries:
        """Return the entries with a weight."""
        cells = collect(histogram, grid, histogram.cells.astype(np.int64))
        weight2 = histogram.all if histogram.all_weight2 is None else histogram.all_weight2
        mean = np.clip(np.where(cells.weight > 0.0, cells.forecast, cells.low), cells.low, cells.high)
        with np.errstate(divide="ignore"):
            place = np.clip(np.log(mean) - np.log1p(-mean), -FURTHEST, FURTHEST)
        return cls(cells, place, weight2.astype(np.float64))

    @property
    def weight(self) -> Floats:
        return self.cells.weight

    @property
    def true_weight(self) -> Floats:
        return self.cells.true_weight

    @cached_property
    def sums(self) -> Floats:
        """(4, cells + 1) running sums of entries, their weight, that of the true ones, and squared weights."""
        columns = np.array([self.cells.count, self.weight, self.true_weight, self.weight2], dtype=np.float64)
        return np.concatenate([np.zeros((4, 1)), columns.cumsum(axis=1)], axis=1)

    def within(self, distance: Floats) -> Floats:
        """Return (4, cells) the sums over the entries no further than this from each cell."""
        first = np.searchsorted(self.place, self.place - distance, side="left")
        last = np.searchsorted(self.place, self.place + distance, side="right")
        return self.sums[:, last] - self.sums[:, first]

    def smoothed(self, source: Floats, own: Floats, spread: Floats) -> Curve:
        """Return the curve of a weighted frequency around each cell.

        own     the weight that an entry of the cell has in it, of one with weight 1
        spread  the sum of all squared weights in it
        """
        true_weight, true_weight2 = self.true_weight, self.cells.true_weight2
        clipped = np.clip(source, 0.0, 1.0)
        return replace(self.cells, source=clipped, own=own * true_weight2, spread=spread * true_weight)
