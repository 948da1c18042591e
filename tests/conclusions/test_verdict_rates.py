"""How often the verdict is right, in two minutes; `python -m bench.verdict` draws more and prints the whole table."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import veracity as vc
from bench._truth import draw, stated, truth
from bench.sentences import cases
from bench.verdict import LONG, MOST_FALSE, Row, calibrated, miscalibrated, share, sizes, wrong_words
from veracity.estimate.calibration.per_class import per_class

DRAWS = 40


def rows(table: object, *, every: int = 1) -> list[Row]:
    found = [row for row in table if not any(part in row.name for part in LONG)]  # type: ignore[attr-defined]
    return found[::every]


CALIBRATED = {row.name: row for row in rows(calibrated())}


@cache
def false_statements(name: str) -> float:
    return share(CALIBRATED[name], DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_forecasts_are_rarely_called_anything_else(name: str) -> None:
    # At 5 % a draw, 7 or more of 40 would be seen 3 times in 1,000.
    assert false_statements(name) <= 6 / DRAWS


@pytest.mark.slow
def test_false_statements_of_all_calibrated_sources_together_keep_the_level() -> None:
    assert sum(false_statements(name) for name in CALIBRATED) / len(CALIBRATED) <= MOST_FALSE


@pytest.mark.slow
@pytest.mark.parametrize("row", rows(miscalibrated()), ids=lambda row: row.name)
def test_known_errors_are_called_by_the_right_word(row: Row) -> None:
    # Two standard errors of 40 draws below what the table asks for.
    assert share(row, DRAWS) >= row.least - 2 * (row.least * (1 - row.least) / DRAWS) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("row", rows(wrong_words()), ids=lambda row: row.name)
def test_wrong_level_is_rarely_called_a_wrong_confidence(row: Row) -> None:
    assert share(row, DRAWS) <= 5 / DRAWS  # at 5 %, 6 or more would be seen once in 70 times


@pytest.mark.slow
@pytest.mark.parametrize("row", rows(sizes(), every=3), ids=lambda row: row.name)
def test_share_said_to_be_removable_is_rarely_too_small(row: Row) -> None:
    assert share(row, DRAWS) <= 5 / DRAWS


@pytest.mark.parametrize(("kind", "n"), [("k10", 1000), ("sat10", 1000)])
def test_over_confidence_alone_names_no_class(kind: str, n: int) -> None:
    """Outcomes of forecasts that are too extreme vary by more than these say; that is no fault of a class."""
    named = 0
    for seed in range(60):
        rng = np.random.default_rng([31, seed])
        q = truth(kind, n, rng)
        tally = vc.Tally.of(draw(q, rng), stated(q, "T", 2.0), labels=list(range(10)))
        readings = per_class(tally.classwise, tally.classes).values()
        named += any(one.p is not None and one.p < 0.05 for one in readings)
    # With the variance of the forecasts alone it was 31 and 85 of 100 draws; 5 % of 60 and two standard errors.
    assert named <= 6


@pytest.mark.slow
def test_sentences_of_a_hundred_simulated_cases_are_true() -> None:
    # Chance makes 5 % of tests reject: more than 10 of 100 would be seen once in a hundred runs.
    false = [case.name for case in cases(seed=7) if case.faults()]
    assert len(false) <= 10, false
