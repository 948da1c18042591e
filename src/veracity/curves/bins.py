"""Equal numbers of true entries in each bin, on cells of the grid (theory section 3, step 3).

Everything is decided from integer counts, so that rows in memory, streamed or on a cluster give the same bins.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from veracity.curves import Curve, Floats, Ints, collect
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid

FEWEST_TO_SPLIT = 8  # true entries; each half keeps at least half as many
WIDEST_RATIO = 2.0  # of a bin's edges, before it is split


def number_of_bins(rows: float) -> int:
    """`auto`: about ten rows a bin, from 5 to 50."""
    return int(np.clip(rows // 10, 5, 50))


def fit(histogram: Histogram, grid: Grid, *, bins: int, end_width: float, split: bool) -> Curve:
    """End bins [0, w) and [1−w, 1], cells too full to share, and `bins` bins of equal true counts between.

    With `split`, a bin whose edges differ by more than a factor two is halved by true count, again and again: this
    removes most of the bias that wide bins cause at small probabilities.
    """
    cutter = _Cutter(histogram, grid)
    start = cutter.equal_population(bins, end_width)
    if split:
        start = cutter.split(start)
    return collect("bins", histogram, grid, np.asarray(start, dtype=np.int64))


@lru_cache(maxsize=16)
def _atoms(grid: Grid) -> Ints:
    return np.array([grid.atom(c) for c in grid.cuts], dtype=np.int64)


class _Cutter:
    """Where to cut the sorted true entries of a histogram."""

    def __init__(self, histogram: Histogram, grid: Grid) -> None:
        some = histogram.true > 0
        self.cells = histogram.cells[some].astype(np.int64)  # cells with true entries
        self.true = histogram.true[some]
        self.before = np.concatenate([[0], np.cumsum(self.true)])  # true entries in earlier cells
        assert histogram.true_sum is not None, "class-wise histograms of many classes have no true sums"
        weight = histogram.true_weight[some] if histogram.true_weight is not None else self.true
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = histogram.true_sum[some] / weight
        # Sums differ in the last bits with the order of the rows; the edges must not.
        self.mean: Floats = np.nan_to_num(_round_significant(mean))
        self.edges = np.append(grid.edges, 1.0)
        self.atoms = _atoms(grid)
        self.grid = grid

    def equal_population(self, bins: int, end_width: float) -> list[int]:
        last = len(self.grid.edges)
        left, right = (self.grid.atom(end_width), self.grid.atom(1.0 - end_width)) if end_width > 0.0 else (0, last)
        middle = (self.cells >= left) & (self.cells < right)
        overfull = self.cells[middle & (self.true * bins > self.before[-1])]
        remaining = int(self.true[middle].sum() - self.true[np.isin(self.cells, overfull)].sum())
        start = {0, left, *(int(c) for c in overfull), *(int(c) + 1 for c in overfull)}
        if right < last:
            start.add(right)
        stretch_starts = [left, *(int(c) + 1 for c in overfull)]
        stretch_stops = [*(int(c) for c in overfull), right]
        for lower, upper in zip(stretch_starts, stretch_stops, strict=True):
            first, stop = np.searchsorted(self.cells, [lower, upper])
            entries = int(self.before[stop] - self.before[first])
            if entries:
                shares = max(1, round(bins * entries / remaining))
                size, extra = divmod(entries, shares)
                sizes = np.full(shares, size)
                sizes[:extra] += 1
                cuts = self.cuts(self.before[first] + np.cumsum(sizes)[:-1])
                start.update(int(cut) for cut in cuts if lower < cut < upper)
        return sorted(start - {last})

    def cuts(self, entry: Ints) -> Ints:
        """The grid cell at which a bin begins so that true entries number entry−1 and entry part, ties going up."""
        a = np.searchsorted(self.before, entry - 1, side="right") - 1
        b = np.minimum(np.searchsorted(self.before, entry, side="right") - 1, len(self.cells) - 1)
        middle = (self.mean[a] + self.mean[b]) / 2.0
        cell = self.grid.locate(np.clip(middle, 0.0, 1.0)).astype(np.int64)
        upper = self.edges[cell + 1] - middle <= middle - self.edges[cell]
        nearest = np.where(upper & ~np.isin(cell, self.atoms), cell + 1, cell)
        apart = np.clip(nearest, self.cells[a] + 1, self.cells[b])
        return np.where(a == b, self.cells[a], apart)

    def split(self, start: list[int]) -> list[int]:
        done, waiting = [], list(zip(start, [*start[1:], len(self.grid.edges)], strict=True))
        while waiting:
            lower, upper = waiting.pop()
            middle = self.half(lower, upper)
            if middle is None:
                done.append(lower)
            else:
                waiting += [(lower, middle), (middle, upper)]
        return sorted(done)

    def half(self, lower: int, upper: int) -> int | None:
        if self.edges[upper] <= WIDEST_RATIO * self.edges[lower]:
            return None
        first, stop = self.before[np.searchsorted(self.cells, [lower, upper])]
        if stop - first < FEWEST_TO_SPLIT:
            return None
        middle = int(self.cuts(np.array([(first + stop + 1) // 2]))[0])
        between = self.before[np.searchsorted(self.cells, middle)]
        return middle if min(between - first, stop - between) * 2 >= FEWEST_TO_SPLIT else None


def _round_significant(x: Floats) -> Floats:
    """x to 40 significant bits."""
    mantissa, exponent = np.frexp(x)
    rounded: Floats = np.ldexp(np.round(mantissa * 2.0**40), exponent - 40)
    return rounded
