"""Two classes in one column, counted by place and outcome with moments of the positions of rows in their cells.

In a cell that is narrow for its distance from 0, every smooth function of a probability is its Taylor series around the
middle. So Σ1, Σx, Σx², Σx³ of the positions x give the sum of any score and any power to 3e-13 and better, of all
rows so far, whenever it is asked for; a row itself costs neither logarithm nor power.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.kernels import _native  # type: ignore[attr-defined]
from veracity.kernels.grid import Grid
from veracity.kernels.refined_grid import refined_grid
from veracity.kernels.result import PROBLEMS, Histogram, Pass, Problem
from veracity.kernels.series import SUMS, Realised
from veracity.types import Array

WHOLE = ("count", "log", "brier")  # sums that a pass has for each outcome


@dataclass(frozen=True, eq=False)
class Rest:
    """Row numbers of a part: rows not counted here, and those with the lowest realised probability."""

    others: Array
    lowest: Array
    lowest_realised: Array
    low: float
    high: float


class BinaryMomentCounter:
    """The counts so far. Rows that gave 2^-14 or less to the outcome, and p below 2^-40, are left to `scan`."""

    def __init__(self, grid: Grid) -> None:
        self._grid, self._places = grid, refined_grid(grid)
        shape = (2, len(self._places.cell) + 1, 4)  # outcome, place (the last for rows that are not counted), moments
        room = np.zeros(np.prod(shape) + 4)
        start = -room.ctypes.data % 32 // 8  # moments are one vector
        self._table = room[start : start + np.prod(shape)].reshape(shape)
        self._table[:, self._places.divided, 0] = -1.0  # nothing is counted there: the kernel looks for the part

    def add(self, p: Array, y: Array) -> Rest | None:
        """Count rows and return the rest; None where a row cannot be used, and then some may have been counted."""
        known, others = self._places, np.empty(len(p), dtype=np.int64)
        record = _native.pair(p, y, known.first_part, known.part_edges, self._table, others)
        bad, count, low, high, lowest, realised = record
        rows, values = np.frombuffer(lowest, np.int64), np.frombuffer(realised)
        return None if bad else Rest(others[:count], rows, values, low, high)

    def __iadd__(self, other: BinaryMomentCounter) -> BinaryMomentCounter:
        self._table += other._table
        return self

    def result(self) -> Pass:
        """Return the pass over the counted rows, without the lowest."""
        known, table = self._places, self._table[:, :-1].transpose(1, 0, 2)
        place, y = np.nonzero(table[:, :, 0] > 0.0)
        moments = table[place, y].T
        moments = np.vstack([moments, moments[0] * known.fourth[place]])
        middle, unit = known.middle[place], known.unit[place]
        small = (y == 0) == known.above[place]  # whether the outcome had v, the smaller probability, or 1 - v
        rows = Realised(
            t0=np.where(small, middle, 1.0 - middle),
            t1=np.where(small, unit, -unit),
            rest0=np.where(small, 1.0 - middle, middle),
            log0=np.where(small, np.log(np.where(small, middle, 1.0)), np.log1p(-middle)),
            moments=moments,
        ).blocks()
        count, v = moments[0], middle * moments[0] + unit * moments[1]
        parts = [block.sums() for block in rows]
        sums = {"count": count, **{name: np.concatenate([part[name] for part in parts]) for name in SUMS}}
        column = [np.where(known.above[place] == (j == 0), v, count - v) for j in (0, 1)]  # Σ p_j
        right = known.picked[place] == (y == 1)
        scores = [
            [sums[name].sum(), sums[name].sum(), sums[f"{name}²"].sum()] for name in ("log", "brier", "spherical")
        ]
        by_class = np.array([[np.bincount(y, sums[name], 2)] * 2 for name in WHOLE]).reshape(6, 2).T
        new = np.diff(place, prepend=-1) != 0
        used = place[new]
        by_place = _Held(np.cumsum(new) - 1, y, len(used))

        def histogram(second: Array | bool) -> Histogram:
            """Return the histogram of entries of the second column where `second` holds, else of the first."""
            second = np.broadcast_to(second, len(used))
            return self._histogram(
                np.where(second, known.cell[used], known.other_cell[used]),
                all=by_place.all(count),
                all_sum=np.where(second, by_place.all(column[1]), by_place.all(column[0])),
                true=by_place.of(second, count),
                true_sum=by_place.of(second, sums["realised"]),
                true_log=-by_place.of(second, sums["log"]),
                true_power=by_place.of(second, sums["power"]),
            )

        classwise = (histogram(False), histogram(True))
        n = int(count.sum())
        return Pass(
            rows=n,
            weight=float(n),
            weight2=float(n),
            problems=dict.fromkeys(PROBLEMS, Problem()),
            low=np.inf,
            high=-np.inf,
            score_sums=np.array([*scores, [count[right].sum()] * 3]),
            class_sums=by_class,
            column_sums=np.array([column[0].sum(), column[1].sum()]),
            powers=np.sum([block.powers() for block in rows], axis=0),
            tiny=np.empty(0, np.int64),
            lowest=np.empty(0, np.int64),
            lowest_realised=np.empty(0),
            pooled=Histogram.merge(classwise),
            top=histogram(known.picked[used]),
            classwise=classwise,
        )

    def _histogram(self, cell: Array, **columns: Array) -> Histogram:
        """Return the histogram with the places of each cell added."""
        dense = {name: np.bincount(cell, values, len(self._grid)) for name, values in columns.items()}
        used = np.flatnonzero(dense["all"])
        sparse = {name: values[used] for name, values in dense.items()}
        counts = {name: sparse[name].astype(np.int64) for name in ("all", "true")}
        return Histogram(used.astype(np.int32), **(sparse | counts))


@dataclass(frozen=True, eq=False)
class _Held:
    """Values of places that hold rows, from values of (place, outcome)."""

    which: Array
    y: Array
    places: int

    def all(self, values: Array) -> Array:
        return np.bincount(self.which, values, self.places)

    def of(self, outcome: Array, values: Array) -> Array:
        """Return the values of one outcome, which may differ by place."""
        mine = (self.y == 1) == outcome[self.which]
        return np.bincount(self.which[mine], values[mine], self.places)
