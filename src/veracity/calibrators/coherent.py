"""Adjustment coherent with any member r of the power family: the gradient shifts by one vector for all rows.

KF15's condition (1) says that ∇g(A) − ∇g(S) is the same for all rows up to a multiple of (1, …, 1). r = 0 is the
multiplicative adjustment; r = 1 here stays in the simplex, unlike `additive`. For r > 0 entries may touch the edge;
there ∇g(A) − ∇g(S) exceeds the shift by a multiplier μ ≥ 0 and loss = adjustment + post-adjustment + mean μ of the
outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from veracity.calibrators._fitted import Formula
from veracity.formulas.rules import near_power_inverse, power
from veracity.inputs import Forecasts
from veracity.types import Array

from ._dual_solver import Chunks, in_memory, laplacian_direction, solve, summed
from ._target import Task, blocks_and_levels
from .multiplicative import log_weights, tilt

INSIDE_STEPS = 200


def nearest_in_simplex(v: Array) -> Array:
    """Return the nearest row of the simplex to each row: v + c, floored at zero, with sum one."""
    falling = -np.sort(-v, axis=-1)
    with np.errstate(invalid="ignore"):
        c = (1.0 - np.cumsum(falling, axis=-1)) / np.arange(1, v.shape[-1] + 1)
        last = (falling + c > 0.0).sum(axis=-1, keepdims=True) - 1
    return np.asarray(np.maximum(v + np.take_along_axis(c, last, axis=-1), 0.0))


def shifted(rows: Array, b: Array, r: float, level: Array | None = None) -> Array:
    """Return the rows of the simplex with gradient ∇g(S) + b + c(S)·1."""
    rule = power(r)
    x = rule.gradient(rows, rows) / rule.unit
    v = x + b
    if level is not None:
        reach = np.where(rows > 0.0, level, -1.0).max(axis=1)
        v[level != reach[:, None]] = -np.inf
    if r == 1.0:
        return nearest_in_simplex(v)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if r < 0.0 and level is None and np.isfinite(b).all():
            h = rows / (1.0 + r * x)  # S^(1 − r): to first order the total stays one, and it is convex
            return near_power_inverse(v, r, -(h @ b / (h @ np.ones(len(b))))[:, None])
        return rule.inverse(rule.unit * v)


@dataclass(frozen=True, eq=False)
class Coherent(Formula):
    """Rows with gradient ∇g(S) + shift.

    shift   (k,) in units in which it adds to ln S at r = 0 and to S at r = 1; −inf for a class the target rules out
    edge    number of values of the fitted rows that touch zero though their score did not (r > 0)
    """

    r: float
    shift: Array
    level: Array
    steps: int
    edge: int

    needs_labels: ClassVar[bool] = False
    outside: ClassVar[int] = 0
    wording = "prior correction (r = {0.r:.3g})"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.r > -1.0, f"r = {self.r!r}; scores are proper for r > -1")
        self.require(self.shift.shape == self.level.shape == (self.k,), "shapes")
        self.require(np.isfinite(self.shift).any(), "every class ruled out")
        super().check(np.isfinite(self.shift))

    def rows(self, p: Array) -> Array:
        return shifted(p, self.shift, self.r, self.level if self.level.any() else None)

    def multipliers(self, rows: ArrayLike) -> Array:
        """Return (n, k) μ ≥ 0: the excess of the gradient's rise over the shift where a value touches zero."""
        p = np.asarray(rows, dtype=np.float64)
        a, rule = self.rows(p), power(self.r)
        if self.r <= 0.0:
            return np.zeros_like(a)
        rise = rule.gradient(a, a) - rule.gradient(p, p) - rule.unit * self.shift
        inside = np.where(a > 0.0, rise, np.nan)
        with np.errstate(invalid="ignore"):
            excess = rise - np.nanmean(inside, axis=1, keepdims=True)
        return np.where((a > 0.0) | ~np.isfinite(self.shift), 0.0, np.maximum(excess, 0.0))


