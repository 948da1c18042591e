"""Forecasts of files whose outcomes are not known, or not asked for: to be mapped, not to be assessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from . import roles
from .classes import DIGITS, NEARLY, STEMS
from .files import Table, expanded, names_of, same_columns, stem, table_of
from .layouts import Layout
from .reading import Reading, canonical, matching
from .roles import Column

TAKEN = ("proba", "positive_proba", "scale", "where", "nan", "normalise", "id")  # options of such forecasts


def unlabelled(
    paths: Sequence[Path], reading: Reading, classes: Sequence[Any] | None = None, *, asked: bool
) -> tuple[list[Table], Layout] | None:
    """The files, and where their forecasts are; None where a column is called like an outcome, where class columns
    cannot be told, or where an option asks for what is not done here.

    classes  of the map that is to be applied
    asked    whether outcomes would be used if there were any: then no column must look like them either
    """
    if any(getattr(reading, name) != getattr(Reading(), name) for name in vars(reading) if name not in TAKEN):
        return None
    files = expanded(list(paths))
    tables = [table_of(path, reading, name) for path, name in zip(files, names_of(files), strict=True)]
    table = tables[0]
    for other in tables:
        same_columns(other, table.columns, table.name)
    known = None if classes is None else [canonical(str(c)) for c in classes]
    found = _class_columns(table, reading, known)
    if found is None:
        return None
    columns, names = found
    beside = [c for c in table.columns if c not in columns]
    if any(roles.plain(c) in roles.OUTCOMES or (asked and _may_be_outcome(table.sample[c], names)) for c in beside):
        return None
    return tables, Layout(
        kind="unlabelled",
        models=((stem(files[0]), columns),),
        classes=tuple(names),
        unused=tuple((name, "") for name in beside),
        files=tuple(t.name for t in tables),
        rows=sum(t.rows for t in tables),
    )


def without_outcomes(layout: Layout) -> Layout | None:
    """The same forecasts, whatever happened; None where there is no row of probabilities for each row of the file."""
    if layout.kind not in ("wide", "binary") or layout.model_column or len(layout.models) > 1:
        return None
    unused = tuple((name, "") for name in (layout.outcome, *layout.case) if name) + layout.unused
    return replace(layout, kind="unlabelled", outcome=None, case=(), outcome_note="", tally=(), unused=unused)


def _class_columns(
    table: Table, reading: Reading, classes: list[str] | None
) -> tuple[tuple[str, ...], list[str]] | None:
    """The columns of probabilities and their classes; one column is for the second of two classes."""
    two = classes if classes is not None and len(classes) == 2 else ["0", "1"] if classes is None else None
    if reading.positive_proba:
        return ((table.column(reading.positive_proba),), two) if two else None
    if reading.proba:
        matched = matching(reading.proba, table.columns)
        stripped = [klass if klass is not None else _class_of(column) for _, klass, column in matched]
        return (tuple(c for *_, c in matched), [canonical(s) for s in stripped]) if len(matched) > 1 else None
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


def _is_meant(table: Table, members: tuple[tuple[str, str], ...], classes: list[str] | None, reading: Reading) -> bool:
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


def _may_be_outcome(values: pl.Series, classes: list[str]) -> bool:
    """Whether most of its values are classes: one of them may be misspelt, or be missing among the columns."""
    held = {canonical(str(value)) for value in values.drop_nulls().unique().to_list()}
    return 2 * len(held & set(classes)) > len(held)
