"""Bins on cells of the grid: the first cells of bins with equal true counts, sums over bins, calibration errors.

Everything is decided from integer counts, so that rows in memory, streamed or on a cluster give the same bins.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels.grid import Grid, round_significant
from veracity.kernels.result import Histogram
from veracity.types import Floats, Ints

FEWEST_TO_SPLIT = 8  # true entries; each half keeps at least half as many
WIDEST_RATIO = 2.0  # of a bin's edges, before it is split
SMALLEST = np.finfo(float).tiny


def bin_starts(h: Histogram, grid: Grid, bins: int, end_width: float) -> tuple[Ints, Ints]:
    """Return the cells at which bins begin, without and with the wide ones split.

    End bins [0, w) and [1−w, 1], cells too full to share, and `bins` bins of equal true counts between.
    """
    assert h.true_sum is not None, "class-wise histograms of many classes have no true sums"
    binner = EqualCountBinner(h, grid)
    left, right = _ends(grid, end_width)
    start = binner.equal_population(
        min(bins, int(binner.before[-1]) + 1), left, right
    )  # beyond, every cell is too full
    return start, binner.split(start)


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


def bin_sums(
    cells: NDArray[np.int32], offsets: Ints, start: Ints, columns: tuple[NDArray[Any], ...]
) -> tuple[Ints, Floats]:
    """Return the histogram of each bin that has cells, ascending, and (columns, bins) the sums of columns over it.

    cells    of histograms one after another, ascending in each; histogram i is offsets[i] … offsets[i + 1].
    start    (bins,) the cell at which each bin begins, the first 0.

    >>> cells, offsets, columns = np.array([0, 3, 9, 2], dtype=np.int32), np.array([0, 3, 4]), (np.arange(4.0),)
    >>> bin_sums(cells, offsets, np.array([0, 3]), columns)
    (array([0, 0, 1]), array([[0., 3., 3.]]))
    """
    used = slice(offsets[0], offsets[-1])
    span = 1 + max(int(cells[used].max(initial=0)), int(start[-1]))
    before = np.arange(len(offsets) - 1) * span  # makes the cells of all histograms one ascending row
    ascending = cells[used] + before.repeat(np.diff(offsets))
    first = ascending.searchsorted((before[:, None] + start).ravel())
    filled = np.flatnonzero(first < np.append(first[1:], len(ascending)))  # with many classes most bins are empty
    sums = np.array([np.add.reduceat(values[used], first[filled]) for values in columns], dtype=np.float64)
    return filled // len(start), sums


def binned_calibration_errors(of: Ints, sums: Floats, histograms: int, rows: float) -> Floats:
    """(5, histograms): mean |frequency − forecast| in bins; less what chance adds; standard error; the largest; and
    the mean gap of calibrated forecasts. NaN without entries.

    of    (bins,) the histogram of each bin.
    sums  (3, bins) Σw of all entries and of the true ones, counts or weights, and Σwp.
    rows  how many rows a weight of 1 is worth.

    >>> of, every, true, total = np.array([0, 0, 1]), [1.0, 4.0, 8.0], [1.0, 1.0, 8.0], [0.5, 1.0, 0.5]
    >>> binned_calibration_errors(of, np.array([every, true, total]), 2, 1.0)[[0, 3]]
    array([[0.1   , 0.9375],
           [0.5   , 0.9375]])
    """
    from scipy.special import erf

    of, (weight, true, total) = of[sums[0] > 0.0], sums[:, sums[0] > 0.0]
    observed, gap = true / weight, np.abs(true - total) / weight
    error = np.sqrt(np.maximum(observed * (1.0 - observed), 0.0) / (weight * rows))
    # A gap with normal noise is on average this large (folded normal); its excess over `gap` is bias.
    varies = error > 0.0
    z = gap / np.where(varies, error, 1.0)
    noisy = error * math.sqrt(2.0 / math.pi) * np.exp(-z * z / 2.0) + gap * erf(z / math.sqrt(2.0))
    bias = np.where(varies, noisy - gap, 0.0)
    by_chance = _gap_by_chance(np.clip(total / weight, 0.0, 1.0), weight * rows)
    whole = np.bincount(of, weight, histograms)
    share, largest = weight / whole[of], np.zeros(histograms)
    np.maximum.at(largest, of, gap)
    mean, debiased, squares, chance = (
        np.bincount(of, x, histograms)
        for x in (share * gap, share * (gap - bias), (share * error) ** 2, share * by_chance)
    )
    errors = np.array([mean, np.maximum(debiased, 0.0), np.sqrt(squares), largest, chance])
    errors[:3, whole == 0.0] = errors[4, whole == 0.0] = np.nan
    return errors


def _gap_by_chance(p: Floats, n: Floats) -> Floats:
    """E|X/n − p| of a binomial X with n trials: 2 (1 − p)^(n−m) p^(m+1) (m + 1) C(n, m + 1)/n, m = ⌊np⌋ (De Moivre)."""
    from scipy.special import gammaln, xlog1py, xlogy

    n = np.maximum(np.rint(n.round(9)), 1.0)  # halves, whatever rounding did to them
    m = np.minimum(np.floor(n * p), n - 1.0)
    chosen = gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m)
    gap: Floats = 2.0 * np.exp(xlog1py(n - m, -p) + xlogy(m + 1.0, p) + chosen) / n
    return gap


class EqualCountBinner:
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
        count: Ints = self.before[self.cells.searchsorted(cell)]
        return count

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
        cells = np.unique(np.concatenate(start))
        return cells[cells < self.last]

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
        starts = [start]
        lower, upper = start, np.append(start[1:], self.last)
        while True:
            first, stop = self.true_before(lower), self.true_before(upper)
            wide = (self.edges[upper] > WIDEST_RATIO * self.edges[lower]) & (stop - first >= FEWEST_TO_SPLIT)
            if not wide.any():
                return np.sort(np.concatenate(starts))
            lower, upper, first, stop = lower[wide], upper[wide], first[wide], stop[wide]
            middle = self.cut((first + stop + 1) // 2)
            between = self.true_before(middle)
            good = np.minimum(between - first, stop - between) * 2 >= FEWEST_TO_SPLIT
            starts.append(middle[good])
            lower, upper = np.concatenate([lower[good], starts[-1]]), np.concatenate([starts[-1], upper[good]])
