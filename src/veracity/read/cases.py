"""Batches of whole cases, for tables with several rows per case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from .files import Table
from .match import Match

Batch = tuple[int, Any, pl.DataFrame]  # number of the first row, numbers of all rows or None, the columns


def whole_cases(table: Table, match: Match, columns: Sequence[str], size: int) -> Iterator[Batch]:
    """Yield batches of about `size` rows that end with a case; all rows at once where those of a case are apart."""
    keys = _keys(table, match) if "class" in match.roles and table.rows > size else None
    if keys is None:
        numbers, frame = table.read(columns)
        yield table.first_row + table.passed, numbers, frame
        return
    held: Batch | None = None
    for batch in table.batches(columns, size):
        start, numbers, frame = batch if held is None else _joined(held, batch)
        if not frame.height:
            continue
        marks = _marks(frame, keys)
        others = np.flatnonzero(marks != marks[-1])
        end = int(others[-1]) + 1 if len(others) else 0
        if end:
            yield start, None if numbers is None else numbers[:end], frame[:end]
        held = start + end, None if numbers is None else numbers[end:], frame[end:]
    if held is not None:
        yield held


def _joined(first: Batch, then: Batch) -> Batch:
    numbers = None if first[1] is None else np.concatenate([first[1], then[1]])
    return first[0], numbers, pl.concat([first[2], then[2]], how="vertical_relaxed")


def _keys(table: Table, match: Match) -> list[str] | None:
    """Return the columns by which all rows of a case follow one another: those of the case, or with its model."""
    case = list(match.case)
    tried = [[match.model_column, *case], case] if match.model_column else [case]
    return next((keys for keys in tried if keys and _together(table, keys)), None)


def _together(table: Table, keys: list[str]) -> bool:
    """Whether no case comes again after another; takes eight bytes for each case."""
    begun: list[Any] = []
    last = None
    for _, _, frame in table.batches(keys):
        if frame.height:
            marks = _marks(frame, keys)
            begun.append(marks[np.r_[marks[0] != last, marks[1:] != marks[:-1]]])
            last = marks[-1]
    runs = np.concatenate(begun) if begun else np.zeros(0)
    return len(np.unique(runs)) == len(runs)


def _marks(frame: pl.DataFrame, keys: list[str]) -> Any:
    # equal hashes of two cases do no harm: the cases stay together, or the file is read at once
    return frame.select(keys).hash_rows().to_numpy()
