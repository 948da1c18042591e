"""The pass in C: what goes to the compiled module and what comes back."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels import _native  # type: ignore[attr-defined]
from veracity.kernels.grid import CODES, SPLIT, Grid, lower_edges
from veracity.kernels.result import FIRST, MANY, PROBLEMS, Histograms, Pass, Problem, tolerance

Array = NDArray[Any]

SMALL = 1 << 15  # entries up to which they are sorted instead of counted
THREAD = 100_000  # entries that a thread should have at least: fewer cost less than starting it
MOST_THREADS = 16
ALL = ("all", "all_sum", "all_weight", "all_weight2")
TRUE = ("true", "true_sum", "true_log", "true_power", "true_weight", "true_weight2")


@cache
def tables(grid: Grid) -> tuple[Array, ...]:
    """For each place its cell and nested cell, where a place is a code or a part of a code that cuts divide.

    Then a bit for each divided code, the first part of each, and the lower edges of the parts, ended by infinity.
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
    return cell, grid.nested[cell], bitmap, first_part, np.array([*edges, np.inf])


def scan(
    p: Array,
    y: Array,
    grid: Grid,
    weights: Array | None,
    counts: Array | None,
    keep_realised: bool,
    threads: int | None,
) -> Pass:
    """The pass over p (n,) or (n, k)."""
    k = 2 if p.ndim == 1 else p.shape[1]
    n = len(p)
    realised = np.full(n, np.nan) if keep_realised else None
    if threads is None:
        threads = min(os.cpu_count() or 1, MOST_THREADS, 1 + n * k // (THREAD if k <= MANY else 100 * THREAD))
    size = min(n, len(grid) if k <= MANY else len(grid.nested_edges))
    room = min(n * k, len(grid)) + min(n, len(grid)) + k * size + 2
    cells = np.empty(room, np.int32)
    mass = weights is not None or counts is not None
    columns = {
        name: np.empty(room, np.int64 if name in ("all", "true") else np.float64) if mass or "weight" not in name else None
        for name in ALL + TRUE
    }
    rows, sums, classes, by_column, tiny, lowest, lowest_realised, problems, values, offsets = _native.scan(
        (
            p,
            y,
            None if weights is None else weights.astype(np.float64, copy=False),
            None if counts is None else counts.astype(np.int64, copy=False),
            realised,
            *tables(grid),
            cells,
            *columns.values(),
        ),
        p.dtype.itemsize,
        y.dtype.kind,
        y.dtype.itemsize,
        threads,
        tolerance(p.dtype, k),
        len(grid.nested_edges),
        float(grid.nested_edges[1]),
        bool(grid.coarse and grid.nested_edges[1] == SPLIT),
        k <= MANY and n * k <= SMALL,
    )
    place = np.frombuffer(offsets, np.int64)
    held = {"cells": cells}
    for name, column in columns.items():
        if column is not None and (weights is not None or "weight" not in name):
            held[name] = column
    pooled, top = Histograms(place[:3], held)
    if k > MANY:
        held = {name: column for name, column in held.items() if name not in ("true_sum", "true_log", "true_power")}
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
        classwise=Histograms(place[2:], held),
    )


def _problems(numbers: Array, values: Array) -> dict[str, Problem]:
    """Of each kind: rows, column of the first, first rows."""
    found = dict.fromkeys(PROBLEMS, Problem())
    for name, (rows, column, *first), value in zip(PROBLEMS, numbers.tolist(), values.tolist(), strict=True):
        if rows:
            where = None if name in ("row_sum", "label") else column
            found[name] = Problem(rows, tuple(first[: min(rows, FIRST)]), where, value)
    return found
