"""The pass in NumPy: always available, and the meaning of the C kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from veracity.kernels.collect import Counter, Lowest, Problems, RowWeights, dot, times
from veracity.kernels.grid import Grid
from veracity.kernels.result import MANY, TINY, Histogram, Pass
from veracity.types import Array

BLOCK = 1 << 18  # entries at a time: many against the grid's cells, few against memory
INNER = 1 << 13  # rows scored at a time: their arrays stay in the cache


class NumpyPass:
    """Sums over the blocks so far."""

    def __init__(self, grid: Grid, k: int, one_column: bool):
        self.grid, self.k, self.one_column = grid, k, one_column
        self.problems, self.lowest = Problems(), Lowest()
        self.rows, self.weight, self.weight2 = 0, 0.0, 0.0
        self.score_sums, self.class_sums = np.zeros((4, 3)), np.zeros((k, 6))
        self.column_sums, self.powers = np.zeros(k), np.zeros((6, 7))
        self.tiny: list[Array] = []
        self.top, self.pooled = Counter(len(grid)), Counter(len(grid))
        self.classwise = [Counter(len(grid)) for _ in range(k if k <= MANY else 0)]
        self.nested: dict[str, Array] = {}

    def add(self, p: Array, y: Array, rows: Array, mass: RowWeights) -> None:
        """Add good rows, p (n, columns) float64."""
        n = len(p)
        columns = [1.0 - p[:, 0], p[:, 0]] if self.one_column else [p[:, j] for j in range(self.k)]
        totals = mass.whole(n)
        self.rows, self.weight, self.weight2 = self.rows + totals[0], self.weight + totals[1], self.weight2 + totals[2]
        if self.one_column:
            pick = (columns[1] > 0.5).astype(np.int64)
            realised, best = np.where(y == 1, columns[1], columns[0]), np.where(pick == 1, columns[1], columns[0])
        else:
            pick, order = p.argmax(axis=1), np.arange(n)
            realised, best = p[order, y], p[order, pick]
        correct = pick == y
        log, power = np.empty(n), np.empty(n)
        for start in range(0, n, INNER):
            part = slice(start, start + INNER)
            if self.one_column:
                squares = columns[0][part] ** 2 + columns[1][part] ** 2
            else:
                squares = np.einsum("ij,ij->i", p[part], p[part])
            log[part], power[part] = self._rows(y[part], realised[part], squares, correct[part], mass.at(part))
        self.tiny.append(rows[realised < TINY])
        self.lowest.add(rows, realised)
        at = np.flatnonzero(correct)
        top = (mass, at, mass.at(at), log[at], power[at])
        if self.k > MANY:
            self.column_sums += p.sum(axis=0) if mass.first is None else mass.first @ p
            self.top.add(self.grid.locate(best), best, *top)
            self._many(p, y, realised, log, power, mass)
            return
        self.column_sums += [dot(mass.first, column) for column in columns]
        cells = [self.grid.locate(column).astype(np.intp) for column in columns]
        self.top.add(np.where(pick == 1, cells[1], cells[0]) if self.one_column else self.grid.locate(best), best, *top)
        for j, column in enumerate(columns):
            at = np.flatnonzero(y == j)
            self.classwise[j].add(cells[j], column, mass, at, mass.at(at), log[at], power[at])

    def _rows(self, y: Array, realised: Array, squares: Array, correct: Array, mass: RowWeights) -> tuple[Array, Array]:
        """Add scores and powers of rows; return ln p and p^(-2/3) of the outcome, 0 where p is 0."""
        positive = realised > 0.0
        log = np.log(np.where(positive, realised, 1.0))
        miss = (1.0 - realised) ** 2
        brier = 2.0 * miss if self.one_column else miss + np.maximum(squares - realised**2, 0.0)
        scores = np.stack([-log, brier, 1.0 - realised / np.sqrt(squares), correct])
        for i, (x, mass_of) in enumerate(((scores, mass.first), (scores, mass.second), (scores * scores, mass.second))):
            self.score_sums[:, i] += x.sum(axis=1) if mass_of is None else x @ mass_of
        for i, x in enumerate((None, scores[0], scores[1])):
            for side, mass_of in enumerate((mass.first, mass.second)):
                weights = mass_of if x is None else times(mass_of, x)
                self.class_sums[:, 2 * i + side] += np.bincount(y, weights, self.k)
        root = np.exp(log / 9.0)
        return log, self._powers(realised, root, mass) * positive

    def _powers(self, realised: Array, root: Array, mass: RowWeights) -> Array:
        """Add Σcw t^e, e = -18 .. 23, as products t^a t^6b: one small matrix product, not 37 powers; return t^-6."""
        use = realised >= TINY
        every = bool(use.all())
        t, m = (root, mass.first) if every else (root[use], mass.at(use).first)
        small = np.ones((6, len(t)))
        for a in range(1, 6):
            np.multiply(small[a - 1], t, out=small[a])
        large = np.ones((7, len(t)))
        np.multiply(small[5], t, out=large[4])
        np.divide(1.0, large[4], out=large[2])
        for b in (2, 3):
            np.multiply(large[2 + b], large[4], out=large[3 + b])
            np.multiply(large[4 - b], large[2], out=large[3 - b])
        if m is not None:
            small *= m
        self.powers += small @ large.T
        return large[2] if every else root**-6.0

    def _many(self, p: Array, y: Array, realised: Array, log: Array, power: Array, mass: RowWeights) -> None:
        """Add entries pooled, and class-wise on the nested grid, whose lowest cell follows from the totals."""
        n, k = p.shape
        cells = self.grid.locate(p.ravel())
        true_cells = self.grid.locate(realised)
        at, every = np.arange(n) * k + y, mass if mass.first is None else mass.at(np.repeat(np.arange(n), k))
        self.pooled.add(cells, p.ravel(), every, at, mass, log, power)
        size = len(self.grid.nested_edges)
        nested = self.grid.nested[cells]
        above = np.flatnonzero(nested)
        row, column = np.divmod(above, k)
        place, at = column * size + nested[above], mass.at(row)
        true_place = y * size + self.grid.nested[true_cells]
        self._nest("all", place, at.counts, np.int64)
        self._nest("true", true_place, mass.counts, np.int64)
        self._nest("all_sum", place, times(at.first, p.ravel()[above]), np.float64)
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
        """Return the pooled and the class-wise histograms."""
        if self.k <= MANY:
            classwise = tuple(counter.histogram() for counter in self.classwise)
            return Histogram.merge(classwise), classwise
        nested = {name: values.reshape(self.k, -1) for name, values in self.nested.items()}
        totals = {"all": self.rows, "all_sum": self.column_sums}
        totals |= {"all_weight": self.weight, "all_weight2": self.weight2}
        for name in nested.keys() & totals.keys():
            nested[name][:, 0] = np.maximum(totals[name] - nested[name].sum(axis=1), 0)  # rounding may make it negative
        return self.pooled.histogram(), nested_histograms(nested)


def nested_histograms(nested: dict[str, Array]) -> tuple[Histogram, ...]:
    """Return sparse class-wise histograms of dense (k, nested cells) arrays."""
    out = []
    for j in range(len(nested["all"])):
        used = np.flatnonzero(nested["all"][j])
        out.append(Histogram(used.astype(np.int32), **{name: values[j, used] for name, values in nested.items()}))
    return tuple(out)


def scan(
    p: Array,
    y: Array,
    grid: Grid,
    weights: Array | None,
    counts: Array | None,
    allowed: float,
) -> Pass:
    """Return the pass over p (n,) or (n, k), block by block."""
    one_column = p.ndim == 1
    n, k = len(p), 2 if one_column else p.shape[1]
    counted = NumpyPass(grid, k, one_column)
    step = max(1, (BLOCK if k <= MANY else 16 * BLOCK) // k)
    for start in range(0, max(n, 1), step):
        part = slice(start, min(start + step, n))
        labels = y[part].astype(np.int64)
        with np.errstate(invalid="ignore", over="ignore"):  # problems are reported, not warned of
            block = np.asarray(p[part], dtype=np.float64)
            block = block[:, None] if one_column else block
            sums = None if one_column else block.sum(axis=1)
            good = counted.problems.check(block, labels, sums, allowed, start, k)
        rows = np.arange(part.start, part.stop)
        mass = RowWeights(None if counts is None else counts[part], None if weights is None else weights[part])
        if not good.all():
            block, labels, rows, mass = block[good], labels[good], rows[good], mass.at(good)
        counted.add(block, labels, rows, mass)
    pooled, classwise = counted.histograms()
    return Pass(
        rows=counted.rows,
        weight=counted.weight,
        weight2=counted.weight2,
        problems=counted.problems.found,
        low=float(counted.problems.low),
        high=float(counted.problems.high),
        score_sums=counted.score_sums,
        class_sums=counted.class_sums,
        column_sums=counted.column_sums,
        powers=counted.powers.T.ravel()[:37],
        tiny=np.concatenate(counted.tiny),
        lowest=counted.lowest.rows,
        lowest_realised=counted.lowest.realised,
        pooled=pooled,
        top=counted.top.histogram(),
        classwise=classwise,
    )
