"""Weights of a linear pool of maps, from their forecasts of cases that they were not fitted to."""

from __future__ import annotations

import numpy as np

from veracity.types import Array

PSEUDO_ROWS = {"identity": 1.0, "prior": 0.5}  # nothing is recalibrated without evidence, nothing ruled out
LEAST, STEPS = 1e-3, 60  # pseudo-rows of every member, so that the weights are unique; Newton steps at most


def pool_weights(realised: Array, fold: Array, rows: Array, members: tuple[str, ...]) -> Array:
    """Return (folds, members) weights of the linear pool with the largest likelihood of the other folds' outcomes.

    `realised` are out-of-fold predictions, so no map is fitted again; `rows` is the mass of each entry in cases.
    """
    number = int(fold.max()) + 1
    pseudo = np.array([PSEUDO_ROWS.get(name, 0.0) for name in members])
    possible = (realised > 0.0).any(axis=1)
    weights = np.empty((number, len(members)))
    for left_out in range(number):
        others = possible & (fold != left_out)
        weights[left_out] = mixture_weights(realised[others], rows[others], pseudo)
    return weights


def mixture_weights(realised: Array, rows: Array, pseudo: Array) -> Array:
    """Return (m,) weights w that maximise Σ rows · ln(realised · w) + Σ pseudo · ln w.

    Minimising total·Σw − Σ rows · ln(realised · w) with total = Σ rows + Σ pseudo gives Σw = 1. Primal-dual Newton
    steps: the gradient equals the multipliers s > 0 of w > 0, and w·s comes down to the pseudo-rows. (Maps of a pool
    are nearly collinear: with the order of the rows SciPy's SLSQP changes weights by up to 3e-7, these by 1e-12.)
    """
    m = len(pseudo)
    goal = pseudo + LEAST
    total = float(rows.sum() + goal.sum())
    w, s = np.full(m, 1.0 / m), np.full(m, total / m)
    for _ in range(STEPS):
        ratio = rows / (realised @ w)
        gradient = total - ratio @ realised
        if max(np.abs(w * s - goal).max(), np.abs((gradient - s) * w).max()) < 1e-10 * total:
            break
        near = np.maximum(goal, 0.1 * w * s)
        scaled = realised * (ratio / np.sqrt(rows))[:, None]
        step = np.linalg.solve(scaled.T @ scaled + np.diag(s / w), near / w - gradient)
        change = (near - w * s - s * step) / w
        t = min(1.0, 0.99 * float(_room(w, step)), 0.99 * float(_room(s, change)))
        w, s = w + t * step, s + t * change
    return np.asarray(w / w.sum())


def _room(x: Array, step: Array) -> float:
    """Return the longest multiple of a step that keeps x from falling below 0."""
    down = step < 0.0
    with np.errstate(over="ignore"):  # a step next to nothing may be as long as it likes
        return float((x[down] / -step[down]).min(initial=np.inf))
