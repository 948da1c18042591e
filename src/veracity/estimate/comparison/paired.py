"""Scores of single cases that can be compared between models: every score that is a mean over cases, and any r."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.inputs import Forecasts
from veracity.measures import MEASURES, Measure, power_score
from veracity.types import Floats

LOG, EXCESS = "log", "expected_minus_realised"
NAMES = {"log_loss": LOG}  # of measures in comparisons, where these differ
ENTRIES = 1 << 21  # of forecasts scored together


def is_mean_of_rows(measure: Measure) -> bool:
    """Return whether the differences of a score are differences of its rows."""
    return measure.section == "scores" and measure.rows is not None and measure.value is Measure.value


def comparable(k: int, measurable: bool) -> dict[str, Measure]:
    """Return the registered scores that can be paired, by name; the log loss first."""
    measures = [m for m in MEASURES if is_mean_of_rows(m)]
    measures = [m for m in measures if m.needs == "realised" or (measurable and (m.needs != "two classes" or k == 2))]
    return {NAMES.get(m.name, m.name): m for m in measures}


@dataclass(frozen=True)
class Scorer:
    """Scores of rows: every comparable one, those of further r, and the expected less the realised log loss."""

    k: int
    measurable: bool
    r: tuple[str, ...] = ()  # names of further risk parameters

    @property
    def names(self) -> tuple[str, ...]:
        known = tuple(comparable(self.k, self.measurable))
        return (*known, *(self.r if self.measurable else ()), *((EXCESS,) if self.measurable else ()))

    def __call__(self, f: Forecasts) -> Floats:
        """Return (n, scores) of the rows of f."""
        step = max(1, ENTRIES // max(f.k, 1))
        if len(f) > step:
            return np.concatenate([self(f.take(slice(i, i + step))) for i in range(0, len(f), step)])
        if self.measurable and f.probabilities is not None:
            f = replace(f, probabilities=np.asarray(f.probabilities, dtype=np.float64))
        columns = [_column(m, f) for m in comparable(self.k, self.measurable).values()]
        if self.measurable:
            columns += [_column(power_score(float(r)), f) for r in self.r]
            columns.append(expected_log_loss(f) - columns[0])
        return np.column_stack(columns)


def _column(measure: Measure, f: Forecasts) -> Floats:
    assert measure.rows is not None
    values: Any = measure.rows(f)
    return np.asarray(values, dtype=np.float64)[:, 0]


def score_of(f: Forecasts, name: str) -> Floats:
    """Return (n,) score of the rows under a comparable measure or the power score of r."""
    known = comparable(f.k, f.probabilities is not None)
    return _column(known[name] if name in known else power_score(float(name)), f)


def expected_log_loss(f: Forecasts) -> Floats:
    """Return (n,) −Σ p ln p: the log loss that the forecast expects of itself."""
    p = f.matrix
    return np.asarray(-np.einsum("ij,ij->i", p, np.log(np.where(p > 0.0, p, 1.0))))
