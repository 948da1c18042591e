"""Prediction–realization tables (HB17).

n  (k, K)  how many cases of forecast category i had outcome j, or their shares; categories from best to worst,
           outcomes from no event to event
f  (k, K)  the forecast probabilities of category i
d  (k, K)  the frequencies observed in category i: the predictive values
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas import domain
from veracity.formulas.rules import ScoringRule, rule
from veracity.types import Array

_LOG = rule("log")


def prior(n: ArrayLike) -> Array:
    """Share of each outcome, Pr(o_j) = Σ_i n_ij / N.

    >>> prior([[83, 56], [2, 12]]).round(3)
    array([0.556, 0.444])
    """
    n = domain.table(n)
    return np.asarray(n.sum(0) / n.sum())


def category_shares(n: ArrayLike) -> Array:
    """Share of cases in each forecast category, Pr(f_i)."""
    n = domain.table(n)
    return np.asarray(n.sum(1) / n.sum())


def predictive_values(n: ArrayLike) -> Array:
    """Share of each outcome after each forecast, Pr(o_j | f_i) (HB17 Table 1).

    >>> predictive_values([[83, 56], [2, 12]])[:, 1].round(3)
    array([0.403, 0.857])
    """
    n = domain.table(n)
    return np.asarray(n / n.sum(1, keepdims=True))


def likelihoods(n: ArrayLike) -> Array:
    """Share of each forecast before each outcome, Pr(f_i | o_j)."""
    n = domain.table(n)
    return np.asarray(n / n.sum(0))


def sensitivity(n: ArrayLike) -> Array:
    """Share of events that were forecast in a category or a worse one, for every cut below a category but the best.

    One number, Pr(f_2 | o_2), for two categories.
    """
    return likelihoods(n)[::-1, -1].cumsum()[::-1][1:]


def specificity(n: ArrayLike) -> Array:
    """Share of non-events that were forecast in a better category, for every cut; Pr(f_1 | o_1) for two categories."""
    return likelihoods(n)[:-1, 0].cumsum()


def likelihood_ratios(n: ArrayLike) -> Array:
    """Factor on the odds of the event by each forecast, Pr(f_i | o_2) / Pr(f_i | o_1); two outcomes."""
    no_event, event = likelihoods(n).T
    with np.errstate(divide="ignore"):
        return np.asarray(event / no_event)


def shares_from_rates(sensitivity: float, specificity: float, prior: float) -> Array:
    """The 2 × 2 table of shares that has these rates, by Bayes' rule.

    >>> predictive_values(shares_from_rates(0.833, 0.844, 0.36))[1, 1].round(2)  # Madden 2006, quoted by HB17
    np.float64(0.75)
    """
    event, no_event = prior, 1.0 - prior
    return np.array(
        [
            [no_event * specificity, event * (1.0 - sensitivity)],
            [no_event * (1.0 - specificity), event * sensitivity],
        ]
    )


def posterior(likelihoods: ArrayLike, prior: ArrayLike) -> Array:
    """Predictive values at another prior, Pr(o_j | f_i) ∝ Pr(f_i | o_j) Pr(o_j); NaN where a forecast is impossible.

    prior has the outcomes on its last axis; its other axes come first in the result.
    """
    joint = np.asarray(likelihoods, float) * np.asarray(prior, float)[..., None, :]
    total = joint.sum(-1, keepdims=True)
    return np.asarray(np.divide(joint, total, out=np.full_like(joint, np.nan), where=total > 0))


def psep(d: ArrayLike) -> float:
    """Separation of worst and best category, Pr(o_K | f_worst) − Pr(o_K | f_best), in [−1, 1] (HB17 eq 5).

    >>> round(psep(predictive_values([[83, 56], [2, 12]])), 3)
    0.454
    """
    d = np.asarray(d, float)
    return float(d[-1, -1] - d[0, -1])


def entropy(n: ArrayLike) -> float:
    """H(o), in nats (HB17 eq 11)."""
    return float(_LOG.entropy(prior(n)))


def conditional_entropies(n: ArrayLike) -> Array:
    """H(o | f_i), one per category (HB17 eq 12)."""
    return np.asarray(_LOG.entropy(predictive_values(n)))


def conditional_entropy(n: ArrayLike) -> float:
    """H(o | f) = Σ Pr(f_i) H(o | f_i), Theil's information inaccuracy (HB17 eq 13; its printed minus is spurious)."""
    return float(category_shares(n) @ conditional_entropies(n))


def mutual_information(n: ArrayLike) -> float:
    """I(o, f) = Σ Pr(o_j ∩ f_i) ln[Pr(o_j ∩ f_i) / (Pr(o_j) Pr(f_i))] (HB17 eq 10).

    >>> round(mutual_information([[64, 7], [2, 27]]), 3)
    0.34
    """
    n = domain.table(n)
    joint = n / n.sum()
    ratio = np.divide(joint, np.outer(joint.sum(1), joint.sum(0)), out=np.ones_like(joint), where=joint > 0)
    return float((joint * np.log(ratio)).sum())


def normalized_mutual_information(n: ArrayLike) -> float:
    """I(o, f) / H(o) (HB17 eq 15), equal to McFadden's R²."""
    return mutual_information(n) / entropy(n)


def g2(n: ArrayLike) -> float:
    """Likelihood-ratio chi-square 2 Σ n ln(n/e), e = expected without association; equals 2 N I(o, f).

    >>> round(g2([[64, 7], [2, 27]]), 3)
    67.931
    """
    n = domain.table(n)
    ratio = np.divide(n, expected(n), out=np.ones_like(n), where=n > 0)
    return float(2.0 * (n * np.log(ratio)).sum())


