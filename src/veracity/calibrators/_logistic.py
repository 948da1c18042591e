"""The minimum of a convex loss, and logistic regression with few coefficients for each class against the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy.special import expit

from veracity.inputs import Forecasts
from veracity.types import Array

from ._grouping import normalised

Fit = TypeVar("Fit")
Measured = tuple[float, Array, Any]  # loss, gradient, and a state for the curvature
Curvature = Callable[[Array], Array]

FLOOR = 1e-12  # smallest forecast before a logarithm: an exact zero is no infinite evidence
FINE = 1e-4  # how closely a step is solved: the more, the smaller the gradient is
ROUNDING = 1e-16  # mean gradient that is none
NEAR, NEARER = 1e-6, 1e-9  # mean gradients: where plain Newton steps take over, and from where one is the last
STEPS, LAST_STEPS = 1000, 3
FAR, FARTHEST = 2.0, 1000.0  # a step at most, the first and any, in standard deviations of the features


def minimise(
    measure: Callable[[Array], Measured], curvature: Callable[[Any], Curvature], start: Array, rows: float
) -> Array:
    """Return the minimum of a convex loss summed over so many rows.

    measure    point → loss, gradient, state
    curvature  state → (v → Hessian · v)
    """
    x, radius = np.array(start, dtype=np.float64), FAR
    loss, gradient, state = measure(x)
    for _ in range(STEPS):
        size = float(np.linalg.norm(gradient)) / rows
        if size < NEAR:
            break
        product = curvature(state)
        step = newton_step(gradient, product, min(0.5, np.sqrt(FINE * size)) * size * rows, radius)
        expected = -float(gradient @ step) - 0.5 * float(step @ product(step))
        if expected <= 0.0:
            break
        new = measure(x + step)
        gained = (loss - new[0]) / expected
        if not gained >= 0.25:  # also where the loss is no number
            radius *= 0.25
        elif gained > 0.75 and np.linalg.norm(step) > 0.999 * radius:
            radius = min(2.0 * radius, FARTHEST)
        if gained > 0.15:
            x, (loss, gradient, state) = x + step, new
    for _ in range(LAST_STEPS):
        x = x + newton_step(gradient, curvature(state), max(1e-8 * float(np.linalg.norm(gradient)), ROUNDING * rows))
        if np.abs(gradient).max() <= NEARER * rows:
            break
        _, gradient, state = measure(x)
    return x


def newton_step(gradient: Array, product: Curvature, tolerance: float, radius: float = np.inf) -> Array:
    """Return the step to the minimum of the quadratic model, by conjugate gradients, no farther than the radius.

    It ends where so little gradient is left, or where the search crosses the radius (Steihaug 1983).
    """
    step, left, direction = np.zeros_like(gradient), gradient, -gradient
    for _ in range(10 * gradient.size):
        if np.linalg.norm(left) <= tolerance:
            break
        curved = product(direction)
        bend, square = float(direction @ curved), float(left @ left)
        if bend <= 0.0 and radius == np.inf:  # no curvature is left but rounding
            break
        far = step + square / bend * direction if bend > 0.0 else None
        if far is None or np.linalg.norm(far) >= radius:
            a, b, c = direction @ direction, step @ direction, step @ step - radius**2
            return np.asarray(step + (np.sqrt(b * b - a * c) - b) / a * direction)
        step, left = far, left + square / bend * curved
        direction = -left + float(left @ left) / square * direction
    return step


def logs(p: Array) -> Array:
    return np.asarray(np.log(np.maximum(p, FLOOR)))


def logistic(features: Array, targets: Array, rows: Array, ridge: float = 0.0, centre: Array | float = 0.0) -> Array:
    """Return the coefficients that minimise the log loss of expit(features · coefficients), summed over rows.

    `ridge` adds ½ ridge (scale · (coefficient − centre))², the scale being the features' root mean square; the search
    begins at the centre.
    """
    total = float(rows.sum())
    scale = np.sqrt(rows @ features**2 / total)
    scale[scale == 0.0] = 1.0
    x, middle = features / scale, np.broadcast_to(centre, features.shape[1:]) * scale

    def measure(c: Array) -> Measured:
        z = x @ c
        q = expit(z)
        softplus = np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))  # quicker than logaddexp
        loss = float(rows @ (softplus - targets * z)) + 0.5 * ridge * float(((c - middle) ** 2).sum())
        return loss, (rows * (q - targets)) @ x + ridge * (c - middle), q

    def curvature(q: Array) -> Curvature:
        hessian: Array = (x * (rows * q * (1.0 - q))[:, None]).T @ x + ridge * np.eye(len(middle))
        return partial(np.dot, hessian)

    return np.asarray(minimise(measure, curvature, np.array(middle), total) / scale)


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
