"""The result of one pass over the forecasts: sums, problems and histograms as NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, overload

import numpy as np

from veracity.types import Array

R = np.arange(-18, 19) / 9  # the risk parameters of the profile: −2 … 2, with −2/3, 0 and 1 among them
TINY = 1e-80  # a realised probability below this is listed in `tiny` and left out of `powers`
LOWEST = 20  # rows with the smallest realised probability that are kept: a screenful
FIRST = 5  # rows named for each problem
PROBLEMS = ("nan", "infinite", "negative", "above_one", "row_sum", "label")
MANY = 50  # beyond so many classes the class-wise histograms use the nested grid


@dataclass(frozen=True)
class Problem:
    """Rows that cannot be used, with the column and value (for row_sum: the sum; for label: the label) of the first."""

    rows: int = 0
    first: tuple[int, ...] = ()
    column: int | None = None
    value: float | None = None


@dataclass(frozen=True, eq=False)
class Histogram:
    """Entries by cell, without empty cells. `true` entries are those of the outcome.

    c is the count of a row, w its weight. The weight fields are None without weights; the last three true sums are
    None in class-wise histograms of more than 50 classes.
    """

    cells: Array  # int32, ascending
    all: Array  # int64 Σc
    true: Array  # int64 Σc
    all_sum: Array  # Σcw p
    true_sum: Array | None = None  # Σcw p
    true_log: Array | None = None  # Σcw ln p over p > 0
    true_power: Array | None = None  # Σcw p^(-2/3) over p > 0
    all_weight: Array | None = None  # Σcw
    true_weight: Array | None = None
    all_weight2: Array | None = None  # Σcw²
    true_weight2: Array | None = None

    @staticmethod
    def merge(parts: Sequence[Histogram]) -> Histogram:
        """Return the histogram of all parts together."""
        if len(parts) == 1:
            return parts[0]
        cells, place = np.unique(np.concatenate([part.cells for part in parts]), return_inverse=True)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(cells)))
        by_name = {"cells": cells.astype(np.int32)}
        for name in (f.name for f in fields(Histogram)[1:]):
            columns = [getattr(part, name) for part in parts]
            if all(column is not None for column in columns):
                column = np.concatenate(columns)[order]
                by_name[name] = np.add.reduceat(column, starts) if len(cells) else column
        return Histogram(**by_name)


@dataclass(frozen=True, eq=False)
class Histograms(Sequence[Histogram]):
    """Histograms stored one after another in long arrays, each a slice made on request."""

    size: int
    offsets: Array  # where each begins, and the end
    columns: dict[str, Array]  # the fields of Histogram
    _made: dict[int, Histogram] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, i: int) -> Histogram: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Histogram, ...]: ...
    def __getitem__(self, i: int | slice) -> Histogram | tuple[Histogram, ...]:
        if isinstance(i, slice):
            return tuple(self[j] for j in range(*i.indices(len(self))))
        j = range(len(self))[i]
        if j not in self._made:
            part = slice(self.offsets[j], self.offsets[j + 1])
            self._made[j] = Histogram(**{name: values[part] for name, values in self.columns.items()})
        return self._made[j]


def joined(histograms: Sequence[Histogram]) -> tuple[Array, dict[str, Array]]:
    """Return the offsets of histograms joined one after another, and their fields as long arrays."""
    if isinstance(histograms, Histograms):
        return histograms.offsets, histograms.columns
    offsets = np.cumsum([0, *(len(h.cells) for h in histograms)])
    names = [name for name, values in vars(histograms[0]).items() if values is not None]
    return offsets, {name: np.concatenate([getattr(h, name) for h in histograms]) for name in names}


@dataclass(frozen=True, eq=False)
class Pass:
    """The sums of one pass over the rows. Rows with a problem count in `problems` and nowhere else.

    c is the count of a row (1 if none), w its weight (1 if none).
    """

    rows: int  # Σc
    weight: float  # Σcw
    weight2: float  # Σcw²
    problems: dict[str, Problem]  # keys PROBLEMS
    low: float  # smallest and largest value, problem rows included, without NaN; inf and -inf without any value
    high: float
    score_sums: Array  # (4, 3): Σcwx, Σcw²x, Σcw²x² of log, brier, spherical, correct; log only where p_y > 0
    class_sums: Array  # (k, 6) by outcome: Σcw, Σcw², Σcw log, Σcw² log, Σcw brier, Σcw² brier
    column_sums: Array  # (k,) Σcw p_j
    powers: Array  # (37,) Σcw p_y^r for r in R where p_y >= TINY
    tiny: Array  # int64 rows with p_y < TINY, ascending
    lowest: Array  # int64 rows with the smallest p_y, at most LOWEST, ties by row
    lowest_realised: Array  # their p_y
    pooled: Histogram
    top: Histogram
    classwise: Sequence[Histogram]
    hashes: Array | None = None  # (n,) uint64 of each forecast, as hashes.py makes them; None where the pass made none


def tolerance(dtype: np.dtype[Any], k: int) -> float:
    """Return the largest distance of a row's sum from one: 1e-6; in float32 also k 2^-23, twice its summation error.

    In float16 2^-10 + k 2^-24: twice what rounding does to the sum, 2^-11 of each entry and 2^-25 of one near 0.
    """
    if dtype == np.float16:
        return 2.0**-10 + k * 2.0**-24
    return max(1e-6, k * 2.0**-23) if dtype == np.float32 else 1e-6
