"""Rows without a cluster are refused with their place, like rows without a time: they are no cluster of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from veracity import Forecasts, assess, compare, engines
from veracity.cli import run
from veracity.read import ReadOptions, frame, read
from veracity.read.parts import source_of_files

N = 200
RNG = np.random.default_rng(6)
P = RNG.uniform(0.05, 0.95, N)
Y = (RNG.random(N) < P).astype(int)
HOLES = np.arange(N) % 5 < 2
HOLES[:3] = False
UNIT = np.arange(N) // 8
FIRST = int(np.argmax(HOLES))


def holed(hole: Any, values: Any = UNIT) -> list[Any]:
    return [hole if gone else value for gone, value in zip(HOLES, np.asarray(values).tolist(), strict=True)]


MISSING: dict[str, Any] = {
    "None": holed(None),
    "nan": np.where(HOLES, np.nan, UNIT),
    "nan among words": holed(float("nan"), UNIT.astype(str)),
    "empty": holed("", UNIT.astype(str)),
    "blank": np.array(holed("  ", UNIT.astype(str))),
    "NaT": np.where(HOLES, np.datetime64("NaT"), np.datetime64("2024-01-01") + UNIT),
    "pandas NA": pd.array(holed(pd.NA), dtype="Int64"),
    "pandas text": pd.Series(holed(None, UNIT.astype(str)), dtype="string"),
    "pandas categories": pd.Categorical(holed(None, UNIT.astype(str))),
    "pandas times": pd.Series(holed(pd.NaT, pd.Timestamp("2024-01-01") + pd.to_timedelta(UNIT, unit="D"))),
    "polars": pl.Series(holed(None)),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_clusters_of_arrays_are_refused(kind: str) -> None:
    message = (
        f"clusters: {HOLES.sum()} of 200 rows without a cluster (first: row {FIRST}).\n"
        "  fill them in, or leave these rows out"
    )
    for call in (
        lambda: assess(Y, P, clusters=MISSING[kind]),
        lambda: Forecasts.of(Y, P, clusters=MISSING[kind], missing="drop"),
        lambda: compare(Y, {"a": P, "b": P**2}, clusters=MISSING[kind]),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert str(error.value) == message


def test_numbers_and_words_that_look_empty_are_clusters() -> None:
    assert Forecasts.of(Y, P, clusters=np.where(HOLES, 0, UNIT)).clusters is not None
    assert Forecasts.of(Y, P, clusters=np.where(HOLES, "0", UNIT.astype(str))).clusters is not None
    assert Forecasts.of(Y, P, clusters=np.where(HOLES, False, True)).clusters is not None


def test_missing_clusters_of_a_frame_are_refused_and_the_remedy_leaves_them_out() -> None:
    for held in (
        pl.DataFrame({"y": Y, "p": P, "site": MISSING["polars"]}),
        pd.DataFrame({"y": Y, "p": P, "site": MISSING["nan"]}),
    ):
        with pytest.raises(ValueError) as error:
            frame(held, ReadOptions(cluster="site"))
        assert str(error.value) == (
            f"`site`: {HOLES.sum()} of 200 rows without a cluster (first: row {FIRST}).\n"
            '  fill them in, or leave these rows out:  where="site!="'
        )
        (left,) = frame(held, ReadOptions(cluster="site", where="site!=")).values()
        assert len(left) == N - HOLES.sum()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_missing_clusters_of_a_file_are_refused_and_the_remedy_leaves_them_out(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    held = pl.DataFrame({"y": Y, "p": P, "site": MISSING["polars"]})
    (held.write_csv if kind == "csv" else held.write_parquet)(f"a.{kind}")
    message = (
        f"a.{kind}: `site`: {HOLES.sum()} of 200 rows without a cluster (first: row {FIRST + 1}).\n"
        "  fill them in, or leave these rows out:  --where 'site!='"
    )
    for missing in ("error", "drop"):
        assert run(["assess", f"a.{kind}", "--cluster", "site", "--missing", missing]) == 2
        assert message in capsys.readouterr().err
    assert run(["assess", f"a.{kind}", "--cluster", "site", "--where", "site!=", "--quiet"]) == 0


def test_missing_clusters_in_a_later_part_are_refused_with_their_row(tmp_path: Path) -> None:
    site = [None if i == 150 else i // 8 for i in range(N)]
    pl.DataFrame({"y": Y, "p": P, "site": site}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"y": Y, "p": P, "site": UNIT}).write_parquet(tmp_path / "0.parquet")
    options = ReadOptions(cluster="site")
    source = source_of_files(tmp_path / "a.parquet", options)
    with pytest.raises(ValueError, match=r"`site`: 1 of \d+ rows without a cluster \(first: row 151\)"):
        list(source.batches(source.parts()[0], rows=64))
    for open_all in (read, engines.assess):
        with pytest.raises(ValueError, match=r"^a.parquet: `site`: 1 of 200 rows without a cluster \(first: row 151\)"):
            open_all([tmp_path / "0.parquet", tmp_path / "a.parquet"], options)
