"""Mapped rows as files: read, mapped and written batch by batch, in order, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from veracity.calibrators import mapped_rows
from veracity.files.whole_files import Unfinished
from veracity.inputs import Forecasts
from veracity.read import Part, Source
from veracity.read.parts import Unreadable
from veracity.read.table import Passthrough
from veracity.types import Array

if TYPE_CHECKING:
    from veracity.calibrators import Fitted

NUMBERED = {"weight": pl.Float64, "count": pl.Int64}


def frame(forecasts: Forecasts, rows: Array, numbered: Sequence[str]) -> pl.DataFrame:
    """Return outcome and mapped probabilities as columns that `veracity assess` reads."""
    names = np.asarray([str(c) for c in forecasts.classes])
    columns = [pl.Series("event", values.astype(str)) for name, values in forecasts.groups.items() if name == "event"]
    columns += [] if forecasts.outcomes is None else [pl.Series("label", names[forecasts.outcomes])]
    columns += [pl.Series(f"p_{name}", rows[:, j]) for j, name in enumerate(forecasts.classes)]
    for name in numbered:
        column = getattr(forecasts, f"{name}s")
        columns.append(pl.Series(name, np.ones(len(rows)) if column is None else column, NUMBERED[name], strict=False))
    return pl.DataFrame(columns)


def not_for_csv(kinds: Mapping[str, Any]) -> list[str]:
    """Return the columns that CSV cannot hold: lists, records and bytes."""
    return [name for name, kind in kinds.items() if kind.is_nested() or kind == pl.Binary or kind == pl.Object]


def stated(p: Array, scale: str, columns: int, *, signed: bool) -> pl.Series:
    """Return probabilities as a column of forecasts states them; `signed`: as text with per cent signs."""
    if signed:
        return pl.Series(100.0 * p).cast(pl.String) + "%"
    with np.errstate(divide="ignore"):
        if scale in ("log", "logit"):
            p = np.log(p) - np.log1p(-p) if scale == "logit" and columns == 1 else np.log(p)
    return pl.Series(100.0 * p if scale == "percent" else p)


@dataclass(frozen=True)
class Mapped:
    """The rows of a source as a map changes them.

    In place where each row of the files holds one forecast: every column stays where it is, and mapped probabilities
    replace the forecasts, or stand beside them in columns whose names end in `suffix`. Otherwise outcome and
    probabilities are new columns, with those `numbered` among weight and count that the rows have, and the other
    columns of the files are copied, but for those whose names are taken.
    """

    source: Source
    fitted: Fitted
    classes: tuple[Any, ...]
    passthrough: Mapping[str, Any]  # columns that are copied, and their types
    skip_broken: bool
    numbered: tuple[str, ...]
    suffix: str = ""

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Return the columns that are written, in order, and their types."""
        if self.source.in_place:
            return self._schema_in_place()
        layout = self.source.layout
        mapped: dict[str, Any] = dict.fromkeys(["event"] * layout.stacked + ["label"] * layout.labelled, pl.String)
        mapped |= dict.fromkeys([f"p_{name}" for name in self.classes], pl.Float64)
        mapped |= {name: NUMBERED[name] for name in self.numbered}
        return {name: kind for name, kind in self.passthrough.items() if name not in mapped} | mapped

    def _schema_in_place(self) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for name, kind in self.passthrough.items():
            if name in self.copied:
                columns[name] = kind
            if name in self.source.layout.forecasts:
                columns[name + self.suffix] = pl.String if self._signed(name) else pl.Float64
        return columns

    @cached_property
    def copied(self) -> dict[str, Any]:
        """Return the columns of the files that are read to be copied, and their types."""
        replaced = self.source.layout.forecasts if self.source.in_place and not self.suffix else ()
        return {name: kind for name, kind in self.passthrough.items() if name not in replaced}

    def _signed(self, name: str) -> bool:
        return "percent" in self.source.kinds.get(name, "")

    def _in_place(self, others: Passthrough | None, forecasts: Forecasts, rows: Array) -> pl.DataFrame:
        """Return the rows of the file, each once, with the mapped probabilities in their columns."""
        numbers, first = np.unique(forecasts.numbers, return_index=True)  # a case may be shared between outcomes
        columns, layout = self.source.layout.forecasts, self.source.layout
        scale = self.source.options.scale or layout.scale
        mapped = [
            stated(rows[first, j], scale, len(columns), signed=self._signed(name)).alias(name + self.suffix)
            for j, name in enumerate(columns, 1 if len(columns) < rows.shape[1] else 0)
        ]
        beside = pl.DataFrame(mapped)  # a frame without columns has no rows to put them beside
        if others is not None and self.copied:
            beside = others.select(numbers).with_columns(mapped)
        return beside.select(list(self.schema))

    def frames(self, part: Part) -> Iterator[pl.DataFrame]:
        """Yield the mapped rows of a part; none if it is unreadable and such parts are skipped."""
        if self.skip_broken and not self._readable(part):
            return
        for batch in self.source.batches(part, passthrough=self.copied):
            for forecasts in batch.forecasts:
                rows = mapped_rows(self.fitted, forecasts)
                if self.source.in_place:
                    yield self._in_place(batch.passthrough, forecasts, rows)
                    continue
                forecasts = forecasts if self.source.layout.labelled else replace(forecasts, outcomes=None)
                mapped = frame(forecasts, rows, self.numbered)
                if batch.passthrough is not None:  # a column with the name of a mapped one gives way
                    others = batch.passthrough.select(forecasts.numbers).drop(mapped.columns, strict=False)
                    mapped = pl.concat([others, mapped], how="horizontal")
                yield mapped

    def _readable(self, part: Part) -> bool:
        try:
            for _ in self.source.batches(part):
                pass
        except Unreadable:
            return False
        return True

    def written(
        self, parts: Sequence[Part], path: Path, ending: str, seen: Callable[[int, float], None] | None = None
    ) -> int:
        """Write the rows of these parts into one file, CSV or Parquet; return their number."""
        rows = 0

        def frames(*_: Any) -> Iterator[pl.DataFrame]:
            nonlocal rows
            for number, part in enumerate(parts, 1):
                for mapped in self.frames(part):
                    rows += mapped.height
                    yield mapped
                    if seen is not None:
                        seen(rows, number / len(parts))

        lazy = register_io_source(frames, schema=self.schema)
        if ending == ".parquet":
            lazy.sink_parquet(path, maintain_order=True)
        else:
            lazy.drop(not_for_csv(self.schema)).sink_csv(path, maintain_order=True)
        return rows


class RowsWritten:
    """The number of rows in the file of each part, which workers return instead of a sum."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}

    def merge(self, state: bytes) -> None:
        self.rows |= json.loads(state)

    def state(self) -> bytes:
        return json.dumps(self.rows).encode()


@dataclass(frozen=True)
class WriteJob:
    """A job that writes a file for each part where the part is read; a repeated part replaces its file."""

    mapped: Mapped
    folder: str

    make = RowsWritten

    def write(self, part: Part, number: int) -> bytes:
        if not Path(self.folder).is_dir():
            raise ValueError(
                f"{self.folder}: no such folder on the machine that read {part.name}\n"
                "  workers write into the folder themselves: give one that all of them share"
            )
        name = f"part-{number:05}.parquet"
        with Unfinished(Path(self.folder, name)) as unfinished:
            rows = self.mapped.written([part], unfinished.path, ".parquet")
            unfinished.finish()
        return json.dumps({name: rows}).encode()
