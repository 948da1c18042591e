"""Matrix scaling: ln p' = W ln p + c up to a constant, pulled towards one temperature (Guo 2017; Kull et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

from . import temperature
from ._logistic import logs
from ._softmax import full_fit, log_scores, softmax

LABEL = "matrix scaling"

RIDGE = 2.0  # rows' worth of pull on each number, on the scale of the log odds


@dataclass(frozen=True, eq=False)
class Matrix(Formula):
    """slopes W (k, k) and intercepts c (k,) on the logarithms of the probabilities, none taken below 1e-12."""

    slopes: Array
    intercepts: Array

    @property
    def _described(self) -> str:
        return f"matrix scaling ({self.k * (self.k + 1)} parameters)"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.slopes.shape == (self.k, self.k) and self.intercepts.shape == (self.k,), "shapes")
        super().check()

    def rows(self, p: Array) -> Array:
        return softmax(logs(p) @ self.slopes.T + self.intercepts)[0]


def fit(forecasts: Forecasts, *, ridge: float = RIDGE, pseudo: float = 0.0) -> Matrix:
    """Return the weights with the least log loss plus ½ ridge |scale · (W − 1/T)|² + ½ ridge |c|².

    The pull is towards temperature scaling (with so many pseudo-cases); the scale is the root mean square of the
    logarithms.
    """
    x, y, rows, scale = log_scores(forecasts)
    k = forecasts.k
    cold = scale[0] / temperature.fit(forecasts, pseudo=pseudo).temperature
    centre = np.concatenate([cold * np.eye(k), np.zeros((k, 1))], axis=1)
    weights = full_fit(np.concatenate([x / scale, np.ones((len(x), 1))], axis=1), y, rows, centre, ridge)
    intercepts = weights[:, k] - weights[:, k].mean()
    return Matrix(forecasts.classes, slopes=weights[:, :k] / scale, intercepts=intercepts)
