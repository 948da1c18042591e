"""Multiple tests, and bounds on a noncentrality."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGE = 1e4  # beyond, the normal approximation gives the bound to three digits


def weighted_holm(p: Mapping[str, float], weights: Mapping[str, float], level: float = 0.05) -> set[str]:
    """Return the hypotheses that Holm's step-down test with weights rejects.

    The hypothesis with the smallest p_i/w_i is rejected while p_i ≤ level·w_i/Σ w of those not yet rejected; the
    probability of any false rejection is at most `level` (Holm 1979, section 4).

    >>> sorted(weighted_holm({"a": 0.019, "b": 0.03, "c": 0.2}, {"a": 0.4, "b": 0.4, "c": 0.2}))
    ['a', 'b']
    """
    rejected: set[str] = set()
    for name in sorted(p, key=lambda name: p[name] / weights[name]):
        left = sum(weight for other, weight in weights.items() if other not in rejected)
        if p[name] > level * weights[name] / left:
            break
        rejected.add(name)
    return rejected


def noncentrality_bound(x: float, df: float, tail: float = 0.025) -> float:
    """Return the largest λ for which a noncentral χ²(df, λ) is at most x with probability `tail` or more.

    0 where even λ = 0 exceeds x too often. Beyond x = 1e4 by the normal approximation x = λ + df ± z √(2 df + 4 λ).

    >>> round(noncentrality_bound(3.84, 1), 2)
    15.36
    """
    from scipy.special import chdtr, chndtr, ndtri

    if x <= 0.0 or chdtr(df, x) < tail:
        return 0.0
    z = -float(ndtri(tail))
    high = x - df + 2 * z * z + z * math.sqrt(max(4 * x - 2 * df + 4 * z * z, 0.0)) + df
    if x > LARGE:
        return x - df + 2 * z * z + z * math.sqrt(max(4 * x - 2 * df + 4 * z * z, 0.0))
    low = 0.0
    while chndtr(x, df, high) > tail:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if chndtr(x, df, middle) > tail else (low, middle)
    return high
