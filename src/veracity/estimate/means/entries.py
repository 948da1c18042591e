"""The probabilities of the outcomes by cell, and the generalized means that follow from them, without intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.means.row_sums import true_cells
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.kernels.result import R
from veracity.state.sums import Sums
from veracity.state.tally import Tally
from veracity.types import Floats

MEANS = {"decisiveness": 1.0, "geometric_accuracy": 0.0, "robustness": -2.0 / 3.0}
AT = {name: int(np.argmin(np.abs(R - r))) for name, r in MEANS.items()}
ZERO = AT["geometric_accuracy"]  # r = 0, where formulas take logarithms; r < 0 before, r > 0 after
DIVISOR = np.where(R == 0.0, 1.0, R)


@dataclass(frozen=True)
class Entries:
    """Realised probabilities by cell, floored as the plan says: weights, and sums of p, ln p and p^(−2/3)."""

    cells: NDArray[np.int64]
    rows: NDArray[np.int64]
    weight: Floats
    log: Floats  # the mean logarithm
    sums: Floats  # (3, cells) Σw p, Σw ln p, Σw p^(−2/3)

    @classmethod
    def of(cls, h: Histogram, grid: Grid, floor: float = 0.0, ceiling: float = 1.0) -> Entries:
        (cells, rows), sums = true_cells(h)
        weight, sums = sums[0], sums[1:]
        if len(cells) and cells[0] == 0:
            sums[1:, 0] = -np.inf, np.inf
        if floor > 0.0:
            beyond = cells.searchsorted(cell_of(grid, floor))
            sums[:, :beyond] = floored_sums((floor,)) * weight[:beyond]
        if ceiling < 1.0:
            beyond = cells.searchsorted(cell_of(grid, ceiling), "right")
            sums[:, beyond:] = floored_sums((ceiling,)) * weight[beyond:]
        return cls(cells, rows, weight, sums[1] / weight, sums)

    def means(self) -> dict[str, float]:
        means = means_of(self.sums.sum(axis=1) / self.weight.sum())
        return dict(zip(MEANS, map(float, means), strict=True))

    def profile(self) -> Floats:
        """Return ln P_r for all r, from cell means (to about 1e-7; exact sums are used where there is no floor)."""
        total = self.weight.sum()
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = np.log(self.weight / total)[:, None] + np.where(R == 0.0, 0.0, self.log[:, None] * R)
            peak = np.max(np.where(np.isfinite(terms), terms, -np.inf), axis=0)
            powers = (peak + np.log(np.exp(terms - peak).sum(axis=0))) / DIVISOR
            powers = np.where((R < 0.0) & np.isinf(self.log).any(), -np.inf, powers)
            logs: Floats = np.where(R == 0.0, self.weight @ self.log / total, powers)
        logs[list(AT.values())] = np.log(np.maximum(list(self.means().values()), 0.0) + 0.0)
        return logs


@lru_cache(maxsize=64)
def cell_of(grid: Grid, limit: float) -> int:
    return grid.atom(limit) if 0.0 < limit < 1.0 else (0 if limit <= 0.0 else len(grid.edges))


@dataclass(frozen=True)
class ProfileValues:
    """The reported risk profile, ln P_r for every r of the grid."""

    tally: Tally

    @cached_property
    def entries(self) -> Entries:
        floor, ceiling = self.tally.plan.limits
        return Entries.of(self.tally.pooled, self.tally.grid, floor, ceiling)

    @cached_property
    def log_values(self) -> Floats:
        """ln P_r."""
        s = self.tally.sums
        if self.tally.plan.limits != (0.0, 1.0):
            return self.entries.profile()
        values: Floats = (log_powers(s) - math.log(s.weight)) / DIVISOR
        values[ZERO] = -s.score[0, 0] / s.weight
        if s.zeros:
            values[: ZERO + 1] = -np.inf
        return np.minimum(values, 0.0) if values.max() < 1e-9 else values

    @cached_property
    def values(self) -> Floats:
        return np.exp(self.log_values)


def log_powers(sums: Sums) -> Floats:
    """Return ln Σ w p^r over rows above zero."""
    with np.errstate(divide="ignore"):
        powers: Floats = np.logaddexp(np.log(sums.powers), sums.log_tiny)
    return powers


@lru_cache(maxsize=16)
def floored_sums(levels: tuple[float, ...]) -> Floats:
    """Return (3, levels): what an entry at the floor adds to the sums."""
    with np.errstate(divide="ignore"):
        return np.array([levels, np.log(levels), np.power(levels, -2.0 / 3.0)])


def means_of(averages: Floats) -> tuple[Floats, Floats, Floats]:
    """Return decisiveness, accuracy and robustness from the averages of p, ln p and p^(−2/3)."""
    arithmetic, log, power = averages
    with np.errstate(divide="ignore"):
        return arithmetic, np.exp(log), power**-1.5
