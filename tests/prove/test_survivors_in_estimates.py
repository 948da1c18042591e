"""What mutants of the sample changed in estimates and no test noticed: one small test each."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.estimate.calibration.calibration_tests import run_tests
from veracity.estimate.calibration.residuals import LEAST_IN_TEST, Many, Two, prepared
from veracity.estimate.calibration.slope import calibration_in_the_large, removable_share
from veracity.estimate.calibration.verdict import spread_zeros
from veracity.estimate.comparison.compare import Dependence, findings_of_time
from veracity.estimate.comparison.components import slope_values
from veracity.estimate.loss.folds import blocks
from veracity.estimate.loss.ideal import _excess, grow
from veracity.estimate.loss.losses import chain, losses
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.records.reading import Reading
from veracity.state.clusters import ClusterSums


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_excess_of_leaves_without_structure_is_zero_on_average(rule: str) -> None:
    """Frequencies of leaves are calibrated to the whole: what chance adds to leaves, less what it adds to all rows."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(400):
        observed = np.eye(2)[(rng.random(60) < 0.4).astype(int)]
        expected = np.broadcast_to(observed.mean(axis=0), observed.shape)
        found.append(_excess(rule, np.arange(60) % 4, observed, expected, np.ones(60)))
    assert abs(np.mean(found)) < 4 * np.std(found) / 20


def test_a_share_of_a_small_loss_is_given() -> None:
    p = np.repeat([0.01, 0.02, 0.97], 200)
    y = (np.arange(600) >= 400).astype(int)
    a = vc.assess(y, p)
    assert a.scores.log_loss < 0.1
    gains = [remedy.log for remedy in a.remedies if remedy.log.gain is not None]
    assert gains
    assert all(gain.share == pytest.approx(gain.gain / float(a.scores.log_loss)) for gain in gains)


@pytest.mark.parametrize("p", [[[0.0, 0.5, 0.5]], [[0.0, 0.0, 1.0]], [[0.2, 0.3, 0.5]]])
def test_rows_whose_zeros_are_spread_still_sum_to_one(p: Any) -> None:
    spread = spread_zeros(np.array(p), 10)
    np.testing.assert_allclose(spread.sum(axis=1), 1.0, rtol=1e-15)
    assert spread.min() > 0.0


@pytest.mark.parametrize("k", [2, 3])
def test_values_of_the_slope_are_those_of_repeated_rows(k: int) -> None:
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.ones(k), 60)
    y, counts = rng.integers(0, k, 60), rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), counts)
    found, wanted = slope_values(Forecasts.of(y, p, counts=counts)), slope_values(Forecasts.of(y[rows], p[rows]))
    assert not isinstance(found, str)
    assert not isinstance(wanted, str)
    np.testing.assert_allclose(found[rows], wanted, rtol=1e-12)


