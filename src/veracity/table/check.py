"""The checks of a table; each message names place, problem and remedy, for people who do not program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas import domain
from veracity.types import Array

Names = tuple[str, ...]
MISSING = ("nan", "NaT", "<NA>")
NEVER_FORECAST = "this category was never forecast, so nothing can be said about it; leave the row out"
NEVER_HAPPENED = (
    "this outcome never happened, so the table cannot show whether forecasts foresee it; "
    "add cases that had it, or leave the column out"
)


def grid(counts: ArrayLike) -> Array:
    try:
        cells = np.array(counts, dtype=np.float64, order="C")  # sums do not depend on the layout in memory
    except (TypeError, ValueError, ArithmeticError, RuntimeError):
        raise ValueError(
            "counts: rows of different length, or something that is not a number; "
            "every forecast category (row) needs one number per outcome (column)"
        ) from None
    if cells.ndim != 2 or min(cells.shape) < 2:
        raise ValueError(f"counts: {_too_small(cells)}")
    return cells


def _too_small(cells: Array) -> str:
    size = " × ".join(map(str, cells.shape)) or "one number"
    return f"a table of {size}; at least two forecast categories (rows) and two outcomes (columns) are needed"


def names(argument: str, given: Sequence[Any], size: int) -> Names:
    texts = tuple(str(name) for name in given)
    if texts and len(texts) != size:
        raise ValueError(f"{argument}: {len(texts)} names ({', '.join(texts)}) for {size} {argument}")
    for name in texts:
        if texts.count(name) > 1:
            raise ValueError(f"{argument}: the name {name!r} occurs twice; give each its own")
    return texts


def problem(counts: Array, rows: Names, columns: Names, unit: str) -> str:
    """Return why a table cannot be made of these counts; empty where it can."""
    if min(counts.shape) < 2:
        return _too_small(counts)
    whole = "if these are shares or weights, say so (--shares; in Python PredictionTable.from_shares)"
    wrong = {
        "not a number; every cell needs one, 0 where nothing happened": ~np.isfinite(counts),
        "a number of cases cannot be negative": counts < 0,
        f"a number of cases is whole; {whole}": (counts != np.round(counts)) & (unit == "counts"),
    }
    for why, bad in wrong.items():
        for i, j in np.argwhere(bad):
            return f"{counts[i, j]:g} in row {rows[i]!r}, column {columns[j]!r}: {why}"
    for i in np.flatnonzero(counts.sum(1) == 0):
        return f"row {rows[i]!r} is empty: {NEVER_FORECAST}"
    for j in np.flatnonzero(counts.sum(0) == 0):
        return f"column {columns[j]!r} is empty: {NEVER_HAPPENED}"
    return ""


def two_outcomes(what: str, columns: Names) -> None:
    if len(columns) != 2:
        raise ValueError(f"{what}: needs two outcomes; add up columns until two are left (Python: versus_rest)")


def rate(name: str, value: float) -> float:
    value = float(domain.numbers(name, value))
    if not 0.0 <= value <= 1.0:
        hint = f"; if it is a percentage, write {value / 100:g}" if 1.0 < value <= 100.0 else ""
        raise ValueError(f"{name}: {value:g} is outside 0 … 1{hint}")
    return value


def forecasts(given: ArrayLike, rows: Names, columns: Names) -> Array:
    f = domain.numbers("forecasts", given).copy()
    if f.ndim == 1 and len(columns) == 2:
        f = np.stack([1.0 - f, f], -1)
    if f.shape != (len(rows), len(columns)):
        raise ValueError(
            f"forecasts: {len(f)} forecasts for {len(rows)} categories and {len(columns)} outcomes; "
            "give one probability per category (two outcomes), or one per category and outcome"
        )
    for i, j in np.argwhere(~((f >= 0.0) & (f <= 1.0))):
        event = f[i, -1] if len(columns) == 2 else f[i, j]
        hint = f"; if it is a percentage, write {event / 100:g}" if 1.0 < event <= 100.0 else ""
        raise ValueError(f"forecasts: {event:g} for category {rows[i]!r} is not a probability (0 … 1){hint}")
    for i in np.flatnonzero(np.abs(f.sum(1) - 1.0) > 1e-8):
        raise ValueError(f"forecasts: the probabilities of category {rows[i]!r} sum to {f[i].sum():g} instead of 1")
    return f


def same_length(**arguments: Any) -> None:
    sizes = {name: len(values) for name, values in arguments.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError("different lengths: " + ", ".join(f"{name} {size}" for name, size in sizes.items()))
    if not all(sizes.values()):
        raise ValueError(f"{', '.join(sizes)}: no cases; give at least one per forecast category")


def present(**arguments: Any) -> None:
    """Refuse missing labels: they would become a category of their own."""
    for name, values in arguments.items():
        for i, value in enumerate(values):
            if value is None or (value == "" if isinstance(value, str) else str(value) in MISSING):
                raise ValueError(f"{name}: nothing at index {i} ({value!r}); complete the case or leave it out")
