"""Calibration errors, reliability curves, sharpness and ROC of a tally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.means.binning import bin_sums, binned_calibration_errors
from veracity.estimate.means.curves import Curve, collect, shown
from veracity.estimate.means.scores import few_misses
from veracity.formulas.intervals import consistency_band, quantile, wilson
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.kernels.result import MANY, joined
from veracity.records.sections import CalibrationError, CalibrationErrors, CurvePoint, Curves, HistogramBar, RocPoint
from veracity.state.plan import ERROR_BINS
from veracity.state.tally import Tally
from veracity.types import Floats

MOST_BINS = 15  # of a reliability curve
FEWEST_ROWS = 20  # a bin of a reliability curve, while there are rows enough
ROC_POINTS = 200


@lru_cache(maxsize=16)
def _nested(grid: Grid) -> Grid:
    return replace(grid, edges=grid.nested_edges)


def class_grid(tally: Tally) -> Grid:
    """Return the grid of the class-wise histograms: nested cells for many classes."""
    return _nested(tally.grid) if tally.k > MANY else tally.grid


@lru_cache(maxsize=16)
def _right_closed_starts(grid: Grid) -> NDArray[np.int64]:
    return np.array([0, *(grid.atom(i / ERROR_BINS) + 1 for i in range(1, ERROR_BINS))], dtype=np.int64)


def right_closed(histogram: Histogram, grid: Grid) -> Curve:
    """Return the bins (a, b] of a calibration error."""
    return collect(histogram, grid, _right_closed_starts(grid))


def calibration_error(tally: Tally) -> CalibrationErrors:
    """Return the mean absolute gap between forecast and frequency in 15 bins (a, b]."""
    (of, sums), (of_class, sums_of_class) = (
        _bin_sums(histograms, _right_closed_starts(grid))
        for histograms, grid in (((tally.picks, tally.pooled), tally.grid), (tally.classwise, class_grid(tally)))
    )
    of, sums = np.append(of, 2 + of_class), np.hstack([sums, sums_of_class])
    errors = binned_calibration_errors(of, sums, 2 + tally.k, tally.sums.n_eff / tally.sums.weight)
    top, pooled = errors[:, :2].T.tolist()
    *by_class, largest, chance = errors[:, 2:].tolist()
    # Classes share rows; the largest possible error of their average adds their errors up.
    averages = [*(sum(values) / tally.k for values in by_class), max(largest), sum(chance) / tally.k]
    named = {"top_label": top, "classwise": averages, "pooled": pooled}
    tested = not tally.shares_only and tally.by_key is None  # chance is that of independent cases
    z, shown = quantile(tally.plan.level), tested and not few_misses(tally)
    return CalibrationErrors(
        **{
            name: CalibrationError(
                value=value,
                low=max(value - by_chance - z * error, 0.0) if shown else None,
                high=min(value + z * error, 1.0) if shown else None,
                method="delta method, bins fixed; the lower end without what chance adds",
                by_chance=by_chance if tested else None,
                debiased=debiased,
                max=largest,
                bins=ERROR_BINS,
            )
            for name, (value, debiased, error, largest, by_chance) in named.items()
        }
    )


def _bin_sums(histograms: Sequence[Histogram], start: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    """Return the histogram of each bin, and (3, bins) Σw of all entries and of the true ones, and Σwp."""
    offsets, columns = joined(histograms)
    every, true = ("all", "true") if columns.get("all_weight") is None else ("all_weight", "true_weight")
    return bin_sums(columns["cells"], offsets, start, (columns[every], columns[true], columns["all_sum"]))


def equal_mass(histogram: Histogram, grid: Grid, rows: float) -> Curve:
    """Return bins with about equally many entries."""
    bins = int(np.clip(rows // FEWEST_ROWS, 1, MOST_BINS))
    before = np.cumsum(histogram.all) - histogram.all
    place = before * bins // max(int(histogram.all.sum()), 1)
    first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]])) if len(place) else place
    start = histogram.cells[first].astype(np.int64)
    start[:1] = 0
    return collect(histogram, grid, start)


def reliability(tally: Tally, pooled: Curve) -> Curves:
    """Return the reliability of the pick, of each class and of all entries pooled; sharpness; ROC."""
    rows, grid = tally.sums.n_eff, class_grid(tally)
    if tally.k == 2:
        by_class = [equal_mass(h, grid, rows) for h in tally.classwise]
    else:
        # Most entries of a class are small, so bins of equal mass would all lie near zero.
        by_class = [right_closed(h, grid) for h in tally.classwise]
    sharp = right_closed(tally.classwise[1] if tally.k == 2 else tally.top, grid if tally.k == 2 else tally.grid)
    return Curves(
        pooled=_points(pooled, tally),
        top_label=_points(equal_mass(tally.picks, tally.grid, rows), tally),
        classwise={str(c): _points(curve, tally) for c, curve in zip(tally.classes, by_class, strict=True)},
        sharpness=tuple(map(HistogramBar, *_edges(sharp, tally), sharp.count.tolist())),
        roc=roc(tally) if tally.k == 2 else (),
        roc_predicted=roc(tally, predicted=True) if tally.k == 2 else (),
    )


def _edges(curve: Curve, tally: Tally) -> tuple[list[float], list[float]]:
    return shown(curve.low, tally.grid.cuts), shown(curve.high, tally.grid.cuts)


def _points(curve: Curve, tally: Tally) -> tuple[CurvePoint, ...]:
    rows = curve.weight * tally.sums.n_eff / tally.sums.weight
    band = consistency_band(curve.forecast, rows, tally.plan.level)
    columns = (x.tolist() for x in (curve.count, curve.true, curve.forecast, curve.source))
    low, high = (x.tolist() for x in wilson(curve.source, rows, tally.plan.level))
    return tuple(map(CurvePoint, *_edges(curve, tally), *columns, low, high, *(x.tolist() for x in band)))


def roc(tally: Tally, *, predicted: bool = False) -> tuple[RocPoint, ...]:
    """Return rates of true and false alarms at thresholds on the grid, at most 200 of them.

    predicted  the rates that the forecasts expect of themselves: every entry counts as an event with its probability
    """
    h = tally.classwise[1]
    every = (h.all if h.all_weight is None else h.all_weight).astype(float)
    observed = h.true.astype(float) if h.true_weight is None else h.true_weight
    events = h.all_sum if predicted else observed
    others = every - events
    if not (events.sum() > 0.0 and others.sum() > 0.0):
        return ()
    hits, alarms = (np.append(np.cumsum(of[::-1])[::-1], 0.0) for of in (events, others))
    hits, alarms = np.minimum(hits / hits[0], 1.0), np.clip(alarms / alarms[0], 0.0, 1.0)
    threshold = np.append(class_grid(tally).edges[h.cells], np.inf)
    # Evenly along the curve: no step longer than 1/100 of its length.
    along = (1.0 - hits) + (1.0 - alarms)
    keep = np.unique(np.searchsorted(along, np.linspace(0.0, 2.0, ROC_POINTS)).clip(0, len(along) - 1))
    return tuple(map(RocPoint, threshold[keep].tolist(), alarms[keep].tolist(), hits[keep].tolist()))
