"""Vector scaling: p ∝ p_j^{a_j} e^{c_j}, two numbers a class (Guo et al. 2017), pulled towards one temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

from . import temperature
from ._logistic import logs
from ._softmax import diagonal_fit, log_scores, softmax

LABEL = "vector scaling"

RIDGE = 1.0  # rows' worth of pull on each number, on the scale of the log odds


@dataclass(frozen=True, eq=False)
class Vector(Formula):
    """slopes a (k,) and intercepts c (k,) on the logarithms of the probabilities, none taken below 1e-12."""

    slopes: Array
    intercepts: Array

    @property
    def _described(self) -> str:
        return f"vector scaling ({2 * self.k} parameters)"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.slopes.shape == self.intercepts.shape == (self.k,), "two numbers a class")
        super().check()

    def rows(self, p: Array) -> Array:
        return softmax(logs(p) * self.slopes + self.intercepts)[0]


def fit(forecasts: Forecasts, *, ridge: float = RIDGE) -> Vector:
    """Return slopes and intercepts with the least log loss plus ½ ridge (scale · (slope − 1/T))² + ½ ridge intercept².

    The pull is towards temperature scaling; the scale is the root mean square of the logarithms.
    """
    x, y, rows, scale = log_scores(forecasts)
    k = forecasts.k
    centre = np.concatenate([scale / temperature.fit(forecasts).temperature, np.zeros(k)])
    weights = diagonal_fit(x / scale, y, rows, centre, ridge)
    return Vector(forecasts.classes, slopes=weights[:k] / scale, intercepts=weights[k:] - weights[k:].mean())


def slopes_and_intercepts(p: Array, y: Array, rows: Array, ridge: float) -> Array:
    """Return (2k,) slopes and intercepts with the least log loss plus ½ ridge (|slopes − 1|² + |intercepts|²)."""
    k = p.shape[1]
    centre = np.concatenate([np.ones(k), np.zeros(k)])
    return diagonal_fit(logs(p), y, rows, centre, ridge)
