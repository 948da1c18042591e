"""Measured means of a tally: each stated probability replaced by how often such forecasts came true.

Intervals come from row influences with the bins held fixed (theory section 4.1a): the entries of a row are dependent,
so cells taken one by one would make the intervals too short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity import curves
from veracity.curves import Curve
from veracity.curves.bins import fit_both, number_of_bins
from veracity.forecasts import Finding, Forecasts
from veracity.inference import Reading, around_log, quantile, undefined, unknown
from veracity.kernels import Histogram, statistics
from veracity.plan import Plan
from veracity.sampling import few
from veracity.scores import AT, DIVISOR, MEANS, NONE, ZERO, Profile
from veracity.tally import MANY_CLASSES, R, Tally

Floats = NDArray[np.float64]

NOT_MEASURABLE = "only the probability of what happened is given, so it cannot be compared with frequencies"
REPORTED = np.array(list(MEANS.values()))
STEP = 3
SPARSE = R[::STEP]  # the r of standard errors along the profile; −2/3, 0 and 1 are among them
SPARSE_ZERO, SPARSE_DIVISOR = ZERO // STEP, DIVISOR[::STEP]
ROWS = 2000  # looked at for the influences of rows: standard errors to two per cent
MOST_ENTRIES = 300_000  # of these rows; with very many classes fewer rows must do


def regrouped(h: Histogram, cells: NDArray[np.int32]) -> Histogram:
    """The histogram with its cells renamed to `cells`, ascending; those with one name become one."""
    if not len(cells):
        return h
    first = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    sums = {
        name: np.add.reduceat(values, first)
        for name in h.__dataclass_fields__
        if name != "cells" and (values := getattr(h, name)) is not None
    }
    return Histogram(cells=cells[first], **sums)


def pooled(tally: Tally) -> Histogram:
    """The pooled entries, clipped where the preset N17 clips them before binning."""
    if tally.plan.preset != "N17":
        return tally.pooled
    low, high = (tally.grid.atom(limit) for limit in tally.plan.limits)
    clipped = regrouped(tally.pooled, np.clip(tally.pooled.cells, low, high))
    entries = clipped.true.astype(float) if clipped.true_weight is None else clipped.true_weight
    every = clipped.all.astype(float) if clipped.all_weight is None else clipped.all_weight
    for cell, limit in ((low, tally.plan.limits[0]), (high, tally.plan.limits[1])):
        at = clipped.cells == cell
        assert clipped.true_sum is not None
        assert clipped.true_log is not None
        clipped.all_sum[at], clipped.true_sum[at] = limit * every[at], limit * entries[at]
        clipped.true_log[at] = np.log(limit) * entries[at]
    return clipped


def curves_of(tally: Tally) -> tuple[Curve, Curve]:
    """The curve of the published procedure, and that of `measured`, whose wide bins are split.

    Bins of equal true counts, or N17's bins of width 0.01, which are the same for both.
    """
    plan, histogram = tally.plan, pooled(tally)
    if plan.preset == "N17":
        widths = tuple(i / 100 for i in range(1, 100))
        curve = curves.fit("width", histogram, tally.grid, cuts=widths, own=plan.limits)
        return curve, curve
    bins = number_of_bins(tally.sums.n_eff) if plan.bins == "auto" else int(plan.bins)
    return fit_both(histogram, tally.grid, bins=bins, end_width=plan.end_width)


@dataclass(frozen=True)
class Measured:
    """Measured means, their ratio to the reported ones, and the slope."""

    tally: Tally
    profile: Profile

    @cached_property
    def _curves(self) -> tuple[Curve, Curve]:
        return curves_of(self.tally)

    @property
    def curve(self) -> Curve:
        """The curve of `measured`: wide bins at small probabilities are split."""
        return self._curves[1]

    @property
    def plain_curve(self) -> Curve:
        """The curve of the published procedure, which `bins` shows."""
        return self._curves[0]

    @cached_property
    def values(self) -> Floats:
        return self.curve.corrected(R, self.tally.plan.floor)

    @cached_property
    def plain_values(self) -> Floats:
        return self.plain_curve.means(R, self.tally.plan.floor)

    @cached_property
    def influences(self) -> Influences:
        return Influences.of(self.tally, self.curve, self.profile.values, self.values)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Ends of the intervals along the profile."""
        with np.errstate(over="ignore"):
            factor = np.exp(quantile(self.tally.plan.level) * self.influences.measured_errors)
        return self.values / factor, np.maximum(np.minimum(self.values * factor, 1.0), self.values)

    def _reading(self, values: Floats, at: int) -> Reading:
        value = float(values[at])
        if math.isnan(value):
            return undefined("too many bins for so few rows: the corrected power sum is negative")
        reading = around_log(value, float(self.influences.measured_errors[at]), self.tally.plan.level)
        if reading.high is not None and reading.high > 1.0:
            reading.high = max(1.0, value)
        return reading

    def measured(self, name: str) -> Reading:
        return self._reading(self.values, AT[name])

    def plain(self, name: str) -> Reading:
        return self._reading(self.plain_values, AT[name])

    def divergence(self, name: str) -> Reading:
        """Reported ÷ measured."""
        at = AT[name]
        reported, measured = float(self.profile.values[at]), float(self.values[at])
        if not measured > 0.0:
            return undefined("nothing was measured to divide by")
        if self.profile.failures[at] == NONE or reported == 0.0:
            return Reading(reported / measured, reason="the reported mean has no interval")
        return around_log(reported / measured, self.influences.divergence_errors[name], self.tally.plan.level)

    def slope(self) -> Reading:
        """Spread borne out ÷ spread stated (CQ's orientation): below 1 is over-confident."""
        d, r = AT["decisiveness"], AT["robustness"]
        stated = float(self.profile.values[d] - self.profile.values[r])
        borne_out = float(self.values[d] - self.values[r])
        if stated <= 1e-12:
            return undefined("all stated probabilities of what happened are equal: no spread to compare with")
        slope = borne_out / stated
        if not slope > 0.0:
            return Reading(slope, reason="no spread is borne out")
        return around_log(slope, self.influences.slope_error, self.tally.plan.level)

    def bins(self) -> list[dict[str, float]]:
        c = self.plain_curve
        edges = curves.shown(np.concatenate([c.low, c.high]), self.tally.plan.cuts)
        columns = (x.tolist() for x in (c.count, c.true, c.model, c.source, *c.contributions()))
        return [
            {
                "low": low,
                "high": high,
                "count": count,
                "true": true,
                "model": model,
                "source": source,
                "contribution": additive,
                "contribution_eq17": published,
            }
            for low, high, count, true, model, source, additive, published in zip(
                edges[: len(c)], edges[len(c) :], *columns, strict=True
            )
        ]

    def findings(self) -> tuple[Finding, ...]:
        found = []
        if np.isnan(self.values).any():
            message = "too many bins for so few rows: some measured means are undefined (--bins takes fewer)"
            found.append(Finding("too_many_bins", "warning", message))
        if self.tally.k >= 100 and self.tally.plan.floor == 0.0:
            message = (
                f"with {self.tally.k} classes and no floor the measured worst-leaning mean cannot be estimated well; "
                "with floor 0.005 it can"
            )
            found.append(Finding("measured_robustness", "note", message))
        return tuple(found)


