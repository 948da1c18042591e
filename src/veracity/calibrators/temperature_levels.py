"""Temperature and class levels: p ∝ p^b e^{a_j}, one slope for all classes and one number a class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

from ._logistic import Curvature, Measured, logs, minimise
from ._softmax import log_scores, softmax

LABEL = "temperature and class levels"

RIDGE = 0.5


@dataclass(frozen=True, eq=False)
class TemperatureLevels(Formula):
    """slope b and intercepts a (k,) on the logarithms of the probabilities, none taken below 1e-12."""

    slope: float
    intercepts: Array

    @property
    def _described(self) -> str:
        return f"temperature {1.0 / self.slope:.2f} and class levels" if self.slope > 0.0 else LABEL

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.intercepts.shape == (self.k,), "a number a class")
        super().check()

    def rows(self, p: Array) -> Array:
        return softmax(logs(p) * self.slope + self.intercepts)[0]


def fit(forecasts: Forecasts, *, ridge: float = RIDGE) -> TemperatureLevels:
    """Return slope and intercepts with the least log loss plus ½ ridge ((slope − 1)² + |intercepts|²)."""
    x, y, rows, _ = log_scores(forecasts)
    k, here = forecasts.k, np.arange(len(y))
    start = np.concatenate([[1.0], np.zeros(k)])

    def measure(c: Array) -> Measured:
        z = x * c[0] + c[1:]
        q, total = softmax(z)
        loss = float(rows @ (total - z[here, y])) + 0.5 * ridge * float(((c - start) ** 2).sum())
        rest = q.copy()
        rest[here, y] -= 1.0
        rest *= rows[:, None]
        return loss, np.concatenate([[np.einsum("ij,ij->", rest, x)], rest.sum(axis=0)]) + ridge * (c - start), q

    def curvature(q: Array) -> Curvature:
        mean = np.einsum("ij,ij->i", q, x)
        lean = q * (x - mean[:, None]) * rows[:, None]
        hessian = np.empty((k + 1, k + 1))
        hessian[0, 0] = np.einsum("ij,ij->", lean, x)
        hessian[0, 1:] = hessian[1:, 0] = lean.sum(axis=0)
        hessian[1:, 1:] = np.diag(rows @ q) - (q * rows[:, None]).T @ q
        return (hessian + ridge * np.eye(k + 1)).dot

    coefficients = minimise(measure, curvature, start, float(rows.sum()))
    return TemperatureLevels(forecasts.classes, slope=float(coefficients[0]), intercepts=coefficients[1:])
