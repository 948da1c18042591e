"""Scorers for `cross_validate` and `GridSearchCV`: every proper measure of the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics._scorer import _BaseScorer  # what make_scorer returns: it knows metadata and shares predictions

from veracity.inputs import Forecasts
from veracity.measures import LOWER, MEASURES, Measure, power_score


class MeasureScorer(_BaseScorer):
    """A measure as `scorer(estimator, X, y)`; higher is better, so that of a loss is negative.

    Probabilities are taken in the order of the estimator's classes, also where some are missing from y.
    """

    def __init__(self, measure: Measure, r: float | None = None) -> None:
        super().__init__(_function(measure), -1 if measure.better == LOWER else 1, {}, "predict_proba")
        self.measure, self.r = measure, r

    def _score(
        self, method_caller: Callable[..., Any], estimator: Any, X: Any, y_true: ArrayLike, **given: Any
    ) -> float:
        if not hasattr(estimator, "predict_proba"):
            name = type(estimator).__name__
            raise AttributeError(f"{name} has no predict_proba\n  give it one:  Recalibrated({name}(…))")
        p = np.asarray(method_caller(estimator, "predict_proba", X))
        return float(self._sign * self._score_func(y_true, p, labels=np.asarray(estimator.classes_).tolist(), **given))

    def __repr__(self) -> str:
        return f"scorers[{_key(self.measure)!r}]" if self.r is None else f"scorer(r={self.r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.measure.name, self.r, getattr(self, "_metadata_request", None))


def _restored(name: str, r: float | None, request: Any) -> MeasureScorer:
    measure_scorer = scorer(r=r) if r is not None else MeasureScorer(next(m for m in MEASURES if m.name == name))
    if request is not None:
        measure_scorer._metadata_request = request
    return measure_scorer


def _function(measure: Measure) -> Callable[..., float]:
    def of(
        y_true: ArrayLike, y_proba: ArrayLike, *, labels: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        return measure(Forecasts.of(y_true, y_proba, labels=labels, sample_weight=sample_weight))

    of.__name__ = measure.name
    return of


def _key(measure: Measure) -> str:
    return f"neg_{measure.name}" if measure.better == LOWER else measure.name


def scorer(*, r: float) -> MeasureScorer:
    """Return the scorer of the power family at r > −1: 0 is the log loss, 1 the Brier score, negative as a score.

    Those of the registry are in `scorers` by name.

    >>> scorer(r=-0.5), scorers["neg_log_loss"]
    (scorer(r=-0.5), scorers['neg_log_loss'])
    """
    return MeasureScorer(power_score(r), r)


scorers: dict[str, MeasureScorer] = {_key(measure): MeasureScorer(measure) for measure in MEASURES if measure.proper}