def measured_by(tally: Tally, curve: str, groups: str) -> dict[str, float]:
    """Measured means by the curve of that name, fitted on all entries pooled or on each class by itself."""
    if not tally.measurable:
        raise ValueError(NOT_MEASURABLE)
    if groups not in ("pooled", "per class"):
        raise ValueError(f"groups: {groups!r} is neither 'pooled' nor 'per class'")
    if groups == "per class" and tally.k > MANY_CLASSES:
        raise ValueError(f"groups: 'per class' is offered up to {MANY_CLASSES} classes; these are {tally.k}")
    plan = tally.plan
    bins = number_of_bins(tally.sums.n_eff) if plan.bins == "auto" else int(plan.bins)
    options: dict[str, dict[str, Any]] = {
        "bins": {"bins": bins, "end_width": plan.end_width, "split": True},
        "width": {"cuts": tuple(i / 15 for i in range(1, 15))},
    }
    parts = (pooled(tally),) if groups == "pooled" else tally.classwise
    fitted = [curves.fit(curve, h, tally.grid, **options.get(curve, {})) for h in parts if h.true.sum()]
    r = np.array([R[AT[name]] for name in AT])
    weight = np.array([c.true_weight.sum() for c in fitted]) / sum(c.true_weight.sum() for c in fitted)
    # A curve that smooths is not the frequencies of bins, so the correction for few rows a bin is for bins only.
    means = np.array([c.means(r, plan.floor) if curve == "isotonic" else c.corrected(r, plan.floor) for c in fitted])
    logs = np.exp(weight @ np.log(means))
    powers = (weight @ means ** np.where(r == 0.0, 1.0, r)) ** (1.0 / np.where(r == 0.0, 1.0, r))
    return dict(zip(AT, np.where(r == 0.0, logs, powers).tolist(), strict=True))


