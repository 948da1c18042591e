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
from veracity.kernels.cuts import limits
from veracity.kernels.grid import COARSE, CODES, Grid, lower_edges
from veracity.kernels.pair import Pair
from veracity.kernels.result import FIRST, LOWEST, MANY, PROBLEMS, Histogram, Histograms, Pass, Problem

Array = NDArray[Any]

THREAD = 100_000  # entries that a thread should have at least: fewer cost less than starting it
THREAD_OF_MANY = 30_000_000  # beyond 50 classes, where each thread has its own histograms of every class
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


@cache
def tables(grid: Grid) -> tuple[Array, ...]:
    """For each place its cell and nested cell, where a place is a code or a part of a code that cuts divide.

    Then a bit for each divided code, the first part of each, the lower edges of the parts, ended by infinity, and
    those of the nested cells.
    """
    first = grid.cell_of_code
    divided = np.flatnonzero(first < 0)
    lower = lower_edges()
    first_part = np.zeros(CODES, dtype=np.int32)
    cells: list[int] = []
    edges: list[float] = []
    for code in divided:
        first_part[code] = len(cells)
        start = -1 - int(first[code])
        inside = np.searchsorted(grid.edges, lower[code + 1], side="left") - start
        cells += range(start, start + inside)
        edges += [lower[code], *grid.edges[start + 1 : start + inside]]
    bits = np.zeros(_native.PARTS, dtype=np.uint8)
    unused = np.zeros(len(bits) - CODES)
    cell = np.concatenate([np.where(first < 0, -1 - first, first), unused, cells]).astype(np.int32)
    bits[divided] = 1
    bitmap = np.packbits(bits, bitorder="little").view(np.uint64)
    return cell, grid.nested[cell], bitmap, first_part, np.array([*edges, np.inf]), grid.nested_edges


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
    threads: int | None
    allowed: float
    bins: tuple[int, float] | None = None

    @property
    def k(self) -> int:
        return 2 if self.p.ndim == 1 else int(self.p.shape[1])

    @property
    def small(self) -> bool:
        fits = len(self.grid) <= 1 << 16  # cells are sorted by sixteen bits
        return fits and self.k <= MANY and len(self.p) * max(self.k, 2) <= _native.SMALL

    def run(self, realised: Array | None) -> Ran | None:
        """The pass; None where bins are wanted for which it is not made."""
        n, k, grid = len(self.p), self.k, self.grid
        size = min(n, len(grid) if k <= MANY else len(grid.nested_edges))
        # A class of many has its lowest cell until it proves empty, and one more cell is tried before it is kept.
        # Between bins a true entry may have a cell of its own.
        room = min(n * (k + 1), len(grid)) + min(n, len(grid)) + k * size + 2
        threads = self.threads
        if threads is None:
            least = THREAD if k <= MANY else max(THREAD_OF_MANY, 10_000 * k)
            threads = min(processors(), MOST_THREADS, 1 + n * k // least)
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
                *tables(grid),
                grid.ends,
                grid.is_atom,
                *held.values(),
            ),
            self.p.dtype.itemsize,
            self.y.dtype.kind,
            self.y.dtype.itemsize,
            threads,
            self.allowed,
            grid.coarse and not any(cut < COARSE for cut in grid.cuts),
            self.small,
            (0, 0, 0, 0.0, 0) if self.bins is None else limits(grid, *self.bins),
        )
        if made is None:
            return None
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
    threads: int | None,
    allowed: float = 1e-6,
    bins: tuple[int, float] | None = None,
) -> Pass:
    """The pass over p (n,) or (n, k)."""
    task = Task(p, y, grid, weights, counts, threads, allowed)
    faster, plain = None, weights is None and counts is None and not keep_realised
    if plain and p.ndim == 1 and len(p) >= PAIRED:
        faster = _by_place(task)
    elif plain and bins is not None and grid.coarse and task.k > MANY and p.dtype == np.float32:
        faster = _between(replace(task, bins=bins))
    return faster or _by_row(task, keep_realised)


def _by_row(task: Task, keep_realised: bool = False) -> Pass:
    realised = np.full(len(task.p), np.nan) if keep_realised else None
    ran = task.run(realised)
    assert ran is not None, "only bins may be out of reach"
    return _made(task, ran, realised)


def _between(task: Task) -> Pass | None:
    """The pass with entries counted between bins, those of a class between cuts; None where it is not made."""
    few = task.grid.of_cuts
    ran = replace(task, grid=few).run(None)
    if ran is None:
        return None
    made = _made(task, ran, None)
    cells, starts = ran.held["cells"][: ran.place[-1]], ran.found[-1]  # classes come first
    cells[:] = np.searchsorted(task.grid.nested_edges, few.nested_edges)[cells]
    # Below the cells that are counted there is one sum: what the others leave.
    made.pooled.all_sum[0] += max(made.column_sums.sum() - made.pooled.all_sum.sum(), 0.0)
    return replace(made, starts=(np.frombuffer(starts[0], np.int64), np.frombuffer(starts[1], np.int64)))


def _made(task: Task, ran: Ran, realised: Array | None) -> Pass:
    k, place, held = task.k, ran.place, ran.held
    rows, sums, classes, by_column, tiny, lowest, lowest_realised, problems, values, _ = ran.found
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
    )


def _by_place(task: Task) -> Pass | None:
    """The pass over many rows of two classes in one column; None where some cannot be used."""
    p, y, n = task.p, task.y, len(task.p)
    threads = task.threads or min(processors(), MOST_THREADS, 1 + n // PAIRED)
    starts = [n * i // threads for i in range(threads)]
    parts = [slice(start, n * (i + 1) // threads) for i, start in enumerate(starts)]
    pairs = [Pair(task.grid) for _ in parts]
    with ThreadPoolExecutor(threads) as pool:
        rests = list(pool.map(lambda pair, part: pair.add(p[part], y[part]), pairs, parts))
    found = [rest for rest in rests if rest is not None]
    if len(found) < threads:
        return None
    for other in pairs[1:]:
        pairs[0] += other

    def rows(name: str) -> Array:
        return np.concatenate([start + getattr(rest, name) for start, rest in zip(starts, found, strict=True)])

    others = rows("others")
    counted, rest = pairs[0].result(), _by_row(replace(task, p=p[others], y=y[others]))
    lowest = np.concatenate([rows("lowest"), others[rest.lowest]])
    realised = np.concatenate([*(part.lowest_realised for part in found), rest.lowest_realised])
    order = np.lexsort((lowest, realised))[:LOWEST]
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
