"""Files and frames to forecasts: recognised, checked, in batches.

`recognise` says how the columns are understood, `batches` yields `Forecasts` that have been prepared but whose values
have not been looked at (the pass that counts them does that), `read` gives whole, checked forecasts by model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from ..data import Finding, Forecasts, check, merge, saying_something
from ..data.places import coded
from .build import Builder
from .files import Table, _filtered, expanded, names_of, of_frame, same_columns, stem, table_of
from .match import Match
from .options import ReadOptions
from .pairing import concatenated, paired
from .passthrough import Passthrough, passthrough_types
from .recognition import recognise as _recognise
from .weights import weights_of

__all__ = [
    "Match",
    "ReadOptions",
    "Source",
    "batches",
    "frame",
    "frame_of",
    "frame_source",
    "paired",
    "read",
    "recognise",
    "source",
]

Paths = Sequence[str | Path] | str | Path


class Source:
    """Files or a frame with the layout that was recognised: read once, iterated as often as wanted."""

    def __init__(self, tables: list[Table], layout: Match, reading: ReadOptions) -> None:
        self.tables, self.layout, self.reading = tables, layout, reading

    def batches(self, batch_rows: int | None = None) -> Iterator[Forecasts]:
        """Prepared, unchecked forecasts; several models take turns (`Forecasts.model`)."""
        reading = self.reading
        # Where rows may be left out, one part is held back: if nothing is left of the next, somebody has to say so.
        hold = reading.missing == "drop" or reading.soft == "omit" or bool(reading.weight or reading.count)
        held: dict[str | None, Forecasts] = {}
        pending: dict[str, tuple[Finding, ...]] = {}
        told: set[str | None] = set()
        for part in self._parts(batch_rows, pending):
            # what the layout says of the whole is said once for each model
            made = part if part.model in told else replace(part, findings=(*self.layout.findings, *part.findings))
            told.add(part.model)
            if part.model in held:
                yield held.pop(part.model)
            if hold:
                held[part.model] = made
            else:
                yield made
            del part, made
        for model, made in held.items():
            yield replace(made, findings=merge((*made.findings, *pending.get(model or "", ()))))

    def _parts(self, batch_rows: int | None, pending: dict[str, tuple[Finding, ...]]) -> Iterator[Forecasts]:
        weights, offset = weights_of(self.reading, self.tables), 0
        for table in self.tables:
            builder = Builder(table, self.layout, self.reading, weights, offset, pending)
            yield from builder.batches(batch_rows, alone=len(self.tables) == 1)
            offset += table.all_rows

    def beside(self, forecasts: Forecasts) -> pl.DataFrame:
        """The columns of the files that are neither outcome nor forecast, for each row of forecasts that were read."""
        kinds = passthrough_types(self.tables, self.layout, self.reading)
        held: list[Passthrough] = []
        for file, table in enumerate(table.with_letters(kinds) for table in self.tables):
            numbers, frame = table.read([table.as_given(name) for name in kinds])
            rows = Passthrough.of(table, frame, table.first_row, numbers, kinds)
            held.append(rows if len(self.tables) == 1 else replace(rows, numbers=coded(rows.numbers, file)))
        whole = Passthrough(pl.concat([rows.frame for rows in held]), np.concatenate([rows.numbers for rows in held]))
        return whole.select(forecasts.numbers)

    def read(self) -> dict[str, Forecasts]:
        """All rows of each model, every value checked."""
        parts: dict[str, list[Forecasts]] = {name: [] for name in self.layout.named_models}
        for part in self.batches(1 << 62):
            assert part.model is not None
            parts[part.model].append(part)
        files = [table.name for table in self.tables]
        if len(files) > 1:
            for part in (part for held in parts.values() for part in held):
                check(part)  # a message names the file and its row
        joined = {name: concatenated(held, files) for name, held in parts.items() if held}
        made = {name: check(replace(f, findings=saying_something(f.findings))) for name, f in joined.items()}
        if not made:
            raise self.tables[0].error("no row is left.", "look at missing values and at the model column")
        return made


def source(paths: Paths, reading: ReadOptions | None = None) -> Source:
    """Open files as parts of one set and recognise their layout."""
    reading = reading or ReadOptions()
    return source_of(opened(paths, reading), reading)


def opened(paths: Paths, reading: ReadOptions) -> list[Table]:
    """Files as the parts of one set."""
    files = expanded(paths)
    tables = [table_of(path, reading, name) for path, name in zip(files, names_of(files), strict=True)]
    first = max(tables, key=lambda table: len(table.columns))  # a column may be empty in one of them
    for table in tables:
        same_columns(table, first.columns, first.name)
    return tables


def source_of(tables: list[Table], reading: ReadOptions) -> Source:
    """The parts of one set with their layout, which is recognised here."""
    first = next((table for table in tables if not table.filled), tables[0])
    layout = _recognise(first, reading, stem(Path(tables[0].name)))
    if len(tables) > 1:
        note = re.sub(r" \([\d,]+ of [\d,]+\)$", "", layout.outcome_note)  # counts of the first file only
        rows = sum(t.rows for t in tables)
        layout = replace(layout, files=tuple(t.name for t in tables), rows=rows, class_counts=(), outcome_note=note)
    return Source(tables, layout, reading)


def recognise(paths: Paths, reading: ReadOptions | None = None) -> Match:
    """How the columns of these files are understood; `.describe()` is the block that is printed."""
    return source(paths, reading).layout


def batches(paths: Paths, reading: ReadOptions | None = None, *, batch_rows: int | None = None) -> Iterator[Forecasts]:
    """Forecasts of these files, batch by batch; memory is bounded by the batch."""
    return source(paths, reading).batches(batch_rows)


def read(paths: Paths, reading: ReadOptions | None = None) -> dict[str, Forecasts]:
    """Forecasts of these files by model, whole and checked."""
    return source(paths, reading).read()


def frame(data: Any, reading: ReadOptions | None = None) -> dict[str, Forecasts]:
    """Forecasts of a pandas, polars, pyarrow or duckdb frame by model."""
    return frame_source(data, reading).read()


def frame_source(data: Any, reading: ReadOptions | None = None) -> Source:
    """A frame with the layout that was recognised."""
    reading = reading or ReadOptions()
    try:
        native = nw.from_native(data)
    except TypeError:
        raise ValueError(
            f"a {type(data).__name__} is no frame\n"
            "  give outcomes and probabilities (y_true, y_proba), or a pandas, polars, pyarrow or duckdb frame"
        ) from None
    except nw.exceptions.DuplicateError:
        names = [str(c) for c in data.columns]
        twice = next((c for c in names if names.count(c) > 1), "the same name")
        raise ValueError(f"two columns of the frame are called `{twice}`\n  give every column its own name") from None
    eager = native.collect("polars") if isinstance(native, nw.LazyFrame) else native
    made: pl.DataFrame = eager.to_polars()
    if made.height == 0:
        raise ValueError("the frame has no rows\n  there is nothing to assess")
    table = _filtered(of_frame(made, "frame", "frame"), reading)
    return Source([table], _recognise(table, reading, "frame"), reading)


def frame_of(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Rows of a result as a polars frame."""
    return pl.DataFrame(list(rows), infer_schema_length=None)
