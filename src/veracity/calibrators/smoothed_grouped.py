"""Class frequencies among equal forecasts, with one pseudo-row shared by all classes; new forecasts do not change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veracity.calibrators._fitted import Fitted, as_rows, checked_rows
from veracity.inputs import Forecasts
from veracity.types import Array

from . import grouped
from ._grouping import equal_rows, row_mass, smoothed

LABEL = "frequencies of equal forecasts"


@dataclass(frozen=True, eq=False)
class SmoothedGrouped(Fitted):
    """seen (g, k): the distinct forecasts; means (g, k): smoothed class frequencies among their rows."""

    seen: Array
    means: Array

    @property
    def _described(self) -> str:
        return f"smoothed frequencies of {len(self.seen)} distinct forecasts"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require_distributions(self.means, "means")
        self.require(self.seen.shape == self.means.shape and np.isfinite(self.seen).all(), "rows that were not seen")

    def __call__(self, rows: ArrayLike) -> Array:
        p = as_rows(checked_rows(rows, self.k), self.k)
        number = grouped.numbers_of(self.seen, p)
        return np.where((number < 0)[:, None], p, self.means[number])


def fit(forecasts: Forecasts) -> SmoothedGrouped:
    """Return frequencies (n c + 1/k)/(n + 1) of every distinct forecast."""
    fitted = grouped.fit(forecasts)
    label, _ = equal_rows(forecasts.scores)
    rows = np.bincount(label, row_mass(forecasts), minlength=len(fitted.seen))
    return SmoothedGrouped(forecasts.classes, seen=fitted.seen, means=smoothed(fitted.means, rows))
