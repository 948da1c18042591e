"""The pass in C: arrays to the compiled module, and its results as a `Pass`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np

from veracity.kernels import _native  # type: ignore[attr-defined]
from veracity.kernels.binary_moments import BinaryMomentCounter
from veracity.kernels.grid import COARSE, Grid
from veracity.kernels.result import FIRST, LOWEST, MANY, PROBLEMS, Histogram, Histograms, Pass, Problem
from veracity.types import Array

# Rows up to which clearing the histograms of every class would cost more than counting class by class in one.
HELD = 3 << 14
# Fewest rows of a thread, which has its own histograms for every class: their entries are then worth
# clearing, joining and starting. Beyond 50 classes histograms are small, and entries count.
ROWS_OF_THREAD, ROWS_OF_THREAD_OF_MANY, ENTRIES_OF_THREAD = 1 << 18, 10_000, 30_000_000
MOST_THREADS = 16
PAIRED = 1 << 20  # rows of two classes in one column from which counting them by `BinaryMomentCounter` is faster
ALL = ("all", "all_sum", "all_weight", "all_weight2")
TRUE = ("true", "true_sum", "true_log", "true_power", "true_weight", "true_weight2")
WEIGHTED = tuple(name for name in ALL + TRUE if "weight" in name)
NOT_OF_MANY = ("true_sum", "true_log", "true_power")  # not kept class by class beyond 50 classes
# Name, kind, and whether it is filled where rows have neither weights nor counts.
COLUMNS = tuple(
    (name, np.int64 if name in ("all", "true") else np.float64, name not in WEIGHTED) for name in ALL + TRUE
)


@cache
def processors() -> int:
    return os.cpu_count() or 1


def scan(
    p: Array,
    y: Array,
    grid: Grid,
    weights: Array | None,
    counts: Array | None,
    threads: int | None,
    allowed: float = 1e-6,
) -> Pass:
    """Return the pass over p (n,) or (n, k)."""
    plain = weights is None and counts is None
    by_place = _by_place(p, y, grid, threads, allowed) if plain and p.ndim == 1 and len(p) >= PAIRED else None
    return by_place or by_row(p, y, grid, weights, counts, threads, allowed)


def by_row(
    p: Array, y: Array, grid: Grid, weights: Array | None, counts: Array | None, threads: int | None, allowed: float
) -> Pass:
    """Return the pass row by row."""
    n, k = len(p), 2 if p.ndim == 1 else int(p.shape[1])
    size = min(n, len(grid) if k <= MANY else len(grid.nested_edges))
    # Pooled entries, picks and classes; one more cell is tried before it is kept.
    room = min(n * (k + 1), len(grid)) + min(n, len(grid)) + k * size + 1
    mass = weights is not None or counts is not None
    # One large array: NumPy asks for huge pages then, and the system has few to clear.
    spare = iter(np.empty((1 + len(COLUMNS), room), np.int64))
    columns: dict[str, Array | None] = {"cells": next(spare).view(np.int32)[:room]}
    for name, kind, kept in COLUMNS:
        columns[name] = next(spare).view(kind) if kept or mass else None
    hashes = np.empty(n, np.uint64)
    least = ROWS_OF_THREAD if k <= MANY else max(ROWS_OF_THREAD_OF_MANY, ENTRIES_OF_THREAD // k)
    rows, sums, classes, by_column, tiny, lowest, lowest_realised, problems, values, offsets = _native.scan(
        (
            p,
            y,
            None if weights is None else weights.astype(np.float64, copy=False),
            None if counts is None else counts.astype(np.int64, copy=False),
            grid.cell_of_code,
            grid.edges,
            grid.nested,
            grid.nested_edges,
            *columns.values(),
            hashes,
        ),
        y.dtype.kind,
        threads or max(1, min(processors(), MOST_THREADS, n // least)),
        allowed,
        grid.coarse and not any(cut < COARSE for cut in grid.cuts),
        HELD,
    )
    absent = WEIGHTED if weights is None else ()
    present = {name: column for name, column in columns.items() if column is not None and name not in absent}
    by_class = {name: column for name, column in present.items() if k <= MANY or name not in NOT_OF_MANY}
    numbers, place = np.frombuffer(sums), np.frombuffer(offsets, np.int64)
    pooled, top = (
        Histogram(**{name: column[start:end] for name, column in present.items()})
        for start, end in place[:4].reshape(2, 2).tolist()
    )
    return Pass(
        rows=rows,
        weight=float(numbers[0]),
        weight2=float(numbers[1]),
        problems=_problems(np.frombuffer(problems, np.int64).reshape(len(PROBLEMS), -1), np.frombuffer(values)),
        low=float(numbers[-2]),
        high=float(numbers[-1]),
        score_sums=numbers[2:14].reshape(4, 3),
        class_sums=np.frombuffer(classes).reshape(k, 6),
        column_sums=np.frombuffer(by_column),
        powers=numbers[14:51],
        tiny=np.frombuffer(tiny, np.int64),
        lowest=np.frombuffer(lowest, np.int64),
        lowest_realised=np.frombuffer(lowest_realised),
        pooled=pooled,
        top=top,
        classwise=Histograms(k, place[4:], by_class),
        hashes=hashes,
    )


def _by_place(p: Array, y: Array, grid: Grid, threads: int | None, allowed: float) -> Pass | None:
    """Return the pass over many rows of two classes in one column; None where some cannot be used."""
    counter = PlaceCounter(grid, threads)
    rest = counter.add(p, y, allowed)
    return None if rest is None else with_counted(rest, counter.result())


class PlaceCounter:
    """Columns of two classes that come one after another, counted by place; what follows from places is made once."""

    def __init__(self, grid: Grid, threads: int | None = None) -> None:
        self._grid, self._threads = grid, threads
        self._counters: list[BinaryMomentCounter] = []  # one for each thread
        self._pool = ThreadPoolExecutor(threads or min(processors(), MOST_THREADS))

    def add(self, p: Array, y: Array, allowed: float) -> Pass | None:
        """Count rows and return the pass over the rest; None where some cannot be used, and nothing counts then.

        The rest are the rows that are too near to 0 or 1 for their places; the lowest rows are those of all.
        """
        n, grid = len(p), self._grid
        threads = self._threads or max(1, min(processors(), MOST_THREADS, n // PAIRED))
        starts = [n * i // threads for i in range(threads)]
        parts = [slice(start, n * (i + 1) // threads) for i, start in enumerate(starts)]
        self._counters += [BinaryMomentCounter(grid) for _ in range(threads - len(self._counters))]
        rests = list(self._pool.map(lambda pair, part: pair.add(p[part], y[part]), self._counters, parts))
        usable = [rest for rest in rests if rest is not None]
        if len(usable) < threads:
            self._counters = []
            return None

        def rows(name: str) -> Array:
            return np.concatenate([start + getattr(rest, name) for start, rest in zip(starts, usable, strict=True)])

        others = rows("others")
        rest = by_row(p[others], y[others], grid, None, None, threads, allowed)
        lowest = np.concatenate([rows("lowest"), others[rest.lowest]])
        realised = np.concatenate([*(part.lowest_realised for part in usable), rest.lowest_realised])
        order = np.lexsort((lowest, realised))[:LOWEST]
        return replace(
            rest,
            low=min(part.low for part in usable),
            high=max(part.high for part in usable),
            tiny=others[rest.tiny],
            lowest=lowest[order],
            lowest_realised=realised[order],
            hashes=None,
        )

    def result(self) -> Pass:
        """Return the pass over the counted rows, without the lowest."""
        whole = BinaryMomentCounter(self._grid)
        for counter in self._counters:
            whole += counter
        return whole.result()


def with_counted(rest: Pass, counted: Pass) -> Pass:
    """Return the pass over the rest with the sums and histograms of the rows that were counted by place."""
    both = ("rows", "weight", "weight2", "score_sums", "class_sums", "column_sums", "powers")
    return replace(
        rest,
        **{name: getattr(counted, name) + getattr(rest, name) for name in both},
        pooled=Histogram.merge([counted.pooled, rest.pooled]),
        top=Histogram.merge([counted.top, rest.top]),
        classwise=tuple(map(Histogram.merge, zip(counted.classwise, rest.classwise, strict=True))),
    )


def _problems(numbers: Array, values: Array) -> dict[str, Problem]:
    """Return the problems by kind, from numbers of rows, column of the first, and first rows."""
    problems = dict.fromkeys(PROBLEMS, Problem())
    if not numbers[:, 0].any():
        return problems
    for name, (rows, column, *first), value in zip(PROBLEMS, numbers.tolist(), values.tolist(), strict=True):
        if rows:
            where = None if name in ("row_sum", "label") else column
            problems[name] = Problem(rows, tuple(first[: min(rows, FIRST)]), where, value)
    return problems
