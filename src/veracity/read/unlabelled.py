"""Forecasts of files whose outcomes are not known, or not asked for: to be mapped, not to be assessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from veracity.records.layout import Layout, Unused

from ..options import READING, ReadOptions, canonical
from . import column_meaning as meaning
from .classes import ClassSet, class_sets, given_sets
from .free_columns import Columns
from .patterns import items_of, matching

UNLABELLED = [name for name, option in READING.items() if option.unlabelled]


class NoForecasts(ValueError):
    """The columns of the forecasts are ambiguous."""


def options_without_outcomes(options: ReadOptions, classes: Sequence[Any] | None) -> ReadOptions | None:
    """Return the options for files without outcomes; None where an option needs them. `classes`: of the map."""
    default = ReadOptions()
    if any(getattr(options, name) != getattr(default, name) for name in READING if name not in UNLABELLED):
        return None
    names: Any = [str(c) for c in classes or ()]  # a list: names may contain commas
    return replace(options, labelled=False, order=names, id=())


def options_of_forecasts(options: ReadOptions, match: Layout) -> ReadOptions | None:
    """Return the options for the forecasts of a match whatever their outcomes; None if a row is not one forecast."""
    if not match.row_is_forecast:
        return None
    columns = list(match.forecasts)
    given: dict[str, Any] = {name: getattr(options, name) for name in (*UNLABELLED, "weight", "count")}
    given |= {"proba": None, "positive_proba": None, "id": ()}
    given |= {"positive_proba": columns[0]} if len(columns) == 1 else {"proba": columns}
    given |= {"scale": options.scale or match.scale, "order": list(map(str, match.classes))}
    return ReadOptions(labelled=False, **given)


def match(columns: Columns) -> Layout:
    """Return the columns of the forecasts. Names of outcomes among the others raise, unless the forecasts are given."""
    table, options = columns.table, columns.options
    forecasts = _forecasts(columns, tuple(canonical(name) for name in options.order))
    others = [c for c in table.columns if forecasts is None or c not in forecasts.columns]
    given = options.proba or options.positive_proba
    if forecasts is None or (not given and any(meaning.key_of(c) in meaning.OUTCOMES for c in others)):
        raise NoForecasts(f"{table.name}: no rows of probabilities")
    return Layout(
        ((columns.model, forecasts.columns),),
        forecasts.classes,
        layout="binary" if len(forecasts.columns) == 1 else "wide",
        scale=options.scale or "probability",
        unused=tuple(map(Unused, others)),
        labelled=False,
    )


def _forecasts(columns: Columns, classes: tuple[str, ...]) -> ClassSet | None:
    """Return the only columns that can be the forecasts; one column is for the second of two classes."""
    options, names = columns.options, columns.table.columns
    sets, alone = [], [columns.table.column(c) for c in items_of(options.positive_proba or "", names) if c]
    if options.proba:
        sets = given_sets(matching(options.proba, names), columns)
        if len(sets) == 1 and len(sets[0].columns) == len(classes) and set(sets[0].classes) != set(classes):
            sets = [replace(sets[0], classes=classes)]
    elif not alone:
        sets = class_sets(columns, loose=bool(classes), known=classes)
        sets = [s for s in sets if not classes or set(s.classes) == set(classes)]
        possible = columns.where(lambda c: c.on_scale(columns.scale))
        alone = [c.name for c in possible if meaning.named_probability(c.name)]
        alone = alone or [c.name for c in possible if meaning.named_confidence(c.name)]
    if len(sets) == 1 and len(sets[0].columns) > 1:
        return sets[0]
    two = classes or ("0", "1")
    return ClassSet((alone[0],), two) if not sets and len(alone) == 1 and len(two) == 2 else None


def may_be_outcome(values: pl.Series, classes: Sequence[Any]) -> bool:
    """Whether most values are classes: one may be misspelt, or have no column."""
    labels = {canonical(str(value)) for value in values.drop_nulls().unique().to_list()}
    return 2 * len(labels & {str(c) for c in classes}) > len(labels)
