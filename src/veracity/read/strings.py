"""What strings say: numbers with decimal commas and per cent signs, confidences in words, nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", ".", "-", "#DIV/0!", "#VALUE!"]
MISSING.append("\x1a")  # at the end of files from DOS
LONG = r"^[+-]?\d{16,}$"  # the number of a case, which no float holds exactly
SPOKEN = "spoken"  # the kind of a column of confidences in words


def bare(column: Any, missing: Sequence[str] = MISSING) -> Any:
    """Return strings, or an expression of them, without blanks around; the words for missing are missing."""
    return column.str.strip_chars().replace(list(missing), [None] * len(missing))


def composed(column: pl.Series) -> pl.Series:
    """Return a column whose texts are in composed form (Unicode NFC): é is one letter, however it is encoded."""
    if column.dtype != pl.String or not (column.str.len_bytes() > column.str.len_chars()).any():
        return column
    return column.str.normalize("NFC")


def kind_of(column: pl.Series, comma: bool) -> str:
    """Return what the strings of a column are; `comma`: decimal commas are possible."""
    present = column.drop_nulls() if column.null_count() else column
    numbers = present.cast(pl.Float64, strict=False)
    if not numbers.null_count():  # nearly all columns of numbers
        if present.cast(pl.Int64, strict=False).null_count() == 0:
            return "whole" if present.len() else "number"
        long = abs(float(numbers.min() or 0.0)) >= 1e15 and present.str.contains(LONG).all()  # type: ignore[arg-type]
        return "text" if long else "number"
    percent = bool(present.str.ends_with("%").all())
    if percent:
        present = present.str.strip_suffix("%").str.strip_chars()
    few = present.head(100)
    decimal = bool(few.str.contains(r"^[+-]?\d+,\d").any())
    if few.cast(pl.Float64, strict=False).null_count() == few.len() and not decimal:
        return "text"
    if percent and present.cast(pl.Float64, strict=False).null_count() == 0:
        return "percent"
    if comma and bool(present.str.contains(r"^[+-]?\d+(,\d+)?(?:[eE][+-]?\d+)?$").all()):
        return "comma percent" if percent else "comma"
    return "text"


def parsed(column: pl.Series, kind: str) -> pl.Series:
    """Return strings of a kind as numbers, null where they are none."""
    if kind == SPOKEN:
        return spoken(column)
    if "percent" in kind:
        column = column.str.strip_suffix("%").str.strip_chars()
    if "comma" in kind:
        column = column.str.replace(",", ".", literal=True)
    if kind == "whole":
        whole = column.cast(pl.Int64, strict=False)
        if whole.null_count() == column.null_count():
            return whole
    numbers = column.cast(pl.Float64, strict=False)
    return numbers / 100.0 if "percent" in kind else numbers


def spoken(column: pl.Series) -> pl.Series:
    """Return the confidences that texts state: "85%", "0.85", "Confidence: 85", "8 out of 10"; null where none is.

    >>> spoken(pl.Series(["85%", "0.85", "Confidence: 85", "8 out of 10", "quite sure"])).to_list()
    [0.85, 0.85, 0.85, 0.8, None]
    """
    number = r"(\d+(?:[.,]\d+)?|\.\d+)"

    def found(pattern: str, group: int = 1) -> pl.Expr:
        return pl.col("said").str.extract(pattern, group).str.replace(",", ".", literal=True).cast(pl.Float64)

    share = found(rf"{number}\s*(?:/|out of)\s*{number}") / found(rf"{number}\s*(?:/|out of)\s*{number}", 2)
    alone = pl.col("said").str.count_matches(number) == 1
    plain = pl.coalesce(
        found(rf"(?i)(?:confiden\w+|certain\w*|probab\w+|sure)\D{{0,20}}{number}"),
        pl.when(alone).then(found(number)),
    )
    value = pl.coalesce(
        found(rf"(?i){number}\s*(?:%|per ?cent)") / 100.0,
        share,
        pl.when(plain > 1).then(plain / 100.0).otherwise(plain),
    )
    confidences = pl.DataFrame({"said": column}).select(pl.when(value.is_between(0, 1)).then(value)).to_series()
    return confidences.alias(column.name)


def number(cell: str, comma: bool = False) -> float | None:
    """Return the number in a cell, else None; `comma`: a decimal comma is one."""
    column = pl.Series([cell.strip()])
    value = parsed(column, kind_of(column, comma)).item()
    return None if value is None else float(value)
