"""Laws of the coupled algebra and distributions for parameters nobody chose."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veracity.formulas import coupled
from veracity.formulas.distributions import CoupledExponential, CoupledNormal

dimensions = st.integers(1, 12)
shares = st.floats(-0.95, 30.0)  # kappa = share/d for negative shares: the whole domain of every dimension


def kappa_of(share: float, d: int) -> float:
    return share / d if share < 0 else share


@given(shares, dimensions, st.floats(0.1, 4.0))
def test_maps_between_parameters_are_inverse(share, d, alpha):
    kappa = kappa_of(share, d)
    r = coupled.risk_from_coupling(kappa, alpha, d)
    assert coupled.coupling_from_risk(r, alpha, d) == pytest.approx(kappa, rel=1e-9, abs=1e-12)
    assert coupled.conjugate_coupling(coupled.conjugate_coupling(kappa, d), d) == pytest.approx(kappa, rel=1e-9)
    assert coupled.risk_from_tsallis(coupled.tsallis_from_risk(r)) == pytest.approx(r, rel=1e-9, abs=1e-15)


@given(st.floats(-0.6, 5.0), st.floats(0.2, 5.0))  # beyond, 1 + kappa x cancels
def test_exponential_undoes_logarithm(kappa, x):
    assert coupled.coupled_exp(coupled.coupled_log(x, kappa), kappa) == pytest.approx(x, rel=1e-9)


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8), st.floats(-3.0, 3.0))
def test_every_entropy_is_the_same_mean(masses, r):
    p = np.array(masses) / sum(masses)
    mean = coupled.average_probability(p, r)
    if r:
        assert 1 + r * coupled.tsallis_entropy(p, r) == pytest.approx(mean**-r, rel=1e-12)
        assert 1 - r * coupled.normalised_tsallis_entropy(p, r) == pytest.approx(mean**r, rel=1e-11)
    assert p.min() * (1 - 1e-12) <= mean <= p.max() * (1 + 1e-12)
    assert coupled.coupled_probabilities(p, r).sum() == pytest.approx(1.0, abs=1e-14)


@given(shares, dimensions)
def test_density_is_continuous_through_the_gaussian(share, d):
    step = 1e-9 * (share if share else 1.0)
    x = np.full((3, d), [[0.1], [0.7], [1.5]]) if d > 1 else np.array([0.1, 0.7, 1.5])
    scale = np.eye(d) if d > 1 else 1.0
    loc = np.zeros(d) if d > 1 else 0.0
    near, gauss = CoupledNormal(loc, scale, step), CoupledNormal(loc, scale, 0.0)
    bound = 1000 * abs(step) + 1e-13  # the derivative in kappa is at most Q²/4 + dQ/2 + d² with Q <= 27, d <= 12
    np.testing.assert_allclose(near.logpdf(x), gauss.logpdf(x), rtol=0, atol=bound)
    assert near.entropy() == pytest.approx(gauss.entropy(), abs=bound)
    assert near.generalized_mean() == pytest.approx(gauss.generalized_mean(), abs=bound)


@pytest.mark.parametrize("kappa", [1e-3, 1e-6, 1e-9, 1e-12])
def test_both_sides_of_zero_meet(kappa):
    for d in (1, 2, 3, 10):
        loc, scale = (np.zeros(d), np.eye(d)) if d > 1 else (0.0, 1.0)
        plus, minus, zero = (CoupledNormal(loc, scale, k) for k in (kappa, -kappa, 0.0))
        middle = (math.log(plus.normaliser) + math.log(minus.normaliser)) / 2
        assert middle == pytest.approx(math.log(zero.normaliser), abs=20 * d**3 * kappa**2 + 1e-13)


@pytest.mark.parametrize("kappa", [-0.6, -0.2, 0.0, 0.3, 1.2])
def test_one_dimension_agrees_with_scipy(kappa):
    f = CoupledNormal(0.5, 2.0, kappa)
    x = np.array([-1.5, 0.0, 0.5, 2.0, 2.9])
    if kappa > 0:
        other = stats.t(1 / kappa, 0.5, 2.0)
    elif kappa == 0:
        other = stats.norm(0.5, 2.0)
    else:
        reach, shape = 2.0 / math.sqrt(-kappa), (1 / -kappa - 1) / 2 + 1
        other = stats.beta(shape, shape, 0.5 - reach, 2 * reach)
    for name in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"):
        np.testing.assert_allclose(getattr(f, name)(x), getattr(other, name)(x), rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(f.isf([0.01, 0.3]), other.isf([0.01, 0.3]), rtol=1e-8)
    np.testing.assert_allclose(f.ppf([0.01, 0.3, 0.5, 0.9]), other.ppf([0.01, 0.3, 0.5, 0.9]), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(f.interval(0.9), other.interval(0.9), rtol=1e-8)
    assert f.entropy() == pytest.approx(float(other.entropy()), rel=1e-9)
    assert f.support() == pytest.approx(other.support())
    if kappa < 0.5:
        assert f.var() == pytest.approx(float(other.var()), rel=1e-9)


@pytest.mark.parametrize("kappa", [-0.9, -0.5, 0.0, 0.3, 1.2])
def test_coupled_exponential_is_generalized_pareto(kappa):
    f, other = CoupledExponential(1.0, 2.0, kappa), stats.genpareto(kappa, 1.0, 2.0)
    x = np.array([0.0, 1.0, 1.5, 2.9])
    for name in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"):
        np.testing.assert_allclose(getattr(f, name)(x), getattr(other, name)(x), rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(f.isf([0.01, 0.3]), other.isf([0.01, 0.3]), rtol=1e-12)
    np.testing.assert_allclose(f.ppf([0.0, 0.3, 0.9]), other.ppf([0.0, 0.3, 0.9]), rtol=1e-12)
    assert f.entropy() == pytest.approx(float(other.entropy()), rel=1e-12)
    assert f.median() == pytest.approx(float(other.median()), rel=1e-12)
    assert f.support() == pytest.approx(other.support())
    assert f.interval(0.8) == pytest.approx(other.interval(0.8), rel=1e-12)
    if kappa < 0.5:
        assert (f.mean(), f.var()) == pytest.approx((float(other.mean()), float(other.var())), rel=1e-10)


@pytest.mark.parametrize(("kappa", "d"), [(-0.3, 1), (-0.2, 3), (0.0, 2), (0.1, 1), (0.1, 4)])
def test_draws_have_the_covariance_and_the_entropy(kappa, d):
    root = np.tril(np.full((d, d), 0.4)) + np.eye(d)
    f = CoupledNormal(np.arange(d) if d > 1 else 0.0, root @ root.T, kappa)
    x = f.rvs(60_000, random_state=1)
    assert x.shape == ((60_000, d) if d > 1 else (60_000,))
    surprisal = -f.logpdf(x)
    assert surprisal.mean() == pytest.approx(f.entropy(), abs=4 * surprisal.std() / math.sqrt(len(x)))
    np.testing.assert_allclose(np.atleast_2d(np.cov(x.T)), f.cov(), rtol=0.08, atol=0.03)  # 60,000 draws
    np.testing.assert_array_equal(f.rvs(5, random_state=3), f.rvs(5, random_state=np.random.default_rng(3)))


def test_draws_follow_the_shape_asked_for():
    assert isinstance(CoupledNormal(0, 1, 0.2).rvs(random_state=0), float)
    assert CoupledNormal(0, 1, 0.2).rvs((2, 3), random_state=0).shape == (2, 3)
    assert CoupledNormal([0, 0], np.eye(2), -0.2).rvs((4, 3), random_state=0).shape == (4, 3, 2)
    assert CoupledExponential(0, 1, 0.2).rvs((2, 3), random_state=0).shape == (2, 3)
    uniform = CoupledExponential(0, 1, 0.4).cdf(CoupledExponential(0, 1, 0.4).rvs(20_000, random_state=2))
    assert stats.kstest(uniform, "uniform").pvalue > 0.001


def test_moments_that_do_not_exist_say_so():
    assert math.isinf(CoupledNormal(0, 1, 0.5).var())
    assert math.isnan(CoupledNormal(0, 1, 1.0).mean())
    assert math.isnan(CoupledNormal(0, 1, 1.0).var())
    assert math.isinf(CoupledExponential(0, 1, 1.0).mean())
    assert CoupledNormal(0, 1, 2.0).generalized_mean(0.9) == 0.0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: CoupledNormal(0, 1, -1.0), "kappa: -1.0"),
        (lambda: CoupledNormal([0, 0], np.eye(2), -0.5), "kappa: -0.5"),
        (lambda: CoupledNormal(0, 1, math.nan), "kappa: nan"),
        (lambda: CoupledNormal(0, 0.0, 0.1), "scale: 0.0"),
        (lambda: CoupledNormal(0, -1.0, 0.1), "scale: -1.0"),
        (lambda: CoupledNormal([0, 0], [[1, 2], [2, 1]], 0.1), "scale: matrix is not positive definite"),
        (lambda: CoupledNormal([0, 0], [[1, 0.5], [0.2, 1]], 0.1), "scale: matrix is not symmetric"),
        (lambda: CoupledNormal([0, 0, 0], np.eye(2), 0.1), "scale: matrix of shape"),
        (lambda: CoupledNormal([0, 0], [1.0, 2.0], 0.1), "scale: shape"),
        (lambda: CoupledNormal(math.inf, 1, 0.1), "loc"),
        (lambda: CoupledNormal([0, 0], np.eye(2), 0.1).cdf(0.0), "one dimension"),
        (lambda: CoupledNormal([0, 0], np.eye(2), 0.1).pdf([0.0, 1.0, 2.0]), "x: shape"),
        (lambda: CoupledExponential(0, 1, -1.0), "kappa: -1.0"),
        (lambda: CoupledExponential(0, 0, 0.1), "scale: 0"),
        (lambda: coupled.coupled_log(-1.0, 0.1), "x: "),
        (lambda: coupled.coupled_log(1.0, -1.0), "kappa: -1.0"),
        (lambda: coupled.coupled_log(1.0, 0.1, alpha=0), "alpha: 0"),
        (lambda: coupled.coupled_log(1.0, 0.1, d=0), "d: 0"),
        (lambda: coupled.risk_log(0.5, -1.0), "r: -1.0"),
        (lambda: coupled.coupling_from_risk(-2.0), "r: -2.0"),
        (lambda: coupled.coupled_probabilities([0.5, 0.4], 1.0), "p: row sum"),
        (lambda: coupled.renyi_entropy([1.5, -0.5], 1.0), "p: "),
        (lambda: coupled.renyi_entropy([0.5, 0.5], math.nan), "r: nan"),
        (lambda: coupled.tsallis_entropy([0.5, 0.5], math.inf), "r: inf"),
        (lambda: coupled.coupled_probabilities([0.5, 0.5], math.nan), "r: nan"),
        (lambda: CoupledNormal(0, 1, 0.5).generalized_mean(math.nan), "r: nan"),
        (lambda: coupled.coupled_exp(math.nan, 0.5), "x: nan is not a number"),
        (lambda: coupled.risk_exp(math.nan, 0.5), "x: nan is not a number"),
        (lambda: CoupledNormal(0, "wide", 0.5), "scale: 'wide' is not an array of numbers"),
        (lambda: CoupledNormal(0, 1, "heavy"), "kappa: 'heavy' is not a number"),
    ],
)
def test_bad_input_is_named(make, named):
    with pytest.raises(ValueError, match=named):
        make()


def test_zero_probabilities_are_left_out():
    assert coupled.average_probability([0.5, 0.5, 0.0], 2.0) == pytest.approx(0.5)
    np.testing.assert_array_equal(coupled.coupled_probabilities([0.5, 0.5, 0.0], 2.0), [0.5, 0.5, 0.0])


@pytest.mark.parametrize("kappa", [0.5, 0.01, 0.0, -0.3])
def test_quantiles_at_the_ends_are_the_support(kappa):
    d = CoupledNormal(1.0, 2.0, kappa)
    assert d.ppf([0.0, 1.0]).tolist() == pytest.approx(d.support())


def test_escort_of_index_zero_shares_equally_among_what_can_happen():
    np.testing.assert_array_equal(coupled.coupled_probabilities([0.1, 0.0, 0.9], 1.0), [0.5, 0.0, 0.5])
