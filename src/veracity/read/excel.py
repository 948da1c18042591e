"""A sheet of an Excel workbook as a table: `pip install 'veracity[excel]'`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from ..extras import extras
from ..options import ReadOptions
from .patterns import nearest
from .table import Table, of_frame

ENDINGS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def table_of(path: Path, shown: str, reading: ReadOptions) -> Table:
    """Return the only sheet, or the one that the options name."""
    with extras():
        import fastexcel
    try:
        names = list(fastexcel.read_excel(path).sheet_names)
        sheet = _chosen(names, reading.sheet, shown)
        how: Any = {"engine": "calamine", "has_header": not reading.no_header, "raise_if_empty": False}
        frame = pl.read_excel(path, sheet_name=sheet, **how)
    except fastexcel.FastExcelError as problem:
        raise ValueError(
            f"{shown}: damaged, cut short, encrypted, or no workbook\n  save it again, or its sheet as CSV"
        ) from problem
    if reading.no_header:
        frame.columns = [f"column {j}" for j in range(1, frame.width + 1)]
    elif frame.width and all(_is_number(name) for name in frame.columns):
        raise ValueError(
            f"{shown}, sheet {sheet}: the first row holds numbers, not the names of columns\n"
            "  name the columns there, or if it is a row like the others:  --no-header --label 'column 1'"
        )
    if not frame.height:
        raise ValueError(f"{shown}, sheet {sheet}: no rows\n  it needs a line of column names and at least one row")
    return of_frame(frame, shown, "file")


def _chosen(names: list[str], wanted: str | None, shown: str) -> str:
    if wanted is not None and wanted not in names:
        listed = ", ".join(names)
        raise ValueError(f"{shown}: no sheet `{wanted}`{nearest(wanted, names)}\n  there are: {listed}")
    if wanted is None and len(names) > 1:
        raise ValueError(f"{shown}: {len(names)} sheets: {', '.join(names)}\n  choose one:  --sheet '{names[0]}'")
    return names[0] if wanted is None else wanted


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
