"""RP: entropy, perplexity and probability scales; risk profile. One test per equation that means.py covers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from veracity.formulas import means
from veracity.formulas.coupled import conjugate_risk, risk_log
from veracity.formulas.means import generalized_mean
from veracity.formulas.rules import power, rule

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.1, 0.3])


def test_eq_2_1_average_probability_perplexity_and_entropy():
    entropy, perplexity, probability = means.scales(means.entropy(P))
    assert probability == pytest.approx(np.prod(P**P), rel=1e-14)
    assert probability == pytest.approx(1 / perplexity, rel=1e-14)
    assert probability == pytest.approx(generalized_mean(P, 0, weights=P), rel=1e-14)
    assert entropy == pytest.approx(-np.sum(P * np.log(P)), rel=1e-14)


def test_section_2_uniform_distribution_has_perplexity_n():
    assert means.scales(means.entropy(np.full(7, 1 / 7))).perplexity == pytest.approx(7.0, rel=1e-14)


def average_density(density, low, high):
    """Eq 2.2: exp ∫ f ln f."""
    return np.exp(quad(lambda x: density(x) * np.log(density(x)), low, high, epsabs=1e-12)[0])


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_eqs_2_2_and_2_3_exponential_averages_to_its_density_at_mu_plus_sigma(sigma):
    def f(x):
        return np.exp(-(x - 2) / sigma) / sigma

    assert means.average_density_exponential(sigma) == pytest.approx(f(2 + sigma), rel=1e-14)
    assert means.average_density_exponential(sigma) == pytest.approx(1 / (sigma * np.e), rel=1e-14)
    assert average_density(f, 2, 2 + 60 * sigma) == pytest.approx(f(2 + sigma), rel=1e-9)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_eqs_2_2_and_2_4_gaussian_averages_to_its_density_at_mu_plus_sigma(sigma):
    # The paper prints σ under the root and x instead of μ + σ.
    def f(x):
        return np.exp(-(((x - 2) / sigma) ** 2) / 2) / (np.sqrt(2 * np.pi) * sigma)

    assert means.average_density_gaussian(sigma) == pytest.approx(f(2 + sigma), rel=1e-14)
    assert average_density(f, 2 - 12 * sigma, 2 + 12 * sigma) == pytest.approx(f(2 + sigma), rel=1e-9)


def test_figure_1_standard_normal():
    density = means.average_density_gaussian(1.0)
    assert density == pytest.approx(0.241970724519, abs=5e-13)
    assert means.scales(-np.log(density)).perplexity == pytest.approx(np.sqrt(2 * np.pi * np.e), rel=1e-14)


def test_eq_2_5_probabilities_multiply():
    parts = {h.__name__: means.scales(h(Q, P)) for h in (means.cross_entropy, means.divergence)}
    entropy = means.scales(means.entropy(P)).probability
    assert parts["cross_entropy"].probability == pytest.approx(entropy * parts["divergence"].probability, rel=1e-14)


TABLE_1 = {
    "entropy": (lambda: means.entropy(P), P),
    "divergence": (lambda: means.divergence(Q, P), Q / P),
    "cross-entropy": (lambda: means.cross_entropy(Q, P), Q),
}


@pytest.mark.parametrize("name", TABLE_1)
def test_table_1_three_scales(name):
    nats, ratio = TABLE_1[name][0](), TABLE_1[name][1]
    entropy, perplexity, probability = means.scales(nats)
    assert entropy == pytest.approx(-np.sum(P * np.log(ratio)), rel=1e-14)
    assert perplexity == pytest.approx(np.prod(ratio**-P), rel=1e-14)
    assert probability == pytest.approx(np.prod(ratio**P), rel=1e-14)


def test_table_1_holds_with_zero_probabilities():
    one = [1.0, 0.0]
    assert means.entropy(one) == 0.0
    assert means.cross_entropy(one, one) == 0.0
    excluded = means.scales(means.cross_entropy(one, [0.5, 0.5]))
    assert (excluded.entropy, excluded.perplexity, excluded.probability) == (np.inf, np.inf, 0.0)
    assert means.scales(means.divergence(one, [0.5, 0.5])).probability == 0.0


def test_table_1_is_the_log_rule():
    assert means.divergence(Q, P) == pytest.approx(rule("log").divergence(Q, P), rel=1e-14)
    assert means.entropy(P) == pytest.approx(rule("log").entropy(P), rel=1e-14)


def test_eq_2_6_spread_of_the_log_probabilities():
    direct = np.sqrt(np.sum(P * np.log(P) ** 2) - np.sum(P * np.log(P)) ** 2)
    assert means.log_spread(P, P) == pytest.approx(direct, rel=1e-13)


@pytest.mark.parametrize("r", [-2.0, -2 / 3, -0.1, 0.5, 1.0, 2.0])
def test_eq_2_6_second_use_weighted_generalized_mean(r):
    # The printed definition lacks the exponent 1/r.
    w = np.array([0.2, 0.5, 0.3])
    assert generalized_mean(P, r, w) == pytest.approx(np.sum(w * P**r) ** (1 / r), rel=1e-13)
    assert generalized_mean(P, 0.0, w) == pytest.approx(np.prod(P**w), rel=1e-14)


@pytest.mark.parametrize("r", [-2.0, -2 / 3, 0.5, 1.0, 2.0])
def test_eq_2_8_escort_weights_reverse_the_sign_of_r(r):
    escort = P ** (1 - r) / np.sum(P ** (1 - r))
    assert generalized_mean(P, r, escort) == pytest.approx(np.sum(P ** (1 - r)) ** (-1 / r), rel=1e-13)
    assert generalized_mean(P, r, escort) == pytest.approx(generalized_mean(P, -r, P), rel=1e-13)


FORECASTS = np.array([0.9, 0.5, 0.25, 0.7])


def test_eq_3_1_average_surprisal_is_the_log_score():
    assert means.mean_surprisal(FORECASTS, 0.0) == pytest.approx(-np.mean(np.log(FORECASTS)), rel=1e-14)
    rows = np.column_stack([1 - FORECASTS, FORECASTS])
    assert means.mean_surprisal(FORECASTS, 0.0) == pytest.approx(rule("log").score(rows, 1).mean(), rel=1e-14)


@pytest.mark.parametrize("r", [-0.9, -2 / 3, 0.5, 1.0, 2.0])
def test_eq_3_2_generalized_surprisal(r):
    # The last member of the printed equation lacks 1/N.
    direct = -(1 + r) / r * (FORECASTS**r - 1)
    np.testing.assert_allclose(means.generalized_surprisal(FORECASTS, r), direct, rtol=1e-13)
    assert means.mean_surprisal(FORECASTS, r) == pytest.approx(direct.mean(), rel=1e-13)
    assert means.generalized_surprisal(1.0, r) == 0.0


@pytest.mark.parametrize("r", [-0.9, -2 / 3, 0.0, 0.5, 1.0, 2.0])
def test_eq_3_3_relative_risk_sensitivity_of_the_generalized_logarithm_is_r(r):
    p = np.array([0.1, 0.5, 0.9])
    first, second = (1 + r) * p ** (r - 1), (1 + r) * (r - 1) * p ** (r - 2)
    np.testing.assert_allclose(means.relative_risk_sensitivity(p, first, second), r, atol=1e-14)
    h = 1e-4  # the derivatives above are those of ln_r, to the h² of central differences
    np.testing.assert_allclose((risk_log(p + h, r) - risk_log(p - h, r)) / (2 * h), first, rtol=1e-4)


@pytest.mark.parametrize("r", [-0.9, -2 / 3, 0.0, 1e-9, 0.5, 2.0])
def test_eq_3_4_generalized_exponential_undoes_the_surprisal(r):
    p = np.array([1e-6, 0.2, 1.0])
    back = means.probability_of_surprisal(means.generalized_surprisal(p, r), r)
    # p is recovered from p^r − 1, which holds p to 2⁻⁵³/p^r only
    np.testing.assert_allclose(back, p, rtol=1e-14 / min(1.0, 1e-6 ** max(r, 0.0)))
    assert means.probability_of_surprisal(1e9, 0.5) == 0.0  # (·)₊


@pytest.mark.parametrize("r", [-0.9, -2 / 3, 0.0, 0.5, 1.0, 2.0])
def test_eq_3_5_score_returns_to_the_generalized_mean(r):
    w = np.array([1.0, 3.0, 0.0, 2.0])
    score = means.mean_surprisal(FORECASTS, r, w)
    back = means.probability_of_surprisal(score, r)
    assert back == pytest.approx(generalized_mean(FORECASTS, r, w), rel=1e-12)


def test_section_4_three_points_of_the_risk_profile():
    assert means.decisiveness(FORECASTS) == pytest.approx(FORECASTS.mean(), rel=1e-14)
    assert means.geometric_accuracy(FORECASTS) == pytest.approx(np.exp(np.log(FORECASTS).mean()), rel=1e-14)
    assert means.robustness(FORECASTS) == pytest.approx(np.mean(FORECASTS ** (-2 / 3)) ** -1.5, rel=1e-14)


def test_section_4_surprisal_at_r_1_becomes_the_brier_score_with_the_non_events():
    rows = np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]])
    y = np.array([2, 0])
    local = means.generalized_surprisal(rows[[0, 1], y], 1.0)
    np.testing.assert_allclose(local - power(1).entropy(rows), ((rows - np.eye(3)[y]) ** 2).sum(-1), rtol=1e-14)


def test_appendix_robustness_is_the_conjugate_of_decisiveness():
    assert conjugate_risk(1.0) == pytest.approx(means.ROBUST, rel=1e-15)
    assert conjugate_risk(conjugate_risk(0.3)) == pytest.approx(0.3, rel=1e-14)


def test_best_report_under_the_robust_mean_has_odds_to_the_power_three_fifths():
    """Robustness is a diagnostic, not a score: maximising it moves the report away from the truth."""
    truth = 0.8
    grid = np.linspace(0.001, 0.999, 99_801)
    best = grid[np.argmax(truth * grid**means.ROBUST * -1 - (1 - truth) * (1 - grid) ** means.ROBUST)]
    assert best / (1 - best) == pytest.approx((truth / (1 - truth)) ** 0.6, abs=1e-3)
