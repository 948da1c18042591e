"""Assessments of the public sets equal scores that were computed independently."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity.formulas.decisions import half_score
from veracity.formulas.rules import rule
from veracity.inputs import Forecasts
from veracity.read import ReadOptions, read

pytestmark = pytest.mark.shared


def _sets() -> list[tuple[str, dict[str, str], dict[str, str]]]:
    """How each set is read: the list that the tests of reading hold."""
    spec = spec_from_file_location("reading_reference", Path(__file__).parents[1] / "inputs" / "test_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sets: list[tuple[str, dict[str, str], dict[str, str]]] = module.SETS
    return sets


CASES = [(file, options, model, key) for file, options, models in _sets() for model, key in models.items()]
KEYS = [key for *_, key in CASES]


@pytest.fixture(scope="module")
def reference(shared: Path) -> dict[str, Any]:
    held: dict[str, Any] = json.loads((shared / "reference.json").read_text())
    return held


_held: dict[str, dict[str, Forecasts]] = {}


def forecasts(shared: Path, file: str, options: dict[str, Any], model: str) -> Forecasts:
    name = f"{file} {options}"
    if name not in _held:
        _held.clear()  # the models of one file follow one another; two files are never needed at once
        _held[name] = read(shared / file, ReadOptions(**options))
    return _held[name][model]


def readings(a: vc.Assessment) -> dict[str, float]:
    """What an assessment says, by the names of reference.json."""
    top = a.calibration_error.top_label
    document = a.scores
    found = {
        "n": a.n,
        "K": len(a.classes),
        "log_loss": document.log_loss,
        "geom_mean": a.reported.geometric_accuracy,
        "arith_mean": a.reported.decisiveness,
        "m23_mean": a.reported.robustness,
        "min_true_p": a.surprises[0].probability,
        "n_zero_true_p": a.tally.sums.zeros,
        "brier_multi": document.brier,
        "accuracy": document.accuracy,
        "ece15": top.value,
        "mce15": top.max,
    }
    if len(a.classes) == 2:
        found |= {"brier_half": document.half_brier, "auc": document.auc}
    return {name: float(value) for name, value in found.items()}


@pytest.mark.parametrize(("file", "options", "model", "key"), CASES, ids=KEYS)
def test_scores_equal_the_published_reference(
    shared: Path, reference: dict[str, Any], file: str, options: dict[str, Any], model: str, key: str
) -> None:
    f, want = forecasts(shared, file, options, model), reference[key]
    found = readings(vc.assess(f))
    compared = set(found) & set(want)
    assert {"log_loss", "geom_mean", "arith_mean", "m23_mean", "brier_multi", "accuracy"} <= compared
    for name in sorted(compared):
        assert found[name] == pytest.approx(want[name], rel=1e-9, abs=1e-9), name
    if "base_rate" in want:
        assert float(f.prior[1]) == pytest.approx(want["base_rate"], abs=1e-9)


@pytest.mark.parametrize(("file", "options", "model", "key"), CASES, ids=KEYS)
def test_halves_of_all_classes_add_to_the_score_of_real_forecasts(
    shared: Path, file: str, options: dict[str, Any], model: str, key: str
) -> None:
    f = forecasts(shared, file, options, model)
    p, y = np.asarray(f.matrix[:2000], dtype=np.float64), f.outcomes[:2000]
    for r in (-0.9, -2 / 3, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0):
        score = rule(r).score(p, y)
        of_halves = half_score(p, np.arange(f.k) == y[:, None], r).sum(axis=1)
        wrong = np.abs(p.sum(axis=1) - 1.0)  # rows that were rounded do not sum to one, which the identity needs
        np.testing.assert_allclose(of_halves, score, rtol=1e-12, atol=1e-12 + 4.0 * float(wrong.max()))


def halves(terms: Any) -> dict[str, float]:
    """One-component terms: half of ours, which are sums over both classes."""
    names = {
        "reliability": "REL",
        "resolution": "RES",
        "uncertainty": "UNC",
        "miscalibration": "MCB",
        "discrimination": "DSC",
    }
    return {names[name]: float(value) / 2 for name, value in terms.readings().items() if name in names}


DECOMPOSED = [case for case in CASES if not case[0].startswith(("cifar", "yardstick/hpc"))]


@pytest.mark.parametrize(("file", "options", "model", "key"), DECOMPOSED, ids=[key for *_, key in DECOMPOSED])
def test_decompositions_equal_the_published_reference(
    shared: Path, reference: dict[str, Any], file: str, options: dict[str, Any], model: str, key: str
) -> None:
    f, want = forecasts(shared, file, options, model), reference[key]
    if f.k > 2:
        assert "corp_brier" not in want
        return
    a = vc.assess(f, map="grouped")
    found = halves(a.corp.brier)
    for name, value in want["corp_brier"].items():
        assert found[name] == pytest.approx(value, abs=1e-9), name
    if "murphy_unique" in want:
        terms = a.decomposition("brier").plain  # as counted, like the reference
        found = halves(terms)
        for name in ("REL", "RES", "UNC"):
            assert found[name] == pytest.approx(want["murphy_unique"][name], abs=1e-9), name
        assert abs(terms.within) < 1e-9  # equal forecasts in a group: nothing is left within
    if "log_decomp_nats" in want:
        log = halves(a.decomposition("log").plain)
        for name, value in want["log_decomp_nats"].items():
            assert 2 * log[name] == pytest.approx(value, abs=1e-9), name


def test_every_decomposition_is_compared(reference: dict[str, Any]) -> None:
    compared = {key for *_, key in DECOMPOSED}
    assert {key for key, want in reference.items() if "corp_brier" in want or "murphy_unique" in want} <= compared


def test_table_of_shares_has_the_published_scores(shared: Path, reference: dict[str, Any]) -> None:
    """Wilks' table gives the share of cases of each forecast: importance, so weights and not counts."""
    (f,) = read(shared / "wilks_pop_table/wilks_table.csv", ReadOptions(weight="p_y_corrected")).values()
    want, a = reference["wilks_pop_table"], vc.assess(f, map="grouped")
    found = halves(a.decomposition("brier").plain) | {"BS": a.scores.half_brier, "BSS": a.skill.brier}
    for name in ("BS", "REL", "RES", "UNC", "BSS"):
        assert found[name] == pytest.approx(want[name], abs=1e-9), name


def test_weights_of_a_file(shared: Path, reference: dict[str, Any]) -> None:
    """scikit-learn clips probabilities at machine precision, so the weighted loss is compared on clipped rows."""
    folder = shared / "yardstick"
    (f,) = read(folder / "hpc_cv.csv", ReadOptions(weight=str(folder / "weights-hpc-cv.csv"))).values()
    clipped = replace(f, probabilities=np.maximum(f.matrix, np.finfo(float).eps))
    want = reference["yardstick/hpc_cv"]["weighted_sk_log_loss"]
    assert vc.assess(clipped).scores.log_loss == pytest.approx(want, abs=1e-9)
