"""Standard errors of measured means from a sample of rows: those that all rows would give."""

from unittest.mock import patch

import numpy as np
import pytest

from veracity import assess
from veracity.estimate import influences
from veracity.estimate.influences import Influences
from veracity.estimate.measured import Measured
from veracity.estimate.reported import Profile
from veracity.state.plan import Plan
from veracity.state.tally import Tally


def rows(seed, n, k, strength, sharpened=1.0):
    """Calibrated forecasts, or over-confident ones: log-odds times `sharpened`."""
    rng = np.random.default_rng(seed)
    p = np.exp(strength * rng.normal(size=(n, k)))
    p /= p.sum(axis=1, keepdims=True)
    y = np.minimum((p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
    p = p**sharpened
    return y, p / p.sum(axis=1, keepdims=True)


def found(tally):
    measured = Measured(tally, Profile(tally))
    return Influences.of(tally, measured.curve, measured.profile, measured.values)


def of_all_rows(tally):
    with patch.object(influences, "ROWS", 1 << 40), patch.object(influences, "ENTRIES", 1 << 60):
        return found(tally)


def numbers(found):
    return np.array([*found.measured_errors, *found.divergence_errors.values(), found.spread_ratio_error])


@pytest.mark.parametrize("sharpened", [1.0, 1.5])
@pytest.mark.parametrize(("k", "strength"), [(2, 2.0), (3, 1.0), (10, 3.0), (100, 4.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_gives_the_errors_of_all_rows(k, strength, sharpened, weighted):
    """The few rows in the lowest bins decide the errors for r < 0: from the rows of the sample alone these were less
    than half as large, or half as large again."""
    y, p = rows(k, 20_000, k, strength, sharpened)
    weights = np.random.default_rng(1).gamma(2.0, size=len(y)) if weighted else None
    tally = Tally.of(y, p, sample_weight=weights)
    sample, every = numbers(found(tally)), numbers(of_all_rows(tally))
    # Near r = -1 a row moves the mean by how many entries it has: the errors are next to nothing.
    assert np.abs(sample - every).max() < 0.05 * every.max()
    assert sample == pytest.approx(every, rel=0.08, abs=0.02 * every[:37].max())


def test_rows_given_again_are_rows_counted():
    y, p = rows(5, 3000, 4, 1.0)
    again = Tally.of(np.tile(y, 3), np.tile(p, (3, 1)))
    counted = Tally.of(y, p, counts=np.full(len(y), 3))
    assert numbers(found(again)) == pytest.approx(numbers(found(counted)), rel=1e-9)


def test_parts_of_a_few_rows_give_the_intervals_of_all_at_once():
    y, p = rows(6, 900, 5, 1.0)
    whole = Tally.of(y, p)
    parts = Tally.of(y[:100], p[:100]) + Tally.of(y[100:], p[100:])
    assert numbers(found(parts)) == pytest.approx(numbers(found(whole)), rel=1e-9)


@pytest.mark.parametrize("options", [{"floor": 0.005}, {"floor": 0.05}, {"floor": 0.3}, {"preset": "N17"}])
@pytest.mark.parametrize("sharpened", [1.0, 3.0])
@pytest.mark.parametrize("k", [3, 10])
def test_floors_and_clipped_bins(options, k, sharpened):
    y, p = rows(7, 20_000, k, 2.0, sharpened)
    tally = Tally.of(y, p, plan=Plan(**options))
    sample, every = numbers(found(tally)), numbers(of_all_rows(tally))
    assert sample == pytest.approx(every, rel=0.08, abs=0.03 * every[:37].max())


@pytest.mark.parametrize("k", [2, 3, 10])
def test_outcomes_of_probability_zero_leave_the_spread_ratio_its_interval(k):
    y, p = rows(k, 20_000, k, 1.0, 3.0)
    p = np.round(p, 2)
    p /= p.sum(axis=1, keepdims=True)
    assert (p[np.arange(len(y)), y] == 0.0).any()
    tally = Tally.of(y, p)
    assert found(tally).spread_ratio_error == pytest.approx(of_all_rows(tally).spread_ratio_error, rel=0.05)
    ratio = assess(y, p).spread_ratio
    assert ratio.low < ratio < ratio.high


def test_more_classes_than_a_sample_has_entries():
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.full(4000, 0.01), 300).astype(np.float32)
    p /= p.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(4000, p=row / row.sum()) for row in p.astype(float)])
    reading = assess(y, p).measured.geometric_accuracy
    assert 0.0 < reading.low < reading < reading.high < 1.0
    sample, every = (numbers(f(Tally.of(y, p))) for f in (found, of_all_rows))
    at = slice(18, 28)  # r from 0 to 1
    assert sample[at] == pytest.approx(every[at], rel=0.3)


def test_rows_without_weight_say_nothing():
    y, p = rows(9, 6000, 3, 1.0)
    weights = np.zeros(len(y))
    weights[::600] = 1.0
    some = weights > 0.0
    few = numbers(found(Tally.of(y[some], p[some], bins=5)))
    many = numbers(found(Tally.of(y, p, sample_weight=weights, bins=5)))
    assert np.isfinite(few).all()
    assert many == pytest.approx(few, rel=0.3, abs=0.1 * few.max())
