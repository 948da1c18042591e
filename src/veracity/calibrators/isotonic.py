"""The monotone map that fits best under every proper score at once (two classes: pool adjacent violators).

Beyond two classes each class against the rest, then normalised, as in scikit-learn, which is no longer optimal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.calibrators._fitted import Formula
from veracity.formulas.isotonic import pooled_blocks
from veracity.inputs import Forecasts
from veracity.types import Array

from ._logistic import applied, one_versus_rest


def pooled_adjacent(x: Array, y: Array, mass: Array, rows: Array | None = None, k: int = 2) -> tuple[Array, Array]:
    """Return the knots of the monotone curve of y on x: both ends of every level.

    With `rows`, their mass in rows, each level c of n rows becomes (n c + 1/k)/(n + 1).
    """
    order = np.argsort(x)
    order = order[mass[order] > 0.0]
    x, y, mass = x[order], y[order], mass[order]
    start = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    total = np.add.reduceat(mass, start)
    first = start[pooled_blocks(np.add.reduceat(mass * y, start) / total, total)]
    level = np.add.reduceat(mass * y, first) / np.add.reduceat(mass, first)
    if rows is not None:
        n = np.add.reduceat(rows[order], first)
        level = (n * level + 1.0 / k) / (n + 1.0)
    ends = np.array([x[first], x[np.append(first[1:], len(x)) - 1]]).T
    several = np.column_stack([np.ones(len(first), dtype=bool), ends[:, 0] < ends[:, 1]])
    level = np.clip(level, 0.0, 1.0)  # averages can pass 0 or 1 by rounding
    return ends[several], np.repeat(level, several.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Isotonic(Formula):
    """knots and values: one curve for two classes, one per class beyond; straight between knots, flat outside."""

    knots: tuple[Array, ...]
    values: tuple[Array, ...]

    @property
    def _described(self) -> str:
        levels = sum(len(np.unique(v)) for v in self.values)
        return f"isotonic regression ({levels} level{'' if levels == 1 else 's'})"

    def rows(self, p: Array) -> Array:
        return applied(p, lambda x, curve: between(x, *curve), list(zip(self.knots, self.values, strict=True)))

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(len(self.knots) == len(self.values) == (1 if self.k == 2 else self.k), "one curve a class")
        for knots, values in zip(self.knots, self.values, strict=True):
            rising = knots.ndim == 1 and len(knots) and np.isfinite(knots).all() and (np.diff(knots) > 0).all()
            self.require(rising and values.shape == knots.shape, "knots that do not rise, or no value for each")
            self.require((values >= 0).all() and (values <= 1).all(), "values outside 0 to 1")
        super().check()


def between(p: Array, knots: Array, values: Array) -> Array:
    """Return values on straight lines between knots; knots too close for a slope give the lower one's value."""
    with np.errstate(over="ignore", invalid="ignore"):
        heights = np.asarray(np.interp(p, knots, values))
    lost = ~np.isfinite(heights)
    heights[lost] = values[np.searchsorted(knots, p[lost], side="right") - 1]
    return heights


def curves_of(forecasts: Forecasts, rows: Array | None = None) -> dict[str, tuple[Array, ...]]:
    """Return knots and values of the second of two classes, or of every class; smoothed with the rows' mass in rows."""
    k, mass = forecasts.k, forecasts.mass
    curves = one_versus_rest(forecasts, lambda x, true: pooled_adjacent(x, true.astype(float), mass, rows, k))
    knots, values = zip(*curves, strict=True)
    return {"knots": tuple(knots), "values": tuple(values)}


def fit(forecasts: Forecasts) -> Isotonic:
    return Isotonic(forecasts.classes, **curves_of(forecasts))
