"""Bins with equal numbers of true entries: CQ's procedure, and the same with wide bins split."""

from __future__ import annotations

from veracity.estimate.means.binning import bin_starts
from veracity.estimate.means.curves._curve import Curve, collect
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid


def curve(histogram: Histogram, grid: Grid, *, bins: int, end_width: float, split: bool = False) -> Curve:
    """Return one of the curves of `equal_true_bins`: as published, or with wide bins split."""
    return equal_true_bins(histogram, grid, bins, end_width)[int(split)]


def equal_true_bins(histogram: Histogram, grid: Grid, bins: int, end_width: float) -> tuple[Curve, Curve]:
    """Return curves with equal numbers of true entries in each bin, as published and with wide bins split.

    End bins [0, w) and [1−w, 1], cells too full to share, and `bins` bins of equal true counts between. The second
    curve halves bins whose edges differ by more than a factor two by true count, again and again: this removes most of
    the bias that wide bins cause at small probabilities.
    """
    plain, halved = bin_starts(histogram, grid, bins, end_width)
    return collect(histogram, grid, plain), collect(histogram, grid, halved)


def number_of_bins(rows: float) -> int:
    """Return the default number of bins: about ten rows a bin, from 5 to 50."""
    return int(min(max(rows // 10, 5), 50))
