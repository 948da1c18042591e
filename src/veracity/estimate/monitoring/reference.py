"""What calibrated means for a monitor: the recalibration of a labelled reference, and how much its days differ."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.estimate.monitoring.alternatives import MOST_CLASSES, MoreClasses, TwoClasses, log_odds, logs_of
from veracity.formulas.evalues import ellipse, extremes, log_likelihood_of_days, variance_between
from veracity.inputs import Forecasts
from veracity.records.monitoring import Delay
from veracity.types import Array, Floats, Ints

RIDGE = 0.5  # as in every fit of level and slope
STEPS = 50
USUAL = 100
FEWEST_DAYS = 30  # of a reference whose days are compared
POINTS = 12  # null maps around the estimate
# Squared distance of the null maps; below 1,000 cases the larger one. The largest of k squared errors grows by 2 ln k.
FEW, NEAR, FAR = 1000, 1.5, 4.0
# Variances between days, in standard errors from the estimate, a little cautious; LIKELY before the first update.
OFF = np.array([-1.2, -0.4, 0.4, 1.2, 2.0])
LIKELY = np.exp(-((OFF - 0.4) ** 2) / 2.0)
LIKELY /= LIKELY.sum()
Alternatives = TwoClasses | MoreClasses


@dataclass(frozen=True, eq=False)
class Days:
    """Forecasts by update: distinct (x, y) with counts in an order of their own, so that sums have the same bits.

    x  (n,) log-odds of two classes, (n, k) ln p of more
    p  (n,) or (n, k) as they were stated
    """

    keys: Ints
    first: Ints
    x: Floats
    p: Floats
    y: Ints
    count: Ints

    @classmethod
    def of(cls, f: Forecasts, keys: Ints) -> Days:
        """Return the rows of forecasts by the key of their update."""
        two = f.k == 2
        p = f.positive if two else f.matrix
        y = np.asarray(f.observed, dtype=np.int64)
        columns = [p] if two else list(p.T)
        order = np.lexsort([y, *columns, keys])
        keys, p, y, count = keys[order], p[order], y[order], np.asarray(f.copies[order], dtype=np.int64)
        same = (keys[1:] == keys[:-1]) & (y[1:] == y[:-1]) & (p[1:] == p[:-1]).all(axis=tuple(range(1, p.ndim)))
        new = np.flatnonzero(np.concatenate([[True], ~same]))
        keys, p, y, count = keys[new], p[new], y[new], np.add.reduceat(count, new)
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
        return cls(keys[first], first, log_odds(p) if two else logs_of(p), p, y, count)

    def __len__(self) -> int:
        return len(self.keys)

    def part(self, number: int) -> Days:
        """Return the rows of one update."""
        end = self.first[number + 1] if number + 1 < len(self) else len(self.y)
        at = slice(int(self.first[number]), int(end))
        rows = {name: getattr(self, name)[at] for name in ("x", "p", "y", "count")}
        return replace(self, keys=self.keys[number : number + 1], first=np.zeros(1, np.int64), **rows)

    @property
    def k(self) -> int:
        return 2 if self.x.ndim == 1 else int(self.x.shape[1])


@dataclass(frozen=True, eq=False)
class Reference:
    """Null maps with their alternatives, and the variance between days.

    variances  that the log-odds of days may have, as likely as LIKELY; only 0 where days are too few, or not known
    days       as many as were told apart
    usual      cases of a usual update; 100 where it is not known
    spread     the variance of its number of events
    """

    alternatives: Alternatives
    cases: int
    days: int
    usual: int
    spread: float
    variances: Floats
    delays: tuple[Delay, ...] = ()
    digest: str = ""

    @property
    def weights(self) -> Floats:
        """Of the variances."""
        return LIKELY if len(self.variances) > 1 else np.ones(1)

    @property
    def variance(self) -> float | None:
        """The mean of the variances; None where they are not known."""
        return float(LIKELY @ self.variances) if len(self.variances) > 1 else None

    def of_day(self, residual: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """(…, variances) φ = 1 + τ²V of updates, V of the class that varies most, and ln of how likely each makes them.

        residual, variance  (…, classes) observed less expected numbers, and V; one column of two classes
        """
        phi = 1.0 + self.variances * variance.max(axis=-1)[..., None]
        return phi, log_likelihood_of_days(residual, variance, self.variances)


def event_variance(expected: Floats, count: Ints) -> float:
    """Return Σ c(1 − c), of more classes that of the class that varies most."""
    spread = expected * (1.0 - expected)
    return float(count @ spread) if spread.ndim == 1 else float((count @ spread).max())


def fitted(days: Days, apart: Days | None = None) -> Reference:
    """Return the reference of labelled forecasts; all of one day where they have no times.

    apart  the same by day where weeks are too few to tell how much they differ: at most as much as days
    """
    count = days.count.astype(np.float64)
    cases = int(days.count.sum())
    theta, covariance = fit_two(days.x, days.y, count) if days.k == 2 else fit_more(days.x, days.y, count)
    plain = TwoClasses(theta[None], np.zeros(1)) if days.k == 2 else MoreClasses(theta[None], np.arange(days.k))
    expected, told = plain.expected(days.x), days if apart is None else apart
    variance, error, inflation = _between_days(told, plain.expected(told.x))
    radius2 = (NEAR if cases >= FEW else FAR) + 2.0 * math.log(days.k / 2.0)
    usual = max(1, round(cases / len(days))) if len(days) > 1 else USUAL
    known = len(told) >= FEWEST_DAYS
    variances = np.maximum(0.0, variance + error * OFF) if known else np.zeros(1)
    covariance = covariance * (inflation if known else 1.0)
    alternatives: Alternatives
    if days.k == 2:
        nulls = np.vstack([theta, ellipse(theta, covariance, radius2, POINTS)])
        if cases < FEW:  # the larger ellipse leaves room for a truth that no map explains
            nulls = np.vstack([nulls, ellipse(theta, covariance, radius2 / 4.0, POINTS // 2)])
        alternatives = TwoClasses(nulls, np.array([centre_of(null, days.x, count) for null in nulls]))
    else:
        frequent = most_frequent(count @ expected)
        alternatives = MoreClasses(_around(theta, covariance, frequent, radius2), frequent)
    spread = event_variance(expected, days.count) * usual / cases
    return Reference(alternatives, cases, len(days), usual, spread, variances)


def centre_of(null: Floats, x0: Floats, count: Floats) -> float:
    """Return Σwx/Σw with w = c(1 − c)."""
    from scipy.special import expit

    x = null[0] + null[1] * x0
    w = count * expit(x) * expit(-x)
    return float(w @ x / max(float(w.sum()), 1e-300))


def most_frequent(shares: Floats) -> Ints:
    """Return the classes with the largest shares, at most 20, in their own order."""
    return np.sort(np.argsort(-shares, kind="stable")[:MOST_CLASSES])


def fit_two(x: Floats, y: Ints, count: Floats) -> tuple[Floats, Floats]:
    """Return (a, b) of log-odds a + b·x with the largest likelihood less ¼((a)² + (b − 1)²), and its covariance."""
    from scipy.special import expit

    design = np.column_stack([np.ones_like(x), x])
    start = np.array([0.0, 1.0])
    return _newton(start, lambda theta: expit(design @ theta), design, y == 1, count)


def _newton(start: Floats, curve: Any, design: Floats, y: Array, count: Floats) -> tuple[Floats, Floats]:
    def loss(theta: Floats) -> float:
        eta = design @ theta
        return float(count @ (np.logaddexp(0.0, eta) - y * eta) + RIDGE / 2.0 * ((theta - start) ** 2).sum())

    theta, bend = start, np.eye(2)
    value = loss(theta)
    for _ in range(STEPS):
        c = curve(theta)
        gradient = design.T @ (count * (y - c)) - RIDGE * (theta - start)
        bend = design.T @ (design * (count * c * (1.0 - c))[:, None]) + RIDGE * np.eye(2)
        step = np.linalg.solve(bend, gradient)
        done = float(gradient @ step) < 1e-9
        while (tried := loss(theta + step)) > value + 1e-9 * abs(value):
            step = step / 2.0
        theta, value = theta + step, min(tried, value)
        if done:
            break
    return theta, np.asarray(np.linalg.inv(bend))


def fit_more(x: Floats, y: Ints, count: Floats) -> tuple[Floats, Floats]:
    """Return (a_1 … a_k, b) of ln c = a + b·ln p, and its covariance."""
    from scipy.special import softmax

    from veracity.calibrators import temperature_levels

    k = x.shape[1]
    p = softmax(x, axis=1)
    f = Forecasts(p, y, tuple(range(k)), counts=count.astype(np.int64))
    mapping = temperature_levels.fit(f)
    c = mapping.rows(p)
    mean = np.einsum("ij,ij->i", c, x)
    lean = c * (x - mean[:, None]) * count[:, None]
    bend = np.empty((k + 1, k + 1))
    bend[:k, :k] = np.diag(count @ c) - (c * count[:, None]).T @ c
    bend[:k, k] = bend[k, :k] = lean.sum(axis=0)
    bend[k, k] = float(np.einsum("ij,ij->", lean, x))
    theta: Floats = np.append(mapping.intercepts, mapping.slope)
    same = np.append(np.full(k, 1.0 / np.sqrt(k)), 0.0)  # one constant for all classes changes nothing: it has no error
    return theta, np.asarray(np.linalg.inv(bend + RIDGE * np.eye(k + 1)) - np.outer(same, same) / RIDGE)


def _around(theta: Floats, covariance: Floats, frequent: Ints, radius2: float) -> Floats:
    """Return the estimate and the points at which the level of a frequent class, or the slope, is farthest off."""
    points = extremes(theta, covariance, radius2)
    used = np.concatenate([frequent, [len(theta) - 1]])
    return np.vstack([theta, *(points[2 * i : 2 * i + 2] for i in used)])


def residuals(days: Days, expected: Floats) -> tuple[Floats, Floats]:
    """(days, classes) observed less expected numbers, and their variance; one column of two classes."""
    u, v = -expected, expected * (1.0 - expected)
    if expected.ndim == 1:
        u, v = (u + days.y)[:, None], v[:, None]
    else:
        u[np.arange(len(days.y)), days.y] += 1.0
    count = days.count[:, None]
    return np.add.reduceat(count * u, days.first, axis=0), np.add.reduceat(count * v, days.first, axis=0)


def _between_days(days: Days, expected: Floats) -> tuple[float, float, float]:
    """Return the variance of the log-odds between days, its standard error, and the overdispersion of all days."""
    u, v = residuals(days, expected)
    variance, error = variance_between(u, v)
    share = float((v**2).sum()) / max(float(v.sum()), 1e-300)
    return variance, error, 1.0 + max(variance, 0.0) * share
