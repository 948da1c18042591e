"""The verdict of a tally: the tests of its analysis rows, with the gain of the one cross-validation, as a record."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from veracity.estimate.calibration.calibration_tests import ALPHA
from veracity.estimate.calibration.level_and_confidence import level_and_confidence
from veracity.estimate.calibration.verdict import AllEntries, Judged, judge, not_measurable
from veracity.estimate.loss.recalibration import Recalibration
from veracity.estimate.means.entries import Entries
from veracity.estimate.means.expected import Expected
from veracity.inputs.row_numbers import file_of
from veracity.records.reading import Reading
from veracity.records.sections import Surprise
from veracity.records.verdict import Reason, Verdict
from veracity.state.tally import Tally

MOST_ROWS, MOST_ENTRIES = 1 << 17, 1_000_000  # of analysis rows that are tested
MOST_VERDICTS = 20  # that share the chance of a false one: 999 draws give no p below .001
FLOOR = 0.001  # minimum probability with which an infinite log loss is shown


def verdict(
    tally: Tally, recalibration: Recalibration | None = None, among: int = 1, untested: Reason | None = None
) -> Verdict:
    """Return the calibration verdict.

    `among` is the number of verdicts that share the chance of a false one, such as those of groups. `untested` says why
    nothing can be tested though forecasts can be compared with outcomes.
    """
    reason = unjudged(tally) or (Reason.ONLY_SHARES if tally.shares_only else untested)
    if rowless(tally) and not reason:
        judgement = level_and_confidence(tally, alpha_of(among))
    else:
        judgement = not_measurable(reason) if reason else _judged(tally, recalibration, among)
    judgement = replace(judgement, cases=tally.cases, class_count=tally.k, picks_only=tally.picks_only)
    if not tally.sums.zeros:
        return judgement
    floored = float(Entries.of(tally.pooled, tally.grid, FLOOR).means()["geometric_accuracy"])
    return replace(
        judgement,
        zero_rows=tally.sums.zeros,
        ruled_out=tuple(case for case in surprises(tally) if case.probability == 0.0),
        floor=FLOOR,
        floored_loss=-math.log(floored),
    )


def rowless(tally: Tally) -> bool:
    """Return whether more than two classes are held in cells alone: no joint test and no map can be made of these."""
    return tally.k > 2 and tally.measurable and tally.sums.rows > 0 and not len(tally.analysis.rows)


def nothing(tally: Tally) -> Reason | None:
    """Return why there is nothing to assess, if so."""
    if tally.sums.rows:
        return None
    return Reason.SINGLE_CLASS if tally.cases else Reason.EMPTY


def unjudged(tally: Tally) -> Reason | None:
    """Return why forecasts cannot be compared with outcomes, if so."""
    return nothing(tally) or (None if tally.measurable else Reason.ONLY_REALISED)


def surprises(tally: Tally) -> tuple[Surprise, ...]:
    """Return the cases that gave least to their outcome."""
    return tuple(
        Surprise(
            int(low.row),
            None if low.outcome < 0 else str(tally.classes[low.outcome]),
            float(low.p),
            file_of(low.row),
            low.case or None,
        )
        for low in tally.lowest
    )


def alpha_of(among: int) -> float:
    """Return the chance of a false verdict of one among so many."""
    return ALPHA / min(max(among, 1), MOST_VERDICTS)


def judged_rows(tally: Tally) -> Judged:
    """Return the rows that the tests judge, as they are tested and corrected."""
    rows = tally.few_rows(MOST_ROWS, MOST_ENTRIES)
    given = (rows.probabilities, rows.outcomes, tally.classes, rows.counts, rows.weights)
    return Judged.of(*given, tally.dependent(rows), rows.time, tally.picks_only)  # type: ignore[arg-type]


def _judged(tally: Tally, recalibration: Recalibration | None, among: int) -> Verdict:
    rows, plan = tally.few_rows(MOST_ROWS, MOST_ENTRIES), tally.plan
    tested = int(rows.copies.sum())
    sampled = tested < tally.sums.rows
    gain = (None, None) if recalibration is None else recalibration.gain("log")
    judgement = judge(
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
        alpha=alpha_of(among),
        every=_every(tally) if sampled else None,
    )
    if sampled:
        return _of_all_cases(judgement, tally, tested)
    return replace(judgement, method=", ".join(part for part in (judgement.method, tally.basis) if part))


def _every(tally: Tally) -> AllEntries:
    """Return the forecasts of all cases: from the analysis rows if they hold all, else from cells of the grid."""
    scale = tally.sums.weight / tally.sums.weight2
    if not tally.complete:
        h = tally.classwise[1] if tally.k == 2 else tally.pooled
        mass = np.asarray(h.all if h.all_weight is None else h.all_weight, dtype=np.float64)
        true = np.asarray(h.true if h.true_weight is None else h.true_weight, dtype=np.float64)
        return AllEntries(h.all_sum / np.where(mass > 0.0, mass, 1.0), scale * mass, scale * true)
    f = tally.rows
    if f.k == 2:
        return AllEntries(f.positive, scale * f.mass, scale * f.mass * f.observed)
    true = np.zeros((len(f), f.k))
    true[np.arange(len(f)), f.observed] = scale * f.mass
    return AllEntries(f.matrix.ravel(), np.repeat(scale * f.mass, f.k), true.ravel())


def _of_all_cases(judgement: Verdict, tally: Tally, tested: int) -> Verdict:
    """Return the verdict of a sample with the shares of all cases, and with the size of the sample in every method."""
    sample = f"a sample of {tested:,} of {tally.sums.rows:,} cases"
    share = dict(zip(map(str, tally.classes), zip(tally.mean_forecast, tally.frequencies, strict=True), strict=True))
    classes = {
        name: replace(one, predicted=float(share[name][0]), observed=float(share[name][1]))
        for name, one in judgement.level.classes.items()
    }
    if tally.picks_only:
        expected, realised = float(tally.mean_forecast[1]), float(tally.frequencies[1])
    else:
        expected = float(Expected(tally).means().geometric_accuracy)
        realised = 0.0 if tally.sums.zeros else math.exp(-tally.sums.score[0][0] / tally.sums.weight)
    return replace(
        judgement,
        slope=_from(judgement.slope, sample),
        intercept=None if judgement.intercept is None else _from(judgement.intercept, sample),
        ratio=None if judgement.ratio is None else _from(judgement.ratio, sample),
        gain=_from(judgement.gain, sample),
        level=replace(judgement.level, classes=classes),
        confidence=replace(judgement.confidence, expected=expected, realised=realised),
        method=f"{judgement.method}, {sample}" if judgement.method else "",
        tested=tested,
    )


def _from(reading: Reading, sample: str) -> Reading:
    """Return a reading whose method names the sample."""
    method = f"{reading.method}, {sample}" if reading.method else reading.method
    return Reading(float(reading), reading.low, reading.high, method, reading.reason, reading.known)
