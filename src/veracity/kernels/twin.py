"""The pass in NumPy: always available, and the meaning of the C kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels.grid import Grid
from veracity.kernels.result import FIRST, LOWEST, MANY, PROBLEMS, TINY, Histogram, Pass, Problem, tolerance

Array = NDArray[Any]

BLOCK = 1 << 18  # entries worked on at a time: large against the grid, small against memory


class Problems:
    """Collects rows that cannot be used."""

    def __init__(self) -> None:
        self.found = dict.fromkeys(PROBLEMS, Problem())
        self.low, self.high = np.inf, -np.inf

    def note(self, name: str, bad: Array, first_row: int, values: Array) -> None:
        """Adds the rows of a block where `bad` (rows, or rows by columns) holds."""
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

    def check(self, p: Array, y: Array, sums: Array | None, allowed: float, first_row: int, k: int) -> Array | None:
        """Which rows of a block of values (rows, columns) are good; None when all are."""
        low, high = p.min(initial=np.inf), p.max(initial=-np.inf)
        good: Array | None = None
        if not (low >= 0.0 and high <= 1.0):
            low, high = np.fmin.reduce(p, axis=None), np.fmax.reduce(p, axis=None)
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
        self.low, self.high = np.fmin(self.low, low), np.fmax(self.high, high)
        if sums is not None:
            off = np.abs(sums - 1.0) > allowed
            if off.any():
                if good is not None:
                    off &= good
                self.note("row_sum", off, first_row, sums)
                good = ~off if good is None else good & ~off
        if len(y) and (y.min() < 0 or y.max() >= k):
            outside = (y < 0) | (y >= k)
            self.note("label", outside, first_row, y)
            good = ~outside if good is None else good & ~outside
        return good


class Lowest:
    """Keeps the rows with the smallest realised probability, ties by row."""

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


class Mass:
    """Counts and weights of the rows of a block; None stands for ones."""

    def __init__(self, counts: Array | None, weights: Array | None):
        self.counts = counts
        self.weighted = weights is not None
        self.first = self.second = None if counts is None else counts.astype(np.float64)
        if weights is not None:
            self.first = weights if self.first is None else weights * self.first
            self.second = weights * self.first

    def at(self, rows: Any) -> Mass:
        part = object.__new__(Mass)
        part.weighted = self.weighted
        part.counts = None if self.counts is None else self.counts[rows]
        part.first = None if self.first is None else self.first[rows]
        part.second = None if self.second is None else self.second[rows]
        return part


def _dot(mass: Array | None, x: Array) -> float:
    return float(x.sum() if mass is None else mass @ x)


def _times(mass: Array | None, x: Array) -> Array:
    return x if mass is None else mass * x


def _whole(mass: Mass, n: int) -> tuple[int, float, float]:
    """Σc, Σcw, Σcw² of n rows."""
    rows = n if mass.counts is None else int(mass.counts.sum())
    if mass.first is None or mass.second is None:
        return rows, float(n), float(n)
    return rows, float(mass.first.sum()), float(mass.second.sum())


def _histogram(size: int, cells: Array, p: Array, mass: Mass, true: dict[str, Any] | None = None) -> Histogram:
    """Histogram of entries p in cells, and of true entries: dict(cells, p, log, power, mass)."""
    true = true or {"cells": cells[:0], "p": p[:0], "log": p[:0], "power": p[:0], "mass": mass.at(slice(0))}
    few = len(cells) < size // 8
    if few:  # sorting few entries is cheaper than clearing and searching every cell
        names, place = np.unique(cells, return_inverse=True)
        true_place = np.searchsorted(names, true["cells"])
        size = len(names)
    else:
        names, place, true_place = np.arange(size), cells, true["cells"]

    def count(place: Array, counts: Array | None) -> Array:
        return np.bincount(place, counts, size).astype(np.int64)  # exact in float64 below 2^53

    def total(place: Array, mass: Array | None, x: Array | None) -> Array:
        if x is not None:
            return np.bincount(place, _times(mass, x), size)
        return np.bincount(place, mass, size).astype(np.float64)

    true_mass = true["mass"]
    held = {
        "all": count(place, mass.counts),
        "true": count(true_place, true_mass.counts),
        "all_sum": total(place, mass.first, p),
        "true_sum": total(true_place, true_mass.first, true["p"]),
        "true_log": total(true_place, true_mass.first, true["log"]),
        "true_power": total(true_place, true_mass.first, true["power"]),
    }
    if mass.weighted:
        held["all_weight"] = total(place, mass.first, None)
        held["true_weight"] = total(true_place, true_mass.first, None)
        held["all_weight2"] = total(place, mass.second, None)
        held["true_weight2"] = total(true_place, true_mass.second, None)
    used = slice(None) if few else np.flatnonzero(held["all"])
    return Histogram(names[used].astype(np.int32), **{name: values[used] for name, values in held.items()})


class Sweep:
    """Sums over the blocks so far."""

    def __init__(self, grid: Grid, k: int, one_column: bool):
        self.grid, self.k, self.one_column = grid, k, one_column
        self.problems, self.lowest = Problems(), Lowest()
        self.rows, self.weight, self.weight2 = 0, 0.0, 0.0
        self.score_sums, self.class_sums = np.zeros((4, 3)), np.zeros((k, 6))
        self.column_sums, self.powers = np.zeros(k), np.zeros((6, 7))
        self.tiny: list[Array] = []
        self.top: list[Histogram] = []
        self.pooled: list[Histogram] = []
        self.classwise: list[list[Histogram]] = [[] for _ in range(k)]
        self.nested: dict[str, Array] = {}

    def add(self, p: Array, y: Array, rows: Array, mass: Mass) -> Array:
        """Adds good rows, p (n, columns) float64; returns what they gave to what happened."""
        if self.one_column:
            p = np.column_stack([1.0 - p[:, 0], p[:, 0]])
        n = len(p)
        held = _whole(mass, n)
        self.rows, self.weight, self.weight2 = self.rows + held[0], self.weight + held[1], self.weight2 + held[2]
        realised = p[np.arange(n), y]
        squares = np.einsum("ij,ij->i", p, p)
        pick = (p[:, 1] > 0.5).astype(np.int64) if self.one_column else p.argmax(axis=1)
        correct = pick == y
        with np.errstate(divide="ignore"):
            log = np.log(realised)
        log[realised == 0.0] = 0.0
        root = np.exp(log / 9.0)
        self._scores(y, realised, squares, correct, log, mass)
        self._powers(realised, root, mass)
        self.tiny.append(rows[realised < TINY])
        self.lowest.add(rows, realised)
        self.column_sums += p.sum(axis=0) if mass.first is None else mass.first @ p

        power = root**-6.0
        power[realised == 0.0] = 0.0
        best = p[np.arange(n), pick]
        self.top.append(self._entries(self.grid.locate(best), best, mass, correct, log, power))
        if self.k > MANY:
            self._many(p, y, realised, log, power, mass)
        else:
            for j in range(self.k):
                column = p[:, j]
                self.classwise[j].append(self._entries(self.grid.locate(column), column, mass, y == j, log, power))
        return realised

    def _entries(self, cells: Array, p: Array, mass: Mass, true: Array, log: Array, power: Array) -> Histogram:
        """One entry a row; where `true`, it is that of the class that happened, so log and power are its own."""
        at = np.flatnonzero(true)
        parts = {"cells": cells[at], "p": p[at], "log": log[at], "power": power[at], "mass": mass.at(at)}
        return _histogram(len(self.grid), cells, p, mass, parts)

    def _scores(self, y: Array, realised: Array, squares: Array, correct: Array, log: Array, mass: Mass) -> None:
        miss = (1.0 - realised) ** 2
        brier = 2.0 * miss if self.one_column else miss + np.maximum(squares - realised**2, 0.0)
        spherical = 1.0 - realised / np.sqrt(squares)
        for sums, x in zip(self.score_sums, (-log, brier, spherical, correct.astype(np.float64)), strict=True):
            sums += _dot(mass.first, x), _dot(mass.second, x), _dot(mass.second, x * x)
        ones = np.ones(len(y))
        for i, x in enumerate((ones, -log, brier)):
            self.class_sums[:, 2 * i] += np.bincount(y, _times(mass.first, x), self.k)
            self.class_sums[:, 2 * i + 1] += np.bincount(y, _times(mass.second, x), self.k)

    def _powers(self, realised: Array, root: Array, mass: Mass) -> None:
        """Σcw t^e for e = -18 .. 23 as products t^a t^6b: one small matrix product instead of 37 powers."""
        use = realised >= TINY
        t, m = (root, mass.first) if use.all() else (root[use], mass.at(use).first)
        small = np.ones((6, len(t)))
        for a in range(1, 6):
            np.multiply(small[a - 1], t, out=small[a])
        large = np.empty((7, len(t)))
        large[3] = 1.0
        six = np.multiply(small[5], t)
        for b in range(1, 4):
            np.multiply(large[3 + b - 1], six, out=large[3 + b])
            np.divide(1.0, large[3 + b], out=large[3 - b])
        if m is not None:
            small *= m
        self.powers += small @ large.T

    def _many(self, p: Array, y: Array, realised: Array, log: Array, power: Array, mass: Mass) -> None:
        """Pooled on the grid; class-wise on the nested grid, where the lowest cell follows from the totals."""
        n, k = p.shape
        cells = self.grid.locate(p.ravel())
        true_cells = self.grid.locate(realised)
        true = {"cells": true_cells, "p": realised, "log": log, "power": power, "mass": mass}
        self.pooled.append(_histogram(len(self.grid), cells, p.ravel(), mass.at(np.repeat(np.arange(n), k)), true))
        size = len(self.grid.nested_edges)
        nested = self.grid.nested[cells]
        above = np.flatnonzero(nested)
        row, column = np.divmod(above, k)
        place, at = column * size + nested[above], mass.at(row)
        true_place = y * size + self.grid.nested[true_cells]
        self._nest("all", place, at.counts, np.int64)
        self._nest("true", true_place, mass.counts, np.int64)
        self._nest("all_sum", place, _times(at.first, p.ravel()[above]), np.float64)
        if mass.weighted:
            self._nest("all_weight", place, at.first, np.float64)
            self._nest("true_weight", true_place, mass.first, np.float64)
            self._nest("all_weight2", place, at.second, np.float64)
            self._nest("true_weight2", true_place, mass.second, np.float64)

    def _nest(self, name: str, place: Array, values: Array | None, dtype: Any) -> None:
        size = len(self.grid.nested_edges)
        if name not in self.nested:
            self.nested[name] = np.zeros(self.k * size, dtype)
        self.nested[name] += np.bincount(place, values, self.k * size).astype(dtype)

    def histograms(self) -> tuple[Histogram, tuple[Histogram, ...]]:
        """Pooled and class-wise."""
        if self.k <= MANY:
            classwise = tuple(Histogram.merge(parts) for parts in self.classwise)
            return Histogram.merge(classwise), classwise
        held = {name: values.reshape(self.k, -1) for name, values in self.nested.items()}
        totals = {"all": self.rows, "all_sum": self.column_sums}
        totals |= {"all_weight": self.weight, "all_weight2": self.weight2}
        for name in held.keys() & totals.keys():
            held[name][:, 0] = totals[name] - held[name].sum(axis=1)
        return Histogram.merge(self.pooled), nested_histograms(held)


def nested_histograms(held: dict[str, Array]) -> tuple[Histogram, ...]:
    """Sparse class-wise histograms of dense (k, nested cells) arrays."""
    out = []
    for j in range(len(held["all"])):
        used = np.flatnonzero(held["all"][j])
        out.append(Histogram(used.astype(np.int32), **{name: values[j, used] for name, values in held.items()}))
    return tuple(out)


def scan(p: Array, y: Array, grid: Grid, weights: Array | None, counts: Array | None, keep_realised: bool) -> Pass:
    """The pass over p (n,) or (n, k), block by block."""
    one_column = p.ndim == 1
    n, k = len(p), 2 if one_column else p.shape[1]
    allowed = tolerance(p.dtype, k)
    sweep = Sweep(grid, k, one_column)
    kept = np.full(n, np.nan) if keep_realised else None
    step = max(1, BLOCK // k) if k <= MANY else max(1, 16 * BLOCK // k)
    for start in range(0, max(n, 1), step):
        part = slice(start, min(start + step, n))
        block = np.asarray(p[part], dtype=np.float64)
        block = block[:, None] if one_column else block
        labels = y[part].astype(np.int64)
        sums = None if one_column else block.sum(axis=1)
        good = sweep.problems.check(block, labels, sums, allowed, start, k)
        rows = np.arange(part.start, part.stop)
        mass = Mass(None if counts is None else counts[part], None if weights is None else weights[part])
        if good is not None:
            block, labels, rows, mass = block[good], labels[good], rows[good], mass.at(good)
        realised = sweep.add(block, labels, rows, mass)
        if kept is not None:
            kept[rows] = realised
    pooled, classwise = sweep.histograms()
    exponents = sweep.powers.T.ravel()[:37]
    return Pass(
        rows=sweep.rows,
        weight=sweep.weight,
        weight2=sweep.weight2,
        problems=sweep.problems.found,
        low=float(sweep.problems.low),
        high=float(sweep.problems.high),
        score_sums=sweep.score_sums,
        class_sums=sweep.class_sums,
        column_sums=sweep.column_sums,
        powers=exponents,
        tiny=np.concatenate(sweep.tiny),
        lowest=sweep.lowest.rows,
        lowest_realised=sweep.lowest.realised,
        realised=kept,
        pooled=pooled,
        top=Histogram.merge(sweep.top),
        classwise=classwise,
    )
