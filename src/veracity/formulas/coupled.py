"""Nelson's coupled algebra: logarithm, exponential and entropies of coupling kappa.

kappa > 0 heavy tail, kappa = 0 the exponential family, -1/d < kappa < 0 compact support. The same deformation seen
from the risk profile is r = -alpha kappa / (1 + d kappa); alpha = 2 for Gaussians, 1 for exponentials; q = 1 - r
is Tsallis' and Renyi's index. All formulas run continuously through kappa = 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas import domain
from veracity.types import Array

TINY = 1e-150  # a smaller deformation changes nothing, and its products would leave the normal floats


# ---- one deformation under the names r, kappa and q -----------------------------------------------------------------


def risk_from_coupling(kappa: float, alpha: float = 2.0, d: int = 1) -> float:
    """Risk parameter of a coupling: r = -alpha kappa / (1 + d kappa) (RP appendix).

    >>> round(risk_from_coupling(0.5), 6), round(risk_from_coupling(-1 / 3), 6)
    (-0.666667, 1.0)
    """
    kappa, alpha, d = checked_coupling(kappa, d), domain.above("alpha", alpha, 0.0), _dimension(d)
    return -alpha * kappa / (1.0 + d * kappa)


def coupling_from_risk(r: float, alpha: float = 2.0, d: int = 1) -> float:
    """Coupling of a risk parameter: kappa = -r / (alpha + d r), for r > -alpha/d.

    >>> round(coupling_from_risk(-0.15, d=7), 4)
    0.1579
    """
    alpha, d = domain.above("alpha", alpha, 0.0), _dimension(d)
    r = domain.above("r", r, -alpha / d)
    return -r / (alpha + d * r)


def tsallis_from_risk(r: float) -> float:
    """Index of the Tsallis and Renyi entropies: q = 1 - r."""
    return 1.0 - r


def risk_from_tsallis(q: float) -> float:
    """Risk parameter of a Tsallis or Renyi index: r = 1 - q."""
    return 1.0 - q


def conjugate_coupling(kappa: float, d: int = 1) -> float:
    """The dual between heavy tail and compact support: -kappa / (1 + d kappa); an involution (RP appendix).

    >>> round(conjugate_coupling(-1 / 3), 12)
    0.5
    """
    kappa, d = checked_coupling(kappa, d), _dimension(d)
    return -kappa / (1.0 + d * kappa)


def conjugate_risk(r: float, alpha: float = 2.0, d: int = 1) -> float:
    """The risk parameter of the conjugate coupling; for alpha = 2, d = 1: -2 r / (2 + r).

    >>> round(conjugate_risk(1.0), 6), round(conjugate_risk(-2 / 3), 6)
    (-0.666667, 1.0)
    """
    return risk_from_coupling(conjugate_coupling(coupling_from_risk(r, alpha, d), d), alpha, d)


# ---- logarithm and exponential --------------------------------------------------------------------------------------


def coupled_log(x: ArrayLike, kappa: float, *, alpha: float = 1.0, d: int = 1) -> Array:
    """Coupled logarithm ln_{kappa,d} x^alpha = (x^{alpha kappa/(1 + d kappa)} - 1) / kappa (RP A.3); ln x^alpha at 0.

    >>> round(float(coupled_log(4.0, 1.0)), 12)
    1.0
    """
    kappa, alpha, x = checked_coupling(kappa, d), domain.above("alpha", alpha, 0.0), domain.nonnegative("x", x)
    slope = alpha / (1.0 + _dimension(d) * kappa)
    with np.errstate(divide="ignore"):
        return power_ratio(slope * np.log(x), kappa)


def coupled_exp(x: ArrayLike, kappa: float, *, alpha: float = 1.0, d: int = 1) -> Array:
    """Inverse of `coupled_log`: (1 + kappa x)_+^{(1 + d kappa)/(alpha kappa)} (RP A.4, whose _+ is missing).

    >>> round(float(coupled_exp(1.0, 1.0)), 12)
    4.0
    """
    kappa, alpha, d = checked_coupling(kappa, d), domain.above("alpha", alpha, 0.0), _dimension(d)
    return np.exp((1.0 + d * kappa) / alpha * log_ratio(domain.known("x", x), kappa))


def risk_log(x: ArrayLike, r: float) -> Array:
    """The same logarithm by risk: ln_r x = ((1 + r)/r)(x^r - 1), r > -1 (RP 3.2).

    It equals -ln_kappa(1/x) with kappa = -r/(1 + r), the map of alpha = 1.

    >>> round(float(risk_log(0.5, 1.0)), 12)
    -1.0
    """
    r, x = _risk(r), domain.nonnegative("x", x)
    with np.errstate(divide="ignore"):
        return (1.0 + r) * power_ratio(np.log(x), r)


def risk_exp(x: ArrayLike, r: float) -> Array:
    """Inverse of `risk_log`: exp_r x = (1 + r/(1 + r) x)_+^{1/r} (RP 3.4).

    >>> round(float(risk_exp(-1.0, -1 / 3)), 6)
    0.296296
    """
    r = _risk(r)
    return np.exp(log_ratio(domain.known("x", x) / (1.0 + r), r))


# ---- coupled probabilities and the entropies that share one generalized mean ----------------------------------------


def coupled_probabilities(p: ArrayLike, r: float) -> Array:
    """Escort distribution p^{1-r} / sum p^{1-r} (RP 2.7, A.1); classes without probability stay without.

    >>> coupled_probabilities([0.2, 0.8], 2.0).tolist()
    [0.8, 0.2]
    """
    p, r = _distribution(p), domain.above("r", r)
    logs = (1.0 - r) * np.log(p[p > 0])
    powers = np.zeros(p.shape)
    powers[p > 0] = np.exp(logs - logs.max())
    return np.asarray(powers / powers.sum())


def average_probability(p: ArrayLike, r: float) -> float:
    """P_r(P^(r), p) = (sum p^{1-r})^{-1/r} = P_{-r}(p, p): every entropy below as a probability (RP 2.8).

    >>> round(average_probability([0.5, 0.25, 0.25], 0.0), 6), round(average_probability([0.25] * 4, -0.5), 12)
    (0.353553, 0.25)
    """
    return math.exp(-renyi_entropy(p, r))


def renyi_entropy(p: ArrayLike, r: float) -> float:
    """Renyi entropy of index q = 1 - r: ln(sum p^{1-r}) / r; Shannon at r = 0. As probability: exp(-S)."""
    p, r = _distribution(p), domain.above("r", r)
    return _log_power_sum(p, r) / r if r else _shannon(p)


def tsallis_entropy(p: ArrayLike, r: float) -> float:
    """Tsallis entropy of index q = 1 - r: (sum p^{1-r} - 1) / r. As probability: (1 + r S)^{-1/r}."""
    p, r = _distribution(p), domain.above("r", r)
    return math.expm1(_log_power_sum(p, r)) / r if r else _shannon(p)


def normalised_tsallis_entropy(p: ArrayLike, r: float) -> float:
    """Tsallis entropy over sum p^{1-r}: (1 - 1/sum p^{1-r}) / r. As probability: (1 - r S)^{1/r}."""
    p, r = _distribution(p), domain.above("r", r)
    return -math.expm1(-_log_power_sum(p, r)) / r if r else _shannon(p)


def coupled_entropy(p: ArrayLike, kappa: float, *, alpha: float = 2.0, d: int = 1) -> float:
    """Coupled entropy sum P^(r) ln_{kappa,d} p^{-alpha}, r = -alpha kappa/(1 + d kappa) (RP A.5, A.6).

    As probability: 1 / coupled_exp(H, kappa, alpha, d). Two independent systems: H + H' + kappa H H' (A.2).
    """
    p, r = _distribution(p), risk_from_coupling(kappa, alpha, d)
    return math.expm1(-_log_power_sum(p, r)) / kappa if kappa else alpha * _shannon(p)


# ---- terms that stay exact near kappa = 0 ---------------------------------------------------------------------------


def power_ratio(log_x: Array, k: float) -> Any:
    """(x^k - 1)/k from ln x; ln x at k = 0."""
    return np.expm1(k * log_x) / k if k else log_x * 1.0


def log_ratio(x: Array, k: float) -> Any:
    """ln(1 + k x)_+ / k; x at k = 0; minus infinity over k where 1 + k x <= 0."""
    if k == 0:
        return x * 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log1p(np.maximum(k * x, -1.0)) / k


def _log_power_sum(p: Array, r: float) -> float:
    """ln sum p^{1-r} over p > 0, exact for small r."""
    logs = np.log(p[p > 0])
    if abs(r) < 0.01:
        return math.log1p(float((p[p > 0] * np.expm1(-r * logs)).sum()))
    top = ((1.0 - r) * logs).max()
    return float(top + np.log(np.exp((1.0 - r) * logs - top).sum()))


def _shannon(p: Array) -> float:
    positive = p[p > 0]
    return float(-(positive * np.log(positive)).sum())


def _dimension(d: int) -> int:
    if not (isinstance(d, int | np.integer) and d >= 1):
        raise ValueError(f"d: {d!r} is not a whole number from 1")
    return int(d)


def checked_coupling(kappa: float, d: int) -> float:
    """Return kappa, checked to lie above -1/d; a negligible one becomes 0."""
    kappa = domain.above("kappa", kappa, -1.0 / _dimension(d))
    return kappa if abs(kappa) > TINY else 0.0


def _risk(r: float) -> float:
    r = domain.above("r", r, -1.0)
    return r if abs(r) > TINY else 0.0


def _distribution(p: ArrayLike) -> Array:
    p = domain.simplex_rows("p", p)
    if p.ndim != 1:
        raise ValueError(f"p: shape {p.shape}; give one distribution at a time")
    return p
