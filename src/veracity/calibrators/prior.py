"""The same row for every case: smoothed class frequencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

from ._grouping import effective_rows, smoothed

LABEL = "class frequencies"


@dataclass(frozen=True, eq=False)
class Prior(Formula):
    """frequencies (k,) of the classes."""

    frequencies: Array

    wording = "class frequencies for every case"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require_distributions(np.atleast_2d(self.frequencies), "frequencies")
        super().check()

    def rows(self, p: Array) -> Array:
        return np.tile(self.frequencies, (len(p), 1))


def fit(forecasts: Forecasts) -> Prior:
    """Return the class frequencies with one pseudo-row that is shared by all classes."""
    _ = forecasts.scores  # refuses rows of which only the outcome has a probability
    return Prior(forecasts.classes, frequencies=smoothed(forecasts.prior, np.asarray(effective_rows(forecasts))))
