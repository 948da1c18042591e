"""Input that is never in memory as a whole: parts, each read batch by batch by whoever counts it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from ..data import Finding, Forecasts
from .build import Builder
from .files import (
    ROW,
    NoRows,
    Table,
    _filtered,
    expanded,
    names_of,
    narrow,
    of_frame,
    same_columns,
    scanned,
    stem,
    table_of,
)
from .match import Match
from .options import ReadOptions
from .passthrough import Passthrough, passthrough_types
from .recognition import recognise
from .weights import WeightsFile, weights_file

ENTRIES, MOST_ROWS, FEWEST_ROWS = 1 << 23, 1 << 20, 1 << 12  # of a batch
CHUNK = 1 << 15  # rows in a piece of memory from which it is worth its own forecasts
PART_BYTES = 1 << 28  # a larger Parquet file is cut, where parts go to different workers
BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError)


class Unreadable(ValueError):
    """A part that is damaged or gone."""


@dataclass(frozen=True)
class Part:
    """A file, or some rows of a Parquet file."""

    path: str
    first: int = 0  # rows passed over
    rows: int | None = None  # None: all that follow
    file: str = ""  # what messages call the file

    @property
    def name(self) -> str:
        shown = self.file or Path(self.path).name
        return shown if self.rows is None else f"{shown}, rows {self.first + 1:,} to {self.first + self.rows:,}"


@dataclass(frozen=True)
class Batch:
    """Forecasts of all models in some rows of the input. `share`: how much of the part has been read, where known.

    The forecasts come first, then what there is to tell: by model, about rows of which none is left.
    """

    forecasts: Iterable[Forecasts]
    rows: int
    share: float | None = None
    told: Iterable[tuple[str, tuple[Finding, ...]]] = ()
    beside: Passthrough | None = None


@dataclass(frozen=True)
class Pieces:
    """Forecasts of a frame piece by piece, made by whoever counts them: a reader who is not kept from reading."""

    builder: Builder
    start: int
    frames: Sequence[tuple[int, pl.DataFrame]]

    def __iter__(self) -> Iterator[Forecasts]:
        for offset, frame in self.frames:
            yield from self.builder.forecasts(frame, self.start + offset, None, whole=False)


@dataclass(frozen=True)
class Stream:
    """How parts are understood: by the layout that was recognised in the first."""

    layout: Match
    reading: ReadOptions
    columns: tuple[str, ...]
    first: str
    weights: WeightsFile | None = None
    beside: dict[str, Any] = field(default_factory=dict)  # kinds of the columns beside the forecasts

    def batches(self, part: Part, skip: int = 0, *, beside: bool = False) -> Iterator[Batch]:
        """Forecasts of a part after `skip` of its rows, with the columns beside them or without."""
        try:
            table = self._opened(part, skip)
            if table is not None:
                yield from self._of_table(table, skip, part.path, self.beside if beside else None)
        except ValueError as problem:
            if isinstance(problem.__cause__, BROKEN) or Path(part.path).stat().st_size == 0:
                raise Unreadable(str(problem)) from None
            raise
        except BROKEN as problem:
            lines = str(problem).splitlines() or [type(problem).__name__]
            raise Unreadable(f"{part.name}: cannot be read ({lines[0]})\n  is it complete?") from None

    def of_frames(self, frames: Iterable[Any], name: str) -> Iterator[Batch]:
        """Forecasts of frames of any kind, one after another: a partition of a distributed frame."""
        start = 0
        for frame in frames:
            made: pl.DataFrame = frame if isinstance(frame, pl.DataFrame) else nw.from_native(frame).to_polars()
            if made.height:
                table = of_frame(made, name, "frame")
                same_columns(table, self.columns, self.first)
                if self.reading.where:
                    narrow(table, self.reading)
                for batch in self._of_table(table):
                    shifted = (replace(f, first_row=f.first_row + start) for f in batch.forecasts)
                    yield Batch(tuple(shifted), batch.rows, told=batch.told)
                start += made.height

    def _opened(self, part: Part, skip: int) -> Table | None:
        path = Path(part.path)
        with path.open("rb") as file:
            columnar = file.read(4) == b"PAR1"
        if columnar:
            lazy, columns, converted = scanned(pl.scan_parquet(path, glob=False))
            rows = int(lazy.select(pl.len()).collect().item())
            table = Table(part.file or path.name, "file", lazy, columns, rows, pl.DataFrame(), False, columnar=rows)
            table.converted = converted
            if self.reading.where:
                table.lazy, table.numbered = lazy.with_row_index(ROW, offset=table.first_row), True
            if part.rows is not None:
                table.rows, table.lazy = part.rows, table.lazy.slice(part.first, part.rows)
            if self.reading.where:
                narrow(table, self.reading)
        else:
            try:
                table = table_of(path, self.reading, part.file)
            except NoRows:
                return None
        same_columns(table, self.columns, self.first)
        table.passed = part.first + skip
        table.lazy = table.lazy.slice(skip) if skip else table.lazy
        return table

    def _of_table(
        self, table: Table, skip: int = 0, path: str = "", kept: Mapping[str, Any] | None = None
    ) -> Iterator[Batch]:
        before = self.weights.before(path) if self.weights is not None else 0
        table = table.with_letters(kept) if kept else table
        builder = Builder(table, self.layout, self.reading, self.weights, before, passthrough=tuple(kept or ()))
        size = min(MOST_ROWS, max(FEWEST_ROWS, ENTRIES // len(builder.columns)))
        done = skip
        entire = self.layout.undivided  # a batch holds several rows of one case
        for start, numbers, frame in builder.frames(size):
            if frame.height:
                self._known_models(frame, table)
                done += frame.height
                beside = Passthrough.of(table, frame, start, numbers, kept) if kept else None
                made: Iterable[Forecasts]
                if not entire and numbers is None and (pieces := _pieces(frame)):
                    made = Pieces(builder, start, pieces)
                else:
                    made = tuple(builder.forecasts(frame, start, numbers, whole=False))
                share = min(1.0, done / table.rows) if table.rows else None
                yield Batch(made, frame.height, share, beside=beside)
        yield Batch((), 0, 1.0, builder.pending.items())

    def _known_models(self, frame: pl.DataFrame, table: Table) -> None:
        """A model that the first part did not have would be lost."""
        column = self.layout.model_column
        if column is not None:
            found = frame[column].cast(pl.String).unique().drop_nulls().to_list()
            unknown = sorted(set(found) - set(self.layout.named_models))
            if unknown:
                raise table.error(
                    f"model `{unknown[0]}` in `{column}` is not in {self.first}.",
                    "put the files in an order in which the first holds every model",
                )


def _pieces(frame: pl.DataFrame) -> list[tuple[int, pl.DataFrame]]:
    """A frame of numbers in pieces whose columns lie in one piece of memory each, so that arrays of them need no copy.

    None where to make one piece of many small ones costs less, or where something might be wrong with the values.
    """
    lengths = frame.to_series(0).chunk_lengths()
    if len(lengths) * CHUNK > frame.height:
        return []
    for column in frame:
        if column.chunk_lengths() != lengths or not column.dtype.is_numeric() or column.null_count():
            return []
    starts = itertools.accumulate(lengths, initial=0)
    return [(start, frame.slice(start, length)) for start, length in zip(starts, lengths, strict=False) if length]


def opened(
    paths: Sequence[str | Path] | str | Path, reading: ReadOptions, *, cut: int | None = None, skip_broken: bool = False
) -> tuple[Stream, list[Part]]:
    """Parts of files, and how they are read; `cut`: Parquet files of more bytes in several parts."""
    files = expanded(paths)
    if Path("-") in files:
        raise ValueError("standard input cannot be read in parts\n  write it to a file first")
    whole = [Part(str(path), file=name) for path, name in zip(files, names_of(files), strict=True)]
    stream = _recognised(files, reading, skip_broken)
    if cut is None or stream.layout.undivided:
        return stream, whole
    return stream, [piece for part in whole for piece in _cut(part, cut)]


def _recognised(files: Sequence[Path], reading: ReadOptions, skip_broken: bool) -> Stream:
    """The layout of the first file that has rows."""
    problem: ValueError | None = None
    names = names_of(files)
    for path, name in zip(files, names, strict=True):
        try:
            table = table_of(path, reading, name)
        except NoRows as empty:
            problem = problem or empty
        except (ValueError, OSError) as broken:
            if not skip_broken:
                raise
            problem = broken if isinstance(broken, ValueError) else ValueError(f"{path.name}: {broken}")
        else:
            file = reading.weight if reading.weight and reading.weight not in table.columns else None
            weights = weights_file(file, files, table) if file else None
            layout = recognise(table, reading, stem(path))
            if len(files) > 1:
                layout = replace(layout, files=tuple(names), rows=_rows(files), class_counts=())
            beside = passthrough_types([table], layout, reading)
            return Stream(layout, reading, table.columns, table.name, weights, beside)
    assert problem is not None
    raise problem


def _rows(files: Sequence[Path]) -> int:
    """Rows of Parquet files, from their ends; 0 where only reading would tell."""
    try:
        return sum(int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item()) for path in files)
    except BROKEN:
        return 0


def of_sample(frame: Any, reading: ReadOptions, name: str) -> Stream:
    """How the partitions of a distributed frame are read, from some of its rows."""
    made: pl.DataFrame = frame if isinstance(frame, pl.DataFrame) else nw.from_native(frame).to_polars()
    if made.height == 0:
        raise ValueError(f"{name} has no rows\n  there is nothing to assess")
    table = _filtered(of_frame(made, name, "frame"), reading)
    if reading.weight:
        table.column(reading.weight)
    return Stream(recognise(table, reading, name), reading, table.columns, name)


def _cut(whole: Part, most: int) -> list[Part]:
    """Parts of about `most` bytes where a file can be entered in the middle."""
    path = Path(whole.path)
    size = path.stat().st_size
    if size <= most or path.suffix.lower() not in (".parquet", ".pq"):
        return [whole]
    try:
        rows = int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
    except BROKEN:
        return [whole]  # whoever reads it will say so
    step = max(1, -(-rows * most // size))
    return [replace(whole, first=first, rows=min(step, rows - first)) for first in range(0, rows, step)]
