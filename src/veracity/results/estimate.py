"""`estimate`: what forecasts without outcomes would score, by the recalibration of a labelled reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veracity.estimate.monitoring.unlabelled import estimated
from veracity.inputs import Forecasts, check, prepare
from veracity.kernels.blas import one_blas_thread
from veracity.progress import working
from veracity.records.monitoring import EstimateRecord
from veracity.records.reading import Reading
from veracity.results.monitor import days_of_reference
from veracity.results.presented import Recorded
from veracity.results.schema import ESTIMATE


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Estimate(Recorded):
    """What forecasts without outcomes would score; made by `Assessment.estimate`."""

    SCHEMA, RECORD = ESTIMATE, "estimate"

    record: EstimateRecord

    def __getattr__(self, name: str) -> Reading:
        scores: dict[str, Reading] = dict(vars(self)["record"].scores) if "record" in vars(self) else {}
        if name in scores:
            return scores[name]
        raise AttributeError(f"an estimate has no {name!r}; it has {', '.join(scores)}")


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
    return Estimate(record=estimated(days, p, count, names, asked, level), model=model)


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
