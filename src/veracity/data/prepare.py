"""From arguments to `Forecasts`: shapes, scales, labels, missing and soft outcomes.

The values of a plain matrix of probabilities are not looked at here: that is one pass, made by `check` or by the kernel
that counts them. Memory is kept: a float32 matrix is used where it lies, integer outcomes within 0…k-1 as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from . import findings_of_input as of_input
from .arguments import (
    are_dates,
    array_of,
    declared_labels,
    declared_order,
    forecast_matrix,
    ideal_matrix,
    named_columns,
    one_of,
    refuse_reordered,
    refuse_swapped,
    row_column,
)
from .columns import codes_of, is_masked, numbers, shares_of
from .findings import Finding
from .names import Names, many
from .rows import LOGS, InputRows, columns_of, from_logs, normalised, with_absent
from .types import Array, Forecasts

FEW = 20  # so many true percentages, all of at most one, are too unlikely
SCALES = ("probability", "percent", "logit", "log")


def prepare(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    labels: Any = None,
    pos_label: Any = None,
    missing: str = "error",
    soft: str = "split",
    normalise: bool = False,
    scale: str = "probability",
    ideal: Any = None,
    features: Any = None,
    groups: Any = None,
    case: Any = None,
    clusters: Any = None,
    time: Any = None,
    first_row: int = 0,
    names: Names | None = None,
    rows: Any = None,
    absent: bool = False,
    model: str | None = None,
    classes: tuple[Any, ...] | None = None,
) -> Forecasts:
    """Return forecasts whose probabilities are not yet checked; see `Forecasts.of` for the arguments.

    rows: the row numbers where they are not first_row, first_row + 1, …; absent: NaN means "not offered";
    classes: the names of the classes where outcomes are column numbers.
    """
    names = names or Names()
    one_of("missing", missing, ("error", "drop"))
    one_of("soft", soft, ("split", "omit", "refuse"))
    one_of("scale", scale, SCALES)
    if clusters is not None and time is not None:
        raise names.error("clusters and time exclude one another.", "units with many cases: clusters; a series: time")
    p = forecast_matrix(y_proba, names)
    if normalise and p.ndim == 1:
        raise names.error("normalise has no effect: each row has one probability.", "leave it out")
    half = p.dtype == np.float16
    p = p.astype(np.float32) if half else p
    y = y_true if is_masked(y_true) else array_of(y_true, names.outcome)
    if names.whole:  # a part may hold certain forecasts alone
        refuse_swapped(y, p, names)
    refuse_reordered(y_true, y_proba, names)
    if y.ndim == 0 or len(y) != len(p):
        raise names.error(
            f"{names.outcome} has {many(y.size if y.ndim == 0 else len(y), 'outcome')}, "
            f"{names.forecast} {many(len(p), 'row')}.",
            "one outcome for each forecast is needed, in the same order",
        )
    k, n = 2 if p.ndim == 1 else p.shape[1], len(p)
    f = Forecasts(p, None, (), first_row=first_row, rows=_numbers(rows), model=model, half=half, names=names)
    if labels is None:
        labels = named_columns(y_proba, y, names, declared_order(y_true) is not None)
        labels = labels or declared_labels(y_true, y, k, p.ndim == 1, names)
    if y.ndim == 2:
        outcome = shares_of(y, k, labels, f.row, names)
    else:
        outcome = codes_of(y, k, labels, pos_label, p.ndim == 1, f.row, names)
    f = replace(
        f,
        **columns_of(f, sample_weight, counts, groups, case, clusters, time),
        outcomes=outcome.codes,
        classes=outcome.classes if classes is None else classes,
        ideal=ideal_matrix(ideal, p, names),
        features=row_column(features, n, "features", names, most=2),
    )
    part = InputRows(f, outcome.shares, list(outcome.findings))
    if absent:
        part.f = with_absent(f, scale)
        hidden = int(np.isnan(p).sum())
        part.findings += [of_input.NotOffered(hidden, p.size)] if hidden else []
    if missing == "drop":
        gaps: Array = np.asarray(np.isnan(part.f.scores).reshape(n, -1).any(axis=1))
        part.leave_out(gaps if outcome.missing is None else gaps | outcome.missing, of_input.MissingRows)
    elif outcome.missing is not None:
        gone = np.flatnonzero(outcome.missing)
        also = int(np.isnan(p).sum()) if not absent else 0
        raise names.error(
            f"{len(gone):,} of {n:,} outcomes in {names.called(names.outcome)} are missing "
            f"(first: row {f.row(gone[0])})" + (f", and {also:,} of {p.size:,} probabilities." if also else "."),
            f"leave these rows out:  {names.option('missing', 'drop')}",
        )
    for column, kind in (("weights", of_input.ZeroWeight), ("counts", of_input.ZeroCount)):
        values = getattr(part.f, column)
        if values is not None and not (names.whole and values.all()):
            part.leave_out(values == 0, kind)
    if part.shares is not None:
        part.settle_soft(part.shares, soft)
    elif soft == "omit":
        part.leave_out(np.zeros(len(part.f), dtype=bool), of_input.SoftOmitted)
    f, findings = part.f, part.findings
    if outcome.swap and p.ndim == 2:
        f = replace(f, probabilities=f.scores[:, ::-1], ideal=None if f.ideal is None else f.ideal[:, ::-1])
    if scale == "percent":
        if names.whole and len(f) >= FEW and np.nanmax(f.scores) <= 1.0:
            findings.append(of_input.SmallPercentages(len(f), len(f)))
        f = replace(f, probabilities=f.scores / 100.0)
    elif scale in LOGS:
        f = from_logs(f, scale)
    if normalise:
        f, rescaled = normalised(f)
        findings += rescaled
    return _settled(f, findings, time)


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
    one_of("missing", missing, ("error", "drop"))
    one_of("scale", scale, SCALES)
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
