"""The same row for every case: the class frequencies, none of them zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from veracity.data import Forecasts

from ._fitted import Formula
from ._grouping import effective_rows, smoothed
from ._target import scores_of

Array = NDArray[Any]

LABEL = "class frequencies"


@dataclass(frozen=True, eq=False)
class Prior(Formula):
    """frequencies (k,) of the classes."""

    frequencies: Array

    name: ClassVar[str] = "prior"

    @property
    def text(self) -> str:
        return "class frequencies for every case"

    def rows(self, p: Array) -> Array:
        return np.tile(self.frequencies, (len(p), 1))


def fit(forecasts: Forecasts) -> Prior:
    """Return the class frequencies with one pseudo-row that is shared by all classes."""
    scores_of(forecasts)
    return Prior(forecasts.classes, frequencies=smoothed(forecasts.prior, np.asarray(effective_rows(forecasts))))
