"""One place each: a measure, rule, map, plot, layout, engine, command, option and finding added from outside."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import veracity as vc
from tests.inputs.test_new_layout import ODDS
from veracity import calibrators, engines, measures, plots
from veracity.formulas import rules
from veracity.records.findings import KINDS, Finding
from veracity.results.schema import schema
from veracity.words.findings import SENTENCES

RNG = np.random.default_rng(0)
P = RNG.beta(0.8, 1.2, 400)
Y = (RNG.random(400) < P).astype(int)

HALFWAY = '''
"""Halfway to the class frequencies."""
from dataclasses import dataclass
import numpy as np
from veracity.calibrators._fitted import Formula

@dataclass(frozen=True, eq=False)
class Halfway(Formula):
    prior: np.ndarray
    def rows(self, p):
        return (p + self.prior) / 2.0

def fit(forecasts):
    return Halfway(forecasts.classes, forecasts.prior)
'''
DOTS = '''
"""Dots."""
import altair as alt
OF, ORDER, TITLE = "assessment", 5, "Dots"
COLUMNS = {"x": ("log loss", ".3f")}
def rows(result):
    return [{"x": float(result.scores.log_loss)}]
def chart(result):
    return alt.Chart(alt.InlineData(rows(result))).mark_point().encode(x="x:Q")
def caption(result):
    return "One dot."
'''
TWICE = "from veracity.engines.local import *\nfrom veracity.engines.local import OPTIONS, open, run\n"
SPREAD = '    spread: str | None = _input(None, "Column of the spread of an ensemble.", "COL", take=as_column)\n'
HELLO = 'import click\n@click.command()\ndef command():\n    """Say hello."""\n    click.echo("hello")\n'


@pytest.fixture
def measure() -> Iterator[measures.Measure]:
    """The mean absolute error of the event's probability."""
    added = measures.Measure(
        name="absolute_error",
        label="Absolute error",
        gloss="Mean distance between the probability of the outcome and one.",
        better="lower",
        bounds=(0.0, 1.0),
        rows=lambda f: 1.0 - f.realised[:, None],
    )
    measures.MEASURES.append(added)
    yield added
    measures.MEASURES.remove(added)


def test_a_measure_appears_everywhere(measure: measures.Measure, tmp_path: Path) -> None:
    from veracity import show

    a = vc.assess(Y, P, bootstrap=30)
    truth = float(np.mean(1.0 - np.where(Y == 1, P, 1.0 - P)))
    assert a.scores.reading("absolute_error") == pytest.approx(truth, rel=1e-12)
    assert a.scores.reading("absolute_error").method.startswith("bootstrap")
    document = json.loads(a.to_json())
    assert document["scores"]["absolute_error"]["value"] == pytest.approx(truth)
    jsonschema.Draft202012Validator(schema()).validate(document)
    assert vc.Assessment.from_json(a.to_json()).scores.reading("absolute_error") == pytest.approx(truth)
    assert "Absolute error" in show.to_terminal(a, details=True)
    assert "Absolute error" in show.to_html(a)
    assert "Absolute error" in show.to_markdown(a)
    assert "scores.absolute_error" in show.to_csv(a)
    compared = vc.compare(Y, {"a": P, "b": P**2})
    (difference,) = json.loads(compared.to_json())["comparison"]["differences"]["absolute_error"]
    other = float(np.mean(1.0 - np.where(Y == 1, P**2, 1.0 - P**2)))
    assert difference["value"] == pytest.approx(truth - other, rel=1e-9)
    for page in (show.to_terminal(compared, details=True), show.to_html(compared), show.to_csv(compared)):
        assert "Absolute error" in page or "absolute_error" in page


