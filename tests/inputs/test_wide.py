"""Parquet files of very many columns are read some columns and some rows at a time."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from veracity.read import ReadOptions, parts, read, table
from veracity.read import open as open_source

K = 11


def wide(path: Path, rows: int, dtype: type = np.float32) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(K), rows).astype(dtype)
    frame = pl.DataFrame({"y": rng.integers(0, K, rows), **{f"p{j}": p[:, j] for j in range(K)}})
    frame.write_parquet(path, row_group_size=70)
    return frame


@pytest.fixture
def few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Three columns or more, and about 50 rows at a time; what was asked for."""
    asked: list[tuple[int, int]] = []
    read_some = table.some_rows

    def some_rows(lazy: pl.LazyFrame, columns: list[str], start: int, rows: int, of: int) -> pl.DataFrame:
        asked.append((start, rows))
        return read_some(lazy, columns, start, rows, of)

    monkeypatch.setattr(table, "FEWEST_TOGETHER", 3)
    monkeypatch.setattr(table, "TOGETHER", 400)  # four columns of a hundred rows
    monkeypatch.setattr(table, "SLICE_BYTES", 50 * (K * 4 + 8))
    monkeypatch.setattr(table, "some_rows", some_rows)
    monkeypatch.setattr(parts, "FEWEST_ROWS", 20)
    monkeypatch.setattr(parts, "ENTRIES", 20 * (K + 1))
    return asked


@pytest.mark.parametrize("rows", [1, 19, 50, 100, 437])
@pytest.mark.parametrize("skip", [0, 13])
def test_batches_of_a_wide_file_are_its_rows(tmp_path, few_at_a_time, rows, skip):
    path = tmp_path / "wide.parquet"
    frame = wide(path, rows)
    stream = open_source(path, ReadOptions())
    (part,) = stream.parts()
    few_at_a_time.clear()
    made = [(f, batch.rows) for batch in stream.batches(part, skip) for f in batch.forecasts]
    left = frame.slice(skip)
    assert sum(n for _, n in made) == left.height
    assert all(n <= 20 for _, n in made)
    assert {n for _, n in few_at_a_time} == {50}
    assert [start for start, _ in few_at_a_time] == list(range(0, left.height // 50 * 50 + 1, 50))
    if left.height:
        np.testing.assert_array_equal(np.concatenate([f.probabilities for f, _ in made]), left.drop("y").to_numpy())
        np.testing.assert_array_equal(np.concatenate([f.outcomes for f, _ in made]), left["y"].to_numpy())
        assert [f.row(i) for f, _ in made for i in range(len(f))] == list(range(skip + 1, rows + 1))


def test_rows_of_a_part_and_of_a_condition(tmp_path, few_at_a_time):
    path = tmp_path / "wide.parquet"
    frame = wide(path, 300)
    stream = open_source(path, ReadOptions())
    made = [f for b in stream.batches(parts.Part(str(path), 110, 120)) for f in b.forecasts]
    np.testing.assert_array_equal(np.concatenate([f.outcomes for f in made]), frame["y"].slice(110, 120).to_numpy())
    chosen = open_source(path, ReadOptions(where=("y=4",)))
    (part,) = chosen.parts()
    made = [f for b in chosen.batches(part) for f in b.forecasts]
    rows = np.flatnonzero(frame["y"].to_numpy() == 4) + 1
    assert [f.row(i) for f in made for i in range(len(f))] == rows.tolist()


def test_a_wide_file_in_memory(tmp_path, few_at_a_time):
    path = tmp_path / "wide.parquet"
    frame = wide(path, 300, np.float64)
    (held,) = read(path).values()
    np.testing.assert_array_equal(held.matrix, frame.drop("y").to_numpy())


def test_lines_longer_than_what_is_looked_at_first(tmp_path):
    names = [f"probability of the class {j:05}" for j in range(10_000)]  # a header of 300 kB
    rows = [["00007", *(["0.0001"] * len(names))] for _ in range(4)]
    text = "\n".join(",".join(row) for row in [["outcome", *names], *rows])
    (tmp_path / "long.csv").write_text(text + "\n")
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(text.encode()))
    for path in (tmp_path / "long.csv", tmp_path / "long.csv.gz"):
        (held,) = read(path).values()
        assert held.k == 10_000
        np.testing.assert_array_equal(held.outcomes, 7)
