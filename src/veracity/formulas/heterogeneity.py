"""Do groups differ, and where would small ones really be? Pure formulas on means and their errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import domain

Floats = NDArray[np.float64]


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
