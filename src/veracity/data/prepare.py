"""From arguments to `Forecasts`: shapes, scales, labels, missing and soft outcomes.

The values of a plain matrix of probabilities are not looked at here: that is one pass, made by `check` or by the kernel
that counts them. Memory is kept: a float32 matrix is used where it lies, integer outcomes within 0…k-1 as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels.result import tolerance
from .arguments import (
    are_dates,
    array_of,
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
from .rows import InputRows, from_logs, normalised, not_offered
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
    half = p.dtype == np.float16
    p = p.astype(np.float32) if half else p
    y = y_true if is_masked(y_true) else array_of(y_true, names.outcome)
    refuse_swapped(y, p, names)
    refuse_reordered(y_true, y_proba, names)
    if y.ndim == 0 or len(y) != len(p):
        raise names.error(
            f"{names.outcome} has {many(y.size if y.ndim == 0 else len(y), 'outcome')}, "
            f"{names.forecast} {many(len(p), 'row')}.",
            "one outcome for each forecast is needed, in the same order",
        )
    k = 2 if p.ndim == 1 else p.shape[1]
    n = len(p)
    part = InputRows(n, first_row, rows=None if rows is None else np.asarray(rows))
    labels = named_columns(y_proba, y, names) if labels is None else labels
    if y.ndim == 2:
        outcome = shares_of(y, k, labels, part.number, names)
    else:
        outcome = codes_of(y, k, labels, pos_label, p.ndim == 1, part.number, names)
    findings = list(outcome.findings)
    part.arrays = {"p": p, "y": outcome.codes, "shares": outcome.shares}
    part.add(names, sample_weight, counts, groups, case, clusters, time)
    part.arrays["ideal"] = ideal_matrix(ideal, p, names)
    part.arrays["features"] = row_column(features, n, "features", names)
    if absent:
        p, part.arrays["offered"] = not_offered(p, outcome.codes, scale, part, names)
        part.arrays["p"] = p
        hidden = int((~part.arrays["offered"]).sum())
        findings += [Finding.of("not_offered", hidden, p.size)] if hidden else []
    if missing == "drop":
        gaps: Array = np.asarray(np.isnan(p) if p.ndim == 1 else np.isnan(p).any(axis=1))
        if outcome.missing is not None:
            gaps |= outcome.missing
        findings += part.leave_out(gaps, "missing_rows", names)
    elif outcome.missing is not None:
        gone = np.flatnonzero(outcome.missing)
        also = int(np.isnan(p).sum()) if not absent else 0
        raise names.error(
            f"{len(gone):,} of {n:,} outcomes in {names.called(names.outcome)} are missing "
            f"(first: row {part.number(gone[0])})" + (f", and {also:,} of {p.size:,} probabilities." if also else "."),
            f"leave these rows out:  {names.option('missing', 'drop')}",
        )
    for column, code in (("weights", "zero_weight"), ("counts", "zero_count")):
        values = part.arrays[column]
        if values is not None and not (names.whole and values.all()):
            findings += part.leave_out(values == 0, code, names)
    shares = part.arrays["shares"]
    if shares is not None:
        findings += part.settle_soft(shares, soft, names)
    elif soft == "omit":
        findings += part.leave_out(np.zeros(len(part.arrays["p"]), dtype=bool), "soft_omitted", names)
    p, codes = part.arrays["p"], part.arrays["y"]
    if outcome.swap and p.ndim == 2:
        p = p[:, ::-1]
        part.arrays["ideal"] = None if part.arrays["ideal"] is None else part.arrays["ideal"][:, ::-1]
    log_realised = None
    if scale == "percent":
        if names.whole and len(p) >= FEW and np.nanmax(p) <= 1.0:
            findings.append(Finding.of("small_percentages", len(p), len(p)))
        p = p / 100.0
    elif scale in ("logit", "log"):
        p, log_realised = from_logs(p, codes, scale, part, names)
    if normalise:
        allowed = tolerance(np.dtype(np.float16) if half else p.dtype, k)
        p, rescaled = normalised(p, allowed, part, names)
        findings += rescaled
    return Forecasts(
        probabilities=p,
        outcomes=codes,
        classes=outcome.classes if classes is None else classes,
        log_realised=log_realised,
        ideal=part.arrays["ideal"],
        features=part.arrays["features"],
        findings=tuple(findings),
        offered=part.arrays.get("offered"),
        model=model,
        half=half,
        names=replace(names, dates=are_dates(time)),
        **part.columns(),
    )


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
    part = InputRows(len(p), first_row, {"p": p}, None if rows is None else np.asarray(rows))
    part.add(names, **columns)
    findings = part.leave_out(np.isnan(p), "missing_rows", names) if missing == "drop" else []
    p = part.arrays["p"]
    if scale == "log":
        log_p = p.astype(np.float64)
        above = log_p > 0
        if above.any():
            i = int(np.argmax(above))
            raise names.error(
                f"{names.at(part.number(i))} = {log_p[i]:g}: a log-probability cannot be above 0.",
                f"if these are probabilities:  {names.option('scale', 'probability')}",
            )
    elif scale == "logit":
        from scipy.special import log_expit

        log_p = log_expit(p.astype(np.float64))
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.log(p.astype(np.float64) / (100.0 if scale == "percent" else 1.0))
    return Forecasts(
        probabilities=None,
        outcomes=None,
        classes=(),
        log_realised=log_p,
        findings=tuple(findings),
        model=model,
        names=replace(names, dates=are_dates(columns.get("time"))),
        **part.columns(),
    )
