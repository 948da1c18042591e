"""`compare` and `check` in parts and on clusters: the same cases, the same numbers, the same refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity.cli import run

N = 1500


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


Cut = Callable[[int], None]


@pytest.fixture
def cases() -> pl.DataFrame:
    """Cases with what happened and two models' forecasts."""
    rng = np.random.default_rng(11)
    p = rng.beta(1.0, 1.5, N)
    sharp = p**2 / (p**2 + (1 - p) ** 2)
    who = [f"case {i}" for i in rng.permutation(N)]
    return pl.DataFrame({"who": who, "y": (rng.random(N) < p).astype(int), "calm": p, "sharp": sharp})


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, Any], str]:
    code = run(["compare", *arguments, "--json", "-"])
    out, err = capsys.readouterr()
    assert code == 0, err
    models: dict[str, Any] = json.loads(out)["models"]
    return models, err


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(found) == list(expected)
    for name, one in expected.items():
        other = found[name]
        assert (other["n"], other["verdict"]) == (one["n"], one["verdict"])
        assert [(b["low"], b["count"], b["true"]) for b in other["bins"]] == [
            (b["low"], b["count"], b["true"]) for b in one["bins"]
        ]
        for key in ("measured", "reported", "scores"):
            for term, reading in one[key].items():
                if term == "auc":  # of a stream, from the cells of the grid
                    assert other[key][term]["value"] == pytest.approx(reading["value"], abs=1e-4)
                    continue
                assert other[key][term]["value"] == pytest.approx(reading["value"], rel=1e-12), (key, term)
        assert {f["code"]: f["count"] for f in other["findings"]} == {f["code"]: f["count"] for f in one["findings"]}


def said(err: str) -> str:
    return next(line for line in err.splitlines() if "cases" in line and not line.startswith("read"))


def test_files_are_paired_by_row(
    engine: Any, here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], small_batches: Cut
) -> None:
    for name in ("calm", "sharp"):
        cases.select("y", pl.col(name).alias("p")).write_parquet(f"{name}.parquet", row_group_size=70)
    expected, err = compared(capsys, "calm.parquet", "sharp.parquet")
    small_batches(200)
    found, also = compared(capsys, "calm.parquet", "sharp.parquet", "--engine", engine.name)
    same(found, expected)
    assert said(also) == said(err) == "1,500 cases, paired by row"
    assert {one["provenance"]["engine"] for one in found.values()} == {engine.name}


def test_files_in_another_order_are_paired_by_id(
    engine: Any, here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], small_batches: Cut
) -> None:
    """In another order, and each without some cases of the other: a second pass counts those that both have."""
    cases[:1300].select("who", "y", pl.col("calm").alias("p")).write_csv("calm.csv")
    cases[200:].sample(fraction=1.0, shuffle=True, seed=1).select("who", "y", pl.col("sharp").alias("p")).write_csv(
        "sharp.csv"
    )
    expected, err = compared(capsys, "calm.csv", "sharp.csv", "--id", "who")
    small_batches(200)
    found, also = compared(capsys, "calm.csv", "sharp.csv", "--id", "who", "--engine", engine.name)
    same(found, expected)
    assert said(also) == said(err) == "1,100 of 1,500 cases are in all 2 models"


def test_folders_are_models_in_parts(
    here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], small_batches: Cut
) -> None:
    for name in ("calm", "sharp"):
        Path(name).mkdir()
        one = cases.select("y", pl.col(name).alias("p"))
        one.write_parquet(f"{name}.parquet")
        for i, at in enumerate((0, 400, 900)):
            one[at : (400, 900, N)[i]].write_parquet(Path(name, f"part{i}.parquet"))
    expected, _ = compared(capsys, "calm.parquet", "sharp.parquet")
    same(compared(capsys, "calm", "sharp")[0], expected)
    small_batches(200)
    for more in ((), ("--checkpoint", "state")):
        same(compared(capsys, "calm", "sharp", *more)[0], expected)
    assert not Path("state").exists()


@pytest.mark.parametrize("rows", [200, 1 << 20])
def test_only_rows_that_both_columns_have_are_compared(
    here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], small_batches: Cut, rows: int
) -> None:
    """Only rows that both columns have count, batch by batch; also where a column of a batch is empty."""
    gaps = cases.with_row_index().with_columns(
        pl.when(pl.col("index") % 7 == 0).then(None).otherwise(pl.col("calm")).alias("calm"),
        pl.when(pl.col("index").is_between(390, 610)).then(None).otherwise(pl.col("sharp")).alias("sharp"),
    )
    Path("parts").mkdir()
    for i in range(3):
        gaps[i * 500 : (i + 1) * 500].select("y", "calm", "sharp").write_parquet(
            f"parts/{i}.parquet", row_group_size=70
        )
    small_batches(rows)
    found, err = compared(capsys, "parts", "--missing", "drop")
    whole = gaps.select("y", "calm", "sharp").drop_nulls()
    whole.write_parquet("whole.parquet")
    expected, _ = compared(capsys, "whole.parquet")
    for name, one in expected.items():
        assert found[name]["n"] == one["n"] == whole.height
        assert found[name]["scores"]["log_loss"]["value"] == pytest.approx(
            one["scores"]["log_loss"]["value"], rel=1e-12
        )
        assert found[name]["measured"]["geometric_accuracy"]["value"] == one["measured"]["geometric_accuracy"]["value"]
    every = gaps.filter(pl.any_horizontal(pl.col("calm", "sharp").is_not_null())).height
    assert said(err) == f"{whole.height:,} of {every:,} cases are in all 2 models, paired by row"


