"""Nested rows, such as those of JSON, on their way to a table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from . import layouts
from .match import Match
from .paths import Scratch
from .table import ROW, SLICE, SLICES, Table

Row = dict[str, Any]
Rows = Iterator[tuple[int, Row]]  # numbered from 1

CHUNK = 20_000  # flattened rows that are held at once
LONGEST = 200  # letters of a nested text that becomes a column, such as a subject; questions are longer


def flattened(rows: Callable[[], Rows], shown: str, first: Row) -> Table | None:
    """Return nested rows as the table of the layout that knows them; None if none does."""
    for name, layout in layouts.by_precedence().items():
        flatten = getattr(layout, "flatten", None)
        table: Table | None = flatten(rows, shown, first) if flatten else None
        if table is not None:
            table.preset = replace(table.preset, layout=name) if table.preset else None
            return table
    return None


def loads(written: str | bytes, where: str, remedy: str) -> Any:
    """Return the value of a JSON text, or raise with the place."""
    try:
        return json.loads(written)
    except json.JSONDecodeError as problem:
        raise ValueError(f"{where} is no JSON ({problem.msg})\n{remedy}") from None
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply\n  a row holds numbers, words and short lists") from None


class Spool:
    """Flattened rows on their way to a table: some in memory, the others in files that live as long as the table."""

    def __init__(self) -> None:
        self.rows = 0
        self._held: list[Row] = []
        self._files: list[Scratch] = []

    def add(self, row: Row) -> None:
        self._held.append(row)
        self.rows += 1
        if len(self._held) == CHUNK:
            self._files.append(Scratch(".parquet"))
            frame_of(self._held).write_parquet(self._files[-1].path)
            self._held = []

    def table(self, shown: str, preset: Match, numbered: bool = False) -> Table:
        """Return all rows as a table; numbered: a column ROW tells the row of the file."""
        last = frame_of(self._held) if self._held or not self._files else None
        frames = [pl.scan_parquet(file.path) for file in self._files] + ([last.lazy()] if last is not None else [])
        lazy = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")
        whole = self.rows <= SLICES * SLICE
        sample = lazy.collect() if whole else lazy.head(SLICES * SLICE).collect()
        columns = tuple(name for name in sample.columns if name != ROW)
        lazy = sample.lazy() if whole else lazy
        made = Table(shown, "file", lazy, columns, self.rows, sample.select(columns), whole, numbered=numbered)
        made.preset, made.keep = preset, self._files
        return made


def log_of(value: Any) -> float | None:
    """Return the log-probability in a value, however wrapped: -1.2, "-1.2", [[-1.2, false]], {"logprob": -1.2}."""
    while isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("logprob")
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str) and re.fullmatch(r"-?(\d+(\.\d*)?([eE][+-]?\d+)?|inf)", value.strip()):
        return float(value)
    return None


def flat(row: Row) -> Row:
    """Return the entries of a row that a table can hold, and those of the objects in it: doc.subject."""
    made = {name: value for name, value in row.items() if not isinstance(value, (list, dict))}
    for name, value in row.items():
        if isinstance(value, dict):
            made |= {f"{name}.{key}": held for key, held in value.items() if _is_short(held)}
    return made


def _is_short(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, str) and len(value) <= LONGEST)


def frame_of(rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows as a frame; where one name holds values of several types, all of them as text."""
    rows = list(rows)
    kinds: dict[str, set[type]] = {}
    for row in rows:
        for name, value in row.items():
            kinds.setdefault(name, set()).add(type(value))
    numbers = {int, float, type(None)}
    mixed = [name for name, found in kinds.items() if len(found - {type(None)}) > 1 and not found <= numbers]
    if mixed:
        rows = [row | {n: str(row[n]) for n in mixed if row.get(n) is not None} for row in rows]
    return pl.DataFrame(rows, infer_schema_length=None)
