"""Readings with the interval that a standard error gives."""

from __future__ import annotations

import math

import numpy as np

from veracity.formulas.intervals import quantile
from veracity.records.reading import DELTA, Reading

LARGEST_LOG = 709.0  # beyond, exponentials overflow


def exponential(x: float) -> float:
    """Return e^x, infinite instead of an overflow."""
    return math.exp(x) if x < LARGEST_LOG else math.inf


def around(
    value: float, error: float, level: float, bounds: tuple[float, float] = (-np.inf, np.inf), method: str = DELTA
) -> Reading:
    """Return value ± z·error, within the bounds that the quantity has by definition."""
    if not math.isfinite(value):
        return Reading(value, reason="infinite: no interval" if math.isinf(value) else "undefined")
    if not math.isfinite(error):
        return Reading(value, reason="too few rows for an interval")
    half = quantile(level) * error
    return Reading(value, max(value - half, bounds[0]), min(value + half, bounds[1]), method)


def around_log(value: float, log_error: float, level: float, method: str = DELTA) -> Reading:
    """Return the value with the interval value·exp(±z·error), for positive quantities."""
    if not value > 0.0 or not math.isfinite(value) or not math.isfinite(log_error):
        return around(value, math.nan, level)
    factor = exponential(quantile(level) * log_error)
    return Reading(value, value / factor, value * factor, method)
