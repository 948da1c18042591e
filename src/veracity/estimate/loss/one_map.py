"""One map more in a cross-validation: what a map that was named gains on cases it was not fitted to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veracity.estimate.loss.recalibration import Recalibration, fit_member
from veracity.formulas.intervals import quantile
from veracity.inputs import Forecasts
from veracity.records.sections import Gain


def others(validation: Recalibration, fold: int) -> Forecasts:
    """Return the cases of the other folds, with their clusters and times."""
    split, rows = validation.folds, validation.rows
    outside = split.fold != fold
    counts = np.bincount(split.row[outside], weights=split.copies[outside], minlength=len(rows)).astype(np.int64)
    kept = np.flatnonzero(counts)
    return replace(rows.take(kept), counts=counts[kept])


def including(validation: Recalibration, name: str) -> Recalibration:
    """Return the cross-validation with the map of that name among its members."""
    if name in validation.members:
        return validation
    fitted = {fold: (*maps, fit_member(name, others(validation, fold))) for fold, maps in validation.fitted.items()}
    more = replace(validation, members=(*validation.members, name), fitted=fitted, _held={})
    predicted = more.predicted(name)
    realised = predicted[np.arange(len(more.outcomes)), more.outcomes]
    if (realised < 0.0).any():
        raise ValueError(f"{name} leaves the unit interval")
    return replace(more, realised=np.column_stack([validation.realised, realised]), _held={})


def gain_of(validation: Recalibration | None, name: str, level: float) -> Gain:
    """Return the cross-validated gain in log loss of the map of that name; −∞ where it rules outcomes out."""
    if validation is None:
        return Gain(None)
    try:
        judged = including(validation, name)
    except ValueError:  # it has no forecast for rows that it has not seen
        return Gain(None)
    value, error = judged.gain("log", name)
    before = judged.scores("log", "S")
    if np.isnan(value) or before is None:
        return Gain(None)
    loss = judged.mean(before)[0]
    share = value / loss if np.isfinite(value) and np.isfinite(loss) and loss > 0.0 else None
    if not np.isfinite(error):
        return Gain(value, share=share)
    reach = quantile(level) * error
    return Gain(value, value - reach, value + reach, share)
