"""More than two classes: what is gained where the least sure picks are left to somebody else."""

from __future__ import annotations

import numpy as np

from veracity.formulas.intervals import quantile, wilson
from veracity.records.decisions import Coverage, Picks
from veracity.records.reading import DELTA, WILSON, Reading
from veracity.state.tally import Tally
from veracity.types import Floats

COVERAGES = (0.8, 0.9)
POINTS = 100  # of the curve
NEAR = 0.02  # of the cases on either side of a coverage, that tell the accuracy there
MOST_TOP = (2, 3, 5)
SINGLE = "intervals are those of independent cases"


def picks(tally: Tally) -> Picks:
    """Return risk by coverage, from the histogram of the picks; cases of equal confidence in random order."""
    h = tally.picks
    every = np.asarray(h.all if h.all_weight is None else h.all_weight, dtype=np.float64)[::-1]
    right = np.asarray(h.true if h.true_weight is None else h.true_weight, dtype=np.float64)[::-1]
    coverage = np.concatenate([[0.0], np.cumsum(every)]) / every.sum()
    correct = np.concatenate([[0.0], np.cumsum(right)]) / every.sum()
    grid = np.arange(1, POINTS + 1) / POINTS
    accuracy = np.interp(grid, coverage, correct) / grid
    n = tally.sums.n_eff
    area = _area(coverage, correct)
    return Picks(
        curve=tuple(map(Coverage, grid.tolist(), accuracy.tolist())),
        area=_reading(tally, area, _area_error(coverage, correct, n)),
        accuracy={f"{c:g}": _at(tally, c, coverage, correct, n) for c in COVERAGES},
        top_k=_top(tally),
        method=None if tally.by_key is None else SINGLE,
    )


def _area(coverage: Floats, correct: Floats) -> float:
    """Return ∫ (share wrong among the most confident) over coverage; ties of confidence are split at random."""
    width = np.diff(coverage)
    some = width > 0.0
    start, width = coverage[:-1][some], width[some]
    wrong = start - correct[:-1][some]
    rate = 1.0 - np.diff(correct)[some] / width
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.where(start > 0.0, (wrong - rate * start) * np.log1p(width / start), 0.0)
    return float((rate * width + log).sum())


def _area_error(coverage: Floats, correct: Floats, n: float) -> float:
    """Return the standard error of the area: a case adds its error times ∫ dc/c from its own coverage on, centred.

    With g(u) = −ln u for a case at coverage u, the area is the mean of wrong·g(u); ranks are estimated, which adds
    the integral of (share wrong at v)·(1[u ≤ v] − v)/v over v.
    """
    width = np.diff(coverage)
    some = width > 0.0
    middle = (coverage[:-1] + coverage[1:])[some] / 2.0
    mass, rate = width[some], 1.0 - np.diff(correct)[some] / width[some]
    weight = -np.log(middle)
    tail = np.cumsum((rate / middle * mass)[::-1])[::-1]
    drift = tail - (rate * mass).sum()
    wrong, correct_one = weight - drift, -drift
    mean = float((mass * (rate * wrong + (1.0 - rate) * correct_one)).sum())
    square = float((mass * (rate * wrong**2 + (1.0 - rate) * correct_one**2)).sum())
    return float(np.sqrt(max(square - mean**2, 0.0) / n)) if n > 1.0 else np.nan


def _at(tally: Tally, c: float, coverage: Floats, correct: Floats, n: float) -> Reading:
    """Return the accuracy of the surest share c of the picks; the limit of confidence is estimated too."""
    value = float(np.interp(c, coverage, correct)) / c
    low, high = max(c - NEAR, 0.0), min(c + NEAR, 1.0)
    near = float(np.interp(high, coverage, correct) - np.interp(low, coverage, correct)) / (high - low)
    variance = value * (1.0 - value) / c + (1.0 - c) / c * (value - near) ** 2
    return _reading(tally, value, float(np.sqrt(variance / n)) if n > 0.0 else np.nan)


def _reading(tally: Tally, value: float, error: float) -> Reading:
    if tally.shares_only or not np.isfinite(error):
        return Reading(value, reason="the number of cases is unknown: no intervals")
    reach = quantile(tally.plan.level) * error
    return Reading(value, max(value - reach, 0.0), min(value + reach, 1.0), DELTA)


def _top(tally: Tally) -> dict[str, Reading]:
    """Return the share of cases whose outcome is among the k most probable classes, from the analysis rows; of classes
    with equal probability, random ones.
    """
    if tally.picks_only or not len(tally.rows):
        return {}
    rows = tally.rows
    p = rows.matrix
    own = rows.realised[:, None]
    above, ties = (p > own).sum(axis=1), (p == own).sum(axis=1)
    share, n = rows.mass / rows.mass.sum(), tally.sums.n_eff * rows.mass.sum() / tally.sums.weight
    readings = {}
    for k in (k for k in MOST_TOP if k < rows.k):
        value = float(share @ np.clip((k - above) / np.maximum(ties, 1), 0.0, 1.0))
        value = min(max(value, 0.0), 1.0)
        low, high = wilson(value, n, tally.plan.level)
        shown = Reading(value, reason="the number of cases is unknown: no intervals")
        readings[str(k)] = shown if tally.shares_only else Reading(value, float(low), float(high), WILSON)
    return readings
