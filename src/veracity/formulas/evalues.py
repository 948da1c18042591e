"""E-values of calibration, and the detector that sums them over every day on which a change may have begun.

If forecasts p are calibrated, E[q(y)/p(y)] = 1 for every alternative q that is fixed before y is seen. So a product of
such ratios over cases, an e-value, exceeds 1/α with a probability of at most α, *ever* (Ville 1939), and may be looked
at after every case. For one alternative it is divergence^(−n), the geometric mean of p/q to the power −n (N17: model =
source × divergence).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from veracity.types import Array, Floats


def log_mixture(logs: ArrayLike, weights: ArrayLike) -> Floats:
    """Return ln Σ w_θ exp(logs_θ) over the last axis: the e-value of a mixture of alternatives (Robbins 1970).

    >>> round(float(np.exp(log_mixture([0.0, np.log(3.0)], [0.5, 0.5]))), 6)
    2.0
    """
    return log_sum(np.asarray(logs, dtype=np.float64) + np.log(np.asarray(weights, dtype=np.float64)), axis=-1)


def log_sum(logs: Floats, axis: int) -> Floats:
    """Return ln Σ e^logs over an axis, of finite numbers: `logsumexp` in a third of the time.

    >>> round(float(log_sum(np.log([1.0, 3.0]) - 1e4, 0)), 6)
    -9998.613706
    """
    top = logs.max(axis=axis, keepdims=True)
    return np.asarray(np.squeeze(top, axis) + np.log(np.exp(logs - top).sum(axis=axis)))


def shiryaev_roberts(log_r: ArrayLike, log_ratio: ArrayLike) -> Floats:
    """Return ln R after one more update: R ← (R + 1)·ratio, the sum of the e-values that began at every update so far.

    R less the number of updates is a martingale of calibrated forecasts, so R ≥ H comes after H updates on average or
    later (Shiryaev 1963; Roberts 1966; as an e-detector Shin, Ramdas and Rinaldo 2024). ln 0 = −∞ begins.

    >>> [round(float(np.exp(shiryaev_roberts(x, np.log(2.0)))), 6) for x in (-np.inf, 0.0, np.log(3.0))]
    [2.0, 4.0, 8.0]
    """
    x = np.asarray(log_r, dtype=np.float64)
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))) + np.asarray(log_ratio, dtype=np.float64)


def cumulative_sum(best: ArrayLike, log_ratio: ArrayLike) -> tuple[Floats, Array]:
    """Return the largest sum of log ratios that ends here, and whether it begins here (Page 1954).

    >>> [[float(x) for x in cumulative_sum(best, 0.5)] for best in (2.0, -1.0)]
    [[2.5, 0.0], [0.5, 1.0]]
    """
    begins = np.asarray(best, dtype=np.float64) <= 0.0
    return np.where(begins, 0.0, np.asarray(best)) + np.asarray(log_ratio, dtype=np.float64), begins


def variance_between(residual: ArrayLike, variance: ArrayLike) -> tuple[float, float]:
    """Return by how much the log-odds of days vary, by moments, and its standard error: E U² = V + variance·V².

    residual  (days, classes) U: observed less expected numbers, one column of two classes; `variance` V: that of the
    observed ones, if cases are independent. Residuals of all classes sum to zero: k of them tell as much as k − 1.

    >>> [round(x, 3) for x in variance_between([[6.0], [-6.0], [2.0], [-2.0]], [[10.0], [10.0], [10.0], [10.0]])]
    [0.1, 0.141]
    """
    u, v = np.asarray(residual, dtype=np.float64), np.asarray(variance, dtype=np.float64)
    square = max(float((v**2).sum()), 1e-300)
    estimate = float((u**2 - v).sum()) / square
    sides = v.shape[1] / max(v.shape[1] - 1.0, 1.0)
    each = v**2 * (1.0 + max(estimate, 0.0) * v) ** 2
    return estimate, float(np.sqrt(2.0 * sides * each.sum())) / square


def log_likelihood_of_days(residual: ArrayLike, variance: ArrayLike, between: ArrayLike) -> Floats:
    """Return (…, variances) ln of how much likelier days that differ make a residual than days that are alike.

    residual, variance  (…, classes) U and V as above, one column of two classes; U is normal with V + τ²V².

    >>> log_likelihood_of_days([8.0], [16.0], [0.0, 0.25]).round(3).tolist()
    [0.0, 0.795]
    """
    u, v = (np.asarray(x, dtype=np.float64)[..., None, :] for x in (residual, variance))
    t = np.asarray(between, dtype=np.float64)[:, None]
    sides = max(u.shape[-1] - 1.0, 1.0) / u.shape[-1]
    return np.asarray(sides / 2.0 * (t * u**2 / (1.0 + t * v) - np.log1p(t * v)).sum(axis=-1))


def ellipse(centre: ArrayLike, covariance: ArrayLike, radius2: float, points: int) -> Floats:
    """Return (points, 2) of the ellipse (θ − centre)′ covariance⁻¹ (θ − centre) = radius2.

    >>> ellipse([0.0, 1.0], np.diag([4.0, 1.0]), 1.0, 4).round(6).tolist()
    [[2.0, 1.0], [0.0, 2.0], [-2.0, 1.0], [-0.0, 0.0]]
    """
    angle = 2.0 * np.pi * np.arange(points) / points
    circle = np.column_stack([np.cos(angle), np.sin(angle)]) * np.sqrt(radius2)
    return np.asarray(np.asarray(centre) + circle @ np.linalg.cholesky(np.asarray(covariance)).T)


def extremes(centre: ArrayLike, covariance: ArrayLike, radius2: float) -> Floats:
    """Return (2d, d) points of the ellipsoid at which one coordinate is the largest or the smallest.

    >>> extremes([0.0, 1.0], np.diag([4.0, 1.0]), 1.0).tolist()
    [[2.0, 1.0], [-2.0, 1.0], [0.0, 2.0], [0.0, 0.0]]
    """
    v = np.asarray(covariance, dtype=np.float64)
    far = np.sqrt(radius2) * v / np.sqrt(np.maximum(np.diag(v), 1e-300))[:, None]
    return np.asarray(centre + np.stack([far, -far], axis=1).reshape(-1, len(v)))
