"""Measured means of a tally: each reported probability replaced by how often such forecasts came true."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.data import Finding
from veracity.data.reading import Reading, around, around_log, undefined, unknown
from veracity.data.records import Bin, Means
from veracity.estimate.curves import Curve, equal_true_bins, equal_width, fit, number_of_bins, shown
from veracity.estimate.influences import Influences
from veracity.estimate.reported import AT, ENOUGH, Profile, three
from veracity.formulas.intervals import quantile
from veracity.kernels import Histogram
from veracity.kernels.result import MANY, R
from veracity.state.cells import regrouped
from veracity.state.plan import ERROR_BINS
from veracity.state.tally import Tally

Floats = NDArray[np.float64]

NOT_MEASURABLE = "only the probability of the outcome is given, so it cannot be compared with frequencies"


def pooled(tally: Tally) -> Histogram:
    """Return the pooled entries, clipped where the preset N17 clips them before binning."""
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
    """Return the curve of the published procedure, and that of `measured`, whose wide bins are split.

    Bins of equal true counts, or N17's bins of width 0.01, which are the same for both.
    """
    plan, histogram = tally.plan, pooled(tally)
    if plan.preset == "N17":
        widths = tuple(i / 100 for i in range(1, 100))
        curve = equal_width(histogram, tally.grid, cuts=widths, own=plan.limits)
        return curve, curve
    bins = number_of_bins(tally.sums.n_eff) if plan.bins == "auto" else int(plan.bins)
    return equal_true_bins(histogram, tally.grid, bins, plan.end_width)


FEW_DECIDE = f"a few rows decide it: no interval holds below {ENOUGH:,} cases"
NO_VARIATION = "the outcomes do not vary: no interval"


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

    @cached_property
    def plain_curve(self) -> Curve:
        """The curve of the published procedure, which `bins` shows: of model probabilities not below the floor."""
        curve, plan = self._curves[0], self.tally.plan
        if plan.floor == 0.0 or plan.preset == "N17":  # which clips before binning
            return curve
        true = self.profile.entries
        at = curve.start.searchsorted(true.cells, "right") - 1
        logs, weight = (np.bincount(at, x, len(curve)) for x in (true.sums[1], true.weight))
        return replace(curve, model=np.exp(np.divide(logs, weight, out=np.full(len(curve), np.nan), where=weight > 0)))

    @property
    def published_curve(self) -> Curve:
        """The curve of the published procedure, before a floor."""
        return self._curves[0]

    @cached_property
    def values(self) -> Floats:
        return self.curve.corrected(R, self.tally.plan.floor)

    @cached_property
    def plain_values(self) -> dict[str, float]:
        """The three means."""
        found = self.plain_curve.means(R[list(AT.values())], self.tally.plan.floor)
        return dict(zip(AT, found.tolist(), strict=True))

    @cached_property
    def influences(self) -> Influences:
        return Influences.of(self.tally, self.curve, self.profile, self.values)

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Ends of the intervals along the profile."""
        with np.errstate(over="ignore"):
            factor = np.exp(quantile(self.tally.plan.level) * self.influences.measured_errors)
        return self.values / factor, np.maximum(np.minimum(self.values * factor, 1.0), self.values)

    def _reading(self, value: float, at: int) -> Reading:
        if math.isnan(value):
            return undefined("too many bins for so few rows: the corrected power sum is negative")
        if self.influences.measured_errors[at] == 0.0:
            return Reading(value, reason=NO_VARIATION)
        return self._around(value, float(self.influences.measured_errors[at]))

    def _around(self, value: float, error: float) -> Reading:
        """Return the interval of a mean, which does not end above 1 unless the mean does."""
        reading = around_log(value, error, self.tally.plan.level)
        reading.high = None if reading.high is None else max(min(reading.high, 1.0), value)
        return reading

    def at(self, r: float) -> Reading:
        """Return the measured mean at any r; its error is interpolated between those of the profile."""
        value = float(self.curve.corrected(np.array([r]), self.tally.plan.floor)[0])
        error = float(np.interp(r, R, self.influences.measured_errors))
        if math.isnan(value) or not R[0] <= r <= R[-1]:
            return Reading(value, reason=f"no interval beyond r = {R[0]:g} to {R[-1]:g}")
        if r < 0.0 and self.tally.cases < ENOUGH and self.profile.failures[np.argmin(np.abs(R - r))]:
            return Reading(value, reason=FEW_DECIDE)
        return self._around(value, error)

    def measured(self, name: str) -> Reading:
        """Return a mean by the bias-corrected procedure."""
        if self._few_decide(name) and self.influences.measured_errors[AT[name]] > 0.0:
            return Reading(float(self.values[AT[name]]), reason=FEW_DECIDE)
        return self._reading(float(self.values[AT[name]]), AT[name])

    def plain(self, name: str) -> Reading:
        """Return a mean by the published procedure; its error is that of `measured`, whose wide bins are split."""
        if self.tally.cases < ENOUGH:
            return Reading(self.plain_values[name], reason="biased by bins of few cases, as published: no interval")
        reading = self._reading(self.plain_values[name], AT[name])
        reading.method = reading.method and f"{reading.method}, errors of measured"
        return reading

    def measured_means(self) -> Means:
        """Return the three means by the bias-corrected procedure."""
        return three(self.measured, self.findings())

    def plain_means(self) -> Means:
        """Return the three means by the published procedure."""
        return three(self.plain)

    def divergence_means(self) -> Means:
        """Return reported ÷ measured for the three means."""
        return three(self.divergence)

    def divergence(self, name: str) -> Reading:
        """Return reported ÷ measured."""
        at = AT[name]
        reported, measured = float(self.profile.values[at]), float(self.values[at])
        if not measured > 0.0:
            return undefined("nothing was measured to divide by")
        few = R[at] < 0.0 and self.tally.cases < ENOUGH  # the lowest bins of few cases decide both sides
        if few or self.profile.failures[at] or reported == 0.0:
            return Reading(reported / measured, reason="the reported mean has no interval that holds")
        return around_log(reported / measured, self.influences.divergence_errors[name], self.tally.plan.level)

    def _few_decide(self, name: str) -> bool:
        """Return whether a few cases decide a mean, so that no interval holds."""
        return bool(self.profile.failures[AT[name]]) and self.tally.cases < ENOUGH

    def slope(self) -> Reading:
        """Return measured spread ÷ reported spread (CQ's orientation): below 1 is over-confident."""
        d, r = AT["decisiveness"], AT["robustness"]
        reported = float(self.profile.values[d] - self.profile.values[r])
        measured = float(self.values[d] - self.values[r])
        if reported <= 1e-12:
            return undefined("all reported probabilities of the outcomes are equal: no spread to compare with")
        slope, error = measured / reported, self.influences.slope_error
        if error == 0.0:
            return Reading(slope, reason=NO_VARIATION)
        if self.tally.cases < ENOUGH:
            return Reading(slope, reason=f"below {ENOUGH:,} cases its interval does not hold")
        if slope > 2.0 * error:
            return around_log(slope, error / slope, self.tally.plan.level)
        return around(slope, error, self.tally.plan.level)  # nearly no measured spread: its logarithm says nothing

    def bins(self) -> tuple[Bin, ...]:
        """Return the bins of the published procedure, with all three means of the model's side."""
        c, true = self.plain_curve, self.profile.entries
        edges = shown(np.concatenate([c.low, c.high]), self.tally.plan.cuts)
        at = np.maximum(c.start.searchsorted(true.cells, "right") - 1, 0)
        sums = [np.bincount(at, x, len(c)) for x in (true.weight, true.sums[0], true.sums[2])]
        with np.errstate(divide="ignore", invalid="ignore"):
            arithmetic, power = sums[1] / sums[0], (sums[2] / sums[0]) ** -1.5
        columns = (x.tolist() for x in (c.count, c.true, c.model, c.source, *c.contributions(), arithmetic, power))
        return tuple(map(Bin, edges[: len(c)], edges[len(c) :], *columns))

    def findings(self) -> tuple[Finding, ...]:
        found = []
        if np.isnan(self.values).any():
            message = "too many bins for so few rows: some measured means are undefined (--bins takes fewer)"
            found.append(Finding("too_many_bins", "warning", message))
        if self.tally.k >= 100 and self.tally.plan.floor == 0.0:
            message = (
                f"with {self.tally.k} classes and no minimum probability the measured pessimistic average cannot be "
                "estimated well; with a minimum probability of 0.005 it can"
            )
            found.append(Finding("measured_robustness", "note", message))
        return tuple(found)


