"""Who is better where the event is more or less frequent: paired differences over prevalence and threshold."""

from __future__ import annotations

import numpy as np

from veracity.estimate.decisions.curves import MARGIN
from veracity.estimate.decisions.paired import How
from veracity.estimate.decisions.spread import Dependence, errors, largest_deviation
from veracity.inputs import Forecasts
from veracity.records.decisions import Winner
from veracity.state.pairs import CaseScores
from veracity.types import Floats

PREVALENCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
THRESHOLDS = tuple(i / 20 for i in range(1, 20))


def winners(names: tuple[str, str], a: Forecasts, b: Forecasts, event: int, how: How) -> tuple[Winner, ...]:
    """Return which of two models is better at each prevalence and threshold, with one band for all of them.

    The mean elementary loss at prevalence π' is π'·(that of the events) + (1 − π')·(that of the others); forecasts are
    as they are.
    """
    c = np.array(THRESHOLDS)
    first, second = (CaseScores.of(f, _losses(f, event, c), how.by(f)) for f in (a, b))
    key = None if first.by is None else np.unique(first.by, return_inverse=True)[1].ravel()
    dependence = Dependence(first.cases, how.kind if key is not None else None, key, how.lags)
    if dependence.reason:
        return ()
    share = first.weight / first.weight.sum()
    of_class = np.array([share @ first.scores[:, -1], 1.0 - share @ first.scores[:, -1]])
    if not of_class.min() > 0.0:
        return ()
    d = first.scores[:, :-1] - second.scores[:, :-1]
    parts = np.split(d, 2, axis=1)
    happened = (first.scores[:, -1], 1.0 - first.scores[:, -1])
    means = [share @ part / weight for part, weight in zip(parts, of_class, strict=True)]
    influences = [
        share[:, None] * (part - mean * y[:, None]) / weight
        for part, mean, y, weight in zip(parts, means, happened, of_class, strict=True)
    ]
    both = dependence.covariance(np.concatenate(influences, axis=1))
    mix = np.concatenate([np.hstack([pi * np.eye(len(c)), (1.0 - pi) * np.eye(len(c))]) for pi in PREVALENCES])
    value = mix @ np.concatenate(means)
    covariance = mix @ both @ mix.T
    # in units of the largest error at each prevalence: along thresholds studentised bands do not hold
    scale = np.repeat(errors(covariance).reshape(len(PREVALENCES), -1).max(axis=1), len(c))
    scale = np.where(scale > 0.0, scale, 1.0)
    band = scale * largest_deviation(covariance / np.outer(scale, scale), dependence.df, how.level, how.seed)
    better = np.where(value < -band - MARGIN, names[0], np.where(value > band + MARGIN, names[1], ""))
    grid = [(pi, t) for pi in PREVALENCES for t in THRESHOLDS]
    rows = zip(grid, value.tolist(), better.tolist(), strict=True)
    return tuple(Winner(pi, t, x, name or None) for (pi, t), x, name in rows)


def _losses(f: Forecasts, event: int, c: Floats) -> Floats:
    """Return (rows, …) losses of misses at c, of false alarms at c, and whether the event happened."""
    act, y = f.matrix[:, event, None] >= c, (f.observed == event)[:, None]
    return np.concatenate([y * ~act * (1.0 - c), ~y * act * c, y.astype(np.float64)], axis=1)
