"""The pass in C: what goes to the compiled module and what comes back."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels import _native  # type: ignore[attr-defined]
from veracity.kernels.grid import COARSE, Grid
from veracity.kernels.hashes import forecast_hashes
from veracity.kernels.pair import Pair
from veracity.kernels.result import FIRST, LOWEST, MANY, PROBLEMS, Histogram, Histograms, Pass, Problem

Array = NDArray[Any]

# Rows up to which clearing the histograms of every class would cost more than counting class by class in one.
HELD = 3 << 14
# Rows that a thread should have at least, as it has histograms of its own for every class: their entries are then worth
# clearing, joining and starting. Beyond 50 classes histograms are small, and entries count.
ROWS_OF_THREAD, ROWS_OF_THREAD_OF_MANY, ENTRIES_OF_THREAD = 1 << 18, 10_000, 30_000_000
MOST_THREADS = 16
PAIRED = 1 << 20  # rows of two classes in one column from which counting them by `Pair` is faster
ALL = ("all", "all_sum", "all_weight", "all_weight2")
TRUE = ("true", "true_sum", "true_log", "true_power", "true_weight", "true_weight2")
WEIGHTED = tuple(name for name in ALL + TRUE if "weight" in name)
# Name, kind, and whether it is filled where rows have neither weights nor counts.
COLUMNS = tuple(
    (name, np.int64 if name in ("all", "true") else np.float64, name not in WEIGHTED) for name in ALL + TRUE
)


@cache
def processors() -> int:
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Ran:
    """What the module returns, where histograms begin and end (pooled, top, classes), and their fields."""

    found: tuple[Any, ...]
    place: Array
    held: dict[str, Array]


@dataclass(frozen=True)
class Task:
    """The arguments of a pass."""

    p: Array
    y: Array
    grid: Grid
    weights: Array | None
    counts: Array | None
    hash_limit: int | None
    threads: int | None
    allowed: float

    @property
    def k(self) -> int:
        return 2 if self.p.ndim == 1 else int(self.p.shape[1])

    def most_threads(self) -> int:
        """Return how many threads have enough to do."""
        n, k = len(self.p), self.k
        least = ROWS_OF_THREAD if k <= MANY else max(ROWS_OF_THREAD_OF_MANY, ENTRIES_OF_THREAD // k)
        return max(1, min(processors(), MOST_THREADS, n // least))

    def run(self, realised: Array | None) -> Ran:
        """Return what the compiled pass finds."""
        n, k, grid = len(self.p), self.k, self.grid
        size = min(n, len(grid) if k <= MANY else len(grid.nested_edges))
        # Pooled entries, picks and classes; one more cell is tried before it is kept.
        room = min(n * (k + 1), len(grid)) + min(n, len(grid)) + k * size + 1
        mass = self.weights is not None or self.counts is not None
        # One large array: NumPy asks for huge pages then, and the system has few to clear.
        spare = iter(np.empty((1 + len(COLUMNS), room), np.int64))
        held: dict[str, Array | None] = {"cells": next(spare).view(np.int32)[:room]}
        for name, kind, kept in COLUMNS:
            held[name] = next(spare).view(kind) if kept or mass else None
        made = _native.scan(
            (
                self.p,
                self.y,
                None if self.weights is None else self.weights.astype(np.float64, copy=False),
                None if self.counts is None else self.counts.astype(np.int64, copy=False),
                realised,
                grid.cell_of_code,
                grid.edges,
                grid.nested,
                grid.nested_edges,
                *held.values(),
            ),
            self.y.dtype.kind,
            self.threads or self.most_threads(),
            self.allowed,
            grid.coarse and not any(cut < COARSE for cut in grid.cuts),
            HELD,
            self.hash_limit is not None,
            self.hash_limit or 0,
        )
        if mass and self.weights is None:
            held |= dict.fromkeys(WEIGHTED)
        wanted = {name: column for name, column in held.items() if column is not None}
        return Ran(made[:-1], np.frombuffer(made[-1], np.int64), wanted)


def scan(
    p: Array,
    y: Array,
    grid: Grid,
    weights: Array | None,
    counts: Array | None,
    keep_realised: bool,
    hash_limit: int | None,
    threads: int | None,
    allowed: float = 1e-6,
) -> Pass:
    """Return the pass over p (n,) or (n, k)."""
    task = Task(p, y, grid, weights, counts, hash_limit, threads, allowed)
    plain = weights is None and counts is None and not keep_realised
    by_place = _by_place(task) if plain and p.ndim == 1 and len(p) >= PAIRED else None
    return by_place or _by_row(task, keep_realised)


def _by_row(task: Task, keep_realised: bool = False) -> Pass:
    realised = np.full(len(task.p), np.nan) if keep_realised else None
    return _made(task, task.run(realised), realised)


def _made(task: Task, ran: Ran, realised: Array | None) -> Pass:
    k, place, held = task.k, ran.place, ran.held
    rows, sums, classes, by_column, tiny, lowest, lowest_realised, near, near_hashes, problems, values = ran.found
    if k > MANY:
        by_class = {name: column for name, column in held.items() if name not in ("true_sum", "true_log", "true_power")}
    else:
        by_class = held
    pooled, top = (
        Histogram(**{name: column[start:end] for name, column in held.items()})
        for start, end in place[:4].reshape(2, 2).tolist()
    )
    numbers = np.frombuffer(sums)
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
        realised=realised,
        pooled=pooled,
        top=top,
        classwise=Histograms(k, lambda: (place[4:], by_class)),
        near=None if task.hash_limit is None else np.frombuffer(near, np.int64),
        near_hashes=None if task.hash_limit is None else np.frombuffer(near_hashes, np.uint64),
    )


def _by_place(task: Task) -> Pass | None:
    """The pass over many rows of two classes in one column; None where some cannot be used."""
    p, y, n = task.p, task.y, len(task.p)
    threads = task.threads or min(processors(), MOST_THREADS, 1 + n // PAIRED)
    starts = [n * i // threads for i in range(threads)]
    parts = [slice(start, n * (i + 1) // threads) for i, start in enumerate(starts)]
    pairs = [Pair(task.grid) for _ in parts]
    with ThreadPoolExecutor(threads) as pool:
        rests = list(pool.map(lambda pair, part: pair.add(p[part], y[part], task.hash_limit), pairs, parts))
    found = [rest for rest in rests if rest is not None]
    if len(found) < threads:
        return None
    for other in pairs[1:]:
        pairs[0] += other

    def rows(name: str) -> Array:
        return np.concatenate([start + getattr(rest, name) for start, rest in zip(starts, found, strict=True)])

    others = rows("others")
    counted, rest = pairs[0].result(), _by_row(replace(task, p=p[others], y=y[others], hash_limit=None))
    lowest = np.concatenate([rows("lowest"), others[rest.lowest]])
    realised = np.concatenate([*(part.lowest_realised for part in found), rest.lowest_realised])
    order = np.lexsort((lowest, realised))[:LOWEST]
    near = None if task.hash_limit is None else rows("near")
    both = ("rows", "weight", "weight2", "score_sums", "class_sums", "column_sums", "powers")
    return replace(
        rest,
        **{name: getattr(counted, name) + getattr(rest, name) for name in both},
        low=min(part.low for part in found),
        high=max(part.high for part in found),
        tiny=others[rest.tiny],
        lowest=lowest[order],
        lowest_realised=realised[order],
        pooled=Histogram.merge([counted.pooled, rest.pooled]),
        top=Histogram.merge([counted.top, rest.top]),
        classwise=tuple(map(Histogram.merge, zip(counted.classwise, rest.classwise, strict=True))),
        near=near,
        near_hashes=None if near is None else forecast_hashes(p[near]),
    )


def _problems(numbers: Array, values: Array) -> dict[str, Problem]:
    """Of each kind: rows, column of the first, first rows."""
    found = dict.fromkeys(PROBLEMS, Problem())
    if not numbers[:, 0].any():
        return found
    for name, (rows, column, *first), value in zip(PROBLEMS, numbers.tolist(), values.tolist(), strict=True):
        if rows:
            where = None if name in ("row_sum", "label") else column
            found[name] = Problem(rows, tuple(first[: min(rows, FIRST)]), where, value)
    return found
