"""Time, groups and repeated rows beside the truth, in a minute; `python -m bench.stability` draws more."""

from __future__ import annotations

import pytest

from bench.stability import Row, groups, over_time, repeated, share

DRAWS = 20
LONG = ("n=3000", "k10", "40 groups")
ROWS = {one.name: one for table in (over_time, groups) for one in table() if not any(x in one.name for x in LONG)}


def held(rows: list[Row]) -> list[float]:
    return [share(one, DRAWS) for one in rows]


@pytest.mark.slow
def test_calibration_that_holds_throughout_is_rarely_said_to_change() -> None:
    false = held([one for one in ROWS.values() if one.aim is None])
    assert sum(false) / len(false) <= 0.07
    assert max(false) <= 0.25  # at 5 % a draw, 6 or more of 20 would be seen 3 times in 10,000


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, one in ROWS.items() if one.aim is not None])
def test_calibration_that_changes_is_found(name: str) -> None:
    aim = ROWS[name].aim
    assert aim is not None
    assert share(ROWS[name], DRAWS) >= aim - 0.33  # three standard errors of the power one half


@pytest.mark.slow
def test_rows_that_are_there_once_raise_no_alarm_and_five_copies_do() -> None:
    for one in repeated():
        if one.name.startswith("alone"):
            assert share(one, 3) == 0.0, one.name
        elif one.name.startswith("five copies") and "saturated" not in one.name:
            assert share(one, 3) == 1.0, one.name
