"""Confusion map after temperature scaling: p' ∝ p^(1/T) M."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

from . import temperature
from ._grouping import row_mass
from .confusion import exchange
from .temperature import sharpened

LABEL = "temperature and confusion map"


@dataclass(frozen=True, eq=False)
class TemperedConfusion(Formula):
    """temperature T, and the exchange of labels M (k, k) after it."""

    temperature: float
    matrix: Array

    @property
    def _described(self) -> str:
        kept = np.diag(self.matrix).mean()
        return (
            f"temperature {self.temperature:.2f}, then confusion map (keeps {100 * kept:.0f} % of a class on average)"
        )

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require_distributions(self.matrix, "matrix")
        self.require(len(self.matrix) == self.k, f"matrix of shape {self.matrix.shape} for {self.k} classes")
        self.require(self.temperature > 0.0, f"temperature {self.temperature!r}")
        super().check()

    def rows(self, p: Array) -> Array:
        q = sharpened(p, 1.0 / self.temperature) @ self.matrix
        return np.asarray(q / q.sum(axis=1, keepdims=True))


def fit(forecasts: Forecasts) -> TemperedConfusion:
    """Return the best temperature, and the best exchange of labels after it."""
    fitted = temperature.fit(forecasts)
    matrix = exchange(fitted(forecasts.scores), forecasts.observed, row_mass(forecasts))
    return TemperedConfusion(forecasts.classes, temperature=fitted.temperature, matrix=matrix)
