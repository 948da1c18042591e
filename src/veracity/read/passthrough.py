"""Columns that are neither outcome nor forecast, copied unchanged from the input files to mapped output.

Only of texts beyond 16 MB, blanks around words and words for "missing" are lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from .match import Match
from .options import ReadOptions
from .table import Table


def passthrough_types(tables: Sequence[Table], match: Match, options: ReadOptions) -> dict[str, Any]:
    """Return the columns to be copied with their types: text where files do not agree, or where all is missing."""
    if not match.classes:
        return {}
    taken = {*match.forecasts, match.outcome, *match.outcomes, *match.roles.values(), options.weight, options.count}
    schemas = [table.lazy.collect_schema() for table in tables]
    types: dict[str, Any] = {}
    for name in (c for c in tables[0].columns if c not in taken):
        found = {schema[table.as_given(name)] for table, schema in zip(tables, schemas, strict=True)} - {pl.Null()}
        text = any(table.kinds for table in tables) or len(found) != 1
        types[name] = pl.String() if text else found.pop()
    return types


@dataclass(frozen=True)
class Passthrough:
    """Columns copied unchanged from the input file to the mapped output, with the numbers of their rows."""

    frame: pl.DataFrame
    numbers: Any

    @classmethod
    def of(cls, table: Table, frame: pl.DataFrame, start: int, numbers: Any, types: Mapping[str, Any]) -> Passthrough:
        """Return the columns of these types in a frame of a table."""
        columns = [_cast(table, frame[table.as_given(name)].alias(name), kind) for name, kind in types.items()]
        plain = np.arange(start, start + frame.height)
        return cls(pl.DataFrame(columns), plain if numbers is None else np.asarray(numbers))

    def select(self, row_numbers: Any) -> pl.DataFrame:
        """Return these rows, in this order."""
        if not self.frame.width:
            return pl.DataFrame()
        order = np.argsort(self.numbers, kind="stable")
        found: pl.DataFrame = self.frame[order[np.searchsorted(self.numbers, row_numbers, sorter=order)]]
        return found


def _cast(table: Table, column: pl.Series, kind: Any) -> pl.Series:
    """Return a column in the type of the first file, or raise if values would change."""
    if column.dtype == kind:
        return column
    try:
        made = column.cast(kind)
        if made.cast(column.dtype).eq_missing(column).all():
            return made
    except pl.exceptions.PolarsError:
        pass
    raise table.error(
        f"column `{column.name}` holds {column.dtype}, in the first file {kind}.", "give it one kind in all files"
    )
