"""Intervals of a proportion and tests of association, from counts.

x  events among n cases; a table n (k, K) as in `tables`. Written out because importing SciPy costs more than a table.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veracity.formulas import domain

Array = NDArray[np.float64]


def chi_square_tail(x: float, df: int) -> float:
    """Pr(χ²_df ≥ x), the finite sums for whole df.

    >>> round(chi_square_tail(3.841459, 1), 6)
    0.05
    """
    if df == 0:
        return 1.0
    half = x / 2.0
    if half == 0.0:
        return 1.0
    first, tail = (0.5, math.erfc(math.sqrt(half))) if df % 2 else (0.0, 0.0)
    steps = np.arange(first, df / 2.0)
    return tail + sum(math.exp(s * math.log(half) - half - math.lgamma(s + 1.0)) for s in steps)


def clopper_pearson(x: ArrayLike, n: ArrayLike, level: float) -> tuple[Array, Array]:
    """Exact interval of a proportion x/n: the p at which the binomial tails from x are (1 − level)/2.

    >>> [round(float(b[0]), 4) for b in clopper_pearson([12], [14], 0.95)]
    [0.5719, 0.9822]
    """
    x, n = np.asarray(x, float), np.asarray(n, float)
    tail = (1.0 - level) / 2.0
    low = _beta_quantile(tail, np.where(x == 0, 1.0, x), n - x + 1.0)
    high = _beta_quantile(1.0 - tail, x + 1.0, np.where(x == n, 1.0, n - x))
    return np.where(x == 0, 0.0, low), np.where(x == n, 1.0, high)


def _beta_quantile(p: float, a: Array, b: Array) -> Array:
    """Solves I_x(a, b) = p by Newton's method inside a bracket, halving it where Newton leaves it."""
    low, high, x = np.zeros_like(a), np.ones_like(a), a / (a + b)
    log_b = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
    with np.errstate(
        divide="ignore", invalid="ignore", over="ignore"
    ):  # far out the density is 0: the bracket is halved
        for _ in range(200):
            excess = _incomplete_beta(x, a, b, log_b) - p
            density = np.exp((a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - log_b)
            low, high = np.where(excess < 0.0, x, low), np.where(excess < 0.0, high, x)
            newton = x - excess / density
            after = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2.0)
            settled = np.all(np.abs(after - x) <= 1e-12 * np.minimum(x, 1.0 - x))
            x = after
            if settled:
                break
    return x


_log_gamma = np.vectorize(math.lgamma, otypes=[float])


def _incomplete_beta(x: Array, a: Array, b: Array, log_b: Array) -> Array:
    """Regularised incomplete beta function I_x(a, b) by its continued fraction (DLMF 8.17.22), Lentz's method."""
    swap = x > (a + 1.0) / (a + b + 2.0)
    x, a, b = np.where(swap, 1.0 - x, x), np.where(swap, b, a), np.where(swap, a, b)
    front = np.exp(a * np.log(x) + b * np.log1p(-x) - log_b) / a
    c, d = np.ones_like(x), 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    value = d.copy()
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1.0 / (1.0 + term * d), 1.0 + term / c
            value = value * c * d
        if np.all(np.abs(c * d - 1.0) < 1e-15):
            break
    return np.asarray(np.where(swap, 1.0 - front * value, front * value))


def fisher_p(n: ArrayLike) -> float:
    """Fisher's exact p of a 2 × 2 table of counts, two-sided: the tables with these margins that are no likelier.

    >>> round(fisher_p([[3, 1], [1, 3]]), 6)
    0.485714
    """
    (a, b), (c, d) = domain.table(n)
    x = np.arange(max(0.0, a - d), min(a + b, a + c) + 1.0)
    log_p = -sum(_log_gamma(cell + 1.0) for cell in (x, a + b - x, a + c - x, d - a + x))
    p = np.exp(log_p - log_p.max())
    # 1e-7: two tables of equal probability may differ by rounding
    return float(min(1.0, p[log_p <= log_p[x == a] + 1e-7].sum() / p.sum()))


def permutation_p(n: ArrayLike, draws: int, seed: int) -> float:
    """Share of tables with the same margins, drawn at random, whose G² is at least as large; the table itself counts.

    >>> permutation_p([[3, 1], [1, 3]], 999, 0) > 0.4
    True
    """
    n = domain.table(n)
    rng = np.random.default_rng(seed)
    left = np.broadcast_to(n.sum(0).astype(np.int64), (draws, n.shape[1])).copy()
    drawn = np.zeros(draws)  # Σ n ln n, which is G² but for the margins
    for row in n.sum(1).astype(np.int64):
        wanted = np.full(draws, row)
        for j in range(n.shape[1]):
            others = left[:, j + 1 :].sum(1)
            taken = rng.hypergeometric(left[:, j], others, wanted)
            drawn += taken * np.log(np.maximum(taken, 1))
            wanted = wanted - taken
            left[:, j] -= taken
    seen = (n * np.log(np.maximum(n, 1))).sum()
    return float((1 + (drawn >= seen - 1e-9).sum()) / (draws + 1))
