"""Generalized means of probabilities, the risk profile, and the three scales of information (N17, RP).

Symbols: p probabilities, w weights, r the risk parameter (power of the mean), q forecast and p truth in Table 1 of RP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas import domain
from veracity.formulas.coupled import risk_exp, risk_log
from veracity.types import Array

ROBUST = -2 / 3
R_GRID: Array = (np.arange(37) - 18) / 9  # −2 + i/9, rounded once, so that −2/3, 0 and 1 are hit exactly
R_GRID.flags.writeable = False

LARGEST_EXPONENT = 500.0  # beyond it the sum is anchored at its largest term: exp overflows at 709
SMALLEST_POWER, LARGEST_POWER = 1e-150, 1e20  # beyond them the limits 0 and ±∞ are the same number


def log_generalized_mean(log_p: ArrayLike, r: ArrayLike, weights: ArrayLike | None = None) -> Any:
    """Logarithm of the generalized mean, from log-probabilities: nothing underflows.

    ln P_r = (1/r) ln Σ w p^r; r = 0: Σ w ln p. Last axis; the result has the other axes followed by those of r.
    RP (2.6), with the 1/r that its second use lacks.

    >>> log_generalized_mean([-2000.0, -2000.0], 1)
    -2000.0
    """
    x = domain.filled("log_p", domain.log_values("log_p", log_p))
    powers = domain.power("r", r)
    w = domain.shares("weights", weights, x.shape[-1])
    if not w.all():  # a weight of 0 removes its value, even where that value is 0
        x, w = x[..., w > 0], w[w > 0]
    mean = _log_mean(x, w)
    out = np.stack([mean(float(power)) for power in powers.flat], axis=-1).reshape(x.shape[:-1] + powers.shape)
    return out if out.ndim else float(out)


def _log_mean(x: Array, w: Array) -> Callable[[float], Array]:
    """Return the function r → ln P_r of the logarithms x; everything independent of r is computed once."""
    low, high = x.min(axis=-1), x.max(axis=-1)
    zero = np.isneginf(x) if np.isneginf(low).any() else None
    if zero is None:
        kept, lost = w, None
    else:  # p = 0 counts for r > 0 by its lost weight alone, and decides for r <= 0
        lost = (w * zero).sum(axis=-1)
        rest = np.where(zero, 0.0, w)
        total = rest.sum(axis=-1, keepdims=True)
        with np.errstate(divide="ignore"):  # whichever of the two shares is the smaller is the exact one
            log_total = np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.5)), np.log(total[..., 0]))
        kept = rest / np.where(total > 0.0, total, 1.0)
        x = np.where(zero, 0.0, x)
    centre = (kept * x).sum(axis=-1, keepdims=True)
    d = x - centre  # Σ w d = 0, so that expm1 and log1p lose no digit as r → 0
    if zero is not None:
        d[zero] = 0.0
    d_low, d_high = d.min(axis=-1), d.max(axis=-1)

    def mean(r: float) -> Array:
        if abs(r) > LARGEST_POWER:
            return np.asarray(high if r > 0 else low)
        top = np.maximum(r * d_high, r * d_low)
        anchor = np.where(top > LARGEST_EXPONENT, top, 0.0)
        if abs(r) < SMALLEST_POWER:
            value = centre[..., 0]
        elif anchor.any():
            value = centre[..., 0] + (anchor + np.log((kept * np.exp(r * d - anchor[..., None])).sum(axis=-1))) / r
        else:
            value = centre[..., 0] + np.log1p((kept * np.expm1(r * d)).sum(axis=-1)) / r
        if lost is None:
            return np.asarray(value)
        with np.errstate(over="ignore"):
            return np.where(lost > 0.0, value + log_total / r if r > 0.0 else -np.inf, value)

    return mean


@overload
def generalized_mean(p: Sequence[float], r: float, weights: ArrayLike | None = None) -> float: ...


@overload
def generalized_mean(p: ArrayLike, r: ArrayLike, weights: ArrayLike | None = None) -> float | Array: ...


def generalized_mean(p: ArrayLike, r: ArrayLike, weights: ArrayLike | None = None) -> float | Array:
    """Weighted generalized mean of non-negative numbers (probabilities or densities).

    P_r = (Σ w p^r)^(1/r); r = 0: Π p^w; r = ∞: max; r = −∞: min. A zero with positive weight gives 0 for r ≤ 0.
    A float for one power of one set; otherwise the last axis is averaged and the axes of r are put in its place.
    N17 (13), RP (2.6).

    >>> round(generalized_mean([0.5, 0.8, 0.9], 1), 12)
    0.733333333333
    >>> generalized_mean([0.0, 0.5], [-1, 0, 1])
    array([0.  , 0.  , 0.25])
    """
    values = domain.nonnegative("p", p)
    with np.errstate(divide="ignore"):
        mean = np.exp(log_generalized_mean(np.log(domain.filled("p", values)), r, weights))
    return mean if np.ndim(mean) else float(mean)


@overload
def risk_profile(p: Sequence[float], r: Sequence[float] | Array = ..., weights: ArrayLike | None = None) -> Array: ...


@overload
def risk_profile(p: ArrayLike, r: ArrayLike = ..., weights: ArrayLike | None = None) -> float | Array: ...


def risk_profile(p: ArrayLike, r: ArrayLike = R_GRID, weights: ArrayLike | None = None) -> float | Array:
    """Generalized means of p along the risk parameter: the spectrum of RP section 4 (default: 37 values on [−2, 2]).

    >>> risk_profile([0.4, 0.4])[[0, 18, 36]].round(12)
    array([0.4, 0.4, 0.4])
    """
    return generalized_mean(p, r, weights)


def decisiveness(p: ArrayLike, weights: ArrayLike | None = None) -> float | Array:
    """Arithmetic mean (r = 1) of the probabilities given to the outcomes. RP after (3.5).

    >>> decisiveness([0.25, 0.75])
    0.5
    """
    return generalized_mean(domain.probabilities("p", p), 1.0, weights)


def geometric_accuracy(p: ArrayLike, weights: ArrayLike | None = None) -> float | Array:
    """Geometric mean (r = 0) = exp(−log loss) = 1/perplexity. N17 (5), RP after (3.5).

    >>> round(geometric_accuracy([0.2, 0.8]), 12)
    0.4
    """
    return generalized_mean(domain.probabilities("p", p), 0.0, weights)


def robustness(p: ArrayLike, weights: ArrayLike | None = None) -> float | Array:
    """−2/3 mean: the conjugate of decisiveness, dominated by the smallest probabilities. RP after (3.5).

    >>> robustness([0.0, 1.0])
    0.0
    """
    return generalized_mean(domain.probabilities("p", p), ROBUST, weights)


def power_log(x: ArrayLike, r: float) -> Array:
    """(x^r − 1)/r, and ln x at r = 0: the logarithm that every r-formula shares, without cancellation."""
    with np.errstate(divide="ignore", over="ignore"):
        log = np.log(x)
        return log if r == 0.0 else np.expm1(r * log) / r


def generalized_surprisal(p: ArrayLike, r: float) -> Any:
    """−ln_r p of each probability: the cost of being surprised at risk sensitivity r > −1. RP (3.2).

    >>> round(float(generalized_surprisal(0.5, 1.0)), 12)
    1.0
    """
    return -risk_log(domain.probabilities("p", p), r)


def probability_of_surprisal(s: ArrayLike, r: float) -> Any:
    """exp_r(−s): a surprisal, or a mean of surprisals, back on the probability scale. RP (3.4), (3.5).

    >>> round(float(probability_of_surprisal(generalized_surprisal(0.3, -0.5), -0.5)), 12)
    0.3
    """
    return risk_exp(-np.asarray(s, dtype=np.float64), r)


def mean_surprisal(p: ArrayLike, r: float, weights: ArrayLike | None = None) -> float:
    """S_r = −Σ w ln_r p (RP 3.2, with the 1/N that its last member lacks); exp_r(−S_r) = P_r (RP 3.5).

    >>> p = [0.5, 0.8, 0.9]
    >>> bool(abs(probability_of_surprisal(mean_surprisal(p, -2/3), -2/3) - generalized_mean(p, -2/3)) < 1e-15)
    True
    """
    s = domain.filled("p", generalized_surprisal(p, r))
    w = domain.shares("weights", weights, s.shape[-1])
    return float((w[w > 0] * s[w > 0]).sum())


def relative_risk_sensitivity(p: ArrayLike, first: ArrayLike, second: ArrayLike) -> Any:
    """1 + p u''(p)/u'(p) of a utility u with these derivatives; ln_r gives r, and the logarithm 0. RP (3.3).

    >>> float(relative_risk_sensitivity(0.25, 1 / 0.25, -1 / 0.25**2))
    0.0
    """
    return 1.0 + domain.nonnegative("p", p) * domain.finite("second", second) / domain.finite("first", first)


def mean_of_score(score: float, r: float) -> float:
    """(1 − r·score)^{1/r}, the generalized mean of probabilities that a mean power score is; exp(−score) at r = 0.

    score_r(p, y) = [1 − (1 + r) p_y^r + r Σ_j p_j^{1+r}]/r, so the expected score of calibrated forecasts has the mean
    P_r of RP section 3. NaN where 1 − r·score ≤ 0: the score is worse than any mean of probabilities.

    >>> mean_of_score(0.18, 1.0), round(mean_of_score(0.6931471805599453, 0.0), 12), mean_of_score(1.5, 1.0)
    (0.8200000000000001, 0.5, nan)
    """
    if r == 0.0:
        return math.exp(-score)
    power = 1.0 - r * score
    return math.inf ** (1.0 / r) if power == math.inf else power ** (1.0 / r) if power > 0.0 else math.nan


class Scales(NamedTuple):
    """One quantity of information on the three scales of RP Table 1."""

    entropy: Any
    perplexity: Any
    probability: Any


def scales(h: ArrayLike) -> Scales:
    """An entropy, divergence or cross-entropy h in nats as (h, exp h, exp −h). RP (2.1), Table 1.

    >>> scales(entropy([0.25, 0.25, 0.25, 0.25])).perplexity.round(12)
    np.float64(4.0)
    """
    nats = np.asarray(h, dtype=np.float64)
    domain.refuse("h", nats, np.isnan(nats), "is not a number")
    return Scales(nats[()], np.exp(nats)[()], np.exp(-nats)[()])


def entropy(p: ArrayLike) -> Any:
    """H(p) = −Σ p ln p of each row, 0 ln 0 = 0. RP (2.1); P_ent = exp(−H): N17 (6).

    >>> round(float(entropy([0.5, 0.5])), 6)
    0.693147
    """
    p = domain.simplex_rows("p", p)
    return 0.0 - _sum_times_log(p, p)


def cross_entropy(forecast: ArrayLike, truth: ArrayLike) -> Any:
    """−Σ p ln q, q the forecast and p the truth; infinite where q = 0 < p. RP Table 1; P_ce = P_ent P_div: N17 (9).

    >>> round(float(cross_entropy([0.25, 0.75], [0.5, 0.5])), 6)
    0.836988
    """
    return 0.0 - _sum_times_log(domain.simplex_rows("truth", truth), domain.simplex_rows("forecast", forecast))


def divergence(forecast: ArrayLike, truth: ArrayLike) -> Any:
    """Σ p ln(p/q) = cross-entropy − entropy, q the forecast and p the truth. RP Table 1; P_div = exp(−D): N17 (8).

    >>> float(divergence([0.5, 0.5], [0.5, 0.5]))
    0.0
    """
    return cross_entropy(forecast, truth) - entropy(truth)


def _sum_times_log(p: Array, q: Array) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0.0, p * np.log(q), 0.0).sum(axis=-1)


def log_spread(p: ArrayLike, weights: ArrayLike | None = None) -> float:
    """σ of the log-probabilities, [Σ w (ln p)² − (Σ w ln p)²]^½; infinite when a p with weight is 0.

    On the probability scale exp(−σ). N17 (10) has the square and the root misplaced; RP (2.6), first use, is right.

    >>> round(log_spread([0.2, 0.8]), 6)
    0.693147
    """
    values = domain.filled("p", domain.nonnegative("p", p))
    w = domain.shares("weights", weights, values.shape[-1])
    values, w = values[w > 0], w[w > 0]
    if not values.all():
        return float("inf")
    log = np.log(values)
    return float(np.sqrt((w * (log - (w * log).sum()) ** 2).sum()))


def average_density_exponential(scale: float) -> float:
    """exp(∫ f ln f) of the exponential density of that scale: f(μ + σ) = 1/(e σ). RP (2.3).

    >>> round(average_density_exponential(1.0), 6)
    0.367879
    """
    return float(np.exp(-1.0) / domain.above("scale", scale, 0.0))


def average_density_gaussian(scale: float) -> float:
    """exp(∫ f ln f) of the Gaussian density: f(μ + σ) = 1/(√(2πe) σ). RP (2.4), with σ outside the root.

    >>> round(average_density_gaussian(1.0), 6)
    0.241971
    """
    return float(1.0 / (np.sqrt(2.0 * np.pi * np.e) * domain.above("scale", scale, 0.0)))
