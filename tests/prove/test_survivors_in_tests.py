"""What mutants of the sample changed in intervals, errors and tests of estimates and no test noticed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.estimate.calibration.calibration_tests import run_tests
from veracity.estimate.calibration.residuals import RANGES, cases_of, prepared, ranges_of
from veracity.estimate.calibration.verdict import _shape, _where
from veracity.estimate.comparison.components import shortfall
from veracity.estimate.comparison.paired import Scorer
from veracity.estimate.groups_and_time import stability
from veracity.estimate.groups_and_time.windows import drifts
from veracity.estimate.loss.recalibration import recalibration
from veracity.estimate.means.bootstrap import Bootstrap
from veracity.estimate.means.expected import expected_score
from veracity.estimate.means.scores import auc
from veracity.estimate.means.source import source_means
from veracity.formulas.rules import power
from veracity.inputs import Forecasts
from veracity.records.reading import Reading
from veracity.state.pairs import Pairs
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
    found = Bootstrap(tally).interval(np.arange(1000) / 999.0, Reading(0.5))
    assert (found.low, found.high) == pytest.approx((0.05, 0.95), abs=1e-12)


def test_a_source_of_two_classes_may_be_given_for_the_event_alone() -> None:
    p, q, y = np.array([0.2, 0.7, 0.9, 0.4]), np.array([0.3, 0.6, 0.8, 0.5]), np.array([0, 1, 1, 0])
    alone, whole = (
        source_means(Tally.of(Forecasts(p, y, (0, 1), ideal=ideal))) for ideal in (q, np.column_stack([1.0 - q, q]))
    )
    assert alone == whole
    assert float(alone.geometric_accuracy) == pytest.approx(math.exp(np.log([0.7, 0.6, 0.8, 0.5]).mean()))


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
    assert found is not None
    held = stability.Recalibrated.of(*_cases(p, y))
    phase = np.pi * (np.arange(200) + 0.5) / 200
    e = np.cos(np.outer(phase, np.arange(1, 15)))  # ⌊.41·200^⅔⌋ = 14 cosines
    e -= held.nuisance @ (held.inverse @ (held.nuisance.T @ (e * held.w[:, None])))
    squares = (held.u @ e) ** 2 / np.einsum("ij,ij,i->j", e, e, held.w)
    f, df = squares[:2].mean() / squares[2:].mean(), 12
    assert found.level.p == pytest.approx((1.0 + 2.0 * f / df) ** (-df / 2.0), rel=1e-9)  # of F(2, df), in closed form


def _cases(p: Any, y: Any) -> tuple[Any, Any]:
    p, cases = cases_of(p, y, np.ones(len(y)), np.ones(len(y)), None, ranges_of(p), np.arange(len(y)))
    return cases, p


@pytest.mark.parametrize("r", [0.123, 0.7654, -0.321])
def test_a_score_between_those_of_the_profile_is_of_its_own_parameter(r: float) -> None:
    y, p = three(3000)
    rule = power(r)
    excess = np.asarray(rule.score(p, y) - rule.entropy(p))
    found = expected_score(Tally.of(Forecasts(p, y, (0, 1, 2))), r).excess
    assert float(found) == pytest.approx(excess.mean(), abs=1e-6)
    assert found.low is not None
    assert float(found) - found.low == pytest.approx(1.959964 * excess.std(ddof=1) / math.sqrt(3000), rel=1e-5)


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
        assert found.observed == pytest.approx((y == j).mean(), rel=1e-9)
        assert 0.3 < found.z / (residual / math.sqrt(variance)) < 0.95


def test_copies_of_a_row_in_a_cluster_are_no_more_cases() -> None:
    y, p = three(100)
    rows = np.repeat(np.arange(100), 4)
    made = Forecasts(p[rows], y[rows], (0, 1, 2))
    found = recalibration(made, clusters=rows)
    assert found is not None
    cases = 2.0 * (1.0 - 1.0 / len(found.folds.used)) * 100.0
    assert shortfall(found)["AL"][0] == pytest.approx(2.0 / cases, rel=1e-9)


@pytest.mark.parametrize("name", ["log", "brier"])
def test_the_error_of_skill_is_that_of_a_ratio_of_means(name: str) -> None:
    """1 − L/U varies as −(x − L)/U + (L/U²)(u − U), u what one outcome adds to the score of the frequencies."""
    y, p = three(500)
    prior = np.bincount(y) / 500
    outcome = np.eye(3)[y]
    if name == "log":
        x, u = -np.log(p[np.arange(500), y]), -np.log(prior[y])
    else:
        x, u = ((p - outcome) ** 2).sum(axis=1), 1.0 + prior @ prior - 2.0 * prior[y]
    influence = -(x - x.mean()) / u.mean() + x.mean() / u.mean() ** 2 * (u - u.mean())
    found = vc.assess(y, p).skill.readings()[name]
    assert float(found) == pytest.approx(1.0 - x.mean() / u.mean(), rel=1e-9)
    assert found.low is not None
    assert float(found) - found.low == pytest.approx(1.959964 * math.sqrt((influence**2).sum()) / 500, rel=1e-5)


def test_half_of_a_difference_is_reached_where_it_is_exactly_half() -> None:
    y = np.ones(4, int)
    found = vc.compare(y, {"a": np.full(4, 0.5), "b": np.full(4, 0.25)})
    (deciding,) = found.record.deciding_rows
    assert [row.share for row in deciding.rows] == [0.25, 0.5, 0.75, 1.0]
    assert deciding.half == 2


@pytest.mark.parametrize(("events", "told"), [(3, None), (4, 0), (6, 0)])
def test_a_range_is_named_where_its_few_events_are_too_many_beside_their_error_and_one_case(
    events: int, told: int | None
) -> None:
    """0.2 of 400 were expected, about 0.8 with a corrected slope: 4 are 3 errors (V + 1)^½ too many, the limit 2.5."""
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    p = np.concatenate([np.full(400, 5e-4), np.repeat(shares, 200)])
    y = np.concatenate([np.arange(400) < events, *(np.arange(200) < 200 * share for share in shares)]).astype(int)
    p, cases = prepared(p, y, np.ones(1400), np.ones(1400), None)
    assert _shape(run_tests(cases, p, 0), p, False) == told


def test_a_range_between_likely_and_unlikely_shows_no_confidence() -> None:
    """Of four classes a forecast of 20 to 40 % says neither that an outcome is likelier than chance nor less likely."""
    p = np.tile([0.3, 0.3, 0.2, 0.2], (8, 1))
    p, cases = prepared(p, np.arange(8) % 4, np.ones(8), np.ones(8), None)
    made = run_tests(cases, p, 0)
    columns = 5 + RANGES
    draws = np.random.default_rng(0).normal(0.0, 5.0, (999, columns))
    for place, wanted in ((4, None), (5, (5, 5))):
        residuals = np.zeros(columns)
        residuals[5 + place] = -50.0
        found = replace(made, residuals=residuals, variances=np.full(columns, 24.0), draws=draws)
        assert _where(found, "over-confident", 4, zeros=False, flipped=False) == wanted


def test_the_largest_differences_of_merged_pairs_are_those_of_the_whole() -> None:
    y, p = three(60)
    held = [
        Forecasts(q, y, (0, 1, 2), model=name, case=np.arange(60, dtype=np.uint64))
        for name, q in (("a", p), ("b", np.full_like(p, 1 / 3)))
    ]
    whole, total = (Pairs(("a", "b"), Scorer(3, True)) for _ in range(2))
    whole.take(held)
    for part in (np.arange(25), np.arange(25, 60)):
        one = Pairs(("a", "b"), Scorer(3, True))
        one.take([f.take(part) for f in held])
        total.merge(one)
    assert whole.extremes is not None
    assert total.extremes is not None
    wanted, found = (extremes.of_pair(0).difference for extremes in (whole.extremes, total.extremes))
    np.testing.assert_allclose(np.sort(found), np.sort(wanted), rtol=1e-12)
