"""Calibration of two classes as clinicians report it: smooth curve, ICI, E90, and a band for the whole curve."""

from __future__ import annotations

import numpy as np

from veracity.estimate.loss.recalibration import Recalibration
from veracity.formulas.intervals import clopper_pearson
from veracity.inputs import Forecasts
from veracity.records.decisions import BandPoint, Clinical, SmoothPoint
from veracity.records.reading import Reading, unknown
from veracity.state.tally import Tally
from veracity.types import Floats

POINTS = 100  # of a curve
MOST_DISTINCT, QUANTILES = 2_000, 1_000  # forecasts of a band; of more, so many quantiles
NO_CURVE = "no recalibration can be judged on other cases"
NO_INTERVAL = "a distance, above 0 by chance too: no interval"
NOT_ALONE = "a band for the whole curve needs independent cases of equal weight"


def clinical(tally: Tally, recalibration: Recalibration | None) -> Clinical:
    """Return how far forecasts are from their cross-fitted recalibration, and the band of the reliability curve."""
    ici, e90, curve = unknown(NO_CURVE), unknown(NO_CURVE), ()
    if recalibration is not None:
        p, c = recalibration.rows.matrix[recalibration.folds.row, 1], recalibration.calibrated[:, 1]
        distance, order = np.abs(c - p), np.argsort(np.abs(c - p), kind="stable")
        share = np.cumsum(recalibration.mass[order]) / recalibration.mass.sum()
        ici = Reading(float(recalibration.mass @ distance / recalibration.mass.sum()), reason=NO_INTERVAL)
        at = min(int(np.searchsorted(share, 0.9 - 1e-12)), len(order) - 1)
        e90 = Reading(float(distance[order[at]]), reason=NO_INTERVAL)
        curve = smooth_curve(recalibration)  # type: ignore[assignment]
    rows = tally.rows
    alone = tally.by_key is None and rows.weights is None and not rows.split and not tally.shares_only
    if not alone:
        return Clinical(ici, e90, curve, (), reason=NOT_ALONE)
    x, low, high, cases = reliability_band(*by_forecast(rows), tally.plan.level)
    inside = bool(((low <= x) & (x <= high)).all())
    order = np.argsort(high - low, kind="stable")
    middle = int(np.searchsorted(np.cumsum(cases[order]), cases.sum() / 2.0))
    chosen = _spread(x)
    points = tuple(map(BandPoint, x[chosen].tolist(), low[chosen].tolist(), high[chosen].tolist()))
    return Clinical(ici, e90, curve, points, inside, float((high - low)[order[middle]]))


def smooth_curve(recalibration: Recalibration) -> tuple[SmoothPoint, ...]:
    """Return the recalibrated value of forecasts, the mean of the maps that were fitted without each fold."""
    p = np.unique(recalibration.rows.matrix[:, 1])
    p = p[_spread(p)]
    matrix = np.column_stack([1.0 - p, p])
    mapped = np.mean([recalibration.mapped(fold, matrix, "C")[:, 1] for fold in recalibration.folds.used], axis=0)
    return tuple(map(SmoothPoint, p.tolist(), mapped.tolist()))


def _spread(x: Floats) -> Floats:
    """Return the places of at most POINTS values, evenly among them, with both ends."""
    return np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).round().astype(np.int64))


def by_forecast(rows: Forecasts) -> tuple[Floats, Floats, Floats]:
    """Return distinct forecasts of the event, ascending, with their cases and events."""
    p, place = np.unique(rows.positive, return_inverse=True)
    n = np.bincount(place.ravel(), weights=rows.copies, minlength=len(p))
    events = np.bincount(place.ravel(), weights=rows.copies * (rows.observed == 1), minlength=len(p))
    return np.asarray(p, np.float64), np.asarray(n, np.float64), np.asarray(events, np.float64)


def reliability_band(p: Floats, n: Floats, events: Floats, level: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return forecasts with limits of the frequency of the event that hold for all at once, and their cases.

    For frequencies that rise with the forecast: the mean over neighbouring forecasts lies below the frequency at the
    largest of them and above that at the smallest. Exact binomial limits of stretches of 1, 2, 4, … neighbours share
    the error (Bonferroni), so the band is conservative. Dimitriadis, Dümbgen, Henzi, Puke & Ziegel 2023, who take all
    stretches; fewer leave each more of the error.
    """
    if len(p) > MOST_DISTINCT:
        before = np.cumsum(n) - n
        block = np.minimum((before * QUANTILES / n.sum()).astype(np.int64), QUANTILES - 1)
    else:
        block = np.arange(len(p))
    first = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    last = np.append(first[1:], len(p)) - 1
    counts, happened = (np.append(0.0, np.cumsum(np.add.reduceat(x, first))) for x in (n, events))
    m = len(first)
    starts, ends = [], []
    length = 1
    while length <= m:
        at = np.arange(0, m - length + 1, max(1, length // 4))
        starts.append(at)
        ends.append(at + length)
        length *= 2
    start, end = np.concatenate(starts), np.concatenate(ends)
    cases, hits = counts[end] - counts[start], happened[end] - happened[start]
    low, high = clopper_pearson(hits, cases, 1.0 - (1.0 - level) / len(start))
    lower, upper = np.zeros(m), np.ones(m)
    np.maximum.at(lower, end - 1, low)
    np.minimum.at(upper, start, high)
    lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
    # a forecast inside a block is above the last one before it, and below the first one after it
    of = np.searchsorted(first, np.arange(len(p)), side="right") - 1
    whole = np.arange(len(p))
    below = np.where(whole == last[of], of, of - 1)
    above = np.where(whole == first[of], of, of + 1)
    reach_low = np.where(below >= 0, lower[np.maximum(below, 0)], 0.0)
    reach_high = np.where(above < m, upper[np.minimum(above, m - 1)], 1.0)
    return p, reach_low, reach_high, n
