"""Intervals of a proportion and tests of association, from counts.

x  events among n cases; a table n (k, K) as in `tables`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas import domain
from veracity.formulas.domain import Array
from veracity.formulas.intervals import quantile


def chi_square_tail(x: float, df: int) -> float:
    """Pr(χ²_df ≥ x); 1 without degrees of freedom.

    >>> round(chi_square_tail(3.841459, 1), 6)
    0.05
    """
    from scipy.special import chdtrc

    return float(chdtrc(df, x)) if df else 1.0


def clopper_pearson(x: ArrayLike, n: ArrayLike, level: float) -> tuple[Array, Array]:
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


def ratio_limits(x: ArrayLike, n: ArrayLike, y: ArrayLike, m: ArrayLike, level: float) -> tuple[Array, Array]:
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


def fisher_p(n: ArrayLike) -> float:
    """Return Fisher's two-sided exact p of a 2 × 2 table: the mass of tables with these margins and no higher mass.

    >>> round(fisher_p([[3, 1], [1, 3]]), 6)
    0.485714
    """
    from scipy.special import gammaln

    (a, b), (c, d) = domain.table(n)
    x = np.arange(max(0.0, a - d), min(a + b, a + c) + 1.0)
    log_p = -sum(gammaln(cell + 1.0) for cell in (x, a + b - x, a + c - x, d - a + x))
    p = np.exp(log_p - log_p.max())
    # 1e-7: two tables of equal probability may differ by rounding
    return float(min(1.0, p[log_p <= log_p[x == a] + 1e-7].sum() / p.sum()))


def permutation_p(n: ArrayLike, draws: int, seed: int) -> float:
    """Return the share of random tables with the same margins, this one included, whose G² is at least as large.

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
