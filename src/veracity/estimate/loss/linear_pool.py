"""Weights of a linear pool of maps, from their forecasts of cases that they were not fitted to."""

from __future__ import annotations

import numpy as np

from veracity.types import Array

PSEUDO_ROWS = {"identity": 1.0, "prior": 0.5}  # nothing is recalibrated without evidence, nothing ruled out
LEAST, STEPS = 1e-3, 60  # pseudo-rows of every member, so that the weights are unique; Newton steps at most
EXACT = 1e-12  # of all rows: rounding of the gradient is a thousandth of it
BLOCK = 1 << 13  # rows that stay in the cache


def pool_weights(realised: Array, fold: Array, rows: Array, members: tuple[str, ...]) -> Array:
    """Return (folds, members) weights of the linear pool with the largest likelihood of the other folds' outcomes.

    `realised` are out-of-fold predictions, so no map is fitted again; `rows` is the mass of each entry in cases.
    """
    pseudo, folds = np.array([PSEUDO_ROWS.get(name, 0.0) for name in members]), range(int(fold.max()) + 1)
    possible = (realised > 0.0).any(axis=1)
    realised, fold, rows = np.ascontiguousarray(realised[possible].T), fold[possible], rows[possible]
    near = _optimum(realised, rows, pseudo)  # without any fold the optimum is a few steps away
    each = [_optimum(realised, rows * (fold != i), pseudo, near)[0] for i in folds]
    return np.array([w / w.sum() for w in each])


def mixture_weights(realised: Array, rows: Array, pseudo: Array) -> Array:
    """Return (m,) weights w that maximise Σ rows · ln(realised · w) + Σ pseudo · ln w."""
    w, _ = _optimum(np.ascontiguousarray(realised.T), rows, pseudo)
    return np.asarray(w / w.sum())


def _optimum(
    realised: Array, rows: Array, pseudo: Array, start: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """Return weights and multipliers for the predictions of each member, (m, n).

    Minimising total·Σw − Σ rows · ln(w · realised) with total = Σ rows + Σ pseudo gives Σw = 1. Primal-dual Newton
    steps: the gradient equals the multipliers s > 0 of w > 0, and w·s comes down to the pseudo-rows. (Maps of a pool
    are nearly collinear: with the order of the rows SciPy's SLSQP changes weights by up to 3e-7, these by 1e-12.)
    """
    m, root = len(pseudo), np.sqrt(rows)
    goal = pseudo + LEAST
    total = float(rows.sum() + goal.sum())
    w, s = start or (np.full(m, 1.0 / m), np.full(m, total / m))
    for _ in range(STEPS):
        gradient, hessian = np.full(m, total), np.zeros((m, m))
        for i in range(0, len(root), BLOCK):
            part, own = realised[:, i : i + BLOCK], root[i : i + BLOCK]
            scaled = part * (own / (w @ part))
            gradient -= scaled @ own
            hessian += scaled @ scaled.T
        if np.abs(w * s / goal - 1.0).max() < 1e-9 and np.abs((gradient - s) * w).max() < EXACT * total:
            break
        near = np.maximum(goal, 0.1 * w * s)
        step = np.linalg.solve(hessian + np.diag(s / w), near / w - gradient)
        change = (near - w * s - s * step) / w
        t = min(1.0, 0.99 * float(_room(w, step)), 0.99 * float(_room(s, change)))
        w, s = w + t * step, s + t * change
    return w, s


def _room(x: Array, step: Array) -> float:
    """Return the longest multiple of a step that keeps x from falling below 0."""
    down = step < 0.0
    with np.errstate(over="ignore"):  # a step next to nothing may be as long as it likes
        return float((x[down] / -step[down]).min(initial=np.inf))
