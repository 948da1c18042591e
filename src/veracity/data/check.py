"""The look at every value, in blocks of plain NumPy, and the messages that refuse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels.result import tolerance
from .findings import FIRST, Finding, zero_probability
from .names import Names, number
from .types import Array, Forecasts

SAID = ("soft_outcomes", "separate_events")  # findings that already say why rows share a case
BLOCK = 1 << 18  # entries looked at together: stays in cache


@dataclass
class _Seen:
    """What one look at a matrix found: how many, and where first."""

    missing: int = 0
    infinite: int = 0
    negative: int = 0
    above: int = 0
    off: int = 0
    low: float = np.inf
    high: float = -np.inf
    first: dict[str, tuple[int, int]] | None = None


def check(forecasts: Forecasts) -> Forecasts:
    """Refuse values that are no probabilities; add the findings that need a look at every row."""
    if forecasts.probabilities is None:
        return _check_realised(forecasts)
    seen = _refuse_values(forecasts.probabilities, forecasts, forecasts.names)
    if forecasts.ideal is not None:
        named = replace(forecasts.names, forecast="ideal", columns=())
        try:
            _refuse_values(forecasts.ideal, forecasts, named)
        except ValueError as problem:  # the scale is for the forecast: the ideal has none
            raise ValueError(f"{str(problem).splitlines()[0]}\n  give the ideal as probabilities") from None
    return replace(forecasts, findings=forecasts.findings + _findings(forecasts, seen))


def refuse(problems: Any, forecasts: Forecasts) -> None:
    """Raise the message for what a kernel found; nothing when it found nothing.

    The message is composed by looking again, here: an error may cost a second pass, and the words stay in one place.
    """
    found = {kind: p for kind, p in problems.items() if p.rows} if hasattr(problems, "items") else problems
    if not found:
        return
    check(forecasts)
    if "row_sum" in found:  # a sum so near what is allowed that the order of its terms decides
        off = found["row_sum"]
        raise _not_one(off.rows, off.first[0], off.value, forecasts, forecasts.names)
    raise forecasts.names.error(f"{forecasts.names.forecast}: not probabilities ({found}).")


def _blocks(p: Array) -> Iterator[tuple[int, Array]]:
    step = max(1, BLOCK // (1 if p.ndim == 1 else p.shape[1]))
    for start in range(0, len(p), step):
        block = p[start : start + step]
        yield start, block.reshape(len(block), -1)


def _look(p: Array, allowed: float) -> _Seen:
    seen, first = _Seen(), {}

    def note(kind: str, bad: Array, start: int) -> int:
        count = int(np.count_nonzero(bad))
        if count and kind not in first:
            i, j = divmod(int(np.argmax(bad)), bad.shape[1])
            first[kind] = (start + i, j)
        return count

    for start, block in _blocks(p):
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = float(block.min()), float(block.max())
            if not (low >= 0.0 and high <= 1.0):
                seen.missing += note("missing", np.isnan(block), start)
                seen.infinite += note("infinite", np.isinf(block), start)
                seen.negative += note("negative", block < 0, start)
                seen.above += note("above", block > 1, start)
                finite = block[np.isfinite(block)]
                low, high = (float(finite.min()), float(finite.max())) if finite.size else (np.inf, -np.inf)
            seen.low, seen.high = min(seen.low, low), max(seen.high, high)
            if p.ndim == 2:
                sums = block.sum(axis=1, dtype=np.float64)
                seen.off += note("off", (np.abs(sums - 1.0) > allowed)[:, None], start)
    seen.first = first
    return seen


def _refuse_values(p: Array, forecasts: Forecasts, names: Names) -> _Seen:
    seen = _look(p, max(forecasts.allowed, tolerance(p.dtype, forecasts.k)))  # the ideal has a dtype of its own
    first = seen.first or {}
    if seen.missing:
        raise _missing(p, seen.missing, forecasts, names)

    def place(kind: str) -> tuple[str, float]:
        i, j = first[kind]
        value = float(p[i] if p.ndim == 1 else p[i, j])
        return names.at(forecasts.row(i), None if p.ndim == 1 else j), value

    everything = f"all {p.size:,} values lie" if names.whole else "values here lie"
    span = f"({everything} between {number(seen.low)} and {number(seen.high)})"
    if seen.infinite:
        where, value = place("infinite")
        remedy = (
            f"if these are log-probabilities:  {names.option('scale', 'log')}"
            if seen.high <= 0
            else "correct the value"
        )
        raise names.error(f"{where} = {value:g}: infinite ({seen.infinite:,} of {p.size:,} values).", remedy)
    if seen.negative:
        where, value = place("negative")
        if seen.above:
            remedy = f"if these are logits:  {names.option('scale', 'logit')}"
        elif seen.high <= 0:
            remedy = f"if these are log-probabilities:  {names.option('scale', 'log')}"
        else:
            remedy = "correct the value; probabilities lie between 0 and 1"
        raise names.error(f"{where} = {number(value)}: below 0 {span}.", remedy)
    if seen.above:
        where, value = place("above")
        if value <= 1.001:
            remedy = "if this is rounding, clip it where the forecasts are made" + (
                f", or rescale the rows:  {names.option('normalise')}" if p.ndim == 2 else ""
            )
        elif seen.high <= 2:  # too little for percentages
            remedy = "correct the value; probabilities lie between 0 and 1" + (
                f"      or rescale the rows:  {names.option('normalise')}" if p.ndim == 2 else ""
            )
        elif seen.high <= 100 and (p.ndim == 1 or abs(p[first["above"][0]].sum() - 100) <= 1):
            remedy = f"if these are percentages:  {names.option('scale', 'percent')}"
        else:
            remedy = f"if these are logits:  {names.option('scale', 'logit')}"
        raise names.error(f"{where} = {number(value)}: above 1 {span}.", remedy)
    if seen.off:
        i = first["off"][0]
        raise _not_one(seen.off, i, float(np.sum(p[i], dtype=np.float64)), forecasts, names)
    return seen


def _not_one(count: int, first: int, total: float, forecasts: Forecasts, names: Names) -> ValueError:
    return names.error(
        f"{count:,} of {len(forecasts):,} rows do not sum to one "
        f"(first: row {forecasts.row(first)}, sum {number(total)}).",
        f"fix the {'file' if names.file else 'forecasts'}, or rescale these rows:  {names.option('normalise')}",
    )


def _missing(p: Array, count: int, forecasts: Forecasts, names: Names) -> ValueError:
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
    """Only the probability of what happened is known: it lies in [0, 1], its logarithm is not above 0."""
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


def _findings(forecasts: Forecasts, seen: _Seen) -> tuple[Finding, ...]:
    inside = seen.low > 0.0 and (seen.high < 1.0 or forecasts.k > 2)  # nothing was ruled out
    found = [] if inside else list(_zero(forecasts))
    p, y = forecasts.probabilities, forecasts.outcomes
    assert p is not None
    assert y is not None
    n = len(p)
    if n > 1 and all(bool(np.all(p[i : i + 4096] == p[0])) for i in range(0, n, 4096)):
        found.append(Finding.of("constant_forecast", n, n))
    if n > 1 and y[-1] == y[0] and all(bool(np.all(y[i : i + 4096] == y[0])) for i in range(0, n, 4096)):
        found.append(Finding.of("one_outcome", n, n, outcome=str(forecasts.classes[int(y[0])])))
    if forecasts.case is not None and not any(f.code in SAID for f in forecasts.findings):
        _, inverse, times = np.unique(forecasts.case, return_inverse=True, return_counts=True)
        shared = np.flatnonzero(times[inverse] > 1)
        if len(shared):
            rows = [forecasts.row(i) for i in shared[:FIRST]]
            found.append(Finding.of("repeated_cases", len(shared), n, rows))
    return tuple(found)


def _zero(forecasts: Forecasts) -> tuple[Finding, ...]:
    p, y = forecasts.probabilities, forecasts.outcomes
    if forecasts.log_realised is not None:
        where = np.flatnonzero(forecasts.log_realised == -np.inf)
    elif p is not None and y is not None and p.ndim == 1:
        ends = np.flatnonzero((p == 0) | (p == 1))  # few: the outcomes of the others need no look
        where = ends[p[ends] != y[ends]]
    else:
        where = np.flatnonzero(forecasts.realised == 0)
    if not len(where):
        return ()
    return (zero_probability(len(where), len(forecasts), [forecasts.row(i) for i in where[:FIRST]]),)
