"""Adjustment coherent with the log score: A ∝ w·S, with weights w that give columns their target means (KF15 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from veracity.calibrators._fitted import Formula
from veracity.formulas.rules import largest
from veracity.inputs import Forecasts
from veracity.types import Array

from ._dual_solver import Chunks, in_memory, mean_of, solve
from ._target import Task, blocks_and_levels

LABEL = "prior correction"

STEP_CAP = 8.0  # range of log weights in one step: the quadratic model does not reach further


def tilt(rows: Array, u: Array, level: Array | None = None) -> Array:
    """Return rows in proportion to e^u·S; with levels, only with the classes of the highest level in their support."""
    if level is not None and level.any():
        reach = np.where(rows > 0.0, level, -1.0).max(axis=1)
        rows = np.where(level == reach[:, None], rows, 0.0)
    finite = u[np.isfinite(u)]
    low, high = finite.min(), finite.max()
    if high - low < 1300.0:  # a row's largest score is at least 1/k, so the products stay within float64
        a = rows * np.exp(u - (low + high) / 2.0)
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(rows) + u
        a = np.exp(logs - largest(logs))
    total = a @ np.ones(a.shape[1])
    a /= total[:, None]
    return np.asarray(a)


@dataclass(frozen=True, eq=False)
class Multiplicative(Formula):
    """A_ij ∝ w_j S_ij.

    shift   (k,) log weights; −inf for a class the target rules out. Comparable within a block only.
    block   (k,) classes whose weight ratios are finite share a number
    level   (k,) where the weights run away, only the classes of the highest level in a row keep probability
    """

    shift: Array
    block: Array
    level: Array
    steps: int

    needs_labels: ClassVar[bool] = False
    outside: ClassVar[int] = 0
    edge: ClassVar[int] = 0
    wording = LABEL

    @property
    def weights(self) -> Array:
        """(k,) w, the smallest positive one of each block 1; infinite above level 0."""
        out = np.zeros(self.k)
        for label in np.unique(self.block):
            members = (self.block == label) & np.isfinite(self.shift)
            if members.any():
                with np.errstate(over="ignore"):
                    out[members] = np.exp(self.shift[members] - self.shift[members].min())
        out[(self.level > self.level[out > 0].min()) & (out > 0)] = np.inf
        return out

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.shift.shape == self.level.shape == self.block.shape == (self.k,), "shapes")
        self.require(np.isfinite(self.shift).any(), "every class ruled out")
        super().check(np.isfinite(self.shift))

    def rows(self, p: Array) -> Array:
        kept = np.isfinite(self.shift)
        lost = np.flatnonzero(~(p[:, kept] > 0.0).any(axis=1))
        if lost.size:
            raise ValueError(f"rows: {p[lost[0]].tolist()} gives probability only to classes that the target rules out")
        return tilt(p, self.shift, np.where(kept, self.level, -1.0) if self.level.any() else None)


def log_weights(chunks: Chunks, target: Array, block: Array, level: Array) -> tuple[Array, int]:
    """Return u with mean A = target, and the number of Newton steps."""
    forced = level if level.any() else None

    def place(rows: Array, u: Array) -> tuple[Array, Array, float]:
        a = tilt(rows, u, forced)
        return a, a, 1.0

    def fixed_point(mean: Array) -> Array:
        return np.asarray(np.clip(np.log(target) - np.log(np.maximum(mean, 1e-300)), -STEP_CAP / 2, STEP_CAP / 2))

    start = np.log(target) - np.log(mean_of(chunks, len(target)))
    return solve(chunks, place, target, start, block, cap=STEP_CAP, fallback=fixed_point)


def fit_chunks(chunks: Chunks, mass: float, target: ArrayLike, classes: tuple[Any, ...]) -> Multiplicative:
    """Return the map from passes over rows (m, k) with their shares of the mass: a stream, or arrays in blocks."""
    task = Task(chunks, target, classes)
    block, level = blocks_and_levels(task.chunks, mass, task.target, task.names)
    u, steps = log_weights(task.chunks, task.target, block, level)
    values = {"shift": task.all_classes(u, -np.inf), "block": task.all_classes(block, -1)}
    return Multiplicative(classes, **values, level=task.all_classes(level, 0), steps=steps)


def fit(forecasts: Forecasts, *, target: ArrayLike | None = None) -> Multiplicative:
    """Return the weights for the target class frequencies, by default those of the outcomes. KF15 section 4.1.

    >>> S = np.array([.9] * 4 + [.3] * 4)
    >>> fitted = fit(Forecasts(np.column_stack([S, 1 - S]), None, (1, 2)), target=[.625, .375])
    >>> fitted.weights.round(2).tolist(), fitted([[.9, .1]]).round(3).tolist()
    ([1.18, 1.0], [[0.914, 0.086]])
    """
    wanted = forecasts.prior if target is None else target
    return fit_chunks(in_memory(forecasts), float(forecasts.mass.sum()), wanted, forecasts.classes)
