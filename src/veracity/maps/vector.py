"""Vector scaling: p ∝ p_j^{a_j} e^{c_j}, two numbers a class (Guo et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from veracity.data import Forecasts

from . import temperature
from ._fitted import Formula, as_rows, blocks
from ._logistic import logs
from ._target import scores_of

Array = NDArray[Any]


def softmax(z: Array) -> tuple[Array, Array]:
    """Rows e^z/Σe^z, and ln Σe^z."""
    top = z.max(axis=1, keepdims=True)
    q = np.exp(z - top)
    total = q.sum(axis=1, keepdims=True)
    return q / total, (top + np.log(total))[:, 0]


@dataclass(frozen=True, eq=False)
class Vector(Formula):
    """slopes a (k,) and intercepts c (k,) on the logarithms of the probabilities; ln 0 is taken as −708."""

    slopes: Array
    intercepts: Array

    name: ClassVar[str] = "vector"

    @property
    def text(self) -> str:
        return f"vector scaling ({2 * self.k} numbers)"

    def rows(self, p: Array) -> Array:
        return softmax(logs(p) * self.slopes + self.intercepts)[0]


def fit(forecasts: Forecasts) -> Vector:
    """Slopes and intercepts with the least log loss: a convex problem."""
    scores, outcomes, k = scores_of(forecasts), forecasts.outcomes, forecasts.k
    assert outcomes is not None
    shares = forecasts.mass / forecasts.mass.sum()
    parts = [(logs(as_rows(scores[part], k)), outcomes[part], shares[part]) for part in blocks(len(scores), k)]
    square = sum(share @ x**2 for x, _, share in parts)
    scale = np.sqrt(np.maximum(square, 1e-12))  # slopes and intercepts then have one size

    def loss(x: Array) -> tuple[float, Array]:
        slopes, intercepts = x[:k] / scale, x[k:]
        value, gradient = 0.0, np.zeros(2 * k)
        for x_part, y, share in parts:
            z = x_part * slopes + intercepts
            q, total = softmax(z)
            here = np.arange(len(y))
            value += float(share @ (total - z[here, y]))
            q[here, y] -= 1.0
            gradient[:k] += np.einsum("i,ij,ij->j", share, q, x_part) / scale
            gradient[k:] += share @ q
        return value, gradient

    start = np.concatenate([scale / temperature.fit(forecasts).temperature, np.zeros(k)])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-7, "ftol": 1e-11})
    return Vector(forecasts.classes, slopes=found.x[:k] / scale, intercepts=found.x[k:] - found.x[k:].mean())
