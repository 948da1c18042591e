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
NEAR, NEARER = 1e-6, 1e-9  # mean gradients: from where Newton steps are not checked, and from where one is the last
MOST_STEPS = 30
ROUGH, EXACT = 0.1, 1e-8  # shares of the gradient that the first steps at most leave, and that the last one leaves
CLOSER = 0.75  # the steps between leave the mean gradient to this power
ROUNDING, FLAT = 1e-16, 1e-14  # mean gradients and mean curvatures that are 0 but for rounding
UNIT = 1e-4  # of the mean loss: SciPy solves for each step the more closely the smaller the gradient is
FAR = 2.0  # its first step at most, in standard deviations of the features: twice SciPy's spares a step


def minimise(
    measure: Callable[[Array], Measured], curvature: Callable[[Any], Curvature], start: Array, rows: float
) -> Array:
    """Return the minimum of a convex loss summed over so many rows: by Newton steps, or within a trust region.

    measure    point → loss, gradient, state
    curvature  state → (v → Hessian · v)
    """
    x, (loss, gradient, state) = start, measure(start)
    for _ in range(MOST_STEPS):
        mean = float(np.abs(gradient).max()) / rows
        last = mean <= NEARER
        step = _solution(curvature(state), gradient, EXACT if last else min(ROUGH, mean**CLOSER), rows)
        if last:
            return x - step
        near = measure(x - step)
        if mean <= NEAR or near[0] <= loss:
            x, (loss, gradient, state) = x - step, near
        else:
            x = _within_trust_region(measure, curvature, x, rows)
            loss, gradient, state = measure(x)
    return x


def _solution(product: Curvature, gradient: Array, tolerance: float, rows: float) -> Array:
    """Return v with Hessian · v = gradient but for a remainder of that share, by conjugate gradients.

    Where the minimum is not unique, directions without curvature are left alone.
    """
    v, rest = np.zeros_like(gradient), gradient
    direction, square = rest, float(rest @ rest)
    enough = max(tolerance**2 * square, (ROUNDING * rows) ** 2)
    for _ in range(10 * gradient.size):
        if square <= enough:
            break
        turned = product(direction)
        bend = float(direction @ turned)
        if not bend > FLAT * rows * float(direction @ direction):
            break
        v = v + square / bend * direction
        rest = rest - square / bend * turned
        before, square = square, float(rest @ rest)
        direction = rest + square / before * direction
    return v


def _within_trust_region(
    measure: Callable[[Array], Measured], curvature: Callable[[Any], Curvature], start: Array, rows: float
) -> Array:
    from scipy.optimize import minimize

    latest: dict[bytes, tuple[Measured, Curvature]] = {}

    def at(x: Array) -> tuple[Measured, Curvature]:
        key = x.tobytes()
        if key not in latest:
            measured = measure(x)
            known = measured, curvature(measured[2])
            latest.clear()
            latest[key] = known
        return latest[key]

    def scaled(x: Array) -> tuple[float, Array]:
        loss, gradient, _ = at(x)[0]
        return UNIT / rows * loss, UNIT / rows * gradient

    def product(x: Array, v: Array) -> Array:
        return UNIT / rows * at(x)[1](v)

    options = {"gtol": UNIT * NEAR, "initial_trust_radius": FAR}
    return np.asarray(minimize(scaled, start, jac=True, hessp=product, method="trust-ncg", options=options).x)


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
