"""An assessment in a tracker of experiments: `log_to_mlflow(a)`; others take `a.to_metrics()`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from veracity.extras import extras
from veracity.results.assessment import Assessment

__all__ = ["log_to_mlflow"]


def log_to_mlflow(a: Assessment, *, prefix: str = "", report: bool = True) -> None:
    """Log metrics, the JSON document and the report of an assessment to the active run of MLflow.

    Parameters
    ----------
    a : Assessment
    prefix : str, default ""
        Before the names of metrics and files, such as "validation/".
    report : bool, default True
        Whether the report is logged, which needs `veracity[cli]`.
    """
    with extras():
        import mlflow
    mlflow.log_metrics({f"{prefix}{name}": value for name, value in a.to_metrics().items()})
    mlflow.set_tag(f"{prefix}verdict", a.verdict)
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder, "assessment.json")
        document.write_text(a.to_json(), encoding="utf-8")
        mlflow.log_artifact(str(document), prefix.strip("/") or None)
        if report:
            page = Path(folder, "report.html")
            a.report(page)
            mlflow.log_artifact(str(page), prefix.strip("/") or None)
