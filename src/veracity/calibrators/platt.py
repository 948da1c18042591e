"""Platt scaling: a straight line on the log odds, with Platt's smoothed targets (Platt 1999)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

from ._grouping import row_mass
from ._logistic import applied, logistic, logs, one_versus_rest

LABEL = "Platt scaling"

UNCHANGED = np.array([1.0, 0.0])


def log_odds(p: Array) -> Array:
    return logs(p) - logs(1.0 - p)


@dataclass(frozen=True, eq=False)
class Platt(Formula):
    """coefficients (1, 2) or (k, 2): slope and intercept on the log odds of each class against the rest."""

    coefficients: Array

    @property
    def _described(self) -> str:
        if len(self.coefficients) > 1:
            return "Platt scaling, class by class"
        slope, intercept = self.coefficients[0]
        return f"Platt scaling (slope {slope:.2f}, intercept {intercept:z.2f})"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.coefficients.shape == (1 if self.k == 2 else self.k, 2), "two numbers a class")
        super().check()

    def rows(self, p: Array) -> Array:
        return applied(p, lambda x, c: np.asarray(expit(c[0] * log_odds(x) + c[1])), self.coefficients)


def fit(forecasts: Forecasts) -> Platt:
    """Return the curves fitted to targets (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2), which keep slopes finite."""
    rows = row_mass(forecasts)

    def curve(p: Array, true: Array) -> Array:
        events, others = rows[true].sum(), rows[~true].sum()
        targets = np.where(true, (events + 1.0) / (events + 2.0), 1.0 / (others + 2.0))
        return logistic(np.column_stack([log_odds(p), np.ones(len(p))]), targets, rows, centre=UNCHANGED)

    return Platt(forecasts.classes, coefficients=np.array(one_versus_rest(forecasts, curve)))
