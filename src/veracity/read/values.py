"""Columns of a table as arrays: numbers, labels as column numbers, features."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ..data import Names
from .reading import canonical

Array = Any


def matrix(frame: pl.DataFrame, columns: tuple[str, ...]) -> Array:
    """(n,) or (n, k) floats in their own precision, without a copy for one column of floats; missing is NaN."""
    if len(columns) == 1:
        return numbers_in(frame.get_column(columns[0]))
    first, *others = {frame[c].dtype for c in columns}
    wanted = first if not others and first in (pl.Float16, pl.Float32) else pl.Float64
    return frame.select(pl.col(c).cast(wanted).fill_null(np.nan) for c in columns).to_numpy(order="c")


def numbers_in(column: pl.Series, integers: bool = False) -> Array:
    if column.null_count():
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if column.dtype.is_integer() and not integers:
        return column.cast(pl.Float64).to_numpy()
    return column.to_numpy() if column.dtype.is_numeric() else column.cast(pl.Float64).to_numpy()


def labels(column: pl.Series) -> Array:
    """Values of a group or id: numbers as they are, anything else as text."""
    return (
        column.to_numpy()
        if column.dtype.is_numeric() and not column.null_count()
        else column.cast(pl.String).to_numpy()
    )


def codes_of_labels(
    column: pl.Series, wanted: tuple[str, ...] | None, inside: set[str] | None, names: Names, start: int, numbers: Array
) -> Array:
    """Column numbers of labels; a label that is none of the classes is an error that names its row."""
    distinct = column.unique()
    values = [v for v in distinct.to_list() if v is not None and v == v]
    if inside is not None:
        mapping = {v: int(canonical(v) in inside) for v in values}
    else:
        assert wanted is not None
        place = {label: i for i, label in enumerate(wanted)}
        mapping = {v: place.get(canonical(v), -1) for v in values}
        if any(code < 0 for code in mapping.values()):
            bad = column.is_in([v for v, code in mapping.items() if code < 0])
            index = int(bad.arg_max() or 0)
            row = int(numbers[index]) if numbers is not None else start + index
            known = ", ".join(wanted[:8]) + (", …" if len(wanted) > 8 else "")
            raise names.error(
                f"{names.cell(names.outcome, row)} = {column[index]}: none of the classes {known} "
                f"({int(bad.sum()):,} of {column.len():,} rows).",
                "correct the outcome, or choose the columns of all classes with " + names.option("proba", "PATTERN"),
            )
    if column.dtype.is_float():
        column = column.fill_nan(None)
    codes = column.replace_strict(list(mapping), list(mapping.values()), default=None, return_dtype=pl.Int32)
    return codes.to_numpy() if not codes.null_count() else codes.cast(pl.Float64).fill_null(np.nan).to_numpy()


def pair_outcomes(shares: Array) -> Array:
    """Outcomes given as a column per class: column numbers, or shares where there are ties."""
    hard = bool(np.all((shares == 0) | (shares == 1)) and np.all(shares.sum(axis=1) == 1))
    return shares.argmax(axis=1) if hard else shares.astype(np.float64)


def feature_matrix(frame: pl.DataFrame, names: tuple[str, ...]) -> Array:
    if not names:
        return None
    columns = [
        # words by their hash, the same in every batch, cut to what a float holds exactly
        numbers_in(frame[c]) if frame[c].dtype.is_numeric() else (frame[c].cast(pl.String).hash() // 2**11).to_numpy()
        for c in names
    ]
    return np.column_stack(columns)
