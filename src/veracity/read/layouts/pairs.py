"""Columns X and X_outcome: classes if both sum to one, otherwise separate yes/no events; or a 1 for each class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from veracity.inputs import Forecasts, prepare
from veracity.records import findings_of_input as of_input
from veracity.records.findings import first_rows
from veracity.records.layout import Event, Layout

from .. import column_meaning as meaning
from ..build import ModelRows, matrix, prepared, repeated
from ..classes import class_sets
from ..free_columns import Columns
from ..patterns import labels_of
from . import binary

RULE = 4
DECIDED = 0.1  # a smaller share of exact zeros and ones that came true may be confident forecasts


def match(columns: Columns) -> Layout | None:
    """Columns X of numbers with columns X_outcome within [0, 1]."""
    options = columns.options
    if options.proba or options.positive_proba:
        return None
    if options.label:
        return _named_pair(columns, options.label)
    outcome_of = {c.name: f"{c.name}_outcome" for c in columns.where(lambda c: c.numeric)}
    outcome_of = {p: o for p, o in outcome_of.items() if o in columns.free and columns.free[o].within}
    forecasts, outcomes = tuple(outcome_of), tuple(outcome_of.values())
    if not forecasts:
        return _one_hot(columns)
    if len(forecasts) == 1:
        return replace(binary.event_layout(columns, outcomes[0], forecasts), certain=True)
    sample = columns.table.sample
    if meaning.sum_to_one(sample, list(forecasts)) and meaning.sum_to_one(sample, list(outcomes)):
        order = columns.ordered(forecasts)
        if options.positive is not None and len(order) == 2:
            order = tuple(sorted(order, key=lambda c: c == options.positive))
        return Layout(
            ((columns.model, order),),
            order,
            outcomes=tuple(outcome_of[c] for c in order),
            certain=True,
            meaning="one column per class",
            basis="pairs X, X_outcome (rule 4); rows sum to one",
        )
    return Layout(
        ((columns.model, forecasts),),
        (0, 1),
        outcomes=outcomes,
        findings=(of_input.SeparateEvents(len(forecasts)),),
        stacked=True,
        certain=True,
        may_have_models=False,
        meaning=Event(("1",), obvious=True),
        basis="pairs X, X_outcome (rule 4) that do not sum to one: separate yes/no events",
    )


def _named_pair(columns: Columns, label: str) -> Layout | None:
    """Return the match of an outcome that is given as X_outcome, and of X."""
    forecast = columns.free.get(label.removesuffix("_outcome"))
    if forecast is None or forecast.name == label or not forecast.numeric:
        return None
    return replace(binary.event_layout(columns, columns.table.column(label), [forecast.name]), certain=True)


def _one_hot(columns: Columns) -> Layout | None:
    """Class columns, and columns of 0 and 1 for the same classes, of which one is 1 in each row."""
    marks = {c.name for c in columns.where(lambda c: c.numeric and bool(c.labels) and set(c.labels) <= {"0", "1"})}
    sets = [s for s in class_sets(columns) if not set(s.columns) <= marks] if len(marks) > 1 else []
    if len(sets) != 1:
        return None
    (chosen,) = sets
    first = chosen.classes[0]
    for stem in sorted(name.removesuffix(first) for name in marks if name.endswith(first)):
        outcomes = tuple(stem + label for label in chosen.classes)
        if set(outcomes) <= marks and meaning.sum_to_one(columns.table.sample, list(outcomes)):
            return Layout(
                ((columns.model, chosen.columns),),
                labels_of(chosen.classes),
                outcomes=outcomes,
                scale=columns.options.scale or chosen.scale,
                certain=True,
                meaning="1 in the column of the class",
                basis=chosen.basis,
            )
    return None


def build(rows: ModelRows) -> Forecasts:
    if rows.match.stacked:
        return _with_decided(_stacked(rows))
    if not rows.match.outcomes:
        return _with_decided(prepared(rows, rows.outcomes()))
    shares = matrix(rows.frame, rows.match.outcomes)
    hard = bool(np.all((shares == 0) | (shares == 1)) and np.all(shares.sum(axis=1) == 1))
    return prepared(rows, shares.argmax(axis=1) if hard else shares.astype(np.float64))


def _stacked(rows: ModelRows) -> Forecasts:
    """Return the events of each row one after another; the name of the column is the group `event`."""
    arguments, m = rows.arguments(), len(rows.columns)
    ideal, case = arguments["ideal"], arguments["case"]
    given: dict[str, Any] = repeated(rows, m)
    given["groups"]["event"] = np.tile(np.array(rows.columns, dtype=object), rows.frame.height)
    given["case"] = np.repeat(rows.row_numbers if case is None else case, m)
    given["ideal"] = None if ideal is None else ideal.reshape(-1)
    given["names"] = replace(arguments["names"], forecast="forecast", columns=())
    outcomes = matrix(rows.frame, rows.match.outcomes).reshape(-1).astype(np.float64)
    return prepare(outcomes, matrix(rows.frame, rows.columns).reshape(-1), **given)


def _with_decided(forecasts: Forecasts) -> Forecasts:
    """Add a finding if forecasts were kept up after the event: exact zeros and ones that came true."""
    p = forecasts.probabilities
    assert p is not None
    true = np.flatnonzero(((p == 0) | (p == 1)) & (p == forecasts.outcomes))
    if len(true) < DECIDED * len(p):
        return forecasts
    finding = of_input.AlreadyDecided(len(true), len(p), first_rows([forecasts.row(i) for i in true[:20]]))
    return replace(forecasts, findings=(*forecasts.findings, finding))
