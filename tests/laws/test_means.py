"""What holds for every mean, whatever the probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from veracity.formulas import means
from veracity.formulas.means import R_GRID, generalized_mean, log_generalized_mean, risk_profile

probabilities = arrays(float, st.integers(1, 12), elements=st.just(0.0) | st.floats(1e-300, 1.0))
positive = arrays(float, st.integers(1, 12), elements=st.floats(1e-6, 1.0))
powers = st.floats(-50.0, 50.0)


def test_default_grid_contains_the_three_named_powers():
    assert len(R_GRID) == 37
    assert (R_GRID[0], R_GRID[-1]) == (-2.0, 2.0)
    assert {-2 / 3, 0.0, 1.0} <= set(R_GRID.tolist())
    with pytest.raises(ValueError, match="read-only"):
        R_GRID[0] = 1.0


@given(probabilities)
def test_profile_rises_with_r_between_minimum_and_maximum(p):
    profile = risk_profile(p, [-np.inf, *R_GRID, np.inf])
    assert profile[0] == pytest.approx(p.min(), rel=1e-12, abs=0)  # exp(ln p) alone loses |ln p|·2⁻⁵³
    assert profile[-1] == pytest.approx(p.max(), rel=1e-12, abs=0)
    assert np.all(np.diff(profile) >= -1e-12 * profile[1:])


@given(positive, powers)
def test_generalized_mean_equals_its_formula(p, r):
    direct = np.exp(np.log(p).mean()) if abs(r) < 1e-3 else np.mean((p / p.max()) ** r) ** (1 / r) * p.max()
    # near r = 0 the formula itself loses digits: d ln P/dr = σ²/2 <= 24 for p in [1e-6, 1]
    assert generalized_mean(p, r) == pytest.approx(direct, rel=30e-3 if abs(r) < 1e-3 else 1e-11)


@given(positive, st.floats(-1e-3, 1e-3))
def test_runs_smoothly_through_zero(p, r):
    log = np.log(p)
    variance = log.var()
    third = ((log - log.mean()) ** 3).mean()
    fourth = ((log - log.mean()) ** 4).mean()
    cumulants = log.mean() + r * variance / 2 + r**2 * third / 6 + r**3 * (fourth - 3 * variance**2) / 24
    # the next cumulant is below 1e6·r⁴/120; ln P_r must follow the expansion to rounding at tiny r
    assert log_generalized_mean(log, r) == pytest.approx(cumulants, rel=1e-13, abs=1e4 * r**4 + 1e-14)


@given(probabilities, powers, st.integers(1, 5))
def test_weight_of_two_is_the_value_twice(p, r, times):
    repeated = np.concatenate([p, np.repeat(p[:1], times)])
    weights = np.ones(len(p))
    weights[0] += times
    assert generalized_mean(p, r, weights) == pytest.approx(generalized_mean(repeated, r), rel=1e-12, abs=0)


@given(positive, powers, st.floats(0.01, 100.0))
def test_scale_of_weights_does_not_matter_and_scale_of_values_does(p, r, factor):
    w = np.arange(1.0, len(p) + 1)
    assert generalized_mean(p, r, factor * w) == pytest.approx(generalized_mean(p, r, w), rel=1e-12)
    assert generalized_mean(factor * p, r) == pytest.approx(factor * generalized_mean(p, r), rel=1e-12)


@given(positive, powers)
def test_reciprocals_reverse_r(p, r):
    assert generalized_mean(1 / p, r) * generalized_mean(p, -r) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("r", [-np.inf, -2.0, -1e-9, 0.0])
def test_zero_decides_for_r_up_to_0(r):
    assert generalized_mean([0.0, 0.4], r) == 0.0
    assert generalized_mean([0.0, 0.4], r, [0.0, 1.0]) == pytest.approx(0.4, rel=1e-15)


def test_zero_counts_by_its_weight_above_0():
    assert generalized_mean([0.0, 0.4], 2.0) == pytest.approx(0.4 / math.sqrt(2), rel=1e-14)
    assert generalized_mean([0.0, 0.4], 1e-3) == pytest.approx(0.4 * 0.5**1000, rel=1e-10)
    assert generalized_mean([0.0, 0.0], 1.0) == 0.0
    assert generalized_mean([0.0, 0.4], np.inf) == 0.4


def test_rows_with_and_without_zeros_do_not_disturb_one_another():
    rows = np.array([[0.0, 0.5, 0.25], [0.1, 0.5, 0.25], [0.0, 0.0, 0.0]])
    together = generalized_mean(rows, R_GRID)
    assert together.shape == (3, 37)
    for row, profile in zip(rows, together, strict=True):
        np.testing.assert_allclose(profile, risk_profile(row), rtol=1e-13)


def test_shape_of_r_replaces_the_averaged_axis():
    assert isinstance(generalized_mean([0.1, 0.2], 1), float)
    assert generalized_mean(np.full((4, 5, 2), 0.3), np.zeros((2, 3))).shape == (4, 5, 2, 3)


def test_nothing_underflows_or_overflows():
    tiny = np.array([1e-300, 1e-305, 5e-324])
    assert generalized_mean(tiny, -2 / 3) == pytest.approx(1e-324 * 5 * 3**1.5, rel=0.5)
    assert log_generalized_mean([-1e6, -2e6], -2.0) == pytest.approx(-2e6 + math.log(2) / 2, rel=1e-15)
    assert log_generalized_mean([-1e6, -2e6], 700.0) == pytest.approx(-1e6 - math.log(2) / 700, rel=1e-15)
    assert generalized_mean([1e200, 1e300], 1.0) == pytest.approx(5e299, rel=1e-12)
    assert generalized_mean([1e308, 1e308], 1.0) == pytest.approx(1e308, rel=1e-12)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_powers_are_their_limits(sign):
    p = np.array([0.1, 0.5, 0.9])
    assert generalized_mean(p, sign * 1e308) == generalized_mean(p, sign * np.inf)
    assert generalized_mean(p, sign * 5e-324) == generalized_mean(p, 0.0)
    assert generalized_mean([0.0, 0.5], sign * 5e-324) == 0.0


def test_metrics_are_three_points_of_the_profile():
    p = np.random.default_rng(1).random(50)
    w = np.random.default_rng(2).random(50)
    profile = dict(zip(R_GRID.tolist(), risk_profile(p, weights=w), strict=True))
    assert means.decisiveness(p, w) == profile[1.0]
    assert means.geometric_accuracy(p, w) == profile[0.0]
    assert means.robustness(p, w) == profile[-2 / 3]
    assert means.robustness(p, w) < means.geometric_accuracy(p, w) < means.decisiveness(p, w)


@given(positive, st.floats(-0.99, 5.0))
def test_mean_surprisal_returns_to_the_generalized_mean(p, r):
    back, mean = means.probability_of_surprisal(means.mean_surprisal(p, r), r), generalized_mean(p, r)
    # (Σ w p^r)^(1/r) of a rounded sum: its error is divided by r; and a surprisal 1 − p^r rounds at the size of 1,
    # which is relative to p^r once p^r is small.
    assert back == pytest.approx(mean, rel=1e-12 * max(1.0, 1 / abs(r) if r else 1.0) * max(1.0, 1e-3 * mean**-r))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: generalized_mean([0.2, -0.1], 0), r"p: -0.1 at index 1 is negative"),
        (lambda: generalized_mean([0.2, np.nan], 0), r"p: nan at index 1 is not a finite number"),
        (lambda: generalized_mean([0.2, np.inf], 0), r"p: inf at index 1 is not a finite number"),
        (lambda: generalized_mean([0.2], np.nan), r"r: nan is not a power"),
        (lambda: generalized_mean([0.2], [0.0, np.nan]), r"r: nan at index 1 is not a power"),
        (lambda: generalized_mean([], 0), r"p: shape \(0,\) has no values"),
        (lambda: generalized_mean([0.2, 0.3], 0, [1.0, -1.0]), r"weights: -1.0 at index 1 is negative"),
        (lambda: generalized_mean([0.2, 0.3], 0, [0.0, 0.0]), r"weights: all 2 are 0"),
        (lambda: generalized_mean([0.2, 0.3], 0, [1.0, np.inf]), r"weights: inf at index 1 is not a finite number"),
        (lambda: generalized_mean([0.2, 0.3], 0, [1.0]), r"weights: shape \(1,\) does not fit 2 values"),
        (lambda: log_generalized_mean([np.nan], 0), r"log_p: nan at index 0 is not a logarithm"),
        (lambda: means.decisiveness([0.2, 1.5]), r"p: 1.5 at index 1 is above 1"),
        (lambda: means.geometric_accuracy([1.0000001]), r"p: 1.0000001 at index 0 is above 1"),
        (lambda: means.robustness([[0.2, 0.3], [0.2, 2.0]]), r"p: 2.0 at index \(1, 1\) is above 1"),
        (lambda: means.generalized_surprisal(0.5, -1.0), r"r: -1.0 is outside \(-1, inf\)"),
        (lambda: means.average_density_gaussian(0.0), r"scale: 0.0 is outside \(0, inf\)"),
        (lambda: means.average_density_exponential(math.nan), r"scale: nan is outside \(0, inf\)"),
        (lambda: means.entropy([0.5, 0.6]), r"p: row sum: 1.1 is not one"),
        (lambda: means.scales([math.nan]), r"h: nan at index 0 is not a number"),
        (lambda: means.generalized_mean(["a", 0.5], 1), r"p: \['a', 0.5\] is not an array of numbers"),
        (lambda: means.generalized_mean([[0.5], [0.5, 0.1]], 1), r"p: \[\[0.5\], \[0.5, 0.1\]\] is not an array"),
        (lambda: means.generalized_mean([0.5], "x"), r"r: 'x' is not an array of numbers"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
