"""Damped Newton steps for the convex problems of the calibrators: few parameters, quadratic convergence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._fitted import Array

Measured = tuple[float, Array, Any]  # loss, gradient, and a state for `direction`

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
    return np.asarray(-np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0])
