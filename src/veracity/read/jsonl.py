"""JSON in lines, arrays and logs: nested rows are flattened by the layout that knows them, flat ones read by polars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from . import arrays, limits, logs, text
from .files import _columnar
from .nested_rows import Row, Rows, flat, flattened, frame_of, listed, loads, widths_of
from .table import Table, of_frame

WHOLE = 1 << 29  # bytes of a JSON document, which is read at once


def _is_document(path: Path, shown: str) -> bool:
    """Whether an object goes on over several lines, or is a log in one line."""
    first = next((line for line in text.lines(path, "utf-8-sig", shown) if line.strip()), "")
    if first.count("{") > first.count("}"):
        return True
    return '"samples"' in first and logs.is_inspect(loads(first, shown, "  one object per line"))


def table_of(path: Path, shown: str, label: str | None = None) -> Table:
    """Return a JSON lines file, or an array of objects, as a table; `label`: the outcome that is given."""
    if text.first_byte(path) == b"[":
        document = _document(path, shown)
        if logs.is_helm(document):
            return logs.table_of_stats(document, shown)
        return _of_array(document, shown, label)
    if _is_document(path, shown):
        return _of_document(_document(path, shown), shown, label)
    number, first = next(_lines(path, shown), (0, None))
    if first is None:
        raise ValueError(f"{shown}: the file is empty\n  it needs one JSON object per line")
    limits.require_few_columns(len(first), shown)
    nested = _nested(first)
    table = flattened(partial(_lines, path, shown), shown, first, label) if nested else None
    if table is not None:
        return table
    if (_held_in(first) or len(nested) == len(first)) and sum(1 for _ in _lines(path, shown)) == 1:
        whole = _by_rows(first, shown, label) or _by_columns(first, shown)
        if whole is not None:
            return whole
    small = number == 1 and path.stat().st_size < text.IN_MEMORY
    records = [row for _, row in _lines(path, shown)] if small else []  # a line that is no JSON is named by its number
    lazy = pl.scan_ndjson(path, infer_schema_length=None)
    try:
        schema = lazy.collect_schema()  # in any order: that of the first record is the file's
        if small:
            lazy = lazy.collect().lazy()
    except pl.exceptions.PolarsError:  # a mark of the encoding, ends of lines or numbers that only Python knows
        if not small:
            raise
        return _of_array(records, shown, label)
    nested = [name for name in nested if not arrays.becomes_columns(schema.get(name))]
    if len(nested) == len(first):
        raise _nothing_plain(nested, number, shown, "one object per line")
    names = [*(name for name in first if name in schema), *sorted(set(schema) - set(first))]
    table = _columnar(lazy.select(name for name in names if name not in nested), shown)
    table.nested = tuple(nested)
    return table


def _of_document(document: Any, shown: str, label: str | None) -> Table:
    """Return a log, or an object that holds rows or columns, as a table."""
    if logs.is_inspect(document):
        return logs.table_of_log(document, shown)
    table = _by_rows(document, shown, label) or _by_columns(document, shown)
    if table is None:
        raise ValueError(f"{shown}: a JSON document that is no log\n  write one object per line (JSON lines)")
    return table


def _held_in(document: Row) -> str | None:
    """Return the name of the only list in an object, of objects: {"predictions": [{…}, …]}; None where it is not so."""
    lists = [name for name, value in document.items() if isinstance(value, list) and value]
    return lists[0] if len(lists) == 1 and all(isinstance(row, dict) for row in document[lists[0]]) else None


def _by_rows(document: Row, shown: str, label: str | None) -> Table | None:
    """Return the rows in the only list of an object, as services of predictions wrap them; None where it is no such."""
    name = _held_in(document)
    if name is None:
        return None
    table = _of_array(document[name], f"{shown}, {name}", label)
    table.name, table.format = shown, replace(table.format, held_in=name)
    return table


def _nested(row: Row) -> list[str]:
    return [key for key, value in row.items() if isinstance(value, (list, dict))]


def _nothing_plain(nested: Sequence[str], number: int, shown: str, wanted: str) -> ValueError:
    return ValueError(
        f"{shown}: row {number} holds nothing but lists and objects ({', '.join(nested[:4])})\n"
        f"  write {wanted} for each case, with numbers and words"
    )


def _of_array(document: list[Any], shown: str, label: str | None = None) -> Table:
    """Return an array of objects as a table."""
    for number, row in enumerate(document, start=1):
        if not isinstance(row, dict):
            what = f"{shown}: entry {number} of the JSON array is no object"
            raise ValueError(f"{what}\n  write one object for each case")
    if not document:
        raise ValueError(f"{shown}: the file is empty\n  it needs at least one JSON object")
    first, rows = document[0], partial(enumerate, document, 1)
    table = flattened(rows, shown, first, label)
    if table is None:
        widths = widths_of(document)
        nested = [name for name in _nested(first) if name not in widths and not isinstance(first[name], dict)]
        if len(nested) == len(first):
            raise _nothing_plain(nested, 1, shown, "one object")
        table = of_frame(frame_of(flat(row) | listed(row, widths) for row in document), shown, "file")
        table.nested = tuple(nested)
    return table


def _lines(path: Path, shown: str) -> Rows:
    number = 0
    for line in text.lines(path, "utf-8-sig", shown):
        if not line.strip():
            continue
        number += 1
        row = loads(line, f"{shown}: row {number}", "  one object per line")
        if not isinstance(row, dict):
            raise ValueError(f"{shown}: row {number} is no JSON object\n  write one object per line (JSON lines)")
        yield number, row


def _document(path: Path, shown: str) -> Any:
    """Return a whole JSON document."""
    lines = []
    size = 0
    for line in text.lines(path, "utf-8-sig", shown):
        size += len(line)
        if size > WHOLE:
            raise ValueError(f"{shown}: a JSON document of more than {WHOLE >> 20} MB\n  write one object per line")
        lines.append(line)
    return loads("".join(lines), shown, "  write one object per line (JSON lines)")


def _by_columns(document: dict[str, Any], shown: str) -> Table | None:
    """Return a table that was written column by column, as pandas and MLflow do; None if it is something else."""
    columns = document
    if isinstance(document.get("columns"), list) and isinstance(document.get("data"), list):
        columns = dict(zip(document["columns"], zip(*document["data"], strict=False), strict=False))
    elif all(isinstance(value, dict) for value in document.values()):  # by the number of the row
        same = len({tuple(value) for value in document.values()}) == 1
        columns = {name: list(value.values()) for name, value in document.items()} if same else {}
    lengths = {len(value) if isinstance(value, (list, tuple)) else 0 for value in columns.values()}
    if len(lengths) != 1 or lengths <= {0, 1}:
        return None
    frame = pl.DataFrame({str(name): list(value) for name, value in columns.items()}, strict=False)
    return _columnar(frame.lazy(), shown)
