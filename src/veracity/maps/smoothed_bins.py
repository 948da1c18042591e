"""Class frequencies of bins, each with one pseudo-row shared by all classes: nothing is ruled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veracity.data import Forecasts

from . import bins as plain
from ._grouping import row_mass, smoothed


@dataclass(frozen=True, eq=False)
class SmoothedBins(plain.Bins):
    name: ClassVar[str] = "smoothed_bins"

    @property
    def text(self) -> str:
        return f"smoothed {super().text}"


def fit(forecasts: Forecasts, *, bins: int | str = "auto") -> SmoothedBins:
    """Return the bins of `bins` with frequencies (n c + 1/k)/(n + 1)."""
    fitted = plain.fit(forecasts, bins=bins)
    assert forecasts.probabilities is not None
    rows = np.bincount(fitted.cells(forecasts.probabilities), row_mass(forecasts), minlength=len(fitted.means))
    return SmoothedBins(
        forecasts.classes, edges=fitted.edges, numbers=fitted.numbers, means=smoothed(fitted.means, rows)
    )