def expected(n: ArrayLike) -> Array:
    """Counts expected without association: row sum × column sum / N."""
    n = domain.table(n)
    return np.asarray(np.outer(n.sum(1), n.sum(0)) / n.sum())


def x2(n: ArrayLike) -> float:
    """Pearson's chi-square Σ (n − e)² / e."""
    n, e = domain.table(n), expected(n)
    return float(((n - e) ** 2 / e).sum())


def degrees_of_freedom(n: ArrayLike) -> int:
    """(categories − 1)(outcomes − 1)."""
    n = domain.table(n)
    return int((n.shape[0] - 1) * (n.shape[1] - 1))


def log_likelihoods(n: ArrayLike) -> tuple[float, float]:
    """Log-likelihoods of the saturated logistic model (category as a factor) and of the prior alone."""
    n = domain.table(n)

    def log_likelihood(p: Array) -> float:
        return float((n * np.log(p, out=np.zeros_like(n), where=n > 0)).sum())

    return log_likelihood(predictive_values(n)), log_likelihood(np.broadcast_to(prior(n), n.shape))


def mcfadden_r2(n: ArrayLike) -> float:
    """1 − ln L / ln L₀ of the saturated model (McFadden 1974)."""
    model, null = log_likelihoods(n)
    return 1.0 - model / null


def saturated_logit(n: ArrayLike) -> tuple[Array, Array]:
    """Coefficients (k, K−1) of the saturated logistic model against the first outcome, and their standard errors.

    Row 0 is the intercept b₀, the log odds in the best category; row i is b_i, the effect of category i. Empty cells
    give infinite coefficients with infinite standard errors.

    >>> saturated_logit([[64, 7], [2, 27]])[0].ravel().round(3)
    array([-2.213,  4.816])
    """
    n = domain.table(n)
    with np.errstate(divide="ignore", invalid="ignore"):  # empty cells: ±inf, and inf − inf is not identified
        odds = np.log(n[:, 1:]) - np.log(n[:, :1])
        variance = 1.0 / n[:, 1:] + 1.0 / n[:, :1]
        b = np.vstack([odds[:1], odds[1:] - odds[:1]])
    return b, np.sqrt(np.vstack([variance[:1], variance[1:] + variance[:1]]))


def cell_divergences(f: ArrayLike, rule: ScoringRule) -> Array:
    """D_B(o_j ‖ f_i): the score of category i for outcome j (HB17 eq 3)."""
    f = np.asarray(f, float)
    return np.asarray(rule.divergence(f[:, None, :], np.eye(f.shape[1])))


def score(n: ArrayLike, f: ArrayLike, rule: ScoringRule) -> float:
    """Mean score (1/N) Σ n_ij D_B(o_j ‖ f_i) (HB17 eqs 1, 2, 4).

    >>> scenario_a = [[83, 56], [2, 12]]
    >>> round(score(scenario_a, predictive_values(scenario_a), rule("log")), 3)
    0.65
    """
    n = domain.table(n)
    cells = cell_divergences(f, rule)
    return float(np.multiply(n, cells, out=np.zeros_like(n), where=n > 0).sum() / n.sum())


def uncertainty(n: ArrayLike, rule: ScoringRule) -> float:
    """UNC: the score of always forecasting the prior (HB17 eq 7)."""
    return float(rule.entropy(prior(n)))


def resolutions(n: ArrayLike, rule: ScoringRule) -> Array:
    """RES_i = D_B(d_i ‖ d̄), one per category (HB17 eq 7); RES is their mean over cases (eq 8)."""
    return np.asarray(rule.divergence(prior(n), predictive_values(n)))


def reliabilities(n: ArrayLike, f: ArrayLike, rule: ScoringRule) -> Array:
    """REL_i = D_B(d_i ‖ f_i), one per category (HB17 eq 7); REL is their mean over cases (eq 9)."""
    return np.asarray(rule.divergence(np.asarray(f, float), predictive_values(n)))


def curve(p: ArrayLike, rule: ScoringRule) -> Array:
    """Height of the convex curve g of the tangent diagrams at the event's probability p (HB17 Figs 1–4).

    g is the negative entropy; for the half Brier score HB17 draws p² instead, which differs by the straight line p
    and so has the same divergences.
    """
    p = np.asarray(p, float)
    return -np.asarray(rule.entropy(np.stack([1.0 - p, p], -1))) + _tilt(rule) * p


def tangents(p: ArrayLike, rule: ScoringRule) -> tuple[Array, Array, Array]:
    """Slope, height at 0 and height at 1 of the tangent to `curve` at p.

    The height falls short of the curve at 0 and 1 by the scores of the two outcomes (HB17 eq 3).

    >>> [round(float(t), 3) for t in tangents(6 / 7, rule("half_brier"))]
    [1.714, -0.735, 0.98]
    """
    p = np.asarray(p, float)
    f = np.stack([1.0 - p, p], -1)
    at_0 = 0.0 - np.asarray(rule.divergence(f, np.array([1.0, 0.0])))
    at_1 = _tilt(rule) - np.asarray(rule.divergence(f, np.array([0.0, 1.0])))
    return at_1 - at_0, at_0, at_1


def _tilt(rule: ScoringRule) -> float:
    return 1.0 if rule.name == "half_brier" else 0.0


def chi_square_tail(x: float, df: int) -> float:
    """Pr(χ²_df ≥ x); 1 without degrees of freedom.

    >>> round(chi_square_tail(3.841459, 1), 6)
    0.05
    """
    from scipy.special import chdtrc

    return float(chdtrc(df, x)) if df else 1.0


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
