"""`adjust` and `calibrate` in parts and on clusters write what they write in memory, whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import calibrators
from veracity.cli import run


@pytest.fixture
def files(folder: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A few parts of three classes, in an empty working folder."""
    monkeypatch.chdir(tmp_path)
    return [str(folder("grouped") / f"part{i:02}.parquet") for i in (0, 1, 4, 7)]


def held(path: str) -> pl.DataFrame:
    return pl.read_csv(path) if path.endswith(".csv") else pl.read_parquet(path)


def same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert found.schema == expected.schema
    for column in expected.columns:
        if expected[column].dtype.is_float():
            np.testing.assert_allclose(found[column].to_numpy(), expected[column].to_numpy(), rtol=1e-12, atol=1e-13)
        else:
            assert found[column].to_list() == expected[column].to_list()


def shifts(path: str) -> list[float]:
    shift: list[float] = json.loads(Path(path).read_text())["parameters"]["shift"]
    return shift


def test_adjust_on_every_engine(
    engine: Any, files: list[str], capsys: pytest.CaptureFixture[str], by_passes: Callable[[], None]
) -> None:
    assert run(["adjust", *files, "--to", "sample", "-o", "memory.parquet"]) == 0
    said = capsys.readouterr().out
    by_passes()
    for output in ("parts/",) if engine.name == "spark" else ("parts.parquet", "parts/"):
        assert run(["adjust", *files, "--to", "sample", "--engine", engine.name, "-o", output, "--force"]) == 0
        assert capsys.readouterr().out == said
        np.testing.assert_allclose(shifts("parts.map.json"), shifts("memory.map.json"), rtol=1e-12, atol=1e-13)
    expected = held("memory.parquet")
    if engine.name != "spark":  # where a pass takes a second
        same(held("parts.parquet"), expected)
    assert [f.name for f in sorted(Path("parts").iterdir())] == [f"part-{i:05}.parquet" for i in range(4)]
    same(pl.concat([pl.read_parquet(f) for f in sorted(Path("parts").iterdir())]), expected)


@pytest.mark.parametrize("rule", ["-0.5", "0.5"])
@pytest.mark.parametrize("to", ["sample", "prior.csv"])
def test_adjustment_of_any_rule_is_equal_in_memory_and_in_parts(
    files: list[str], rule: str, to: str, by_passes: Callable[[], None]
) -> None:
    Path("prior.csv").write_text("low,0.2\nmid,0.3\nhigh,0.5\n")
    for name in ("memory", "parts"):
        assert run(["adjust", *files, "--to", to, "--rule", rule, "-o", f"{name}.csv"]) == 0
        by_passes()
    same(held("parts.csv"), held("memory.csv"))
    np.testing.assert_allclose(shifts("parts.map.json"), shifts("memory.map.json"), rtol=1e-9, atol=1e-10)


def test_the_rule_that_adds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_passes: Callable[[], None]) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    p = rng.uniform(0.2, 0.8, 5000)  # room for a shift
    pl.DataFrame({"y": (rng.random(5000) < p).astype(int), "p": p}).write_parquet("f.parquet")
    Path("prior.csv").write_text("0,0.45\n1,0.55\n")
    for name in ("memory", "parts"):
        assert run(["adjust", "f.parquet", "--to", "prior.csv", "--rule", "brier", "-o", f"{name}.csv"]) == 0
        by_passes()
    same(held("parts.csv"), held("memory.csv"))
    np.testing.assert_allclose(shifts("parts.map.json"), shifts("memory.map.json"), rtol=1e-12)


def test_an_estimate_under_label_shift(
    files: list[str], capsys: pytest.CaptureFixture[str], by_passes: Callable[[], None]
) -> None:
    for name in ("memory", "parts"):
        command = ["adjust", *files, "--to", "em", "--trained-on", "uniform", "-o", f"{name}.csv"]
        assert run(command) == 0
        assert "label shift" in capsys.readouterr().err
        by_passes()
    # In memory the rounds end when a frequency moves by less than 1e-10; Newton's steps go on to rounding.
    np.testing.assert_allclose(shifts("parts.map.json"), shifts("memory.map.json"), rtol=1e-7)


def test_a_black_box_estimate_counts_every_row_of_the_reference(
    files: list[str], capsys: pytest.CaptureFixture[str], by_passes: Callable[[], None]
) -> None:
    for name in ("memory", "parts"):
        assert run(["adjust", *files[:2], "--to", "bbse", "--reference", files[2], "-o", f"{name}.csv"]) == 0
        assert "label shift" in capsys.readouterr().err
        by_passes()
    same(held("parts.csv"), held("memory.csv"))


