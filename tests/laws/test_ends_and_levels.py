"""Ends of intervals, degrees of freedom and levels of tests, each beside its definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import veracity as vc
from veracity.estimate.calibration.residuals import prepared
from veracity.estimate.calibration.slope import removable_share
from veracity.estimate.means.scores import misses
from veracity.formulas.differences import shrunk_means
from veracity.formulas.intervals import consistency_band, quantile, wilson
from veracity.state.plan import Plan
from veracity.state.tally import Tally


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [7, 40, 500])
def test_a_consistency_band_leaves_at_most_half_of_the_rest_on_each_side(n: int, level: float) -> None:
    p = np.linspace(0.03, 0.97, 20)
    low, high = consistency_band(p, np.full(20, float(n)), level)
    tail = (1.0 - level) / 2.0 + 1e-12
    drawn = stats.binom(n, p)
    assert (drawn.cdf(np.rint(low * n) - 1) <= tail).all()
    assert (drawn.sf(np.rint(high * n)) <= tail).all()
    inner = (drawn.cdf(np.rint(low * n)) > tail - 1e-9) & (drawn.sf(np.rint(high * n) - 1) > tail - 1e-9)
    assert inner.all()  # one step less on either side would leave more


def test_shrunk_means_have_the_errors_of_empirical_bayes() -> None:
    mean, error = np.array([0.2, 0.5, 0.9, 0.4]), np.array([0.1, 0.2, 0.15, 0.05])
    w = 1 / error**2
    centre = w @ mean / w.sum()
    between = (w @ (mean - centre) ** 2 - 3) / (w.sum() - w @ w / w.sum())
    kept, total = between / (between + error**2), (1 / (between + error**2)).sum()
    assert between > 0.0
    found, errors = shrunk_means(mean, error)
    common = (mean / (between + error**2)).sum() / total
    np.testing.assert_allclose(found, common + kept * (mean - common))
    np.testing.assert_allclose(errors, np.sqrt(kept * error**2 + (1 - kept) ** 2 / total))


@pytest.mark.parametrize(("gain", "error", "low"), [(0.05, 0.01, 0.05 - 1.96 * 0.01), (0.01, 0.02, 0.0)])
def test_the_removable_share_ends_below_where_the_cross_validated_gain_does(
    gain: float, error: float, low: float
) -> None:
    rng = np.random.default_rng(2)
    p = rng.uniform(0.05, 0.95, 800)
    y = (rng.random(800) < p).astype(int)
    ones = np.ones(800)
    held, cases = prepared(p, y, ones, ones, None, np.zeros(800, int))
    loss = -np.log(np.where(y == 1, p, 1 - p)).mean()
    middle, least, most = removable_share(cases, held, True, gain, error)
    assert (middle, least) == pytest.approx((gain / loss, low / loss), rel=1e-9)
    assert most >= (gain + 1.96 * error) / loss * (1 - 1e-9)


# -- clusters ---------------------------------------------------------------------------------------------------------


def clustered(clusters: int = 60, size: int = 4, seed: int = 3) -> tuple[Any, Any, Any]:
    """Cases whose clusters share forecasts nearly, and outcomes more for some clusters than for others."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(clusters), size)
    p = np.clip(np.repeat(rng.uniform(0.1, 0.9, clusters), size) + rng.normal(0, 0.05, len(of)), 0.05, 0.95)
    together = np.repeat(rng.random(clusters), size)
    return (np.where(of % 2, together, rng.random(len(of))) < p).astype(int), p, of


def widened(x: Any, of: Any) -> float:
    """t·se of clusters over z·se of rows, of the mean of x."""
    n, number = len(x), len(np.unique(of))
    u = (x - x.mean()) / n
    by_cluster = math.sqrt(number / (number - 1) * (np.bincount(of, u) ** 2).sum())
    by_row = math.sqrt(n / (n - 1) * (u**2).sum())
    return float(stats.t.ppf(0.975, number - 1) / stats.norm.ppf(0.975) * by_cluster / by_row)


@pytest.mark.parametrize(("name", "r"), [("decisiveness", 1.0), ("geometric_accuracy", 0.0), ("robustness", -2 / 3)])
def test_each_mean_is_widened_by_the_clusters_of_its_own_power(name: str, r: float) -> None:
    y, p, of = clustered()
    given = np.where(y == 1, p, 1 - p)
    alone, together = (getattr(vc.assess(y, p, clusters=held).reported, name) for held in (None, of))
    factor = widened(np.log(given) if r == 0.0 else given**r, of)
    assert factor > 1.2
    assert together - together.low == pytest.approx(factor * (alone - alone.low), rel=1e-6)
    assert together.high - together == pytest.approx(factor * (alone.high - alone), rel=1e-6)


