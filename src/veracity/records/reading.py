"""Readings: a number, its interval, and the method of the interval."""

from __future__ import annotations

from typing import Any

import numpy as np

DELTA = "delta method"
HALL = "Hall's skewness-corrected t"
WILSON = "Wilson"


class Reading(float):
    """A float with an interval, .low and .high, its .method, and the .reason for a missing value or interval.

    `known` is False where the value cannot be identified from the data (it is then NaN, and null in JSON).
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


def unknown(reason: str) -> Reading:
    """Return the reading of a quantity that cannot be identified from the data."""
    return Reading(np.nan, reason=reason, known=False)


def undefined(reason: str) -> Reading:
    """Return the reading of a quantity without a value."""
    return Reading(np.nan, reason=reason)
