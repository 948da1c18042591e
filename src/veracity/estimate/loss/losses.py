"""Where the loss comes from: the losses of KF15 for any rule of the risk axis.

The calibration loss is the gain of a cross-fitted pool of maps (`recalibration`). With a map of its own choice a reader
gets the exact chain of KF15 instead, whose stage C is counted in the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veracity import calibrators
from veracity.estimate.intervals import around
from veracity.estimate.loss.folds import blocks
from veracity.estimate.loss.ideal import Ideal
from veracity.estimate.loss.ideal import ideal as ideal_of
from veracity.estimate.loss.recalibration import COHERENT_ENTRIES, PRIOR, Recalibration, Rule, fit_rows
from veracity.estimate.means.scores import FEW_MISSES
from veracity.formulas.chain import PAIRS, Chain, power_of
from veracity.formulas.differences import normal_cluster_error
from veracity.formulas.intervals import quantile
from veracity.formulas.rules import ScoringRule
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.records.reading import Reading, undefined, unknown
from veracity.records.sections import Losses
from veracity.types import Floats

AUTO = "auto"  # the cross-fitted pool
POOL = "cross-fitted pool of maps"
APART = {"time": ", blocks of time left out together", "clusters": ", cases of a cluster left out together"}
EQUAL = "ideal probabilities averaged over equal forecasts"
PAIRED = "paired differences, cross-fitted"
IN_SAMPLE = "row influences"
NOT_SEPARABLE = (
    "grouping and irreducible loss cannot be told apart from these inputs: give the ideal probabilities, features, or "
    "repeated outcomes"
)
RULES_OUT = "the class frequencies cannot be matched: forecasts of 0 rule them out"
MANY_FOR_R = "only the log and the Brier score are adjusted beyond 100 classes"
ONE_FOLD = "all cases belong together: none are left to judge a recalibration"
BOTH_INFINITE = "the difference of two infinite losses"
DIFFERENCE = "a difference of two estimates: no interval"
SAME_ROWS = "C was counted in the same rows: no interval holds"
ZERO_OUTCOME = "some outcomes had probability 0: no interval"
EXPLAINED = 0.1  # of the log loss may be left over by the chain


class NoProbabilities(ValueError):
    """A map whose values leave the unit interval, so that no score can judge them."""


def losses(
    rows: Forecasts,
    rule: Rule,
    recalibration: Recalibration | None,
    *,
    map: str = AUTO,
    level: float = 0.95,
    score: Reading | None = None,
    upper: float | None = None,
    ideal: Ideal | None = None,
) -> Losses:
    """Return the losses of KF15 Table 2 under a rule: "log", "brier" or a number r > −1.

    recalibration  the cross-validation of these rows
    score  the mean score of all rows where it is known better than from these rows
    upper  an upper end of the calibration loss from elsewhere (the in-sample bound of the verdict)
    ideal  stage Q, where it has been found before
    """
    rule = rule_of(rule)
    q = ideal_of(rows) if ideal is None else ideal
    if map != AUTO:
        return _exact(rows, rule, q, map, level)
    if recalibration is None:
        return no_losses(ONE_FOLD)
    return _crossfitted(rows, rule, recalibration, q, level, score, upper)


def no_losses(reason: str, score: Reading | None = None) -> Losses:
    """Return losses of which at most the whole is known."""
    nothing: dict[str, Any] = dict.fromkeys((*PAIRS, "remainder"), unknown(reason))
    return Losses(**nothing if score is None else nothing | {"L": score})


def _crossfitted(
    rows: Forecasts,
    rule: ScoringRule,
    recalibration: Recalibration,
    q: Ideal,
    level: float,
    score: Reading | None,
    upper: float | None,
) -> Losses:
    soft = recalibration.with_ideal
    judged = recalibration if soft is None else soft
    whole = _mean(recalibration, rule, "S", level) if score is None else score
    left = refined(recalibration, rule, float(whole))
    (raw, error), cl, rl = left.pool, left.calibration, left.loss
    values = _adjustment_losses(judged, rule, cl, whole, level)
    al = float(values["AL"])
    reach = quantile(level) * error
    low = 0.0 if judged.few_misses and np.isfinite(raw) else _end(raw - reach)
    ends = [cl, np.nan_to_num(raw + reach), *([] if judged.exact or upper is None else [upper])]
    high = None if low is None or not (judged.exact or upper is not None) else max(ends)
    after, pool = _mean(recalibration, rule, "C", level), _pool(rows)
    values |= {
        "L": whole,
        "CL": Reading(
            cl, low, high, EQUAL if judged.exact else f"{pool}; at least", None if low is not None else ZERO_OUTCOME
        ),
        "RL": Reading(
            rl, None, after.high and max(after.high, rl), EQUAL if judged.exact else f"{pool}; at most", after.reason
        ),
        "PCL": _difference(cl, al, judged) if values["AL"].known else values["AL"],
        **_with_ideal(rows, rule, q, whole, cl, al if values["AL"].known else None, recalibration, level),
        "raw": values["raw"] | {"CL": raw, "CL_error": error},
    }
    notes = () if isinstance(q.finding, of_results.NotSeparable) else (q.finding,)
    return Losses(**values, findings=(*recalibration.findings, *notes))


def _pool(rows: Forecasts) -> str:
    """Return how C was found; its folds follow clusters and time, and so do the losses."""
    return POOL + next((how for name, how in APART.items() if getattr(rows, name) is not None), "")


@dataclass(frozen=True)
class Refined:
    """The loss that is left after recalibration, as it is shown: L − CL, CL at least 0.

    pool               mean gain of C with its standard error, as it is
    calibration, loss  CL and RL as shown
    stage              whose forecasts have that loss: C, or the prior correction where it gains more, or S where
                       neither gains
    """

    pool: tuple[float, float]
    calibration: float
    loss: float
    stage: str


def refined(recalibration: Recalibration, rule: Rule, whole: float) -> Refined:
    """Return what a recalibration leaves of the loss `whole` of all cases; its maps are the same at every r."""
    rule = rule_of(rule)
    judged = recalibration if recalibration.with_ideal is None else recalibration.with_ideal
    pool, prior = judged.gain(rule), judged.gain(rule, PRIOR)[0] if judged.corrects_prior else 0.0
    cl = max(pool[0], prior, 0.0)
    if np.isfinite(whole) and np.isfinite(cl):
        return Refined(pool, cl, whole - cl, "C" if cl == pool[0] else PRIOR if cl == prior > 0.0 else "S")
    after, _ = recalibration.mean(recalibration.scores(rule, "C"))  # type: ignore[arg-type]
    return Refined(pool, np.inf, after, "C")


def _adjustment_losses(
    judged: Recalibration, rule: ScoringRule, cl: float, whole: Reading, level: float
) -> dict[str, Any]:
    """Return the readings of the adjustment loss, at most `cl`, and of the loss after it, or why there are none.

    AL cannot raise CL: one C serves every r, so that measured_r = (1 − r·RL_r)^{1/r} is one profile, and A is fitted
    anew at each r. Where A happens to gain more than C does, that is mostly chance: with max(CL, AL) in the place of CL
    the error would be the same to a few parts in a hundred (`bench.recalibration r`). Raw values are kept beside.
    """
    raw, error = judged.gain(rule, "A")
    if np.isnan(raw):
        too_many = rule.key not in ("log", "brier") and judged.rows.k > 100
        reason = unknown(judged.why_not_adjusted or (MANY_FOR_R if too_many else RULES_OUT))
        return {"AL": reason, "PL": reason, "raw": {}}
    al, reach = min(max(raw, 0.0), cl), quantile(level) * error
    few = fit_rows(judged.rows.forecast_hashes, judged.rows.k, COHERENT_ENTRIES)
    fitted = chance_of_adjustment(judged.part(few).rows, power_of(rule), len(judged.fitted))
    low, high = _end(min(raw - reach, al)), _end(max(raw, 0.0) + reach + fitted)
    why_not = FEW_MISSES if judged.few_misses and np.isfinite(raw) else ZERO_OUTCOME
    reading = Reading(al, low, high, PAIRED, None if low is not None else why_not)
    return {"AL": reading, "PL": _difference(whole, al, judged), "raw": {"AL": raw, "AL_error": error}}


def chance_of_adjustment(rows: Forecasts, r: float, folds: int | None = None) -> float:
    """Return what chance adds to the adjustment loss at r where it is fitted in the same rows.

    Mean forecasts and class frequencies differ by chance with the covariance V/n of Y − S; the loss of closing the gap
    is ½ (1 + r) gapᵀ H⁻¹ gap with H = mean[diag h − h hᵀ/Σh], h = S^(1−r). With `folds`, n is the number of rows
    outside one fold: what fitting costs on new rows.
    """
    s, mass = rows.matrix, rows.mass / rows.mass.sum()
    h = np.where(s > 0.0, np.maximum(s, 1e-300) ** (1.0 - r), 0.0)
    curved = np.diag(mass @ h) - (h * (mass / h.sum(axis=1))[:, None]).T @ h
    rest = -s
    rest[np.arange(len(s)), rows.observed] += 1.0
    gap = mass @ rest
    varied = (rest * mass[:, None]).T @ rest - np.outer(gap, gap)
    n = calibrators.effective_rows(rows) * (1.0 if folds is None else 1.0 - 1.0 / folds)
    if np.trace(curved) < 1e-200:  # only certain forecasts: nothing moves
        return 0.0
    # Rows of H sum to zero: its smallest eigenvalue is rounding, which the default limit of 1e-15 may invert.
    inverse = np.linalg.pinv(curved, rcond=1e-12, hermitian=True)
    return 0.5 * (1.0 + r) * float(np.trace(inverse @ varied)) / n


def _difference(whole: float, part: float, judged: Recalibration) -> Reading:
    if np.isinf(whole) and np.isinf(part):
        return undefined(BOTH_INFINITE)
    return Reading(float(whole) - part, method=EQUAL if judged.exact else POOL, reason=DIFFERENCE)


def _end(value: float) -> float | None:
    """Return an end of an interval of a loss, which is at least 0; None where it is not finite."""
    return max(value, 0.0) if np.isfinite(value) else None


def _mean(recalibration: Recalibration, rule: ScoringRule, stage: str, level: float) -> Reading:
    """Return the mean score of a stage with its interval."""
    scores = recalibration.scores(rule, stage)
    if scores is None:
        return unknown(recalibration.why_not_adjusted or RULES_OUT)
    mean, error = recalibration.mean(scores)
    if recalibration.few_misses and np.isfinite(mean):
        return Reading(mean, reason=FEW_MISSES)
    return around(mean, error, level, (0.0, np.inf), IN_SAMPLE if stage == "S" else PAIRED)


def _with_ideal(
    rows: Forecasts,
    rule: ScoringRule,
    q: Ideal,
    whole: Reading,
    cl: float,
    al: float | None,
    validation: Recalibration,
    level: float,
) -> dict[str, Reading]:
    """Return the losses that need Q: those beyond calibration, and what sampling leaves over."""
    nothing = dict.fromkeys(("GL", "IL", "EL", "PEL"), unknown(NOT_SEPARABLE)) | {"remainder": Reading(0.0)}
    if q.grouping is not None:
        bound = q.grouping.get(str(rule.key))
        return nothing | ({"GL": _at_least(bound)} if bound is not None else {})
    if q.Q is None:
        return nothing
    soft = validation.with_ideal
    epistemic = row_mean(rows, np.asarray(rule.divergence(rows.matrix, q.Q)), level)
    inherent = rule.entropy(q.Q) if soft is not None else rule.score(q.Q, rows.observed)
    il = row_mean(rows, np.asarray(inherent), level)
    el = float(epistemic)
    if np.isfinite(el):
        gl = max(el - cl, 0.0)
    else:
        gl = float(_mean(soft, rule, "C", level)) - float(il) if soft is not None else np.nan
    return {
        "GL": _difference(gl, 0.0, soft or validation) if np.isfinite(gl) else undefined(BOTH_INFINITE),
        "IL": il,
        "EL": epistemic,
        "PEL": unknown(RULES_OUT) if al is None else _difference(max(el, al), al, soft or validation),
        "remainder": Reading(float(whole) - el - float(il)) if np.isfinite(el) else undefined(BOTH_INFINITE),
    }


def row_mean(rows: Forecasts, values: Floats, level: float) -> Reading:
    """Return the weighted mean of values of rows with its interval."""
    value = float(rows.mass @ values / rows.mass.sum())
    if not np.isfinite(value):
        return around(value, np.nan, level)
    n, error = calibrators.effective_rows(rows), error_of(rows, rows.mass * (values - value) / rows.mass.sum())
    if rows.clusters is None and rows.time is None:
        error = error * float(np.sqrt(n / (n - 1.0))) if n > 1.0 + 1e-9 else np.nan
    return around(value, error, level, (0.0, np.inf), IN_SAMPLE)


def error_of(rows: Forecasts, u: Floats) -> float:
    """Return the standard error of a mean from the influences of rows: independent, in clusters or in time."""
    unit = blocks(rows.clusters, rows.time, rows.copies)
    if unit is not None:
        return float(normal_cluster_error(np.bincount(unit, weights=u))[0])
    return float(np.sqrt((u**2 / np.maximum(rows.copies, 1)).sum()))


def _at_least(bound: float) -> Reading:
    """Return the reading of a loss with a lower bound alone."""
    reason = "only a lower bound can be given: too many distinct features"
    return Reading(np.nan, bound, None, "lower bound by a cross-fitted partition of the features", reason, known=False)


def chain(rows: Forecasts, map: str, *, q: Ideal | None = None, prior: Floats | None = None) -> Chain:
    """Return the exact chain of KF15 with stage C by a map that is fitted to these rows.

    Where ideal probabilities are given, cells have their mean as C instead of the outcomes' frequencies.
    """
    fitted = calibrators.fit(map, rows)
    outside = getattr(fitted, "outside", 0)
    if outside:
        raise NoProbabilities(f"map: {map!r} gives {outside:,} values that are no probabilities; choose another")
    cells: Any = fitted.cells(rows.scores) if hasattr(fitted, "cells") else None
    ideal = None if q is None else q.Q
    stage_c = fitted(rows.scores) if cells is None else fitted.means  # type: ignore[attr-defined]
    if cells is not None and rows.ideal is not None and ideal is not None:
        size = np.bincount(cells, weights=rows.mass, minlength=len(stage_c))
        sums = [np.bincount(cells, weights=rows.mass * column, minlength=len(size)) for column in ideal.T]
        stage_c = np.where(size[:, None] > 0.0, np.column_stack(sums) / np.maximum(size, 1e-300)[:, None], stage_c)
    return Chain(
        rows.scores,
        rows.observed,
        stage_c,
        A=lambda rule: _adjusted(rows, rule),
        Q=ideal,
        cells=cells,
        mass=rows.mass,
        counts=rows.counts,
        prior=prior,
        log_realised=rows.log_realised,
    )


def _adjusted(rows: Forecasts, rule: ScoringRule) -> Floats | None:
    name, options = calibrators.adjustment(rule)
    try:
        return np.asarray(calibrators.fit(name, rows, **options)(rows.scores))
    except calibrators.InfeasibleTarget:
        return None


def _exact(rows: Forecasts, rule: ScoringRule, q: Ideal, map: str, level: float) -> Losses:
    """Return the ten losses of the exact chain; intervals for those that no stage of the same rows enters."""
    steps = chain(rows, map, q=q)
    values, method = steps.losses(rule), f"map {map}, counted in the same rows"
    readings: dict[str, Any] = {}
    for name in (*PAIRS, "remainder"):
        value = values[name]
        if name == "GL" and q.grouping is not None and str(rule.key) in q.grouping:
            readings[name] = _at_least(q.grouping[str(rule.key)])
        elif value is None:
            readings[name] = unknown(RULES_OUT if name in ("AL", "PCL", "PL") else NOT_SEPARABLE)
        elif np.isnan(value):
            readings[name] = undefined(BOTH_INFINITE)
        elif name == "remainder":
            readings[name] = Reading(value)
        elif "C" in PAIRS[name]:
            readings[name] = Reading(value, method=method, reason=SAME_ROWS)
        else:
            readings[name] = _influenced(rows, steps, rule, name, value, level)
    return Losses(**readings, findings=_findings(q, steps, map, readings, rule))


def _influenced(rows: Forecasts, steps: Chain, rule: ScoringRule, name: str, value: float, level: float) -> Reading:
    given = rows.ideal is not None and name == "EL"
    values = steps.rows(rule, *PAIRS[name]) if given else steps.influence(rule, name)
    if np.isfinite(value) and not np.isfinite(values).all():
        return Reading(value, reason=ZERO_OUTCOME)
    return row_mean(rows, values, level) if np.isfinite(value) else around(value, np.nan, level)


def _findings(q: Ideal, steps: Chain, map: str, readings: dict[str, Reading], rule: ScoringRule) -> tuple[Finding, ...]:
    """Return findings about the origin of Q, infinite steps where C rules an outcome out, and coarse cells."""
    notes = [] if isinstance(q.finding, of_results.NotSeparable) else [q.finding]
    infinite = [name for name in ("PCL", "GL", "RL") if np.isinf(readings[name])]
    if infinite and np.isfinite(readings["L"]):
        notes.append(of_results.InfiniteCalibrated(map=map, steps=tuple(infinite)))
    left, whole = readings["remainder"], readings["L"]
    if rule.key == "log" and steps.cells is not None and np.isfinite(left) and abs(left) > EXPLAINED * whole:
        notes.append(of_results.CoarseCells(map=map, left=float(left), loss=float(whole)))
    return tuple(notes)
