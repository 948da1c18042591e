"""Beta calibration: log odds = a ln p − b ln(1 − p) + c with a, b ≥ 0 (Kull, Silva Filho & Flach 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

from ._grouping import row_mass
from ._logistic import applied, logistic, logs, one_versus_rest

LABEL = "beta calibration"

RIDGE = 0.01  # rows' worth of pull: outcomes that a threshold separates would make the slopes infinite
UNCHANGED = np.array([1.0, 1.0, 0.0])


@dataclass(frozen=True, eq=False)
class Beta(Formula):
    """coefficients (1, 3) or (k, 3): a, b, c of each class against the rest."""

    coefficients: Array

    @property
    def _described(self) -> str:
        if len(self.coefficients) > 1:
            return "beta calibration, class by class"
        a, b, c = self.coefficients[0]
        return f"beta calibration (a {a:z.2f}, b {b:z.2f}, c {c:z.2f})"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.coefficients.shape == (1 if self.k == 2 else self.k, 3), "three numbers a class")
        super().check()

    def rows(self, p: Array) -> Array:
        return applied(
            p, lambda x, c: np.asarray(expit(c[0] * logs(x) - c[1] * logs(1.0 - x) + c[2])), self.coefficients
        )


def fit(forecasts: Forecasts) -> Beta:
    """Return the curves with the least log loss, with a weak pull towards no change that keeps them finite."""
    rows = row_mass(forecasts)

    def curve(p: Array, true: Array) -> Array:
        features = np.column_stack([logs(p), -logs(1.0 - p), np.ones(len(p))])
        used = np.array([True, True, True])
        while True:  # a negative a or b is set to zero and the rest fitted again, as the authors do
            coefficients = np.zeros(3)
            coefficients[used] = logistic(features[:, used], true.astype(float), rows, RIDGE, UNCHANGED[used])
            negative = np.flatnonzero(coefficients[:2] < 0.0)
            if not negative.size:
                return coefficients
            used[negative[0]] = False

    return Beta(forecasts.classes, coefficients=np.array(one_versus_rest(forecasts, curve)))
