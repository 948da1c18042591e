"""Logistic regression with few coefficients, for the calibrators that act on one class against the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy.special import expit

from veracity.data import Forecasts

from ._fitted import Array
from ._grouping import normalised
from ._newton import Measured, minimise, solved

Fit = TypeVar("Fit")

FLOOR = 1e-12  # smallest forecast before a logarithm: an exact zero is no infinite evidence


def logs(p: Array) -> Array:
    return np.asarray(np.log(np.maximum(p, FLOOR)))


def logistic(features: Array, targets: Array, rows: Array, ridge: float = 0.0, centre: Array | float = 0.0) -> Array:
    """Return the coefficients that minimise the log loss of expit(features · coefficients), summed over rows.

    `ridge` adds ½ ridge (scale · (coefficient − centre))², the scale being the features' root mean square.
    """
    total = float(rows.sum())
    scale = np.sqrt(rows @ features**2 / total)
    scale[scale == 0.0] = 1.0
    x, middle = features / scale, np.broadcast_to(centre, features.shape[1:]) * scale

    def measure(c: Array) -> Measured:
        z = x @ c
        q = expit(z)
        loss = float(rows @ (np.logaddexp(0.0, z) - targets * z)) + 0.5 * ridge * float(((c - middle) ** 2).sum())
        return loss, (rows * (q - targets)) @ x + ridge * (c - middle), q

    def direction(q: Array, gradient: Array) -> Array:
        hessian = (x * (rows * q * (1.0 - q))[:, None]).T @ x
        return solved(hessian + ridge * np.eye(len(gradient)), gradient)

    return np.asarray(minimise(measure, direction, np.array(middle), total) / scale)


def one_versus_rest(forecasts: Forecasts, curve: Callable[[Array, Array], Fit]) -> list[Fit]:
    """Return the curve of the second of two classes, or of each class against the rest.

    curve  (probability of the class, whether it was the outcome) → what was fitted
    """
    scores, outcomes = forecasts.scores, forecasts.observed
    if forecasts.k == 2:
        return [curve(forecasts.positive, outcomes == 1)]
    return [curve(np.asarray(scores[:, j], dtype=np.float64), outcomes == j) for j in range(forecasts.k)]


def applied(p: Array, curve: Callable[[Array, Any], Array], fitted: Sequence[Any] | Array) -> Array:
    """Return (m, k) rows from the curves of each class against the rest, normalised beyond two classes."""
    if len(fitted) == 1:
        positive = curve(p[:, 1], fitted[0])
        return np.column_stack([1.0 - positive, positive])
    return normalised(np.column_stack([curve(p[:, j], one) for j, one in enumerate(fitted)]), 1.0 / p.shape[1])