def measured_by(tally: Tally, curve: str, groups: str) -> dict[str, Any]:
    """Return measured means by the curve of that name, fitted on all entries pooled or on each class by itself.

    "per class" adds `classes`: the three means of each class that was observed, over the cases of that class.
    """
    if not tally.measurable:
        raise ValueError(NOT_MEASURABLE)
    if groups not in ("pooled", "per class"):
        raise ValueError(f"groups: {groups!r} is neither 'pooled' nor 'per class'")
    if groups == "per class" and tally.k > MANY:
        raise ValueError(f"groups: 'per class' is offered up to {MANY} classes; these are {tally.k}")
    plan = tally.plan
    bins = number_of_bins(tally.sums.n_eff) if plan.bins == "auto" else int(plan.bins)
    parts = (
        {"": pooled(tally)} if groups == "pooled" else dict(zip(map(str, tally.classes), tally.classwise, strict=True))
    )
    options: dict[str, dict[str, Any]] = {
        "bins": {"bins": bins, "end_width": plan.end_width, "split": True},
        "width": {"cuts": tuple(i / ERROR_BINS for i in range(1, ERROR_BINS))},
    }
    fitted = {name: fit(curve, h, tally.grid, **options.get(curve, {})) for name, h in parts.items() if h.true.sum()}
    r = np.array([R[AT[name]] for name in AT])
    weight = np.array([c.true_weight.sum() for c in fitted.values()])
    # A curve that smooths is not the frequencies of bins, so the correction for few rows a bin is for bins only.
    means = np.array(
        [c.means(r, plan.floor) if curve == "isotonic" else c.corrected(r, plan.floor) for c in fitted.values()]
    )
    overall = generalized(means, weight / weight.sum(), r)
    found: dict[str, Any] = dict(zip(AT, overall.tolist(), strict=True))
    if groups == "per class":
        found["classes"] = {
            name: dict(zip(AT, each.tolist(), strict=True)) for name, each in zip(fitted, means, strict=True)
        }
    return found


def generalized(means: Floats, share: Floats, r: Floats) -> Floats:
    """Return the generalized means of parts (parts, r) that hold these shares of the cases."""
    power = np.where(r == 0.0, 1.0, r)
    return np.where(r == 0.0, np.exp(share @ np.log(means)), (share @ means**power) ** (1.0 / power))


def unmeasured() -> Means:
    """Return the three means where only the probability of the outcome is known."""
    return three(lambda name: unknown(NOT_MEASURABLE))
