"""A short run of every target of `fuzz.py`; `make prove` runs them for as long as it is told."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.prove import fuzz

# about two seconds each
EXAMPLES = {
    "tally": 300, "checkpoint": 500, "fitted_map": 1000, "document": 40, "kernel": 300, "assess": 150,
    "reader": 600, "compared_files": 150, "words": 2000,
}  # fmt: skip


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_inputs_nobody_would_send_are_answered_or_refused(name: str) -> None:
    @settings(
        max_examples=EXAMPLES[name],
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**64 - 1))
    def attack(seed: int) -> None:
        fuzz.TARGETS[name](Random(seed))

    attack()


@pytest.mark.parametrize("draw", ["tally 47 11246", "tally 47 32926"])
def test_inputs_that_failed_once(draw: str) -> None:
    """Σ p^(−2/3) of the other rows below their number; a lowest row that weighs more than all rows."""
    fuzz.TARGETS[draw.split()[0]](Random(draw))


def test_no_target_refuses_everything() -> None:
    """What is refused whatever it is proves nothing: unchanged tallies, maps, documents and files are taken."""
    import json

    import veracity as vc
    from veracity import calibrators, read

    assert all(vc.Tally.from_bytes(data).sums.rows for data in fuzz.tallies())
    assert len({calibrators.from_json(json.dumps(held)).name for held in fuzz.fitted_maps()}) == len(
        calibrators.names()
    )
    assert all(vc.Assessment.from_json(json.dumps(held)).n == 80 for held in fuzz.documents())
    taken = 0
    for name, data in fuzz.files():
        path = fuzz.folder() / name
        path.write_bytes(data)
        try:
            taken += bool(read.open([str(path)], read.ReadOptions()).read())
        except ValueError:
            continue
    assert taken == 7  # all but a table of counts
