"""Logistic regression with few coefficients, for the calibrators that act on one class against the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from veracity.data import Forecasts

Array = NDArray[Any]

TINY = np.finfo(np.float64).tiny  # logarithms of a forecast of exactly zero are taken here


def logs(p: Array) -> Array:
    return np.asarray(np.log(np.maximum(p, TINY)))


def logistic(features: Array, targets: Array, mass: Array) -> Array:
    """Coefficients that minimise the weighted log loss of expit(features · coefficients)."""
    shares = mass / mass.sum()
    scale = np.sqrt(shares @ features**2)
    scale[scale == 0.0] = 1.0
    x = features / scale

    def loss(c: Array) -> float:
        z = x @ c
        return float(shares @ (np.logaddexp(0.0, z) - targets * z))

    def gradient(c: Array) -> Array:
        return np.asarray((shares * (expit(x @ c) - targets)) @ x)

    def hessian(c: Array) -> Array:
        q = expit(x @ c)
        return np.asarray((x * (shares * q * (1.0 - q))[:, None]).T @ x)

    found = minimize(
        loss, np.zeros(x.shape[1]), jac=gradient, hess=hessian, method="trust-exact", options={"gtol": 1e-10}
    )
    return np.asarray(found.x / scale)


def one_versus_rest(forecasts: Forecasts, curve: Callable[[Array, Array], Array]) -> Array:
    """Coefficients (1, c) of the second of two classes, or (k, c) of each class against the rest.

    curve  (probability of the class, whether it happened) → coefficients
    """
    outcomes = forecasts.outcomes
    assert outcomes is not None
    if forecasts.k == 2:
        return curve(forecasts.positive, outcomes == 1)[None]
    scores = forecasts.probabilities
    assert scores is not None
    return np.array([curve(np.asarray(scores[:, j], dtype=np.float64), outcomes == j) for j in range(forecasts.k)])


def applied(p: Array, curve: Callable[[Array, Array], Array], coefficients: Array) -> Array:
    """(m, k) rows from the curves of one class against the rest, normalised beyond two classes."""
    if len(coefficients) == 1:
        positive = curve(p[:, 1], coefficients[0])
        return np.column_stack([1.0 - positive, positive])
    out = np.column_stack([curve(p[:, j], c) for j, c in enumerate(coefficients)])
    total = out.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, out / np.where(total > 0.0, total, 1.0), 1.0 / p.shape[1])
