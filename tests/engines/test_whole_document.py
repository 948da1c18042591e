"""The whole document is the same however the rows are cut, ordered and counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity.cli import run

ROWS, CUTS = 700, (0, 13, 50, 51, 200, 333, 690, 700)  # seven uneven parts
WHERE = ("provenance", "surprises", "rows", "files")  # places of rows, and how the document was made


def rows_of(k: int) -> pl.DataFrame:
    """Forecasts of k classes, some of them equal, none of them certain."""
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 2.0), ROWS)
    p[::7] = p[0]
    p = 0.99 * p + 0.01 / k
    y = (rng.random(ROWS)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    columns = {"p": p[:, 1]} if k == 2 else {f"p{j}": p[:, j] for j in range(k)}
    return pl.DataFrame({"y": y, **columns, "site": rng.choice(["A", "B"], ROWS)})


def assessed(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> Any:
    assert run(["assess", str(path), "--group", "site", "--json", "-", *options]) == 0
    return json.loads(capsys.readouterr().out)


def leaves(held: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(held, Mapping):
        for name, value in held.items():
            if name not in WHERE:
                yield from leaves(value, f"{path}.{name}")
    elif isinstance(held, list):
        for i, value in enumerate(held):
            yield from leaves(value, f"{path}[{i}]")
    else:
        yield path, held


def same(found: Any, expected: Any) -> None:
    one, other = dict(leaves(expected)), dict(leaves(found))
    assert list(other) == list(one)
    for path, value in one.items():
        if path == ".model":
            continue
        if isinstance(value, float):
            # Sums in another order, and fits that stop at 1e-12.
            assert other[path] == pytest.approx(value, rel=1e-9, abs=1e-12), path
        else:
            assert other[path] == value, path


@pytest.fixture(params=[2, 10, 60])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> pl.DataFrame:
    frame = rows_of(request.param)
    frame.write_parquet(tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    for i, (start, end) in enumerate(pairwise(CUTS)):
        frame[start:end].write_parquet(tmp_path / "parts" / f"{i}.parquet")
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(tmp_path / "shuffled.parquet")
    return frame


def test_document_is_equal_in_memory_in_parts_and_on_every_engine(
    engine: Any, whole: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = assessed(capsys, tmp_path / "whole.parquet")
    same(assessed(capsys, tmp_path / "parts", "--engine", engine.name), expected)


def test_document_is_equal_in_batches_and_for_shuffled_rows(
    whole: pl.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str], small_batches: Callable[[int], None]
) -> None:
    expected = assessed(capsys, tmp_path / "whole.parquet")
    same(assessed(capsys, tmp_path / "shuffled.parquet"), expected)
    small_batches(64)
    same(assessed(capsys, tmp_path / "whole.parquet"), expected)
