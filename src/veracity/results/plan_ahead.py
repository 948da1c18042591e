"""`plan_ahead`: how many cases a verdict, a comparison or a monitor needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veracity.estimate.monitoring.planning import needed, source
from veracity.kernels.blas import one_blas_thread
from veracity.progress import working
from veracity.records.monitoring import PlanRecord
from veracity.results.document import encode, plain

SCHEMA = "veracity/plan/1"


@dataclass(frozen=True)
class PlanAhead:
    """The cases that are needed."""

    record: PlanRecord

    def document(self) -> dict[str, Any]:
        return {"schema": SCHEMA, "plan": plain(self.record)}

    def to_json(self, indent: int | None = None) -> str:
        return encode(self.document(), indent)


@one_blas_thread
@working("planning")
def plan_ahead(
    baseline: float, what: str, size: float, *, auc: float = 0.75, power: float = 0.8, per_update: int = 100
) -> PlanAhead:
    """Return how many cases are needed to see an error of forecasts with this base rate and AUC."""
    sizes = needed(source(baseline, auc), what, size, power, per_update)
    return PlanAhead(PlanRecord(baseline, auc, what, size, power, sizes))
