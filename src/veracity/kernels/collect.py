"""Collectors of the NumPy pass, filled block by block: problems, masses, the lowest rows and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from veracity.kernels.result import FIRST, LOWEST, PROBLEMS, Histogram, Problem
from veracity.types import Array


class Problems:
    """The rows that cannot be used, by kind of problem."""

    def __init__(self) -> None:
        self.found = dict.fromkeys(PROBLEMS, Problem())
        self.low, self.high = np.inf, -np.inf

    def note(self, name: str, bad: Array, first_row: int, values: Array) -> None:
        """Add the rows of a block where `bad` (rows, or rows by columns) holds."""
        hit = np.flatnonzero(bad if bad.ndim == 1 else bad.any(axis=1))
        if len(hit) == 0:
            return
        known = self.found[name]
        column, value = known.column, known.value
        if known.rows == 0:
            row = hit[0]
            column = int(np.argmax(bad[row])) if bad.ndim == 2 else None
            value = float(values[row] if column is None else values[row, column])
        rows = (first_row + hit[: FIRST - len(known.first)]).tolist()
        self.found[name] = Problem(known.rows + len(hit), known.first + tuple(rows), column, value)

    def check(self, p: Array, y: Array, sums: Array | None, allowed: float, first_row: int, k: int) -> Array:
        """Return which rows of a block of values (rows, columns) are good."""
        low, high = p.min(initial=np.inf), p.max(initial=-np.inf)
        good = np.ones(len(p), dtype=bool)
        if not (low >= 0.0 and high <= 1.0):
            known = p[~np.isnan(p)]  # np.fmin would take a signalling NaN for the smallest
            low, high = known.min(initial=np.inf), known.max(initial=-np.inf)
            infinite = np.isinf(p)
            kinds = {
                "nan": np.isnan(p),
                "infinite": infinite,
                "negative": (p < 0.0) & ~infinite,
                "above_one": (p > 1.0) & ~infinite,
            }
            for name, bad in kinds.items():
                self.note(name, bad, first_row, p)
            good = np.asarray(((p >= 0.0) & (p <= 1.0)).all(axis=1))
        self.low, self.high = min(self.low, low), max(self.high, high)
        if sums is not None:
            off = (np.abs(sums - 1.0) > allowed) & good
            self.note("row_sum", off, first_row, sums)
            good &= ~off
        outside = (y < 0) | (y >= k)
        self.note("label", outside, first_row, y)
        return good & ~outside


class Lowest:
    """The rows with the smallest realised probability so far, ties by row."""

    def __init__(self) -> None:
        self.rows, self.realised = np.empty(0, np.int64), np.empty(0)

    def add(self, rows: Array, realised: Array) -> None:
        full = len(self.rows) == LOWEST
        near = realised < self.realised[-1] if full else np.ones(len(rows), bool)
        if len(rows) > 1000 and np.count_nonzero(near) > LOWEST:
            near &= realised <= np.partition(realised, LOWEST - 1)[LOWEST - 1]
        if not near.any():
            return
        rows, realised = np.append(self.rows, rows[near]), np.append(self.realised, realised[near])
        order = np.lexsort((rows, realised))[:LOWEST]
        self.rows, self.realised = rows[order], realised[order]


class RowWeights:
    """Counts c, weights w, cw and cw² of the rows of a block; None means ones."""

    def __init__(self, counts: Array | None, weights: Array | None):
        self.counts = counts
        self.weighted = weights is not None
        self.first = self.second = None if counts is None else counts.astype(np.float64)
        if weights is not None:
            self.first = weights if self.first is None else weights * self.first
            self.second = weights * self.first

    def whole(self, n: int) -> tuple[int, float, float]:
        """Return Σc, Σcw, Σcw² of the n rows."""
        rows = n if self.counts is None else int(self.counts.sum())
        if self.first is None or self.second is None:
            return rows, float(n), float(n)
        return rows, float(self.first.sum()), float(self.second.sum())

    def at(self, rows: Any) -> RowWeights:
        part = object.__new__(RowWeights)
        part.weighted = self.weighted
        arrays = (self.counts, self.first, self.second)
        part.counts, part.first, part.second = (None if x is None else x[rows] for x in arrays)
        return part


def dot(mass: Array | None, x: Array) -> float:
    return float(x.sum() if mass is None else mass @ x)


def times(mass: Array | None, x: Array) -> Array:
    return x if mass is None else mass * x


class Counter:
    """A histogram that grows: sparse parts for few entries, a sum for every cell for many."""

    def __init__(self, size: int):
        self.size = size
        self.parts: list[Histogram] = []
        self.dense: dict[str, Array] = {}

    def add(
        self, cells: Array, p: Array, mass: RowWeights, at: Array, true: RowWeights, log: Array, power: Array
    ) -> None:
        """Add entries p in cells; those at `at` are true, with their mass, ln p and p^(-2/3)."""
        few = len(cells) < self.size // 8
        if few:  # sorting few entries is cheaper than a sum for every cell
            names, cells = np.unique(cells, return_inverse=True)
        size = len(names) if few else self.size
        true_cells = cells.take(at)

        def count(place: Array, counts: Array | None) -> Array:
            return np.bincount(place, counts, size).astype(np.int64, copy=False)  # exact in float64 below 2^53

        def weight(place: Array, mass: Array | None) -> Array:
            return np.bincount(place, mass, size).astype(np.float64, copy=False)  # of no entries: integers

        def total(place: Array, mass: Array | None, x: Array) -> Array:
            return weight(place, times(mass, x))

        columns = {
            "all": count(cells, mass.counts),
            "true": count(true_cells, true.counts),
            "all_sum": total(cells, mass.first, p),
            "true_sum": total(true_cells, true.first, p.take(at)),
            "true_log": total(true_cells, true.first, log),
            "true_power": total(true_cells, true.first, power),
        }
        if mass.weighted:
            columns["all_weight"] = weight(cells, mass.first)
            columns["true_weight"] = weight(true_cells, true.first)
            columns["all_weight2"] = weight(cells, mass.second)
            columns["true_weight2"] = weight(true_cells, true.second)
        if few:
            self.parts.append(Histogram(names.astype(np.int32), **columns))
        elif self.dense:
            for name, sums in columns.items():
                self.dense[name] += sums
        else:
            self.dense = columns

    def histogram(self) -> Histogram:
        if self.dense:
            used = np.flatnonzero(self.dense["all"])
            compact = {name: sums[used] for name, sums in self.dense.items()}
            self.parts, self.dense = [*self.parts, Histogram(used.astype(np.int32), **compact)], {}
        return Histogram.merge(self.parts)
