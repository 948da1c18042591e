"""`veracity check`: requirements by JSON path, exit 1 when one fails."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from veracity.cli import run
from veracity.results.requirements import Requirement, check, lookup

READING = {"value": 0.7, "low": 0.6, "high": 0.8, "method": "delta"}
DOCUMENT: dict[str, Any] = {
    "schema": "veracity/assessment/1",
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
def test_requirements(text: str, wanted: bool) -> None:
    assert met(text) == [wanted]


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
def test_what_is_no_requirement(text: str) -> None:
    with pytest.raises(ValueError, match="--require"):
        Requirement.parse(text)


def test_every_model_must_meet_it_unless_one_is_named() -> None:
    worse = {**DOCUMENT, "reported": {"geometric_accuracy": {**READING, "value": 0.4}}}
    both = {"schema": "veracity/assessments/1", "models": {"gam": DOCUMENT, "gam:2": worse}}
    assert met("reported.geometric_accuracy>=0.5", both) == [True, False]
    assert met("gam:2:reported.geometric_accuracy>=0.5", both) == [False]
    assert met("gam:reported.geometric_accuracy>=0.5", both) == [True]


def test_lookup_of_what_is_not_there() -> None:
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
    assert "veracity check: --require: no number `accuracy` in the document; did you mean `scores.accuracy`?" in err
    assert run(["check", forecasts, "--require", "decisiveness>=0.1"]) == 2
    err = capsys.readouterr().err
    assert "`decisiveness` is several things here: reported.decisiveness, expected.decisiveness" in err
    assert "Name one." in err
    assert run(["check", forecasts]) == 2
    assert "--require" in capsys.readouterr().err


@pytest.mark.parametrize(("common", "ours"), [("ece", "calibration_error.top_label"), ("AUROC", "scores.auc")])
def test_common_names_lead_to_ours(tmp_path, capsys, common, ours):
    rows = "".join(f"{i % 2},{0.1 + 0.01 * i}\n" for i in range(60))
    (tmp_path / "f.csv").write_text("y,p\n" + rows)
    assert run(["check", str(tmp_path / "f.csv"), "--require", f"{common}<0.05"]) == 2
    assert f"did you mean `{ours}`?" in capsys.readouterr().err
