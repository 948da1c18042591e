"""Damped Newton steps, and logistic regression with few coefficients for each class against the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy.special import expit

from veracity.data import Forecasts

from ._fitted import Array
from ._grouping import normalised

Fit = TypeVar("Fit")
Measured = tuple[float, Array, Any]  # loss, gradient, and a state for `direction`

FLOOR = 1e-12  # smallest forecast before a logarithm: an exact zero is no infinite evidence
MOST_STEPS = 50
TOLERANCE = 1e-9  # of the gradient, for each row
SHORTEST = 2.0**-30  # a step below this is rounding


def minimise(
    measure: Callable[[Array], Measured],
    direction: Callable[[Any, Array], Array],
    start: Array,
    rows: float,
) -> Array:
    """Return the minimum of a convex loss summed over so many rows.

    measure    point → loss, gradient, state
    direction  (state, gradient) → the Newton step
    """
    x = start
    loss, gradient, state = measure(x)
    for _ in range(MOST_STEPS):
        step = direction(state, gradient)
        slope = float(np.vdot(gradient, step))
        if not slope < 0.0:
            return x
        done, t = bool(np.abs(gradient).max() <= TOLERANCE * rows), 1.0
        while True:
            found = measure(x + t * step)
            if found[0] <= loss + 1e-4 * t * slope or t < SHORTEST:
                break
            t /= 2.0
        if found[0] > loss + 1e-12 * abs(loss):
            return x
        x, (loss, gradient, state) = x + t * step, found
        if done:  # the last step, from a point within the tolerance, squares its error
            return x
    return x


def solved(hessian: Array, gradient: Array) -> Array:
    """Return −H⁻¹ gradient, 0 along directions without curvature."""
    try:
        step = -np.linalg.solve(hessian, gradient)
        if np.isfinite(step).all() and gradient @ step < 0.0:
            return np.asarray(step)
    except np.linalg.LinAlgError:
        pass
    return shortest(hessian, gradient)


def shortest(hessian: Array, gradient: Array) -> Array:
    """Return the shortest step −H⁻¹ gradient: features of constant forecasts are multiples of one another."""
    return np.asarray(-np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0])


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
        hessian = (x * (rows * q * (1.0 - q))[:, None]).T @ x + ridge * np.eye(len(gradient))
        return shortest(hessian, gradient)

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