def test_a_column_names_the_model(
    here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], small_batches: Cut
) -> None:
    long = pl.concat(
        [cases.select("who", "y", pl.lit(name).alias("model"), pl.col(name).alias("p")) for name in ("calm", "sharp")]
    ).sample(fraction=1.0, shuffle=True, seed=2)
    long.write_parquet("long.parquet")
    expected, _ = compared(capsys, "long.parquet", "--id", "who")
    small_batches(200)
    found, err = compared(capsys, "long.parquet", "--id", "who")
    same(found, expected)
    assert said(err) == "1,500 of 1,500 cases are in all 2 models"
    long.drop("who").write_parquet("bare.parquet")
    assert run(["compare", "bare.parquet", "--model", "model"]) == 2
    assert "--id" in capsys.readouterr().err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["compare", *arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("rows", [200, 1 << 20])
def test_files_that_cannot_be_paired_are_refused_with_the_row(
    here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], small_batches: Cut, rows: int
) -> None:
    small_batches(rows)
    calm = cases.select("who", "y", pl.col("calm").alias("p"))
    calm.write_csv("calm.csv")
    calm[:1200].write_csv("short.csv")
    flipped = calm.with_row_index().with_columns(
        pl.when(pl.col("index") == 700).then(1 - pl.col("y")).otherwise("y").alias("y")
    )
    flipped.drop("index").write_csv("flipped.csv")
    pl.concat([calm, calm[3:4]]).write_csv("twice.csv")
    calm.with_columns(pl.col("who") + "!").write_csv("others.csv")
    assert "calm has 1,500 rows, short 1,200: they cannot be paired by row" in refused(capsys, "calm.csv", "short.csv")
    assert "row 701: calm and flipped have different outcomes" in refused(capsys, "calm.csv", "flipped.csv")
    who, outcome = cases["who"], cases["y"][700]
    message = refused(capsys, "calm.csv", "flipped.csv", "--id", "who")
    assert f"case {who[700]} has outcome {outcome} for one model and {1 - outcome} for another" in message
    message = refused(capsys, "calm.csv", "twice.csv", "--id", "who")
    assert f"case {who[3]} is given more than once for twice (twice.csv row 4 and twice.csv row 1501)" in message
    assert "no case is in all 2 models" in refused(capsys, "calm.csv", "others.csv", "--id", "who")
    assert "one model, `calm`; a comparison needs two" in refused(capsys, "calm.csv")
    pl.DataFrame({"label": ["a", "b", "c"], "p_a": [0.2] * 3, "p_b": [0.3] * 3, "p_c": [0.5] * 3}).write_csv(
        "three.csv"
    )
    assert "calm and three have different classes" in refused(capsys, "calm.csv", "three.csv")


def test_too_many_cases_to_be_paired_by_id(
    here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veracity.engines._case_keys.MOST_CASES", 2000)
    for name in ("calm", "sharp"):
        cases.select("who", "y", pl.col(name).alias("p")).write_csv(f"{name}.csv")
    assert "more than 2,000 cases: too many to be paired by id" in refused(
        capsys, "calm.csv", "sharp.csv", "--id", "who"
    )
    compared(capsys, "calm.csv", "sharp.csv")


def test_an_interrupted_comparison_goes_on(
    here: Path,
    cases: pl.DataFrame,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    small_batches: Cut,
) -> None:
    from veracity.engines._sums import Tallies

    for name in ("calm", "sharp"):
        one = cases.select("who", "y", pl.col(name).alias("p"))
        one.write_parquet(f"{name}.parquet", row_group_size=200)
    expected, _ = compared(capsys, "calm.parquet", "sharp.parquet", "--id", "who")
    small_batches(200)
    command = ["calm.parquet", "sharp.parquet", "--id", "who", "--checkpoint", "state"]
    command += ["--engine-option", "checkpoint_seconds=0"]
    taken: list[int] = []
    interrupted: list[bool] = []
    plain = Tallies._count

    def count(self: Tallies, forecasts: Any) -> None:
        taken.append(len(forecasts))
        if sum(taken) >= 2000 and not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt
        plain(self, forecasts)

    monkeypatch.setattr(Tallies, "_count", count)
    assert run(["compare", *command]) == 130
    assert Path("state").exists()
    capsys.readouterr()
    taken.clear()
    found, _ = compared(capsys, *command)
    assert sum(taken) < 1500  # it did not begin again
    same(found, expected)


def test_check_reads_requirements_in_parts(
    engine: Any, here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], small_batches: Cut
) -> None:
    cases.select("y", pl.col("calm").alias("p")).write_parquet("calm.parquet")
    command = [
        "check",
        "calm.parquet",
        "--require",
        "scores.log_loss<=0.69",
        "--require",
        "reported.geometric_accuracy>=0.9",
    ]
    assert run(command) == 1
    expected = capsys.readouterr().out
    small_batches(200)
    assert run([*command, "--engine", engine.name]) == 1
    assert capsys.readouterr().out == expected
    if engine.name == "local":
        assert run(command[:4]) == 0


