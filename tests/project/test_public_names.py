"""Editors complete the public names: their types are known and every parameter is explained."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import veracity as vc
from veracity.options import READING
from veracity.state.plan import PLANNED

ROOT = Path(__file__).resolve().parents[2]

EXPRESSIONS = {
    "vc.assess(y, p)": "Assessment",
    "vc.assess(y, p).scores.log_loss.low": "float | None",
    "vc.assess(y, p).scores.brier": "Reading | None",
    "vc.assess(y, p).verdict": "str",
    "vc.assess(y, p).verdict_detail.level.p": "float | None",
    "vc.assess(y, p).reported.geometric_accuracy": "Reading",
    "vc.assess(y, p).losses('log').CL": "Reading",
    "vc.assess(y, p).decomposition(0.5).resolution.high": "float | None",
    "vc.assess(y, p).measured_at(0.3)": "Reading",
    "vc.assess(y, p).remedies[0].log.gain": "float | None",
    "vc.assess(y, p).findings[0].code": "str",
    "vc.assess(y, p).risk_profile.reported": "tuple[float, ...]",
    "vc.assess(y, p).to_json()": "str",
    "vc.assess(y, p).to_frame('polars')": "DataFrame",
    "vc.assess(y, p).to_metrics()": "dict[str, float]",
    "vc.assess(y, p).fix()": "Calibrator",
    "vc.calibrate(y, p)": "Calibrator",
    "vc.calibrate(y, p).predict(p)": "ndarray",
    "vc.calibrate(y, p).gain.low": "float | None",
    "vc.calibrate(y, p).assessment": "Assessment",
    "vc.Calibrator.from_json('{}').method": "str",
    "vc.assess(vc.Tally.of(y, p) + vc.Tally.of(y, p))": "Assessment",
    "vc.assess(frame, label='y')": "Assessment | Assessments",
    "vc.Assessment.from_json('{}')": "Assessment",
    "vc.compare(y, {'a': p, 'b': p}).differences('log')[0].value": "float",
    "vc.compare(y, {'a': p, 'b': p}).ranking()": "tuple[tuple[str, ...], ...]",
    "vc.compare(y, {'a': p, 'b': p}).models['a']": "Assessment",
    "vc.PredictionTable(counts).psep": "float",
    "vc.PredictionTable(counts).g2": "float | None",
    "vc.generalized_mean(p, 0)": "float",
    "vc.risk_profile(p)": "ndarray",
    "vc.rule('log').score([p], [1])": "ndarray",
    "vc.adjust([p], p)([p])": "ndarray",
    "vc.coupled_log(2.0, 0.1)": "ndarray",
    "vc.CoupledNormal(0.0, 1.0, 0.1).pdf(0.0)": "ndarray",
}


def test_types_of_public_expressions_are_known_to_a_type_checker(tmp_path):
    given = "y, p = [0, 1], [0.2, 0.8]\nframe: dict[str, list[float]] = {}\ncounts = np.array([[83, 56], [2, 12]])\n"
    lines = "".join(f"reveal_type({expression})\n" for expression in EXPRESSIONS)
    script = tmp_path / "names.py"
    script.write_text(f"import numpy as np\nimport veracity as vc\n{given}{lines}")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--follow-imports=silent"]
        + ["--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
    )
    assert not [line for line in done.stdout.splitlines() if "error:" in line], done.stdout
    revealed = [re.sub(r"[\w.]*\.(?=\w)", "", name) for name in re.findall(r'Revealed type is "(.*)"', done.stdout)]
    assert len(revealed) == len(EXPRESSIONS), done.stdout + done.stderr
    for (expression, expected), kind in zip(EXPRESSIONS.items(), revealed, strict=True):
        same = sorted(kind.split(" | ")) == sorted(expected.split(" | "))  # versions of mypy order unions differently
        assert same or (expected == "ndarray" and kind.startswith("ndarray[")), (expression, kind)


def documented(function) -> set[str]:
    section = inspect.getdoc(function).partition("Parameters\n----------\n")[2].partition("\n\nReturns\n")[0]
    heads = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip() for head in heads for name in head.partition(" : ")[0].split(",")}


@pytest.mark.parametrize("name", ["assess", "calibrate", "compare", "adjust"])
def test_every_parameter_is_explained(name):
    function = getattr(vc, name)
    parameters = {p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD}
    assert documented(function) == parameters


@pytest.mark.parametrize("name", ["assess", "compare"])
def test_every_option_of_the_plan_is_a_parameter_with_its_default(name):
    parameters = inspect.signature(getattr(vc, name)).parameters
    for option in PLANNED.values():  # the event of a plan is named by `pos_label`
        if (name, option.name) != ("assess", "horizon"):  # of compared forecasts alone
            assert parameters[option.name].default == option.default, option.name


def test_options_of_reading_have_the_same_defaults_for_arrays():
    """What a file's option does to rows, an argument of `Forecasts.of` does; columns are arguments of `assess` too."""
    arrays, assessed = (inspect.signature(call).parameters for call in (vc.Forecasts.of, vc.assess))
    alike = {"missing", "soft", "normalise"}
    for name, option in READING.items():
        if name in alike:
            assert arrays[name].default == option.default, name
        elif option.array:
            assert arrays[option.array].default is assessed[option.array].default is None, name
    assert alike <= set(READING)
    assert arrays["scale"].default in READING["scale"].choices


def test_names_complete_without_importing_anything():
    listed = (
        "import sys, veracity; print(len([n for n in dir(veracity) if n in veracity.__all__]), 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True)
    assert done.stdout.split() == [str(len(vc.__all__)), "False"]
