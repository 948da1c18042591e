"""How often the verdict is right, in two minutes; `python -m bench.verdict` draws more and prints the whole table."""

from __future__ import annotations

from functools import cache

import pytest

from bench.verdict import LONG, MOST_FALSE, Row, calibrated, miscalibrated, share, sizes, wrong_words

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
