"""`veracity compare`: several models on the same cases."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from veracity.cli import run


@pytest.fixture
def models(tmp_path: Path) -> list[Path]:
    """Two files with the same outcomes and different forecasts."""
    rng = np.random.default_rng(2)
    truth = rng.beta(2, 2, 250)
    happened = (rng.random(250) < truth).astype(int)
    paths = []
    for name, stated in (("calm", truth), ("sharp", truth**3 / (truth**3 + (1 - truth) ** 3))):
        paths.append(tmp_path / f"{name}.csv")
        rows = "".join(f"{i},{y},{p:.6f}\n" for i, (y, p) in enumerate(zip(happened, stated, strict=True)))
        paths[-1].write_text(f"id,outcome,risk\n{rows}")
    return paths


def test_models_are_named_by_file_and_ranked(models: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *map(str, models)]) == 0
    out, err = capsys.readouterr()
    assert "250 cases, paired by row" in err
    said = " ".join(out.split())
    assert re.search(r"✓ Best calm beats sharp by 0\.\d+ \(0\.\d+–0\.\d+\) \(log loss\)\.", said)
    table = [line.split() for line in out.partition("\nModel ")[2].splitlines()[1:3]]
    assert [row[0] for row in table] == ["calm", "sharp"]
    assert table[1][-1] == "over-confident"
    assert "Lowest log loss first. Differences from calm on the same cases (paired t" in out


@pytest.mark.parametrize("columns", [60, 80, 100, 140])
def test_groups_of_every_model(
    columns: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Level by level, largest first; under each the models in the order of the table; as wide as the terminal."""
    monkeypatch.setenv("COLUMNS", str(columns))
    rng = np.random.default_rng(3)
    truth = rng.beta(2, 2, 400)
    happened = (rng.random(400) < truth).astype(int)
    sharp = truth**4 / (truth**4 + (1 - truth) ** 4)
    sites = np.where(np.arange(400) < 250, "a site with a name that is longer than its column", "south")
    rows = zip(happened, truth, sharp, sites, strict=True)
    path = tmp_path / "x.csv"
    path.write_text("y,calm,sharp,site\n" + "".join(f"{y},{p:.6f},{q:.6f},{site}\n" for y, p, q, site in rows))
    arguments = [str(path), "--positive-proba", "calm,sharp", "--group", "site"]
    assert run(["compare", *arguments]) == 0
    block = capsys.readouterr().out.partition("By site")[2].partition("\n\n")[0].splitlines()
    assert max(map(len, block[1:])) <= columns
    assert run(["compare", *arguments, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    models, differences = document["models"], document["comparison"]["groups"]["site"]
    assert block[0].split()[:2] == ["model", "cases"]
    expected = [(level, name) for level in (sites[0], "south") for name in ("calm", "sharp")]
    rows_of_models = [line for line in block[1:] if " better in " not in line]
    lines = [line for line in rows_of_models if " calm " in line or " sharp " in line]  # others continue a long name
    for line, (level, name) in zip(lines, expected, strict=True):
        part = models[name]["groups"]["site"]["levels"][level]
        assert f" {name} " in line
        assert f" {part['n']} " in line
        assert f" {part['scores']['log_loss']['value']:.3f}" in line
        d = differences[level][0]
        assert (f"+{-d['value']:.2f}" in line) == (name == "sharp")
        ends = f"{-d['high']:.2f}–{-d['low']:.2f}".replace("-", "−")
        assert (ends in line or ends.replace("–", " to ") in line) == (columns >= 100 and name == "sharp")
        assert bool(line[:1].strip()) == (name == "calm")  # the level, or the end of its name


def test_json_holds_every_model(models: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *map(str, models), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "veracity/comparison/2"
    assert list(document["models"]) == ["calm", "sharp"]
    assert {one["n"] for one in document["models"].values()} == {250}


@pytest.mark.slow
def test_page_and_pictures_of_several(models: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    assert run(["compare", *map(str, models), "--report", str(out), "--plots", str(tmp_path / "p"), "--quiet"]) == 0
    page = out.read_text()
    assert page.index("calm beats sharp by") < page.index(">calm</h") < page.index(">sharp</h")
    made = {str(path.relative_to(tmp_path / "p")) for path in (tmp_path / "p").rglob("*.svg")}
    assert {
        "compare.svg",
        "differences.svg",
        "risk_profile.svg",
        "calm/reliability.svg",
        "sharp/reliability.svg",
    } <= made


def test_only_common_cases_count(models: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    short = models[1].read_text().splitlines()[:201]
    models[1].write_text("\n".join(short) + "\n")
    assert run(["compare", *map(str, models)]) == 2
    assert "--id" in capsys.readouterr().err
    assert run(["compare", *map(str, models), "--id", "id", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert "200 of 250 cases are in all 2 models" in err
    assert {one["n"] for one in json.loads(out)["models"].values()} == {200}


def test_one_model_is_no_comparison(models: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(models[0])]) == 2
    assert "veracity assess" in capsys.readouterr().err


def test_different_outcomes_are_refused(models: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    lines = models[1].read_text().splitlines()
    identity, outcome, risk = lines[7].split(",")
    lines[7] = f"{identity},{1 - int(outcome)},{risk}"
    models[1].write_text("\n".join(lines) + "\n")
    assert run(["compare", *map(str, models)]) == 2
    assert "one outcome per case" in capsys.readouterr().err


@pytest.mark.shared
def test_four_real_models_in_columns(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ENS gave probability 0 to six days with rain: its log loss is infinite and it is ranked last."""
    assert run(["compare", str(shared / "niamey_precip_2016" / "niamey.csv")]) == 0
    out = capsys.readouterr().out
    lines = out.partition("\nModel ")[2].splitlines()
    names = [line.split()[0] for line in lines if line.startswith(("Logistic", "EMOS", "ENS", "EPC"))]
    assert sorted(names) == ["EMOS", "ENS", "EPC", "Logistic"]
    assert names[-1] == "ENS"
    said = " ".join(out.split())
    assert "Outcomes were ruled out: ENS in 6 of 92 cases (rows 12, 25, 35, …), so its log loss is infinite" in said
    assert "Logistic is ahead of EMOS by" in said