def comparison(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = run(["compare", *arguments, "--json", "-"])
    out, err = capsys.readouterr()
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)["comparison"]
    return found


def same_comparison(found: Any, expected: Any, where: str = "") -> None:
    """Texts, counts and rows are the same; numbers to rounding of sums in another order."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for name in expected:
            same_comparison(found[name], expected[name], f"{where}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for i, one in enumerate(expected):
            same_comparison(found[i], one, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-9), where
    else:
        assert found == expected, where


@pytest.fixture
def dependent(here: Path, cases: pl.DataFrame) -> None:
    """The cases with persons, days and sites: both models in one file, and each in its own."""
    whole = cases.with_columns(
        person=np.arange(N) % 90, day=np.arange(N) // 2, site=pl.Series(["north", "south", "east"] * (N // 3))
    )
    whole.drop("who").write_parquet("both.parquet", row_group_size=70)
    for name in ("calm", "sharp"):
        own = whole.select("y", pl.col(name).alias("p"), "person", "day", "site")
        own.write_parquet(f"{name}.parquet", row_group_size=70)


COLUMNS, FILES = ["both.parquet", "--positive-proba", "calm,sharp"], ["calm.parquet", "sharp.parquet"]


@pytest.mark.usefixtures("dependent")
def test_comparison_is_the_same_in_memory_and_in_parts(
    engine: Any, capsys: pytest.CaptureFixture[str], small_batches: Cut
) -> None:
    """Differences, components, ranking, deciding cases and groups, with clusters; models in columns and in files."""
    options = ["--cluster", "person", "--group", "site"]
    expected = comparison(capsys, *COLUMNS, *options)
    small_batches(200)
    for models in (COLUMNS, FILES):
        same_comparison(comparison(capsys, *models, *options, "--engine", engine.name), expected)


@pytest.mark.usefixtures("dependent")
@pytest.mark.parametrize("options", [[], ["--time", "day", "--lags", "3"]])
def test_comparison_of_files_is_that_of_columns(
    capsys: pytest.CaptureFixture[str], small_batches: Cut, options: list[str]
) -> None:
    expected = comparison(capsys, *COLUMNS, *options)
    small_batches(200)
    same_comparison(comparison(capsys, *FILES, *options), expected)


def test_comparison_by_id_is_that_of_the_common_rows(
    here: Path, cases: pl.DataFrame, capsys: pytest.CaptureFixture[str], small_batches: Cut
) -> None:
    cases[:1300].select("who", "y", pl.col("calm").alias("p")).write_csv("calm.csv")
    shuffled = cases[200:].sample(fraction=1.0, shuffle=True, seed=1)
    shuffled.select("who", "y", pl.col("sharp").alias("p")).write_csv("sharp.csv")
    cases[200:1300].drop("who").write_csv("both.csv")
    small_batches(200)
    found = comparison(capsys, "calm.csv", "sharp.csv", "--id", "who")
    expected = comparison(capsys, "both.csv", "--positive-proba", "calm,sharp")
    assert found.pop("paired_by") == "id who"
    assert expected.pop("paired_by") == "row"
    for one in (found, expected):
        one.pop("deciding_rows")  # rows of other files
    same_comparison(found, expected)


def test_parts_of_files_with_the_same_rows_alternate(here: Path, cases: pl.DataFrame) -> None:
    from veracity.read import ReadOptions
    from veracity.read import open as opened
    from veracity.read.pairing import abreast

    sources = []
    for name in ("calm", "sharp"):
        cases.select("y", pl.col(name).alias("p")).write_parquet(f"{name}.parquet", row_group_size=70)
        sources.append(opened([f"{name}.parquet"], ReadOptions()).parts())
    found = abreast(sources, most=600)
    assert [(part.file, part.first, part.rows) for part in found] == [
        (f"{name}.parquet", first, rows)
        for first, rows in ((0, 600), (600, 600), (1200, 300))
        for name in ("calm", "sharp")
    ]
