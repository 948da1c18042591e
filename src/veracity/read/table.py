"""A file or a frame as a table: columns, a sample for the rules, and batches of rows."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import polars as pl

from veracity.inputs import Names
from veracity.inputs.names import as_typed, listed
from veracity.records.layout import Format, Layout

from ..options import ReadOptions
from . import strings
from .column_meaning import IDS, key_of
from .paths import KNOWN, extension, stem
from .patterns import nearest
from .proposals import flag, quoted

if TYPE_CHECKING:
    from .ids import Pairing

BATCH, BATCH_ENTRIES = 1 << 20, 1 << 23  # rows of a batch at most, and values
SLICES, SLICE = 5, 10_000  # a long Parquet file is judged on five slices
FEWEST_TOGETHER, MOST_TOGETHER = 64, 256  # columns that are read at a time where there are more
TOGETHER, SLICE_BYTES = 1 << 26, 1 << 28  # their values in the whole file, which may be one row group; bytes of all
MANY_CASES = 30  # equal outcomes of fewer cases may be chance
ALL_ROWS = 1 << 31  # polars takes no longer slices
ROW = "\0row"  # the number of a row, where rows are left out before they are read
GIVEN = "\0given "  # before the name of a column that is converted: the same as in the file


BROKEN = (
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, BadZipFile, zlib.error),
    NotImplementedError,  # a kind of zip archive that Python cannot read
)


class NoRows(ValueError):
    """A file without rows: nothing to assess alone, nothing to add as a part."""


@dataclass
class Table:
    """One file or frame. `kinds` says what the strings of a text file are; numbers are made batch by batch."""

    name: str
    style: str
    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    rows: int
    sample: pl.DataFrame
    whole: bool
    format: Format = field(default_factory=Format)
    kinds: dict[str, str] = field(default_factory=dict)
    numbered: bool = False  # the lazy frame has a column ROW
    before: int = 0  # rows before --where left some out; 0: none were left out
    passed: int = 0  # rows of the file before the first one of the lazy frame
    keep: Any = None
    path: Path | None = None
    empty: tuple[str, ...] = ()  # columns of a text file without a value, which are not among the others
    header: tuple[str, ...] = ()  # all columns of a text file in order, also the empty ones
    same: Mapping[str, str] = field(default_factory=dict)  # columns that share a name with another, and that name
    said: Mapping[str, pl.Series] = field(default_factory=dict)  # confidences in words, as they are in the sample
    labels: str = ""  # the column of outcomes from a file of their own
    pairing: Pairing | None = None  # how they are paired with the rows
    nested: tuple[str, ...] = ()  # keys of JSON lines whose values are lists or objects: not read
    preset: Layout | None = None  # nested JSON is understood while it is flattened
    declared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # columns with an order of their categories
    columnar: int = 0  # rows of the file, where rows and columns can be read without the others
    written: Callable[[], pl.DataFrame] | None = None  # all rows of a short text, letter by letter
    converted: frozenset[str] = frozenset()  # columns that the lazy frame also has unconverted
    counted: bool = True  # False: `rows` are lines, of which some may hold nothing
    numeric: tuple[pl.LazyFrame, ...] = ()  # a lazy frame of text, and readings of it with numbers as numbers

    @property
    def first_row(self) -> int:
        return 1 if self.style == "file" else 0

    def names(self, **words: Any) -> Names:
        return Names(style=self.style, file=self.name if self.style == "file" else "", **words)

    def error(self, what: str, remedy: str = "") -> ValueError:
        return self.names().error(what, remedy)

    def column(self, name: str) -> str:
        """The column of this name, or an error that lists what there is."""
        if name in self.columns:
            return name
        if name in self.empty:
            raise self.error(f"column `{name}` is empty.", "fill it, or choose another column")
        raise self.error(f"no column `{name}`{nearest(name, self.columns)}   columns: {listed(self.columns, 12)}")

    def as_given(self, name: str) -> str:
        """Return the column of the lazy frame with the values as in the file."""
        return GIVEN + name if name in self.converted else name

    def with_letters(self, names: Iterable[str]) -> Table:
        """The same with these columns of a short text letter by letter, where they are asked for as they are given."""
        if self.written is None:
            return self
        frame, every = self.lazy.collect(), self.written()
        rows = every[frame[ROW].to_numpy() - self.first_row] if self.numbered else every.head(frame.height)
        kept = [name for name in names if name in every.columns]
        lazy = frame.with_columns(rows[name].alias(GIVEN + name) for name in kept).lazy()
        return replace(self, lazy=lazy, converted=frozenset(kept), written=None)

    def take_kinds(self, kinds: Mapping[str, str]) -> None:
        """Read the texts of these columns as numbers of a kind; they can still be had as in the file."""
        self.kinds = self.kinds | dict(kinds)
        if self.written is None:
            self.lazy = with_given(self.lazy, [name for name in kinds if name not in self.converted])
            self.converted = self.converted | frozenset(kinds)

    def companion(self, words: Collection[str], others: Collection[str] = ()) -> str | None:
        """The file in the same folder whose name lacks such a word: hpc_cv.csv for weights-hpc-cv.csv.

        others: words that it holds instead, such as true in y_true.npy for y_prob.npy.
        """

        def parted(path: Path, known: Collection[str]) -> tuple[set[str], str]:
            parts = "".join(c if c.isalnum() else " " for c in stem(path).lower()).split()
            return {*parts} & {*known}, " ".join(part for part in parts if part not in known)

        if self.path is None:
            return None
        own, rest = parted(self.path, words)
        for path in sorted(p for p in self.path.parent.iterdir() if p != self.path and extension(p) in KNOWN):
            markers, bare = parted(path, others or words)
            if bare == rest and (not others or markers - own):
                return os.path.join(os.path.dirname(as_typed(self.name)), path.name)
        return None

    @property
    def in_commands(self) -> str:
        """The file as commands name it."""
        return quoted(as_typed(self.name))

    def option(self, name: str, value: Any = True) -> str:
        return flag(self.names(), name, value)

    def batches(self, columns: Sequence[str], size: int | None = None) -> Iterator[tuple[int, Any, pl.DataFrame]]:
        """(number of the first row, numbers of all rows or None, the columns as numbers and text)."""
        wanted = list(dict.fromkeys(columns)) + ([ROW] if self.numbered else [])
        start = self.first_row + self.passed
        # memory is bounded by the values of a batch, however many columns there are
        size = size or min(BATCH, max(1 << 12, BATCH_ENTRIES // max(1, len(wanted))))
        if self.columnar and not self.numbered and len(wanted) > FEWEST_TOGETHER:
            frames = wide_batches(self.lazy, wanted, size, self.columnar)
        else:
            frames = self._frames(wanted, size)
        for raw in frames:
            numbers = raw[ROW].to_numpy() if self.numbered else None
            raw = raw.drop(ROW) if self.numbered else raw
            height = raw.height
            yield start, numbers, self.typed(raw, start, numbers)
            start += height
            del raw, numbers  # polars fills this memory again with the next batch

    def _frames(self, wanted: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """Yield numbers as polars reads them; from a value on that it refuses by the next reading, at last as text."""
        done = 0
        text, *numbers = self.numeric or (None,)
        if text is not self.lazy or any(c.startswith(GIVEN) for c in wanted):
            numbers = []
        for lazy in numbers:
            with suppress(pl.exceptions.PolarsError):
                for frame in lazy.slice(done).select(wanted).collect_batches(chunk_size=size, maintain_order=True):
                    done += frame.height
                    yield frame
                return
        yield from self.lazy.slice(done).select(wanted).collect_batches(chunk_size=size, maintain_order=True)

    def read(self, columns: Sequence[str]) -> tuple[Any, pl.DataFrame]:
        """All rows of some columns, and their numbers."""
        parts = list(self.batches(columns))
        if not parts:
            return None, pl.DataFrame(schema=dict.fromkeys(columns, pl.Float64))
        numbers = np.concatenate([n for _, n, _ in parts]) if parts[0][1] is not None else None
        return numbers, pl.concat([frame for _, _, frame in parts], how="vertical_relaxed")

    def typed(self, raw: pl.DataFrame, start: int, numbers: Any) -> pl.DataFrame:
        """Return strings as numbers where the column holds numbers."""
        if not self.kinds:
            return raw
        columns = []
        for column in raw:
            kind = self.kinds.get(column.name, "text")
            values = column if kind == "text" or column.dtype != pl.String else strings.parsed(column, kind)
            if kind == strings.SPOKEN:  # recognition tells which values state no confidence
                columns.append(values)
                continue
            if values.null_count() > column.null_count():
                column = strings.bare(column)
                values = strings.parsed(column, kind)
            if values.null_count() > column.null_count():
                index = int((values.is_null() & column.is_not_null()).arg_max() or 0)
                row = int(numbers[index]) if numbers is not None else start + index
                what = f"row {row}, `{column.name}` = {column[index]!r}: not a number."
                raise self.error(what, "correct the value, or leave it empty")
            columns.append(values)
        return pl.DataFrame(columns)


def some_rows(lazy: pl.LazyFrame, columns: Sequence[str], start: int, rows: int, of: int) -> pl.DataFrame:
    """Rows from `start` on of a file of `of` rows, some columns after others.

    A row group is decoded from all its bytes: of very many columns it would need its size twice at once.
    """
    step = min(max(TOGETHER // max(of, 1), FEWEST_TOGETHER), MOST_TOGETHER)
    groups = [columns[i : i + step] for i in range(0, len(columns), step)]
    return pl.concat([lazy.select(group).slice(start, rows).collect() for group in groups], how="horizontal")


def wide_batches(lazy: pl.LazyFrame, columns: Sequence[str], size: int, of: int) -> Iterator[pl.DataFrame]:
    """Frames of at most `size` rows of very many columns, however large the row groups of the file are."""
    kinds = lazy.select(columns).collect_schema().dtypes()
    rows = min(max(size, SLICE_BYTES // sum(4 if kind == pl.Float32 else 8 for kind in kinds)), ALL_ROWS)
    start, height = 0, rows
    while height == rows:
        frame = some_rows(lazy, columns, start, rows, of)
        start, height = start + rows, frame.height
        for i in range(0, height, size):
            yield frame.slice(i, size)
        del frame  # before the next is read


def same_columns(table: Table, columns: Sequence[str], first: str) -> None:
    """Parts of one set have the same columns; those of a text file that hold nothing there are given back to it."""
    empty = [c for c in columns if c in table.empty]
    nothing = [pl.lit(None, dtype=pl.Float64).alias(c) for c in empty]
    if empty:
        table.lazy, table.sample = table.lazy.with_columns(nothing), table.sample.with_columns(nothing)
        table.columns, table.empty = (*table.columns, *empty), ()
    if set(table.columns) != set(columns):
        only = [c for c in (*columns, *table.columns) if (c in columns) != (c in table.columns)]
        raise ValueError(
            f"{first} and {table.name} have different columns ({', '.join(only[:6])})\n"
            "  parts of one set have the same columns; several models:  veracity compare FILE FILE"
        )


def same_cases(first: Table, second: Table, layout: Layout) -> bool:
    """Whether two tables hold the same cases: the same ids or, row by row, the same outcomes and other columns."""
    a, b = first.sample, second.sample
    ids = [c for c in first.columns if key_of(c) in IDS and a[c].n_unique() == a.height and b[c].n_unique() == b.height]
    if ids:
        return bool(a[ids[0]].cast(pl.String).is_in(b[ids[0]].cast(pl.String).implode()).mean() == 1.0)
    if first.rows != second.rows or a.height < MANY_CASES:
        return False
    others = [c for c in first.columns if c not in layout.forecasts]
    varied = a[str(layout.outcome)].n_unique() > 1
    return varied and all(a[c].cast(pl.String).equals(b[c].cast(pl.String)) for c in others)


def of_frame(frame: pl.DataFrame, name: str, style: str, **more: Any) -> Table:
    more = {"declared": declared_in(frame)} | more
    frame = frame.cast(casts_of(frame))
    return Table(name, style, frame.lazy(), tuple(frame.columns), frame.height, frame, True, **more)


def declared_in(frame: Any) -> dict[str, tuple[str, ...]]:
    """Return the categories of the columns that declare their order."""
    kinds = frame.collect_schema().items()
    return {name: tuple(kind.categories.to_list()) for name, kind in kinds if isinstance(kind, pl.Enum)}


def casts_of(frame: Any) -> dict[Any, Any]:
    """What categories, dates, decimals and long integers are read as: text and floats."""
    kinds: dict[Any, Any] = {}
    for name, kind in frame.collect_schema().items():
        if isinstance(kind, pl.Duration):
            kinds[name] = pl.Int64
        elif isinstance(kind, (pl.Categorical, pl.Enum)) or kind.is_temporal():
            kinds[name] = pl.String
        elif isinstance(kind, (pl.Decimal, pl.Int128)):
            kinds[name] = pl.Float64
    return kinds


def with_given(lazy: pl.LazyFrame, converted: Iterable[str]) -> pl.LazyFrame:
    """Return the frame with the converted columns added to the original ones."""
    again = [pl.col(name).alias(GIVEN + name) for name in converted]
    return lazy.with_columns(again) if again else lazy


def resample(table: Table, rows: int | None = None, first: pl.LazyFrame | None = None) -> None:
    """The sample and number of rows of what is left in the table; `rows` and the `first` of them where known."""
    if table.whole:
        numbers, frame = table.read([*table.columns, *(GIVEN + name for name in table.converted)])
        table.sample, table.rows = frame.select(table.columns), frame.height
        if table.numbered and table.rows:
            # memory is at hand: hand out slices of what has been converted already
            dense = bool(numbers[0] == table.first_row and (np.diff(numbers) == 1).all())
            table.lazy = (frame if dense else frame.with_columns(pl.Series(ROW, numbers))).lazy()
            table.numbered = not dense
    else:
        head = (table.lazy if first is None else first).head(SLICES * SLICE).collect()
        numbers = head[ROW].to_numpy() if table.numbered else None
        table.sample = table.typed(head.select(table.columns), table.first_row, numbers)
        table.rows = int(table.lazy.select(pl.len()).collect().item()) if rows is None else rows


def filtered(table: Table, reading: ReadOptions) -> Table:
    """Only the rows that every --where condition holds for, with their own numbers."""
    if not reading.where:
        return table
    table.before = table.rows
    narrow(table, reading)
    resample(table)
    if table.rows == 0:
        what = f"no row has {' and '.join(reading.where)}."
        raise NoRows(str(table.error(what, "look at the values of the column")))
    return table


def narrow(table: Table, reading: ReadOptions) -> None:
    """Leave out of the lazy frame the rows for which a --where condition does not hold."""
    conditions = []
    for condition in reading.where:
        name, value = condition.split("=", 1)
        unequal, value = name.endswith("!"), value.strip()
        column = pl.col(table.column(name.removesuffix("!").strip()))
        same = column.cast(pl.String).str.strip_chars() == value
        with suppress(ValueError):
            same = same | (column.cast(pl.Float64, strict=False) == float(value))
        same = same.fill_null(value in strings.MISSING)  # a word for missing means the rows without a value
        conditions.append(~same if unequal else same)
    if not table.numbered:
        table.lazy, table.numbered = table.lazy.with_row_index(ROW, offset=table.first_row + table.passed), True
    table.lazy = table.lazy.filter(*conditions)


# -- columns copied unchanged from the input files to mapped output ---------------------------------------------------
# Only of texts beyond 16 MB, blanks around words and words for "missing" are lost.


@dataclass(frozen=True)
class Passthrough:
    """Columns copied unchanged from the input file to the mapped output, with the numbers of their rows."""

    frame: pl.DataFrame
    numbers: Any

    @staticmethod
    def types(tables: Sequence[Table], match: Layout, options: ReadOptions, *, every: bool) -> dict[str, Any]:
        """Return the columns to be copied with their types: text where files do not agree, or where all is missing.

        `every`: all columns of the files, not only those that are neither outcome nor forecast.
        """
        if not match.classes:
            return {}
        taken = {*match.forecasts, match.outcome, *match.outcomes, *match.roles.values(), options.weight, options.count}
        first, unwanted = tables[0], {tables[0].labels} if every else taken
        schemas = [table.lazy.collect_schema() for table in tables]
        types: dict[str, Any] = {}
        for name in (c for c in ((first.header if every else ()) or first.columns) if c not in unwanted):
            pairs = [(table, schema) for table, schema in zip(tables, schemas, strict=True) if name in table.columns]
            kinds = {schema[table.as_given(name)] for table, schema in pairs} - {pl.Null()}
            text = any(table.header for table in tables) or len(kinds) != 1
            types[name] = pl.String() if text else kinds.pop()
        return types

    @classmethod
    def of(cls, table: Table, frame: pl.DataFrame, start: int, numbers: Any, types: Mapping[str, Any]) -> Passthrough:
        """Return the columns of these types in a frame of a table."""
        columns = [
            _cast(table, frame[table.as_given(name)].alias(name), kind)
            if name in table.columns
            else pl.Series(name, [None] * frame.height, kind)
            for name, kind in types.items()
        ]
        plain = np.arange(start, start + frame.height)
        return cls(pl.DataFrame(columns), plain if numbers is None else np.asarray(numbers))

    def select(self, row_numbers: Any) -> pl.DataFrame:
        """Return these rows, in this order."""
        order = np.argsort(self.numbers, kind="stable")
        frame: pl.DataFrame = self.frame[order[np.searchsorted(self.numbers, row_numbers, sorter=order)]]
        return frame


def _cast(table: Table, column: pl.Series, kind: Any) -> pl.Series:
    """Return a column in the type of the first file, or raise if values would change."""
    if column.dtype == kind:
        return column
    with suppress(pl.exceptions.PolarsError):
        values = column.cast(kind)
        if values.cast(column.dtype).eq_missing(column).all():
            return values
    raise table.error(
        f"column `{column.name}` holds {column.dtype}, in the first file {kind}.", "give it one kind in all files"
    )