def not_measurable() -> Reading:
    return unknown(NOT_MEASURABLE)


def rows_to_look_at(tally: Tally) -> Forecasts:
    """Rows that stand for all: all of them while few, the cells of two classes, a sample by hash otherwise."""
    rows = min(ROWS, MOST_ENTRIES // tally.k)
    held = tally.held
    if held is not None and len(held) <= rows:
        return held
    if tally.k == 2:
        return cells_of_two(tally, coarse=True)
    return few(held if held is not None else tally.sample.rows, rows)


def cells_of_two(tally: Tally, coarse: bool = False) -> Forecasts:
    """Two-class forecasts with the probabilities of a cell brought together: a row per cell and outcome."""
    h = tally.classwise[1]
    if coarse:
        h = regrouped(h, tally.grid.nested[h.cells])
    every = h.all if h.all_weight is None else h.all_weight
    p = np.clip(h.all_sum / np.where(every > 0, every, 1.0), 0.0, 1.0)
    counts = np.concatenate([h.true, h.all - h.true])
    some = counts > 0
    weights = None
    if h.all_weight is not None and h.true_weight is not None:
        mass = np.concatenate([h.true_weight, h.all_weight - h.true_weight])
        weights = np.maximum(mass[some] / counts[some], 0.0)
    outcomes = np.repeat([1, 0], len(p))[some]
    return Forecasts(np.concatenate([p, p])[some], outcomes, tally.classes, weights, counts[some])


@dataclass(frozen=True)
class Influences:
    """Standard errors of ln of means from how each row moves them: of measured ones along SPARSE, of reported ones."""

    measured_errors: Floats  # along the profile
    divergence_errors: dict[str, float]
    slope_error: float

    @classmethod
    def of(cls, tally: Tally, curve: Curve, reported: Floats, measured: Floats) -> Influences:
        f, s = rows_to_look_at(tally), tally.sums
        plain = f.weights is None and f.counts is None
        share = np.full(len(f), 1.0 / len(f)) if plain else f.mass / f.mass.sum()
        square = share if f.weights is None else f.mass * f.weights / (f.mass * f.weights).sum()
        columns = np.empty((len(SPARSE) + len(MEANS), len(f)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scales = [measured_moves(columns, f, curve, tally.plan, share), reported_moves(columns, tally.plan, share)]
            slope = [_spread(measured), -_spread(reported)]
            mixes = np.zeros((len(SPARSE) + len(MEANS) + 1, len(columns)))
            mixes[MIXES] = np.concatenate([SIGNS, *slope]) * np.concatenate(scales)[MIXES[1]]
            errors = statistics.mixed_errors(columns, share, square, mixes) * (math.sqrt(s.weight2) / s.weight)
        # Straight lines between every third r, which no one can tell apart.
        along = np.interp(R, SPARSE, errors[: len(SPARSE)])
        *divergence, slope_error = errors[len(SPARSE) :].tolist()
        return cls(along, dict(zip(AT, divergence, strict=True)), slope_error)


def _places() -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of which columns (measured along SPARSE, then reported) errors are wanted: measured, reported − measured, slope.

    Numbers of mixes and of the columns in them; the slope, last, mixes measured and reported ends of the profile.
    """
    m, at = len(SPARSE), {name: place // STEP for name, place in AT.items()}
    alone = [(i, i) for i in range(m + len(AT))]
    less = [(m + i, place) for i, place in enumerate(at.values())]
    slope = [(m + len(AT), c) for c in (at["decisiveness"], at["robustness"], m, m + len(AT) - 1)]
    mixes, columns = np.array([*alone, *less, *slope]).T
    return mixes, columns


MIXES = _places()
SIGNS = np.repeat([1.0, -1.0], [len(SPARSE) + len(MEANS), len(MEANS)])


def _spread(values: Floats) -> Floats:
    """How ln(decisiveness − robustness) moves with ln of each."""
    d, r = values[AT["decisiveness"]], values[AT["robustness"]]
    moves: Floats = np.array([d, -r]) / (d - r)
    return moves


def row_bins(f: Forecasts, curve: Curve, plan: Plan) -> tuple[Floats, NDArray[np.int64]]:
    """(rows, bins) how many entries of a row lie in each bin, and the bin of the true entry."""
    assert f.outcomes is not None
    hits, true = statistics.row_bins(_clipped(f, plan), f.outcomes, curve.low)
    if f.offered is not None:
        hits[:, 0] -= (~f.offered).sum(axis=1)  # what was not offered holds 0, but lies in no bin
    return hits, true


def _clipped(f: Forecasts, plan: Plan) -> Floats:
    return np.clip(f.matrix, *plan.limits) if plan.preset == "N17" else f.matrix


def reported_moves(columns: Floats, plan: Plan, share: Floats) -> Floats:
    """Of each row ln p and p^r beside p, the last columns but for these, and what makes them d ln P_r.

    d ln P_r is (p^r/mean − 1)/r, in logs for r = 0; zeros do not move a mean that is 0.
    """
    p, log, power = reported = columns[-len(MEANS) :]
    if plan.limits != (0.0, 1.0):
        p.clip(*plan.limits, out=p)
    np.log(p, out=log)
    np.exp(log * MEANS["robustness"], out=power)
    mean = reported @ share
    reported[~np.isfinite(mean)] = 0.0
    scale: Floats = 1.0 / (mean * REPORTED)
    scale[1] = 1.0
    return scale


def measured_moves(columns: Floats, f: Forecasts, curve: Curve, plan: Plan, share: Floats) -> Floats:
    """Of each row the moves of S_r along SPARSE, then p of what happened, and what makes the moves d ln S_r.

    d ln S_r is (1+r) c_y^r − r Σ_j c_j^(1+r), relative to the mean; ln c_y + 1 − Σ_j c_j for r = 0.
    """
    assert f.outcomes is not None
    r, m = SPARSE, len(SPARSE)
    log, free = curve.log_source(plan.floor)[:, None], (curve.source > plan.floor)[:, None]
    power = np.exp(log * r)
    own = np.where(free, 1.0 + r, 1.0) * power
    own[:, SPARSE_ZERO] = (log + free)[:, 0]
    every = SPARSE_DIVISOR * power * (curve.source[:, None] * free)
    held = statistics.row_moves(_clipped(f, plan), f.outcomes, share, curve.low, own, every, columns[: m + 1])
    if f.offered is not None:
        columns[:m] += (~f.offered).sum(axis=1) * every[0][:, None]  # what was not offered holds 0, but lies in no bin
    scale: Floats = 1.0 / (held @ power * SPARSE_DIVISOR)
    scale[SPARSE_ZERO] = 1.0
    return scale
