"""The monotone map that fits best under every proper score at once (two classes: pool adjacent violators).

Beyond two classes each class against the rest, then normalised, as scikit-learn does; that is no optimum any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from veracity.data import Forecasts

from ._fitted import Formula
from ._target import scores_of

Array = NDArray[Any]


def pooled_adjacent(x: Array, y: Array, mass: Array) -> tuple[Array, Array]:
    """Knots of the monotone curve of y on x: both ends of every level."""
    order = np.argsort(x)
    x, y, mass = x[order], y[order], mass[order]
    kept = mass > 0.0
    x, y, mass = x[kept], y[kept], mass[kept]
    start = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    total = np.add.reduceat(mass, start)
    level = isotonic_regression(np.add.reduceat(mass * y, start) / total, weights=total).x
    x = x[start]
    change = level[1:] != level[:-1]
    end = np.concatenate([[True], change]) | np.concatenate([change, [True]])
    return x[end], np.clip(level[end], 0.0, 1.0)  # PAV averages can pass 0 or 1 by rounding


@dataclass(frozen=True, eq=False)
class Isotonic(Formula):
    """knots and values: one curve for two classes, one per class beyond; straight between knots, flat outside."""

    knots: tuple[Array, ...]
    values: tuple[Array, ...]

    name: ClassVar[str] = "isotonic"

    @property
    def text(self) -> str:
        levels = sum(len(np.unique(v)) for v in self.values)
        return f"isotonic ({levels} levels)"

    def rows(self, p: Array) -> Array:
        out = np.empty_like(p)
        if self.k == 2:
            out[:, 1] = between(p[:, 1], self.knots[0], self.values[0])
            out[:, 0] = 1.0 - out[:, 1]
            return out
        for column, (knots, values) in enumerate(zip(self.knots, self.values, strict=True)):
            out[:, column] = between(p[:, column], knots, values)
        return normalised(out)

    @classmethod
    def from_parameters(cls, classes: tuple[Any, ...], parameters: dict[str, Any]) -> Self:
        curves = {
            name: tuple(np.asarray(curve, dtype=np.float64) for curve in parameters[name])
            for name in ("knots", "values")
        }
        return cls(classes, **curves)


def between(p: Array, knots: Array, values: Array) -> Array:
    """Straight between knots; knots of next to nothing may be too close for a slope, and the lower one serves."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(np.interp(p, knots, values))
    lost = ~np.isfinite(found)
    found[lost] = values[np.searchsorted(knots, p[lost], side="right") - 1]
    return found


def normalised(rows: Array) -> Array:
    """Rows divided by their sum; equal shares where all curves gave zero."""
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, rows / np.where(total > 0.0, total, 1.0), 1.0 / rows.shape[1])


def fit(forecasts: Forecasts) -> Isotonic:
    scores, outcomes, k = scores_of(forecasts), forecasts.outcomes, forecasts.k
    assert outcomes is not None
    if k == 2:
        curves = [pooled_adjacent(forecasts.positive, (outcomes == 1).astype(float), forecasts.mass)]
    else:
        curves = [
            pooled_adjacent(np.asarray(scores[:, j], dtype=np.float64), (outcomes == j).astype(float), forecasts.mass)
            for j in range(k)
        ]
    knots, values = zip(*curves, strict=True)
    return Isotonic(forecasts.classes, knots=tuple(knots), values=tuple(values))
