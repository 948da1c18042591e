"""Standard errors of a mean whose cases depend on each other, and tests of several differences, hypotheses or groups.

Every error here is a function of *influences*: u_i = w_i (d_i − d̄)/Σw, the share of case i in the deviation of a
weighted mean d̄. They sum to 0, and cases of one cluster or of one moment may be added first. A column per mean.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from veracity.types import Floats

from . import domain

FEWEST_COSINES = 4
LARGE = 1e4  # beyond, the normal approximation gives the bound of a noncentrality to three digits


def _columns(u: ArrayLike) -> Floats:
    values = domain.finite("u", u)
    return values[:, None] if values.ndim == 1 else values


def influences(d: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Return the share of each case in the deviation of the weighted mean: w (d − d̄)/Σw.

    >>> influences([1.0, 2.0, 6.0]).tolist()
    [-0.6666666666666666, -0.3333333333333333, 1.0]
    """
    d = domain.finite("d", d)
    shares = domain.shares("weights", weights, len(d))
    return np.asarray(((d - shares @ d).T * shares).T)


def independent_error(u: ArrayLike) -> Floats:
    """Return √Σu²: with equal weights √(Σ(d − d̄)²)/n. Cases are independent.

    >>> float(independent_error(influences([1.0, 2.0, 6.0])).round(6)[0])
    1.247219
    """
    return np.asarray(np.sqrt((_columns(u) ** 2).sum(axis=0)))


def cluster_error(u: ArrayLike) -> Floats:
    """Return √(G/(G−1) Σ_g (Σ_{i∈g} u_i)²) from the sums of the G clusters; the t distribution has G − 1 degrees.

    Liang & Zeger 1986; the factor is that of Cameron & Miller 2015 eq 12 without (n − 1)/(n − k).

    >>> float(cluster_error([-0.3, 0.1, 0.2]).round(6)[0])
    0.458258
    """
    sums = _columns(u)
    number = len(sums)
    factor = number / (number - 1.0) if number > 1 else math.nan
    return np.asarray(np.sqrt(factor * (sums**2).sum(axis=0)))


def normal_cluster_error(u: ArrayLike) -> Floats:
    """Return the error of clusters times t/z at 95 %, so that intervals by normal quantiles hold with few of them.

    >>> float((normal_cluster_error([-0.3, 0.1, 0.2]) / cluster_error([-0.3, 0.1, 0.2])).round(4)[0])  # 4.3027/1.96
    2.1953
    """
    sums = _columns(u)
    df = max(len(sums) - 1.0, 1.0)
    return np.asarray(cluster_error(sums) * (half_width(0.95, df) / half_width(0.95, math.inf)))


def number_of_cosines(n: int) -> int:
    """Return max(4, ⌊.41 n^(2/3)⌋), at most n − 1: the rule of Lazarus, Lewis, Stock & Watson 2018 eq 4.

    >>> number_of_cosines(92), number_of_cosines(10)
    (8, 4)
    """
    return max(1, min(max(FEWEST_COSINES, int(0.41 * float(n) ** (2.0 / 3.0))), n - 1))


def cosine_error(u: ArrayLike) -> tuple[Floats, int]:
    """Return the error of a mean in time by equally weighted cosines, and the degrees of freedom of its t.

    se² = 2/B Σ_{j≤B} (Σ_t u_t cos(πj(t − ½)/n))², which is mean_j Λ_j²/n with Λ_j = √(2/n) Σ_t d_t cos(πj(t − ½)/n).
    Müller 2007; Lazarus, Lewis, Stock & Watson 2018. `u` is in the order of time.

    >>> error, df = cosine_error([0.1, -0.2, 0.3, -0.1, 0.0, -0.1])
    >>> round(float(error[0]), 6), df
    (0.268436, 4)
    """
    b = number_of_cosines(len(np.asarray(u)))
    return np.asarray(np.sqrt(2.0 * (_cosine_sums(u, b) ** 2).mean(axis=0))), b


def _cosine_sums(u: ArrayLike, b: int) -> Floats:
    """Return (b, columns) Σ_t u_t cos(πj(t − ½)/n) for j = 1 … b."""
    from scipy.fft import dct

    return np.asarray(dct(_columns(u), axis=0)[1 : b + 1] / 2.0)


def _lagged(u: Floats, lag: int) -> Floats:
    return np.asarray((u[lag:] * u[: len(u) - lag]).sum(axis=0))


def bartlett_error(u: ArrayLike, lags: int) -> Floats:
    """Return √([γ₀ + 2 Σ_{l≤L} (1 − l/(L+1)) γ_l]/n), γ_l the autocovariance with divisor n (Newey & West 1987).

    >>> float(bartlett_error([0.1, -0.2, 0.3, -0.1, 0.0, -0.1], 0).round(6)[0])
    0.4
    """
    values = _columns(u)
    domain.whole_number("lags", lags, 0, len(values) - 1)
    total = _lagged(values, 0)
    for lag in range(1, lags + 1):
        total = total + 2.0 * (1.0 - lag / (lags + 1.0)) * _lagged(values, lag)
    return np.asarray(np.sqrt(np.maximum(total, 0.0)))


