"""Forecasts of files whose outcomes are not known, or not asked for: to be mapped, not to be assessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from . import roles
from .classes import DIGITS, NEARLY, STEMS
from .files import Table
from .layouts import Layout
from .reading import UNLABELLED, ReadOptions, canonical, items_of, matching
from .roles import Column

TAKEN = ("proba", "positive_proba", "scale", "where", "missing", "normalise", "id")  # options of such forecasts


class NoForecasts(ValueError):
    """Where the forecasts are cannot be told."""


def reading_without_outcomes(reading: ReadOptions, classes: Sequence[Any] | None) -> ReadOptions | None:
    """The same for files whose outcomes are not known; None where an option asks for what is not done there.

    classes  of the map that is to be applied
    """
    if any(getattr(reading, name) != getattr(ReadOptions(), name) for name in vars(reading) if name not in TAKEN):
        return None
    names: Any = [str(c) for c in classes or ()]  # a list: names may hold commas
    return replace(reading, layout=UNLABELLED, order=names, id=())


def reading_of_forecasts(reading: ReadOptions, layout: Layout) -> ReadOptions | None:
    """The same for the forecasts that were recognised, whatever happened; None where rows of the file are no rows of
    probabilities."""
    if layout.kind not in ("wide", "binary") or layout.model_column or len(layout.models) > 1:
        return None
    columns = list(layout.models[0][1])
    option = {"positive_proba": columns[0]} if len(columns) == 1 else {"proba": columns}
    given: dict[str, Any] = {"proba": None, "positive_proba": None, **option}
    given |= {"scale": reading.scale or layout.scale, "order": list(map(str, layout.classes))}
    given |= {name: getattr(reading, name) for name in ("where", "missing", "normalise", "weight", "count")}
    return ReadOptions(layout=UNLABELLED, **given)


def unlabelled(table: Table, reading: ReadOptions, model: str) -> Layout:
    """Where the forecasts are. Columns that are called like outcomes are no good sign, unless the others are named."""
    classes = [canonical(name) for name in reading.order] or None
    found = _class_columns(table, reading, classes)
    columns = found[0] if found else ()
    beside = [c for c in table.columns if c not in columns]
    named = reading.proba or reading.positive_proba
    if found is None or (not named and any(roles.plain(c) in roles.OUTCOMES for c in beside)):
        raise NoForecasts(f"{table.name}: no rows of probabilities")
    unused, scale = tuple((name, "") for name in beside), reading.scale or "probability"
    return Layout("unlabelled", ((model, columns),), tuple(found[1]), scale=scale, unused=unused)


def may_be_outcome(values: pl.Series, classes: Sequence[Any]) -> bool:
    """Whether most of its values are classes: one of them may be misspelt, or be missing among the columns."""
    held = {canonical(str(value)) for value in values.drop_nulls().unique().to_list()}
    return 2 * len(held & {str(c) for c in classes}) > len(held)


def _class_columns(
    table: Table, reading: ReadOptions, classes: list[str] | None
) -> tuple[tuple[str, ...], list[str]] | None:
    """The columns of probabilities and their classes; one column is for the second of two classes."""
    two = classes if classes is not None and len(classes) == 2 else ["0", "1"] if classes is None else None
    if reading.positive_proba:
        items = items_of(reading.positive_proba, table.columns)
        return ((table.column(items[0]),), two) if two and len(items) == 1 else None
    if reading.proba:
        matched = matching(reading.proba, table.columns)
        columns = tuple(column for *_, column in matched)
        stripped = [canonical(klass if klass is not None else _class_of(column)) for _, klass, column in matched]
        known = classes is not None and len(classes) == len(columns) and set(classes) != set(stripped)
        return (columns, classes if known and classes else stripped) if len(columns) > 1 else None
    pool = {name: Column(name, table.sample[name]) for name in table.columns}
    pool = {name: c for name, c in pool.items() if c.numeric and c.present.len() and _in_range(c, reading.scale)}
    if classes is not None and set(classes) <= {canonical(name) for name in pool}:
        named = {canonical(name): name for name in pool}
        return tuple(named[c] for c in classes), classes
    groups: dict[str, list[tuple[str, str]]] = {}
    for regex in (STEMS, DIGITS):
        for name in pool:
            match = regex.match(name)
            if match:
                groups.setdefault(regex.pattern + match[1], []).append((name, canonical(match[2])))
    sets = {tuple(members) for members in groups.values() if len(members) > 1}
    meant = [members for members in sets if _is_meant(table, members, classes, reading)]
    if len(meant) == 1:
        return tuple(name for name, _ in meant[0]), [klass for _, klass in meant[0]]
    alone = [name for name in pool if roles.named_probability(name)]
    return ((alone[0],), two) if two and not meant and len(alone) == 1 else None


def _in_range(column: Column, scale: str | None) -> bool:
    """Whether the values may be forecasts on this scale."""
    if scale in (None, "probability"):
        return column.within
    return scale != "percent" or (column.low >= 0.0 and column.high <= 100.0)


def _is_meant(
    table: Table, members: tuple[tuple[str, str], ...], classes: list[str] | None, reading: ReadOptions
) -> bool:
    names, found = [name for name, _ in members], {klass for _, klass in members}
    if classes is not None:
        return found == set(classes)
    if reading.scale in ("log", "logit"):
        return True
    total = 100.0 if reading.scale == "percent" else 1.0
    if reading.normalise:
        return roles.off_one(table.sample, names, total) < NEARLY
    return roles.share_of_sums(table.sample, names, total) >= 0.99


def _class_of(column: str) -> str:
    match = STEMS.match(column) or DIGITS.match(column)
    return match[2] if match else column
