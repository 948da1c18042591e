"""Weights in a file of their own are paired by position, in memory and in parts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import engines
from veracity.read import ReadOptions, read


@pytest.fixture
def data(folder: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Parts with the weight in a column and, the same, in a file beside them."""
    monkeypatch.setattr("veracity.read.parts.MOST_ROWS", 100)
    monkeypatch.setattr("veracity.read.parts.FEWEST_ROWS", 100)
    (tmp_path / "parts").mkdir()
    rng = np.random.default_rng(8)
    held = []
    for i in (0, 2, 5):
        frame = pl.read_parquet(folder("grouped") / f"part{i:02}.parquet")
        frame = frame.with_columns(pl.Series("w", rng.gamma(2.0, size=frame.height)))
        frame.write_parquet(tmp_path / "parts" / f"{i}.parquet", row_group_size=90)
        held.append(frame.select("w"))
    pl.concat(held).write_parquet(tmp_path / "weights.parquet", row_group_size=70)
    return tmp_path


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    (one,), (other,) = found.values(), expected.values()
    assert one.n == other.n
    assert one.tally.sums.weight == pytest.approx(other.tally.sums.weight, rel=1e-13)
    for name in ("decisiveness", "geometric_accuracy", "robustness"):
        assert float(one.reported.reading(name)) == pytest.approx(float(other.reported.reading(name)), rel=1e-12)
        assert float(one.measured.reading(name)) == pytest.approx(float(other.measured.reading(name)), rel=1e-12)


@pytest.mark.parametrize("where", [(), ("site=B",)])
def test_weights_come_from_a_file_next_to_the_data(data: Path, where: tuple[str, ...]) -> None:
    expected = engines.assess(data / "parts", ReadOptions(weight="w", where=where))
    beside = ReadOptions(weight=str(data / "weights.parquet"), where=where)
    same(engines.assess(data / "parts", beside), expected)
    (in_memory,) = read(sorted((data / "parts").iterdir()), beside).values()
    (made,) = expected.values()
    assert made.tally.sums.weight == pytest.approx(in_memory.mass.sum(), rel=1e-13)


def test_weights_of_text_files_come_from_a_text_file(data: Path) -> None:
    pl.read_parquet(data / "weights.parquet").write_csv(data / "weights.csv")
    (data / "texts").mkdir()
    for path in (data / "parts").iterdir():
        pl.read_parquet(path).write_csv(data / "texts" / f"{path.stem}.csv")
    for parts in ("parts", "texts"):
        expected = engines.assess(data / parts, ReadOptions(weight="w"))
        same(engines.assess(data / parts, ReadOptions(weight=str(data / "weights.csv"))), expected)


@pytest.mark.slow
def test_weights_on_a_cluster(data: Path, cluster: Any) -> None:
    """Parts of files, which workers open for themselves."""
    options = {"part_bytes": 2000}
    beside = ReadOptions(weight=str(data / "weights.parquet"))
    engine = engines.Engine("dask", options)
    assert len(engine.open(data / "parts", beside).parts()) > 6
    same(
        engines.assess(data / "parts", beside, engine="dask", options=options),
        engines.assess(data / "parts", ReadOptions(weight="w")),
    )


def test_weights_that_do_not_fit_are_refused(data: Path) -> None:
    weights = pl.read_parquet(data / "weights.parquet")
    weights[:-1].write_parquet(data / "short.parquet")
    weights.with_columns(v=pl.col("w")).write_parquet(data / "two.parquet")
    for name, message in (
        ("short.parquet", r"short\.parquet: \d+ weights for \d+ rows"),
        ("two.parquet", "2 columns of numbers; weights are one column"),
        ("none.parquet", "neither a column nor a file"),
    ):
        with pytest.raises(ValueError, match=message):
            engines.assess(data / "parts", ReadOptions(weight=str(data / name)))
