"""The moments of a tally: weighted sums over rows, which add over parts."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.formulas.intervals import effective_rows
from veracity.inputs import Forecasts
from veracity.kernels import Pass
from veracity.kernels.result import R
from veracity.types import Floats


@dataclass(frozen=True, eq=False)
class Sums:
    """Weighted sums over rows; w is weight times count, w² the count times the squared weight.

    score   (4, 3)  Σw x, Σw² x, Σw² x² of log (rows above zero), brier, spherical, correct
    by_class (k, 6) per outcome Σw, Σw², and Σw x, Σw² x of log and of brier
    column  (k,)    Σw p_j
    powers  (37,)   Σw p^r over realised p of at least 1e-80; log_tiny (37,) the logarithm of the rest above zero
    """

    rows: int
    weight: float
    weight2: float
    zeros: int
    score: Floats
    by_class: Floats
    column: Floats
    powers: Floats
    log_tiny: Floats

    @classmethod
    def zero(cls, k: int) -> Sums:
        nothing = np.zeros
        return cls(
            0, 0.0, 0.0, 0, nothing((4, 3)), nothing((k, 6)), nothing(k), nothing(len(R)), np.full(len(R), -np.inf)
        )

    @classmethod
    def of(cls, seen: Pass) -> Sums:
        return cls(
            rows=int(seen.rows),
            weight=float(seen.weight),
            weight2=float(seen.weight2),
            zeros=0,
            score=seen.score_sums,
            by_class=seen.class_sums,
            column=seen.column_sums,
            powers=seen.powers,
            log_tiny=np.full(len(R), -np.inf),
        )

    def __add__(self, other: Sums) -> Sums:
        plain = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(Sums) if f.name != "log_tiny"}
        return Sums(**plain, log_tiny=np.logaddexp(self.log_tiny, other.log_tiny))

    @cached_property
    def n_eff(self) -> float:
        """(Σw)²/Σw²: the number of rows that equal weights would need for the same precision."""
        return effective_rows(self.weight, self.weight2)


def squared_deviations(mean: Any, total2: Any, square2: Any, weight2: Any) -> Floats:
    """Return Σw²(x − mean)² from Σw²x, Σw²x² and Σw²; 0 where only the rounding of sums that cancel is left."""
    deviations = square2 - 2.0 * mean * total2 + mean**2 * weight2
    return np.where(deviations <= 1e-13 * np.maximum(square2, mean**2 * weight2), 0.0, deviations)


def plus(a: Any, b: Any) -> Any:
    """Return a + b, where None is nothing."""
    return b if a is None else a if b is None else a + b


def with_logs(sums: Sums, f: Forecasts) -> Sums:
    """Return the sums with log score and powers from log-probabilities, which do not underflow."""
    logs = f.log_realised
    assert logs is not None
    above = np.isfinite(logs)
    x = -logs[above]
    w, w2 = f.mass[above], f.squared_mass[above]
    score, by_class = sums.score.copy(), sums.by_class.copy()
    score[0] = (w @ x, w2 @ x, w2 @ (x * x))
    if f.outcomes is not None:
        y = f.outcomes[above]
        by_class[:, 2] = np.bincount(y, weights=w * x, minlength=f.k)
        by_class[:, 3] = np.bincount(y, weights=w2 * x, minlength=f.k)
    none = replace(sums, score=score, by_class=by_class, powers=np.zeros(len(R)))
    return with_tiny(none, f, np.arange(len(f)))


def with_tiny(sums: Sums, f: Forecasts, rows: NDArray[np.int64]) -> Sums:
    """Return the sums with the powers of rows whose p^r would leave the range of floats, as logarithms."""
    with np.errstate(divide="ignore"):
        logs = f.log_realised[rows] if f.log_realised is not None else np.log(f.realised[rows])
    above = np.isfinite(logs)
    zeros = int(f.copies[rows][~above].sum())
    logs, w = logs[above], f.mass[rows][above]
    if not len(logs):
        return replace(sums, zeros=zeros)
    with np.errstate(divide="ignore"):
        terms = np.log(w)[:, None] + logs[:, None] * R
    peak = terms.max(axis=0)
    return replace(sums, zeros=zeros, log_tiny=peak + np.log(np.exp(terms - peak).sum(axis=0)))
