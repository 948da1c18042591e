"""N17: the coupled Gaussian and the relations between the parameters, one test per equation and quoted number."""

import math

import numpy as np
import pytest
from scipy import stats

from veracity.formulas import coupled
from veracity.formulas.distributions import CoupledNormal


@pytest.mark.parametrize(("kappa", "d"), [(0.5, 1), (0.162, 10), (-0.095, 10)])
def test_eq_11_sign_follows_rp(kappa, d):
    # (11) prints m = 2k/(1 + d k) = q - 1, the opposite sign of RP's r = 1 - q; with (11) the dual of m = 1 is -2.
    printed = 2 * kappa / (1 + d * kappa)
    assert coupled.risk_from_coupling(kappa, 2.0, d) == pytest.approx(-printed, abs=1e-15)
    assert coupled.tsallis_from_risk(coupled.risk_from_coupling(kappa, 2.0, d)) - 1 == pytest.approx(printed, abs=1e-15)


def test_eq_11_as_printed_has_another_dual():
    kappa_of_one = 1.0  # m = 2k/(1 + k) = 1
    dual = -kappa_of_one / (1 + kappa_of_one)
    assert 2 * dual / (1 + dual) == pytest.approx(-2.0)
    assert coupled.conjugate_risk(1.0) == pytest.approx(-2 / 3)


def test_eq_12_renyi_entropy_and_eq_13_its_probability():
    # (12) prints the sum outside the logarithm; inside it gives (13).
    p, m = np.array([0.2, 0.5, 0.9, 0.99]), -2 / 3
    entropy = -math.log((p**m).mean()) / m
    assert math.exp(-entropy) == pytest.approx((p**m).mean() ** (1 / m), rel=1e-14)
    assert coupled.renyi_entropy([0.5, 0.3, 0.2], 0.4) == pytest.approx(
        math.log(sum(q**0.6 for q in (0.5, 0.3, 0.2))) / 0.4, rel=1e-13
    )


@pytest.mark.parametrize("kappa", [-0.095, 0.0, 0.162])
def test_eq_14_density_in_ten_dimensions(kappa):
    # "kappa = 0.095 Compact-support" must be negative; -0.095 > -1/10 is normalisable at d = 10.
    d = 10
    f = CoupledNormal(np.zeros(d), np.eye(d), kappa)
    x = np.random.default_rng(0).normal(size=(6, d))
    q = (x**2).sum(axis=1)
    shape = np.maximum(1 + kappa * q, 0) ** (-(1 / kappa + d) / 2) if kappa else np.exp(-q / 2)
    np.testing.assert_allclose(f.pdf(x), shape / f.normaliser, rtol=1e-10, atol=0)
    if kappa > 0:
        z = (math.pi / kappa) ** (d / 2) * math.gamma(1 / (2 * kappa)) / math.gamma((1 / kappa + d) / 2)
        assert f.normaliser == pytest.approx(z, rel=1e-12)
        np.testing.assert_allclose(f.logpdf(x), stats.multivariate_t(np.zeros(d), np.eye(d), 1 / kappa).logpdf(x))
    if kappa < 0:
        s = (1 / -kappa - d) / 2
        z = (math.pi / -kappa) ** (d / 2) * math.gamma(s + 1) / math.gamma(s + 1 + d / 2)
        assert f.normaliser == pytest.approx(z, rel=1e-12)


def test_fig_1_couplings_against_the_risks_of_rp():
    # k = .162 and -.095 belong to r = -.15 and .6 only for d in [7.14, 7.18]; d = 7 gives .1579 and -.0968.
    assert coupled.coupling_from_risk(-0.15, d=7) == pytest.approx(0.1579, abs=5e-5)
    assert coupled.coupling_from_risk(0.6, d=7) == pytest.approx(-0.0968, abs=5e-5)
    assert coupled.risk_from_coupling(0.162, d=7) == pytest.approx(-0.1518, abs=5e-5)
    assert coupled.risk_from_coupling(-0.095, d=7) == pytest.approx(0.5672, abs=5e-5)
    assert coupled.conjugate_risk(-0.15) == pytest.approx(0.16216, abs=5e-6)
    assert coupled.conjugate_risk(0.1) == pytest.approx(-0.09524, abs=5e-6)


def test_fig_1_couplings_and_risks_meet_in_no_whole_dimension():
    """κ = −r/(2 + d r), solved for d at the ends of the printed digits: both hold only from 7.14 to 7.18."""

    def dimension(kappa: float, r: float) -> float:
        return -(2 + r / kappa) / r

    heavy = [dimension(kappa, -0.15) for kappa in (0.1615, 0.1625)]
    compact = [dimension(kappa, 0.6) for kappa in (-0.0955, -0.0945)]
    low, high = max(min(heavy), min(compact)), min(max(heavy), max(compact))
    assert (low, high) == pytest.approx((7.14, 7.18), abs=5e-3)
    assert math.ceil(low) > high


def test_fig_2_the_source_and_its_largest_posterior():
    green, orange = CoupledNormal(0.0, 1.0, 0.5), CoupledNormal(2.0, 1.0, 0.5)
    x = 1 + math.sqrt(3)
    posterior = orange.pdf(x) / (orange.pdf(x) + green.pdf(x))
    assert posterior == pytest.approx(0.878194, abs=5e-7)
    grid = np.linspace(-40, 40, 80001)
    assert (orange.pdf(grid) / (orange.pdf(grid) + green.pdf(grid))).max() <= posterior + 1e-12
