"""Forecasts of files whose outcomes are not known, or not asked for: to be mapped, not to be assessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from . import roles
from .classes import DIGITS, NEARLY, STEMS, with_stem
from .files import Table
from .match import Match
from .options import ReadOptions, canonical, items_of, matching
from .roles import Column

TAKEN = ("proba", "positive_proba", "scale", "where", "missing", "normalise", "id")  # options of such forecasts


class NoForecasts(ValueError):
    """The columns of the forecasts cannot be told."""


def options_without_outcomes(options: ReadOptions, classes: Sequence[Any] | None) -> ReadOptions | None:
    """Return the options for files without outcomes; None where an option needs them. `classes`: of the map."""
    default = ReadOptions()
    if any(getattr(options, name) != getattr(default, name) for name in vars(options) if name not in TAKEN):
        return None
    names: Any = [str(c) for c in classes or ()]  # a list: names may contain commas
    return replace(options, labelled=False, order=names, id=())


def options_of_forecasts(options: ReadOptions, match: Match) -> ReadOptions | None:
    """Return the options for the forecasts of a match whatever their outcomes; None if a row is not one forecast."""
    if not match.row_is_forecast:
        return None
    columns = list(match.forecasts)
    given: dict[str, Any] = {"positive_proba": columns[0]} if len(columns) == 1 else {"proba": columns}
    given |= {"scale": options.scale or match.scale, "order": list(map(str, match.classes))}
    given |= {name: getattr(options, name) for name in ("where", "missing", "normalise", "weight", "count")}
    return ReadOptions(labelled=False, **given)


def match(table: Table, options: ReadOptions, model: str) -> Match:
    """Return the columns of the forecasts. Names of outcomes among the others raise, unless the forecasts are given."""
    classes = [canonical(name) for name in options.order] or None
    found = _class_columns(table, options, classes)
    others = [c for c in table.columns if found is None or c not in found[0]]
    given = options.proba or options.positive_proba
    if found is None or (not given and any(roles.key_of(c) in roles.OUTCOMES for c in others)):
        raise NoForecasts(f"{table.name}: no rows of probabilities")
    scale, unused = options.scale or "probability", tuple((name, "") for name in others)
    layout = "binary" if len(found[0]) == 1 else "wide"
    return Match(((model, found[0]),), tuple(found[1]), layout=layout, scale=scale, unused=unused, labelled=False)


def may_be_outcome(values: pl.Series, classes: Sequence[Any]) -> bool:
    """Whether most values are classes: one may be misspelt, or have no column."""
    held = {canonical(str(value)) for value in values.drop_nulls().unique().to_list()}
    return 2 * len(held & {str(c) for c in classes}) > len(held)


def _class_columns(
    table: Table, options: ReadOptions, classes: list[str] | None
) -> tuple[tuple[str, ...], list[str]] | None:
    """Return the columns of probabilities and their classes; one column is for the second of two classes."""
    two = ["0", "1"] if classes is None else classes if len(classes) == 2 else None
    if options.positive_proba:
        items = items_of(options.positive_proba, table.columns)
        return ((table.column(items[0]),), two) if two and len(items) == 1 else None
    if options.proba:
        matched = matching(options.proba, table.columns)
        columns = tuple(column for *_, column in matched)
        found = [canonical(klass if klass is not None else _class_of(column)) for _, klass, column in matched]
        if classes and len(classes) == len(columns) and set(classes) != set(found):
            found = classes
        return (columns, found) if len(columns) > 1 else None
    known = {name: Column(name, table.sample[name]) for name in table.columns}
    numeric = [name for name, c in known.items() if c.numeric and c.present.len() and _in_range(c, options.scale)]
    named = {canonical(name): name for name in numeric}
    if classes is not None and set(classes) <= set(named):
        return tuple(named[c] for c in classes), classes
    members = [m for regex in (STEMS, DIGITS) for _, m in with_stem([known[name] for name in numeric], regex)]
    sets = {tuple(c.name for c, _ in m): [klass for _, klass in m] for m in members if len(m) > 1}
    meant = [(columns, found) for columns, found in sets.items() if _is_meant(table, columns, found, classes, options)]
    if meant:
        return meant[0] if len(meant) == 1 else None
    alone = [name for name in numeric if roles.named_probability(name)]
    return ((alone[0],), two) if two and len(alone) == 1 else None


def _in_range(column: Column, scale: str | None) -> bool:
    """Whether the values may be forecasts on this scale."""
    if scale in (None, "probability"):
        return column.within
    return scale != "percent" or (column.low >= 0.0 and column.high <= 100.0)


def _is_meant(
    table: Table, columns: tuple[str, ...], found: list[str], classes: list[str] | None, options: ReadOptions
) -> bool:
    if classes is not None:
        return set(found) == set(classes)
    if options.scale in ("log", "logit"):
        return True
    total = 100.0 if options.scale == "percent" else 1.0
    if options.normalise:
        return roles.off_one(table.sample, list(columns), total) < NEARLY
    return roles.share_of_sums(table.sample, list(columns), total) >= 0.99


def _class_of(column: str) -> str:
    match = STEMS.match(column) or DIGITS.match(column)
    return match[2] if match else column
