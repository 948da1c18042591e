"""A minimum probability: no outcome is ruled out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

LABEL = "minimum probability"

USUAL = 0.001  # of all classes together it takes at most a tenth


@dataclass(frozen=True, eq=False)
class Floor(Formula):
    """Every probability at least `minimum`, the others reduced in proportion."""

    minimum: float

    needs_labels: ClassVar[bool] = False

    wording = "minimum probability {0.minimum:.3g}"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(0.0 < self.minimum * self.k < 1.0, f"minimum {self.minimum!r}")
        super().check()

    def rows(self, p: Array) -> Array:
        low = p < self.minimum
        taken = self.minimum * low.sum(axis=1, keepdims=True)
        rest = np.where(low, 0.0, p)
        return np.where(low, self.minimum, rest * (1.0 - taken) / rest.sum(axis=1, keepdims=True))


def fit(forecasts: Forecasts) -> Floor:
    """Return the map with the usual minimum, smaller where there are many classes."""
    return Floor(forecasts.classes, minimum=min(USUAL, 0.1 / forecasts.k))
