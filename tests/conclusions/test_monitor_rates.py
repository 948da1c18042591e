"""Monitors of known truth: few false alarms, changes found soon, the right words. At length: bench/monitor.py."""

from __future__ import annotations

import numpy as np
import pytest

from bench.monitor import (
    YEAR,
    Change,
    _alarm_of_more,
    alarm_days,
    detector_after,
    joined,
    path,
    reference_of,
    simulated,
)
from veracity.records.monitoring import OVER, TOO_HIGH


@pytest.mark.parametrize("sd", [0.0, 0.3])
@pytest.mark.parametrize(("cases", "most"), [(500, 6), (2000, 4)])  # 8 and 5 % of 25, and three standard errors
def test_calibrated_forecasts_seldom_alarm_in_a_year_of_daily_looks_even_if_days_differ(
    cases: int, most: int, sd: float
) -> None:
    found = simulated(25, cases, sd, Change(), YEAR, 11)
    assert (found > 0).sum() <= most


@pytest.mark.parametrize(("k", "cells"), [(3, 64), (10, 32)])
def test_more_classes_seldom_alarm_in_a_year_though_every_level_of_the_reference_is_an_estimate(
    k: int, cells: int
) -> None:
    found = [_alarm_of_more(np.random.default_rng([draw, k, 14]), k, cells, 500, 0.0) for draw in range(25)]
    assert sum(found) <= 6  # 8 % of 25, and three standard errors


@pytest.mark.parametrize(
    ("change", "days"), [(Change(level=-0.3), 18), (Change(slope=0.8), 37), (Change(slope=0.6), 6)]
)
def test_after_a_reference_of_2000_cases_a_change_is_found_soon(change: Change, days: float) -> None:
    found = simulated(150, 2000, 0.0, change, 60, 12)
    assert np.median(np.where(found == 0, np.inf, found)) <= 1.25 * days


@pytest.mark.parametrize(("change", "word"), [(Change(level=-0.5), TOO_HIGH), (Change(slope=0.6), OVER)])
def test_the_word_and_the_beginning_of_a_change_are_right(change: Change, word: str) -> None:
    right, began = 0, []
    for seed in range(6):
        rng = np.random.default_rng([seed, 13])
        held = reference_of(rng, 6000, 0.0)
        sums = joined(path(rng, held, Change(), 0.0, 20), path(rng, held, change, 0.0, 40))
        day = int(alarm_days([sums], held)[0])
        assert day > 20
        since, words, _ = detector_after(sums, held, day).explanation(held.alternatives)
        right += words == (word,)
        began.append(since - 20)
    assert right >= 5
    assert abs(float(np.median(began))) <= 3
