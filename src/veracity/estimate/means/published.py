"""Measured means by the procedures of the papers: frequencies of forecasts in bins, all classes pooled.

N17's bins have a width of 0.01, CQ's hold equal numbers of true entries. Their frequencies are those of the same rows,
so the means are biased by the bins: they have no intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from veracity.estimate.means.curves import Curve, fit, number_of_bins, shown
from veracity.estimate.means.entries import AT
from veracity.estimate.means.reported import Profile, three
from veracity.kernels import Histogram
from veracity.kernels.result import R
from veracity.records.papers import CurveMeans
from veracity.records.reading import Reading, undefined
from veracity.records.sections import Bin
from veracity.state.histograms import regrouped
from veracity.state.plan import Plan
from veracity.state.tally import Tally
from veracity.types import Floats

AS_PUBLISHED = "as published it is biased by its bins: no interval"
NO_SPREAD = "all reported probabilities of the outcomes are equal: no spread to compare with"


def clipped(h: Histogram, tally: Tally) -> Histogram:
    """Return entries as the preset N17 clips them before binning; those of other plans as they are."""
    if tally.plan.preset != "N17":
        return h
    low, high = (tally.grid.atom(limit) for limit in tally.plan.limits)
    histogram = regrouped(h, np.clip(h.cells, low, high))
    entries = histogram.true.astype(float) if histogram.true_weight is None else histogram.true_weight
    every = histogram.all.astype(float) if histogram.all_weight is None else histogram.all_weight
    for cell, limit in ((low, tally.plan.limits[0]), (high, tally.plan.limits[1])):
        at = histogram.cells == cell
        assert histogram.true_sum is not None
        assert histogram.true_log is not None
        histogram.all_sum[at], histogram.true_sum[at] = limit * every[at], limit * entries[at]
        histogram.true_log[at] = np.log(limit) * entries[at]
    return histogram


def hundredths(plan: Plan) -> dict[str, Any]:
    """Return the cuts of N17's bins, and its limits, which are bins by themselves."""
    return {"cuts": tuple(i / 100 for i in range(1, 100)), "own": plan.limits}


def bins_of(tally: Tally) -> int:
    """Return the number of bins of equal true counts."""
    return number_of_bins(tally.sums.n_eff) if tally.plan.bins == "auto" else int(tally.plan.bins)


def published_curve(tally: Tally) -> Curve:
    """Return the curve as published: CQ's bins of equal true counts, or N17's of width 0.01 of clipped entries."""
    plan = tally.plan
    if plan.preset == "N17":
        curve = fit("width", clipped(tally.pooled, tally), tally.grid, **hundredths(plan))
        return replace(curve, limits=plan.limits)
    return fit("bins", tally.pooled, tally.grid, bins=bins_of(tally), end_width=plan.end_width)


@dataclass(frozen=True)
class Published:
    """Measured means, their ratio to the reported ones, and the spread ratio, all from one published curve."""

    tally: Tally
    profile: Profile

    @cached_property
    def curve(self) -> Curve:
        return published_curve(self.tally)

    @cached_property
    def values(self) -> Floats:
        """The means along the profile."""
        return self.curve.means(R, self.tally.plan.floor)

    def means(self) -> CurveMeans:
        """Return the three means, reported ÷ measured, and the spread ratio."""
        ratio = spread_ratio(self.profile.values, self.values)
        return CurveMeans(three(self.measured), three(self.divergence), ratio)

    def measured(self, name: str) -> Reading:
        """Return a mean."""
        return Reading(float(self.values[AT[name]]), reason=AS_PUBLISHED)

    def divergence(self, name: str) -> Reading:
        """Return reported ÷ measured."""
        reported, measured = (float(side[AT[name]]) for side in (self.profile.values, self.values))
        if not measured > 0.0:
            return undefined("nothing was measured to divide by")
        return Reading(reported / measured, reason=AS_PUBLISHED)

    def bins(self) -> tuple[Bin, ...]:
        """Return the bins, with all three means of the model's side."""
        c, true = self._floored_curve, self.profile.entries
        edges = shown(np.concatenate([c.low, c.high]), self.tally.grid.cuts)
        at = np.maximum(c.start.searchsorted(true.cells, "right") - 1, 0)
        sums = [np.bincount(at, x, len(c)) for x in (true.weight, true.sums[0], true.sums[2])]
        with np.errstate(divide="ignore", invalid="ignore"):
            arithmetic, power = sums[1] / sums[0], (sums[2] / sums[0]) ** -1.5
        columns = (x.tolist() for x in (c.count, c.true, c.model, c.source, *c.contributions(), arithmetic, power))
        return tuple(map(Bin, edges[: len(c)], edges[len(c) :], *columns))

    @property
    def _floored_curve(self) -> Curve:
        """The curve of model probabilities not below the floor."""
        curve, plan = self.curve, self.tally.plan
        if plan.floor == 0.0 or plan.preset == "N17":  # which clips before binning
            return curve
        true = self.profile.entries
        at = curve.start.searchsorted(true.cells, "right") - 1
        logs, weight = (np.bincount(at, x, len(curve)) for x in (true.sums[1], true.weight))
        return replace(curve, model=np.exp(np.divide(logs, weight, out=np.full(len(curve), np.nan), where=weight > 0)))


def spread_ratio(reported: Floats, measured: Floats) -> Reading:
    """Return decisiveness − robustness, measured ÷ reported (CQ's orientation), of two profiles as published."""
    ours, theirs = (float(side[AT["decisiveness"]] - side[AT["robustness"]]) for side in (reported, measured))
    return undefined(NO_SPREAD) if ours <= 1e-12 else Reading(theirs / ours, reason=AS_PUBLISHED)
