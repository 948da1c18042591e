"""Risk profiles of the ten-dimensional experiment (RP Figs 3–5): by draws, by quadrature and in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from papers._experiment import RISKS, experiment, harmonic, known_inverse, normal_profile
from veracity.formulas.means import log_generalized_mean
from veracity.simulate import ten_dimensions

# Means of 200 draws at r = −2, −1, −2/3, −1/2, 0, 1/2, 1, 2, reading A.
PROFILES = {
    ("gaussian", 6): (0.001, 0.019, 0.078, 0.163, 0.607, 0.748, 0.806, 0.860),
    ("gaussian", 10): (0.0, 0.0, 0.001, 0.004, 0.475, 0.767, 0.843, 0.901),
    ("heavy", 6): (0.051, 0.242, 0.405, 0.490, 0.666, 0.749, 0.794, 0.842),
    ("heavy", 10): (0.006, 0.068, 0.223, 0.357, 0.669, 0.780, 0.831, 0.879),
}


@pytest.mark.slow
@pytest.mark.parametrize(("tail", "d"), PROFILES)
def test_mean_profiles_over_200_draws(tail, d):
    drawn = experiment("A", 200).compared[tail][d]
    assert drawn.shape == (200, len(RISKS))
    # Three standard errors of the difference of two means of 200 draws, and half a unit of the last digit.
    allowed = 3 * drawn.std(axis=0, ddof=1) * math.sqrt(2 / 200) + 5e-4
    assert np.all(np.abs(drawn.mean(axis=0) - PROFILES[tail, d]) < allowed)
    assert np.all(np.diff(drawn, axis=1) >= 0)  # a profile rises with r


@pytest.mark.parametrize("d", [1, 2, 4, 6, 8, 10])
@pytest.mark.parametrize("power", [1, 2, 3])
def test_known_parameters_in_closed_form(d, power):
    by_quadrature = normal_profile(d / 2, math.sqrt(d), [-float(power)])[0]
    assert by_quadrature == pytest.approx(known_inverse(d, power), rel=1e-12)


def test_closed_forms_written_out():
    for d in (2, 6, 10):
        assert known_inverse(d, 1) == pytest.approx(1 / 2, abs=1e-15)  # any calibrated forecast of two classes
        assert known_inverse(d, 2) == pytest.approx((3 + math.exp(d)) ** -0.5, rel=1e-14)
        assert known_inverse(d, 3) == pytest.approx((4 + 3 * math.exp(d) + math.exp(3 * d)) ** (-1 / 3), rel=1e-14)


@pytest.mark.parametrize("d", [2, 6])
def test_draws_meet_the_profile_of_known_parameters(d):
    rng = np.random.default_rng(d)
    odds = rng.normal(d / 2, math.sqrt(d), 400_000)
    risks = (-0.5, 0.0, 0.5, 1.0, 2.0)
    found = np.exp(log_generalized_mean(-np.logaddexp(0.0, -odds), risks))
    assert found == pytest.approx(normal_profile(d / 2, math.sqrt(d), risks), abs=0.003)  # 4 standard errors


def pooled(seed: int, d: int):
    """Reading B: the log odds of what happened are normal, with these centres (class 0, class 1) and this spread."""
    fitted = ten_dimensions(np.random.default_rng(seed), "B", 1)[0]
    weights = np.linalg.solve(fitted.scales[0][:d, :d], fitted.means[1][:d] - fitted.means[0][:d])
    offset = weights @ (fitted.means[0][:d] + fitted.means[1][:d]) / 2
    return fitted, (float(offset), float(weights.sum() - offset)), float(np.linalg.norm(weights))


@pytest.mark.parametrize("d", [2, 6, 10])
@pytest.mark.parametrize("seed", range(3))
def test_one_covariance_makes_normal_log_odds(seed, d):
    fitted, centres, spread = pooled(seed, d)
    exact = 1 / np.mean([1 + math.exp(-centre + spread**2 / 2) for centre in centres])
    assert harmonic(fitted, d) == pytest.approx(exact, rel=1e-12)
    profile = [normal_profile(centre, spread, (-1.0, 1.0)) for centre in centres]
    assert 2 / sum(1 / one[0] for one in profile) == pytest.approx(exact, rel=1e-11)
    # A test of 200,000 points per class meets the population; 1.6e-3 is the largest standard error.
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((200_000, 10))
    odds = [fitted.log_odds(fitted.distances(x + label), "gaussian", d) * (2 * label - 1) for label in (0, 1)]
    for found, centre, one in zip(odds, centres, profile, strict=True):
        assert found.mean() == pytest.approx(centre, abs=5 * spread / math.sqrt(200_000))
        assert found.std() == pytest.approx(spread, rel=0.01)
        assert (1 / (1 + np.exp(-found))).mean() == pytest.approx(one[1], abs=5e-3)


@pytest.mark.parametrize("tail", ["heavy", "gaussian"])
def test_one_covariance_makes_heavy_tails_and_gaussians_pick_alike(tail):
    """Reading B: both classes' densities fall with their distances alone, so the nearer one is picked."""
    fitted, x, _ = ten_dimensions(np.random.default_rng(4), "B", 500)
    green, orange = fitted.distances(x)
    for d in (2, 6, 10):
        odds = fitted.log_odds((green, orange), tail, d)
        np.testing.assert_array_equal(odds > 0, orange[:, d - 1] < green[:, d - 1])


def test_closed_form_of_two_covariances_by_quadrature():
    """Gauss–Hermite over two dimensions for fitted models whose mean of power −1 exists, and 0 where it does not."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.outer(weights, weights).ravel() / (2 * math.pi)
    checked = 0
    for seed in range(40):
        fitted = ten_dimensions(np.random.default_rng(seed), "A", 1)[0]
        steepest = min(
            np.linalg.eigvalsh(np.eye(2) + sign * np.subtract(*(np.linalg.inv(s[:2, :2]) for s in fitted.scales)))[0]
            for sign in (1, -1)
        )
        if steepest <= 0:
            assert harmonic(fitted, 2) == 0.0
        if steepest < 0.5:  # the rule of 120 nodes needs a tail that falls as fast as the nodes reach
            continue
        total = 0.0
        for label in (0, 1):
            x = np.zeros((len(grid), 10))
            x[:, :2] = grid + label
            odds = fitted.log_odds(fitted.distances(x), "gaussian", 2) * (2 * label - 1)
            total += 0.5 * (1 + mass @ np.exp(-odds))
        assert harmonic(fitted, 2) == pytest.approx(1 / total, rel=1e-10)
        checked += 1
    assert checked >= 5


def test_two_covariances_of_six_dimensions_have_no_mean_of_power_minus_1():
    """The quoted 0.019 belongs to tests of 2000 points: over all x the integral diverges, in every one of 100 fits."""
    fitted = [ten_dimensions(np.random.default_rng(seed), "A", 1)[0] for seed in range(100)]
    assert all(harmonic(one, d) == 0.0 for one in fitted for d in (6, 8, 10))
    assert 0 < np.mean([harmonic(one, 2) == 0.0 for one in fitted]) < 0.5
