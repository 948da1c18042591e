"""Softmax regression of the outcome on the logarithms of the probabilities, for vector and matrix scaling."""

from __future__ import annotations

import numpy as np

from veracity.data import Forecasts

from ._fitted import Array, as_rows
from ._grouping import row_mass
from ._logistic import Measured, logs, minimise, solved

MOST_PRODUCTS = 60  # of conjugate gradients in one Newton step; a few are usual
SMALLEST = 1e-200  # squared length of a gradient whose products underflow: all forecasts are certain and right


def softmax(z: Array) -> tuple[Array, Array]:
    """Return rows e^z/Σe^z, and ln Σe^z."""
    top = z.max(axis=1, keepdims=True)
    q = np.exp(z - top)
    total = (q @ np.ones(q.shape[1]))[:, None]  # quicker than a sum along rows
    q /= total
    return q, (top + np.log(total))[:, 0]


def log_scores(forecasts: Forecasts) -> tuple[Array, Array, Array, Array]:
    """Return logarithms (n, k) of the rows with mass, their outcomes, their mass in rows, and the scale of a column."""
    scores, outcomes = forecasts.scores, forecasts.observed
    rows = row_mass(forecasts)
    used = rows > 0.0
    if not used.all():
        scores, outcomes, rows = scores[used], outcomes[used], rows[used]
    x = logs(as_rows(scores, forecasts.k))
    scale = np.sqrt(np.maximum(rows @ x**2 / rows.sum(), 1e-12))
    return x, outcomes, rows, np.full(forecasts.k, float(np.sqrt((scale**2).mean())))


def diagonal_fit(x: Array, y: Array, rows: Array, centre: Array, ridge: float) -> Array:
    """Return (2k,) slopes and intercepts of z_j = slope_j x_j + intercept_j with the least log loss.

    `ridge` adds ½ ridge (coefficient − centre)².
    """
    n, k = x.shape
    here = np.arange(n)

    def measure(c: Array) -> Measured:
        z = x * c[:k] + c[k:]
        q, total = softmax(z)
        loss = float(rows @ (total - z[here, y])) + 0.5 * ridge * float(((c - centre) ** 2).sum())
        rest = q.copy()
        rest[here, y] -= 1.0
        rest *= rows[:, None]
        gradient = np.concatenate([np.einsum("ij,ij->j", rest, x), rest.sum(axis=0)]) + ridge * (c - centre)
        return loss, gradient, q

    def direction(q: Array, gradient: Array) -> Array:
        both = np.concatenate([q * x, q], axis=1)
        weighted = both * rows[:, None]
        hessian = -(weighted.T @ both)
        cross = weighted[:, :k].sum(axis=0)
        square = np.einsum("ij,ij->j", weighted[:, :k], x)
        one, two = np.arange(k), np.arange(k, 2 * k)
        hessian[one, one] += square + ridge
        hessian[two, two] += weighted[:, k:].sum(axis=0) + ridge
        hessian[one, two] += cross
        hessian[two, one] += cross
        return solved(hessian, gradient)

    return minimise(measure, direction, centre, float(rows.sum()))


def full_fit(x: Array, y: Array, rows: Array, centre: Array, ridge: float, start: Array | None = None) -> Array:
    """Return (k, d) weights W of z = x Wᵀ with the least log loss plus ½ ridge |W − centre|², x (n, d).

    Newton steps by conjugate gradients: no matrix of k·d parameters is built. The curvature of each class alone makes
    a few products enough.
    """
    n, d = x.shape
    k = len(centre)
    here = np.arange(n)
    weighted_x = x * rows[:, None]

    def measure(w: Array) -> Measured:
        z = x @ w.T
        q, total = softmax(z)
        loss = float(rows @ (total - z[here, y])) + 0.5 * ridge * float(((w - centre) ** 2).sum())
        rest = q.copy()
        rest[here, y] -= 1.0
        return loss, rest.T @ weighted_x + ridge * (w - centre), q

    def direction(q: Array, gradient: Array) -> Array:
        pull = ridge * np.eye(d)
        inverse = np.array(
            [np.linalg.inv((weighted_x * (q[:, [j]] * (1.0 - q[:, [j]]))).T @ x + pull) for j in range(k)]
        )

        def product(v: Array) -> Array:
            t = x @ v.T
            t -= np.einsum("ij,ij->i", q, t)[:, None]
            t *= q
            return np.asarray(t.T @ weighted_x + ridge * v)

        step, left = np.zeros_like(gradient), -gradient
        near = np.einsum("kij,kj->ki", inverse, left)
        along, size = near, float(np.vdot(left, near))
        goal = max(1e-6 * size * min(1.0, size / rows.sum()), SMALLEST)  # tighter near the minimum
        for _ in range(MOST_PRODUCTS):
            if size <= goal:
                break
            curved = product(along)
            t = size / float(np.vdot(along, curved))
            step = step + t * along
            left = left - t * curved
            near = np.einsum("kij,kj->ki", inverse, left)
            before, size = size, float(np.vdot(left, near))
            along = near + (size / before) * along
        return step

    return minimise(measure, direction, centre if start is None else start, float(rows.sum()))
