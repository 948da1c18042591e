"""Readings and their intervals: a number, how far it may be off, and by which method that is known."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DELTA = "delta method"
HALL = "Hall's skewness-corrected t"
WILSON = "Wilson"
LARGEST_LOG = 709.0  # beyond, exponentials overflow


class Reading(float):
    """A number with an interval: acts as a float, and has .low, .high, .method and, where something lacks, .reason.

    `known` is False where the data cannot tell the value (it is then NaN, and null in JSON).
    """

    __slots__ = ("high", "known", "low", "method", "reason")
    low: float | None
    high: float | None
    method: str | None
    reason: str | None
    known: bool

    def __new__(
        cls,
        value: float,
        low: float | None = None,
        high: float | None = None,
        method: str | None = None,
        reason: str | None = None,
        known: bool = True,
    ) -> Reading:
        self = super().__new__(cls, value)
        self.low, self.high = low, high
        self.method, self.reason, self.known = method, reason, known
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.low, self.high, self.method, self.reason, self.known

    def __repr__(self) -> str:
        if not self.known:
            return f"unknown ({self.reason})"
        interval = f" ({self.low:.4g} … {self.high:.4g})" if self.low is not None and self.high is not None else ""
        return f"{float(self):.6g}{interval}"

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "value": float(self) if self.known else None,
            "low": self.low,
            "high": self.high,
            "method": self.method,
        }
        if self.reason is not None:
            plain["reason"] = self.reason
        return plain

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Reading:
        value = plain["value"]
        known = value is not None
        reason = plain.get("reason")
        return cls(float(value) if known else np.nan, plain["low"], plain["high"], plain["method"], reason, known)


def unknown(reason: str) -> Reading:
    """What these data cannot tell."""
    return Reading(np.nan, reason=reason, known=False)


def undefined(reason: str) -> Reading:
    """What has no value here."""
    return Reading(np.nan, reason=reason)


@lru_cache(maxsize=16)
def quantile(level: float) -> float:
    """Half-width of a normal interval in standard errors."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2.0))


def exponential(x: float) -> float:
    return math.exp(x) if x < LARGEST_LOG else math.inf


def around(
    value: float, error: float, level: float, bounds: tuple[float, float] = (-np.inf, np.inf), method: str = DELTA
) -> Reading:
    """value ± z·error, within the bounds that the quantity has by definition."""
    if not math.isfinite(value):
        return Reading(value, reason="infinite: no interval" if math.isinf(value) else "undefined")
    if not math.isfinite(error):
        return Reading(value, reason="too few rows for an interval")
    half = quantile(level) * error
    return Reading(value, max(value - half, bounds[0]), min(value + half, bounds[1]), method)


def around_log(value: float, log_error: float, level: float, method: str = DELTA) -> Reading:
    """value times or divided by exp(z·error): for positive quantities."""
    if not value > 0.0 or not math.isfinite(value) or not math.isfinite(log_error):
        return around(value, math.nan, level)
    factor = exponential(quantile(level) * log_error)
    return Reading(value, value / factor, value * factor, method)


def wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval for a share of n."""
    if not n > 1e-9:
        return np.nan, np.nan
    z2 = quantile(level) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(max(share * (1 - share), 0.0) / n + z2 / (4 * n * n)) * math.sqrt(z2) / (1 + z2 / n)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def hall(error: Floats, skewness: Floats, n: float, level: float) -> tuple[Floats, Floats]:
    """How far below and above a mean its interval reaches, corrected for skewness by Hall's cubic transformation.

    T = (mean − μ)/error is made symmetric by g(T) = ((1 + hT)³ − 1)/(3h) + γ/(6√n), h = γ/(3√n); its inverse at the
    normal quantiles gives the interval.
    """
    z = quantile(level)
    h = skewness / (3.0 * math.sqrt(n))
    h = np.where(np.abs(h) < 1e-9, 1e-9, h)

    def inverse(x: float) -> Floats:
        back: Floats = (np.cbrt(1.0 + 3.0 * h * (x - h / 2.0)) - 1.0) / h
        return back

    return error * inverse(z), -error * inverse(-z)


def consistency_band(forecast: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """Where the observed share lies, at `level`, if outcomes are drawn from the forecasts of a bin."""
    from scipy.special import bdtrik

    tail = (1.0 - level) / 2.0
    n, p = np.maximum(np.floor(count), 1.0), np.clip(forecast, 0.0, 1.0)
    inside = (p > 0.0) & (p < 1.0)
    safe = np.where(inside, p, 0.5)
    low = np.where(inside, np.maximum(np.ceil(bdtrik(tail, n, safe)), 0.0) / n, p)
    high = np.where(inside, np.minimum(np.ceil(bdtrik(1.0 - tail, n, safe)), n) / n, p)
    return np.nan_to_num(low), high
