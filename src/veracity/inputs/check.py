"""The check of every value, and the messages for bad ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from veracity.inputs.arguments import forecast_matrix
from veracity.inputs.forecasts import Forecasts
from veracity.inputs.names import Names, first_line, listed, number
from veracity.kernels.result import Problem, tolerance
from veracity.records import findings_of_input as of_input
from veracity.records.findings import FIRST, Finding, first_rows
from veracity.types import Array

COUNTED = 20  # whole numbers that are no higher count something
EXPLAINED = (of_input.SoftOutcomes, of_input.SeparateEvents)  # findings that already say why rows share a case


class Percentages(ValueError):
    """Values above 1 that would be probabilities as percentages."""


def check(forecasts: Forecasts) -> Forecasts:
    """Return the forecasts with the findings that need every row; refuse values that are not probabilities."""
    if forecasts.probabilities is None:
        return _check_realised(forecasts)
    low, high = _refuse_values(forecasts.probabilities, forecasts, forecasts.names)
    if forecasts.ideal is not None:
        named = replace(forecasts.names, forecast="ideal", columns=())
        try:
            _refuse_values(forecasts.ideal, forecasts, named)
        except ValueError as problem:  # --scale would not help: it is for the forecast alone
            raise ValueError(f"{first_line(problem)}\n  give the ideal as probabilities") from None
    return replace(forecasts, findings=forecasts.findings + _findings(forecasts, low, high))


def without_outcomes(y_proba: Any, classes: tuple[Any, ...], known_as: str) -> Forecasts:
    """Return forecasts of these classes for which no outcome is known; `known_as`: what they were given for.

    y_proba is (n,), the probability of the second of two classes, or (n, k), every value a probability.
    """
    names = Names()
    p = forecast_matrix(y_proba, names)
    k = len(classes)
    if p.shape[1:] != (k,) and not (p.ndim == 1 and k == 2):
        shape = f"(n, {k})" + (" or (n,)" if k == 2 else "")
        raise names.error(
            f"{names.forecast} has shape {p.shape}; {known_as} is for {k} classes: {listed(classes)}.",
            f"give probabilities of shape {shape}",
        )
    forecasts = Forecasts(p.astype(np.float32) if p.dtype == np.float16 else p, None, classes, names=names)
    forecasts = replace(forecasts, half=p.dtype == np.float16)
    try:
        _refuse_values(forecasts.scores, forecasts, names)
    except ValueError as problem:
        scale = f"give probabilities, on the scale that {known_as} was fitted on"
        remedy = "leave these rows out" if np.isnan(forecasts.scores).any() else scale
        raise ValueError(f"{first_line(problem)}\n  {remedy}") from None
    return forecasts


def refuse(problems: Mapping[str, Problem], forecasts: Forecasts) -> None:
    """Raise the message for the problems that a kernel counted, if any.

    A second look at the values composes the message: an error may cost another pass, and the words stay in one place.
    """
    by_kind = {kind: problem for kind, problem in problems.items() if problem.rows}
    if not by_kind:
        return
    check(forecasts)
    if "row_sum" in by_kind:  # a sum so near the tolerance that the order of its terms decides
        off = by_kind["row_sum"]
        assert off.value is not None
        raise _not_one(off.rows, off.first[0], off.value, forecasts, forecasts.names)
    raise forecasts.names.error(f"{forecasts.names.forecast}: not probabilities ({by_kind}).")


def _refuse_values(p: Array, forecasts: Forecasts, names: Names) -> tuple[float, float]:
    """Return the smallest and the largest value; raise the message for values that are not probabilities."""
    with np.errstate(invalid="ignore"):
        low, high = float(p.min(initial=1.0)), float(p.max(initial=0.0))
    if not (low >= 0.0 and high <= 1.0):
        raise _outside(p, forecasts, names)
    if p.ndim == 2:
        sums = p.sum(axis=1, dtype=np.float64)
        off = np.abs(sums - 1.0) > max(forecasts.allowed, tolerance(p.dtype, forecasts.k))  # the ideal's own dtype
        if off.any():
            i = int(np.argmax(off))
            raise _not_one(int(off.sum()), i, float(sums[i]), forecasts, names)
    return low, high


def _outside(p: Array, forecasts: Forecasts, names: Names) -> ValueError:
    """Return the message for missing, infinite, negative or too large values, whichever comes first in this list."""
    if np.isnan(p).any():
        return _missing(p, forecasts, names)
    infinite, negative, above = np.isinf(p), p < 0, p > 1
    kind = next(bad for bad in (infinite, negative, above) if bad.any())
    place = np.unravel_index(int(np.argmax(kind)), p.shape)
    value = float(p[place])
    where = names.at(forecasts.row(int(place[0])), None if p.ndim == 1 else int(place[1]))
    finite = p[~infinite]
    low, high = finite.min(initial=np.inf), finite.max(initial=-np.inf)
    everything = f"all {p.size:,} values lie" if names.whole else "values here lie"
    span = f"({everything} between {number(low)} and {number(high)})"
    logs = f"if these are log-probabilities:  {names.option('scale', 'log')}"
    logits = f"if these are logits:  {names.option('scale', 'logit')}"
    rescale = f"rescale the rows:  {names.option('normalise')}" if p.ndim == 2 else ""
    inside = "correct the value; probabilities lie between 0 and 1"
    if kind is infinite:
        remedy = logs if high <= 0 else "correct the value"
        return names.error(f"{where} = {value:g}: infinite ({int(infinite.sum()):,} of {p.size:,} values).", remedy)
    if kind is negative:
        remedy = logits if above.any() else logs if high <= 0 else inside
        return names.error(f"{where} = {number(value)}: below 0 {span}.", remedy)
    error: type[ValueError] = ValueError
    if value <= 1.001:
        remedy = "if this is rounding, clip it where the forecasts are made" + (f", or {rescale}" if rescale else "")
    elif high <= 2 or (p.ndim == 1 and high <= COUNTED and not (finite % 1.0).any()):  # too little for percentages
        remedy = inside + (f"      or {rescale}" if rescale else "")
    else:
        percent = high <= 100 and (p.ndim == 1 or abs(p[place[0]].sum() - 100) <= 1)
        remedy = f"if these are percentages:  {names.option('scale', 'percent')}" if percent else logits
        error = Percentages if percent else ValueError
    return error(str(names.error(f"{where} = {number(value)}: above 1 {span}.", remedy)))


def _not_one(count: int, first: int, total: float, forecasts: Forecasts, names: Names) -> ValueError:
    """Return the message for rows that do not sum to one."""
    return names.error(
        f"{count:,} of {len(forecasts):,} rows do not sum to one "
        f"(first: row {forecasts.row(first)}, sum {number(total)}).",
        f"fix the {'file' if names.file else 'forecasts'}, or rescale these rows:  {names.option('normalise')}",
    )


def _missing(p: Array, forecasts: Forecasts, names: Names) -> ValueError:
    """Return the message for missing probabilities."""
    bad = np.isnan(p.reshape(len(p), -1))
    rows = np.flatnonzero(bad.any(axis=1))
    columns = np.flatnonzero(bad.any(axis=0))
    if names.columns and names.style != "array":
        per = ", ".join(f"`{names.columns[j]}` {int(bad[:, j].sum()):,}" for j in columns[:6])
        what = f"{per + (', …' if len(columns) > 6 else '')} of {len(p):,} values are missing"
    else:
        what = f"{names.called(names.forecast)}: {len(rows):,} of {len(p):,} rows have missing values"
    return names.error(
        f"{what} (first: row {forecasts.row(int(rows[0]))}).",
        f"leave these rows out:  {names.option('missing', 'drop')}",
    )


def _check_realised(forecasts: Forecasts) -> Forecasts:
    """Return forecasts with realised probabilities alone, checked to lie in [0, 1]."""
    names, log_p = forecasts.names, forecasts.log_realised
    assert log_p is not None
    missing, above = np.isnan(log_p), log_p > 0
    if missing.any():
        i = int(np.argmax(missing))
        raise names.error(
            f"{names.at(forecasts.row(i))}: {int(missing.sum()):,} of {len(log_p):,} values are missing or negative.",
            f"leave missing ones out:  {names.option('missing', 'drop')}      "
            f"if these are log-probabilities:  {names.option('scale', 'log')}",
        )
    if above.any():
        i = int(np.argmax(above))
        raise names.error(f"{names.at(forecasts.row(i))} = {number(np.exp(log_p[i]))}: above 1.", "give probabilities")
    return replace(forecasts, findings=forecasts.findings + _zero(forecasts))


def _findings(forecasts: Forecasts, low: float, high: float) -> tuple[Finding, ...]:
    inside = low > 0.0 and (high < 1.0 or forecasts.k > 2)  # nothing was ruled out
    findings = [] if inside else list(_zero(forecasts))
    p, y, n = forecasts.scores, forecasts.observed, len(forecasts)
    if n > 1 and all(bool(np.all(p[i : i + 4096] == p[0])) for i in range(0, n, 4096)):
        findings.append(of_input.ConstantForecast(n, n))
    if n > 1 and y[-1] == y[0] and all(bool(np.all(y[i : i + 4096] == y[0])) for i in range(0, n, 4096)):
        findings.append(of_input.OneOutcome(n, n, outcome=str(forecasts.classes[int(y[0])])))
    if forecasts.case is not None and not any(isinstance(f, EXPLAINED) for f in forecasts.findings):
        _, inverse, times = np.unique(forecasts.case, return_inverse=True, return_counts=True)
        shared = np.flatnonzero(times[inverse] > 1)
        if len(shared):
            rows = [forecasts.row(i) for i in shared[:FIRST]]
            findings.append(of_input.RepeatedCases(len(shared), n, first_rows(rows)))
    return tuple(findings)


def _zero(forecasts: Forecasts) -> tuple[Finding, ...]:
    p, y = forecasts.probabilities, forecasts.outcomes
    if forecasts.log_realised is not None:
        where = np.flatnonzero(forecasts.log_realised == -np.inf)
    elif p is not None and y is not None and p.ndim == 1:
        ends = np.flatnonzero((p == 0) | (p == 1))  # few: only their outcomes need comparing
        where = ends[p[ends] != y[ends]]
    else:
        where = np.flatnonzero(forecasts.realised == 0)
    if not len(where):
        return ()
    rows = [forecasts.row(i) for i in where[:FIRST]]
    return (of_input.ZeroProbability(len(where), len(forecasts), first_rows(rows)),)
