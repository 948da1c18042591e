"""Mapped rows as files: read, mapped and written batch by batch, in order, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from veracity.data import Forecasts
from veracity.data.types import Array
from veracity.data.whole_files import Unfinished
from veracity.read import Part, Source
from veracity.read.parts import Unreadable

if TYPE_CHECKING:
    from veracity.maps import Fitted

NUMBERED = {"weight": pl.Float64, "count": pl.Int64}


def mapped_rows(fitted: Fitted, forecasts: Forecasts) -> Array:
    """Return mapped rows in the file's order of classes; refuse values outside [0, 1]."""
    theirs, ours = [str(c) for c in forecasts.classes], [str(c) for c in fitted.classes]
    if theirs == ours:
        rows = fitted(forecasts.scores)
    elif sorted(theirs) == sorted(ours):
        order = [theirs.index(name) for name in ours]
        rows = fitted(forecasts.matrix[:, order])[:, [ours.index(name) for name in theirs]]
    else:
        raise ValueError(f"the map is for classes {', '.join(ours)}, the forecasts are for {', '.join(theirs)}")
    bad = (rows < 0.0) | (rows > 1.0)
    if bad.any():
        first = np.argwhere(bad)[0]
        many = max(int(bad.sum()), getattr(fitted, "outside", 0))  # of these rows, or of all it was fitted on
        raise forecasts.names.error(
            f"{many:,} values would leave [0, 1] (first: row {forecasts.row(int(first[0]))}, class "
            f"{forecasts.classes[first[1]]}, {rows[tuple(first)]:.6g}): no probabilities; nothing was written",
            "keep them inside:  adjust --rule log   or   calibrate fit --map multiplicative",
        )
    return rows


def frame(forecasts: Forecasts, rows: Array, numbered: Sequence[str]) -> pl.DataFrame:
    """Return outcome and mapped probabilities as columns that `veracity assess` reads."""
    names = np.asarray([str(c) for c in forecasts.classes])
    columns = [pl.Series("event", values.astype(str)) for name, values in forecasts.groups.items() if name == "event"]
    columns += [] if forecasts.outcomes is None else [pl.Series("label", names[forecasts.outcomes])]
    columns += [pl.Series(f"p_{name}", rows[:, j]) for j, name in enumerate(forecasts.classes)]
    for name in numbered:
        held = getattr(forecasts, f"{name}s")
        columns.append(pl.Series(name, np.ones(len(rows)) if held is None else held, NUMBERED[name], strict=False))
    return pl.DataFrame(columns)


def not_for_csv(kinds: Mapping[str, Any]) -> list[str]:
    """Return the columns that CSV cannot hold: lists, records and bytes."""
    return [name for name, kind in kinds.items() if kind.is_nested() or kind == pl.Binary or kind == pl.Object]


@dataclass(frozen=True)
class Mapped:
    """The rows of a source as a map changes them; `numbered`: the columns among weight and count that they have.

    The other columns of the files are copied, but for those whose names are taken.
    """

    source: Source
    fitted: Fitted
    classes: tuple[Any, ...]
    passthrough: Mapping[str, Any]  # columns that are copied, and their types
    skip_broken: bool
    numbered: tuple[str, ...]

    def frames(self, part: Part) -> Iterator[pl.DataFrame]:
        """Yield the mapped rows of a part; none if it is unreadable and such parts are skipped."""
        if self.skip_broken and not self._readable(part):
            return
        for batch in self.source.batches(part, passthrough=self.passthrough):
            for forecasts in batch.forecasts:
                rows = mapped_rows(self.fitted, forecasts)
                forecasts = forecasts if self.source.layout.labelled else replace(forecasts, outcomes=None)
                made = frame(forecasts, rows, self.numbered)
                if batch.passthrough is not None:  # a column with the name of a mapped one gives way
                    others = batch.passthrough.select(forecasts.numbers).drop(made.columns, strict=False)
                    made = pl.concat([others, made], how="horizontal")
                yield made

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
                for made in self.frames(part):
                    rows += made.height
                    yield made
                    if seen is not None:
                        seen(rows, number / len(parts))

        names = [f"p_{name}" for name in self.classes]
        layout = self.source.layout
        words = ["event"] * layout.stacked + ["label"] * layout.labelled
        schema: dict[str, Any] = dict.fromkeys(words, pl.String) | dict.fromkeys(names, pl.Float64)
        schema |= {name: NUMBERED[name] for name in self.numbered}
        kept = {name: kind for name, kind in self.passthrough.items() if name not in schema}
        lazy = register_io_source(frames, schema=kept | schema)
        if ending == ".parquet":
            lazy.sink_parquet(path, maintain_order=True)
        else:
            lazy.drop(not_for_csv(kept)).sink_csv(path, maintain_order=True)
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
