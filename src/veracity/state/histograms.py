"""Histograms: growing sums of them, coarser ones, and forecasts made from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.inputs import Forecasts
from veracity.kernels import Histogram
from veracity.kernels.collect import Counter, RowWeights
from veracity.kernels.grid import Grid, round_significant
from veracity.kernels.result import joined
from veracity.types import Array

COUNTS = {"all_weight": "all", "all_weight2": "all", "true_weight": "true", "true_weight2": "true"}


class Cells:
    """Growing sums of histograms, all on the same grid of `size` cells.

    They grow in place, with a number for every cell, so that adding a part costs only the cells it has.
    """

    def __init__(self, histograms: int, size: int) -> None:
        self._n, self._size = histograms, size
        self._sums: dict[str, Array] = {}

    def add(self, parts: Sequence[Histogram]) -> None:
        """Add one histogram to each sum."""
        offsets, columns = joined(parts)
        by_name = {name: values[offsets[0] : offsets[-1]] for name, values in columns.items()}
        place = by_name.pop("cells") + np.repeat(np.arange(self._n) * self._size, np.diff(offsets))
        weighted = "all_weight" in by_name
        if self._sums and weighted != ("all_weight" in self._sums):
            # A part without weights has weight one.
            lacking = self._sums if weighted else by_name
            lacking |= {name: lacking[count].astype(np.float64) for name, count in COUNTS.items()}
        for name, values in by_name.items():
            if name not in self._sums:
                self._sums[name] = np.zeros(self._n * self._size, values.dtype)
            self._sums[name][place] += values

    def histograms(self) -> tuple[Histogram, ...]:
        """Return the sums, without empty cells."""
        used = np.flatnonzero(self._sums["all"])
        which, cells = np.divmod(used, self._size)
        columns = {"cells": cells.astype(np.int32), **{name: values[used] for name, values in self._sums.items()}}
        ends = np.searchsorted(which, np.arange(self._n + 1))
        slices = [slice(*ends[i : i + 2]) for i in range(self._n)]
        return tuple(Histogram(**{name: values[part] for name, values in columns.items()}) for part in slices)


def regrouped(h: Histogram, cells: NDArray[np.int32]) -> Histogram:
    """Return the histogram with new cell numbers, ascending; cells with equal numbers are added."""
    if not len(cells):
        return h
    first = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    sums = {name: np.add.reduceat(values, first) for name, values in vars(h).items() if values is not None}
    return Histogram(**sums | {"cells": cells[first]})


def forecasts_from_cells(h: Histogram, edges: Array, classes: tuple[Any, ...]) -> Forecasts:
    """Return forecasts of two classes from the histogram of the second: a row per cell and outcome.

    A row has the mean probability of its cell, without the last bits, which depend on the order of summation, and not
    below the cell's lower edge.
    """
    every = h.all if h.all_weight is None else h.all_weight
    p = np.clip(round_significant(h.all_sum / np.where(every > 0, every, 1.0)), edges[h.cells], 1.0)
    counts = np.concatenate([h.true, h.all - h.true])
    some = counts > 0
    weights = None
    if h.all_weight is not None and h.true_weight is not None:
        mass = np.concatenate([h.true_weight, h.all_weight - h.true_weight])
        weights = np.maximum(mass[some] / counts[some], 0.0)
    outcomes = np.repeat([1, 0], len(p))[some]
    return Forecasts(np.concatenate([p, p])[some], outcomes, classes, weights, counts[some])


def without_not_offered(h: Histogram, absent: NDArray[np.bool_], f: Forecasts) -> Histogram:
    """Return the histogram without the options that were not offered, which the pass counted as probability 0."""
    counts = f.copies * (absent if absent.ndim == 1 else absent.sum(axis=1))
    columns = {name: values.copy() for name, values in vars(h).items() if values is not None}
    zero = columns["cells"] == 0
    columns["all"][zero] -= int(counts.sum())
    if f.weights is not None and "all_weight" in columns:
        columns["all_weight"][zero] -= float(counts @ f.weights)
        columns["all_weight2"][zero] -= float(counts @ f.weights**2)
    some = columns["all"] > 0
    return Histogram(**{name: values[some] for name, values in columns.items()})


def true_entries(f: Forecasts, p: Array, grid: Grid) -> Histogram:
    """Return the histogram of realised probabilities, where the others are unknown."""
    every, above = np.arange(len(p)), p > 0.0
    safe = np.where(above, p, 1.0)
    mass, counter = RowWeights(f.counts, f.weights).at(every), Counter(len(grid))
    counter.add(grid.locate(p), p, mass, every, mass, np.log(safe), above * safe ** (-2 / 3))
    return counter.histogram()
