"""The verdict of a tally: the tests of its analysis rows, with the gain of the one cross-validation, in sentences."""

from __future__ import annotations

import math
from dataclasses import replace

from veracity.data.verdict import Verdict
from veracity.estimate.recalibration import Recalibration
from veracity.estimate.reported import NOT_MEASURABLE, Entries
from veracity.estimate.verdict import ALPHA, judge, not_measurable
from veracity.state.tally import Tally
from veracity.words.calibration import sentences

ONLY_SHARES = "only shares of cases are given, so the number of cases is unknown and nothing can be tested"
MOST_ROWS, MOST_ENTRIES = 1 << 17, 1_000_000  # of analysis rows that are tested
MOST_VERDICTS = 20  # that share the chance of a false one: 999 draws give no p below .001
FLOOR = 0.001  # minimum probability with which an infinite log loss is shown


def verdict(tally: Tally, recalibration: Recalibration | None = None, nothing: str = "", among: int = 1) -> Verdict:
    """Return the calibration verdict with its sentences; `nothing` says why there is nothing to judge.

    `among` is the number of verdicts that share the chance of a false one, such as those of groups.
    """
    reason = nothing or ("" if tally.measurable else NOT_MEASURABLE) or (ONLY_SHARES if tally.shares_only else "")
    found = not_measurable(reason) if reason else _judged(tally, recalibration, among)
    found = replace(found, zero_rows=tally.sums.zeros)
    floored = Entries.of(tally.pooled, tally.grid, FLOOR).means()["geometric_accuracy"] if found.zero_rows else 1.0
    said = sentences(
        found,
        tally.cases,
        tally.k,
        picks_only=tally.picks_only,
        zero_rows=[low.row for low in tally.lowest if low.p == 0.0],
        floor=FLOOR,
        floored_loss=-math.log(floored),
    )
    return replace(found, sentences=said)


def _judged(tally: Tally, recalibration: Recalibration | None, among: int) -> Verdict:
    rows, plan = tally.few_rows(MOST_ROWS, MOST_ENTRIES), tally.plan
    gain = (None, None) if recalibration is None else recalibration.gain("log")
    found = judge(
        rows.probabilities,  # type: ignore[arg-type]
        rows.outcomes,  # type: ignore[arg-type]
        tally.classes,
        counts=rows.counts,
        weights=rows.weights,
        clusters=tally.dependent(rows),
        time=rows.time,
        picks_only=tally.picks_only,
        zero_rows=tally.sums.zeros,
        gain=gain[0],
        gain_error=gain[1],
        level=plan.level,
        seed=plan.random_state,
        alpha=ALPHA / min(among, MOST_VERDICTS),
    )
    return replace(found, method=", ".join(part for part in (found.method, tally.basis) if part))
