"""One number each, for people who want no more: `metrics.log_loss(y, p)`; the same numbers as in `assess`.

Every function takes outcomes and probabilities, (n,) for the second of two classes or (n, k), or `Forecasts`, as
`assess` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import ArrayLike

from veracity import measures
from veracity.inputs import Forecasts
from veracity.measures import Measure
from veracity.records.reading import Reading, unknown
from veracity.results.assess import assess

__all__ = [
    "brier_score",
    "calibration_error",
    "calibration_loss",
    "calibration_slope",
    "decisiveness",
    "geometric_accuracy",
    "log_loss",
    "power_score",
    "robustness",
]

Labels = Sequence[Any] | None


class Metric(Protocol):
    """A function of outcomes and probabilities."""

    def __call__(
        self,
        y_true: Any,
        y_proba: Any = ...,
        *,
        sample_weight: ArrayLike | None = ...,
        labels: Labels = ...,
    ) -> float: ...


def metric(measure: Measure, **example: float) -> Metric:
    """Return the function that computes a measure of the registry; `example` is its public name with a value."""

    def of(y_true: Any, y_proba: Any = None, *, sample_weight: ArrayLike | None = None, labels: Labels = None) -> float:
        if not isinstance(y_true, Forecasts):
            return measure(Forecasts.of(y_true, y_proba, sample_weight=sample_weight, labels=labels))
        if not (y_proba is sample_weight is labels is None):
            raise TypeError(f"{of.__name__}() got more than Forecasts, which hold all their data; give it to these")
        return measure(y_true)

    of.__name__ = of.__qualname__ = measure.name
    direction = {"lower": " Lower is better.", "higher": " Higher is better."}.get(measure.better, "")
    gloss = measure.gloss if direction.strip() in measure.gloss else f"{measure.gloss}{direction}"
    of.__doc__ = f"Return the {measure.titled[0].lower()}{measure.titled[1:]}: {measure.formula}. {gloss.strip()}"
    for name, value in example.items():
        of.__doc__ += f"\n\n    >>> round({name}([0, 1, 1], [0.2, 0.7, 0.9]), 4)\n    {value}\n    "
    return of


log_loss = metric(measures.LOG_LOSS, log_loss=0.2284)
brier_score = metric(measures.BRIER, brier_score=0.0933)
geometric_accuracy = metric(measures.GEOMETRIC_ACCURACY, geometric_accuracy=0.7958)
decisiveness = metric(measures.DECISIVENESS, decisiveness=0.8)
robustness = metric(measures.ROBUSTNESS, robustness=0.793)


def power_score(r: float) -> Metric:
    """Return the proper score of the power family at r > −1 as a function: 0 is the log loss, 1 the Brier score.

    >>> round(power_score(0.5)([0, 1, 1], [0.2, 0.7, 0.9]), 4)
    0.1337
    """
    return metric(measures.power_score(r))


def calibration_error(
    y_true: Any, y_proba: Any = None, *, sample_weight: ArrayLike | None = None, labels: Labels = None
) -> Reading:
    """Return the calibration error with 15 bins: of the event for two classes, of the pick for more.

    Chance alone makes one too; see `assess(…).calibration_error` for how large.

    >>> round(calibration_error([0, 1, 0, 1] * 50, [0.2, 0.7, 0.4, 0.9] * 50), 4)
    0.25
    """
    a = assess(y_true, y_proba, sample_weight=sample_weight, labels=labels)
    usual = a.calibration_error.usual(len(a.classes))
    return unknown(a.verdict) if usual is None else Reading(usual[1].value, usual[1].low, usual[1].high)


def calibration_slope(
    y_true: Any, y_proba: Any = None, *, sample_weight: ArrayLike | None = None, labels: Labels = None
) -> Reading:
    """Return the slope b of ln p' = a + b ln p with its interval: below 1 over-confident, above 1 under-confident.

    >>> calibration_slope([0, 1, 1, 0, 1] * 50, [0.1, 0.9, 0.1, 0.9, 0.9] * 50) < 1
    True
    """
    return assess(y_true, y_proba, sample_weight=sample_weight, labels=labels).calibration_slope


def calibration_loss(
    y_true: Any, y_proba: Any = None, *, sample_weight: ArrayLike | None = None, labels: Labels = None
) -> Reading:
    """Return what recalibration takes off the log loss on cases it was not fitted to (at least), with its interval.

    >>> round(calibration_loss([0, 1, 1, 0, 1] * 50, [0.1, 0.9, 0.1, 0.9, 0.9] * 50), 2)
    0.31
    """
    return assess(y_true, y_proba, sample_weight=sample_weight, labels=labels).losses("log").CL
