"""Measured means of a tally: each reported probability replaced by how often such forecasts came true."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.data import Finding
from veracity.data import findings_of_results as of_results
from veracity.data.reading import Reading, around, around_log, undefined, unknown
from veracity.data.records import Bin, Means
from veracity.data.verdict import Reason
from veracity.estimate.curves import Curve, equal_true, equal_width, fit, number_of_bins, shown
from veracity.estimate.influences import Influences
from veracity.estimate.reported import AT, ENOUGH, Profile, three
from veracity.formulas.intervals import quantile
from veracity.kernels import Histogram
from veracity.kernels.result import MANY, R
from veracity.state.cells import regrouped
from veracity.state.plan import ERROR_BINS
from veracity.state.tally import Tally
from veracity.words.calibration import why_not

Floats = NDArray[np.float64]

NOT_MEASURABLE = why_not(Reason.ONLY_REALISED)


def clipped_entries(tally: Tally) -> Histogram:
    """Return the pooled entries as the preset N17 clips them before binning."""
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


def bins_of(tally: Tally) -> int:
    """Return the number of bins of equal true counts."""
    return number_of_bins(tally.sums.n_eff) if tally.plan.bins == "auto" else int(tally.plan.bins)


def split_curve(tally: Tally) -> Curve:
    """Return the curve of `measured`: bins of equal true counts, wide ones at small probabilities split."""
    return equal_true(tally.pooled, tally.grid, bins=bins_of(tally), end_width=tally.plan.end_width, split=True)


def published_curve(tally: Tally) -> Curve:
    """Return the curve as published: CQ's bins of equal true counts, or N17's of width 0.01 of clipped entries."""
    plan = tally.plan
    if plan.preset == "N17":
        widths = tuple(i / 100 for i in range(1, 100))
        curve = equal_width(clipped_entries(tally), tally.grid, cuts=widths, own=plan.limits)
        return replace(curve, limits=plan.limits)
    return equal_true(tally.pooled, tally.grid, bins=bins_of(tally), end_width=plan.end_width)


MOST_BINS = 1.6  # times √cases: bias grows with the bins, and stays below seven tenths of the error
AS_PUBLISHED = "as published it is biased by its bins: no interval"
FEW_DECIDE = f"a few rows decide it: no interval holds below {ENOUGH:,} cases"
NO_VARIATION = "the outcomes do not vary: no interval"


@dataclass(frozen=True)
class Measured:
    """Measured means, their ratio to the reported ones, and the spread ratio, all from one curve."""

    tally: Tally
    profile: Profile

    @cached_property
    def curve(self) -> Curve:
        return split_curve(self.tally)

    def along(self, r: Floats) -> Floats:
        """Return the means at these r, without the bias of bins of few cases."""
        return self.curve.corrected(r, self.tally.plan.floor)

    @cached_property
    def values(self) -> Floats:
        return self.along(R)

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
        value = float(self.along(np.array([r]))[0])
        error = float(np.interp(r, R, self.influences.measured_errors))
        if math.isnan(value) or not R[0] <= r <= R[-1]:
            return Reading(value, reason=f"no interval beyond r = {R[0]:g} to {R[-1]:g}")
        if r < 0.0 and self.tally.cases < ENOUGH and self.profile.failures[np.argmin(np.abs(R - r))]:
            return Reading(value, reason=FEW_DECIDE)
        return self._around(value, error)

    def measured(self, name: str) -> Reading:
        """Return a mean."""
        if self._few_decide(name) and self.influences.measured_errors[AT[name]] > 0.0:
            return Reading(float(self.values[AT[name]]), reason=FEW_DECIDE)
        return self._reading(float(self.values[AT[name]]), AT[name])

    def measured_means(self) -> Means:
        """Return the three means."""
        return three(self.measured, self.findings())

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

    def spread_ratio(self) -> Reading:
        """Return measured spread ÷ reported spread (CQ's orientation): below 1 is over-confident."""
        d, r = AT["decisiveness"], AT["robustness"]
        reported = float(self.profile.values[d] - self.profile.values[r])
        measured = float(self.values[d] - self.values[r])
        if reported <= 1e-12:
            return undefined("all reported probabilities of the outcomes are equal: no spread to compare with")
        ratio, error = measured / reported, self.influences.spread_ratio_error
        if error == 0.0:
            return Reading(ratio, reason=NO_VARIATION)
        if self.tally.cases < ENOUGH:
            return Reading(ratio, reason=f"below {ENOUGH:,} cases its interval does not hold")
        if ratio > 2.0 * error:
            return around_log(ratio, error / ratio, self.tally.plan.level)
        return around(ratio, error, self.tally.plan.level)  # nearly no measured spread: its logarithm says nothing

    def findings(self) -> tuple[Finding, ...]:
        found: list[Finding] = []
        if np.isnan(self.values).any():
            found.append(of_results.TooManyBins())
        if self.tally.k >= 100 and self.tally.plan.floor == 0.0:
            found.append(of_results.MeasuredRobustness(classes=self.tally.k))
        return tuple(found)


@dataclass(frozen=True)
class Published(Measured):
    """The same by the procedure of N17 or CQ: frequencies of the bins as they are, without a correction."""

    @cached_property
    def curve(self) -> Curve:
        return published_curve(self.tally)

    def along(self, r: Floats) -> Floats:
        """Return the means at these r, as published."""
        return self.curve.means(r, self.tally.plan.floor)

    def measured(self, name: str) -> Reading:
        """Return a mean, with an interval where its bias is small beside it."""
        few = self.tally.cases < ENOUGH or len(self.curve) > MOST_BINS * math.sqrt(self.tally.cases)
        return self._alone(super().measured(name)) if few else super().measured(name)

    def divergence(self, name: str) -> Reading:
        """Return reported ÷ measured, whose bias no number of cases makes small."""
        return self._alone(super().divergence(name))

    def spread_ratio(self) -> Reading:
        """Return measured spread ÷ reported spread, whose bias no number of cases makes small."""
        return self._alone(super().spread_ratio())

    def _alone(self, found: Reading) -> Reading:
        """Return a value without an interval."""
        return found if math.isnan(found) else Reading(float(found), reason=AS_PUBLISHED)

    def bins(self) -> tuple[Bin, ...]:
        """Return the bins, with all three means of the model's side."""
        c, true = self._floored_curve, self.profile.entries
        edges = shown(np.concatenate([c.low, c.high]), self.tally.plan.cuts)
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

    def findings(self) -> tuple[Finding, ...]:
        return ()


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
    parts = (
        {"": tally.pooled} if groups == "pooled" else dict(zip(map(str, tally.classes), tally.classwise, strict=True))
    )
    options: dict[str, dict[str, Any]] = {
        "bins": {"bins": bins_of(tally), "end_width": plan.end_width, "split": True},
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
