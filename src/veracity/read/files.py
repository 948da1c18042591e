"""Files as tables: each kind by its ending or by its first bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from ..options import ReadOptions
from . import arrays, excel, limits, strings, text
from .build import numbers_in
from .column_meaning import OUTCOMES, key_of, named_confidence
from .ids import Pairing, by_ids, by_row, id_columns, shared_ids, together
from .paths import TEXTS, File, extension
from .proposals import Refusal
from .table import (
    BROKEN,
    SLICE,
    SLICES,
    NoRows,
    Table,
    casts_of,
    declared_in,
    filtered,
    narrow,
    of_frame,
    some_rows,
    with_given,
)

ENTRIES, FEWEST = 1_000_000, 1_000  # values, and rows, of a slice where there are many columns


def table_of(path: Path, reading: ReadOptions, shown: str | None = None) -> Table:
    """A file as a table; its kind is known by its ending, or by its first bytes."""
    shown = shown or path.name
    sys.audit("veracity.read", shown)
    if path.stat().st_size == 0:
        raise ValueError(f"{shown}: the file is empty\n  it needs a line of column names and at least one row")
    with path.open("rb") as file:
        magic = file.read(8)
    try:
        table = _table_of_kind(path, magic, reading, shown)
    except BROKEN as problem:
        raise ValueError(
            f"{shown}: damaged, cut short, or not what its name says\n"
            "  write it again, or give it the ending of its kind"
        ) from problem
    table.path = path
    if reading.label_file:
        table = _with_labels(table, _labels_of_file(reading.label_file, table), reading)
    return with_numbers_in_text(filtered(with_lists_in_text(table), reading))


def with_lists_in_text(table: Table) -> Table:
    """Return a table in which texts that are lists of numbers are one column for each number."""
    widths = {} if table.columnar else arrays.widths_of_written_lists(table.sample)
    if not widths:
        return table
    sample = arrays.with_written_lists(table.sample.lazy(), widths).collect()
    new = [name for name in sample.columns if name not in table.columns]
    table.lazy = arrays.with_written_lists(table.lazy, widths)
    table.columns, table.sample = tuple(sample.columns), sample.cast(dict.fromkeys(new, pl.Float64), strict=False)
    table.header = tuple(
        part
        for name in table.header
        for part in ([f"{name}_{i}" for i in range(widths[name])] if name in widths else [name])
    )
    table.format = replace(table.format, split=tuple(widths))
    table.take_kinds(dict.fromkeys(new, "number"))
    return table


def _table_of_kind(path: Path, magic: bytes, reading: ReadOptions, shown: str) -> Table:
    """Return a file as a table by its first bytes or its ending."""
    ending = extension(path)
    if ending in excel.ENDINGS or magic[:4] == b"\xd0\xcf\x11\xe0":
        return excel.table_of(path, shown, reading)
    if reading.sheet is not None:
        raise ValueError(f"{shown}: --sheet has no effect: this is no Excel workbook\n  leave it out")
    if magic[:2] == limits.GZIP or magic[:4] == limits.ZSTD:
        limits.require_modest_size(path, shown)
    if magic[:4] == b"PAR1" or ending in (".parquet", ".pq"):
        return _columnar(pl.scan_parquet(path, glob=False), shown)
    if magic[:6] == b"ARROW1":
        return _columnar(pl.scan_ipc(path), shown)
    if ending in (".arrow", ".feather", ".ipc"):
        return of_frame(arrays.with_lists_as_columns(pl.read_ipc_stream(path).lazy()).collect(), shown, "file")
    if ending in (".npz", ".npy") or magic[:6] == b"\x93NUMPY" or (magic[:2] == b"PK" and ending == ""):
        return arrays.table_of_arrays(path, shown)
    if magic[:2] == b"PK" and ending == ".eval":
        from . import logs

        return logs.table_of_archive(path, shown)
    if ending in (".jsonl", ".ndjson", ".json") or (ending not in TEXTS and text.first_byte(path) == b"{"):
        from . import jsonl

        return jsonl.table_of(path, shown, reading.label)
    if magic[:2] == b"PK":
        raise ValueError(f"{shown}: a zip archive\n  unpack it, or save the sheet of a workbook as CSV")
    return text.table_of(path, shown, reading)


def with_numbers_in_text(table: Table) -> Table:
    """Return a table whose texts that are percentages, decimal numbers or confidences in words are read as numbers."""
    kinds = {}
    for name in table.columns:
        values = table.sample[name]
        if values.dtype == pl.String and table.kinds.get(name, "text") == "text":
            kind = strings.kind_of(strings.bare(values.head(SLICE)), True) if not table.kinds else "text"
            if kind in ("number", "comma", "percent", "comma percent") and values.count():
                kinds[name] = kind
            elif named_confidence(name):
                texts = values.drop_nulls().head(SLICE)
                if texts.len() and 2 * strings.spoken(texts).count() >= texts.len():
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
    if rows is not None:
        table.rows, table.lazy, table.passed = rows, lazy.slice(first, rows), first
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
    declared = declared_in(lazy)
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
    known: dict[str, Any] = {"declared": declared, "columnar": rows, "converted": converted}
    return Table(shown, "file", lazy, columns, rows, sample, whole, **known)


# -- outcomes and weights in files of their own, paired with the rows by ids or by position ---------------------------


def _only_column(table: Table, possible: Sequence[str], what: str, role: str) -> str:
    if len(possible) == 1:
        return possible[0]
    raise table.error(f"{len(possible)} {what}; {role} are one column.", f"keep only the {role} in this file")


def _values(table: Table, columns: Iterable[str], reading: ReadOptions) -> list[str]:
    """Return the columns that may hold outcomes or weights: those that do not identify rows, if there are some."""
    apart = {*id_columns(table), *(c for c in table.columns if key_of(c) in {key_of(name) for name in reading.id})}
    return [c for c in columns if c not in apart] or list(columns)


def _labels_of_file(name: str, first: Table) -> Table:
    """Return the file of outcomes as a table; a single column needs no name."""
    path, bare = Path(name), ReadOptions(no_header=True)
    if not path.is_file():
        raise first.error(f"--label-file {name}: no such file.", "name the file that holds the outcomes")
    try:
        labels = table_of(path, ReadOptions())
    except Refusal:
        return table_of(path, bare)
    return table_of(path, bare) if labels.rows == first.rows - 1 and len(labels.columns) == 1 else labels


def _with_labels(table: Table, labels: Table, reading: ReadOptions) -> Table:
    """Return the table with the outcomes of another one, joined on ids or row by row."""
    possible = _values(labels, labels.columns, reading)
    named = [c for c in possible if key_of(c) in OUTCOMES]
    if reading.label in possible and reading.label not in table.columns:
        named = [str(reading.label)]
    chosen = _only_column(labels, named if len(named) == 1 else possible, "columns", "outcomes")
    on = shared_ids(table, labels, chosen, reading)
    if on:
        pairing = by_ids(table, labels, on, chosen, "outcome", reading)
    else:
        pairing = by_row(table, table.rows, labels, chosen, "outcome")
    name = chosen if chosen not in table.columns and not chosen.startswith("column ") else "label"
    if name in table.columns:
        raise table.error(f"a column `{name}`, and outcomes in {labels.name}.", "leave one of them out")
    outcomes = pairing.taken(labels.read([chosen])[1].to_series()).alias(name)
    lazy = pl.concat([table.lazy, outcomes.to_frame().lazy()], how="horizontal")
    if table.whole:
        sample = table.sample.with_columns(outcomes)
    else:
        sample = lazy.select(*table.columns, name).head(SLICES * SLICE).collect()
        sample = table.typed(sample, table.first_row, None)
    columns = (*table.columns, name)
    return replace(table, lazy=lazy, columns=columns, sample=sample, columnar=0, labels=name, pairing=pairing)


@dataclass(frozen=True)
class WeightsFile:
    """One weight for each row of all data files, in their order."""

    path: str
    column: str
    starts: dict[str, int]  # rows in the files before each
    values: Any = None  # of a file that cannot be entered in the middle, or in the order of the data

    def before(self, path: str) -> int:
        return self.starts[os.path.abspath(path)]

    def __getitem__(self, rows: Any) -> Any:
        """Return the weights of rows by their place among all."""
        if self.values is not None:
            return self.values[rows]
        low, high = int(rows.min()), int(rows.max()) + 1
        frame = pl.scan_parquet(self.path, glob=False).select(self.column).slice(low, high - low).collect()
        return numbers_in(frame[self.column])[rows - low]


def weights_file(name: str, files: Sequence[Path], first: Table, reading: ReadOptions) -> tuple[WeightsFile, Pairing]:
    """The weights of this name, joined on ids or as many as there are rows, and how they are paired."""
    path = Path(name)
    if not path.is_file():
        shown = ", ".join(first.columns[:12])
        raise first.error(f"--weight {name}: neither a column nor a file.", f"columns: {shown}")
    weights = table_of(path, ReadOptions())
    numeric = [c for c in weights.columns if weights.sample[c].dtype.is_numeric()]
    column = _only_column(weights, _values(weights, numeric, reading), "columns of numbers", "weights")
    on = shared_ids(first, weights, column, reading)
    if on:
        plain = replace(reading, where=(), label_file=None)  # the weights are those of all rows
        tables = [_rows_of(file, plain) for file in files]
        pairing = together([by_ids(table, weights, on, column, "weight", reading) for table in tables if table])
        rows = [table.rows if table else 0 for table in tables]
    else:
        rows = [first.before or first.rows] if len(files) == 1 else [_rows(file) for file in files]
        pairing = by_row(first, sum(rows), weights, column, "weight")
    starts = {os.path.abspath(file): sum(rows[:i]) for i, file in enumerate(files)}
    values = None if is_parquet(path) and not on else numbers_in(pairing.taken(weights.read([column])[1][column]))
    return WeightsFile(os.path.abspath(path), column, starts, values), pairing


def _rows(path: Path) -> int:
    if is_parquet(path):
        return parquet_rows(path)
    table = _rows_of(path, ReadOptions())
    return table.rows if table else 0


def _rows_of(path: Path, reading: ReadOptions) -> Table | None:
    """Return a file as a table; None where there is no row."""
    try:
        return table_of(path, reading)
    except NoRows:
        return None


def pairing_of(files: Sequence[File], first: Table, reading: ReadOptions, skip_broken: bool) -> Pairing | None:
    """Return how the outcomes of a file of their own are paired with the rows of all files; None: there is none."""
    if first.pairing is None or len(files) == 1:
        return first.pairing
    if first.pairing.rows is None:
        raise ValueError(
            f"--label-file holds the outcomes of one file; there are {len(files)}\n"
            "  give each file its own, put the outcomes into the files, or give both ids to join them on"
        )
    pairings = []
    for file in files:
        try:
            table = table_of(file.path, reading, file.name)
        except NoRows:
            continue
        except (ValueError, OSError):
            if not skip_broken:
                raise
        else:
            pairings += [table.pairing] if table.pairing is not None else []
    return together(pairings)
