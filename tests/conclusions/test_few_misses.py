"""Few outcomes that surprise: nothing is claimed, and no interval is shown, that the next case could overturn."""

from __future__ import annotations

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, stated, truth
from veracity.show import first_screen
from veracity.show.blocks import Sentence
from veracity.show.specialists import class_table

FEW = "fewer than 10"


def rare(seed: int, n: int = 100) -> tuple[vc.Assessment, int]:
    """Return calibrated forecasts of an event of about 1 %, and how often it happened."""
    rng = np.random.default_rng(seed)
    q = truth("rare", n, rng)
    y = draw(q, rng)
    return vc.assess(y, q, labels=[0, 1]), int(y.sum())


@pytest.mark.parametrize("seed", range(12))
def test_rare_events_allow_no_claim_of_use_or_fix(seed: int) -> None:
    a, events = rare(seed)
    assert events < 10
    said = [block for block in first_screen(a) if isinstance(block, Sentence)]
    assert not [block for block in said if block.title in ("Fix", "Useful", "Worse than the baseline")]
    assert a.losses("log").CL.low == 0.0
    assert a.verdict_detail.gain.low == 0.0
    assert FEW in (a.reported.geometric_accuracy.reason or "")


def test_log_loss_of_rare_events_varies_as_the_forecasts_say() -> None:
    held = [rare(seed)[0].scores.log_loss for seed in range(40)]
    true = float(np.mean(held))  # of 4,000 cases
    inside = [one.low is not None and one.high is not None and one.low <= true <= one.high for one in held]
    assert np.mean(inside) >= 0.9  # 0.6 by the variance of the cases alone


def test_constant_forecasts_have_no_slope() -> None:
    y = (np.random.default_rng(3).random(200) < 0.3).astype(int)
    assert "do not vary" in (vc.assess(y, np.full(200, 0.3)).verdict_detail.slope.reason or "")


def test_verdicts_of_groups_share_the_chance_of_a_false_one() -> None:
    false = []
    for seed in range(25):
        q = truth("bin", 600, rng := np.random.default_rng([5, seed]))
        a = vc.assess(draw(q, rng), q, labels=[0, 1], groups={"site": rng.integers(0, 8, 600)})
        words = [level.verdict for level in a.groups["site"].levels.values()]
        false.append(any(word not in ("no miscalibration found", "calibrated") for word in words))
    assert np.mean(false) <= 0.15  # of eight verdicts at 5 % each a third of the draws would have one


def test_verdicts_of_groups_that_no_number_of_signs_could_reject_are_not_given() -> None:
    rng = np.random.default_rng(6)
    p = rng.uniform(0.3, 0.6, 400)
    y, site = (rng.random(400) < p + 0.35).astype(int), np.arange(400) % 4
    found = vc.assess(y, p, time=np.arange(400), groups={"site": site}).groups["site"].levels  # eight blocks each
    assert {level.verdict for level in found.values()} == {"not measurable"}
    alone = vc.assess(y[:100], p[:100], time=np.arange(100))
    assert "biased" in alone.verdict
    two = vc.assess(y, p, time=np.arange(400), groups={"site": site // 2}).groups["site"].levels  # twelve blocks each
    assert all("biased" in level.verdict for level in two.values())


def test_classes_are_named_below_their_table_only_where_the_verdict_names_them() -> None:
    q = truth("k5", 400, rng := np.random.default_rng(8))
    for p in (q, stated(q, "bias", 0.6)):
        a = vc.assess(draw(q, rng), p)
        table = class_table(a)
        assert table is not None
        assert ("Predicted too often or too rarely" in " ".join(table.notes)) == bool(a.verdict_detail.level.classes)


@pytest.mark.parametrize("preset", ["CQ", "N17"])
def test_published_procedures_are_named_below_their_means(preset: str) -> None:
    q = truth("bin", 300, rng := np.random.default_rng(2))
    a = vc.assess(draw(q, rng), q, preset=preset)
    assert a.papers.asked[1].measured == a.papers.published.measured
    assert f"published in {preset}" in repr(a).replace("\n", " ")


def test_certain_forecasts_that_were_all_right_have_no_interval_of_losses() -> None:
    y = np.arange(100) % 2
    a = vc.assess(y, y.astype(float))
    for name in ("log_loss", "brier", "half_brier", "spherical"):
        assert a.scores.reading(name) == 0.0
        assert a.scores.reading(name).low is None
        assert "certain and right" in a.scores.reading(name).reason


def test_one_observed_class_has_no_slope() -> None:
    slope = vc.assess(np.zeros(150, dtype=int), np.linspace(0.0, 0.1, 150), labels=[0, 1]).verdict_detail.slope
    assert np.isnan(slope)
    assert "only one class" in slope.reason


def test_means_are_not_called_recalibrated_where_cases_are_too_few_to_judge() -> None:
    y, p = np.tile([0, 1, 1], 10), np.tile([0.2, 0.7, 0.9], 10)
    assert "recalibrated" in repr(vc.assess(y, p))
    assert "recalibrated" not in repr(vc.assess(y[:19], p[:19]))


def test_outcomes_that_were_next_to_impossible_are_judged_without_a_division_by_zero() -> None:
    y = np.repeat([0, 1, 2], [21, 4, 28])
    found = vc.assess(
        y, np.tile([3.5e-17, 2e-29, 1.0], (53, 1)), labels=[0, 1, 2]
    ).verdict_detail  # warnings are errors
    assert found.state == "found"
    assert found.shape.where.z < 0.0
