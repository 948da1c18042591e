"""Forecasts of files that hold no outcome: to be mapped, not to be assessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..forecasts import Forecasts, check
from ..forecasts.rows import Rows, normalised
from . import roles
from .classes import DIGITS, NEARLY, STEMS
from .files import Table, expanded, same_columns, table_of
from .reading import Reading, canonical, matching
from .roles import Column
from .values import matrix


@dataclass(frozen=True)
class Unlabelled:
    """Rows of probabilities, the columns that hold them, and the columns beside them."""

    forecasts: Forecasts
    columns: tuple[str, ...]
    others: pl.DataFrame

    def one_line(self) -> str:
        beside = f" · kept as they are {' '.join(self.others.columns)}" if self.others.columns else ""
        return f"read {len(self.forecasts):,} rows · no outcome · forecast {' '.join(self.columns)}{beside}"


def unlabelled(paths: Sequence[Path], reading: Reading, classes: Sequence[Any] | None = None) -> Unlabelled | None:
    """None where a column may be the outcome after all, where the class columns cannot be told, or where an option
    asks for what is not done here.

    classes  of the map that is to be applied
    """
    taken = ("proba", "positive_proba", "where", "normalise", "id")
    if any(getattr(reading, name) != getattr(Reading(), name) for name in vars(reading) if name not in taken):
        return None
    tables = [table_of(path, reading) for path in expanded(list(paths))]
    table = tables[0]
    for other in tables:
        same_columns(other, table.columns, table.name)
    known = None if classes is None else [canonical(str(c)) for c in classes]
    found = _class_columns(table, reading, known)
    if found is None:
        return None
    columns, names = found
    beside = [c for c in table.columns if c not in columns]
    if any(_may_be_outcome(table.sample[c], names) for c in beside):
        return None
    frame = pl.concat([t.read(t.columns)[1] for t in tables], how="vertical_relaxed")
    p = matrix(frame, columns)
    words = table.names(forecast=" ".join(columns), columns=columns if len(columns) > 1 else ())
    rows = Forecasts(p, np.zeros(len(p), np.int64), tuple(names), names=words, first_row=table.first_row)
    if reading.normalise:
        p, findings = normalised(p, rows.allowed, Rows(len(p), table.first_row), words)
        rows = replace(rows, probabilities=p, findings=tuple(findings))
    return Unlabelled(replace(check(rows), outcomes=None), columns, frame.select(beside))


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
    pool = {name: c for name, c in pool.items() if c.numeric and c.present.len() and c.within}
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
    meant = [members for members in sets if _is_meant(table, members, classes, reading.normalise)]
    if len(meant) == 1:
        return tuple(name for name, _ in meant[0]), [klass for _, klass in meant[0]]
    alone = [name for name in pool if roles.named_probability(name)]
    return ((alone[0],), two) if two and not meant and len(alone) == 1 else None


def _is_meant(table: Table, members: tuple[tuple[str, str], ...], classes: list[str] | None, normalise: bool) -> bool:
    names, found = [name for name, _ in members], {klass for _, klass in members}
    if classes is not None:
        return found == set(classes)
    return roles.off_one(table.sample, names) < NEARLY if normalise else roles.sum_to_one(table.sample, names)


def _class_of(column: str) -> str:
    match = STEMS.match(column) or DIGITS.match(column)
    return match[2] if match else column


def _may_be_outcome(values: pl.Series, classes: list[str]) -> bool:
    """Whether most of its values are classes: one of them may be misspelt, or be missing among the columns."""
    held = {canonical(str(value)) for value in values.drop_nulls().unique().to_list()}
    return 2 * len(held & set(classes)) > len(held)
