"""What would help: the cross-validated gain of every recalibration, what it needs, and the command that does it."""

from __future__ import annotations

import numpy as np

from veracity import calibrators
from veracity.estimate.loss.recalibration import CHEAP, Recalibration, fit_member, fit_rows, recalibration, select
from veracity.formulas.intervals import quantile
from veracity.inputs import Forecasts
from veracity.records.sections import Gain, Remedy
from veracity.types import Array

NO_REMEDIES = ("identity", "prior")  # doing nothing, and always predicting the class frequencies
LABELLED = "labelled cases"
FREQUENCIES = "the true class frequencies, not labels case by case"
ADJUST = "veracity adjust FILE --to sample -o OUT"


def remedies(validation: Recalibration | None, *, level: float = 0.95) -> tuple[Remedy, ...]:
    """Return the recalibrations of one cross-validation, the largest gain in log loss first, then in Brier score."""
    if validation is None:
        return ()
    rows = validation.rows
    chosen = fit_rows(rows.forecast_hashes, rows.k)
    some = rows if chosen is None else select(rows, np.flatnonzero(chosen))
    entries = []
    for name in validation.members:
        if name in NO_REMEDIES:
            continue
        fitted = fit_member(name, rows if name in CHEAP else some)
        if fitted.name != name:  # zeros among the forecasts rule it out
            continue
        entries.append(
            Remedy(
                map=name,
                parameters=fitted.text,
                needs=LABELLED if fitted.needs_labels else FREQUENCIES,
                log=_gain(validation, "log", name, level),
                brier=_gain(validation, "brier", name, level),
                command=f"veracity calibrate fit FILE --map {name} -o map.json" if fitted.needs_labels else ADJUST,
                rows=int(validation.folds.copies.sum()),
                folds=len(validation.fitted),
            )
        )
    return tuple(sorted(entries, key=lambda one: (_order(one.log.gain), _order(one.brier.gain), one.map)))


def best_map(
    forecasts: Forecasts, *, clusters: Array | None = None, time: Array | None = None
) -> calibrators.Fitted | None:
    """Return the first of the remedies, fitted on all rows; None when none gains."""
    best = next(iter(remedies(recalibration(forecasts, clusters=clusters, time=time))), None)
    if best is None or best.log.gain is None or not best.log.gain > 0.0:
        return None
    return fit_member(best.map, forecasts)


def _order(gain: float | None) -> float:
    return np.inf if gain is None else -round(gain, 6)  # fits stop before the last digits: equal gains go by name


def _gain(validation: Recalibration, rule: str, name: str, level: float) -> Gain:
    value, error = validation.gain(rule, name)
    before, after = validation.scores(rule, "S"), validation.scores(rule, name)
    if np.isnan(value) or before is None or after is None:
        return Gain(None)
    loss, left = validation.mean(before)[0], validation.mean(after)[0]
    if np.isinf(loss) and np.isinf(left):
        return Gain(None)
    share = value / loss if np.isfinite(loss) and loss > 0.0 else None
    if not np.isfinite(error):
        return Gain(value, share=share)
    reach = quantile(level) * error
    return Gain(value, value - reach, value + reach, share)
