"""Scalar curves u → c(u): how often entries forecast at u came true, in bins on cells of the grid.

Measured means are the means of c(u) over the true entries; reliability is the curve itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from veracity.estimate.means.binning import bin_starts, binned
from veracity.formulas.isotonic import pooled_blocks
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.types import Floats, Ints


@dataclass(frozen=True)
class Curve:
    """Bins with the forecasts in them and how many came true. All arrays have one value per bin.

    start                first grid cell
    count, true          entries and true entries (integers: rows, or counts)
    low, high            the edges: [low, high), the last one closed
    weight, true_weight  the same weighted; true_weight2 the sum of squared weights of the true entries
    forecast             mean forecast of all entries
    model                geometric mean of the true entries: Q_k^(0) of N17 eq 15
    source               c(u): the share that came true, P_k of N17 eq 16, unless the curve smooths it
    limits               between which the entries were clipped before they were put into bins
    """

    start: Ints
    count: Ints
    true: Ints
    low: Floats
    high: Floats
    weight: Floats
    true_weight: Floats
    true_weight2: Floats
    forecast: Floats
    model: Floats
    source: Floats
    limits: tuple[float, float] = (0.0, 1.0)

    def __len__(self) -> int:
        return len(self.start)

    def locate(self, u: Floats) -> Ints:
        """Return the bin of each value."""
        return np.asarray(np.searchsorted(self.low, u, side="right") - 1)

    def log_source(self, floor: float = 0.0) -> Floats:
        """Return ln c(u), not below the floor; 0 in bins without true entries, which have no weight."""
        return np.log(np.where(self.true > 0, np.maximum(self.source, floor), 1.0))

    def means(self, r: Floats, floor: float = 0.0) -> Floats:
        """Return measured means as published (N17 eq 19 weighted by true counts): (Σ N*_k c_k^r / N)^(1/r)."""
        return self._root(r, floor, np.zeros(len(self)))

    def corrected(self, r: Floats, floor: float = 0.0) -> Floats:
        """Return measured means without the second-order bias of in-sample frequencies (theory section 3).

        S_r^r = (1/N) Σ_k [N*_k c_k^r − r(r+1)/2 c_k^r (1−c_k)], in logs for r = 0. NaN where too many bins make the
        power sum negative.
        """
        # One row's worth of bias in each bin; with weights a row is worth Σw²/Σw. A floored frequency does not vary.
        varies = (self.true > 0) & (self.source > floor)
        row = np.divide(self.true_weight2, self.true_weight, out=np.zeros(len(self)), where=varies)
        return self._root(r, floor, row * (1.0 - self.source))

    def _root(self, r: Floats, floor: float, bias: Floats) -> Floats:
        log_c, weight, total, zero = self.log_source(floor), self.true_weight, self.true_weight.sum(), r == 0.0
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            power = np.exp(log_c[:, None] * r)
            mean = (weight @ power - r * (r + 1.0) / 2.0 * (bias @ power)) / total
            root: Floats = mean ** (1.0 / (r + zero))
            root[zero] = np.exp((weight @ log_c - bias.sum() / 2.0) / total)
        return root

    def contributions(self) -> tuple[Floats, Floats]:
        """Return −(N*_k/N) ln Q_k, whose sum is −ln of geometric accuracy, and N17 eq 17's −w_k ln Q_k, w = P_k/ΣP."""
        with np.errstate(divide="ignore", invalid="ignore"):
            surprise = np.where(self.true > 0, -np.log(self.model), 0.0) + 0.0
        return self.true_weight / self.true_weight.sum() * surprise, self.source / self.source.sum() * surprise


def shown(edges: Floats, cuts: tuple[float, ...]) -> list[float]:
    """Return edges for people: an atom, from a cut to its float32 neighbour, is called by the cut."""
    given = _ended(cuts)
    nearest = given[given.searchsorted(edges * (1.0 - 1e-6))]
    named: list[float] = np.where(np.abs(nearest - edges) <= 1e-6 * edges, nearest, edges).tolist()
    return named


@lru_cache(maxsize=64)
def _ended(cuts: tuple[float, ...]) -> Floats:
    return np.array([*cuts, np.inf])


def collect(histogram: Histogram, grid: Grid, start: Ints) -> Curve:
    """Sum the cells of a histogram into the bins that begin at the grid cells `start`; empty bins are left out."""
    counts, others = binned(histogram, grid, start)
    return Curve(*counts, *others)


def number_of_bins(rows: float) -> int:
    """Return the default number of bins: about ten rows a bin, from 5 to 50."""
    return int(min(max(rows // 10, 5), 50))


def equal_true_bins(histogram: Histogram, grid: Grid, bins: int, end_width: float) -> tuple[Curve, Curve]:
    """Return curves with equal numbers of true entries in each bin, as published and with wide bins split.

    End bins [0, w) and [1−w, 1], cells too full to share, and `bins` bins of equal true counts between. The second
    curve halves bins whose edges differ by more than a factor two by true count, again and again: this removes most of
    the bias that wide bins cause at small probabilities.
    """
    plain, halved = bin_starts(histogram, grid, bins, end_width)
    return collect(histogram, grid, plain), collect(histogram, grid, halved)


def equal_true(histogram: Histogram, grid: Grid, *, bins: int, end_width: float, split: bool = False) -> Curve:
    """Return one of the curves of `equal_true_bins`: as published, or with wide bins split."""
    return equal_true_bins(histogram, grid, bins, end_width)[int(split)]


def equal_width(histogram: Histogram, grid: Grid, *, cuts: tuple[float, ...], own: tuple[float, ...] = ()) -> Curve:
    """Return bins [a, b) between `cuts`, each a cut of the grid; the atoms `own` are bins by themselves."""
    start = {0, *(grid.atom(c) for c in cuts), *(grid.atom(c) for c in own), *(grid.atom(c) + 1 for c in own)}
    return collect(histogram, grid, np.array(sorted(start), dtype=np.int64))


def isotonic(histogram: Histogram, grid: Grid) -> Curve:
    """Return pooled adjacent violators over the cells; a bin is a block of cells with one frequency."""
    cells = collect(histogram, grid, histogram.cells.astype(np.int64))
    start = cells.start[pooled_blocks(cells.source, cells.weight)]
    start[:1] = 0
    curve = collect(histogram, grid, start)
    return replace(curve, source=curve.true_weight / curve.weight)


CURVES: dict[str, Callable[..., Curve]] = {"bins": equal_true, "width": equal_width, "isotonic": isotonic}


def fit(name: str, histogram: Histogram, grid: Grid, **options: Any) -> Curve:
    """Return the curve called `name`, with its options."""
    if name not in CURVES:
        raise ValueError(f"curve: no curve is called {name!r}; there are {', '.join(CURVES)}")
    return CURVES[name](histogram, grid, **options)
