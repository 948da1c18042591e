"""Every measure equals what the fused pass reports, and carries its direction and range."""

from __future__ import annotations

import numpy as np
import pytest

from veracity import Forecasts, assess
from veracity.measures import AUC, MEASURES, OTHERS, Measure, mean_of_power, power_score, quantities


def task(k: int, one_column: bool = False) -> Forecasts:
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.6), 300)
    y = (rng.random((300, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    weights = rng.gamma(2.0, size=300)
    return Forecasts.of(y, p[:, 1] if one_column else p, sample_weight=weights, counts=rng.integers(1, 4, 300))


TASKS = [task(2, True), task(2), task(3), task(12)]


@pytest.mark.parametrize("f", TASKS, ids=lambda f: f"k={f.k}")
@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_measure_equals_the_fused_pass(measure: Measure, f: Forecasts) -> None:
    a = assess(f)
    if measure.needs == "two classes" and f.k > 2:
        assert a.scores.reading(measure.name) is None
        return
    reading = getattr(a, measure.section).reading(measure.name)
    assert measure(f) == pytest.approx(float(reading), rel=1e-12)
    assert measure.bounds[0] <= measure(f) <= measure.bounds[1]


@pytest.mark.parametrize("f", TASKS, ids=lambda f: f"k={f.k}")
def test_the_risk_profile_is_made_of_measures(f: Forecasts) -> None:
    profile = assess(f).risk_profile
    for r, value in zip(profile.r, profile.reported, strict=True):
        assert mean_of_power(float(r), "P")(f) == pytest.approx(value, rel=1e-12)


def test_power_scores_contain_log_loss_and_brier() -> None:
    f = TASKS[2]
    a = assess(f)
    assert power_score(0.0)(f) == pytest.approx(a.scores.log_loss, rel=1e-12)
    assert power_score(1.0)(f) == pytest.approx(a.scores.brier, rel=1e-12)


def test_only_proper_measures_choose_between_models() -> None:
    proper = {m.name for m in MEASURES if m.proper}
    assert proper == {"log_loss", "perplexity", "brier", "half_brier", "spherical", "geometric_accuracy"}
    assert all(m.better != "neither" for m in MEASURES if m.proper)
    assert all(m.cite and m.label and m.gloss and m.formula for m in MEASURES)


def test_every_path_is_described_once() -> None:
    paths = [quantity.path for quantity in (*MEASURES, *OTHERS)]
    assert len(paths) == len(set(paths)) == len(quantities())


def test_the_area_under_the_curve_counts_ties_half() -> None:
    f = Forecasts.of([0, 1, 1, 0], [0.2, 0.7, 0.2, 0.1], counts=[2, 1, 1, 3])
    pairs = [(0.7, 0.2, 2), (0.7, 0.1, 3), (0.2, 0.2, 2), (0.2, 0.1, 3)]
    wanted = sum(n * ((event > other) + 0.5 * (event == other)) for event, other, n in pairs) / 10
    assert AUC(f) == pytest.approx(wanted, abs=1e-12)
