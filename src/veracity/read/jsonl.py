"""JSON lines: nested rows are flattened by the layout that knows them, flat ones are read by polars."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from . import layouts, text
from .files import Table, _columnar
from .tokens import Rows


def table_of(path: Path, shown: str) -> Table:
    """Return a JSON lines file as a table."""
    number, first = next(_rows(path, shown), (0, None))
    if first is None:
        raise ValueError(f"{shown}: the file is empty\n  it needs one JSON object per line")
    nested = [key for key, value in first.items() if isinstance(value, (list, dict))]
    for name, layout in layouts.by_precedence().items() if nested else ():
        flatten = getattr(layout, "flatten", None)
        table: Table | None = flatten(partial(_rows, path, shown), shown, first) if flatten else None
        if table is not None:
            table.preset = replace(table.preset, layout=name) if table.preset else None
            return table
    if number == 1 and path.stat().st_size < text.IN_MEMORY:
        for _ in _rows(path, shown):  # a line that is no JSON is named by its number
            pass
    if len(nested) == len(first):
        raise ValueError(
            f"{shown}: row {number} holds nothing but lists and objects ({', '.join(nested[:4])})\n"
            "  write one object per line for each case, with numbers and words"
        )
    table = _columnar(pl.scan_ndjson(path, infer_schema_length=None).drop(nested, strict=False), shown)
    table.nested = tuple(nested)
    return table


def _rows(path: Path, shown: str) -> Rows:
    number = 0
    for line in text.lines(path, "utf-8-sig", shown):
        if not line.strip():
            continue
        number += 1
        try:
            row = json.loads(line)
        except json.JSONDecodeError as problem:
            if line.lstrip()[:1] == "[":
                raise ValueError(f"{shown}: a JSON array\n  write one object per line (JSON lines)") from None
            raise ValueError(f"{shown}: row {number} is no JSON ({problem.msg})\n  one object per line") from None
        if not isinstance(row, dict):
            raise ValueError(f"{shown}: row {number} is no JSON object\n  write one object per line (JSON lines)")
        yield number, row
