"""Softmax regression of the outcome on the logarithms of the probabilities, for vector and matrix scaling."""

from __future__ import annotations

from functools import partial

import numpy as np

from veracity.calibrators._fitted import as_rows
from veracity.formulas.rules import largest
from veracity.inputs import Forecasts
from veracity.types import Array

from ._grouping import row_mass
from ._logistic import Curvature, Measured, logs, minimise

MOST_WEIGHTS = 400  # whose curvature is one matrix; beyond, its blocks of one class each
ROWS_OF_CURVATURE = 20  # for each weight


def softmax(z: Array) -> tuple[Array, Array]:
    """Return rows e^z/Σe^z, and ln Σe^z."""
    top = largest(z)
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

    def curvature(q: Array) -> Curvature:
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
        return partial(np.dot, hessian)

    return minimise(measure, curvature, centre, float(rows.sum()))


def full_fit(x: Array, y: Array, rows: Array, centre: Array, ridge: float) -> Array:
    """Return (k, d) weights W of z = x Wᵀ with the least log loss plus ½ ridge |W − centre|², x (n, d).

    Conjugate gradients in units of the curvature at the centre need a few products.
    """
    n, d = x.shape
    k = len(centre)
    here = np.arange(n)
    weighted_x = x * rows[:, None]
    unit = _units(x, rows, centre, ridge)

    def outward(v: Array) -> Array:
        return np.asarray(np.einsum("kij,ki->kj", unit, v.reshape(len(unit), -1))).reshape(k, d)

    def inward(w: Array) -> Array:
        return np.asarray(np.einsum("kij,kj->ki", unit, w.reshape(len(unit), -1)).ravel())

    def measure(v: Array) -> Measured:
        moved = outward(v)
        z = x @ (centre + moved).T
        q, total = softmax(z)
        loss = float(rows @ (total - z[here, y])) + 0.5 * ridge * float((moved**2).sum())
        rest = q.copy()
        rest[here, y] -= 1.0
        return loss, inward(rest.T @ weighted_x + ridge * moved), q

    def curvature(q: Array) -> Curvature:
        def product(v: Array) -> Array:
            w = outward(v)
            t = x @ w.T
            t -= np.einsum("ij,ij->i", q, t)[:, None]
            t *= q
            return inward(t.T @ weighted_x + ridge * w)

        return product

    return centre + outward(minimise(measure, curvature, np.zeros(k * d), float(rows.sum())))


def _units(x: Array, rows: Array, centre: Array, ridge: float) -> Array:
    """Return (blocks, m, m) inverse roots of the mean curvature at the centre: of all k·d weights, or for each class.

    Of all weights, some of the rows are enough: only the number of products depends on it.
    """
    (n, d), k = x.shape, len(centre)
    total = rows.sum()
    if k * d > MOST_WEIGHTS:
        weighted, q = x * rows[:, None], softmax(x @ centre.T)[0]
        own = [(weighted * (q[:, [j]] * (1.0 - q[:, [j]]))).T @ x + ridge * np.eye(d) for j in range(k)]
        return np.asarray(np.linalg.inv(np.linalg.cholesky(np.array(own) / total)))
    some = slice(None, None, max(1, n // (ROWS_OF_CURVATURE * k * d)))
    x, share = x[some], rows[some] / rows[some].sum()
    q = softmax(x @ centre.T)[0]
    each = (q[:, :, None] * x[:, None, :]).reshape(len(x), k * d)
    curvature = -(each.T @ (each * share[:, None]))
    for j in range(k):
        own_class = slice(j * d, (j + 1) * d)
        curvature[own_class, own_class] += each[:, own_class].T @ (x * share[:, None])
    curvature += ridge / total * np.eye(k * d)
    return np.asarray(np.linalg.inv(np.linalg.cholesky(curvature)))[None]