def test_a_scoring_rule_is_one_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by its name, with score, entropy and divergence from its generator and gradient alone."""
    with pytest.raises(ValueError, match="rule: 'cubic' is not one of"):
        vc.rule("cubic")
    added = vc.ScoringRule.of("cubic", lambda p: (p**3).sum(-1) - 1.0, lambda x, p: 3.0 * x**2)
    monkeypatch.setattr(rules, "RULES", (*rules.RULES, added))
    assert vc.rule("cubic") is added
    p, q = np.array([0.3, 0.7]), np.array([0.6, 0.4])
    assert float(added.score(p, 1)) == pytest.approx(1.0 + 2.0 * (p**3).sum() - 3.0 * 0.7**2, rel=1e-12)
    expected = q @ [float(added.score(p, j)) for j in (0, 1)]
    assert expected == pytest.approx(float(added.entropy(q)) + float(added.divergence(p, q)), rel=1e-12)


@pytest.fixture
def added_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder whose files are modules of a package of ours."""
    package = importlib.import_module(request.param)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    for listed in vars(package).values():
        if hasattr(listed, "cache_clear"):
            listed.cache_clear()
    yield tmp_path
    for name, module in list(sys.modules.items()):  # only these: of ours, imported meanwhile, others hold the classes
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
    for listed in vars(package).values():
        if hasattr(listed, "cache_clear"):
            listed.cache_clear()


@pytest.mark.parametrize("added_folder", ["veracity.calibrators"], indirect=True)
def test_a_map_is_a_file(added_folder: Path) -> None:
    (added_folder / "halfway.py").write_text(HALFWAY)
    assert "halfway" in calibrators.names()
    fitted = calibrators.fit("halfway", vc.Forecasts.of(Y, P))
    assert calibrators.from_json(fitted.to_json())(P[:3]) == pytest.approx(fitted(P[:3]))
    assert vc.assess(Y, P, map="halfway").losses("log").CL.known


@pytest.mark.parametrize("added_folder", ["veracity.plots"], indirect=True)
def test_a_plot_is_a_file(added_folder: Path) -> None:
    (added_folder / "dots.py").write_text(DOTS)
    assert "dots" in plots.names("assessment")
    assert vc.assess(Y, P).plot("dots").to_dict()["mark"]["type"] == "point"


@pytest.mark.parametrize("added_folder", ["veracity.engines"], indirect=True)
def test_an_engine_is_a_file(added_folder: Path, tmp_path: Path) -> None:
    (added_folder / "twice.py").write_text(TWICE)
    assert "twice" in engines.names()
    file = tmp_path / "forecasts.csv"
    file.write_text("y,p\n" + "".join(f"{y},{p}\n" for y, p in zip(Y, P, strict=True)))
    (found,) = engines.assess([str(file)], engine="twice").values()
    assert found.n == 400


