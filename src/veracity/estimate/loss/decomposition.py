"""Murphy's terms, CORP, the adjustment, and the terms of the loss along the risk axis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity import calibrators
from veracity.estimate.loss.losses import AUTO, BOTH_INFINITE, SAME_ROWS, chain, chance_of_adjustment, refined, row_mean
from veracity.estimate.loss.recalibration import Recalibration, Rule, fit_rows, repeated, select
from veracity.formulas.chain import NAMES as TERMS
from veracity.formulas.chain import Chain
from veracity.formulas.chain import corp as corp_terms
from veracity.formulas.rules import ScoringRule
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.inputs.content import Hashes
from veracity.kernels.result import R
from veracity.records.reading import Reading, undefined
from veracity.records.sections import (
    Adjusted,
    Adjustment,
    Corp,
    CorpRules,
    CorpTerms,
    DecomposedProfile,
    Decomposition,
    PlainTerms,
)
from veracity.types import Floats

PROFILE_R = tuple(float(r) for r in R if -0.7 < r <= 2.0)
PROFILE_ENTRIES = 200_000  # of rows in the profile
ADJUSTED_ENTRIES = 4_000  # of rows that are adjusted for every r of it
CURVE_ENTRIES = 1_000_000  # of rows that have isotonic curves class by class
MANY_CLASSES = 50  # beyond, no curves and no adjustment for every r


def cells_of(rows: Forecasts, map: str) -> str:
    """Return the map whose cells serve a decomposition: equal forecasts where they repeat, else bins."""
    if map != AUTO:
        return map
    return "grouped" if repeated(rows, rows.forecast_hashes) else "bins"


def decomposition(
    rows: Forecasts, rule: Rule, *, map: str = AUTO, level: float = 0.95, steps: Chain | None = None
) -> Decomposition:
    """Return uncertainty − resolution + reliability + within of a rule, with what chance adds subtracted.

    The terms as counted are in `plain`. Maps without cells have no closed-form correction and no `plain`.
    `steps` is the chain of these rows and this map, where it is known.
    """
    rule, map = rule_of(rule), cells_of(rows, map)
    steps = chain(rows, map) if steps is None else steps
    values = steps.terms(rule)
    spread = row_mean(rows, steps.rows(rule, "P", "Y"), level)

    def reading(name: str, value: float) -> Reading:
        if np.isnan(value):
            return undefined(BOTH_INFINITE)
        if name == "uncertainty" and spread.low is not None and spread.high is not None:
            return Reading(value, spread.low, spread.high + value - values[name], spread.method)
        return Reading(value, method=f"cells of the map {map}", reason=SAME_ROWS)

    plain: dict[str, Any] = {name: reading(name, values[name]) for name in TERMS}
    if steps.cells is None:
        return Decomposition(**plain, map=map)
    chance = steps.corrections(rule)
    corrected = {name: reading(name, values[name] - chance.get(name, 0.0)) for name in TERMS}
    return Decomposition(**corrected, map=map, plain=PlainTerms(**plain))


def decomposed_profile(
    rows: Forecasts, recalibration: Recalibration | None, *, map: str = AUTO, prior: Floats | None = None
) -> DecomposedProfile:
    """Return all terms for r from −2/3 to 2 as shares of the loss of the baseline at that r; one C for all r.

    Post-calibration and refinement are those of the cross-fitted pool; adjustment is fitted in the same rows and has
    what chance adds subtracted. With a `map` all are those of the exact chain.
    """
    hashes = rows.forecast_hashes
    some = _some(rows, hashes, PROFILE_ENTRIES)
    steps = chain(some, cells_of(rows, map), prior=prior)
    few = None if rows.k > MANY_CLASSES else _some(rows, hashes, ADJUSTED_ENTRIES)
    if map != AUTO or recalibration is None:
        return _exact_profile(steps if few is some else replace(steps, A=None, _held={}), few)
    part = recalibration.part(fit_rows(hashes, rows.k, PROFILE_ENTRIES))
    names = (*TERMS, "adjustment", "post_calibration", "refinement", "remainder")
    shares: dict[str, list[float | None]] = {name: [] for name in names}
    start: Floats | None = None
    for r in PROFILE_R:
        rule = rule_of(r)
        terms = _corrected(steps, rule)
        loss = part.mean(part.scores(rule, "S"))[0]  # type: ignore[arg-type]
        adjustment, start = (None, start) if few is None else _adjustment_loss(few, rule, r, start)
        calibration = refined(part, rule, loss).calibration
        adjustment = None if adjustment is None else min(adjustment, calibration)  # from fewer rows
        terms |= {
            "adjustment": adjustment,
            "post_calibration": calibration - (adjustment or 0.0),
            "refinement": loss - calibration,
            "remainder": 0.0,
        }
        unit = terms["uncertainty"]
        for name in names:
            value = terms[name]
            known = value is not None and unit is not None and unit > 0.0 and np.isfinite(value)
            shares[name].append(value / unit if known else None)  # type: ignore[operator]
    return DecomposedProfile(PROFILE_R, **{name: tuple(values) for name, values in shares.items()})


def _exact_profile(steps: Chain, few: Forecasts | None) -> DecomposedProfile:
    """Return the profile of the exact chain; where it has no stage A, adjustment comes from few rows."""
    shares: dict[str, Any] = steps.profile(PROFILE_R)
    start: Floats | None = None
    for at, r in enumerate(PROFILE_R):
        rest = shares["post_calibration"][at]
        if few is None or steps.A is not None or rest is None:
            continue
        rule = rule_of(r)
        loss, start = _adjustment_loss(few, rule, r, start)
        if loss is not None:
            share = min(loss / float(rule.entropy(steps.frequencies)), rest)  # from fewer rows
            shares["adjustment"][at], shares["post_calibration"][at] = share, rest - share
    return DecomposedProfile(**{name: tuple(values) for name, values in shares.items()})


def _corrected(steps: Chain, rule: ScoringRule) -> dict[str, float | None]:
    """Return the terms of a rule with what chance adds subtracted, where cells tell it."""
    values = steps.terms(rule)
    chance = steps.corrections(rule) if steps.cells is not None else {}
    return {name: values[name] - chance.get(name, 0.0) for name in TERMS}


def _adjustment_loss(
    rows: Forecasts, rule: ScoringRule, r: float, start: Floats | None
) -> tuple[float | None, Floats | None]:
    """Return adjustment loss at r without what chance adds, and the shift for the next r to start from."""
    s, mass = rows.matrix, rows.mass / rows.mass.sum()
    try:
        fitted: Any = calibrators.fit("coherent", rows, r=r, start=start)
    except calibrators.InfeasibleTarget:
        return None, None
    loss = float(mass @ rule.divergence(s, fitted(s)))
    return max(loss - chance_of_adjustment(rows, r), 0.0), fitted.shift if r >= 0.0 else None


def _some(rows: Forecasts, hashes: Hashes, entries: int) -> Forecasts:
    """Return all rows, or those with the smallest hashes."""
    chosen = fit_rows(hashes, rows.k, entries)
    return rows if chosen is None else select(rows, np.flatnonzero(chosen))


def adjustment(rows: Forecasts) -> Adjustment:
    """Return what matching the class frequencies does under each rule: weights or shifts, and the loss after it."""
    names = [str(c) for c in rows.classes]
    by_rule: dict[str, Adjusted] = {}
    for rule, attribute in (("log", "weights"), ("brier", "shift")):
        name, options = calibrators.adjustment(rule)
        try:
            fitted = calibrators.fit(name, rows, **options)
        except calibrators.InfeasibleTarget as error:
            by_rule[rule] = Adjusted(reason=str(error))
            continue
        moved = dict(zip(names, getattr(fitted, attribute).tolist(), strict=True))
        scores = rule_of(rule).score(fitted(rows.scores), rows.observed)
        loss = float(rows.mass @ scores / rows.mass.sum())
        by_rule[rule] = Adjusted(loss=loss, weights=moved) if rule == "log" else Adjusted(loss=loss, shift=moved)
    return Adjustment(**by_rule)


def corp(rows: Forecasts) -> Corp:
    """Return miscalibration, discrimination and uncertainty with isotonic C: of two classes, or of pick and classes."""
    if rows.k == 2:
        of_two = _corp(rows, rows.matrix, rows.observed == 1)
        return Corp(brier=of_two.brier, log=of_two.log)
    rows = _some(rows, rows.forecast_hashes, CURVE_ENTRIES)
    y, matrix = rows.observed, rows.matrix
    pick = matrix.argmax(axis=1)
    top = _corp(rows, _against_rest(matrix, pick), pick == y)
    if rows.k > MANY_CLASSES:
        return Corp(top_label=top)
    classwise = {
        str(c): _corp(rows, _against_rest(matrix, np.full(len(y), j)), y == j) for j, c in enumerate(rows.classes)
    }
    return Corp(top_label=top, classwise=classwise)


def _corp(rows: Forecasts, scores: Floats, event: NDArray[np.bool_]) -> CorpRules:
    p = scores[:, 1]
    f = Forecasts(p, event.astype(np.int64), (False, True), rows.weights, rows.counts)
    calibrated = calibrators.fit("isotonic", f)(p)
    terms = {
        rule: CorpTerms(**{n: Reading(v) for n, v in corp_terms(rule, scores, calibrated, f.observed, f.mass).items()})
        for rule in ("brier", "log")
    }
    return CorpRules(**terms)


def _against_rest(matrix: Floats, column: NDArray[Any]) -> Floats:
    """Return (n, 2) the probability of all other classes, without a false 0, and that of one class of each row."""
    p = matrix[np.arange(len(matrix)), column]
    rest, sure = 1.0 - p, np.flatnonzero(p > 1.0 - 1e-8)
    others = matrix[sure]
    others[np.arange(len(sure)), column[sure]] = 0.0
    rest[sure] = others.sum(axis=1)
    return np.column_stack([rest, p])
