"""`veracity check`: requirements by JSON path, exit 1 when one fails."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from veracity.cli import run
from veracity.results.check import Requirement, check, lookup

READING = {"value": 0.7, "low": 0.6, "high": 0.8, "method": "delta"}
DOCUMENT: dict[str, Any] = {
    "schema": "veracity/assessment/2",
    "model": "gam",
    "n": 100,
    "verdict": "calibrated",
    "reported": {
        "geometric_accuracy": READING,
        "decisiveness": READING,
        "robustness": {**READING, "low": None, "high": None},
    },
    "scores": {"accuracy": {**READING, "value": 0.9}, "log_loss": {**READING, "value": math.inf}},
    "losses": {"log": {"GL": {"value": None, "low": None, "high": None, "method": None, "reason": "needs --ideal"}}},
    "groups": {"a.b": {"c.d": {"slope": READING}}},
    "bins": [{"low": 0.0, "count": 5}],
}


def met(text: str, document: dict[str, Any] = DOCUMENT) -> list[bool]:
    return [outcome.met for outcome in check(document, [Requirement.parse(text)])]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("reported.geometric_accuracy>=0.7", True),
        ("reported.geometric_accuracy > 0.7", False),
        ("reported.geometric_accuracy<=0.7", True),
        ("reported.geometric_accuracy.low>=0.6", True),
        ("reported.geometric_accuracy.high<0.8", False),
        ("n==100", True),
        ("n = 100", True),
        ("n!=100", False),
        ("verdict==calibrated", True),
        ("verdict!=calibrated", False),
        ("scores.log_loss<1e9", False),
        ("scores.log_loss>1e9", True),
        ("groups.a.b.c.d.slope>0.5", True),
        ("bins.0.count>=5", True),
        ("gam:reported.geometric_accuracy>=0.7", True),
        ("losses.log.GL<1", False),  # what is not known is not met
        ("losses.log.GL>=0", False),
        ("reported.robustness.low>0", False),
    ],
)
def test_requirements_are_met_as_compared(text: str, wanted: bool) -> None:
    assert met(text) == [wanted]


@pytest.mark.parametrize(
    ("verdict", "asked", "wanted"),
    [
        ("over-confident and biased", "over-confident", False),
        ("over-confident and biased", "biased", False),
        ("over-confident and biased", "under-confident", True),
        ("over-confident", "miscalibrated", False),
        ("miscalibrated", "miscalibrated", False),
        ("slightly over-confident", "miscalibrated", True),
        ("no miscalibration found", "miscalibrated", True),
        ("too few cases", "miscalibrated", False),  # cannot tell
        ("not measurable", "over-confident", False),
    ],
)
def test_a_fault_that_may_not_be_is_refused_by_every_verdict_that_names_it(
    verdict: str, asked: str, wanted: bool
) -> None:
    assert met(f"verdict!={asked}", {**DOCUMENT, "verdict": verdict}) == [wanted]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("accuracy>=0.5", "did you mean `scores.accuracy`"),
        ("gam:accuracy>=0.5", "did you mean `scores.accuracy`"),
        ("robustness>=0.5", "several things here: reported.robustness, expected.robustness, measured.robustness"),
        ("geometric_accuracy>=0.5", "several things here: reported.geometric_accuracy"),
        ("reported.geometric_acuracy>=0.5", "did you mean `reported.geometric_accuracy`"),
        ("reported>=0.5", "no number `reported`"),
        ("forest:reported.geometric_accuracy>=0.5", "no model `forest`"),
    ],
)
def test_names_that_mean_nothing_or_two_things(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        met(text)


@pytest.mark.parametrize(
    "text",
    [
        "reported.geometric_accuracy",
        ">=3",
        "a>=b",
        "a>=nan",
        "verdict>=1",
        "verdict!=overconfident",
        "verdict==matched",
        "",
    ],
)
def test_invalid_requirements_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="--require"):
        Requirement.parse(text)


def test_every_model_must_meet_it_unless_one_is_named() -> None:
    worse = {**DOCUMENT, "reported": {"geometric_accuracy": {**READING, "value": 0.4}}}
    both = {"schema": "veracity/assessments/2", "models": {"gam": DOCUMENT, "gam:2": worse}}
    assert met("reported.geometric_accuracy>=0.5", both) == [True, False]
    assert met("gam:2:reported.geometric_accuracy>=0.5", both) == [False]
    assert met("gam:reported.geometric_accuracy>=0.5", both) == [True]


def test_lookup_of_an_unknown_path_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no number `bins\.7\.count`"):
        lookup(DOCUMENT, "bins.7.count")


@pytest.fixture
def forecasts(tmp_path: Path) -> str:
    rows = "".join(f"{int(i % 3 == 0)},{0.3 + 0.1 * (i % 5 == 0):.2f}\n" for i in range(120))
    path = tmp_path / "f.csv"
    path.write_text(f"outcome,risk\n{rows}")
    return str(path)


def test_exit_codes_and_lines(forecasts: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", forecasts, "--require", "reported.geometric_accuracy>=0.1"]) == 0
    assert capsys.readouterr().out.startswith("met ")
    failing = ["--require", "reported.geometric_accuracy>=0.1", "--require", "reported.geometric_accuracy>=0.99"]
    assert run(["check", forecasts, *failing]) == 1
    assert "FAILED  reported.geometric_accuracy>=0.99   is 0.5" in capsys.readouterr().out
    assert run(["check", forecasts, *failing, "--quiet"]) == 1
    assert capsys.readouterr().out.count("\n") == 1
    assert run(["check", forecasts, "--require", "accuracy>=0.1"]) == 2
    err = capsys.readouterr().err
    assert "veracity: check: --require: no number `accuracy` in the document; did you mean `scores.accuracy`?" in err
    assert run(["check", forecasts, "--require", "decisiveness>=0.1"]) == 2
    err = capsys.readouterr().err
    assert "`decisiveness` is several things here: reported.decisiveness, expected.decisiveness" in err
    assert "Name one." in err
    assert run(["check", forecasts]) == 2
    assert "--require" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("common", "ours"),
    [("ece", "calibration_error.top_label` or `calibration_error.classwise"), ("AUROC", "scores.auc")],
)
def test_common_names_lead_to_ours(tmp_path, capsys, common, ours):
    rows = "".join(f"{i % 2},{0.1 + 0.01 * i}\n" for i in range(60))
    (tmp_path / "f.csv").write_text("y,p\n" + rows)
    assert run(["check", str(tmp_path / "f.csv"), "--require", f"{common}<0.05"]) == 2
    assert f"did you mean `{ours}`?" in capsys.readouterr().err


# -- against a baseline, from a file, for CI systems ------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A baseline, the same a little better, and one that is clearly worse."""
    import numpy as np

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    z = rng.standard_normal(600)
    y = (rng.random(600) < 1 / (1 + np.exp(-z))).astype(int)
    stated = {"old": z + 0.3 * rng.standard_normal(600), "new": z + 0.1 * rng.standard_normal(600), "bad": 4 * z}
    for name, log_odds in stated.items():
        rows = zip(y, 1 / (1 + np.exp(-log_odds)), strict=True)
        Path(f"{name}.csv").write_text("y,p\n" + "".join(f"{a},{b:.6f}\n" for a, b in rows))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "requirement", "code"),
    [
        ("new.csv", "log_loss not worse by 0.01", 0),
        ("new.csv", "scores.brier not worse by 0.02", 0),
        ("new.csv", "accuracy not worse by 0.05", 0),
        ("bad.csv", "log_loss not worse by 0.01", 1),
        ("bad.csv", "log_loss not worse by 5", 0),
        ("old.csv", "accuracy not worse", 0),  # the very same
    ],
)
def test_check_against_a_baseline_fails_where_it_is_worse(
    two: Path, file: str, requirement: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (two / "base.csv").write_text((two / "old.csv").read_text())
    assert run(["check", file, "--against", "base.csv", "--require", requirement]) == code
    out, err = capsys.readouterr()
    assert "600 cases, paired by row" in err
    assert out.startswith("met   " if code == 0 else "FAILED")
    assert "from the baseline" in out


def test_gate_is_the_upper_end_of_the_paired_difference(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    assert run(["compare", "bad.csv", "old.csv", "--json", "-"]) == 0
    high = json.loads(capsys.readouterr().out)["comparison"]["differences"]["log"][0]["high"]
    for margin, code in ((high * (1 + 1e-9), 0), (high * (1 - 1e-9), 1)):
        wanted = f"log_loss not worse by {margin!r}"
        assert run(["check", "bad.csv", "--against", "old.csv", "--require", wanted]) == code


def test_requirements_file_markdown_and_junit(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from xml.etree import ElementTree

    Path("gate.toml").write_text('require = ["n>=100", "log_loss not worse by 0.01"]\nagainst = "old.csv"\n')
    made = ["--markdown", "out.md", "--junit", "out.xml"]
    assert run(["check", "bad.csv", "--requirements", "gate.toml", "--require", "n<10", *made]) == 1
    table = Path("out.md").read_text().splitlines()
    assert table[0] == "**2 of 3 requirements failed** · bad.csv"
    assert table[4] == "| ✗ failed | `n<10` | 600 |"
    assert table[5] == "| ✓ | `n>=100` | 600 |"
    assert table[6].startswith("| ✗ failed | `log_loss not worse by 0.01` | +")
    suite = ElementTree.parse("out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.find("failure") is None for case in suite.iter("testcase")] == [False, True, False]
    capsys.readouterr()
    assert run(["check", "new.csv", "--requirements", "gate.toml", "--markdown", "-"]) == 0
    assert capsys.readouterr().out.startswith("**All 2 requirements met** · new.csv\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--require", "log_loss not worse by 0.01"], "worse than what?\n  name the baseline:  --against BASELINE"),
        (
            ["--against", "old.csv", "--require", "log_los not worse by 0.01"],
            "no score `log_los`; did you mean `log_loss`?",
        ),
        (["--against", "old.csv", "--require", "brier not worse by x"], "'x' is not a number"),
        (["--against", "old.csv", "--require", "brier not worse by -1"], "the margin must be 0 or more"),
        ([], 'nothing is required\n  add --require "scores.log_loss<=0.4", or --requirements FILE.toml'),
        (["--requirements", "bad.toml"], "--requirements bad.toml: no key `requires`; there are require, against"),
        (
            ["--against", "./new.csv", "--require", "brier not worse"],
            "--against ./new.csv: new.csv would be compared with itself\n  name other forecasts of its cases",
        ),
        (["--require", "n>1", "--junit", "-"], "--junit -: give the name of a file, such as check.xml"),
    ],
)
def test_bad_gates_are_refused(
    two: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.toml").write_text('requires = ["n>=100"]\n')
    assert run(["check", "new.csv", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_command_of_the_example_workflow_runs(two: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import re
    import shlex

    text = (root / "docs" / "gate.yml").read_text()
    (command,) = re.findall(r"run: veracity (check .+)", text)
    require, against = re.findall(r"#   ((?:require|against) = .+)", text)
    Path("requirements.toml").write_text(f"{require}\n{against}\n")
    Path("forecasts.csv").write_text(Path("new.csv").read_text())
    Path("baseline.csv").write_text(Path("old.csv").read_text())
    for _ in range(2):  # a folder that is kept holds the files of the run before
        assert run(shlex.split(command)) == 0, capsys.readouterr().out
    assert Path("check.xml").exists()
    assert "log_loss not worse by 0.01" in Path("check.md").read_text()
