"""Places of a probability p of two classes: intervals in which the cells of p and of 1 - p are both fixed.

Codes mirror each other but for rounding: 1 - p of a p at the lower end of a code may lie in the next cell, and a cut on
one side divides a code on the other. So a place is a code, its lower end, or a part of a code that a cut divides on
either side; within a place, both cells are the same for every p.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from veracity.kernels.grid import CODES, FINE, HALF_CODE, LEAST, SPLIT_CODE, TINY, Grid, lower_edges
from veracity.types import Array

END = CODES  # the first place of lower ends; parts of divided codes follow these


@dataclass(frozen=True, eq=False)
class RefinedGrid:
    """For each place of p: the cells of p and of 1 - p, and the middle and unit of v, the smaller of the two."""

    cell: Array
    other_cell: Array  # of 1 - p
    above: Array  # whether p >= 1/2
    picked: Array  # whether p > 1/2
    middle: Array
    unit: Array  # v = middle + unit x
    fourth: Array  # assumed mean of x^4
    divided: Array  # places of divided codes, whose rows belong to parts
    first_part: Array  # of each divided code
    part_edges: Array


@cache
def refined_grid(grid: Grid) -> RefinedGrid:
    lower = lower_edges()
    upper = np.append(lower[1:], 1.0)
    divided: list[int] = []
    first_part = np.zeros(CODES, dtype=np.int32)
    starts: list[float] = []
    codes: list[int] = []
    for code, edges in _breaks(grid, lower).items():
        divided.append(code)
        first_part[code] = len(starts)
        starts += edges
        codes += [code] * len(edges)
    inside = (lower + upper) / 2
    sample = np.concatenate([inside, lower, starts])
    every = np.concatenate([np.arange(CODES), np.arange(CODES), codes]).astype(np.int64)
    above: Array = np.greater_equal(every, HALF_CODE)
    middle, unit, half = _middles(lower, np.where(above, CODES - 1 - every, every))
    at_end = np.repeat([False, True, False], [END, END, len(codes)])
    return RefinedGrid(
        cell=grid.locate(sample),
        other_cell=grid.locate(1.0 - sample),
        above=above,
        picked=sample > 0.5,
        middle=middle,
        unit=unit,
        fourth=np.where(at_end, half**4, half**4 / 5),  # at the end of a cell, or anywhere in it
        divided=np.add.outer([0, END], np.array(divided, dtype=np.int64)).ravel(),
        first_part=first_part,
        part_edges=np.array(starts, dtype=np.float64),
    )


def _breaks(grid: Grid, lower: Array) -> dict[int, list[float]]:
    """Return where in a code the cell of p or of 1 - p changes, for codes that a cut divides on either side."""
    first = grid.cell_of_code
    by_code: dict[int, list[float]] = {}
    for code in np.flatnonzero((first < 0) | (first[::-1] < 0)).tolist():
        low, high = float(lower[code]), float(np.nextafter(lower[code + 1], 0.0))
        cells = (float(grid.edges[i]) for i in range(*np.searchsorted(grid.edges, [low, high], side="right")))
        breaks = {low, *cells}
        mirrored = np.searchsorted(grid.edges, [1.0 - high, 1.0 - low], side="right")
        for i in range(int(mirrored[0]), int(mirrored[1]) + 1):
            # the smallest p of the code whose 1 - p lies below edge i
            if i < len(grid.edges) and 1.0 - low >= grid.edges[i] > 1.0 - high:
                breaks.add(_smallest(low, high, float(grid.edges[i])))
        by_code[code] = sorted(breaks)
    return by_code


def _smallest(low: float, high: float, edge: float) -> float:
    """Return the smallest float p from low to high with 1 - p < edge, by halving their bits."""
    a, b = int(np.float64(low).view(np.int64)), int(np.float64(high).view(np.int64))
    while b - a > 1:
        between = (a + b) // 2
        if 1.0 - float(np.int64(between).view(np.float64)) < edge:
            b = between
        else:
            a = between
    return float(np.int64(b).view(np.float64))


def _middles(lower: Array, code: Array) -> tuple[Array, Array, Array]:
    """Return middle, unit, and half width in units, of codes below 1/2; zero itself has no width."""
    low, half = lower[code], np.where(code < SPLIT_CODE, 2.0 ** (-TINY - 1), 2.0 ** (-FINE - 1))
    unit = np.where(code < 2, 0.0, np.exp2(np.floor(np.log2(np.maximum(low, LEAST)))))
    return np.where(code < 2, 0.0, low + unit * half), unit, half
