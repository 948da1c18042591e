"""What is advised: by how much evidence, in which words, and the same whatever the classes are called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.estimate.calibration.fix import Advice, _simple, advice
from veracity.estimate.calibration.verdict_of_tally import verdict
from veracity.state.tally import Tally


def drawn(n: int, seed: int, low: float, high: float) -> tuple[Any, Any]:
    """Forecasts p, and outcomes of the log odds low·ln p − high·ln(1 − p)."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.8, 0.8, n).clip(0.001, 0.999)
    return (rng.random(n) < 1 / (1 + np.exp(-(low * np.log(p) - high * np.log(1 - p))))).astype(int), p


def advised(y: Any, forecast: Any, **changes: Any) -> Advice:
    tally = Tally.of(y, forecast)
    given = np.where(y == 1, forecast, 1 - forecast)
    share = y.mean()
    base = -share * np.log(share) - (1 - share) * np.log(1 - share)
    found = replace(verdict(tally), **changes)
    return advice(tally, found, None, float(-np.log(given).mean()), float(base), None)


@pytest.mark.parametrize(
    ("p", "word"), [(0.001, "fix"), (0.01, "fix"), (0.011, "possible fix"), (0.04, "possible fix")]
)
def test_a_fix_needs_a_verdict_as_clear_as_the_correction(p: float, word: str) -> None:
    y, forecast = drawn(1500, 1, 0.55, 0.55)
    assert advised(y, forecast, p=p).fix.advice == word


def test_a_correction_that_is_hardly_significant_is_a_possible_fix_however_clear_the_verdict() -> None:
    seen = set()
    for seed in range(12):
        y, forecast = drawn(250, seed, 0.75, 0.75)
        found = advised(y, forecast, p=0.001, state="found").fix
        seen.add(found.advice)
    assert {"possible fix", "none"} <= seen


@pytest.mark.parametrize(("low", "high", "name"), [(0.6, 0.6, "platt"), (0.7, 1.3, "beta"), (1.3, 0.7, "beta")])
def test_the_advised_map_is_mirrored_where_the_classes_are_exchanged(low: float, high: float, name: str) -> None:
    y, p = drawn(6000, 2, low, high)
    one, other = advised(y, p), advised(1 - y, 1 - p)
    assert one.fix.map == other.fix.map == name
    assert one.fitted is not None
    assert other.fitted is not None
    new = np.linspace(0.02, 0.98, 25)
    np.testing.assert_allclose(one.fitted(new)[:, 1], other.fitted(1 - new)[:, 0], rtol=1e-5)


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.5), (0.3, 1.5), (1.5, 0.3)])
def test_the_advised_map_lowers_the_loss_of_new_cases(low: float, high: float) -> None:
    for turn in (False, True):
        y, p = drawn(4000, 3, low, high)
        new, forecast = drawn(20_000, 4, low, high)
        if turn:
            y, p, new, forecast = 1 - y, 1 - p, 1 - new, 1 - forecast
        fitted = advised(y, p).fitted
        assert fitted is not None
        after, rows = fitted(forecast), np.arange(len(new))
        before = np.column_stack([1 - forecast, forecast])
        saved = np.log(after[rows, new]).mean() - np.log(before[rows, new]).mean()
        assert saved > 0.02


def test_three_classes_keep_their_own_levels_in_the_advised_map() -> None:
    rng = np.random.default_rng(5)
    truth = rng.dirichlet(np.ones(3), 3000)
    y = (rng.random((3000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    p = truth * np.array([1.0, 2.0, 6.0])
    p /= p.sum(axis=1, keepdims=True)
    tally = Tally.of(y, p)
    found = advice(tally, verdict(tally), None, 2.0, 3.0, None)
    assert found.fitted is not None
    np.testing.assert_allclose(found.fitted(p).mean(axis=0), np.bincount(y) / 3000, atol=0.02)


def test_a_gain_is_no_larger_than_the_calibration_loss_allows() -> None:
    y, p = drawn(1500, 1, 0.55, 0.55)
    tally = Tally.of(y, p)
    free, bound = (advice(tally, verdict(tally), None, 0.6, 0.7, upper).fix.log for upper in (None, 0.02))
    assert free is not None
    assert bound is not None
    assert free.gain > 0.02
    assert (bound.gain, bound.share) == pytest.approx((0.02, 0.02 / 0.6))
    assert bound.low <= bound.gain <= bound.high


@pytest.mark.parametrize("tiny", [1e-14, 1e-100, 1e-300])
def test_forecasts_that_say_nearly_0_are_corrected_and_not_given_up(tiny: float) -> None:
    """Naive Bayes is nearly always right, and sure beyond all measure where it is not."""
    y = np.repeat([0, 1], 60)
    p = np.where(y == 1, 1.0 - 1e-6, tiny)
    p[:4], p[-4:] = 1.0 - 1e-6, tiny
    a = vc.assess(y, p)
    assert a.scores.log_loss > a.baseline.log_loss
    assert a.advice.map == "platt"
    assert a.advised_map is not None
    corrected = a.advised_map(p)[:, 1]
    assert vc.assess(y, corrected).scores.log_loss < 0.6 * a.baseline.log_loss


def test_the_step_that_gains_most_on_average_needs_no_test() -> None:
    y, p = drawn(60, 4, 1.5, 1.5)
    a = vc.assess(y, p)
    assert a.advised_map is None
    bold = a._advised_with(0.0)
    assert bold.fix.strength == pytest.approx(1.0 - 2.0 / _simple(a._state, 0.0).ratio)
    assert bold.fitted is not None
    assert bold.fitted.coefficients[0, 0] > 1.0


def test_corrected_forecasts_that_are_no_better_than_the_frequencies_are_advised_away() -> None:
    y, p = drawn(1500, 1, 0.55, 0.55)
    tally, found = Tally.of(y, p), verdict(Tally.of(y, p))
    assert advice(tally, found, None, 0.8, 0.5, None).fix.advice == "base rate"
    assert advice(tally, found, None, 0.6, 0.7, None).fix.advice == "fix"
    assert vc.assess(y, p).advice.advice == "fix"
