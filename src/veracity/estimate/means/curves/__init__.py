"""Curves of the source probability, one in each file: `curve(histogram, grid, **options)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veracity.estimate.means.curves import bins, isotonic, kernel, knn, width
from veracity.estimate.means.curves._curve import Curve, collect, shown
from veracity.estimate.means.curves.bins import equal_true_bins, number_of_bins
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid

__all__ = ["CURVES", "Curve", "collect", "equal_true_bins", "fit", "number_of_bins", "shown"]

CURVES: dict[str, Callable[..., Curve]] = {
    "bins": bins.curve,
    "width": width.curve,
    "isotonic": isotonic.curve,
    "knn": knn.curve,
    "kernel": kernel.curve,
}


def fit(name: str, histogram: Histogram, grid: Grid, **options: Any) -> Curve:
    """Return the curve called `name`, with its options."""
    if name not in CURVES:
        raise ValueError(f"curve: no curve is called {name!r}; there are {', '.join(CURVES)}")
    return CURVES[name](histogram, grid, **options)
