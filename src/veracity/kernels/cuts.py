"""Bins on cells of the grid: the first cells of bins with equal true counts, and sums over bins.

Everything is decided from integer counts, so that rows in memory, streamed or on a cluster give the same bins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels.grid import Grid
from veracity.kernels.result import Histogram

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST_TO_SPLIT = 8  # true entries; each half keeps at least half as many
WIDEST_RATIO = 2.0  # of a bin's edges, before it is split
SMALLEST = np.finfo(float).tiny


def bin_starts(h: Histogram, grid: Grid, bins: int, end_width: float) -> tuple[Ints, Ints]:
    """Return the cells at which bins begin, without and with the wide ones split.

    End bins [0, w) and [1−w, 1], cells too full to share, and `bins` bins of equal true counts between.
    """
    assert h.true_sum is not None, "class-wise histograms of many classes have no true sums"
    cutter = Cutter(h, grid)
    left, right = _ends(grid, end_width)
    start = cutter.equal_population(
        min(bins, int(cutter.before[-1]) + 1), left, right
    )  # beyond, every cell is too full
    return start, cutter.split(start)


@lru_cache(maxsize=64)
def _ends(grid: Grid, end_width: float) -> tuple[int, int]:
    """Return the first cell between the end bins, and the one after the last."""
    return (grid.atom(end_width), grid.atom(1.0 - end_width)) if end_width > 0.0 else (0, len(grid))


def binned(h: Histogram, grid: Grid, start: Ints) -> tuple[Ints, Floats]:
    """Return sums over the bins that begin at the cells `start`; bins without entries are left out.

    (3, bins) start, entries, true entries; (8, bins) low and high edge, weight of the entries, of the true ones, and
    of these squared, mean forecast, geometric mean forecast of the true ones, observed frequency.
    """
    first = h.cells.searchsorted(start)
    stop = np.append(start[1:], len(grid))
    filled = first < np.append(first[1:], len(h.cells))
    start, stop, first = start[filled], stop[filled], first[filled]

    def sums(values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values, first) if len(first) else values[:0]

    count, true = sums(h.all), sums(h.true)
    weight = count.astype(np.float64) if h.all_weight is None else sums(h.all_weight)
    true_weight = true.astype(np.float64) if h.true_weight is None else sums(h.true_weight)
    true_weight2 = true_weight if h.true_weight2 is None else sums(h.true_weight2)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Class-wise histograms of many classes do not keep the logarithms.
        model = np.full(len(first), np.nan) if h.true_log is None else np.exp(sums(h.true_log) / true_weight)
        forecast, source = sums(h.all_sum) / weight, true_weight / weight
    if len(first) and h.cells[0] == 0 and h.true[0] > 0:
        model[0] = 0.0  # an outcome had probability 0
    edges = grid.ends[start], grid.ends[stop]
    return np.array([start, count, true]), np.array(
        [*edges, weight, true_weight, true_weight2, forecast, model, source]
    )


class Cutter:
    """Cuts between the sorted true entries of a histogram."""

    def __init__(self, histogram: Histogram, grid: Grid) -> None:
        some = (histogram.true > 0).nonzero()[0]
        self.cells = histogram.cells[some].astype(np.int64)  # cells with true entries
        self.true = histogram.true[some]
        self.before = np.concatenate([[0], np.cumsum(self.true)])  # true entries in earlier cells
        assert histogram.true_sum is not None
        weight = self.true if histogram.true_weight is None else np.maximum(histogram.true_weight[some], SMALLEST)
        # Sums differ in the last bits with the order of the rows; the edges must not.
        self.mean = round_significant(histogram.true_sum[some] / weight)
        self.last = len(grid.edges)
        self.edges = grid.ends
        self.grid = grid

    def true_before(self, cell: Any) -> Ints:
        found: Ints = self.before[self.cells.searchsorted(cell)]
        return found

    def equal_population(self, bins: int, left: int, right: int) -> Ints:
        """Return the first cells of bins of equal true counts from `left` to `right`, with a bin on either side."""
        middle = (self.cells >= left) & (self.cells < right)
        full = middle & (self.true * bins > self.before[-1])
        overfull = self.cells[full]
        remaining = int(self.true[middle & ~full].sum())
        gaps = np.concatenate([[left], overfull + 1]), np.concatenate([overfull, [right]])
        start = [np.array([0]), *gaps]
        for lower, upper, first, stop in zip(*gaps, *map(self.true_before, gaps), strict=True):
            if stop > first:
                shares = max(1, round(bins * int(stop - first) / remaining))
                size, extra = divmod(stop - first, shares)
                # Sizes as array_split makes them: the first ones hold one entry more.
                i = np.arange(1, shares)
                cuts = self.cut(first + i * size + np.minimum(i, extra))
                start.append(cuts[(lower < cuts) & (cuts < upper)])
        found = np.unique(np.concatenate(start))
        return found[found < self.last]

    def cut(self, entry: Ints) -> Ints:
        """Return the cells at which a bin begins that separate true entries number entry−1 and entry; ties go up."""
        a = self.before.searchsorted(entry - 1, side="right") - 1
        b = np.minimum(self.before.searchsorted(entry, side="right") - 1, len(self.cells) - 1)
        low, high = self.cells[a], self.cells[b]
        middle = (self.mean[a] + self.mean[b]) / 2.0
        cell = self.edges[:-1].searchsorted(middle, side="right") - 1
        nearer_above = self.edges[cell + 1] - middle <= middle - self.edges[cell]
        nearest = cell + (nearer_above & ~self.grid.is_atom[cell])
        between: Ints = np.minimum(np.maximum(nearest, low + 1), high)  # low where one cell holds both
        return between

    def split(self, start: Ints) -> Ints:
        """Return the first cells after halving bins with too wide edges, as long as both halves keep enough entries."""
        found = [start]
        lower, upper = start, np.append(start[1:], self.last)
        while True:
            first, stop = self.true_before(lower), self.true_before(upper)
            wide = (self.edges[upper] > WIDEST_RATIO * self.edges[lower]) & (stop - first >= FEWEST_TO_SPLIT)
            if not wide.any():
                return np.sort(np.concatenate(found))
            lower, upper, first, stop = lower[wide], upper[wide], first[wide], stop[wide]
            middle = self.cut((first + stop + 1) // 2)
            between = self.true_before(middle)
            good = np.minimum(between - first, stop - between) * 2 >= FEWEST_TO_SPLIT
            found.append(middle[good])
            lower, upper = np.concatenate([lower[good], found[-1]]), np.concatenate([found[-1], upper[good]])


def round_significant(x: Floats) -> Floats:
    """Return x rounded to 40 significant bits."""
    mantissa, exponent = np.frexp(x)
    rounded: Floats = np.ldexp(np.round(mantissa * 2.0**40), exponent - 40)
    return rounded
