"""From arguments to `Forecasts`: shapes, scales, labels, missing and soft outcomes.

The values of a plain matrix of probabilities are not looked at here: that is one pass, made by `check` or by the kernel
that counts them. Memory is kept: a float32 matrix is used where it lies, integer outcomes within 0…k-1 as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from veracity.inputs.arguments import (
    are_dates,
    array_of,
    declared_labels,
    declared_order,
    forecast_matrix,
    named_columns,
    refuse_reordered,
    refuse_swapped,
)
from veracity.inputs.columns import Outcome, codes_of, is_masked, numbers, shares_of
from veracity.inputs.forecasts import Forecasts
from veracity.inputs.names import Names, many
from veracity.inputs.rows import LOGS, InputRows, columns_of, from_logs
from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding
from veracity.types import Array

FEW = 20  # so many true percentages, all of at most one, are too unlikely


def prepare(
    y_true: Any,
    y_proba: Any,
    *,
    labels: Any = None,
    pos_label: Any = None,
    classes: tuple[Any, ...] | None = None,
    missing: str = "error",
    soft: str = "split",
    normalise: bool = False,
    scale: str = "probability",
    absent: bool = False,
    names: Names | None = None,
    first_row: int = 0,
    rows: Any = None,
    model: str | None = None,
    **columns: Any,
) -> Forecasts:
    """Return forecasts whose probabilities are not yet checked; see `Forecasts.of` for the arguments.

    rows: the row numbers where they are not first_row, first_row + 1, …; absent: NaN means "not offered";
    classes: the names of the classes where outcomes are column numbers; columns: those of `columns_of`.
    """
    names = names or Names()
    p = forecast_matrix(y_proba, names)
    if normalise and p.ndim == 1:
        raise names.error("normalise has no effect: each row has one probability.", "leave it out")
    half = p.dtype == np.float16
    p = p.astype(np.float32) if half else p
    y = _outcomes(y_true, y_proba, p, names)
    f = Forecasts(p, None, (), first_row=first_row, rows=_numbers(rows), model=model, half=half, names=names)
    outcome = _coded(y_true, y_proba, y, f, labels, pos_label)
    classes = outcome.classes if classes is None else classes
    f = replace(f, **columns_of(f, **columns), outcomes=outcome.codes, classes=classes)
    part = InputRows(f, outcome.shares, list(outcome.findings))
    if absent:
        part.settle_absent(scale)
    _settle_missing(part, outcome.missing, missing, hidden=absent)
    part.leave_out_empty()
    part.settle_soft(soft)
    if outcome.swap and p.ndim == 2:
        ideal = None if part.f.ideal is None else part.f.ideal[:, ::-1]
        part.f = replace(part.f, probabilities=part.f.scores[:, ::-1], ideal=ideal)
    _settle_scale(part, scale)
    if normalise:
        part.normalise()
    return _settled(part.f, part.findings, columns.get("time"))


def _outcomes(y_true: Any, y_proba: Any, p: Array, names: Names) -> Array:
    """Return the outcomes as an array with a row for each forecast."""
    y: Array = y_true if is_masked(y_true) else array_of(y_true, names.outcome)
    if names.whole:  # a part may hold certain forecasts alone
        refuse_swapped(y, p, names)
    refuse_reordered(y_true, y_proba, names)
    if y.ndim == 0 or len(y) != len(p):
        raise names.error(
            f"{names.outcome} has {many(y.size if y.ndim == 0 else len(y), 'outcome')}, "
            f"{names.forecast} {many(len(p), 'row')}.",
            "one outcome for each forecast is needed, in the same order",
        )
    return y


def _coded(y_true: Any, y_proba: Any, y: Array, f: Forecasts, labels: Any, pos_label: Any) -> Outcome:
    """Return the outcomes as column numbers or as shares of classes."""
    names, one_column = f.names, f.scores.ndim == 1
    k = 2 if one_column else f.scores.shape[1]
    if labels is None:
        labels = named_columns(y_proba, y, names, declared_order(y_true) is not None)
        labels = labels or declared_labels(y_true, y, k, one_column, names)
    if y.ndim == 2:
        return shares_of(y, k, labels, f.row, names)
    return codes_of(y, k, labels, pos_label, one_column, f.row, names)


def _settle_missing(part: InputRows, lost: Array | None, missing: str, hidden: bool) -> None:
    """Leave out rows with missing values, or refuse missing outcomes; `hidden`: missing probabilities are none."""
    f, names = part.f, part.f.names
    n = len(f)
    if missing == "drop":
        gaps: Array = np.asarray(np.isnan(f.scores).reshape(n, -1).any(axis=1))
        part.leave_out(gaps if lost is None else gaps | lost, of_input.MissingRows)
    elif lost is not None:
        gone = np.flatnonzero(lost)
        also = 0 if hidden else int(np.isnan(f.scores).sum())
        raise names.error(
            f"{len(gone):,} of {n:,} outcomes in {names.called(names.outcome)} are missing "
            f"(first: row {f.row(gone[0])})" + (f", and {also:,} of {f.scores.size:,} probabilities." if also else "."),
            f"leave these rows out:  {names.option('missing', 'drop')}",
        )


def _settle_scale(part: InputRows, scale: str) -> None:
    """Turn percentages, logits and logarithms into probabilities."""
    f = part.f
    if scale == "percent":
        if f.names.whole and len(f) >= FEW and np.nanmax(f.scores) <= 1.0:
            part.findings.append(of_input.SmallPercentages(len(f), len(f)))
        part.f = replace(f, probabilities=f.scores / 100.0)
    elif scale in LOGS:
        part.f = from_logs(f, scale)


def _settled(f: Forecasts, findings: list[Finding], time: Any) -> Forecasts:
    return replace(f, findings=tuple(findings), names=replace(f.names, dates=True) if are_dates(time) else f.names)


def _numbers(rows: Any) -> Array | None:
    return None if rows is None else np.asarray(rows)


def prepare_realised(
    y_proba: Any,
    *,
    scale: str = "probability",
    missing: str = "error",
    first_row: int = 0,
    names: Names | None = None,
    rows: Any = None,
    model: str | None = None,
    **columns: Any,
) -> Forecasts:
    """Return forecasts with realised probabilities alone, such as token log-probabilities; columns as in `prepare`."""
    names = names or Names()
    p = numbers(y_proba, names.forecast, names)
    if p.ndim != 1 or not len(p):
        raise names.error(
            f"{names.forecast} has shape {p.shape}; it needs (n,).",
            "give the probability of the outcome, one for each row",
        )
    f = Forecasts(None, None, (), log_realised=p, first_row=first_row, rows=_numbers(rows), model=model, names=names)
    part = InputRows(replace(f, **columns_of(f, **columns)))
    if missing == "drop":
        part.leave_out(np.isnan(p), of_input.MissingRows)
    f = part.f
    assert f.log_realised is not None
    log_p = f.log_realised.astype(np.float64)
    if scale == "log":
        above = log_p > 0
        if above.any():
            i = int(np.argmax(above))
            raise names.error(
                f"{names.at(f.row(i))} = {log_p[i]:g}: a log-probability cannot be above 0.",
                f"if these are probabilities:  {names.option('scale', 'probability')}",
            )
    elif scale == "logit":
        from scipy.special import log_expit

        log_p = log_expit(log_p)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.log(log_p / (100.0 if scale == "percent" else 1.0))
    return _settled(replace(f, log_realised=log_p), part.findings, columns.get("time"))
