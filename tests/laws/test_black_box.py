"""Black-box shift estimation: its equation, its test, weights, and refusals with a remedy."""

import numpy as np
import pytest
from scipy import stats

from veracity.calibrators import black_box
from veracity.inputs import Forecasts

BEFORE, HERE = np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])


def sample(n, frequencies, seed, power=1.0):
    """Scores of a model trained at BEFORE, to a power, on cases with other class frequencies."""
    generator = np.random.default_rng(seed)
    y = generator.choice(3, n, p=frequencies)
    z = 1.5 * (generator.standard_normal((n, 3)) + 1.5 * np.eye(3)[y]) + np.log(BEFORE)
    p = np.exp(power * z)
    return Forecasts(p / p.sum(axis=1, keepdims=True), y, ("a", "b", "c"))


@pytest.mark.parametrize("power", [0.6, 1.0, 1.8])
def test_frequencies_are_found_whatever_the_calibration(power):
    found, finding = black_box(sample(20000, HERE, 1, power), sample(20000, BEFORE, 2, power))
    assert found == pytest.approx(HERE, abs=0.02)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert finding.p < 1e-6
    assert "adjustment pays where a shift is plausible" in finding.message


def test_the_mean_forecast_here_is_that_of_the_reference_weighted_by_the_estimate():
    here, before = sample(300, HERE, 3), sample(500, BEFORE, 4)
    found, _ = black_box(here, before)
    by_class = np.array([before.matrix[before.outcomes == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(found @ by_class, here.matrix.mean(axis=0), atol=1e-12)


def test_p_is_that_of_the_derivatives_by_every_case():
    """Own NumPy and SciPy: complex steps in the weight of each case, Wald's χ² of the change."""
    here, before = sample(80, HERE, 11), sample(120, BEFORE, 12)

    def change(w, v):
        prior = np.array([v[before.outcomes == j].sum() for j in range(3)]) / v.sum()
        joint = np.array([v[before.outcomes == j] @ before.matrix[before.outcomes == j] for j in range(3)]).T / v.sum()
        return np.linalg.solve(joint, w @ here.matrix / w.sum()) * prior - prior

    ones, others = np.ones(80, complex), np.ones(120, complex)
    steps = [change(ones + 1e-30j * e, others).imag / 1e-30 for e in np.eye(80)]
    steps += [change(ones, others + 1e-30j * e).imag / 1e-30 for e in np.eye(120)]
    covariance, moved = (np.array(steps).T @ np.array(steps))[:2, :2], change(ones, others).real
    found, finding = black_box(here, before)
    np.testing.assert_allclose(found - before.prior, moved, atol=1e-12)
    wanted = stats.chi2.sf(moved[:2] @ np.linalg.solve(covariance, moved[:2]), 2)
    assert finding.p == pytest.approx(wanted, rel=1e-9)


def test_p_is_uniform_where_nothing_changed():
    values = np.array([black_box(sample(300, BEFORE, [5, i]), sample(600, BEFORE, [6, i]))[1].p for i in range(300)])
    assert 0.02 <= (values <= 0.05).mean() <= 0.09  # 5 % of 300 within three standard errors
    assert 0.4 <= (values <= 0.5).mean() <= 0.6


def test_weight_two_is_the_row_twice_and_counts_are_cases():
    here, before = sample(80, HERE, 7), sample(120, BEFORE, 8)
    index = np.repeat(np.arange(120), 1 + np.arange(120) % 2)
    counted = Forecasts(before.probabilities, before.outcomes, before.classes, counts=1 + np.arange(120) % 2)
    weighted = Forecasts(before.probabilities, before.outcomes, before.classes, weights=1.0 + np.arange(120) % 2)
    twice, by_count, by_weight = (black_box(here, f) for f in (before.take(index), counted, weighted))
    np.testing.assert_allclose(by_count[0], twice[0], rtol=1e-10)
    np.testing.assert_allclose(by_weight[0], twice[0], rtol=1e-10)
    assert by_count[1].p == pytest.approx(twice[1].p, rel=1e-8)
    assert by_weight[1].p != pytest.approx(twice[1].p, rel=1e-3)  # importance is no evidence


def test_what_cannot_be_estimated_is_refused_by_name():
    here, before = sample(80, HERE, 7), sample(120, BEFORE, 8)
    flat = Forecasts(np.tile([0.5, 0.3, 0.2], (3, 1)), np.arange(3), before.classes)
    blind = Forecasts(np.array([[0.5, 0.3, 0.2]] * 2 + [[0.2, 0.2, 0.6]]), np.arange(3), before.classes)
    with pytest.raises(ValueError, match="singular: its mean forecasts do not tell a, b apart; give the target itself"):
        black_box(here, blind)
    with pytest.raises(ValueError, match="do not tell a, b, c apart"):
        black_box(here, flat)
    with pytest.raises(ValueError, match="class b never happens in the reference"):
        black_box(here, before.take(np.flatnonzero(before.outcomes != 1)))
    certain = Forecasts(np.tile([0.0, 0.0, 1.0], (80, 1)), None, before.classes)
    with pytest.raises(ValueError, match=r"estimate for class \w is -0\.\d+: too few cases"):
        black_box(certain, before)


def test_few_cases_and_no_change_are_told_not_to_adjust():
    few = black_box(sample(60, HERE, 9), sample(600, BEFORE, 10))[1]
    assert few.p < 0.05
    assert "60 cases are few" in few.message
    same = black_box(sample(600, BEFORE, 11), sample(600, BEFORE, 12))[1]
    assert same.p > 0.05
    assert "They do not differ" in same.message
