"""Columns of a table as arrays: numbers, labels as column numbers, features."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ..data import Names
from ..data.names import listed
from .options import canonical

Array = Any


def matrix(frame: pl.DataFrame, columns: tuple[str, ...]) -> Array:
    """Return (n,) or (n, k) floats in their own precision, without a copy for one column; missing is NaN."""
    if len(columns) == 1:
        return numbers_in(frame.get_column(columns[0]))
    first, *others = {frame[c].dtype for c in columns}
    wanted = first if not others and first in (pl.Float16, pl.Float32) else pl.Float64
    return frame.select(pl.col(c).cast(wanted).fill_null(np.nan) for c in columns).to_numpy(order="c")


def numbers_in(column: pl.Series, integers: bool = False) -> Array:
    """Return the numbers of a column; integers as floats unless they are wanted; missing is NaN."""
    if column.null_count():
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if column.dtype.is_integer() and not integers:
        return column.cast(pl.Float64).to_numpy()
    return column.to_numpy() if column.dtype.is_numeric() else column.cast(pl.Float64).to_numpy()


def labels(column: pl.Series) -> Array:
    """Return the values of a group or id: numbers as they are, anything else as text."""
    numeric = column.dtype.is_numeric() and not column.null_count()
    return (column if numeric else column.cast(pl.String)).to_numpy()


def codes_of_labels(column: pl.Series, classes: tuple[str, ...], names: Names, rows: Array) -> Array:
    """Return the column numbers of labels; NaN where missing. A label outside the classes is an error."""
    place = {label: i for i, label in enumerate(classes)}
    mapping = {v: place.get(canonical(v), -1) for v in column.unique().to_list() if v is not None and v == v}
    strays = [value for value, code in mapping.items() if code < 0]
    if strays:
        bad = column.is_in(strays)
        index, known = int(bad.arg_max() or 0), listed(classes, 8)
        quote = "'" if names.style == "file" else ""
        where = [names.option("where", f"{quote}{names.outcome}!={canonical(v)}{quote}") for v in strays]
        without = f"      without these rows:  {' '.join(where)}" if len(strays) < 4 else ""
        raise names.error(
            f"{names.cell(names.outcome, int(rows[index]))} = {column[index]}: none of the classes {known} "
            f"({int(bad.sum()):,} of {column.len():,} rows).",
            f"correct the outcome, or choose the columns of all classes:  {names.option('proba', 'PATTERN')}{without}",
        )
    return _replaced(column, mapping)


def codes_of_event(column: pl.Series, event: set[str]) -> Array:
    """Return 1 for labels of the event, 0 for others; NaN where missing."""
    values = [v for v in column.unique().to_list() if v is not None and v == v]
    return _replaced(column, {v: int(canonical(v) in event) for v in values})


def _replaced(column: pl.Series, mapping: dict[Any, int]) -> Array:
    if column.dtype.is_float():
        column = column.fill_nan(None)
    codes = column.replace_strict(list(mapping), list(mapping.values()), default=None, return_dtype=pl.Int32)
    return codes.to_numpy() if not codes.null_count() else codes.cast(pl.Float64).fill_null(np.nan).to_numpy()


def feature_matrix(frame: pl.DataFrame, names: tuple[str, ...]) -> Array:
    """Return (n, f) features; words by their hash."""
    if not names:
        return None
    columns = [
        # hashes are the same in every batch, cut to what a float holds exactly
        numbers_in(frame[c]) if frame[c].dtype.is_numeric() else (frame[c].cast(pl.String).hash() // 2**11).to_numpy()
        for c in names
    ]
    return np.column_stack(columns)
