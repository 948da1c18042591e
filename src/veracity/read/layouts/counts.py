"""Forecast probability with numbers of cases and events, with an outcome and its number, or with a frequency."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from veracity.inputs import Forecasts, prepare
from veracity.read.build import ModelRows, numbers_in, prepared, repeated
from veracity.records import findings_of_input as of_input
from veracity.records.layout import Layout
from veracity.types import Array, Floats

from .. import column_meaning as meaning
from ..free_columns import Columns
from ..proposals import Proposal
from . import binary

RULE = 2


def match(columns: Columns) -> Layout | None:
    """A number of cases with events or with an outcome, or the frequency of the event, by their names."""
    labelled, label = columns.with_label(), columns.options.label
    n = columns.first(meaning.CASES, lambda c: c.numeric)
    events = labelled.first(meaning.EVENTS, lambda c: c.numeric and label in (None, c.name))
    frequency = labelled.first(meaning.FREQUENCIES, lambda c: c.within and label in (None, c.name))
    if n and events:
        return _events(columns, n, events)
    if frequency:
        return _frequency(columns, frequency, n)
    if n and len(labelled.free) == 3:
        return _cells(labelled, n)
    return None


def _events(columns: Columns, n: str, events: str) -> Layout | None:
    forecast, sample = columns.one_probability(without=(n, events)), columns.table.sample
    if forecast is None:
        return None
    over = (sample[events] > sample[n]).fill_null(False)
    if over.any():
        row = int(over.arg_max() or 0)
        raise columns.error(
            f"row {row + columns.table.first_row}: {sample[events][row]:g} `{events}` of {sample[n][row]:g} `{n}`.",
            "there cannot be more events than cases",
        )
    note = f"{events} of {n} cases (rule 2)"
    return _match(columns, forecast, events, note, {"n": n, "events": events})


def _frequency(columns: Columns, frequency: str, n: str | None) -> Layout | None:
    forecast, options = columns.one_probability(without=(frequency,)), columns.options
    if forecast is None:
        return None
    if not options.weight and not options.count:
        shares = columns.where(lambda c: c.within, (forecast, frequency))
        proposals = [Proposal("choose", {"weight": c.name}) for c in shares]
        if n:  # rounded frequencies give no whole numbers of events
            proposals = [Proposal("choose", {"count": n}), Proposal("as shares", {"weight": n})]
        raise columns.refuse(
            f"`{frequency}` is a frequency: the {'number' if n else 'share'} of cases of each row is needed.",
            *proposals,
            otherwise=f"give it with {columns.option('weight', 'COL')}",
            most=1 if n else 3,
        )
    layout = _match(columns, forecast, frequency, "observed frequency (rule 2)", {"frequency": frequency})
    return layout if options.count else replace(layout, findings=(of_input.NoNumberOfCases(),), shares_only=True)


def _match(columns: Columns, forecast: str, outcome: str, note: str, roles: dict[str, str]) -> Layout:
    return Layout(
        ((columns.model, (forecast,)),),
        (0, 1),
        outcome,
        roles=roles,
        certain=True,
        may_have_models=False,
        meaning=note,
        basis="probability of the event",
    )


def _cells(columns: Columns, n: str) -> Layout | None:
    """Return the match of three columns: forecast, outcome, number of cases."""
    forecast, outcome = columns.where(lambda c: True, (n,))
    if columns.options.label == forecast.name or (outcome.numeric and not (forecast.numeric or columns.options.label)):
        forecast, outcome = outcome, forecast
    if outcome.no_label and not columns.options.label:
        return None
    if outcome.outcome_like and forecast.within and not outcome.fractions:
        layout = binary.event_layout(columns, outcome.name, [forecast.name])
        basis = f"{n} is the number of cases (rule 2)"
        return replace(layout, roles={"count": n}, certain=True, may_have_models=False, basis=basis)
    if outcome.labels and forecast.labels and not forecast.probability:
        table = columns.table
        raise columns.error(
            f"forecast categories by outcomes with their number `{n}`: a table, not single forecasts.",
            f"veracity table {table.in_commands}" if table.style == "file" else "PredictionTable(counts)",
        )
    return None


def build(rows: ModelRows) -> Forecasts:
    roles, frame = rows.match.roles, rows.frame
    if "count" in roles:
        return prepared(rows, rows.outcomes(), counts=numbers_in(frame[roles["count"]]))
    given: dict[str, Any] = repeated(rows, 2) | {"case": None}
    n, weight = rows.arguments()["counts"], rows.weight
    if rows.match.shares_only:
        frequency, share = numbers_in(frame[roles["frequency"]]), 1.0 if weight is None else weight
        given["sample_weight"] = _twice(share * frequency, share * (1 - frequency))
    else:
        if "frequency" in roles:
            events = _whole_events(rows, n)
        else:
            n, events = numbers_in(frame[roles["n"]]), numbers_in(frame[roles["events"]])
            given["names"] = replace(given["names"], count=roles["n"])
        given["counts"] = _twice(events, n - events)
    outcomes = np.tile(np.array([1, 0]), frame.height)
    cases = prepare(outcomes, np.repeat(numbers_in(frame[rows.columns[0]]), 2), **given)
    return replace(
        cases, findings=tuple(f for f in cases.findings if not isinstance(f, (of_input.ZeroCount, of_input.ZeroWeight)))
    )


def _twice(events: Array, others: Array) -> Array:
    """Return the amount of events and of other cases of each row, one after another."""
    return np.column_stack([events, others]).reshape(-1)


def _whole_events(rows: ModelRows, n: Array) -> Array:
    """Return the number of events from a frequency, which may have been rounded to two digits."""
    column = rows.match.roles["frequency"]
    events: Floats = n * numbers_in(rows.frame[column])
    broken = np.abs(events - np.round(events)) > 0.005 * n + 1e-9
    if broken.any():
        i = int(np.argmax(broken))
        raise rows.table.error(
            f"row {rows.row_numbers[i]}, `{column}` of {n[i]:g} cases is {events[i]:.6g} events: not a whole number.",
            f"if these are shares of the cases:  {rows.table.option('weight', rows.options.count)}",
        )
    whole: Floats = np.round(events)
    return whole
