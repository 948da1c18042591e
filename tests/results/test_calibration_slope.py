"""Two quantities, two names: the calibration slope of the verdict, and the spread ratio of N17 and CQ."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import veracity as vc
from veracity.cli import run

N = 1500


@pytest.fixture(scope="module")
def rare() -> vc.Assessment:
    """A rare event with doubled odds: the spread ratio is far above 1, the calibration slope is 1."""
    rng = np.random.default_rng(5)
    truth = rng.beta(0.5, 12.0, 8000)
    odds = 2.0 * truth / (1.0 - truth)
    return vc.assess((rng.random(8000) < truth).astype(int), odds / (1.0 + odds))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    truth = rng.beta(0.5, 12.0, N)
    y, odds = rng.random(N) < truth, 2.0 * truth / (1.0 - truth)
    path = tmp_path / "rare.csv"
    lines = [f"{int(a)},{b!r}" for a, b in zip(y, (odds / (1.0 + odds)).tolist(), strict=True)]
    path.write_text("\n".join(["y,p", *lines]))
    return path


def test_the_calibration_slope_is_that_of_the_verdict_and_not_the_spread_ratio(rare: vc.Assessment) -> None:
    assert rare.calibration_slope is rare.verdict_detail.slope
    assert rare.calibration_slope.low < 1.0 < rare.calibration_slope.high
    assert (rare.spread_ratio.low, rare.spread_ratio.high) == (None, None)
    assert rare.spread_ratio > 1.2
    spread = rare.measured.decisiveness - rare.measured.robustness
    reported = rare.reported.decisiveness - rare.reported.robustness
    assert rare.spread_ratio == pytest.approx(spread / reported, rel=1e-12)
    assert not hasattr(rare, "slope")


def test_the_document_names_both_and_no_slope_without_a_word_before_it(rare: vc.Assessment) -> None:
    document = rare.document()
    assert document["calibration_slope"] == document["verdict_detail"]["slope"]
    assert document["spread_ratio"]["value"] == float(rare.spread_ratio)
    assert "slope" not in document
    back = vc.Assessment.from_json(rare.to_json())
    assert (back.calibration_slope, back.spread_ratio) == (rare.calibration_slope, rare.spread_ratio)
    rows = {row["name"]: row["value"] for row in csv.DictReader(io.StringIO(rare.to_csv()))}
    assert float(rows["calibration_slope"]) == float(rare.calibration_slope)
    assert float(rows["spread_ratio"]) == float(rare.spread_ratio)
    assert "slope" not in rows


def test_levels_of_groups_name_the_spread_ratio() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(600)
    a = vc.assess((rng.random(600) < p).astype(int), p, groups={"site": np.repeat(["a", "b"], 300)})
    level = a.document()["groups"]["site"]["levels"]["a"]
    assert "spread_ratio" in level
    assert "slope" not in level


def test_the_printed_calibration_slope_is_the_one_that_requirements_see(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ["--label", "y", "--positive-proba", "p"]
    assert run(["assess", str(file), *columns, "--json", "-"]) == 0
    slope = json.loads(capsys.readouterr().out)["calibration_slope"]["value"]
    assert run(["assess", str(file), *columns]) == 0
    printed = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Calibration slope"))
    assert printed.split()[2] == f"{slope:.2f}"
    for limit, wanted in ((slope - 0.01, 0), (slope + 0.01, 1)):
        assert run(["check", str(file), *columns, "--require", f"calibration_slope>={limit}"]) == wanted


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("slope", "`calibration_slope` or `spread_ratio`"),
        ("Slope", "`calibration_slope` or `spread_ratio`"),
        ("slope.low", "`calibration_slope.low`"),  # the spread ratio has no interval
    ],
)
def test_a_requirement_of_the_slope_is_asked_which_one(
    file: Path, name: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["check", str(file), "--label", "y", "--positive-proba", "p", "--require", f"{name}>=0.9"]
    assert run(command) == 2
    assert f"no number `{name}` in the document; did you mean {meant}?" in capsys.readouterr().err


def test_the_component_called_slope_is_the_difference_of_calibration_slopes() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(0.0, 1.5, 2000)
    y = (rng.random(2000) < 1.0 / (1.0 + np.exp(-x))).astype(int)
    models = {"sharp": 1.0 / (1.0 + np.exp(-2.0 * x)), "right": 1.0 / (1.0 + np.exp(-x))}
    (found,) = vc.compare(y, models).components("slope")
    slopes = {name: vc.assess(y, p).calibration_slope for name, p in models.items()}
    assert found.value == pytest.approx(slopes[found.a] - slopes[found.b], abs=0.01)
