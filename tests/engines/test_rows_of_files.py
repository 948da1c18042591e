"""Rows of several files are named with their file, in memory and in parts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import Assessment
from veracity.cli import run
from veracity.plots import surprises


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files; the worst surprises are in row 7 of the last and row 41 of the first, and one row has gaps."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    Path("parts").mkdir()
    for i, name in enumerate("abc"):
        p = rng.uniform(0.3, 0.7, 150)
        y = (rng.random(150) < p).astype(int)
        if name == "c":
            p[6], y[6] = 0.0, 1
        if name == "a":
            p[40], y[40] = 1e-9, 1
        frame = pl.DataFrame({"y": y, "p": p})
        if name == "b":
            frame = frame.with_columns(pl.when(pl.int_range(150) == 99).then(None).otherwise("p").alias("p"))
        frame.write_csv(f"parts/{name}.csv")
        assert i < 3
    return tmp_path


def test_surprises_name_the_ids_that_were_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part in range(2):
        rows = [f"{i % 2},{0.001 if (part, i) == (1, 7) else 0.5},patient {100 * part + i}" for i in range(40)]
        (tmp_path / f"{part}.csv").write_text("y,p,who\n" + "\n".join(rows) + "\n")
    files = [str(tmp_path / f"{part}.csv") for part in range(2)]
    kept = str(tmp_path / "kept.tally")
    assert run(["assess", *files, "--id", "who", "--json", "-", "--tally", kept]) == 0
    first = json.loads(capsys.readouterr().out)["surprises"][0]
    assert (first["case"], first["row"], first["file"]) == ("patient 107", 8, "1.csv")
    assert run(["assess", kept, "--details"]) == 0
    assert "(patient 107)" in capsys.readouterr().out
    assert run(["assess", *files, "--json", "-"]) == 0
    assert "case" not in json.loads(capsys.readouterr().out)["surprises"][0]


@pytest.mark.parametrize("rows", [64, 1 << 20])
def test_surprises_and_findings_name_file_and_row(
    parts: Path, capsys: pytest.CaptureFixture[str], small_batches: Callable[[int], None], rows: int
) -> None:
    small_batches(rows)
    assert run(["assess", "parts", "--missing", "drop", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(s["row"], s["file"]) for s in document["surprises"][:2]] == [(7, "c.csv"), (41, "a.csv")]
    findings: dict[str, Any] = {f["code"]: f for f in document["findings"]}
    assert (findings["missing_rows"]["rows"], findings["missing_rows"]["files"]) == ([100], ["b.csv"])
    assert (findings["zero_probability"]["rows"][0], findings["zero_probability"]["files"][0]) == (7, "c.csv")
    again = Assessment.from_json(json.dumps(document))
    assert surprises.rows(again)[0]["row"] == "7 of c.csv"
    assert json.loads(again.to_json())["findings"] == document["findings"]
    assert run(["assess", "parts", "--missing", "drop"]) == 0
    assert "It ruled out what happened in 1 of 449 cases (row 7 of c.csv), so" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize("rows", [64, 1 << 20])
def test_messages_name_file_and_row(
    parts: Path, capsys: pytest.CaptureFixture[str], small_batches: Callable[[int], None], rows: int
) -> None:
    small_batches(rows)
    assert run(["assess", "parts"]) == 2
    assert "b.csv: " in (message := capsys.readouterr().err)
    assert "row 100" in message
    frame = pl.read_csv("parts/b.csv").with_columns(
        pl.when(pl.int_range(150) == 99).then(1.5).otherwise("p").alias("p")
    )
    frame.write_csv("parts/b.csv")
    assert run(["assess", "parts"]) == 2
    assert "b.csv: row 100, `p` = 1.5: above 1" in capsys.readouterr().err


def test_one_file_needs_no_name(
    parts: Path, capsys: pytest.CaptureFixture[str], small_batches: Callable[[int], None]
) -> None:
    for rows in (1 << 20, 64):
        small_batches(rows)
        assert run(["assess", "parts/c.csv", "--json", "-"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["surprises"][0]["row"] == 7
        assert "file" not in document["surprises"][0]
        assert all("files" not in finding for finding in document["findings"])
