"""Weights in a file of their own, paired with the data by position."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from .files import Table, table_of
from .options import ReadOptions
from .values import numbers_in


@dataclass(frozen=True)
class WeightsFile:
    """One weight for each row of all data files, in their order, read as they are needed."""

    path: str
    column: str
    starts: dict[str, int]  # number of rows in the files before each

    def before(self, path: str) -> int:
        return self.starts[os.path.abspath(path)]

    def __getitem__(self, rows: Any) -> Any:
        """Return the weights of rows by their place among all."""
        low, high = int(rows.min()), int(rows.max()) + 1
        held = pl.scan_parquet(self.path, glob=False).select(self.column).slice(low, high - low).collect()
        return numbers_in(held[self.column])[rows - low]


def weights_of(options: ReadOptions, tables: list[Table]) -> Any:
    """Return the weights of a file in memory; None where --weight is a column or not given."""
    if not options.weight or options.weight in tables[0].columns:
        return None
    held, column = _opened(options.weight, tables[0])
    total = sum(table.rows for table in tables)
    if not options.where and held.rows != total:
        raise held.error(f"{held.rows:,} weights for {total:,} rows.", "one weight for each row of the data")
    return numbers_in(held.read([column])[1][column])


def weights_file(name: str, files: Sequence[Path], first: Table) -> WeightsFile:
    """Return the weights of a Parquet file for data that are read in parts."""
    held, column = _opened(name, first)
    if not _is_parquet(Path(name)):
        raise held.error(
            "beside data that are read in parts, weights must be Parquet.", "write this column as a Parquet file"
        )
    if len(files) > 1 and not all(_is_parquet(file) for file in files):
        raise held.error(
            "weights of several files of text cannot be paired without reading them all.",
            "give the data as Parquet, or the weights as a column of them",
        )
    rows = [first.all_rows] if len(files) == 1 else [_rows(file) for file in files]
    if held.rows != sum(rows):
        raise held.error(f"{held.rows:,} weights for {sum(rows):,} rows.", "one weight for each row of the data")
    starts = {os.path.abspath(file): sum(rows[:i]) for i, file in enumerate(files)}
    return WeightsFile(os.path.abspath(name), column, starts)


def _opened(name: str, first: Table) -> tuple[Table, str]:
    """Return the table of a file of weights, and its one column of numbers."""
    path = Path(name)
    if not path.is_file():
        what = f"--weight {name}: neither a column nor a file." if first.style == "file" else f"no column `{name}`."
        raise first.error(what, f"columns: {', '.join(first.columns[:12])}")
    held = table_of(path, ReadOptions())
    numeric = [c for c in held.columns if held.sample[c].dtype.is_numeric()]
    if len(numeric) != 1:
        raise held.error(
            f"{len(numeric)} columns of numbers; weights are one column.", "keep only the weights in this file"
        )
    return held, numeric[0]


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _rows(path: Path) -> int:
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
