"""Columns that are neither outcome nor forecast: they go along with rows that are mapped, as they stand in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from .files import Table
from .layouts import Layout
from .reading import Reading

KEPT = "kept as they are"  # what is said of them


def columns_beside(table: Table, layout: Layout, reading: Reading) -> dict[str, Any]:
    """The columns of a table that stay, and their kinds."""
    if layout.kind in ("lm-eval", "realised"):  # columns are ours, not the file's
        return {}
    taken = {c for _, columns in layout.models for c in columns} | {layout.outcome, *layout.outcomes}
    taken |= {*layout.roles.values(), reading.weight, reading.count}
    schema = table.lazy.collect_schema()
    return {c: schema[table.as_given(c)] for c in table.columns if c not in taken}


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
    held = frame.select(pl.col(table.as_given(name)).alias(name) for name in kinds)
    try:
        made = held.with_columns(pl.col(name).cast(kind) for name, kind in kinds.items())
    except pl.exceptions.PolarsError:
        other = next(name for name, kind in kinds.items() if held[name].dtype != kind)
        raise table.error(
            f"column `{other}` holds {held[other].dtype}, in the first file {kinds[other]}.",
            "give it one kind in all files, or leave it out",
        ) from None
    return Beside(made, np.arange(start, start + frame.height) if numbers is None else np.asarray(numbers))