def three(n: int = 400, seed: int = 5) -> tuple[Any, Any, Any]:
    """Overconfident forecasts of three classes, one of them too likely, with outcomes and the truth."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(3), n)
    y = (rng.random(n)[:, None] > q.cumsum(axis=1)).sum(axis=1)
    p = q**1.3 * [1.0, 1.0, 1.3]
    return y, p / p.sum(axis=1, keepdims=True), q


def test_times_without_influences_have_no_finding_of_persistence() -> None:
    keyed = ClusterSums.of("time", np.arange(5), np.ones(5), np.ones(5), np.ones((5, 1)))
    for u in (None, np.empty((5, 0))):
        assert findings_of_time(keyed, Dependence("time"), u) == ()


def test_cases_of_a_test_at_other_forecasts_are_those_made_from_them() -> None:
    y, p, q = three()
    ones = np.ones(len(y))
    _, cases = prepared(p, y, ones, ones, None)
    assert isinstance(cases, Many)
    np.testing.assert_array_equal(cases.for_test(q).x, Many.scalar(q, LEAST_IN_TEST))


def test_confidence_beside_a_level_is_what_regression_on_the_level_leaves() -> None:
    y, p, _ = three()
    ones = np.ones(len(y))
    p, cases = prepared(p, y, ones, ones, None)
    found = run_tests(cases, p, 0)
    covariance = cases.covariance(p, cases.mass2)[:4, :4]
    direction = np.append(-np.linalg.lstsq(covariance[:3, :3], covariance[:3, 3], rcond=None)[0], 1.0)
    scalar, drawn = found.residuals[:4] @ direction, found.draws[:, :4] @ direction
    wanted = (1 + (np.abs(drawn) >= abs(scalar)).sum()) / (1 + len(drawn))
    assert found.slope[0] == pytest.approx(wanted, abs=2.1 / (1 + len(drawn)))
    assert found.slope[1] == np.sign(scalar)


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_the_epistemic_loss_with_known_truth_has_the_error_of_its_rows(rule: str) -> None:
    y, p, q = three()
    f = Forecasts(p, y, (0, 1, 2), ideal=q)
    made = losses(f, rule, None, map="bins")
    values = np.asarray(rule_of(rule).divergence(p, q))
    assert float(made.EL) == pytest.approx(values.mean(), rel=1e-12)
    error = values.std(ddof=1) / math.sqrt(len(y))
    assert made.EL.low is not None
    assert made.EL.high is not None
    assert (made.EL.high - made.EL.low) / 2 / 1.959964 == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_tree_has_as_many_levels_as_asked(depth: int) -> None:
    x = np.arange(4000) / 4000.0
    tree = grow(x[:, None], np.floor(x * 8)[:, None], depth)

    def levels_of(node: Any) -> int:
        return 0 if node is None else 1 + max(levels_of(node[2]), levels_of(node[3]))

    assert levels_of(tree) == depth
    assert tree is None or (tree[0] == 0 and tree[1] == pytest.approx(0.5, abs=1e-3))


def test_picks_below_chance_are_told_with_one_digit() -> None:
    y = np.arange(300) % 3
    p = np.where(np.eye(3)[y] == 1, 0.1, 0.45)
    p[:25] = np.where(np.eye(3)[y[:25]] == 1, 0.8, 0.1)
    (told,) = [f for f in vc.assess(y, p).findings if f.code == "picks_below_chance"]
    assert "8.3" in told.message
    assert "33.3" in told.message
    assert not {"8.33", "33.33"} & set(re.findall(r"[\d.]+", told.message))


def test_the_removable_share_is_near_the_truth_and_within_its_ends() -> None:
    rng = np.random.default_rng(8)
    z = rng.normal(0.0, 1.0, 20_000)
    q, p = 1.0 / (1.0 + np.exp(-z)), 1.0 / (1.0 + np.exp(-2.0 * z))
    y, ones = (rng.random(len(z)) < q).astype(int), np.ones(len(z))
    p, cases = prepared(p, y, ones, ones, None)
    loss = -np.log(cases.realised(p)).mean()
    q = 1.0 / (1.0 + np.sqrt((1.0 - p) / p))
    truth = 1.0 + np.log(cases.realised(q)).mean() / loss
    middle, low, high = removable_share(cases.for_fit(p), p, True, None, None)
    assert middle == pytest.approx(truth, abs=0.002)
    assert 0.0 < middle - low == pytest.approx(high - middle, rel=0.5)
    assert high < truth + 0.05


@pytest.mark.parametrize(("rows", "wanted"), [(8, 8), (199, 8), (200, 12), (5000, 12)])
def test_a_series_in_time_has_eight_blocks_and_a_long_one_twelve(rows: int, wanted: int) -> None:
    found = blocks(None, np.arange(rows), np.ones(rows))
    assert found is not None
    sizes = np.bincount(found)
    assert len(sizes) == wanted
    assert sizes.max() - sizes.min() <= 1


def test_one_forecast_for_all_has_one_parameter_to_fit() -> None:
    n, events = 1000, 600
    y, ones = (np.arange(n) < events).astype(int), np.ones(n)
    p, cases = prepared(np.full(n, 0.5), y, ones, ones, None)
    middle, _, _ = removable_share(cases.for_fit(p), p, True, None, None)
    gain = math.log(2.0) + 0.6 * math.log(0.6) + 0.4 * math.log(0.4)
    assert middle == pytest.approx((gain - 1 / (2 * n)) / math.log(2.0), rel=1e-3)


def test_p_values_of_many_clusters_are_never_zero() -> None:
    n = 8400
    y, block = (np.arange(n) % 2 == 0).astype(int), np.arange(n) // 2
    p, cases = prepared(np.full(n, 0.01), y, np.ones(n), np.ones(n), block)
    found = run_tests(cases, p, 0)
    assert found.p["level"] == pytest.approx(1 / 1000, rel=1e-9)


@pytest.mark.parametrize("flipped", [False, True])
def test_calibration_in_the_large_has_the_errors_of_a_level_and_of_a_ratio(flipped: bool) -> None:
    rng = np.random.default_rng(11)
    n = 40_000
    q = rng.beta(1.0, 4.0, n)
    y, ones = (rng.random(n) < q).astype(int), np.ones(n)
    p = q * 0.7 / (q * 0.7 + 1.0 - q)
    p, cases = prepared(p, y, ones, ones, None)
    assert isinstance(cases, Two)
    intercept, ratio = calibration_in_the_large(cases.for_fit(p), p, 0.95, flipped)
    event, y = (1.0 - p, 1 - cases.y) if flipped else (p, cases.y)
    sign = -1.0 if flipped else 1.0
    assert float(intercept) == pytest.approx(sign * math.log(1 / 0.7), abs=0.04)
    wanted = 1.0 / math.sqrt((q * (1.0 - q)).sum())
    assert half(intercept) == pytest.approx(1.96 * wanted, rel=0.05)
    assert float(ratio) == pytest.approx(event.sum() / y.sum(), rel=1e-9)
    logs = Reading(math.log(ratio), math.log(ratio.low or 0), math.log(ratio.high or 0))
    assert half(logs) == pytest.approx(1.96 * math.sqrt(((event / event.sum() - y / y.sum()) ** 2).sum()), rel=0.05)


def half(reading: Reading) -> float:
    assert reading.low is not None
    assert reading.high is not None
    return (reading.high - reading.low) / 2.0


@pytest.mark.parametrize(("levels", "wanted"), [("a", None), ("ab", "b"), ("abc", "b")])
def test_the_worst_level_is_named_where_there_are_two(levels: str, wanted: str | None) -> None:
    p = np.tile([0.1, 0.9], 150)
    group = np.array(list(levels))[np.arange(300) // 2 % len(levels)]
    y = np.where(group == "b", p < 0.5, p > 0.5).astype(int)
    y[::7] = 1 - y[::7]
    assert vc.assess(y, p, groups={"g": group}).groups["g"].worst == wanted


def test_known_log_probabilities_serve_the_log_loss_alone() -> None:
    y, p, _ = three(60)
    steps = chain(Forecasts(p, y, (0, 1, 2)), "bins")
    known = replace(steps, log_realised=np.log(p[np.arange(60), y]) - 1.0)
    np.testing.assert_allclose(known.rows("log", "S", "Y"), steps.rows("log", "S", "Y") + 1.0, rtol=1e-12)
    for rule, to in (("brier", "Y"), ("log", "C")):
        np.testing.assert_array_equal(known.rows(rule, "S", to), steps.rows(rule, "S", to))


def test_a_level_that_is_not_fitted_adds_little_to_the_removable_share() -> None:
    y, p, q = three(6000)
    ones = np.ones(len(y))
    p, cases = prepared(q, y, ones, ones, None)
    (_, _, fitted), (_, _, high) = (removable_share(cases.for_fit(p), p, level, None, None) for level in (True, False))
    assert 0.0 < fitted < 0.01
    assert 0.0 < high < 0.01


def test_picks_of_two_classes_below_chance_are_told_by_their_ranks_alone() -> None:
    p = np.tile([0.1, 0.2, 0.8, 0.9], 50)
    codes = {f.code for f in vc.assess((p < 0.5).astype(int), p).findings}
    assert "worse_than_chance" in codes
    assert "picks_below_chance" not in codes


@pytest.mark.parametrize(("rows", "told"), [(49, False), (50, True)])
def test_surprises_are_told_from_fifty_rows_on(rows: int, told: bool) -> None:
    p = np.where(np.arange(rows) < 5, 0.001, 0.99)
    y = np.ones(rows, int)
    y[-1] = 0
    assert ("surprises" in {f.code for f in vc.assess(y, p).findings}) == told


def test_forecasts_that_differ_by_more_than_a_cell_are_drawn_apart() -> None:
    """Of two rows whose log-odds are 0 and 0.08 only the second moves the scalar."""
    p = 1.0 / (1.0 + np.exp(-np.array([0.0, 0.08])))
    p, cases = prepared(p, np.array([0, 1]), np.ones(2), np.ones(2), None)
    drawn = cases.draws(p, np.random.default_rng(0))
    assert len(np.unique(drawn[:, 1].round(9))) == 2


@pytest.mark.parametrize(("others", "known"), [(3, False), (9, False), (10, True), (40, True)])
def test_skill_has_an_interval_from_ten_outcomes_other_than_the_usual_one(others: int, known: bool) -> None:
    y = (np.arange(200) < others).astype(int)
    p = np.where(y == 1, 0.4, 0.1 + 0.2 * (np.arange(200) % 2))
    found = vc.assess(y, p).skill
    assert found.log is not None
    assert found.brier is not None
    assert [found.log.low is not None, found.brier.low is not None] == [known, known]
