"""Weights in a file of their own: paired with the rows of the data by position, read as they are needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from .files import is_parquet, parquet_rows, table_of
from .options import ReadOptions
from .table import NoRows, Table
from .values import numbers_in


@dataclass(frozen=True)
class WeightsFile:
    """One weight for each row of all data files, in their order."""

    path: str
    column: str
    starts: dict[str, int]  # rows in the files before each
    values: Any = None  # of a file that cannot be entered in the middle

    def before(self, path: str) -> int:
        return self.starts[os.path.abspath(path)]

    def __getitem__(self, rows: Any) -> Any:
        """Return the weights of rows by their place among all."""
        if self.values is not None:
            return self.values[rows]
        low, high = int(rows.min()), int(rows.max()) + 1
        held = pl.scan_parquet(self.path, glob=False).select(self.column).slice(low, high - low).collect()
        return numbers_in(held[self.column])[rows - low]


def weights_file(name: str, files: Sequence[Path], first: Table) -> WeightsFile:
    """The weights of this name, as many as there are rows."""
    path = Path(name)
    if not path.is_file():
        shown = ", ".join(first.columns[:12])
        raise first.error(f"--weight {name}: neither a column nor a file.", f"columns: {shown}")
    held = table_of(path, ReadOptions())
    numeric = [c for c in held.columns if held.sample[c].dtype.is_numeric()]
    if len(numeric) != 1:
        raise held.error(
            f"{len(numeric)} columns of numbers; weights are one column.", "keep only the weights in this file"
        )
    rows = [first.before or first.rows] if len(files) == 1 else [_rows(file) for file in files]
    if held.rows != sum(rows):
        raise held.error(f"{held.rows:,} weights for {sum(rows):,} rows.", "one weight for each row of the data")
    starts = [sum(rows[:i]) for i in range(len(rows))]
    places = dict(zip((os.path.abspath(file) for file in files), starts, strict=True))
    values = None if is_parquet(path) else numbers_in(held.read(numeric)[1][numeric[0]])
    return WeightsFile(os.path.abspath(path), numeric[0], places, values)


def _rows(path: Path) -> int:
    if is_parquet(path):
        return parquet_rows(path)
    try:
        return table_of(path, ReadOptions()).rows
    except NoRows:
        return 0