def test_weights_counts_and_split_outcomes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_passes: Callable[[], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 300).astype(float)
    y[250] = 0.5  # only one batch has a split outcome, and all rows get a weight
    pl.DataFrame({"y": y, "p": rng.beta(2, 2, 300), "times": rng.integers(1, 4, 300)}).write_csv("f.csv")
    for name in ("memory", "parts"):
        assert run(["adjust", "f.csv", "--count", "times", "--to", "uniform", "-o", f"{name}.csv"]) == 0
        by_passes()
    assert held("parts.csv").columns == ["y", "p", "times"]
    assert held("parts.csv").select("y", "times").equals(pl.read_csv("f.csv").select("y", "times"))  # each row once
    same(held("parts.csv"), held("memory.csv"))


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("output", ["out.csv", "out.parquet", "out/"])
def test_nothing_is_half_written(
    files: list[str], tmp_path: Path, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted = calibrators.adjust(np.full((4, 3), 1 / 3), [0.9, 0.05, 0.05], rule="brier")
    Path("map.json").write_text(json.dumps(json.loads(fitted.to_json()) | {"classes": ["low", "mid", "high"]}))
    assert run(["calibrate", "apply", "map.json", *files, "-o", output]) == 2
    message = capsys.readouterr().err
    assert "values would leave [0, 1] (first: row 1, class" in message
    assert "part00.parquet" in message
    assert left(tmp_path) == ["map.json"]


def test_a_file_that_breaks_while_it_is_written(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fit has gone through; then a part is gone."""
    from veracity.results.recalibration_job import RecalibrationJob

    parts = Path(shutil.copytree(Path(files[0]).parent, tmp_path / "parts"))
    (parts / "part03.parquet").unlink()  # the one without rows
    plain = RecalibrationJob.write

    def late(self: Any, *given: Any) -> Any:
        (parts / "part07.parquet").unlink()
        return plain(self, *given)

    monkeypatch.setattr(RecalibrationJob, "write", late)
    assert run(["adjust", "parts", "--to", "sample", "-o", "out.parquet"]) == 2
    assert "part07.parquet: cannot be read" in capsys.readouterr().err
    assert left(tmp_path) == ["parts"]


def test_broken_files_are_left_out_by_choice(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for file in files:
        shutil.copy(file, parts)
    assert run(["adjust", files[0], *files[2:], "--to", "sample", "-o", "memory.csv"]) == 0
    data = bytearray((parts / "part01.parquet").read_bytes())
    data[4 : len(data) // 2] = bytes(b ^ 0x5A for b in data[4 : len(data) // 2])
    (parts / "part01.parquet").write_bytes(data)
    skip = ["--engine-option", "on_error=skip"]
    capsys.readouterr()
    assert run(["adjust", "parts", "--to", "sample", *skip, "-o", "out.csv"]) == 0
    assert "1 of the files could not be read and are left out: part01.parquet" in capsys.readouterr().err
    same(held("out.csv"), held("memory.csv"))


def test_calibration_on_an_engine_equals_that_in_memory(
    engine: Any, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, more in (("memory", []), ("parts", ["--engine", engine.name])):
        assert run(["calibrate", "fit", *files, "--map", "temperature", "-o", f"{name}.json", *more]) == 0
        assert run(["calibrate", "apply", "memory.json", *files, "-o", f"{name}.csv", *more]) == 0
        rows = held(f"{name}.csv").height
        err = capsys.readouterr().err
        assert f"fitted on {rows:,} rows" in err
        assert f"applied to {rows:,} rows" in err
    one, other = (json.loads(Path(f"{name}.json").read_text())["parameters"] for name in ("memory", "parts"))
    assert other["temperature"] == pytest.approx(one["temperature"], rel=1e-6)
    same(held("parts.csv"), held("memory.csv"))


def test_standard_output_is_equal_in_memory_and_in_parts(
    files: list[str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], by_passes: Callable[[], None]
) -> None:
    outs = []
    for _ in range(2):
        assert run(["adjust", *files, "--to", "uniform", "-o", "-"]) == 0
        outs.append(pl.read_csv(capsysbinary.readouterr().out))
        by_passes()
    same(outs[1], outs[0])
    assert left(tmp_path) == []


def test_maps_without_a_single_model_or_an_empty_folder_are_refused(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    assert run(["adjust", *files, "--to", "sample", "-o", "full", "--force"]) == 2
    assert "the folder is not empty; give a new one" in capsys.readouterr().err
    pl.DataFrame({"y": [0, 1, 1], "m1": [0.2, 0.6, 0.9], "m2": [0.3, 0.5, 0.8]}).write_csv("several.csv")
    assert run(["adjust", "several.csv", "--to", "sample", "-o", "x.csv"]) == 2
    assert "several.csv: 2 models, m1, m2; a map belongs to one" in capsys.readouterr().err
    pl.DataFrame({"logprob": [-1.0, -2.0]}).write_csv("logs.csv")
    assert run(["adjust", "logs.csv", "--to", "sample", "-o", "x.csv"]) == 2
    assert "only the probability of the outcome is known" in capsys.readouterr().err
    assert left(tmp_path) == ["full", "logs.csv", "several.csv"]
