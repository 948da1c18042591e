"""Files and frames as a source: recognised once, then read in parts, each batch by batch.

Memory is bounded by a few batches, however many rows there are. A small file is a part with one batch.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl

from veracity.inputs import Forecasts, Names, check
from veracity.inputs.arguments import texts_of_times
from veracity.inputs.names import as_typed, first_line, many
from veracity.records.findings import Finding, merge
from veracity.records.findings_of_input import without_empty
from veracity.records.layout import Event, Layout

from ..options import ReadOptions
from .build import Builder
from .files import (
    WeightsFile,
    is_parquet,
    pairing_of,
    parquet_rows,
    rows_of_parquet,
    table_of,
    weights_file,
    with_lists_in_text,
    with_numbers_in_text,
)
from .frames import polars_frame
from .pairing import joined
from .paths import File, listed, stem
from .proposals import Refusal, quoted
from .recognition import attempt, recognise
from .table import BROKEN, NoRows, Passthrough, Table, filtered, narrow, of_frame, same_cases, same_columns
from .unlabelled import may_be_outcome

ENTRIES, MOST_ROWS, FEWEST_ROWS = 1 << 23, 1 << 20, 1 << 12  # of a batch
PART_BYTES = 1 << 28  # a larger Parquet file is cut, where parts go to different workers
EVERYTHING = 1 << 62  # rows of a batch that holds a whole part


class Unreadable(ValueError):
    """A part that is damaged or gone."""


@dataclass(frozen=True)
class Part:
    """A file, some rows of a Parquet file, or frames that follow one another."""

    path: str = ""
    first: int = 0  # rows passed over
    rows: int | None = None  # None: all that follow
    file: str = ""  # how messages name it
    frames: Iterable[Any] | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        shown = self.file or Path(self.path).name
        return shown if self.rows is None else f"{shown}, rows {self.first + 1:,} to {self.first + self.rows:,}"

    @property
    def size(self) -> int:
        """Bytes of the file; 0 for a part that is no file."""
        try:
            return Path(self.path).stat().st_size if self.path else 0
        except OSError:
            return 0


@dataclass(frozen=True)
class Batch:
    """Forecasts of all models in some rows of a part. `share`: how much of the part has been read, where known.

    `emptied` holds, by model, the findings about rows that were all left out.
    """

    forecasts: Sequence[Forecasts]
    rows: int
    share: float | None = None
    emptied: Iterable[tuple[str, tuple[Finding, ...]]] = ()
    passthrough: Passthrough | None = None
    unpaired: int = 0  # rows that not all of several models have


class Source:
    """Data with the layout that was recognised, in parts.

    A copy that travels to a worker reads the parts that it is given, and lists none.
    """

    def __init__(
        self,
        layout: Layout,
        options: ReadOptions,
        parts: Any,
        table: Table | None = None,
        weights: WeightsFile | None = None,
        keep: Any = None,
    ) -> None:
        self.layout, self.options, self.weights = layout, options, weights
        self.columns = table.columns if table else ()
        self.first = table.name if table else "the first part"
        self.kinds = dict(table.kinds) if table else {}
        self._parts, self._table, self._keep = parts, table, keep  # of a temporary file: it lives as long as this

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_parts": (), "_table": None, "_keep": None}

    def parts(self) -> Any:
        """Return the parts: of files a list of `Part`, of a distributed frame its partitions."""
        return self._parts

    @property
    def models(self) -> tuple[str, ...]:
        return self.layout.named_models

    def layout_of(self, model: str) -> Layout:
        return self.layout

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files where there are several, so that rows are named with their file."""
        return self.layout.files if len(self.layout.files) > 1 else ()

    @property
    def may_hold_outcomes(self) -> bool:
        """Return whether a column that is not used may be the outcome, as far as its values were seen."""
        if self._table is None or not self._table.whole:
            return bool(self.layout.unused)
        sample = self._table.sample
        return any(may_be_outcome(sample[name], self.layout.classes) for name, *_ in self.layout.unused)

    @property
    def in_place(self) -> bool:
        """Return whether mapped probabilities can take the place of the columns that hold the forecasts."""
        together = bool(self.options.versus_rest) and len(self.layout.forecasts) > 1
        return self.layout.holds_its_forecasts and not together

    @property
    def unread(self) -> tuple[str, ...]:
        """Return the keys of JSON lines that hold lists or objects, which no mapped row has."""
        return self._table.nested if self._table is not None else ()

    @cached_property
    def passthrough(self) -> dict[str, Any]:
        """Return the columns that mapped rows keep, with their kinds: text where files differ.

        Where forecasts are mapped in place these are all columns, else those that are neither outcome nor forecast.
        """
        assert self._table is not None
        tables = [self._table]
        for path in dict.fromkeys(Path(part.path) for part in self._parts if part.path):
            with suppress(*BROKEN):  # reading it will raise the error
                if path != self._table.path and is_parquet(path):
                    tables.append(rows_of_parquet(path, "", 0, None, ReadOptions()))
        return Passthrough.types(tables, self.layout, self.options, every=self.in_place)

    def batches(
        self, part: Part, skip: int = 0, *, rows: int | None = None, passthrough: Mapping[str, Any] | None = None
    ) -> Iterator[Batch]:
        """Yield the forecasts of a part after `skip` of its rows, at most `rows` at a time.

        `passthrough`: columns that are read as well, with their types.
        """
        if part.frames is not None:
            yield from self._of_frames(part, rows, passthrough)
            return
        sys.audit("veracity.read", part.name)
        try:
            before = _written(part.path)
            table = self._opened(part, skip)
            if table is not None:
                yield from self._of_table(table, skip, part.path, rows, passthrough)
            if _written(part.path) != before:
                raise Unreadable(f"{part.name}: changed while it was read\n  read it again when it is written")
        except ValueError as problem:
            if isinstance(problem.__cause__, BROKEN) or Path(part.path).stat().st_size == 0:
                raise Unreadable(str(problem)) from None
            raise
        except BROKEN as problem:
            raise Unreadable(f"{part.name}: cannot be read ({first_line(problem)})\n  is it complete?") from None

    def read(self) -> dict[str, Forecasts]:
        """Return all rows of each model, every value checked."""
        pieces: dict[str, list[Forecasts]] = {name: [] for name in self.layout.named_models}
        all_findings: dict[str, tuple[Finding, ...]] = dict.fromkeys(pieces, self.layout.findings)
        for part in self.parts():
            for batch in self.batches(part, rows=EVERYTHING):
                for forecasts in batch.forecasts:
                    pieces[forecasts.model or ""].append(forecasts)
                for model, findings in batch.emptied:
                    all_findings[model] = (*all_findings[model], *findings)
        if self.files:
            for forecasts in itertools.chain.from_iterable(pieces.values()):
                check(forecasts)  # a message names the file and its row
        by_model = {}
        for model, parts in pieces.items():
            if parts:
                whole = joined(parts, self.files)
                findings = without_empty(merge((*all_findings[model], *whole.findings)))
                by_model[model] = check(replace(whole, findings=findings))
        if not by_model:
            raise ValueError(f"{self.first}: no row is left.\n  look at missing values and at the model column")
        return by_model

    def _of_frames(self, part: Part, rows: int | None, passthrough: Mapping[str, Any] | None) -> Iterator[Batch]:
        start = 0
        for frame in part.frames or ():
            contents = polars_frame(frame)
            if contents.height:
                table = with_lists_in_text(of_frame(contents, part.file, "frame"))
                same_columns(table, self.columns, self.first)
                table.take_kinds(self.kinds)
                table.passed = start
                if self.options.where:
                    narrow(table, self.options)
                yield from self._of_table(table, 0, "", rows, passthrough)
                start += contents.height

    def _opened(self, part: Part, skip: int) -> Table | None:
        """Return the rows of a file after those to be passed over; None where there is no row."""
        path = Path(part.path)
        if is_parquet(path) and not self.options.label_file:
            table = rows_of_parquet(path, part.file, part.first, part.rows, self.options)
            table.take_kinds(self.kinds)
        elif self._table is not None and self._table.path == path:
            table = replace(self._table)
        else:
            try:
                table = table_of(path, self.options, part.file)
            except NoRows:
                return None
        same_columns(table, self.columns, self.first)
        table.passed = part.first + skip
        table.lazy = table.lazy.slice(skip) if skip else table.lazy
        return table

    def _of_table(
        self, table: Table, skip: int, path: str, rows: int | None, passthrough: Mapping[str, Any] | None
    ) -> Iterator[Batch]:
        before = self.weights.before(path) if self.weights is not None else 0
        kept = passthrough or {}
        table = table.with_letters(kept) if kept else table
        builder = Builder(
            table,
            self.layout,
            self.options,
            self.weights,
            before,
            passthrough=[name for name in kept if name in table.columns],
        )
        size = rows or min(MOST_ROWS, max(FEWEST_ROWS, ENTRIES // len(builder.columns)))
        # Findings about all rows hold for each batch.
        whole = len(self._parts) == 1 and table.rows <= size and not skip
        done = skip
        for start, numbers, frame in builder.frames(size):
            if frame.height:
                self._known_models(frame, table)
                done += frame.height
                others = Passthrough.of(table, frame, start, numbers, kept) if kept else None
                forecasts = tuple(builder.forecasts(frame, start, numbers, whole))
                share = min(1.0, done / table.rows) if table.rows else None
                yield Batch(forecasts, frame.height, share, passthrough=others)
        yield Batch((), 0, 1.0, builder.pending.items())

    def _known_models(self, frame: pl.DataFrame, table: Table) -> None:
        """Refuse a model that the first part did not have, and rows of no model: they would be lost."""
        column = self.layout.model_column
        if column is not None:
            if nameless := frame[column].null_count():
                raise table.error(
                    f"`{column}` names no model in {many(nameless, 'row')}.",
                    "name the model (NA, None, nan, . and - are read as no name), or leave these rows out:  "
                    f"{table.option('where', f'{column}!=')}",
                )
            models = frame[column].cast(pl.String).unique().drop_nulls().to_list()
            unknown = sorted(set(models) - set(self.layout.named_models))
            if unknown:
                raise table.error(
                    f"model `{unknown[0]}` in `{column}` is not in {self.first}.",
                    "put the files in an order in which the first holds every model",
                )


def _written(path: str) -> tuple[int, int]:
    """Return size and time of a file, which tell whether somebody writes to it."""
    now = Path(path).stat()
    return now.st_size, now.st_mtime_ns


def source_of_files(data: Any, options: ReadOptions, *, cut: int | None = None, skip_broken: bool = False) -> Source:
    """Return files as the parts of one set; `cut`: Parquet files of more bytes in several parts."""
    files = listed(data)
    try:
        table = _recognisable(files, options, skip_broken)
    except Refusal as refusal:
        raise refusal.settled(Names("file", file=files[0].name), options, partial(_attempt, files[0])) from None
    if table.labels and not options.label:
        options = replace(options, label=table.labels)
    by_file = options.weight and options.weight not in table.columns
    paths = [file.path for file in files]
    weights, by_weight = weights_file(options.weight or "", paths, table, options) if by_file else (None, None)
    layout = recognise(table, options, stem(Path(files[0].name)))
    for pairing in (pairing_of(files, table, options, skip_broken), by_weight):
        layout = pairing.joined_to(layout, options, table) if pairing else layout
    if len(files) > 1:
        _refuse_models(files, table, layout, options)
        meaning = layout.meaning
        if isinstance(meaning, Event):  # its counts are those of one file
            meaning = replace(meaning, count=None)
        names, rows = tuple(file.name for file in files), _rows(files)
        layout = replace(layout, files=names, rows=rows, class_counts=(), meaning=meaning)
    parts = [Part(str(file.path), file=file.name) for file in files]
    if cut is not None and not layout.undivided and not options.label_file:
        parts = [piece for part in parts for piece in _cut(part, cut)]
    return Source(layout, options, parts, table, weights, keep=files)


def _refuse_models(files: Sequence[File], first: Table, layout: Layout, options: ReadOptions) -> None:
    """Refuse two files that hold the same cases: parts of one set have different ones."""
    if options.model or layout.model_column or not layout.outcome or first.path == files[1].path:
        return
    try:
        second = table_of(files[1].path, options, files[1].name)
    except (ValueError, OSError):
        return  # reading it will raise the error
    if set(second.columns) == set(first.columns) and same_cases(first, second, layout):
        names = " ".join(quoted(as_typed(file.name)) for file in files[:2]) + (" …" if len(files) > 2 else "")
        raise ValueError(
            f"{files[0].name} and {files[1].name} hold the same cases: parts of one set, or models?\n"
            f"  as models:  veracity compare {names}      as parts, each case counted again:  --model none"
        )


def _attempt(file: File, options: ReadOptions) -> None:
    """Read the first rows of a file with these options; raises ValueError if that fails."""
    attempt(table_of(file.path, options, file.name), options, stem(Path(file.name)))


def source_of_frame(data: Any, options: ReadOptions, name: str = "frame", parts: Any = None) -> Source:
    """Return a frame as one part; or `parts` of a distributed frame of which `data` are some rows."""
    contents = getattr(data, "dtypes", {}) if options.time and type(data).__module__.startswith("pandas") else {}
    if hasattr(contents, "get") and str(contents.get(options.time)) == "object":  # polars would take zones away
        texts_of_times(list(data[options.time]), int, Names("frame"))
    frame = polars_frame(data)
    if frame.height == 0:
        raise ValueError(f"the {name} has no rows\n  there is nothing to assess")
    shown = name if parts is None else f"the {name}"
    table = with_numbers_in_text(filtered(with_lists_in_text(of_frame(frame, shown, "frame")), options))
    if options.weight:
        table.column(options.weight)
    layout = recognise(table, options, name)
    if parts is not None:  # the sample does not tell how many rows there are
        layout, table = replace(layout, rows=0, class_counts=()), replace(table, whole=False)
    contents = [Part(file=shown, frames=(frame,))] if parts is None else parts
    return Source(layout, options, contents, table)


def _recognisable(files: Sequence[File], options: ReadOptions, skip_broken: bool) -> Table:
    """Return the first file that has rows and, if there is one, a value in every column."""
    problem: ValueError | None = None
    best: Table | None = None
    for file in files:
        try:
            table = table_of(file.path, options, file.name)
        except NoRows as empty:
            problem = problem or empty
        except (ValueError, OSError) as broken:
            if not skip_broken:
                raise
            problem = broken if isinstance(broken, ValueError) else ValueError(f"{file.name}: {broken}")
        else:
            best = table if best is None or len(table.columns) > len(best.columns) else best
            if not table.empty:
                break
    if best is None:
        assert problem is not None
        raise problem
    return best


def _rows(files: Sequence[File]) -> int:
    """Return the rows of Parquet files, which their ends tell; 0 where only reading would tell."""
    try:
        return sum(parquet_rows(file.path) for file in files)
    except BROKEN:
        return 0


def _cut(whole: Part, most: int) -> list[Part]:
    """Return parts of about `most` bytes where a file can be entered in the middle."""
    if whole.size <= most or Path(whole.path).suffix.lower() not in (".parquet", ".pq"):
        return [whole]
    try:
        rows = parquet_rows(Path(whole.path))
    except BROKEN:
        return [whole]  # reading it will raise the error
    step = max(1, -(-rows * most // whole.size))
    return [replace(whole, first=first, rows=min(step, rows - first)) for first in range(0, rows, step)]
