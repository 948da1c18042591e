"""An assessment in MLflow: metrics by their path, verdict, document and report of the active run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import veracity as vc

mlflow = pytest.importorskip("mlflow", reason="mlflow is in an environment of its own: requirements/mlflow.txt")

from veracity.tracking import log_to_mlflow  # noqa: E402


def test_a_run_holds_metrics_verdict_and_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # no database is needed
    rng = np.random.default_rng(0)
    p = rng.random(200)
    a = vc.assess((rng.random(200) < p).astype(int), p)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.create_experiment("forecasts", artifact_location=(tmp_path / "files").as_uri())
    mlflow.set_experiment("forecasts")
    with mlflow.start_run() as run:
        log_to_mlflow(a, prefix="test/")
    found = mlflow.get_run(run.info.run_id).data
    assert found.metrics["test/scores.log_loss"] == a.scores.log_loss
    assert found.metrics == {f"test/{name}": value for name, value in a.to_metrics().items()}
    assert found.tags["test/verdict"] == a.verdict
    (document,) = (tmp_path / "files").rglob("assessment.json")
    assert vc.Assessment.from_json(document.read_text()) == a
    (page,) = (tmp_path / "files").rglob("report.html")
    assert "</html>" in page.read_text()
