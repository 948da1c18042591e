"""Equal numbers of true entries in each bin, on cells of the grid (theory section 3, step 3).

Everything is decided from integer counts, so that rows in memory, streamed or on a cluster give the same bins.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

import numpy as np

from veracity.curves import Curve, Floats, collect
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid

FEWEST_TO_SPLIT = 8  # true entries; each half keeps at least half as many
WIDEST_RATIO = 2.0  # of a bin's edges, before it is split


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
    plain, halved = (np.asarray(s, dtype=np.int64) for s in (start, cutter.split(start)))
    return collect("bins", histogram, grid, plain), collect("bins", histogram, grid, halved)


@lru_cache(maxsize=16)
def _atoms(grid: Grid) -> frozenset[int]:
    return frozenset(grid.atom(c) for c in grid.cuts)


class _Cutter:
    """Where to cut the sorted true entries of a histogram."""

    def __init__(self, histogram: Histogram, grid: Grid) -> None:
        some = histogram.true > 0
        self.cells = histogram.cells[some].astype(np.int64)  # cells with true entries
        self.true = histogram.true[some]
        self.before = np.concatenate([[0], np.cumsum(self.true)])  # true entries in earlier cells
        assert histogram.true_sum is not None, "class-wise histograms of many classes have no true sums"
        weight = self.true if histogram.true_weight is None else histogram.true_weight[some]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = histogram.true_sum[some] / weight
        # Sums differ in the last bits with the order of the rows; the edges must not.
        self.mean = np.nan_to_num(_round_significant(mean))
        self.last = len(grid.edges)
        self.edges = grid.edges
        self.grid = grid

    def edge(self, cell: int) -> float:
        return float(self.edges[cell]) if cell < self.last else 1.0

    def true_before(self, cell: int) -> int:
        return int(self.before[bisect_left(self.cells, cell)])

    def equal_population(self, bins: int, end_width: float) -> list[int]:
        last = self.last
        left, right = (self.grid.atom(end_width), self.grid.atom(1.0 - end_width)) if end_width > 0.0 else (0, last)
        middle = (self.cells >= left) & (self.cells < right)
        full = middle & (self.true * bins > self.before[-1])
        overfull = self.cells[full].tolist()
        remaining = int(self.true[middle & ~full].sum())
        start = {0, left, right, *overfull, *(cell + 1 for cell in overfull)}
        for lower, upper in zip([left, *(c + 1 for c in overfull)], [*overfull, right], strict=True):
            first = self.true_before(lower)
            entries = self.true_before(upper) - first
            if entries:
                shares = max(1, round(bins * entries / remaining))
                size, extra = divmod(entries, shares)
                # Sizes as array_split makes them: the first ones hold one entry more.
                cuts = (self.cut(first + i * size + min(i, extra)) for i in range(1, shares))
                start.update(cell for cell in cuts if lower < cell < upper)
        return sorted(start - {last})

    def cut(self, entry: int) -> int:
        """The grid cell at which a bin begins so that true entries number entry−1 and entry part, ties going up."""
        a = bisect_right(self.before, entry - 1) - 1
        b = min(bisect_right(self.before, entry) - 1, len(self.cells) - 1)
        low, high = int(self.cells[a]), int(self.cells[b])
        if a == b:
            return low
        middle = float(self.mean[a] + self.mean[b]) / 2.0
        cell = max(bisect_right(self.edges, middle) - 1, 0)
        nearer_above = self.edge(cell + 1) - middle <= middle - self.edge(cell)
        nearest = cell + 1 if nearer_above and cell not in _atoms(self.grid) else cell
        return min(max(nearest, low + 1), high)

    def split(self, start: list[int]) -> list[int]:
        done, waiting = [], list(zip(start, [*start[1:], self.last], strict=True))
        while waiting:
            lower, upper = waiting.pop()
            middle = self.half(lower, upper)
            if middle is None:
                done.append(lower)
            else:
                waiting += [(lower, middle), (middle, upper)]
        return sorted(done)

    def half(self, lower: int, upper: int) -> int | None:
        if self.edge(upper) <= WIDEST_RATIO * self.edge(lower):
            return None
        first, stop = self.true_before(lower), self.true_before(upper)
        if stop - first < FEWEST_TO_SPLIT:
            return None
        middle = self.cut((first + stop + 1) // 2)
        between = self.true_before(middle)
        return middle if min(between - first, stop - between) * 2 >= FEWEST_TO_SPLIT else None


def _round_significant(x: Floats) -> Floats:
    """x to 40 significant bits."""
    mantissa, exponent = np.frexp(x)
    rounded: Floats = np.ldexp(np.round(mantissa * 2.0**40), exponent - 40)
    return rounded