def horizon_error(u: ArrayLike, horizon: int) -> Floats:
    """Return the error of Diebold & Mariano 1995 for forecasts `horizon` steps ahead, NaN where it is not positive.

    se² = [γ₀ + 2 Σ_{l<h} γ_l]/n, divided by the factor (n + 1 − 2h + h(h−1)/n)/n of Harvey, Leybourne & Newbold 1997
    eq 8; the t distribution has n − 1 degrees.

    >>> u = influences([1.0, 2.0, 6.0, 3.0])
    >>> round(float(horizon_error(u, 1)[0]), 6)  # s/√n with divisor n − 1
    1.080123
    """
    values = _columns(u)
    n = len(values)
    domain.whole_number("horizon", horizon, 1, n - 1)
    total = _lagged(values, 0)
    for lag in range(1, horizon):
        total = total + 2.0 * _lagged(values, lag)
    factor = (n + 1.0 - 2.0 * horizon + horizon * (horizon - 1.0) / n) / n
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(np.where(total > 0.0, total, np.nan) / factor))


def first_autocorrelation(u: ArrayLike) -> Floats:
    """Return Σ u_t u_{t−1}/Σ u_t² of values that sum to 0; 0 where they do not vary.

    >>> float(first_autocorrelation([1.0, -1.0, 1.0, -1.0])[0])
    -0.75
    """
    values = _columns(u)
    spread = _lagged(values, 0)
    return np.asarray(np.where(spread > 0.0, _lagged(values, 1) / np.where(spread > 0.0, spread, 1.0), 0.0))


def holm(p: ArrayLike) -> Floats:
    """Return p-values adjusted by Holm's step-down method (1979); NaN are not tests and do not count.

    >>> holm([0.01, 0.04, 0.03]).round(9).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    out = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    out[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0) if len(order) else []
    return out


def cases_for_power(difference: float, error: float, n: float, level: float, power: float = 0.8) -> float:
    """Return the number of cases at which a two-sided test at 1 − level sees the difference with this power.

    n (z_(1+level)/2 + z_power)² se²/d², from the error of n cases; infinite where there is no difference.

    >>> round(cases_for_power(0.1, 0.05, 100, 0.95), 1)
    196.2
    """
    from scipy.special import ndtri

    if difference == 0.0:
        return math.inf
    z = float(ndtri(0.5 + level / 2.0) + ndtri(power))
    return n * (z * error / difference) ** 2


def two_sided(z: ArrayLike, df: float) -> Floats:
    """Return the p-value of a t statistic with df degrees of freedom, normal where df is infinite.

    >>> float(two_sided(1.959963984540054, math.inf).round(12))
    0.05
    """
    from scipy.special import ndtr, stdtr

    size = -np.abs(np.asarray(z, dtype=np.float64))
    return np.asarray(2.0 * (ndtr(size) if math.isinf(df) else stdtr(df, size)))


def half_width(level: float, df: float) -> float:
    """Return the half-width of an interval in standard errors: the quantile of t, normal where df is infinite.

    >>> round(half_width(0.95, 8), 4)
    2.306
    """
    from scipy.special import ndtri, stdtrit

    at = 0.5 + level / 2.0
    return float(ndtri(at) if math.isinf(df) else stdtrit(df, at))


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


def between_groups(mean: ArrayLike, weight: ArrayLike, variance: float) -> float:
    """Return Σ n_g (mean_g − mean)²/s²: about χ² with G − 1 degrees if groups do not differ (Kruskal 1952 on ranks).

    >>> round(between_groups([1.0, 2.0], [50, 50], 4.0), 6)
    6.25
    """
    m, w = domain.finite("mean", mean), domain.nonnegative("weight", weight)
    centre = w @ m / w.sum()
    return float(w @ (m - centre) ** 2 / variance)


def variance_between(mean: ArrayLike, error: ArrayLike) -> float:
    """Return τ², the variance of the groups' true means (DerSimonian & Laird 1986 eq 8); 0 where chance explains all.

    >>> round(variance_between([0.0, 1.0, 2.0], [0.1, 0.1, 0.1]), 4)
    0.99
    """
    m, e = domain.finite("mean", mean), domain.finite("error", error)
    w = 1.0 / e**2
    centre = w @ m / w.sum()
    excess = w @ (m - centre) ** 2 - (len(m) - 1.0)
    return max(float(excess / (w.sum() - (w @ w) / w.sum())), 0.0)


def shrunk_means(mean: ArrayLike, error: ArrayLike) -> tuple[Floats, Floats]:
    """Return group means drawn towards their common mean, and their errors: empirical Bayes (Efron & Morris 1975).

    m̃_g = μ + B_g (m_g − μ), B_g = τ²/(τ² + se_g²), error² = B_g se_g² + (1 − B_g)² se(μ)².

    >>> means, errors = shrunk_means([0.0, 1.0], [0.1, 10.0])
    >>> means.round(3).tolist()
    [0.0, 0.0]
    """
    m, e = domain.finite("mean", mean), domain.finite("error", error)
    between = variance_between(m, e)
    w = 1.0 / (between + e**2)
    centre = w @ m / w.sum()
    kept = between / (between + e**2)
    return centre + kept * (m - centre), np.sqrt(kept * e**2 + (1.0 - kept) ** 2 / w.sum())
