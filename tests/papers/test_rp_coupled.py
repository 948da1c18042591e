"""RP (Reduced perplexity): the coupled algebra and distributions, one test per equation, figure and quoted number."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from veracity.formulas import coupled
from veracity.formulas.distributions import CoupledExponential, CoupledNormal

P = np.array([0.5, 0.3, 0.15, 0.05])
HEAVY_AND_COMPACT = (-0.3, -0.1, 0.2, 0.5, 1.5)


def integral(function, distribution):
    """Over the support, with infinite ends mapped by quad."""
    low, high = distribution.support()
    points = {"limit": 400, "epsabs": 0.0, "epsrel": 1e-12}
    middle = float(distribution.median())
    return sum(integrate.quad(function, a, b, **points)[0] for a, b in ((low, middle), (middle, high)) if a < b)


def test_eq_2_3_exponential_average_density():
    f = CoupledExponential(loc=2.0, scale=3.0)
    by_quadrature = math.exp(integral(lambda x: f.pdf(x) * f.logpdf(x) if f.pdf(x) > 0 else 0.0, f))
    assert by_quadrature == pytest.approx(1 / (3 * math.e), rel=1e-10)
    assert f.generalized_mean() == pytest.approx(f.pdf(5.0), rel=1e-15)


def test_eq_2_4_gaussian_average_density():
    # The printed sqrt(2 pi sigma) is sqrt(2 pi) sigma; the value is the density at mu + sigma.
    f = CoupledNormal(loc=2.0, scale=3.0)
    expected = 1 / (math.sqrt(2 * math.pi * math.e) * 3)
    by_quadrature = math.exp(integral(lambda x: f.pdf(x) * f.logpdf(x) if f.pdf(x) > 0 else 0.0, f))
    assert by_quadrature == pytest.approx(expected, rel=1e-10)
    assert f.generalized_mean() == pytest.approx(expected, rel=1e-14)
    assert f.pdf(5.0) == pytest.approx(expected, rel=1e-14)


def test_fig_1_standard_normal_numbers():
    f = CoupledNormal()
    assert f.entropy() == pytest.approx(0.5 * math.log(2 * math.pi * math.e), abs=1e-14)
    assert f.generalized_mean() == pytest.approx(0.2419707245, abs=5e-11)  # density at 1
    assert 1 / f.generalized_mean() == pytest.approx(math.exp(f.entropy()), rel=1e-14)


@pytest.mark.parametrize("r", [-0.9, -2 / 3, -1e-7, 0.0, 1e-7, 0.5, 1.0, 2.5])
def test_eq_2_7_escort_and_eq_2_8_identity(r):
    escort = coupled.coupled_probabilities(P, r)
    np.testing.assert_allclose(escort, P ** (1 - r) / (P ** (1 - r)).sum(), rtol=1e-14)
    if r == 0:
        return
    matched = coupled.average_probability(P, r)
    if abs(r) > 1e-6:  # the printed sums cancel for smaller r
        assert (escort @ P**r) ** (1 / r) == pytest.approx(matched, rel=1e-12)
        assert (P @ P**-r) ** (-1 / r) == pytest.approx(matched, rel=1e-12)


@pytest.mark.parametrize("r_d", [-2 / 3, -0.15, 0.0, 0.6, 1.0])
def test_eq_2_8_coupled_gaussian_by_risk(r_d):
    f = CoupledNormal(0.0, 1.5, coupled.coupling_from_risk(r_d))
    x = np.linspace(-4, 4, 41)
    inner = np.maximum(1 - r_d / (2 + r_d) * (x / 1.5) ** 2, 0.0)
    shape = inner ** (1 / r_d) if r_d else np.exp(-((x / 1.5) ** 2) / 2)
    np.testing.assert_allclose(f.pdf(x) * f.normaliser, shape, rtol=1e-12, atol=1e-300)
    assert integral(f.pdf, f) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("kappa", HEAVY_AND_COMPACT)
def test_eq_2_9_generalized_mean_is_density_at_mean_plus_scale(kappa):
    f = CoupledNormal(1.0, 2.0, kappa)
    r = f.risk
    by_quadrature = integral(lambda x: float(f.pdf(x)) ** (1 - r), f) ** (-1 / r)
    assert by_quadrature == pytest.approx(f.pdf(3.0), rel=1e-8)  # quadrature of the heavy tail
    assert f.generalized_mean() == pytest.approx(f.pdf(3.0), rel=1e-14)


@pytest.mark.parametrize("kappa", [-0.2, -0.05, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("d", [2, 3, 4])
def test_eq_2_9_in_d_dimensions_the_density_at_squared_distance_d(kappa, d):
    f = CoupledNormal(np.zeros(d), np.eye(d), kappa)
    at = np.zeros(d)
    at[0] = math.sqrt(d)
    r = f.risk
    if r:  # integrate over the radius: surface of the sphere times density
        surface = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
        reach = 1 / math.sqrt(-kappa) if kappa < 0 else math.inf
        shell = lambda u: surface * u ** (d - 1) * float(f.pdf(u * at / math.sqrt(d))) ** (1 - r)  # noqa: E731
        total = integrate.quad(shell, 0, reach, limit=400, epsabs=0.0, epsrel=1e-11)[0]
        assert total ** (-1 / r) == pytest.approx(f.pdf(at), rel=1e-8)
    assert f.generalized_mean() == pytest.approx(f.pdf(at), rel=1e-13)


@pytest.mark.parametrize("kappa", [-0.3, 0.5])
def test_escort_second_moment_is_sigma_squared(kappa):
    f = CoupledNormal(0.0, 2.0, kappa)
    escort = lambda x: float(f.pdf(x)) ** (1 - f.risk)  # noqa: E731
    second = integral(lambda x: x**2 * escort(x), f) / integral(escort, f)
    assert second == pytest.approx(4.0, rel=1e-7)


def test_eq_2_9_coupled_exponential_needs_the_escort_weight():
    # As printed (weight f) the result is 0.125; with the escort density it is exp_r(-1) = 0.296296, not 1/exp_r(1).
    f = CoupledExponential(0.0, 1.0, 0.5)
    r = f.risk
    assert r == pytest.approx(-1 / 3)
    printed = integral(lambda x: f.pdf(x) * coupled.risk_log(f.pdf(x), r), f)
    assert coupled.risk_exp(printed, r) == pytest.approx(0.125, abs=1e-7)
    total = integral(lambda x: f.pdf(x) ** (1 - r), f)
    escorted = integral(lambda x: f.pdf(x) ** (1 - r) / total * coupled.risk_log(f.pdf(x), r), f)
    assert coupled.risk_exp(escorted, r) == pytest.approx(8 / 27, abs=1e-8)
    assert coupled.risk_exp(-1.0, r) == pytest.approx(8 / 27, abs=1e-15)
    assert 1 / coupled.risk_exp(1.0, r) == pytest.approx(0.125, abs=1e-15)
    assert f.generalized_mean() == pytest.approx(8 / 27, abs=1e-15)


def test_eq_2_9_gaussian_form():
    # exp_r(-x^2/(2 s^2)) of (3.4) is not the density (2.8); (exp_kappa(x^2/s^2))^(-1/2) is. Values at x = sigma.
    r, kappa = -2 / 3, 0.5
    f = CoupledNormal(0.0, 1.0, kappa)
    right = coupled.coupled_exp(1.0, kappa, alpha=2) ** -1
    assert f.generalized_mean() == pytest.approx(right / f.normaliser, rel=1e-14)
    assert f.pdf(1.0) == pytest.approx(0.19245009, abs=5e-9)
    assert right == pytest.approx(1.5**-1.5, rel=1e-14)
    assert 0.5 * coupled.risk_exp(-0.5, r) / math.sqrt(2) == pytest.approx(0.125, abs=1e-12)
    assert coupled.risk_exp(-0.5, r) != pytest.approx(right, abs=0.1)


def test_eq_2_9_gaussian_form_in_numbers():
    """r = −2/3, σ² = 1/2 (so that the normaliser is 2): 0.272166 at σ; the printed form would give 0.176777."""
    f = CoupledNormal(0.0, math.sqrt(0.5), 0.5)
    assert f.normaliser == pytest.approx(2.0, abs=1e-14)
    assert f.pdf(math.sqrt(0.5)) == pytest.approx(0.272166, abs=5e-7)
    assert coupled.risk_exp(-0.5, -2 / 3) / f.normaliser == pytest.approx(0.176777, abs=5e-7)


@pytest.mark.parametrize(("kappa", "d"), [(0.2, 1), (0.3, 3), (-0.1, 1), (-0.2, 3)])
def test_the_scale_is_no_covariance(kappa, d):
    """The covariance is the scale divided by 1 − 2κ, for both tails: by quadrature over the radius."""
    f = CoupledNormal(np.zeros(d), np.eye(d), kappa) if d > 1 else CoupledNormal(0.0, 1.0, kappa)
    surface = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
    reach = 1 / math.sqrt(-kappa) if kappa < 0 else math.inf
    at = np.eye(d)[0] if d > 1 else 1.0

    def shell(u: float) -> float:
        return surface * u ** (d + 1) * float(f.pdf(u * at)) / d

    second = integrate.quad(shell, 0, reach, limit=400, epsabs=0.0, epsrel=1e-11)[0]
    assert second == pytest.approx(1 / (1 - 2 * kappa), rel=1e-7)


def test_fig_2_distributions_and_means():
    # (r_D, mean): mean = r_D - sigma, so that the mean at r_D meets the density at mean + sigma.
    for r_d, mean in ((0.0, -1.0), (-2 / 3, -5 / 3), (1.0, 0.0)):
        f = CoupledNormal(mean, 1.0, coupled.coupling_from_risk(r_d))
        assert f.generalized_mean() == pytest.approx(f.pdf(r_d), rel=1e-14)
        left, right = f.generalized_mean(r_d + 0.2), f.generalized_mean(r_d - 0.2)
        assert left < f.generalized_mean() < right  # increases with -r


@pytest.mark.parametrize("r", [-0.9, -2 / 3, -1e-9, 0.0, 1e-9, 0.5, 1.0, 3.0])
def test_eq_3_2_logarithm_and_eq_3_4_its_inverse(r):
    x = np.array([0.1, 0.3, 0.8, 1.0])  # smaller x lose digits in x^r - 1 for r > 0
    expected = (1 + r) / r * (x**r - 1) if abs(r) > 1e-6 else np.log(x)
    np.testing.assert_allclose(coupled.risk_log(x, r), expected, rtol=1e-7 if 0 < abs(r) < 1e-6 else 1e-12)
    np.testing.assert_allclose(coupled.risk_exp(coupled.risk_log(x, r), r), x, rtol=1e-12)
    np.testing.assert_allclose(
        coupled.risk_log(x, r), -coupled.coupled_log(1 / x, -r / (1 + r)), rtol=1e-12, atol=1e-15
    )


def test_eq_3_4_exponential_is_zero_beyond_its_support():
    assert coupled.risk_exp(-2.0, 1.0) == 0.0
    assert coupled.risk_exp(-2.5, 1.0) == 0.0


@pytest.mark.parametrize("r", [-0.5, 0.0, 0.5, 2.0])
def test_eq_3_3_relative_risk_sensitivity(r):
    p, h = 0.4, 1e-4
    down, here, up = (float(coupled.risk_log(p + s, r)) for s in (-h, 0.0, h))
    first, second = (up - down) / (2 * h), (up - 2 * here + down) / h**2
    assert 1 + p * second / first == pytest.approx(r, abs=1e-5)  # finite differences


@pytest.mark.parametrize("r", [-2 / 3, 0.0, 1.0])
def test_eq_3_5_score_back_to_the_mean(r):
    p = np.array([0.1, 0.4, 0.9, 0.95])
    mean = np.mean(p**r) ** (1 / r) if r else math.exp(np.log(p).mean())
    assert coupled.risk_exp(coupled.risk_log(p, r).mean(), r) == pytest.approx(mean, rel=1e-14)


def test_eq_3_6_coefficient_depends_on_dimension():
    # Printed r/(2 + r); correct r/(2 + d r). The coefficient of Q is -kappa.
    assert -coupled.coupling_from_risk(-0.15, d=10) == pytest.approx(-0.3, abs=1e-12)
    assert -coupled.coupling_from_risk(-0.15, d=1) == pytest.approx(-0.0811, abs=5e-5)


def test_conjugates_of_the_appendix():
    assert coupled.coupling_from_risk(1.0) == pytest.approx(-1 / 3, abs=1e-15)
    assert coupled.conjugate_coupling(-1 / 3) == pytest.approx(1 / 2, abs=1e-15)
    assert coupled.risk_from_coupling(1 / 2) == pytest.approx(-2 / 3, abs=1e-15)
    assert coupled.conjugate_risk(1.0) == pytest.approx(-2 / 3, abs=1e-15)
    assert coupled.tsallis_from_risk(0.25) == 0.75
    assert coupled.risk_from_tsallis(0.75) == 0.25


def test_eq_a_1_coupled_states():
    # The right-hand form of (A.1): p_i times all the other p_k to the r.
    r = 0.4
    others = np.array([P[i] * np.prod(np.delete(P, i) ** r) for i in range(len(P))])
    np.testing.assert_allclose(coupled.coupled_probabilities(P, r), others / others.sum(), rtol=1e-14)


@pytest.mark.parametrize("kappa", [-0.2, 0.0, 0.5])
@pytest.mark.parametrize(("alpha", "d"), [(1, 1), (2, 1), (2, 3)])
def test_eq_a_2_non_additivity(kappa, alpha, d):
    a, b = np.array([0.7, 0.2, 0.1]), np.array([0.6, 0.4])
    h = lambda p: coupled.coupled_entropy(p, kappa, alpha=alpha, d=d)  # noqa: E731
    assert h(np.outer(a, b).ravel()) == pytest.approx(h(a) + h(b) + kappa * h(a) * h(b), rel=1e-12)


@pytest.mark.parametrize("kappa", [-0.5, -0.2, 0.0, 0.5, 2.0])
def test_eq_a_3_total_information_is_one(kappa):
    total = integrate.quad(lambda p: float(coupled.coupled_log(1 / p, kappa)), 0, 1, limit=500)[0]
    assert total == pytest.approx(1.0, abs=1e-6)  # singular at 0


def test_eq_a_3_total_information_with_power_and_dimension():
    # alpha / (1 + (d - alpha) kappa): 1 only for alpha = d = 1; alpha = 2, kappa = 0.5 gives 4.
    total = integrate.quad(lambda p: float(coupled.coupled_log(1 / p, 0.5, alpha=2, d=1)), 0, 1, limit=500)[0]
    assert total == pytest.approx(4.0, abs=1e-4)


@pytest.mark.parametrize("kappa", [-0.3, -1e-10, 0.0, 1e-10, 0.5, 3.0])
@pytest.mark.parametrize(("alpha", "d"), [(1, 1), (2, 1), (2, 3), (1.5, 2)])
def test_eq_a_4_inverse(kappa, alpha, d):
    x = np.array([0.2, 1.0, 3.0])
    y = coupled.coupled_log(x, kappa, alpha=alpha, d=d)
    np.testing.assert_allclose(coupled.coupled_exp(y, kappa, alpha=alpha, d=d), x, rtol=1e-12)


def test_eq_a_4_needs_the_positive_part():
    assert coupled.coupled_exp(-3.0, 0.5) == 0.0
    assert 1 / coupled.coupled_exp(4.0, -0.3, alpha=2) == 0.0  # beyond the compact support


@pytest.mark.parametrize("kappa", [-0.2, -1e-6, 1e-6, 0.5, 2.0])
@pytest.mark.parametrize(("alpha", "d"), [(1, 1), (2, 1), (2, 4)])
def test_eq_a_5_a_6_a_8_all_entropies_are_one_generalized_mean(kappa, alpha, d):
    # Corrected exponents: (1 + d kappa)/(-alpha kappa) outside, -alpha kappa/(1 + d kappa) inside.
    r = coupled.risk_from_coupling(kappa, alpha, d)
    mean = coupled.average_probability(P, r)
    if abs(kappa) > 1e-3:
        assert mean == pytest.approx((P ** (1 - r)).sum() ** (-1 / r), rel=1e-12)
    assert math.exp(-coupled.renyi_entropy(P, r)) == pytest.approx(mean, rel=1e-12)
    tsallis = coupled.tsallis_entropy(P, r)
    assert math.exp(-math.log1p(r * tsallis) / r) == pytest.approx(mean, rel=1e-12)
    normalised = coupled.normalised_tsallis_entropy(P, r)
    assert math.exp(math.log1p(-r * normalised) / r) == pytest.approx(mean, rel=1e-12)
    h = coupled.coupled_entropy(P, kappa, alpha=alpha, d=d)
    assert 1 / coupled.coupled_exp(h, kappa, alpha=alpha, d=d) == pytest.approx(mean, rel=1e-12)
    by_definition = coupled.coupled_probabilities(P, r) @ coupled.coupled_log(1 / P, kappa, alpha=alpha, d=d)
    assert h == pytest.approx(by_definition, rel=1e-12)


def test_eq_a_7_equal_probabilities_have_equal_weights():
    np.testing.assert_allclose(coupled.coupled_probabilities(np.full(8, 1 / 8), 0.7), np.full(8, 1 / 8), rtol=1e-15)


def test_tail_of_the_appendix():
    # Printed x^(-alpha/r); with r < 0 the tail is x^(alpha/r).
    f = CoupledNormal(0.0, 1.0, 0.5)
    slope = (f.logpdf(2e6) - f.logpdf(1e6)) / math.log(2)
    assert slope == pytest.approx(2 / f.risk, abs=1e-9)


def test_student_t_is_the_heavy_tail():
    np.testing.assert_allclose(
        CoupledNormal([1.0, 0.0], [[2.0, 0.3], [0.3, 1.0]], 0.2).logpdf([[0.0, 0.0], [3.0, -2.0]]),
        stats.multivariate_t([1.0, 0.0], [[2.0, 0.3], [0.3, 1.0]], df=5).logpdf([[0.0, 0.0], [3.0, -2.0]]),
        rtol=1e-13,
    )
