"""Equal numbers of true entries in each bin, on cells of the grid (theory section 3, step 3)."""

from __future__ import annotations

from veracity.estimate.curves import Curve, collect
from veracity.kernels import Histogram
from veracity.kernels.cuts import bin_starts
from veracity.kernels.grid import Grid


def number_of_bins(rows: float) -> int:
    """`auto`: about ten rows a bin, from 5 to 50."""
    return int(min(max(rows // 10, 5), 50))


def fit(histogram: Histogram, grid: Grid, *, bins: int, end_width: float, split: bool = False) -> Curve:
    """End bins [0, w) and [1−w, 1], cells too full to share, and `bins` bins of equal true counts between.

    With `split`, a bin whose edges differ by more than a factor two is halved by true count, again and again: this
    removes most of the bias that wide bins cause at small probabilities.
    """
    plain, halved = fit_both(histogram, grid, bins=bins, end_width=end_width)
    return halved if split else plain


def fit_both(histogram: Histogram, grid: Grid, *, bins: int, end_width: float) -> tuple[Curve, Curve]:
    """The curve without and with the wide bins split."""
    plain, halved = bin_starts(histogram, grid, bins, end_width)
    return collect("bins", histogram, grid, plain), collect("bins", histogram, grid, halved)
