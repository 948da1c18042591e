"""A scalar curve u → c(u) on cells of the grid: how often entries forecast at u came true.

Measured means are the means of c(u) over the true entries; reliability is the curve itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from veracity.estimate.means.binning import binned
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
    own, spread          of a frequency that smooths, summed over the true entries: the weight that each has in its own
                         frequency, and the squared weights of all entries in it; None: those of the bin alone
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
    own: Floats | None = None
    spread: Floats | None = None

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
        none = np.zeros(len(self))
        return self._root(r, floor, none, none)

    def corrected(self, r: Floats, floor: float = 0.0) -> Floats:
        """Return measured means without the second-order bias of in-sample frequencies (theory section 3).

        A true entry raises its own frequency by `own` (1 − c), and the frequency varies by c(1 − c) `spread`: c^r is
        too large by r c^(r−1) (1 − c) (own + (r − 1)/2 spread), in bins S_r^r = (1/N) Σ_k [N*_k c_k^r − r(r+1)/2 c_k^r
        (1−c_k)], in logs for r = 0. NaN where too many bins make the power sum negative.
        """
        # In a bin both are a row over its size; with weights a row is worth Σw²/Σw. A floored frequency is fixed.
        varies = (self.true > 0) & (self.source > floor)
        row = np.divide(self.true_weight2, self.weight, out=np.zeros(len(self)), where=varies)
        both = (row if factor is None else factor for factor in (self.own, self.spread))
        odds = np.divide(1.0 - self.source, self.source, out=np.zeros(len(self)), where=varies)
        own, spread = (factor * odds for factor in both)
        return self._root(r, floor, own, spread)

    def _root(self, r: Floats, floor: float, own: Floats, spread: Floats) -> Floats:
        log_c, weight, total, zero = self.log_source(floor), self.true_weight, self.true_weight.sum(), r == 0.0
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            power = np.exp(log_c[:, None] * r)
            mean = (weight @ power - r * (own @ power + (r - 1.0) / 2.0 * (spread @ power))) / total
            root: Floats = mean ** (1.0 / (r + zero))
            root[zero] = np.exp((weight @ log_c - own.sum() + spread.sum() / 2.0) / total)
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
