"""`estimate`: what forecasts without outcomes would score, by the recalibration of a labelled reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veracity import __version__
from veracity.estimate.monitoring.unlabelled import estimated
from veracity.inputs import Forecasts, check, prepare
from veracity.kernels.blas import one_blas_thread
from veracity.progress import working
from veracity.records.findings import Finding
from veracity.records.monitoring import EstimateRecord
from veracity.records.reading import Reading
from veracity.results.document import build, encode, expect_schema, parse, plain
from veracity.results.monitor import days_of_reference
from veracity.results.presented import Presented
from veracity.results.schema import ESTIMATE as SCHEMA


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Presented):
    """What forecasts without outcomes would score; made by `Assessment.estimate`."""

    record: EstimateRecord
    model: str | None = None
    version: str = __version__

    def __getattr__(self, name: str) -> Reading:
        scores: dict[str, Reading] = dict(vars(self)["record"].scores) if "record" in vars(self) else {}
        if name in scores:
            return scores[name]
        raise AttributeError(f"an estimate has no {name!r}; it has {', '.join(scores)}")

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.record.findings

    def document(self) -> dict[str, Any]:
        record = {**plain(self.record), "findings": plain(self.record.findings)}
        return {"schema": SCHEMA, "model": self.model, "estimate": record, "version": self.version}

    @classmethod
    def from_json(cls, text: str) -> Estimate:
        """Return the estimate that `to_json` wrote."""
        document = parse(text)
        expect_schema(document, SCHEMA, "an estimate")
        if not isinstance(document.get("estimate"), dict):
            raise ValueError("text: without estimate")
        record = build(EstimateRecord, document["estimate"], "estimate")
        return cls(record, document.get("model"), str(document.get("version")))

    def __eq__(self, other: object) -> bool:
        return encode(self.document()) == encode(other.document()) if isinstance(other, Estimate) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


@one_blas_thread
@working("estimating")
def estimate(reference: Any, y_proba: Any, *, r: Any = (), level: float = 0.95, model: str | None = None) -> Estimate:
    """Return the estimate for forecasts without outcomes; `reference` as in `monitor`."""
    p, count, names = _forecasts(reference, y_proba)
    days = days_of_reference(reference, names)
    if p.shape[1] != days.k:
        raise ValueError(
            f"y_proba has {p.shape[1]} classes, the reference {days.k}\n  give forecasts of the same classes"
        )
    asked = tuple(float(x) for x in np.atleast_1d(np.asarray(r, dtype=np.float64)))
    return Estimate(estimated(days, p, count, names, asked, level), model)


def _forecasts(reference: Any, y_proba: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return (n, k) probabilities, counts, and the classes of the reference."""
    from veracity.results.monitor import labelled

    known = labelled(reference)
    names = tuple(map(str, known.classes))
    if isinstance(y_proba, Forecasts):
        if tuple(map(str, y_proba.classes)) != names:
            raise ValueError(
                f"the forecasts have classes {', '.join(map(str, y_proba.classes))}, the reference {', '.join(names)}\n"
                "  give forecasts of the same model"
            )
        return y_proba.matrix, np.asarray(y_proba.copies, dtype=np.float64), names
    rows = np.asarray(y_proba)
    outcomes = np.zeros(len(rows), dtype=np.int64)
    f = check(prepare(outcomes, y_proba, labels=list(range(len(names)))))  # outcomes are not used
    return f.matrix, np.ones(len(f)), names
