"""Each class against the rest: predicted and observed share, calibration slope, share of the miscalibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.data.reading import Reading, around, undefined
from veracity.data.records import ClassReading
from veracity.kernels import Histogram

Floats = NDArray[np.float64]
FEWEST = 10  # events, and non-events, for a slope with an interval
STEPS, CLOSE = 25, 1e-10  # of Newton's method
NEAREST = 1e-12  # to 0 or 1 at which a logit is taken


def per_class(
    histograms: Sequence[Histogram],
    classes: Sequence[Any],
    *,
    gains: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> dict[str, ClassReading]:
    """Return the readings of every class from its histogram; `gains` are its row gains of the recalibration, summed.

    p compares Σp with the number of events by the normal approximation, adjusted by Holm over the classes.
    """
    found, total = [], sum(max(gain, 0.0) for gain in (gains or {}).values())
    for name, held in zip(map(str, classes), histograms, strict=True):
        mass = np.asarray(held.all if held.all_weight is None else held.all_weight, dtype=np.float64)
        true = np.asarray(held.true if held.true_weight is None else held.true_weight, dtype=np.float64)
        squares = mass if held.all_weight2 is None else held.all_weight2
        n, p = float(mass.sum()), np.clip(held.all_sum / np.where(mass > 0.0, mass, 1.0), 0.0, 1.0)
        variance = float(np.sum(squares * p * (1.0 - p)))
        excess = float(true.sum() - held.all_sum.sum())
        z = excess / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, excess) if excess else 0.0
        share = max((gains or {}).get(name, 0.0), 0.0) / total if total > 0.0 else None
        reading = slope(p, mass, true, squares, level)
        found.append((name, float(held.true.sum()), held.all_sum.sum() / n, true.sum() / n, reading, share, z))
    adjusted = holm([math.erfc(abs(one[-1]) / math.sqrt(2.0)) for one in found])
    return {
        name: ClassReading(count, float(predicted), float(observed), reading, share, p)
        for (name, count, predicted, observed, reading, share, _), p in zip(found, adjusted, strict=True)
    }


def holm(p: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for their number (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min((len(p) - rank) * p[i], 1.0))
        adjusted[i] = largest
    return adjusted


def slope(p: Floats, mass: Floats, true: Floats, squares: Floats, level: float) -> Reading:
    """Return b of logit p' = a + b logit p, fitted to cells by maximum likelihood; its interval allows for weights.

    >>> p, n = np.array([0.2, 0.8]), np.array([100.0, 100.0])
    >>> round(float(slope(p, n, np.array([20.0, 80.0]), n, 0.95)), 6)
    1.0
    """
    if min(float(true.sum()), float((mass - true).sum())) < FEWEST:
        return undefined(f"fewer than {FEWEST} events or non-events")
    inside = np.clip(p, NEAREST, 1.0 - NEAREST)
    x = np.column_stack([np.ones_like(p), np.log(inside) - np.log1p(-inside)])
    if np.ptp(x[mass > 0.0, 1]) < 1e-9:
        return undefined("every forecast is the same")
    b = np.zeros(2)
    for _ in range(STEPS):
        fitted = 1.0 / (1.0 + np.exp(-np.clip(x @ b, -700.0, 700.0)))
        weight = fitted * (1.0 - fitted)
        information = x.T @ ((mass * weight)[:, None] * x) + 1e-9 * np.eye(2)
        step = np.linalg.solve(information, x.T @ (true - mass * fitted))
        least = _likelihood(x @ b, true, mass) - 1e-9
        while _likelihood(x @ (b + step), true, mass) < least and np.abs(step).max() > CLOSE:
            step = step / 2.0
        b = b + step
        if np.abs(step).max() < CLOSE:
            break
    inverse = np.linalg.inv(information)
    spread = inverse @ (x.T @ ((squares * weight)[:, None] * x)) @ inverse
    return around(float(b[1]), math.sqrt(max(float(spread[1, 1]), 0.0)), level, method="maximum likelihood on cells")


def _likelihood(z: Floats, true: Floats, mass: Floats) -> float:
    """Log-likelihood of logits z in cells."""
    return float(true @ z - mass @ np.logaddexp(0.0, z))
