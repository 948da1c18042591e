"""Columns that are neither outcome nor forecast: they go along with rows that are mapped.

They stay as they stand in the file; only of texts beyond 16 MB, blanks around words and words for "missing" are lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from .files import Table
from .layouts import Layout
from .reading import ReadOptions

KEPT = "kept"  # what is said of them


def columns_beside(tables: Sequence[Table], layout: Layout, reading: ReadOptions) -> dict[str, Any]:
    """The columns that stay, and their kinds: words where files do not agree, or where nothing stands."""
    if layout.kind == "realised":
        return {}
    taken = {c for _, columns in layout.models for c in columns} | {layout.outcome, *layout.outcomes}
    taken |= {*layout.roles.values(), reading.weight, reading.count}
    schemas = [table.lazy.collect_schema() for table in tables]
    kinds: dict[str, Any] = {}
    for name in (c for c in tables[0].columns if c not in taken):
        found = {schema[table.as_given(name)] for table, schema in zip(tables, schemas, strict=True)}
        text = any(table.kinds for table in tables) or len(found - {pl.Null()}) != 1
        kinds[name] = pl.String() if text else (found - {pl.Null()}).pop()
    return kinds


@dataclass(frozen=True)
class Beside:
    """Some columns of some rows, and the numbers of the rows."""

    frame: pl.DataFrame
    numbers: Any

    def of(self, rows: Any) -> pl.DataFrame:
        """The rows of these numbers."""
        if not self.frame.width:
            return pl.DataFrame()
        order = np.argsort(self.numbers, kind="stable")
        found: pl.DataFrame = self.frame[order[np.searchsorted(self.numbers, rows, sorter=order)]]
        return found


def beside_in(table: Table, frame: pl.DataFrame, start: int, numbers: Any, kinds: Mapping[str, Any]) -> Beside:
    """What a frame of a table holds beside forecasts, with these kinds."""
    held = [frame[table.as_given(name)].alias(name) for name in kinds]
    made = [_as_kind(table, column, kinds[column.name]) for column in held]
    return Beside(
        pl.DataFrame(made), np.arange(start, start + frame.height) if numbers is None else np.asarray(numbers)
    )


def _as_kind(table: Table, column: pl.Series, kind: Any) -> pl.Series:
    """The column as the first file has it, if nothing is lost by that."""
    if column.dtype == kind:
        return column
    made = None
    try:
        made = column.cast(kind)
        kept = made.cast(column.dtype).eq_missing(column).all()
    except pl.exceptions.PolarsError:
        kept = False
    if made is None or not kept:
        raise table.error(
            f"column `{column.name}` holds {column.dtype}, in the first file {kind}.", "give it one kind in all files"
        )
    return made
