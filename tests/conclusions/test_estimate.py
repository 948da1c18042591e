"""Loss without labels: near the truth where cases differ, and never the belief of an over-confident model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity.cli import run
from veracity.results.estimate import Estimate
from veracity.results.schema import estimate_schema


def draw(n: int, seed: int, easy: float = 0.0) -> tuple[Any, Any]:
    """Over-confident forecasts (log-odds doubled) of a known source; `easy` moves the cases, not their meaning."""
    rng = np.random.default_rng(seed)
    x = rng.normal(easy, 1.0, n)
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-x))).astype(int)
    return y, 1 / (1 + np.exp(-2 * x))


@pytest.mark.parametrize("easy", [0.0, 1.0])
def test_estimate_of_an_over_confident_model_covers_its_loss_also_under_covariate_shift(easy: float) -> None:
    y, p = draw(3000, 0)
    reference = vc.assess(y, p)
    truth_y, new = draw(100_000, 1, easy)
    truth = vc.assess(truth_y, new)
    inside = 0
    for seed in range(8):
        chosen = np.random.default_rng(seed).choice(len(new), 1000)
        found = reference.estimate(new[chosen])
        inside += found.log_loss.low <= float(truth.scores.log_loss) <= found.log_loss.high
        assert found.record.self_expected["log_loss"] < found.log_loss.low  # what it believes of itself
        assert abs(found.auc - truth.scores.auc) < 0.06
        assert abs(found.accuracy - truth.scores.accuracy) < 0.05
    assert inside >= 6


def test_alarms_tell_other_cases_from_the_same() -> None:
    reference = vc.assess(*draw(2000, 2))
    same, other = reference.estimate(draw(1500, 3)[1]).record, reference.estimate(draw(1500, 4, 1.0)[1]).record
    assert same.forecast_shift.p > 0.01
    assert other.forecast_shift.p < 1e-6
    assert other.label_shift.p < 0.01
    assert "forecasts_shifted" in {finding.code for finding in other.findings}


def test_estimate_of_more_classes_and_of_any_r() -> None:
    rng = np.random.default_rng(5)
    q = rng.dirichlet([1, 1, 1], 4000)
    y = (q.cumsum(axis=1) < rng.uniform(size=(4000, 1))).sum(axis=1)
    p = q**2 / (q**2).sum(axis=1, keepdims=True)
    found = vc.assess(y, p).estimate(p[:1000], r=(-0.5, 1.0))
    loss = float(vc.assess(y, p).scores.log_loss)
    assert found.log_loss.low < loss < found.log_loss.high
    assert found.record.scores["r = 1"] == pytest.approx(float(found.brier), rel=1e-12)
    assert "auc" not in found.record.scores
    with pytest.raises(ValueError, match="classes"):
        vc.assess(y, p).estimate(p[:, :2] / p[:, :2].sum(axis=1, keepdims=True))


def test_command_writes_a_document_that_returns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema

    y, p = draw(600, 6)
    pl.DataFrame({"died": y, "risk": p}).write_csv(tmp_path / "reference.csv")
    pl.DataFrame({"risk": draw(300, 7)[1]}).write_csv(tmp_path / "new.csv")
    given = ["estimate", str(tmp_path / "new.csv"), "--reference", str(tmp_path / "reference.csv")]
    assert run([*given, "--json", "-"]) == 0
    text = capsys.readouterr().out
    jsonschema.validate(json.loads(text), estimate_schema())
    assert Estimate.from_json(text).document() == json.loads(text)
    assert run([*given, "--quiet"]) == 0
    assert "if the reference's recalibration still holds" in capsys.readouterr().out
    assert run(["estimate", str(tmp_path / "new.csv"), "--reference", str(tmp_path / "new.csv")]) == 2
