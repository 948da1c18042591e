"""N17: averages on the probability scale. One test per numbered equation and quoted number that means.py covers."""

from __future__ import annotations

import numpy as np
import pytest

from veracity.formulas import means
from veracity.formulas.coupled import conjugate_risk
from veracity.formulas.means import generalized_mean

P = np.array([0.9, 0.5, 0.25, 0.7])
W = np.array([1.0, 2.0, 3.0, 2.0])
SOURCE, MODEL = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.1, 0.3])


def test_eq_1_average_is_the_weighted_geometric_mean():
    w = W / W.sum()
    assert means.geometric_accuracy(P, W) == pytest.approx(np.exp(w @ np.log(P)), rel=1e-14)
    assert means.geometric_accuracy(P, W) == pytest.approx(np.prod(P**w), rel=1e-14)


def test_eq_2_average_forecast_of_the_outcomes():
    assert means.geometric_accuracy(P) == pytest.approx(np.prod(P ** (1 / 4)), rel=1e-14)


def test_eqs_4_and_5_average_is_the_root_of_the_product():
    assert means.geometric_accuracy(P) == pytest.approx((0.9 * 0.5 * 0.25 * 0.7) ** (1 / 4), rel=1e-14)


def test_eq_6_cross_entropy_is_entropy_plus_divergence():
    both = means.entropy(SOURCE) + means.divergence(MODEL, SOURCE)
    assert means.cross_entropy(MODEL, SOURCE) == pytest.approx(both, rel=1e-14)
    assert means.cross_entropy(MODEL, SOURCE) == pytest.approx(-np.sum(SOURCE * np.log(MODEL)), rel=1e-14)


def test_eq_7_on_the_probability_scale_they_multiply():
    on_scale = [means.scales(h(MODEL, SOURCE)).probability for h in (means.cross_entropy, means.divergence)]
    entropy = means.scales(means.entropy(SOURCE)).probability
    assert on_scale[0] == pytest.approx(entropy * on_scale[1], rel=1e-14)
    assert on_scale[0] == pytest.approx(np.prod(MODEL**SOURCE), rel=1e-14)


def test_eq_8_divergence_probability():
    divergence = means.scales(means.divergence(MODEL, SOURCE)).probability
    assert divergence == pytest.approx(np.prod((MODEL / SOURCE) ** SOURCE), rel=1e-14)
    assert divergence < 1.0
    assert means.scales(means.divergence(SOURCE, SOURCE)).probability == 1.0


def test_eq_9_model_is_source_times_divergence():
    source = np.array([0.8, 0.6, 0.3, 0.7])
    assert means.geometric_accuracy(P) == pytest.approx(
        means.geometric_accuracy(source) * generalized_mean(P / source, 0), rel=1e-14
    )


def test_eq_10_spread_of_the_log_probabilities():
    # The paper prints the square and the root in the wrong places.
    log = np.log(P)
    right = np.sqrt(np.mean(log**2) - np.mean(log) ** 2)
    assert means.log_spread(P) == pytest.approx(right, rel=1e-13)
    # Its objection holds with this correction: mean plus one spread can exceed certainty.
    p = np.array([1.0, 1.0, 1.0, 0.05])
    assert means.geometric_accuracy(p) * np.exp(means.log_spread(p)) > 1.0
    assert means.log_spread([0.5, 0.0]) == np.inf
    assert means.log_spread([0.5, 0.0, 0.5], [1, 0, 1]) == 0.0


def test_eq_11_dual_of_the_arithmetic_mean():
    # With the printed sign, m = +2κ/(1 + dκ), the dual of 1 is −2; −2/3 needs r = −2κ/(1 + dκ).
    kappa = 1.0  # m = 2κ/(1 + κ) = 1
    dual = -kappa / (1 + kappa)
    assert 2 * dual / (1 + dual) == pytest.approx(-2.0)
    assert conjugate_risk(1.0) == pytest.approx(-2 / 3, rel=1e-15)


@pytest.mark.parametrize("m", [-2.0, -2 / 3, 0.5, 1.0, 3.0])
def test_eqs_12_and_13_renyi_entropy_returns_the_generalized_mean(m):
    # The paper prints −Σ (1/m) ln(w p^m); the sum belongs inside the logarithm.
    w = W / W.sum()
    renyi = -np.log(np.sum(w * P**m)) / m
    assert generalized_mean(P, m, W) == pytest.approx(np.exp(-renyi), rel=1e-13)


def test_section_3_one_report_of_zero_makes_accuracy_and_robustness_zero():
    p = np.append(P, 0.0)
    assert means.geometric_accuracy(p) == 0.0
    assert means.robustness(p) == 0.0
    assert means.decisiveness(p) > 0.0


def posterior(x: np.ndarray, kappa: float) -> np.ndarray:
    """Probability of the class at 0 against the class at 2, coupled Gaussians of scale 1."""

    def log_density(z: np.ndarray) -> np.ndarray:
        return -(z**2) / 2 if kappa == 0 else -(1 / kappa + 1) / 2 * np.log1p(kappa * z**2)

    return (1 - np.tanh((log_density(x - 2) - log_density(x)) / 2)) / 2


def quantiles(low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """x of the class at 0 (κ = 1/2: Student t, two degrees of freedom), equally likely."""
    u = low + (high - low) * (np.arange(200_000) + 0.5) / 200_000
    t = 2 * u - 1
    return t * np.sqrt(2 / (1 - t**2))


def three(p: np.ndarray) -> list[float]:
    return [float(generalized_mean(p, r)) for r in (1.0, 0.0, -2 / 3)]


def test_figures_2_and_3_matched_model():
    x = quantiles()
    # exact population values; the far tail costs the quadrature the last digits
    assert three(posterior(x, 0.5)) == pytest.approx([0.687288, 0.614452, 0.541814], abs=5e-7)


def test_figure_6c_gaussian_model_of_a_heavy_tail_is_over_confident():
    x = quantiles()
    model = np.clip(posterior(x, 0.0), 0.01, 0.99)  # q_lim = 0.01 on both sides
    assert three(model) == pytest.approx([0.734392, 0.546804, 0.255884], abs=2e-6)
    slope = (three(model)[0] - three(model)[2]) / (0.687288 - 0.541814)
    assert slope == pytest.approx(3.289, abs=5e-4)


def test_figure_7_model_source_and_divergence_probability():
    """Quoted 0.56, 0.62 and 0.90. They need x restricted to the plotted range −7…9 (mirrored: class at 2)."""

    def cdf(x: float) -> float:
        return 0.5 + x / (2 * np.sqrt(2 + x * x))

    x = quantiles(cdf(-7.0), cdf(9.0))
    model = means.geometric_accuracy(np.clip(posterior(x, 0.0), 0.01, 0.99))
    source = means.geometric_accuracy(posterior(x, 0.5))
    assert model == pytest.approx(0.56, abs=0.005)
    assert source == pytest.approx(0.62, abs=0.005)
    assert model / source == pytest.approx(0.90, abs=0.005)
    assert [model, source, model / source] == pytest.approx([0.557110, 0.616183, 0.904130], abs=2e-6)
