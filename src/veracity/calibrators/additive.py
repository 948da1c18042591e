"""Adjustment coherent with the Brier score: A = S + b (KF15 4.1). Values outside [0, 1] are not probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from veracity.calibrators._fitted import Formula
from veracity.inputs import Forecasts
from veracity.types import Array

from ._dual_solver import Chunks, in_memory, mean_of, summed
from ._target import checked_target

LABEL = "prior correction by a shift"


@dataclass(frozen=True, eq=False)
class Additive(Formula):
    """A = S + shift; `outside` values of the fitted rows left [0, 1]."""

    shift: Array
    outside: int

    needs_labels: ClassVar[bool] = False
    edge: ClassVar[int] = 0

    wording = "prior correction (shift)"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.shift.shape == (self.k,) and np.isfinite(self.shift).all(), "one finite number a class")
        self.require(abs(self.shift.sum()) <= 1e-6, "a shift whose sum is not 0")

    def rows(self, p: Array) -> Array:
        return np.asarray(p + self.shift)


def fit_chunks(chunks: Chunks, target: ArrayLike, classes: tuple[Any, ...]) -> Additive:
    """Return the map from two passes over rows (m, k) with their shares of the mass: a stream, or arrays in blocks."""
    pi = checked_target(target, classes)
    shift = pi - mean_of(chunks, len(classes))
    (outside,) = summed(chunks, lambda rows, _: (int(((rows + shift < 0.0) | (rows + shift > 1.0)).sum()),), (0,))
    return Additive(classes, shift=shift, outside=outside)


def fit(forecasts: Forecasts, *, target: ArrayLike | None = None) -> Additive:
    """Return the shift b = target − mean S; the default target is the class frequencies of the outcomes.

    >>> S = np.array([.9] * 4 + [.3] * 4)
    >>> fit(Forecasts(np.column_stack([S, 1 - S]), None, (1, 2)), target=[.625, .375]).shift.round(6).tolist()
    [0.025, -0.025]
    """
    return fit_chunks(in_memory(forecasts), forecasts.prior if target is None else target, forecasts.classes)
