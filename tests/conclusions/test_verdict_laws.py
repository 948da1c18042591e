"""Laws of the calibration verdict: sums of residuals, their covariance, draws, order, counts, weights and blocks."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from bench._truth import draw, stated, truth
from veracity.estimate.calibration import slope
from veracity.estimate.calibration.calibration_tests import run_tests
from veracity.estimate.calibration.residuals import RANGES, Many, Two, prepared, ranges_of
from veracity.estimate.calibration.verdict import blocks, judge, spread_zeros
from veracity.formulas.differences import noncentrality_bound
from veracity.records.verdict import Verdict

NAMES = [f"class {j}" for j in range(10)]


def source(kind: str, n: int, seed: int, error: str = "cal", size: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    q = truth(kind, n, rng)
    return stated(q, error, size), draw(q, rng)


def cases_of(p: Any, y: Any, weight: Any = None, count: Any = None, block: Any = None) -> tuple[Any, Two | Many]:
    ones = np.ones(len(y))
    p = p[:, 1] if p.shape[1] == 2 else p
    return prepared(p, y, ones if count is None else count, ones if weight is None else weight, block)


def numbers(verdict: Verdict) -> list[Any]:
    gain = verdict.gain
    tests = (verdict.level.p, verdict.confidence.p, verdict.shape.p)
    return [*tests, float(verdict.slope), verdict.slope.low, float(gain), gain.low, gain.high, verdict.detectable]


def same(a: Verdict, b: Verdict) -> None:
    assert (a.word, a.state, a.zero_rows) == (b.word, b.state, b.zero_rows)
    assert list(a.level.classes) == list(b.level.classes)
    # Sums over rows in another order differ in their last bits; Newton steps keep them there.
    assert numbers(a) == pytest.approx(numbers(b), rel=1e-9, abs=1e-12)


# -- residuals and their covariance ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bin", "k5"])
@pytest.mark.parametrize("weighted", [False, True])
def test_covariance_is_that_of_all_outcomes_of_every_row(kind: str, weighted: bool) -> None:
    p, y = source(kind, 40, 1)
    weight = np.random.default_rng(2).random(40) + 0.5 if weighted else None
    q, cases = cases_of(p, y, weight)
    k = 2 if q.ndim == 1 else q.shape[1]
    total = np.zeros_like(cases.covariance(q, cases.mass2))
    for i in range(len(y)):
        one = cases.take(slice(i, i + 1))
        outcomes = [one.__class__(**{**vars_of(one), "y": np.array([j])}).residuals(q[i : i + 1]) for j in range(k)]
        chance = [1 - q[i], q[i]] if q.ndim == 1 else q[i]
        mean = sum(c * t for c, t in zip(chance, outcomes, strict=True))
        assert np.abs(mean).max() < 1e-12
        total += sum(c * np.outer(t, t) for c, t in zip(chance, outcomes, strict=True))
    np.testing.assert_allclose(cases.covariance(q, cases.mass2), total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(cases.variances(q), np.diag(total), rtol=1e-12, atol=1e-12)


def vars_of(cases: Two | Many) -> dict[str, Any]:
    return {name: getattr(cases, name) for name in cases.__dataclass_fields__}


@pytest.mark.parametrize("kind", ["bin", "k5"])
def test_residuals_are_the_gradient_of_the_log_likelihood(kind: str) -> None:
    p, y = source(kind, 200, 3)
    q, cases = cases_of(p, y)
    gradient, step = cases.residuals(q), 1e-6
    for column in range(len(gradient)):
        theta = np.zeros(len(gradient))
        theta[column] = step
        up, down = (np.log(cases.realised(cases.tilted(q, sign * theta))).sum() for sign in (1, -1))
        assert (up - down) / (2 * step) == pytest.approx(gradient[column], abs=1e-6)  # central differences


@pytest.mark.parametrize("kind", ["bin", "k5"])
def test_sums_by_block_add_to_the_residuals(kind: str) -> None:
    p, y = source(kind, 300, 4)
    q, cases = cases_of(p, y, block=np.random.default_rng(0).integers(0, 9, 300))
    sums = cases.residuals_by_block(q)
    assert len(sums) == 9
    np.testing.assert_allclose(sums.sum(axis=0), cases.residuals(q), atol=1e-10)


@pytest.mark.parametrize("kind", ["bin", "k5", "sat10"])
@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_residuals_have_mean_zero_and_the_exact_covariance(kind: str, weighted: bool) -> None:
    p, y = source(kind, 300, 5)
    q, cases = cases_of(p, y, np.random.default_rng(3).random(300) + 0.5 if weighted else None)
    drawn = cases.draws(q, np.random.default_rng(0))[:, : len(cases.variances(q))]
    error = np.sqrt(np.maximum(cases.variances(q), 1e-12))
    # 999 draws: the mean has an error of 3 % of the standard deviation, the deviation one of 2 to 10 %.
    assert np.abs(drawn.mean(axis=0) / error).max() < 0.16
    seen = cases.variances(q) > 1.0
    assert drawn.std(axis=0)[seen] / error[seen] == pytest.approx(np.ones(seen.sum()), abs=0.17)


def test_normal_draws_have_the_margins_of_drawn_outcomes() -> None:
    p, y = source("k10", 1500, 6)
    q, cases = cases_of(p, y)
    assert isinstance(cases, Many)
    outcomes, normal = (make(q, np.random.default_rng(0)) for make in (cases.outcome_draws, cases.normal_draws))
    scale = np.sqrt(cases.variances(q))
    seen = scale > 0.5
    for quantile in (0.025, 0.5, 0.975):
        held = (drawn[:, : cases.beyond] for drawn in (outcomes, normal))
        a, b = (np.quantile(drawn, quantile, axis=0)[seen] / scale[seen] for drawn in held)
        assert a == pytest.approx(b, abs=0.45)  # counts are whole numbers, and 999 draws have errors of 8 %


# -- what must not matter ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "error"), [("bin", "T"), ("k5", "T"), ("k5", "bias"), ("sat10", "cal")])
def test_order_of_rows_does_not_matter(kind: str, error: str) -> None:
    p, y = source(kind, 600, 7, error, 1.3 if error == "T" else 0.4)
    order = np.random.default_rng(0).permutation(600)
    names = NAMES[: p.shape[1]]
    same(judge(p, y, names), judge(p[order], y[order], names))


@pytest.mark.parametrize(("kind", "error"), [("bin", "T"), ("k5", "T"), ("k5", "bias"), ("sat10", "T")])
def test_order_of_classes_does_not_matter(kind: str, error: str) -> None:
    p, y = source(kind, 600, 8, error, 1.3 if error == "T" else 0.4)
    k = p.shape[1]
    order = np.random.default_rng(1).permutation(k) if k > 2 else np.array([1, 0])
    same(judge(p, y, NAMES[:k]), judge(p[:, order], np.argsort(order)[y], [NAMES[j] for j in order]))


def test_event_is_described_as_the_caller_named_it() -> None:
    p, y = source("bin", 2000, 9, "bias", 0.6)
    plain, swapped = judge(p, y, ["a", "b"]), judge(p[:, ::-1], 1 - y, ["b", "a"])
    assert list(plain.level.classes) == ["b"]
    assert list(swapped.level.classes) == ["a"]
    one, other = plain.level.classes["b"], swapped.level.classes["a"]
    assert one.predicted == pytest.approx(1.0 - other.predicted, abs=1e-12)
    assert one.z == pytest.approx(-other.z, abs=1e-9)
    assert plain.intercept == pytest.approx(-float(swapped.intercept or 0.0), abs=1e-9)


@pytest.mark.parametrize("kind", ["bin", "k5"])
def test_count_two_is_the_row_twice(kind: str) -> None:
    p, y = source(kind, 300, 10, "T", 1.3)
    counts = np.random.default_rng(0).integers(0, 4, 300)
    rows = np.repeat(np.arange(300), counts)
    names = NAMES[: p.shape[1]]
    same(judge(p, y, names, counts=counts), judge(p[rows], y[rows], names))


@pytest.mark.parametrize("kind", ["bin", "k5"])
def test_scale_of_weights_does_not_matter_and_equal_weights_are_none(kind: str) -> None:
    p, y = source(kind, 400, 11, "T", 1.3)
    names, weights = NAMES[: p.shape[1]], np.random.default_rng(0).random(400) + 0.1
    same(judge(p, y, names, weights=weights), judge(p, y, names, weights=7.0 * weights))
    same(judge(p, y, names, weights=np.full(400, 3.0)), judge(p, y, names))


def test_one_column_is_two_columns() -> None:
    p, y = source("bin", 400, 12)
    same(judge(p, y, ["a", "b"]), judge(p[:, 1], y, ["a", "b"]))


def test_cut_in_any_precision_belongs_to_the_range_above_it() -> None:
    cuts = np.array([0.001, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99, 0.999])
    for written in (cuts, cuts.astype(np.float32).astype(np.float64), 1.0 - (1.0 - cuts)):
        assert ranges_of(written).tolist() == list(range(1, RANGES))
    assert ranges_of(cuts - 1e-6 * cuts).tolist() == list(range(RANGES - 1))


# -- zeros, blocks, tests ----------------------------------------------------------------------------------------------


def test_zero_entries_share_half_a_case_and_rows_still_sum_to_one() -> None:
    p = np.array([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
    found = spread_zeros(p, 100)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(found[0], [0.4975, 0.4975, 0.0025, 0.0025], atol=1e-15)
    np.testing.assert_array_equal(found[2], p[2])
    np.testing.assert_allclose(spread_zeros(np.array([0.0, 1.0, 0.3]), 100), [0.005, 0.995, 0.3], atol=1e-15)


def test_series_has_contiguous_blocks_of_equal_size_whatever_the_order() -> None:
    time = np.random.default_rng(0).permutation(240).astype(float)
    found = blocks(None, time, np.ones(240))
    assert found is not None
    assert np.bincount(found).tolist() == [20] * 12
    assert (np.diff(found[np.argsort(time)]) >= 0).all()
    short = blocks(None, np.repeat(np.arange(16.0), 10), np.ones(160))
    assert short is not None
    assert len(np.unique(short)) == 8


def test_all_signs_of_few_blocks_are_taken_so_no_seed_matters() -> None:
    p, y = source("k5", 240, 13)
    found = [judge(p, y, NAMES[:5], time=np.arange(240.0), seed=seed) for seed in (0, 1)]
    assert numbers(found[0]) == numbers(found[1])
    assert found[0].method.startswith("signs of 12 blocks")


@pytest.mark.parametrize(("x", "df"), [(3.0, 2.0), (40.0, 12.0), (9999.0, 12.0), (10_001.0, 12.0)])
def test_noncentrality_bound_leaves_the_tail(x: float, df: float) -> None:
    from scipy.special import chndtr

    # Beyond 1e4 the bound is a normal approximation.
    assert chndtr(x, df, noncentrality_bound(x, df)) == pytest.approx(0.025, abs=1e-6 if x < 1e4 else 3e-3)


@pytest.mark.parametrize("kind", ["bin", "k5"])
def test_fit_matches_class_frequencies_and_finds_the_slope(kind: str) -> None:
    p, y = source(kind, 60_000, 14, "T", 1.25)
    q, cases = cases_of(p, y)
    found = slope.fit(cases.for_fit(q), q, level=True, scalar=True)
    if kind == "bin":  # more classes are fitted on 20,000 rows
        # The ridge of ½ holds the level back by ½·θ.
        assert abs(cases.residuals(found.p)[0]) <= 0.5 * abs(found.theta[0]) + 1e-2
    assert 1.0 + found.theta[cases.levels] == pytest.approx(1 / 1.25, abs=0.02)
    assert not found.theta[-RANGES:].any()


def test_confidence_of_constant_forecasts_is_never_tested() -> None:
    q, cases = cases_of(np.tile([0.7, 0.3], (200, 1)), np.tile([0, 0, 1, 0], 50))
    assert run_tests(cases, q, 0).slope[0] == 1.0


def test_steps_by_the_diagonal_reach_nearly_the_fit_of_newton_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(30, 0.5), 600)
    q = p * np.exp(rng.normal(size=30))
    q /= q.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(30, p=row) for row in q])
    p, cases = prepared(p, y, np.ones(600), np.ones(600), None, ranges_of(p))
    newton = slope.fit(cases.for_fit(p), p, level=True)
    monkeypatch.setattr(slope, "MOST_FREE", 0)
    diagonal = slope.fit(cases.for_fit(p), p, level=True)
    assert np.abs(newton.p - p).max() > 0.1
    np.testing.assert_allclose(diagonal.p, newton.p, atol=2e-3)


def test_the_information_about_a_slope_needs_no_square_of_the_classes() -> None:
    k, rng = 20_000, np.random.default_rng(0)
    p = rng.dirichlet(np.full(k, 0.1), 20)
    p, cases = prepared(p, np.arange(20), np.ones(20), np.ones(20), None, ranges_of(p))
    tracemalloc.start()
    slope.calibration_slope(cases.for_fit(p), p, False, 0.95)
    slope.removable_share(cases.for_fit(p), p, False, None, None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * p.nbytes < 8 * k**2
