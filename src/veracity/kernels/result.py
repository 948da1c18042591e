"""What one pass over the forecasts gives: sums, problems and histograms, all plain NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SCORES = ("log", "brier", "spherical", "correct")  # the order of score_sums
EXPONENTS = np.arange(-18, 19) / 9  # the r of powers
TINY = 1e-80  # a realised probability below this is listed in `tiny` and left out of `powers`
LOWEST = 20  # rows with the smallest realised probability that are kept
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
    """Entries by cell, only cells that hold any. `true` entries are those of the outcome.

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
        """The histogram of all parts together."""
        if len(parts) == 1:
            return parts[0]
        cells, place = np.unique(np.concatenate([part.cells for part in parts]), return_inverse=True)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(cells)))
        held = {"cells": cells.astype(np.int32)}
        for field in fields(Histogram)[1:]:
            columns = [getattr(part, field.name) for part in parts]
            if all(column is not None for column in columns):
                column = np.concatenate(columns)[order]
                held[field.name] = np.add.reduceat(column, starts) if len(cells) else column
        return Histogram(**held)


@dataclass(frozen=True, eq=False)
class Histograms(Sequence[Histogram]):
    """Histograms one after another in long arrays; made, and each cut out, when asked for."""

    size: int
    make: Callable[[], tuple[Array, dict[str, Array]]]  # where each begins and the end; the fields of Histogram

    def __len__(self) -> int:
        return self.size

    @cached_property
    def joined(self) -> tuple[Array, dict[str, Array]]:
        """Where each histogram begins and the end; the fields of all, one after another."""
        return self.make()

    @cached_property
    def _made(self) -> dict[int, Histogram]:
        return {}

    @overload
    def __getitem__(self, i: int) -> Histogram: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Histogram, ...]: ...
    def __getitem__(self, i: int | slice) -> Histogram | tuple[Histogram, ...]:
        if isinstance(i, slice):
            return tuple(self[j] for j in range(*i.indices(len(self))))
        j = range(len(self))[i]
        if j not in self._made:
            offsets, joined = self.joined
            self._made[j] = Histogram(**{name: values[offsets[j] : offsets[j + 1]] for name, values in joined.items()})
        return self._made[j]

    def __iter__(self) -> Iterator[Histogram]:
        return (self[j] for j in range(len(self)))


def joined(histograms: Sequence[Histogram]) -> tuple[Array, dict[str, Array]]:
    """Where each histogram begins and the end; the fields of all, one after another."""
    if isinstance(histograms, Histograms):
        return histograms.joined
    if len(histograms) == 1:
        return np.array([0, len(histograms[0].cells)]), vars(histograms[0])
    offsets = np.cumsum([0, *(len(h.cells) for h in histograms)])
    names = [name for name, values in vars(histograms[0]).items() if values is not None]
    return offsets, {name: np.concatenate([getattr(h, name) for h in histograms]) for name in names}


@dataclass(frozen=True, eq=False)
class Pass:
    """Everything one sweep over the rows can know. Rows with a problem count in `problems` and nowhere else.

    c is the count of a row (1 if none), w its weight (1 if none).
    """

    rows: int  # Σc
    weight: float  # Σcw
    weight2: float  # Σcw²
    problems: dict[str, Problem]  # keys PROBLEMS
    low: float  # smallest and largest value seen, problem rows included, NaN left out; inf and -inf when there is none
    high: float
    score_sums: Array  # (4, 3): Σcwx, Σcw²x, Σcw²x² of SCORES; log only where p_y > 0
    class_sums: Array  # (k, 6) by outcome: Σcw, Σcw², Σcw log, Σcw² log, Σcw brier, Σcw² brier
    column_sums: Array  # (k,) Σcw p_j
    powers: Array  # (37,) Σcw p_y^r for r in EXPONENTS where p_y >= TINY
    tiny: Array  # int64 rows with p_y < TINY, ascending
    lowest: Array  # int64 rows with the smallest p_y, at most LOWEST, ties by row
    lowest_realised: Array  # their p_y
    realised: Array | None  # (n,) p_y on request; NaN in rows with a problem
    pooled: Histogram
    top: Histogram
    classwise: Sequence[Histogram]
    near: Array | None = None  # int64 rows without a problem whose hash is at most the limit, ascending
    near_hashes: Array | None = None  # their uint64 hashes


def tolerance(dtype: np.dtype[Any], k: int) -> float:
    """How far a row may be from one: 1e-6; in float32 also k 2^-23, twice the error of a sequential float32 sum.

    In float16 2^-10 + k 2^-24: twice what rounding does to the sum, 2^-11 of each entry and 2^-25 of one near 0.
    """
    if dtype == np.float16:
        return 2.0**-10 + k * 2.0**-24
    return max(1e-6, k * 2.0**-23) if dtype == np.float32 else 1e-6
