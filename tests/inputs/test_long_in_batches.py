"""Long tables in batches: contiguous rows of a case stay in one batch; other tables are read at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import assess
from veracity.read import ReadOptions, parts, read
from veracity.read import open as open_source


def in_batches(source: Any, rows: int) -> list[Any]:
    """All forecasts of a source, at most so many rows at a time."""
    return [f for part in source.parts() for batch in source.batches(part, rows=rows) for f in batch.forecasts]


CASES, MODELS, CLASSES = 300, ("m", "n"), ("high", "low", "middle")


def long_rows() -> pl.DataFrame:
    """Three classes by two models and 300 cases, sorted by case."""
    rng = np.random.default_rng(11)
    rows = []
    for case in range(CASES):
        observed = CLASSES[int(rng.integers(3))]
        for model in MODELS:
            for label, p in zip(CLASSES, rng.dirichlet(np.ones(3)), strict=True):
                rows.append((f"place {case % 7}", case // 7, model, label, p, observed))
    names = ["place", "week", "model", "predicted_label", "predicted", "observed"]
    return pl.DataFrame(rows, schema=names, orient="row")


ORDERS: dict[str, tuple[Any, bool]] = {
    "by case": (lambda f: f, True),
    "by model": (lambda f: f.sort("model", maintain_order=True), True),
    "by case, models in turns": (lambda f: f.sort("week", "place", "predicted_label", maintain_order=True), True),
    "by class": (lambda f: f.sort("predicted_label", maintain_order=True), False),
    "any": (lambda f: f.sample(fraction=1.0, shuffle=True, seed=1), False),
}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("order", ORDERS)
def test_batches_hold_whole_cases(order: str, kind: str, tmp_path: Path) -> None:
    arrange, together = ORDERS[order]
    path = tmp_path / f"x.{kind}"
    frame = arrange(long_rows())
    frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
    whole = read(path)
    found = in_batches(open_source(path), 100)
    assert (len(found) > 2 * len(MODELS)) == together
    assert max(map(len, found)) <= (40 if together else CASES)
    for model in MODELS:
        mine = [part for part in found if part.model == model]
        for name in ("probabilities", "outcomes", "case"):
            joined = np.concatenate([getattr(part, name) for part in mine])
            np.testing.assert_array_equal(joined, getattr(whole[model], name))
        assert [part.row(i) for part in mine for i in range(len(part))] == [whole[model].row(i) for i in range(CASES)]


def test_streams_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the engines read, batch by batch, and a second time from the middle, as after an interruption."""
    path = tmp_path / "x.parquet"
    long_rows().write_parquet(path)
    monkeypatch.setattr(parts, "FEWEST_ROWS", 100)
    monkeypatch.setattr(parts, "ENTRIES", 100)
    stream = open_source(path, ReadOptions())
    (part,) = stream.parts()
    found = list(stream.batches(part))
    assert len(found) > 10
    assert sum(batch.rows for batch in found) == CASES * len(MODELS) * len(CLASSES)
    passed = sum(batch.rows for batch in found[:4])
    again = list(stream.batches(part, passed))
    for model, held in read(path).items():
        for batch in (found, found[:4] + again):
            mine = [f for one in batch for f in one.forecasts if f.model == model]
            np.testing.assert_array_equal(np.concatenate([f.matrix for f in mine]), held.matrix)
            assert [f.row(i) for f in mine for i in range(len(f))] == [held.row(i) for i in range(CASES)]


def test_a_case_that_is_cut_short_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    long_rows().with_row_index("row").filter(pl.col("row") != 1000).drop("row").write_csv(path)
    with pytest.raises(ValueError, match=r"^x.csv: row 1000: a case with 2 of 3 classes"):
        in_batches(open_source(path), 100)


def test_weights_of_long_rows_from_a_file(tmp_path: Path) -> None:
    """One weight for each row of the file: a case has that of its first row."""
    frame = long_rows().filter(pl.col("model") == "m").drop("model")
    weights = np.repeat(np.arange(1, CASES + 1) / CASES, len(CLASSES))
    frame.write_csv(tmp_path / "x.csv")
    pl.DataFrame({"weight": weights}).write_csv(tmp_path / "w.csv")
    (f,) = read(tmp_path / "x.csv", ReadOptions(weight=str(tmp_path / "w.csv"))).values()
    np.testing.assert_array_equal(f.weights, weights[:: len(CLASSES)])
    expected = -np.average(np.log(f.realised), weights=f.weights)
    assert float(assess(f).scores.log_loss) == pytest.approx(expected, rel=1e-12)