@pytest.mark.parametrize("added_folder", ["veracity.cli"], indirect=True)
def test_a_command_is_a_file(added_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from veracity.cli import run

    (added_folder / "hello.py").write_text(HELLO)
    assert run(["--help"]) == 0
    assert "Say hello." in capsys.readouterr().out
    assert run(["hello"]) == 0
    assert capsys.readouterr().out == "hello\n"


@pytest.fixture
def finding() -> Iterator[type[Finding]]:
    """That the forecasts are older than their outcomes by so many months."""

    @dataclass(frozen=True)
    class StaleForecasts(Finding, severity="warning"):
        months: int = 0

    SENTENCES[StaleForecasts] = "{count:,} of {total:,} forecasts are more than {months} months old"
    yield StaleForecasts
    del KINDS[StaleForecasts.code], SENTENCES[StaleForecasts]


def test_a_finding_is_a_record_and_its_sentence(finding: type[Finding]) -> None:
    """In the document with its fields, accepted by the schema, read back, and told on every page with its rows."""
    from veracity import show

    stale = finding(2, 400, (3, 7), months=6)
    a = vc.assess(replace(vc.Forecasts.of(Y, P), findings=(stale,)))
    (listed,) = [f for f in json.loads(a.to_json())["findings"] if f["code"] == "stale_forecasts"]
    assert (listed["severity"], listed["count"], listed["rows"]) == ("warning", 2, [3, 7])
    assert listed["fields"] == {"total": 400, "months": 6}
    assert listed["message"] == "2 of 400 forecasts are more than 6 months old"
    jsonschema.Draft202012Validator(schema()).validate(json.loads(a.to_json()))
    assert stale in vc.Assessment.from_json(a.to_json()).findings
    for page in (show.to_terminal(a), show.to_html(a), show.to_markdown(a)):
        assert "2 of 400 forecasts are more than 6 months old (rows 3, 7)" in " ".join(page.split())


def copied_package(folder: Path) -> Path:
    """A copy of the package in folder/src."""
    package = folder / "src" / "veracity"
    shutil.copytree(Path(vc.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    return package


def run_copy(folder: Path, *command: str) -> str:
    """What Python prints with the copied package."""
    there = {**os.environ, "PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    done = subprocess.run([sys.executable, *command], cwd=folder, env=there, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_option_of_reading_is_one_line(tmp_path: Path) -> None:
    """Offered by every command that reads, checked, kept in proposed commands, and known to frames in Python."""
    declared = copied_package(tmp_path) / "options" / "__init__.py"
    before, end, after = declared.read_text().partition("    labelled: bool = True")
    declared.write_text(before + SPREAD + end + after)
    sure = P**3 / (P**3 + (1 - P) ** 3)
    rows = "".join(f"{y},{p:.6f},{i % 3}\n" for i, (y, p) in enumerate(zip(Y, sure, strict=True)))
    (tmp_path / "sure.csv").write_text(f"y,p,width\n{rows}")

    for command in (["assess"], ["compare"], ["check"], ["adjust"], ["calibrate", "fit"], ["calibrate", "apply"]):
        assert "--spread COL" in run_copy(tmp_path, "-m", "veracity", *command, "--help-all")
        assert "--spread" not in run_copy(tmp_path, "-m", "veracity", *command, "--help")
    made = run_copy(tmp_path, "-m", "veracity", "assess", "sure.csv", "--positive-proba", "p", "--spread", "width")
    assert "veracity calibrate fit sure.csv --positive-proba p --spread width --map" in made
    named = "from veracity.read import ReadOptions as R; r = R(spread=3); print(r.spread, r.given)"
    assert run_copy(tmp_path, "-c", named) == "3 ('3',)\n"
    program = """
import polars as pl, veracity as vc
frame = pl.read_csv("sure.csv")
print(vc.assess(frame, label="y", spread="width").n)
try:
    vc.assess(frame, label="y", spread=1.5)
except ValueError as refused:
    print(refused)
"""
    assert run_copy(tmp_path, "-c", program).startswith("400\nspread: 1.5 is not the name of a column\n")


def test_files_put_into_the_package_are_offered_and_used_by_the_command_line(tmp_path: Path) -> None:
    """A copy of the package with a layout, a map, a plot, an engine and a command more, each of them one file."""
    package = copied_package(tmp_path)
    added = {
        "read/layouts/odds_won": ODDS,
        "calibrators/halfway": HALFWAY,
        "plots/dots": DOTS,
        "engines/twice": TWICE,
        "cli/hello": HELLO,
    }
    for place, text in added.items():
        (package / f"{place}.py").write_text(text)
    odds = "".join(f"{y},{1.0 / p}\n" for y, p in zip(Y, P, strict=True))
    (tmp_path / "odds.csv").write_text(f"won,odds\n{odds}")

    def veracity(*arguments: str) -> str:
        return run_copy(tmp_path, "-m", "veracity", *arguments)

    assert "Say hello." in veracity("--help")
    offered = veracity("assess", "--help-all")
    assert "odds-won" in offered
    assert "twice" in offered
    made = veracity(
        "assess",
        "odds.csv",
        "--layout",
        "odds-won",
        "--engine",
        "twice",
        "--report",
        "page.html",
        "--plots",
        "pictures",
    )
    assert "400 cases" in made
    assert (tmp_path / "pictures" / "dots.svg").exists()
    assert "One dot." in (tmp_path / "page.html").read_text()
    assert "halfway" in veracity("calibrate", "fit", "--help")
    veracity("calibrate", "fit", "odds.csv", "--map", "halfway", "-o", "halfway.json")
    assert json.loads((tmp_path / "halfway.json").read_text())["map"] == "halfway"
