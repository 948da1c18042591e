"""Intervals of shares and means: pure formulas, arrays in, ends out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.types import Floats


@lru_cache(maxsize=16)
def quantile(level: float) -> float:
    """Return the half-width of a normal interval in standard errors."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2.0))


def effective_rows(weight: float, weight2: float) -> float:
    """Return (Σw)²/Σw²: the number of rows that equal weights would need for the same precision; 0 without rows.

    >>> effective_rows(sum([0.1] * 60), sum([0.1**2] * 60))
    60.0
    """
    rows = weight**2 / weight2 if weight2 > 0.0 else 0.0
    return float(round(rows)) if math.isclose(rows, round(rows), rel_tol=1e-12) else rows


def wilson(share: ArrayLike, n: ArrayLike, level: float) -> tuple[Any, Any]:
    """Return the score interval of a share of n (Wilson 1927); NaN where n is 0.

    >>> [round(float(end), 4) for end in wilson(12 / 14, 14, 0.95)]
    [0.6006, 0.9599]
    """
    share, n = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z2, some = quantile(level) ** 2, n > 1e-9
    m = np.where(some, n, 1.0)
    centre = (share + z2 / (2.0 * m)) / (1.0 + z2 / m)
    half = np.sqrt(np.maximum(share * (1.0 - share), 0.0) / m + z2 / (4.0 * m * m)) * math.sqrt(z2) / (1.0 + z2 / m)
    low = np.where(share <= 0.0, 0.0, np.maximum(centre - half, 0.0))
    high = np.where(share >= 1.0, 1.0, np.minimum(centre + half, 1.0))
    return np.where(some, low, np.nan)[()], np.where(some, high, np.nan)[()]


def hall(error: Floats, skewness: Floats, n: float, level: float) -> tuple[Floats, Floats]:
    """Return the distances from a mean to the ends of its interval, by Hall's cubic transformation for skewness.

    T = (mean − μ)/error is made symmetric by g(T) = ((1 + hT)³ − 1)/(3h) + γ/(6√n), h = γ/(3√n); its inverse at the
    normal quantiles gives the interval.
    """
    z = quantile(level)
    h = skewness / (3.0 * math.sqrt(n))
    h = np.where(np.abs(h) < 1e-9, 1e-9, h)

    def inverse(x: float) -> Floats:
        return np.asarray((np.cbrt(1.0 + 3.0 * h * (x - h / 2.0)) - 1.0) / h)

    return error * inverse(z), -error * inverse(-z)


def consistency_band(forecast: Floats, count: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the interval of the observed share at `level` if outcomes are drawn from the forecasts of a bin."""
    from scipy.special import bdtrik

    tail = (1.0 - level) / 2.0
    n, p = np.maximum(np.floor(count + 1e-9), 1.0), np.clip(forecast, 0.0, 1.0)
    inside = (p > 0.0) & (p < 1.0)
    safe = np.where(inside, p, 0.5)
    low = np.where(inside, np.maximum(np.ceil(bdtrik(tail, n, safe)), 0.0) / n, p)
    high = np.where(inside, np.minimum(np.ceil(bdtrik(1.0 - tail, n, safe)), n) / n, p)
    return np.nan_to_num(low), np.nan_to_num(high)  # of forecasts so close to 0 that none is drawn


def clopper_pearson(x: ArrayLike, n: ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Exact interval of a proportion x/n: the p at which the binomial tails from x are (1 − level)/2.

    >>> [round(float(b[0]), 4) for b in clopper_pearson([12], [14], 0.95)]
    [0.5719, 0.9822]
    """
    from scipy.special import betaincinv

    x, n = np.asarray(x, float), np.asarray(n, float)
    tail = (1.0 - level) / 2.0
    low = betaincinv(np.where(x == 0, 1.0, x), n - x + 1.0, tail)
    high = betaincinv(x + 1.0, np.where(x == n, 1.0, n - x), 1.0 - tail)
    return np.where(x == 0, 0.0, low), np.where(x == n, 1.0, high)


def difference_limits(worst: Sequence[float], best: Sequence[float], correlation: float) -> tuple[float, float]:
    """Interval of worst − best from their own intervals, each (value, low, high), and the correlation of the two
    (Zou & Donner 2008: the square-and-add of Newcombe for estimates that depend on each other).

    >>> [round(end, 3) for end in difference_limits((0.4, 0.3, 0.5), (0.1, 0.05, 0.2), 0.0)]
    [0.159, 0.412]
    """
    (a, low_a, high_a), (b, low_b, high_b) = worst, best

    def reach(x: float, y: float) -> float:
        return float(np.sqrt(x**2 + y**2 - 2.0 * correlation * x * y))

    return a - b - reach(a - low_a, high_b - b), a - b + reach(high_a - a, b - low_b)


def ratio_limits(x: ArrayLike, n: ArrayLike, y: ArrayLike, m: ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Interval of the ratio of two proportions x/n and y/m, such as a likelihood ratio: ln ratio ± z·se with
    se² = 1/x − 1/n + 1/y − 1/m (Katz and others 1978; Simel and others 1991); NaN where x or y is 0.

    >>> [round(float(end), 2) for end in ratio_limits(12, 68, 2, 85, 0.95)]
    [1.74, 32.38]
    """
    a, b, c, d = (np.asarray(count, float) for count in (x, n, y, m))
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.log(a / b) - np.log(c / d)
        half = quantile(level) * np.sqrt(1.0 / a - 1.0 / b + 1.0 / c - 1.0 / d)
        known = (a > 0.0) & (c > 0.0)
        return np.where(known, np.exp(centre - half), np.nan), np.where(known, np.exp(centre + half), np.nan)
