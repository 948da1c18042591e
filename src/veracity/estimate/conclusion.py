"""The verdict of a tally: the tests of its analysis rows, with the gain of the one cross-validation."""

from __future__ import annotations

from veracity.data.records import Verdict
from veracity.estimate.measured import NOT_MEASURABLE
from veracity.estimate.recalibration import Recalibration
from veracity.estimate.verdict import judge, not_measurable
from veracity.state.tally import Tally

NO_CASES = "the number of cases is unknown: nothing can be tested"


def verdict(tally: Tally, recalibration: Recalibration | None = None, nothing: str = "") -> Verdict:
    """Return the calibration verdict; `nothing` says why there is nothing to judge."""
    if nothing or not tally.measurable:
        return not_measurable(nothing or NOT_MEASURABLE)
    if tally.shares_only:
        return not_measurable(NO_CASES)
    rows, plan = tally.rows, tally.plan
    gain = (None, None) if recalibration is None else recalibration.log_gain
    return judge(
        rows.probabilities,  # type: ignore[arg-type]
        rows.outcomes,  # type: ignore[arg-type]
        tally.classes,
        counts=rows.counts,
        weights=rows.weights,
        clusters=rows.clusters,
        time=rows.time,
        picks_only=tally.picks_only,
        zero_rows=tally.sums.zeros,
        gain=gain[0],
        gain_error=gain[1],
        level=plan.level,
        seed=plan.random_state,
    )
