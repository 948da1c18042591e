"""Laws of the measured means: model = source × divergence says loss = refinement + calibration, for every r > −1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.estimate.means.measured import NOT_PROPER, WORSE
from veracity.formulas.means import mean_of_score
from veracity.formulas.rules import rule as rule_of

MEANS = {"decisiveness": 1.0, "geometric_accuracy": 0.0, "robustness": -2.0 / 3.0}
AWAY = (-0.9, -2.0 / 3.0, -0.5, 0.3, 1.0, 2.0)


def case(k: int, n: int = 600, sharpened: float = 1.5, level: float = 0.5, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng([seed, k, n])
    z = rng.normal(0.0, 1.5, (n, k))
    q, p = (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for x in (z, sharpened * z + level * (np.arange(k) == 0)))
    y = (np.cumsum(q, axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return y, p


CASES = {
    "miscalibrated": {"k": 2},
    "calibrated": {"k": 2, "sharpened": 1.0, "level": 0.0},
    "few": {"k": 3, "n": 60},
    "level": {"k": 3, "sharpened": 1.0, "level": 1.0},
    "ten classes": {"k": 10, "n": 900},
}


@pytest.fixture(scope="module", params=[*CASES, "weighted", "clusters", "time", "map", "floor"])
def assessed(request: pytest.FixtureRequest) -> vc.Assessment:
    y, p = case(**CASES.get(request.param, {"k": 3}))
    rng = np.random.default_rng(1)
    options: dict[str, Any] = {
        "weighted": {"sample_weight": rng.gamma(2.0, size=len(y))},
        "clusters": {"clusters": rng.integers(0, 60, len(y))},
        "time": {"time": np.arange(len(y))},
        "map": {"map": "temperature"},
        "floor": {"floor": 0.05},
    }.get(request.param, {})
    return vc.assess(y, p, labels=list(range(p.shape[1])), **options)


def test_measured_is_the_refinement_loss_and_divergence_the_calibration_loss(assessed: vc.Assessment) -> None:
    losses = assessed.losses("log")
    assert assessed.measured.geometric_accuracy == pytest.approx(math.exp(-losses.RL), rel=1e-12)
    if assessed.provenance is not None and assessed.provenance.plan["map"] == "auto":
        assert assessed.divergence.geometric_accuracy == pytest.approx(math.exp(-losses.CL), rel=1e-12)


def test_reported_is_measured_times_divergence(assessed: vc.Assessment) -> None:
    for name, r in MEANS.items():
        reported = assessed.reported.reading(name) if assessed.floor == 0.0 else None
        product = assessed.measured.reading(name) * assessed.divergence.reading(name)
        if reported is not None:
            assert product == pytest.approx(reported, rel=1e-12)
        assert assessed.measured_at(r) == assessed.measured.reading(name)


@pytest.mark.parametrize("r", AWAY)
def test_measured_at_any_r_is_the_refinement_loss_of_that_r(assessed: vc.Assessment, r: float) -> None:
    left = float(assessed.losses(r).RL)
    assert assessed.measured_at(r) == pytest.approx((1.0 - r * left) ** (1.0 / r), rel=1e-12)


def test_the_profile_has_the_means_and_nothing_at_or_below_minus_one(assessed: vc.Assessment) -> None:
    profile = assessed.risk_profile
    held = dict(zip(profile.r, profile.measured, strict=True))
    for name, r in MEANS.items():
        assert held[min(held, key=lambda x, r=r: abs(x - r))] == float(assessed.measured.reading(name))
    for r, value in held.items():
        assert math.isnan(value) == (r <= -1.0)
        if r > -1.0:
            assert value == pytest.approx(float(assessed.measured_at(r)), rel=1e-12)
    assert not assessed.measured_at(-1.0).known
    assert assessed.measured_at(-1.5).reason == NOT_PROPER


@pytest.mark.parametrize("k", [2, 3])
def test_the_interval_is_that_of_the_row_values(k: int) -> None:
    y, p = case(k, 1500)
    a = vc.assess(y, p)
    found = a._shared.recalibration
    c, outcome = found.calibrated, found.outcomes
    for name, r in MEANS.items():
        own = c[np.arange(len(c)), outcome]
        values = np.log(own) if r == 0.0 else (1.0 + r) * own**r - r * (c ** (1.0 + r)).sum(axis=1)
        reading = a.measured.reading(name)
        error = values.std() / math.sqrt(len(values))
        if r != 0.0:
            error /= abs(r) * float(reading) ** r
            assert values.mean() ** (1.0 / r) == pytest.approx(float(reading), rel=1e-12)
        assert math.log(reading.high / reading.low) == pytest.approx(2.0 * 1.959963984540054 * error, rel=1e-9)


def test_divergence_has_the_interval_of_the_calibration_loss_and_elsewhere_at_most() -> None:
    y, p = case(2, 1500)
    a = vc.assess(y, p)
    loss = a.losses("log").CL
    found = a.divergence.geometric_accuracy
    assert (found.low, found.high) == pytest.approx((math.exp(-loss.high), math.exp(-loss.low)), rel=1e-12)
    for name, r in (("decisiveness", 1.0), ("robustness", -2.0 / 3.0)):
        reading, held = a.divergence.reading(name), a.losses(r)
        assert reading.low is None
        assert "at most" in reading.method
        least = (1.0 - r * (held.L - held.CL.low)) ** (1.0 / r)
        assert reading.high == pytest.approx(float(a.reported.reading(name)) / least, rel=1e-12)
        assert reading <= reading.high


def test_an_outcome_of_probability_0_leaves_a_measured_mean_and_no_divergence() -> None:
    y, p = case(2, 400)
    p[np.flatnonzero(y == 1)[:2]] = [1.0, 0.0]
    a = vc.assess(y, p)
    assert math.isinf(a.losses("log").CL)
    assert a.measured.geometric_accuracy == pytest.approx(math.exp(-a.losses("log").RL), rel=1e-12)
    assert 0.4 < a.measured.geometric_accuracy < 1.0
    assert (a.divergence.geometric_accuracy, a.divergence.robustness) == (0.0, 0.0)
    assert a.divergence.geometric_accuracy.low is None


def test_rows_in_parts_counted_or_in_another_order_measure_the_same() -> None:
    y, p = case(3, 700)
    whole = vc.assess(y, p, labels=[0, 1, 2])
    order = np.random.default_rng(3).permutation(700)
    twice = [vc.assess(np.tile(y, 2), np.tile(p, (2, 1)), labels=[0, 1, 2]), vc.assess(y, p, counts=np.full(700, 2))]
    parts = vc.assess(vc.Tally.of(y[:200], p[:200], labels=[0, 1, 2]) + vc.Tally.of(y[200:], p[200:], labels=[0, 1, 2]))
    classes = np.array([2, 0, 1])
    others = [
        (whole, vc.assess(y[order], p[order], labels=[0, 1, 2])),
        (whole, parts),
        (whole, vc.assess(y, p[:, classes], labels=classes.tolist())),
        tuple(twice),
    ]
    for one, other in others:
        for section in ("measured", "divergence"):
            for name in MEANS:
                first, second = (getattr(a, section).reading(name) for a in (one, other))
                assert float(first) == pytest.approx(float(second), rel=1e-9)
                assert (first.high is None) == (second.high is None)
                assert (first.high or 0.0) == pytest.approx(second.high or 0.0, rel=1e-9)


def test_fewer_than_twenty_cases_and_a_single_cluster_have_no_measured_mean_but_a_reason() -> None:
    y, p = case(2, 60)
    few, together = vc.assess(y[:19], p[:19]), vc.assess(y, p, clusters=np.zeros(60))
    for a, reason in ((few, "fewer than 20 cases"), (together, "all cases belong together")):
        for section in (a.measured, a.divergence):
            assert not any(one.known for one in section.readings().values())
            assert all(reason in one.reason for one in section.readings().values())
        assert not a.measured_at(0.5).known
        assert a.risk_profile.measured is None
        assert a.risk_profile.expected is not None
    assert vc.assess(y[:20], p[:20]).measured.geometric_accuracy.known


def test_means_that_surprises_decide_have_an_interval_from_a_thousand_cases_and_ten_of_each_class() -> None:
    y, p = case(2, 1400)
    rare = np.flatnonzero(y == 1)
    kept = np.sort(np.concatenate([np.flatnonzero(y == 0), rare[:9]]))
    for a, known in (
        (vc.assess(y, p), True),
        (vc.assess(y[:999], p[:999]), False),
        (vc.assess(np.append(y[kept], 0), np.append(p[kept], p[:1], axis=0)), False),
    ):
        assert (a.measured.robustness.low is not None) == known
        assert (a.measured_at(-0.7).low is not None) == known


def test_more_cases_than_are_cross_validated_have_the_score_of_all() -> None:
    y, p = case(3, 30_000)
    a = vc.assess(y, p, labels=[0, 1, 2])
    for r in (-0.5, 0.3):
        loss = float(np.mean(rule_of(r).score(p, y)))
        assert pytest.approx(loss, rel=1e-6) == a.losses(r).L  # from cells of the grid
        assert a.measured_at(r) == pytest.approx((1.0 - r * a.losses(r).RL) ** (1.0 / r), rel=1e-12)


def test_a_score_worse_than_any_mean_has_no_value() -> None:
    assert math.isnan(mean_of_score(0.7, 2.0))
    assert mean_of_score(math.inf, -0.5) == 0.0
    y, p = np.array([0, 1] * 20), np.tile([[0.01, 0.99], [0.99, 0.01]], (20, 1))
    found = vc.assess(y, p, map="identity").measured.decisiveness
    assert math.isnan(found)
    assert found.reason == WORSE
