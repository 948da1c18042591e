"""Measured means against the truth of the source, which knows C = E[Y | S]."""

from __future__ import annotations

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, pair
from bench.measured import MOST_BIAS, SHIFTED_BIAS, SOURCES, found, shifted, table, true_means


def test_shifted_frequencies_of_three_classes_leave_the_measured_means_right() -> None:
    """The pooled curve of frequencies was off by .084, .052 and .019 here, at any number of cases."""
    true = true_means(shifted)
    assert [true[name] for name in ("decisiveness", "geometric_accuracy", "robustness")] == pytest.approx(
        (0.5207, 0.4451, 0.3755), abs=6e-4
    )
    drawn = [found(shifted, 20_000, seed) for seed in range(3)]
    for name in true:
        for measured, best in drawn:
            assert float(measured.reading(name)) == pytest.approx(best[name], abs=SHIFTED_BIAS)
            assert measured.reading(name).low - 0.003 < true[name] < measured.reading(name).high + 0.003


@pytest.mark.parametrize("name", ["two classes, over-confident", "two classes, level", "rare event"])
def test_intervals_of_measured_means_hold_the_truth_and_their_bias_is_small(name: str) -> None:
    """Forty draws know a coverage of 95 % to 3.4 points."""
    for cell in table(range(40), (1000,), {name: SOURCES[name]}):
        # 0.88 less two standard errors of forty draws; in 200 draws these cells have 0.895 to 0.98.
        assert cell["covered"] is None or cell["covered"] >= 0.78, cell
        assert abs(cell["bias"]) < MOST_BIAS * cell["sd"], cell


def test_the_measured_profile_follows_one_rule_for_every_r() -> None:
    """Where the adjustment to class frequencies is C at one of the three means, its neighbours on the axis have it."""
    steps, won = [], 0
    for seed in range(12):
        rng = np.random.default_rng([17, seed])
        x = rng.normal(0.0, 1.0, 120)
        a = vc.assess(draw(pair(x + 0.5), rng), pair(x))
        held = a.risk_profile
        r, measured = np.array(held.r), np.array(held.measured)
        inside = (r > -0.9) & np.isfinite(measured)
        bends = np.abs(np.diff(measured[inside], 2))
        steps.append(float(bends.max()))
        won += any(a.losses(at).CL == a.losses(at).AL > 0.0 for at in ("log", "brier"))
    assert won >= 3
    assert max(steps) < 2e-3, steps
