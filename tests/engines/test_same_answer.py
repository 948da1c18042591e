"""In memory, streamed, on Dask and on Spark: identical counts and measured metrics, moments to 1e-12."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veracity.kernels import Histogram
from veracity.measures import MEANS
from veracity.read import ReadOptions, read
from veracity.results.assess import assessment as of_tally
from veracity.state.plan import Plan
from veracity.state.tally import Tally

READINGS = {"grouped": ReadOptions(group=("site",)), "weighted": ReadOptions(weight="w", count="times")}


def in_memory(folder: Path, reading: ReadOptions) -> dict[str, Tally]:
    files = [f for f in sorted(folder.iterdir()) if "03" not in f.name]  # the one without rows
    return {model: Tally.of(f, plan=Plan()) for model, f in read(files, reading).items()}


def same(a: Tally, b: Tally) -> None:
    for mine, yours in zip((a.pooled, a.top, *a.classwise), (b.pooled, b.top, *b.classwise), strict=True):
        for name in Histogram.__dataclass_fields__:
            x, y = getattr(mine, name), getattr(yours, name)
            if x is None:
                assert y is None, name
            elif name in ("cells", "all", "true"):
                np.testing.assert_array_equal(x, y, err_msg=name)
            else:
                # The lowest cell of many classes is a total less the other cells: exact relative to the total.
                np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12 * np.abs(x).sum(), err_msg=name)
    assert (a.sums.rows, a.sums.zeros, a.cases) == (b.sums.rows, b.sums.zeros, b.cases)
    for name in ("weight", "weight2", "score", "by_class", "column", "powers", "log_tiny"):
        x, y = getattr(a.sums, name), getattr(b.sums, name)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12, err_msg=name)
    # In memory the rows of all files have one numbering; in parts, each file has its own.
    assert sorted((low[0], *low[2:]) for low in a.lowest) == sorted((low[0], *low[2:]) for low in b.lowest)
    assert {f.code: f.count for f in a.findings} == {f.code: f.count for f in b.findings}
    assert a.complete == b.complete
    for name in ("probabilities", "outcomes", "weights", "counts", "log_realised"):
        np.testing.assert_array_equal(getattr(a.rows, name), getattr(b.rows, name), err_msg=name)


@pytest.mark.parametrize("kind", ["binary", "grouped", "weighted", "logs", "many", "very many", "text"])
def test_tallies_of_every_engine_equal_those_in_memory(engine: Any, folder: Callable[[str], Path], kind: str) -> None:
    reading = READINGS.get(kind, ReadOptions())
    found = engine.tallies(folder(kind), reading)
    expected = in_memory(folder(kind), reading)
    assert set(found) == set(expected)
    for model, tally in expected.items():
        same(tally, found[model])


def test_assessment_of_every_engine_equals_that_in_memory(engine: Any, folder: Callable[[str], Path]) -> None:
    (made,) = engine.assess(folder("binary")).values()
    (expected,) = (of_tally(t) for t in in_memory(folder("binary"), ReadOptions()).values())
    assert made.provenance.engine == engine.name
    for name in MEANS:
        assert float(made.measured.reading(name)) == float(expected.measured.reading(name))
        assert float(made.papers.published.measured.reading(name)) == float(
            expected.papers.published.measured.reading(name)
        )
        assert float(made.reported.reading(name)) == pytest.approx(float(expected.reported.reading(name)), rel=1e-12)
    assert [(b.low, b.high, b.count, b.true) for b in made.bins] == [
        (b.low, b.high, b.count, b.true) for b in expected.bins
    ]
    for term, value in expected.losses("log").readings().items():
        # All distinct rows fit, so the ladder stands on the same rows in another order.
        assert made.losses("log").readings()[term] == pytest.approx(float(value), rel=1e-9, abs=1e-12, nan_ok=True), (
            term
        )
    assert made.verdict == expected.verdict


def test_groups_of_every_engine_equal_those_in_memory(engine: Any, folder: Callable[[str], Path]) -> None:
    reading = READINGS["grouped"]
    (made,) = engine.assess(folder("grouped"), reading).values()
    (expected,) = (of_tally(t) for t in in_memory(folder("grouped"), reading).values())
    found, levels = made.groups["site"].levels, expected.groups["site"].levels
    assert list(found) == list(levels) == ["A", "B", "C"]
    for level, one in levels.items():
        other = found[level]
        assert (other.n, other.verdict) == (one.n, one.verdict)
        for name in MEANS:
            assert float(other.measured.reading(name)) == float(one.measured.reading(name))
            assert float(other.reported.reading(name)) == pytest.approx(float(one.reported.reading(name)), rel=1e-12)


def test_where_selects_the_same_rows_on_every_engine(engine: Any, folder: Callable[[str], Path]) -> None:
    reading = ReadOptions(where=("site=B",))
    found, expected = engine.tallies(folder("grouped"), reading), in_memory(folder("grouped"), reading)
    for model, tally in expected.items():
        same(tally, found[model])
