"""Each class against the rest: predicted and observed share, calibration slope, share of the miscalibration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from veracity.calibrators._logistic import logistic
from veracity.estimate.intervals import around
from veracity.formulas.differences import holm
from veracity.formulas.intervals import quantile
from veracity.kernels import Histogram
from veracity.records.reading import Reading, undefined
from veracity.records.sections import ClassReading
from veracity.types import Floats

FEWEST = 10  # events, and non-events, for a slope with an interval
SEPARATED = "hardly any forecast is on the wrong side, so the slope could be almost anything"
DEPENDENT = "rows of a cluster or of near times depend on each other: no interval"
NEAREST = 1e-12  # to 0 or 1 at which a logit is taken


def per_class(
    histograms: Sequence[Histogram],
    classes: Sequence[Any],
    *,
    gains: Mapping[str, float] | None = None,
    level: float = 0.95,
    independent: bool = True,
) -> dict[str, ClassReading]:
    """Return the readings of every class from its histogram; `gains` are its row gains of the recalibration, summed.

    p compares Σp with the number of events by z = U/(V + 1)^½, adjusted by Holm over the classes. Outcomes of forecasts
    that are too extreme vary by more than these say, so V is the larger of their variance and that of the fitted slope.
    Of cases that are not independent, V is not known: neither p nor the interval of the slope is given.
    """
    by_class, total = [], sum(max(gain, 0.0) for gain in (gains or {}).values())
    for name, histogram in zip(map(str, classes), histograms, strict=True):
        cells = Cells.of(histogram)
        reading, variance = undefined(cells.unfit), 0.0
        if not cells.unfit:
            b, error, variance = fit_slope(cells)
            how = "maximum likelihood on cells"
            reading = around(b, error, level, method=how) if independent else Reading(b, reason=DEPENDENT)
            if quantile(level) * error > max(1.0, abs(b)):
                reading = undefined(SEPARATED)
        variance = max(cells.variance, variance) + cells.one_case
        z = cells.excess / math.sqrt(variance) if variance > 0.0 else 0.0
        share = max((gains or {}).get(name, 0.0), 0.0) / total if total > 0.0 else None
        by_class.append((name, float(histogram.true.sum()), cells.predicted, cells.observed, reading, share, z))
    adjusted = holm([math.erfc(abs(one[-1]) / math.sqrt(2.0)) for one in by_class]).tolist()
    return {
        name: ClassReading(count, predicted, observed, reading, share, p if independent else None)
        for (name, count, predicted, observed, reading, share, _), p in zip(by_class, adjusted, strict=True)
    }


@dataclass(frozen=True)
class Cells:
    """The forecasts of one class by cell: mean probability, weight, weight of the events, squared weights."""

    p: Floats
    mass: Floats
    true: Floats
    squares: Floats
    cases: float  # number of forecasts, unweighted
    expected: float  # Σ w p

    @classmethod
    def of(cls, histogram: Histogram) -> Cells:
        """Return the cells of a histogram."""
        mass = np.asarray(histogram.all if histogram.all_weight is None else histogram.all_weight, dtype=np.float64)
        true = np.asarray(histogram.true if histogram.true_weight is None else histogram.true_weight, dtype=np.float64)
        squares = mass if histogram.all_weight2 is None else histogram.all_weight2
        p = np.clip(histogram.all_sum / np.where(mass > 0.0, mass, 1.0), 0.0, 1.0)
        return cls(p, mass, true, squares, float(histogram.all.sum()), float(histogram.all_sum.sum()))

    @property
    def predicted(self) -> float:
        """Mean probability; NaN where the class was never offered."""
        return self.expected / float(self.mass.sum()) if len(self.mass) else math.nan

    @property
    def observed(self) -> float:
        """Share of the events; NaN where the class was never offered."""
        return float(self.true.sum() / self.mass.sum()) if len(self.mass) else math.nan

    @property
    def unfit(self) -> str:
        """Why no slope can be fitted; empty where one can."""
        if min(float(self.true.sum()), float((self.mass - self.true).sum())) < FEWEST:
            return f"fewer than {FEWEST} events or non-events"
        x = logit(self.p[self.mass > 0.0])
        return "every forecast is the same" if np.ptp(x) < 1e-9 else ""

    @property
    def excess(self) -> float:
        """Events less expected ones."""
        return float(self.true.sum()) - self.expected

    @property
    def variance(self) -> float:
        """Variance of the number of events if the forecasts are right."""
        return float(np.sum(self.squares * self.p * (1.0 - self.p)))

    @property
    def one_case(self) -> float:
        """Squared weight of a case on average."""
        return float(self.squares.sum()) / max(self.cases, 1.0)


def residual(histogram: Histogram) -> float:
    """Return z of the events less the expected ones, over the standard error that calibrated forecasts give them."""
    cells = Cells.of(histogram)
    if cells.variance > 0.0:
        return cells.excess / math.sqrt(cells.variance)
    return math.copysign(math.inf, cells.excess) if cells.excess else 0.0


def logit(p: Floats) -> Floats:
    inside = np.clip(p, NEAREST, 1.0 - NEAREST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def fit_slope(cells: Cells) -> tuple[float, float, float]:
    """Return b of logit p' = a + b logit p, fitted to cells by maximum likelihood, its error, and the events' variance.

    >>> n = np.array([100.0, 100.0])
    >>> cells = Cells(np.array([0.2, 0.8]), n, np.array([20.0, 80.0]), n, 200, 100.0)
    >>> round(fit_slope(cells)[0], 6)
    1.0
    """
    x = np.column_stack([np.ones_like(cells.p), logit(cells.p)])
    b = logistic(x, cells.true / np.where(cells.mass > 0.0, cells.mass, 1.0), cells.mass)
    fitted = expit(x @ b)
    weight = fitted * (1.0 - fitted)
    information, spread = (x.T @ ((mass * weight)[:, None] * x) for mass in (cells.mass, cells.squares))
    inverse = np.linalg.inv(information + 1e-9 * np.eye(2))
    variance = (inverse @ spread @ inverse)[1, 1]
    return float(b[1]), math.sqrt(max(float(variance), 0.0)), float(cells.squares @ weight)