@np.errstate(over="ignore", invalid="ignore")  # powers of scores next to 0 leave the range of floats
def start_inside(chunks: Chunks, target: Array, block: Array, level: Array, r: float) -> Array:
    """Return a shift near the solution for r < 0, where the links of small scores have very different sizes.

    Newton on A itself, from the multiplicative adjustment: rows keep sum one and columns their means, and A stays
    positive, while its gradient approaches ∇g(S) + b + c. (From no shift at all, Newton on b does not converge. A
    general optimiser with n·k unknowns would not see that each step is a system of k equations.)
    """
    u, _ = log_weights(chunks, target, block, level)
    forced = level if level.any() else None
    members = [np.flatnonzero(block == label) for label in np.unique(block)]
    gradient, k = power(r).gradient, len(target)
    batches = [(rows, shares, tilt(rows, u, forced)) for rows, shares in chunks()]
    b = np.zeros(k)
    for _ in range(INSIDE_STEPS):
        coupling, moved, parts = np.zeros((k, k)), np.zeros(k), []
        for rows, shares, a in batches:
            h = a ** (1.0 - r)
            total = h.sum(axis=1)
            with np.errstate(invalid="ignore"):
                rise = np.where(h > 0.0, (gradient(a, a) - gradient(rows, rows)) / (1.0 + r), 0.0)
            moved += shares @ (h * (rise - ((h * rise).sum(axis=1) / total)[:, None]))
            coupling += (h * (shares / total)[:, None]).T @ h
            parts.append((h, total, rise))
        direction = laplacian_direction(coupling, -moved, members)
        if direction is None:
            break
        b, steps = direction, []
        for h, total, rise in parts:
            left = b - rise
            steps.append(h * (left - ((h * left).sum(axis=1) / total)[:, None]))
        change = max(float(np.abs(step).max()) for step in steps)
        reach = min(
            float(np.min(np.where(step < 0.0, a / np.where(step < 0.0, -step, 1.0), np.inf)))
            for (_, _, a), step in zip(batches, steps, strict=True)
        )
        length = min(1.0, 0.9 * reach)
        batches = [(rows, shares, a + length * step) for (rows, shares, a), step in zip(batches, steps, strict=True)]
        if change < 1e-9:
            break
    return b


def fit_chunks(
    chunks: Chunks, mass: float, target: ArrayLike, classes: tuple[Any, ...], r: float, start: Array | None = None
) -> Coherent:
    task = Task(chunks, target, classes)
    chunks, wanted = task.chunks, task.target
    block, level = np.zeros(len(wanted), int), np.zeros(len(wanted), int)
    if r <= 0.0:
        block, level = blocks_and_levels(chunks, mass, wanted, task.names)
    forced = level if level.any() else None

    def place(rows: Array, b: Array) -> tuple[Array, Array, Array]:
        a = shifted(rows, b, r, forced)
        with np.errstate(divide="ignore"):
            h = a if r == 0.0 else np.where(a > 0.0, a ** (1.0 - r), 0.0)
        return a, h, h.sum(axis=1)

    if start is not None:
        first = start[task.kept]
    else:
        first = start_inside(chunks, wanted, block, level, r) if r < 0.0 else np.zeros(len(wanted))
    # Links have the range 1/r above r = 0 and none below.
    cap = 2.0 / r if r > 0.0 else 8.0 if r == 0.0 else np.inf
    downhill = lambda mean: (wanted - mean) * min(cap, 1e3)  # noqa: E731
    b, steps = solve(chunks, place, wanted, first, block, cap=cap, far=r < 0.0 or r > 1.0, fallback=downhill)
    shift, levels = task.all_classes(b - b.mean(), -np.inf), task.all_classes(level, 0)
    edge = 0
    if r > 0.0:
        (edge,) = summed(chunks, lambda rows, _: (int(((shifted(rows, b, r) == 0.0) & (rows > 0.0)).sum()),), (0,))
    return Coherent(classes, r=r, shift=shift, level=levels, steps=steps, edge=edge)


def fit(
    forecasts: Forecasts, *, r: float = 0.5, target: ArrayLike | None = None, start: Array | None = None
) -> Coherent:
    """Return the shift for the target class frequencies, by default those of the outcomes.

    `start` is a shift to begin from: that of other rows at the same r, or of a neighbouring r ≥ 0. (Below 0 shifts of
    neighbouring r differ in scale, up to 1e4 times.)

    >>> S = np.array([[.9, .1]] * 4 + [[.3, .7]] * 4)
    >>> fit(Forecasts(S, None, (1, 2)), r=0.0, target=[.625, .375])(S[3:5]).round(3).tolist()
    [[0.914, 0.086], [0.336, 0.664]]
    """
    power(r)  # refuses r <= −1
    wanted = forecasts.prior if target is None else target
    return fit_chunks(in_memory(forecasts), float(forecasts.mass.sum()), wanted, forecasts.classes, float(r), start)
