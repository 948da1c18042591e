"""Scalar curves u → c(u): how often entries forecast at u came true.

One file per curve; its `fit(histogram, grid, plan)` gives a `Curve` of bins on cells of the grid. Measured
metrics are the means of c(u) over what happened (theory section 3); reliability is the curve itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels import Histogram
from veracity.kernels.cuts import binned
from veracity.kernels.grid import Grid

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@cache
def names() -> tuple[str, ...]:
    """The curves there are: one file each in this folder."""
    return tuple(sorted(module.name for module in iter_modules(__path__)))


def fit(name: str, histogram: Histogram, grid: Grid, **options: Any) -> Curve:
    """Fit the curve called `name`; its file says which options it takes."""
    if name not in names():
        raise ValueError(f"curve: no curve is called {name!r}; there are {', '.join(names())}")
    curve: Curve = import_module(f"{__name__}.{name}").fit(histogram, grid, **options)
    return curve


@dataclass(frozen=True)
class Curve:
    """Bins with what was forecast in them and what came true. All arrays have one value per bin.

    start                first grid cell
    count, true          entries and true entries (integers: rows, or counts)
    low, high            the edges: [low, high), the last one closed
    weight, true_weight  the same weighted; true_weight2 the sum of squared weights of the true entries
    forecast             mean forecast of all entries
    model                geometric mean of the true entries: Q_k^(0) of N17 eq 15
    source               c(u): the share that came true, P_k of N17 eq 16, unless the curve smooths it
    """

    name: str
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

    def __len__(self) -> int:
        return len(self.start)

    def locate(self, u: Floats) -> Ints:
        """The bin of each value."""
        bins: Ints = np.searchsorted(self.low, u, side="right") - 1
        return bins

    def log_source(self, floor: float = 0.0) -> Floats:
        """ln c(u), not below the floor; 0 in bins without true entries, which have no weight."""
        return np.log(np.where(self.true > 0, np.maximum(self.source, floor), 1.0))

    def means(self, r: Floats, floor: float = 0.0) -> Floats:
        """Measured means as published (N17 eq 19 weighted by true counts): (Σ N*_k c_k^r / N)^(1/r)."""
        return self._root(r, floor, np.zeros(len(self)))

    def corrected(self, r: Floats, floor: float = 0.0) -> Floats:
        """Measured means without the second-order bias of in-sample frequencies (theory section 3).

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
        """−(N*_k/N) ln Q_k, which sums to −ln of geometric accuracy, and N17 eq 17's −w_k ln Q_k, w = P_k / Σ P."""
        with np.errstate(divide="ignore", invalid="ignore"):
            surprise = np.where(self.true > 0, -np.log(self.model), 0.0) + 0.0
        return self.true_weight / self.true_weight.sum() * surprise, self.source / self.source.sum() * surprise


def shown(edges: Floats, cuts: tuple[float, ...]) -> list[float]:
    """Edges as people know them: an atom reaches from a cut to its float32 neighbour, and is called by the cut."""
    given = _ended(cuts)
    nearest = given[given.searchsorted(edges * (1.0 - 1e-6))]
    named: list[float] = np.where(np.abs(nearest - edges) <= 1e-6 * edges, nearest, edges).tolist()
    return named


@lru_cache(maxsize=64)
def _ended(cuts: tuple[float, ...]) -> Floats:
    return np.array([*cuts, np.inf])


def collect(name: str, histogram: Histogram, grid: Grid, start: Ints) -> Curve:
    """Sum the cells of a histogram into the bins that begin at the grid cells `start`; empty bins are left out."""
    counts, others = binned(histogram, grid, start)
    return Curve(name, *counts, *others)
