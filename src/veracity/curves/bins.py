"""Equal numbers of true entries in each bin, on cells of the grid (theory section 3, step 3).

Everything is decided from integer counts, so that rows in memory, streamed or on a cluster give the same bins.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.curves import Curve, Floats, Ints, collect, ends
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid

FEWEST_TO_SPLIT = 8  # true entries; each half keeps at least half as many
WIDEST_RATIO = 2.0  # of a bin's edges, before it is split
SMALLEST = np.finfo(float).tiny


def number_of_bins(rows: float) -> int:
    """`auto`: about ten rows a bin, from 5 to 50."""
    return int(np.clip(rows // 10, 5, 50))


def fit(histogram: Histogram, grid: Grid, *, bins: int, end_width: float, split: bool = False) -> Curve:
    """End bins [0, w) and [1−w, 1], cells too full to share, and `bins` bins of equal true counts between.

    With `split`, a bin whose edges differ by more than a factor two is halved by true count, again and again: this
    removes most of the bias that wide bins cause at small probabilities.
    """
    plain, halved = fit_both(histogram, grid, bins=bins, end_width=end_width)
    return halved if split else plain


def fit_both(histogram: Histogram, grid: Grid, *, bins: int, end_width: float) -> tuple[Curve, Curve]:
    """The curve without and with the wide bins split."""
    cutter = _Cutter(histogram, grid)
    start = cutter.equal_population(bins, end_width)
    return collect("bins", histogram, grid, start), collect("bins", histogram, grid, cutter.split(start))


@lru_cache(maxsize=16)
def _is_atom(grid: Grid) -> NDArray[np.bool_]:
    atom = np.zeros(len(grid.edges), dtype=bool)
    atom[[grid.atom(c) for c in grid.cuts]] = True
    return atom


class _Cutter:
    """Where to cut the sorted true entries of a histogram."""

    def __init__(self, histogram: Histogram, grid: Grid) -> None:
        some = (histogram.true > 0).nonzero()[0]
        self.cells = histogram.cells[some].astype(np.int64)  # cells with true entries
        self.true = histogram.true[some]
        self.before = np.concatenate([[0], np.cumsum(self.true)])  # true entries in earlier cells
        assert histogram.true_sum is not None, "class-wise histograms of many classes have no true sums"
        weight = self.true if histogram.true_weight is None else np.maximum(histogram.true_weight[some], SMALLEST)
        # Sums differ in the last bits with the order of the rows; the edges must not.
        self.mean = _round_significant(histogram.true_sum[some] / weight)
        self.last = len(grid.edges)
        self.edges = ends(grid)
        self.grid = grid

    def true_before(self, cell: Any) -> Ints:
        found: Ints = self.before[self.cells.searchsorted(cell)]
        return found

    def equal_population(self, bins: int, end_width: float) -> Ints:
        last = self.last
        left, right = (self.grid.atom(end_width), self.grid.atom(1.0 - end_width)) if end_width > 0.0 else (0, last)
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
        return found[found < last]

    def cut(self, entry: Ints) -> Ints:
        """The grid cells at which a bin begins so that true entries number entry−1 and entry part, ties going up."""
        a = self.before.searchsorted(entry - 1, side="right") - 1
        b = np.minimum(self.before.searchsorted(entry, side="right") - 1, len(self.cells) - 1)
        low, high = self.cells[a], self.cells[b]
        middle = (self.mean[a] + self.mean[b]) / 2.0
        cell = self.edges[:-1].searchsorted(middle, side="right") - 1
        nearer_above = self.edges[cell + 1] - middle <= middle - self.edges[cell]
        nearest = cell + (nearer_above & ~_is_atom(self.grid)[cell])
        between: Ints = np.minimum(np.maximum(nearest, low + 1), high)  # low where one cell holds both
        return between

    def split(self, start: Ints) -> Ints:
        """Halves of bins whose edges differ too much, and halves of these, while each keeps entries enough."""
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


def _round_significant(x: Floats) -> Floats:
    """x to 40 significant bits."""
    mantissa, exponent = np.frexp(x)
    rounded: Floats = np.ldexp(np.round(mantissa * 2.0**40), exponent - 40)
    return rounded
