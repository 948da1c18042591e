"""No output takes the place of a file that is read, by whatever name, with --force or without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_assess import veracity
from veracity import engines
from veracity.cli import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two parts, their outcomes, weights, class frequencies, a map and a table of counts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    (tmp_path / "data").mkdir()
    for name in ("a", "b"):
        p = rng.random(80).round(3)
        y = (rng.random(80) < p).astype(int)
        rows = "".join(f"{name}{i},{label},{q}\n" for i, (label, q) in enumerate(zip(y, p, strict=True)))
        (tmp_path / "data" / f"{name}.csv").write_text("case,y,p\n" + rows)
    (tmp_path / "p.csv").write_text("p\n" + "".join(f"{q}\n" for q in p))
    (tmp_path / "y.csv").write_text("y\n" + "".join(f"{label}\n" for label in y))
    (tmp_path / "w.csv").write_text("w\n" + "1\n2\n" * 40)
    (tmp_path / "prior.csv").write_text("class,probability\n0,0.4\n1,0.6\n")
    (tmp_path / "counts.csv").write_text("forecast,no,yes\nlow,83,56\nhigh,2,12\n")
    (tmp_path / "train.csv").write_text("forecast,no,yes\nlow,98,6\nhigh,18,28\n")
    (tmp_path / "need.toml").write_text('require = ["n>=10"]\n')
    assert run(["calibrate", "fit", "data/a.csv", "--map", "platt", "-o", "map.json"]) == 0
    (tmp_path / "map.csv").write_bytes((tmp_path / "map.json").read_bytes())
    (tmp_path / "link.csv").symlink_to(tmp_path / "data" / "a.csv")
    os.link(tmp_path / "data" / "b.csv", tmp_path / "hard.csv")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("force", [True, False], ids=["with --force", "without"])
@pytest.mark.parametrize(
    "words",
    [
        "assess data --json data/b.csv",
        "assess data/*.csv --csv data/a.csv",
        "assess data/?.csv --markdown ./data/../data/b.csv",
        "assess data/a.csv --json link.csv",
        "assess link.csv --json data/a.csv",
        "assess data --json hard.csv",
        "assess p.csv --label-file y.csv --json y.csv",
        "assess p.csv --label-file y.csv --positive-proba p --weight w.csv --csv w.csv",
        "assess data/a.csv --checkpoint data/a.csv",
        "assess data --checkpoint hard.csv",
        "assess data/a.csv --checkpoint state --json state",
        "check data --require n>=10 --junit data/a.csv",
        "check data/a.csv --requirements need.toml --markdown need.toml",
        "check data/a.csv --against data --require log_loss~not~worse~by~1 --markdown data/b.csv",
        "compare data --json data/b.csv",
        "compare data/a.csv hard.csv --csv data/b.csv",
        "table counts.csv --csv counts.csv",
        "table counts.csv --train train.csv --json train.csv",
        "calibrate fit data --map platt -o data/a.csv",
        "calibrate fit p.csv --label-file y.csv --map platt -o y.csv",
        "calibrate apply map.csv data/a.csv -o map.csv",
        "calibrate apply map.json data -o data/b.csv",
        "adjust data --to uniform -o data/a.csv",
        "adjust data --to prior.csv -o prior.csv",
        "adjust data --to em --trained-on prior.csv -o prior.csv",
        "adjust map.map.json --to uniform -o map.csv",
    ],
)
def test_an_output_is_never_a_file_that_is_read(
    words: str, force: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "map.map.json" in words:  # the map is written beside the rows
        (folder / "map.map.json").symlink_to(folder / "data" / "a.csv")
    before = contents(folder)
    capsys.readouterr()
    assert run([*(word.replace("~", " ") for word in words.split()), *(["--force"] if force else [])]) == 2
    said = capsys.readouterr().err
    assert "that is read" in said or "that are read" in said or "name the same file" in said, said
    assert contents(folder) == before


def test_standard_input_from_a_file_is_kept(folder: Path) -> None:
    before = contents(folder)
    for path in ("data/a.csv", "/dev/stdin"):
        command = [sys.executable, "-m", "veracity", "assess", "-", "--json", path, "--force"]
        with (folder / "data" / "a.csv").open() as given:
            done = subprocess.run(command, stdin=given, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 2
        assert "is the file that is read" in done.stderr
    assert contents(folder) == before


def test_pictures_and_documents_never_meet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plots").mkdir()
    (folder / "plots" / "reliability.svg").write_bytes((folder / "w.csv").read_bytes())
    before = contents(folder)
    asked = ["assess", "p.csv", "--label-file", "y.csv", "--positive-proba", "p", "--quiet", "--force", "--plots"]
    assert run([*asked, "plots", "--weight", "plots/reliability.svg"]) == 2
    assert "plots/reliability.svg is one of the files that are read" in capsys.readouterr().err
    assert run([*asked, "plots", "--json", "plots/reliability.svg"]) == 2
    assert "two outputs name the same file" in capsys.readouterr().err
    assert contents(folder) == before


def test_a_file_of_another_kind_is_never_replaced_by_a_state(folder: Path) -> None:
    (folder / "notes").write_text("precious")
    done = veracity("assess", "data/a.csv", "--checkpoint", str(folder / "notes"), "--quiet")
    assert done.returncode == 2
    assert "notes is a file of another kind" in done.stderr
    state = folder / "state"

    def laid(_: object) -> None:  # while the run goes on
        state.write_text("precious")

    with pytest.raises(ValueError, match="state is a file of another kind"):
        engines.assess(
            str(folder / "data" / "a.csv"), checkpoint=state, progress=laid, options={"checkpoint_seconds": 0}
        )
    assert state.read_text() == (folder / "notes").read_text() == "precious"


def test_other_files_beside_the_inputs_can_be_written(folder: Path) -> None:
    assert run(["adjust", "data", "--to", "uniform", "-o", "data/out.csv"]) == 0
    assert run(["adjust", "data/a.csv", "--to", "uniform", "-o", "data/out.csv", "--force"]) == 0
    assert run(["assess", "data/a.csv", "--json", "data/a.json", "--checkpoint", "state", "--quiet"]) == 0
    assert not (folder / "state").exists()


def test_rows_written_in_python_do_not_replace_their_source(folder: Path) -> None:
    before = contents(folder)
    model = engines.Engine("local").recalibration("data/a.csv")
    with pytest.raises(ValueError, match=r"data/a\.csv is the file that is read"):
        model.write(model.adjustment([0.5, 0.5]), "data/a.csv")
    assert contents(folder) == before
