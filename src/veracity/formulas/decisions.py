"""Decisions by a threshold: elementary losses, the half scores they add up to, net benefit, costs.

Who acts when p reaches c holds a false alarm for c ÷ (1 − c) times as bad as a miss is. One curve over c serves every
such decision-maker: every proper score of the power family is a weighted area under the curve of elementary losses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from veracity.types import Floats


def elementary_loss(p: ArrayLike, event: ArrayLike, c: ArrayLike) -> Floats:
    """s_c(p, y) = |y − c|·1[min(p, y) ≤ c < max(p, y)]: c for a false alarm, 1 − c for a miss, acting where p > c.

    For any number of classes score_r = Σ_k ∫ s_c(p_k, 1[y = k])·(1 + r)·c^(r−1) dc (Ehm and others 2016, theorem 1).

    >>> elementary_loss([0.2, 0.2, 0.7], [0, 1, 0], 0.2)
    array([0. , 0.8, 0.2])
    """
    p, y, c = (np.asarray(x, dtype=np.float64) for x in (p, event, c))
    return np.asarray(np.abs(y - c) * ((np.minimum(p, y) <= c) & (c < np.maximum(p, y))))


def half_score(p: ArrayLike, event: ArrayLike, r: float) -> Floats:
    """The half of a class, ∫ s_c(p, y)·(1 + r)·c^(r−1) dc: a proper score by itself, r > −1.

    H_r = (1 + r)/r·(1 − p^r) − (1 − p^(1+r)) if it happened (r = 0: −ln p − (1 − p)), p^(1+r) if not. The halves of all
    classes add to score_r. With two classes score_r is symmetric in c and 1 − c; one half is not: its mean threshold is
    r/(1 + r).

    >>> round(float(half_score(0.8, 1, 1.0) + half_score(0.2, 0, 1.0)), 12)  # the Brier score, 2·0.2²
    0.08
    """
    p, y = np.asarray(p, dtype=np.float64), np.asarray(event)
    with np.errstate(divide="ignore"):
        power = -np.log(p) if r == 0.0 else -np.expm1(r * np.log(p)) / r
        happened = (1.0 + r) * power - (1.0 - p ** (1.0 + r))
    return np.where(y == 1, happened, p ** (1.0 + r))


def net_benefit(hits: ArrayLike, alarms: ArrayLike, c: ArrayLike) -> Floats:
    """NB(c) = hits − alarms·c/(1 − c), in true positives per case: both are shares of all cases for which p ≥ c.

    Vickers & Elkin 2006. (1 − c)(share of events − NB(c)) is the mean elementary loss where no forecast equals c.

    >>> round(float(net_benefit(0.25, 0.3, 0.1)), 4)
    0.2167
    """
    c = np.asarray(c, dtype=np.float64)
    return np.asarray(np.asarray(hits) - np.asarray(alarms) * (c / (1.0 - c)))


def treat_all(prevalence: ArrayLike, c: ArrayLike) -> Floats:
    """Net benefit of acting in every case, π − (1 − π)·c/(1 − c); that of acting in none is 0.

    >>> round(float(treat_all(0.3, 0.1)), 4)
    0.2222
    """
    prevalence = np.asarray(prevalence, dtype=np.float64)
    return net_benefit(prevalence, 1.0 - prevalence, c)


def standardised(benefit: ArrayLike, prevalence: ArrayLike) -> Floats:
    """NB ÷ π: the share of the benefit of perfect knowledge, at most 1 (Kerr and others 2016).

    >>> standardised(0.15, 0.3)
    array(0.5)
    """
    return np.asarray(np.asarray(benefit) / np.asarray(prevalence))


def interventions_avoided(benefit: ArrayLike, prevalence: ArrayLike, c: ArrayLike) -> Floats:
    """(NB − NB of treating all)·(1 − c)/c: share of cases spared an intervention, less (1 − c)/c for each event missed
    (Vickers and others 2008).

    >>> round(float(interventions_avoided(0.25, 0.3, 0.1)), 4)
    0.25
    """
    c = np.asarray(c, dtype=np.float64)
    return np.asarray((np.asarray(benefit) - treat_all(prevalence, c)) * ((1.0 - c) / c))


def murphy(benefit: ArrayLike, prevalence: ArrayLike, c: ArrayLike) -> Floats:
    """(1 − c)(π − NB(c)): the mean elementary loss of who acts at p ≥ c.

    >>> round(float(murphy(0.25, 0.3, 0.1)), 4)
    0.045
    """
    return np.asarray((1.0 - np.asarray(c)) * (np.asarray(prevalence) - np.asarray(benefit)))


def score_weight(c: ArrayLike, r: float) -> Floats:
    """(1 + r)·c^(r−1): the weight that the half of a class gives to threshold c.

    >>> score_weight(0.25, 0.0), score_weight(0.25, 1.0)
    (array(4.), array(2.))
    """
    return np.asarray((1.0 + r) * np.asarray(c, dtype=np.float64) ** (r - 1.0))


def threshold_of_costs(false_alarm: float, miss: float) -> float:
    """false alarm ÷ (false alarm + miss): acting pays from this probability on.

    >>> round(threshold_of_costs(1, 8), 4)
    0.1111
    """
    return false_alarm / (false_alarm + miss)


def cost_per_case(hits: ArrayLike, alarms: ArrayLike, prevalence: ArrayLike, false_alarm: float, miss: float) -> Floats:
    """false alarm·(share of false alarms) + miss·(share of misses); with perfect knowledge it is 0.

    >>> round(float(cost_per_case(0.25, 0.3, 0.3, 1, 8)), 4)
    0.7
    """
    return np.asarray(false_alarm * np.asarray(alarms) + miss * (np.asarray(prevalence) - np.asarray(hits)))


def updated_threshold(c: ArrayLike, prevalence: float, prior: float) -> Floats:
    """The threshold on the old scale that is c on forecasts updated to another prevalence, p' ∝ p·π'/π:
    odds(t) = odds(c)·odds(π) ÷ odds(π').

    >>> float(updated_threshold(0.5, 0.3, 0.3)), round(float(updated_threshold(0.1, 0.3, 0.05)), 3)
    (0.5, 0.475)
    """
    c = np.asarray(c, dtype=np.float64)
    factor = prevalence / (1.0 - prevalence) * (1.0 - prior) / prior
    return np.asarray(c * factor / (c * factor + (1.0 - c)))


def at_prior(p: ArrayLike, prevalence: ArrayLike, prior: ArrayLike) -> Floats:
    """p'_k ∝ p_k·π'_k/π_k, classes last: Bayes' rule for other frequencies, the same likelihoods (Saerens 2002).

    >>> at_prior([0.7, 0.3], [0.7, 0.3], [0.95, 0.05]).round(3)
    array([0.95, 0.05])
    """
    weight = np.asarray(prior, dtype=np.float64) / np.asarray(prevalence, dtype=np.float64)
    updated = np.asarray(p, dtype=np.float64) * (weight / weight.max())
    return np.asarray(updated / updated.sum(axis=-1, keepdims=True))