def test_the_accuracy_of_clusters_is_that_of_as_many_fewer_rows_as_its_variance_is_larger() -> None:
    y, p, of = clustered()
    right = ((p > 0.5) == (y == 1)).astype(float)
    factor = widened(right, of)
    found = vc.assess(y, p, clusters=of).scores.accuracy
    assert factor > 1.2
    assert (found.low, found.high) == pytest.approx(wilson(right.mean(), len(y) / factor**2, 0.95), rel=1e-9)


# -- calibration errors, groups ---------------------------------------------------------------------------------------


def test_the_lower_end_of_a_calibration_error_is_without_what_chance_adds() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(0.0, 1.5, 2000)
    y, p = (rng.random(2000) < 1 / (1 + np.exp(-x))).astype(int), 1 / (1 + np.exp(-2 * x))
    for level in (0.8, 0.95):
        for error in dict(vc.assess(y, p, level=level).calibration_error.stated()).values():
            assert error.by_chance > 0.0
            reach = error.high - error.value
            assert error.low == pytest.approx(error.value - error.by_chance - reach, rel=1e-9)
    wide, narrow = (vc.assess(y, p, level=level).calibration_error.pooled for level in (0.95, 0.8))
    ratio = (wide.high - wide.value) / (narrow.high - narrow.value)
    assert ratio == pytest.approx(quantile(0.95) / quantile(0.8))


@pytest.mark.parametrize(("shift", "sign"), [(0.8, -1), (-0.8, 1)])
def test_z_of_a_group_is_below_zero_where_too_much_is_predicted(shift: float, sign: int) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(0.0, 1.0, 600)
    y, p = (rng.random(600) < 1 / (1 + np.exp(-x))).astype(int), 1 / (1 + np.exp(-x - shift))
    held = vc.assess(y, p, groups={"half": np.repeat(["first", "second"], 300)}).groups["half"].levels
    for i, name in enumerate(("first", "second")):
        own, happened = p[300 * i : 300 * (i + 1)], y[300 * i : 300 * (i + 1)]
        z = (happened - own).sum() / math.sqrt((own * (1 - own)).sum())
        assert math.copysign(1, z) == sign
        assert held[name].level.z == pytest.approx(z, rel=1e-6)


# -- comparisons ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_cases_for_power_are_those_of_a_test_at_the_level_asked_for(level: float) -> None:
    rng = np.random.default_rng(6)
    p = rng.uniform(0.05, 0.95, 400)
    y = (rng.random(400) < p).astype(int)
    near = np.clip(p + rng.normal(0.0, 0.05, 400), 0.02, 0.98)
    c = vc.compare(y, {"a": p, "b": near}, level=level)
    (d,), (needed,) = c.differences("log"), c.cases_needed()
    z = stats.norm.ppf(0.5 + level / 2) + stats.norm.ppf(0.8)
    assert needed.cases == math.ceil(400 * (z / d.z) ** 2)


def test_models_of_one_tier_are_not_told_apart_by_the_adjusted_p() -> None:
    """Single p-values below .05 are no difference where six pairs are tested."""
    rng = np.random.default_rng(2)
    x = rng.normal(0.0, 1.5, 400)
    y = (rng.random(400) < 1 / (1 + np.exp(-x))).astype(int)
    models = {f"m{i}": 1 / (1 + np.exp(-x - rng.normal(0.0, size, 400))) for i, size in enumerate((0.3, 0.5, 0.6, 0.7))}
    c = vc.compare(y, models)
    tiers, alone = c.record.ranking["log"], 0
    place = {name: i for i, tier in enumerate(tiers) for name in tier}
    for d in c.differences("log"):
        heads = (tiers[place[d.a]][0], tiers[place[d.b]][0])
        if heads[0] == heads[1] and {d.a, d.b} & set(heads):  # beside the best of their tier
            assert d.p_adjusted >= 0.05
            alone += d.p < 0.05
        elif set(heads) == {d.a, d.b} and abs(place[d.a] - place[d.b]) == 1:
            assert d.p_adjusted < 0.05
    assert alone


# -- limits of options and counts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", [{"floor": 0.5}, {"end_width": 0.5}, {"level": 1.0}, {"level": 0.0}, {"floor": -1e-9}]
)
def test_an_option_at_its_open_end_is_refused_by_name(given: dict[str, float]) -> None:
    ((name, value),) = given.items()
    with pytest.raises(ValueError, match=rf"^{name}: {value!r} is outside"):
        Plan(**given)


@pytest.mark.parametrize("given", [{"floor": 0.4999}, {"floor": 0.0}, {"end_width": 0.0}, {"level": 0.001}])
def test_an_option_just_inside_its_ends_is_taken(given: dict[str, float]) -> None:
    ((name, value),) = given.items()
    assert getattr(Plan(**given), name) == value


def test_an_outcome_with_exactly_one_half_is_a_miss() -> None:
    assert misses(Tally.of([1, 0, 1, 0, 1, 0], [0.5, 0.5, 0.501, 0.499, 0.2, 0.9])) == 4
