"""False dominance, wrong winners, bands and intervals of decisions on sources whose truth is known, in short.

The long versions with their figures are `bench/decisions.py` and `docs/decisions.md`.
"""

from __future__ import annotations

import numpy as np
import pytest

from bench.decisions import false_dominance, power, prevalence, reliability

DRAWS = 60


def test_equally_good_models_are_seldom_told_apart() -> None:
    found = [numbers for _, numbers in false_dominance(DRAWS // 2)]
    for numbers in found:  # 5 % with 30 draws: more than 6 false ones happen in 1 of 2,000 runs
        assert max(numbers.values()) <= 0.2
    assert np.mean([numbers["thresholds"] for numbers in found]) <= 0.1


def test_a_clearly_better_model_is_found_and_the_worse_one_never() -> None:
    (_, first), (_, second), *_ = power(20)
    assert first["some threshold"] >= 0.9
    assert second["all of 30–70 %"] >= 0.85
    assert first["wrong winner"] == second["wrong winner"] == 0.0


def test_the_band_of_rising_curves_holds_the_whole_curve() -> None:
    for _, numbers in reliability(20):
        assert numbers["covers"] >= 0.9


def test_intervals_at_another_prevalence_cover() -> None:
    for _, numbers in prevalence(DRAWS):
        assert min(numbers.values()) >= 0.85


@pytest.mark.parametrize("seed", range(3))
def test_useless_forecasts_are_not_called_useful(seed: int) -> None:
    import veracity as vc

    rng = np.random.default_rng(seed)
    assert vc.assess(rng.integers(0, 2, 500), rng.random(500)).decisions.useful == ()
