"""Files as tables: each kind by its ending or by its first bytes."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from . import arrays, limits, strings, text
from .options import ReadOptions
from .paths import TEXTS, extension
from .roles import CONFIDENCES, key_of
from .table import (
    BROKEN,
    ENTRIES,
    FEWEST,
    ROW,
    SLICE,
    SLICES,
    NoRows,
    Table,
    casts_of,
    filtered,
    narrow,
    of_frame,
    resample,
    some_rows,
    with_given,
)


def table_of(path: Path, reading: ReadOptions, shown: str | None = None) -> Table:
    """A file as a table; its kind is known by its ending, or by its first bytes."""
    shown = shown or path.name
    sys.audit("veracity.read", shown)
    if path.stat().st_size == 0:
        raise ValueError(f"{shown}: the file is empty\n  it needs a line of column names and at least one row")
    with path.open("rb") as file:
        magic = file.read(8)
    ending = extension(path)
    if ending in (".xlsx", ".xls", ".ods") or magic[:4] == b"\xd0\xcf\x11\xe0":
        raise ValueError(f"{shown}: Excel workbook: save the sheet as CSV (any delimiter) and try again")
    try:
        if magic[:2] == limits.GZIP or magic[:4] == limits.ZSTD:
            limits.require_modest_size(path, shown)
        if magic[:4] == b"PAR1" or ending in (".parquet", ".pq"):
            table = _columnar(pl.scan_parquet(path, glob=False), shown)
        elif magic[:6] == b"ARROW1":
            table = _columnar(pl.scan_ipc(path), shown)
        elif ending in (".arrow", ".feather", ".ipc"):
            table = of_frame(arrays.with_lists_as_columns(pl.read_ipc_stream(path).lazy()).collect(), shown, "file")
        elif ending in (".npz", ".npy") or magic[:6] == b"\x93NUMPY" or (magic[:2] == b"PK" and ending == ""):
            table = arrays.table_of_arrays(path, shown)
        elif magic[:2] == b"PK" and ending == ".eval":
            from . import logs

            table = logs.table_of_archive(path, shown)
        elif ending in (".jsonl", ".ndjson", ".json") or (ending not in TEXTS and text.first_byte(path) == b"{"):
            from . import jsonl

            table = jsonl.table_of(path, shown)
        elif magic[:2] == b"PK":
            raise ValueError(f"{shown}: a zip archive\n  unpack it, or save the sheet of a workbook as CSV")
        else:
            table = _text(path, shown, reading)
    except BROKEN as problem:
        raise ValueError(
            f"{shown}: damaged, cut short, or not what its name says\n"
            "  write it again, or give it the ending of its kind"
        ) from problem
    table.path = path
    if reading.label_file:
        table = arrays.with_labels(table, arrays.labels_of_file(reading.label_file, table, table_of))
    return with_numbers_in_text(filtered(table, reading))


def with_numbers_in_text(table: Table) -> Table:
    """Return a table whose texts that are percentages, decimal numbers or confidences in words are read as numbers."""
    kinds = {}
    for name in table.columns:
        values = table.sample[name]
        if values.dtype == pl.String and table.kinds.get(name, "text") == "text":
            kind = strings.kind_of(strings.bare(values.head(SLICE)), True) if not table.kinds else "text"
            if kind in ("number", "comma", "percent", "comma percent") and values.count():
                kinds[name] = kind
            elif "confidence" in key_of(name) or key_of(name) in CONFIDENCES:
                said = values.drop_nulls().head(SLICE)
                if said.len() and 2 * strings.spoken(said).count() >= said.len():
                    kinds[name] = strings.SPOKEN
    if not kinds:
        return table
    table.said = {name: table.sample[name] for name, kind in kinds.items() if kind == strings.SPOKEN}
    table.take_kinds(kinds)
    table.sample = table.typed(table.sample, table.first_row, None)
    return table


def is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def parquet_rows(path: Path) -> int:
    """Return the number of rows of a Parquet file, which its end tells."""
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())


def rows_of_parquet(path: Path, shown: str, first: int, rows: int | None, reading: ReadOptions) -> Table:
    """Return some rows of a Parquet file as a table without a sample; None: all from `first` on."""
    lazy, columns, converted = scanned(pl.scan_parquet(path, glob=False))
    whole = parquet_rows(path)
    table = Table(shown or path.name, "file", lazy, columns, whole, pl.DataFrame(), False, columnar=whole)
    table.converted = converted
    if reading.where:
        table.lazy, table.numbered = lazy.with_row_index(ROW, offset=table.first_row), True
    if rows is not None:
        table.rows, table.lazy = rows, table.lazy.slice(first, rows)
    if reading.where:
        narrow(table, reading)
    return table


def scanned(lazy: pl.LazyFrame) -> tuple[pl.LazyFrame, tuple[str, ...], frozenset[str]]:
    """Return the rows of a columnar file as they are read, its columns, and the columns that are converted."""
    lazy = arrays.with_lists_as_columns(lazy)
    casts, columns = casts_of(lazy), tuple(lazy.collect_schema().names())
    return with_given(lazy, casts).cast(casts), columns, frozenset(casts)


def _columnar(lazy: pl.LazyFrame, shown: str) -> Table:
    limits.require_few_columns(len(lazy.collect_schema()), shown)
    lazy, columns, converted = scanned(lazy)
    rows = int(lazy.select(pl.len()).collect().item())
    whole = rows <= SLICES * SLICE
    if whole:
        sample = some_rows(lazy, columns, 0, rows, rows)
    else:
        size = min(SLICE, max(FEWEST, ENTRIES // len(columns)))
        starts = [i * (rows - size) // (SLICES - 1) for i in range(SLICES)]
        sample = pl.concat([some_rows(lazy, columns, start, size, rows) for start in starts])
    if rows == 0:
        raise NoRows(f"{shown}: no rows\n  there is nothing to assess")
    return Table(shown, "file", lazy, columns, rows, sample, whole, columnar=rows, converted=converted)


def _text(path: Path, shown: str, reading: ReadOptions) -> Table:
    named = (reading.positive, *reading.order, *reading.versus_rest)
    plain = text.opened(path, shown, header=not reading.no_header, labels=[word for word in named if word])
    lazy = plain.lazy.with_row_index(ROW, offset=1)
    if plain.columns:
        lazy = lazy.filter(~pl.all_horizontal(pl.col(c).is_null() for c in plain.columns))
    whole, kinds = plain.whole is not None, plain.kinds
    converted = frozenset(name for name, kind in kinds.items() if kind != "text")
    lazy = lazy if whole else with_given(lazy, converted)  # in one scan, so that what is missing stays empty
    table = Table(
        *(shown, "file", lazy, plain.columns, 0, pl.DataFrame(), whole, plain.facts, kinds),
        numbered=True,
        keep=plain,
        empty=plain.empty,
        converted=frozenset() if whole else converted,
        written=plain.written if whole else None,
        same=plain.same,
    )
    resample(table)
    if table.rows == 0:
        raise NoRows(f"{shown}: no rows below the column names\n  there is nothing to assess")
    return table
