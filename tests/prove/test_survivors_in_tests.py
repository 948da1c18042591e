"""What mutants of the sample changed in intervals, errors and tests of estimates and no test noticed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.data import Forecasts
from veracity.data.reading import Reading
from veracity.estimate.bootstrap import Bootstrap
from veracity.estimate.cases import Many, prepared
from veracity.estimate.components import shortfall, slope_values
from veracity.estimate.expected import expected_score
from veracity.estimate.influences import BinMoves, from_sample, of_rows
from veracity.estimate.measured import curves_of
from veracity.estimate.recalibration import recalibration
from veracity.estimate.reported import Profile
from veracity.estimate.scores import auc
from veracity.estimate.source import source_means
from veracity.estimate.windows import drifts
from veracity.formulas.differences import drift
from veracity.formulas.rules import power
from veracity.state.plan import Plan
from veracity.state.tally import Tally


@pytest.mark.parametrize(("times", "known"), [(9, False), (10, True)])
def test_a_window_of_ten_times_has_intervals(times: int, known: bool) -> None:
    p = np.tile([0.2, 0.7, 0.4], times)
    y = np.arange(3 * times) % 2
    found = vc.assess(y, p, time=np.repeat(np.arange(times), 3), window="1000").windows
    assert [window.log_loss.low is not None for window in found] == [known]


def test_ends_of_a_bootstrap_leave_half_of_the_rest_on_each_side() -> None:
    tally = Tally.of([0, 1, 1], [0.2, 0.7, 0.9], plan=Plan(bootstrap=1000, level=0.9))
    found = Bootstrap(tally, None).interval(np.arange(1000) / 999.0, Reading(0.5))
    assert (found.low, found.high) == pytest.approx((0.05, 0.95), abs=1e-12)


def test_the_mean_move_of_sampled_rows_is_that_of_all_rows() -> None:
    """Each forecast of an outcome has a bin of its own, so that the average of the other entries is exact there."""
    rng = np.random.default_rng(1)
    rows = np.array([[0.7, 0.2, 0.1], [0.55, 0.4, 0.05], [0.3, 0.09, 0.61]])[rng.integers(0, 3, 3000)]
    y = (rng.random(3000)[:, None] > rows.cumsum(axis=1)).sum(axis=1)
    f = Forecasts(rows, y, (0, 1, 2))
    tally = Tally.of(f, plan=Plan(bins=50))
    bins = BinMoves.of(curves_of(tally)[0], 1e-6)
    exact, found = of_rows(f, bins, tally.plan), from_sample(f, bins, Profile(tally))
    np.testing.assert_allclose(found.columns @ found.share, exact.columns @ exact.share, rtol=1e-9)


def test_a_source_of_two_classes_may_be_given_for_the_event_alone() -> None:
    p, q, y = np.array([0.2, 0.7, 0.9, 0.4]), np.array([0.3, 0.6, 0.8, 0.5]), np.array([0, 1, 1, 0])
    alone, whole = (
        source_means(Tally.of(Forecasts(p, y, (0, 1), ideal=ideal))) for ideal in (q, np.column_stack([1.0 - q, q]))
    )
    assert alone == whole
    assert float(alone.geometric_accuracy) == pytest.approx(math.exp(np.log([0.7, 0.6, 0.8, 0.5]).mean()))


def test_normal_draws_of_rare_classes_have_poisson_margins() -> None:
    p = np.tile([0.497, 0.5, 0.003], (1500, 1))
    y, ones = np.arange(1500) % 2, np.ones(1500)
    p, cases = prepared(p, y, ones, ones, None)
    assert isinstance(cases, Many)
    drawn = cases.normal_draws(p, np.random.default_rng(0))[:, 2]
    np.testing.assert_allclose(drawn + 4.5, np.rint(drawn + 4.5), atol=0.02)
    assert drawn.var() == pytest.approx(4.5, rel=0.15)
    assert drawn.min() >= -4.5


def test_the_area_of_very_many_rows_is_that_of_their_ranks() -> None:
    rng = np.random.default_rng(9)
    p = rng.random(140_000)
    y = (rng.random(len(p)) < p).astype(int)
    tally = Tally.of(y, p)
    assert not tally.complete
    rank = np.empty(len(p))
    rank[np.argsort(p)] = np.arange(1, len(p) + 1)
    events = y.sum()
    area = (rank[y == 1].sum() - events * (events + 1) / 2.0) / events / (len(p) - events)
    assert float(auc(tally)) == pytest.approx(area, abs=1e-6)


def test_a_class_that_was_never_offered_has_no_frequencies_and_is_not_wrong() -> None:
    p = np.array([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0]] * 20)
    offered = np.tile([True, True, False], (60, 1))
    found = vc.Assessment(Tally.of(Forecasts(p, np.array([0, 1, 0] * 20), (0, 1, 2), offered=offered))).per_class
    assert math.isnan(found["2"].predicted)
    assert math.isnan(found["2"].observed)
    assert found["2"].p == 1.0
    assert found["0"].observed == pytest.approx(2 / 3)


def test_the_test_of_drift_is_that_of_two_degrees_of_freedom() -> None:
    rng = np.random.default_rng(5)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    tally = Tally.of(Forecasts(p, y, (0, 1), time=np.arange(200.0)))
    found = drifts(tally)
    assert tally.by_key is not None
    assert found is not None
    f, df = drift(-np.log(np.where(y == 1, p, 1.0 - p)))
    assert found.p == pytest.approx((1.0 + 2.0 * f[0] / df) ** (-df / 2.0), rel=1e-9)  # of F(2, df), in closed form


@pytest.mark.parametrize("r", [0.123, 0.7654, -0.321])
def test_a_score_between_those_of_the_profile_is_of_its_own_parameter(r: float) -> None:
    y, p = three(3000)
    rule = power(r)
    wanted = float((rule.score(p, y) - rule.entropy(p)).mean())
    assert float(expected_score(Tally.of(Forecasts(p, y, (0, 1, 2))), r).excess) == pytest.approx(wanted, abs=1e-6)


def three(n: int) -> tuple[Any, Any]:
    """Outcomes of three classes, and forecasts that are too extreme, with the last class too likely."""
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.ones(3), n)
    y = (rng.random(n)[:, None] > q.cumsum(axis=1)).sum(axis=1)
    p = q**3 * [1.0, 1.0, 3.0]
    return y, p / p.sum(axis=1, keepdims=True)


def test_frequencies_of_extreme_forecasts_vary_as_corrected_ones() -> None:
    """With ln p³ the forecasts have a third of the spread of the outcomes around them."""
    y, p = three(2000)
    level = vc.assess(y, p).verdict_detail.level
    assert level is not None
    assert level.classes
    for name, found in level.classes.items():
        j = int(name)
        residual, variance = float(((y == j) - p[:, j]).sum()), float((p[:, j] * (1.0 - p[:, j])).sum())
        assert 0.3 < found.z / (residual / math.sqrt(variance)) < 0.95


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_values_of_the_slope_do_not_depend_on_the_scale_of_weights(scale: float) -> None:
    y, p = three(60)
    made = [slope_values(Forecasts(p, y, (0, 1, 2), weights=np.full(60, s))) for s in (1.0, scale)]
    np.testing.assert_allclose(np.asarray(made[1]), np.asarray(made[0]), rtol=1e-9)


def test_sampled_moves_keep_forecasts_of_one_bin_apart() -> None:
    p = np.array([0.52, 0.55, 0.6, 0.66, 0.72, 0.8])[np.arange(3000) % 6]
    f = Forecasts.of((np.arange(3000) // 6 % 5 > 0).astype(int), p)
    tally = Tally.of(f, plan=Plan(bins=2))
    bins = BinMoves.of(curves_of(tally)[0], 1e-6)
    exact, found = of_rows(f, bins, tally.plan), from_sample(f, bins, Profile(tally))
    np.testing.assert_allclose(found.columns[-3:] ** 2 @ found.share, exact.columns[-3:] ** 2 @ exact.share, rtol=1e-9)


def test_copies_of_a_row_in_a_cluster_are_no_more_cases() -> None:
    y, p = three(100)
    rows = np.repeat(np.arange(100), 4)
    made = Forecasts(p[rows], y[rows], (0, 1, 2))
    found = recalibration(made, clusters=rows)
    assert found is not None
    cases = 2.0 * (1.0 - 1.0 / len(found.folds.used)) * 100.0
    assert shortfall(found)["AL"][0] == pytest.approx(2.0 / cases, rel=1e-9)
