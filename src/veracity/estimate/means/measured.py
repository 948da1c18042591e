"""Measured means: what the mean probability of the outcome would be after recalibration, for every r > −1.

    measured_r = (1 − r·RL_r)^{1/r},    r = 0: exp(−RL),

RL_r the refinement loss that the losses show, so that measured × divergence = reported says refinement + calibration
= loss. In rows measured_r^r is the mean of 1 − r·score_r(C, y) = (1 + r) C_y^r − r Σ_j C_j^{1+r}, which gives the
interval; C is the cross-fitted recalibration, or the prior correction or S where these lose less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veracity.estimate.comparison.components import Judged
from veracity.estimate.intervals import around, around_log
from veracity.estimate.loss.losses import IN_SAMPLE, SAME_ROWS, Refined, error_of, refined
from veracity.estimate.loss.recalibration import Recalibration
from veracity.estimate.means.entries import AT, MEANS
from veracity.estimate.means.expected import LEAST_R, realised_means, scores_from_means
from veracity.estimate.means.intervals import ENOUGH
from veracity.estimate.means.reported import NOT_MEASURABLE, Profile, three
from veracity.estimate.means.scores import EXACT, FEW_MISSES, misses
from veracity.formulas.chain import Chain
from veracity.formulas.differences import influences
from veracity.formulas.intervals import quantile
from veracity.formulas.means import mean_of_score
from veracity.formulas.rules import rule as rule_of
from veracity.kernels.result import R
from veracity.records.reading import Reading, undefined, unknown
from veracity.records.sections import Means
from veracity.state.tally import Tally
from veracity.types import Floats

FEWEST = 20  # cases, below which a recalibration is chance
OF_A_CLASS = 10  # cases of the rarest class, from which means that surprises decide have an interval
ROUNDING = 1e-13  # of sums that cancel
EVENTS = 50  # below which the spread ratio is chance
METHOD = "row values of the cross-fitted recalibration"
AT_MOST = "lower end of the calibration loss; at most"
TOO_FEW = f"fewer than {FEWEST} cases: too few to judge a recalibration"
NOT_PROPER = "no score is proper at r ≤ −1: nothing is measured"
WORSE = "the score is worse than any mean of probabilities"
FEW_DECIDE = f"a few surprises decide it: no interval below {ENOUGH:,} cases, or {OF_A_CLASS} of each class"
NO_VARIATION = "the outcomes do not vary: no interval"
ZERO_GIVEN = "some outcomes had probability 0: no interval"
BY_MAP = "that of the map in the same rows"
NO_SPREAD = "all reported probabilities of the outcomes are equal: no spread to compare with"
NO_RATIO_ERROR = "a ratio of two differences: no interval holds"


def score_of_all(tally: Tally, recalibration: Recalibration, r: float) -> float:
    """Return the mean score of all cases at r > −1: exact for log and Brier, elsewhere from rows or else from cells."""
    if r in (0.0, 1.0):
        return float(EXACT["log_loss" if r == 0.0 else "brier"](tally))
    if has_all_cases(tally, recalibration):
        return recalibration.mean(recalibration.scores(r, "S"))[0]  # type: ignore[arg-type]
    return scores_from_means(tally, r)


def score_at(tally: Tally, recalibration: Recalibration, r: float) -> Reading | None:
    """Return the mean score of all cases at r > −1 with the interval of a sample; None where that is all cases."""
    if has_all_cases(tally, recalibration):
        return None
    value, scores = score_of_all(tally, recalibration, r), recalibration.scores(r, "S")
    if recalibration.few_misses and math.isfinite(value):
        return Reading(value, reason=FEW_MISSES)
    return around(value, recalibration.mean(scores)[1], tally.plan.level, (0.0, np.inf), IN_SAMPLE)  # type: ignore[arg-type]


def has_all_cases(tally: Tally, recalibration: Recalibration) -> bool:
    """Return whether the cross-validation is one of all cases, and not of a sample."""
    return int(recalibration.rows.copies.sum()) >= tally.sums.rows


@dataclass(frozen=True)
class Measured:
    """Measured means of all cases, their ratio to the reported ones, and the spread ratio.

    found  the cross-validation of the same cases
    steps  the exact chain of the map that the plan names, whose C replaces the cross-fitted one
    """

    tally: Tally
    profile: Profile
    found: Recalibration
    steps: Chain | None = None

    def refined(self, r: float) -> Refined:
        """Return the loss that is left at r, as the losses show it."""
        if r not in self._left:
            self._left[r] = refined(self.found, r, score_of_all(self.tally, self.found, r))
        return self._left[r]

    @cached_property
    def _left(self) -> dict[float, Refined]:
        """What `refined` returned: levels of groups ask again."""
        return {}

    def at(self, r: float) -> Reading:
        """Return the measured mean at any r."""
        return self._named[r] if r in self._named else self._at(r)

    @cached_property
    def _named(self) -> dict[float, Reading]:
        return {r: self._at(r) for r in MEANS.values()}

    def _at(self, r: float) -> Reading:
        if not r > -1.0:
            return unknown(NOT_PROPER)
        if self.steps is not None:
            value = mean_of_score(self.steps.loss(r, "C", "Y"), r)
            return undefined(WORSE) if math.isnan(value) else Reading(value, method=BY_MAP, reason=SAME_ROWS)
        left = self.refined(r)
        value = mean_of_score(left.loss, r)
        if math.isnan(value):
            return undefined(WORSE)
        scores = self.found.scores(r, left.stage)
        assert scores is not None
        return self._around(value, r, self.found.mean(scores)[1], self.tally)

    def _around(self, value: float, r: float, error: float, tally: Tally) -> Reading:
        """Return a mean with the interval on ln P that the standard error of the score gives."""
        if r < LEAST_R and (tally.cases < ENOUGH or _rarest(tally) < OF_A_CLASS):
            return Reading(value, reason=FEW_DECIDE)
        if not value > 0.0:
            return Reading(value, reason=ZERO_GIVEN)
        if error < ROUNDING:
            return Reading(value, reason=NO_VARIATION)
        reading = around_log(value, error / value**r, tally.plan.level, METHOD)
        reading.high = None if reading.high is None else max(min(reading.high, 1.0), value)
        return reading

    def means(self) -> Means:
        """Return the three means."""
        return three(lambda name: self._named[MEANS[name]])

    @cached_property
    def along(self) -> tuple[Floats, Floats, Floats]:
        """(R,) the means along the profile and the ends of their intervals; NaN without."""
        readings = [self.at(r) for r in R.tolist()]
        ends = [[np.nan if end is None else end for end in (one.low, one.high)] for one in readings]
        low, high = np.array(ends).T
        return np.array([float(one) for one in readings]), low, high

    def divergence(self, calibration: Reading) -> Means:
        """Return reported ÷ measured, forecasts without a minimum probability; `calibration` is CL of the log score.

        At r = 0 it is exp(−CL), elsewhere the interval of CL bounds it from above alone.
        """
        return three(lambda name: self._divergence(MEANS[name], calibration))

    def _divergence(self, r: float, calibration: Reading) -> Reading:
        reported = float(realised_means(self.tally, np.array([r]))[0])
        measured = float(self._named[r])
        if not measured > 0.0:
            return undefined(WORSE)
        if self.steps is not None:
            return Reading(reported / measured, method=BY_MAP, reason=SAME_ROWS)
        left = self.refined(r)
        if r == 0.0:
            low, high = (None if end is None else math.exp(-end) for end in (calibration.high, calibration.low))
            return Reading(math.exp(-left.calibration), low, high, calibration.method, calibration.reason)
        if math.isinf(left.calibration):
            return Reading(reported / measured, reason=ZERO_GIVEN)
        gain, error = left.pool
        least = max(gain - quantile(self.tally.plan.level) * error, 0.0) if math.isfinite(error) else 0.0
        high = reported / mean_of_score(left.loss + left.calibration - min(least, left.calibration), r)
        return Reading(reported / measured, None, None if math.isnan(high) else high, AT_MOST)

    def spread_ratio(self) -> Reading:
        """Return measured spread ÷ reported spread (CQ's orientation): below 1 is over-confident."""
        return spread_ratio(self.tally, self.profile, self.means())

    def of_part(self, tally: Tally, judged: Judged) -> Means:
        """Return the three means of some of the cases, by the C of all."""
        if tally.cases < FEWEST:
            return unmeasured(TOO_FEW)

        def reading(name: str) -> Reading:
            r = MEANS[name]
            scores = judged.scores(rule_of(r).key, self.refined(r).stage)
            assert scores is not None
            mass = judged.rows.mass
            mean = float(mass @ scores / mass.sum())
            value = mean_of_score(mean, r)
            if math.isnan(value):
                return undefined(WORSE)
            return self._around(value, r, error_of(judged.rows, influences(scores, mass)), tally)

        return three(reading)


def spread_ratio(tally: Tally, profile: Profile, measured: Means) -> Reading:
    """Return measured spread ÷ reported spread; no value where few events decide it."""
    reported = float(profile.values[AT["decisiveness"]] - profile.values[AT["robustness"]])
    if reported <= 1e-12:
        return undefined(NO_SPREAD)
    if not tally.shares_only and (number := _events(tally)) < EVENTS:
        what = "cases of the rarer class" if tally.k == 2 else "outcomes with a probability of 50 % or less"
        return undefined(f"{number:.0f} {what}: too few for a spread ratio (from {EVENTS})")
    if not (measured.decisiveness.known and measured.robustness.known):
        return unknown(measured.decisiveness.reason or measured.robustness.reason or "")
    return Reading(float(measured.decisiveness - measured.robustness) / reported, reason=NO_RATIO_ERROR)


def _events(tally: Tally) -> float:
    """Return the number of cases of the rarer of two classes; of more, the outcomes that were surprises."""
    return _rarest(tally) if tally.k == 2 else float(misses(tally))


def _rarest(tally: Tally) -> float:
    """Return the effective number of cases of the rarest class."""
    total, squares = tally.sums.by_class[:, 0], tally.sums.by_class[:, 1]
    return float((total**2 / np.maximum(squares, np.finfo(float).tiny)).min())


def unmeasured(reason: str = NOT_MEASURABLE) -> Means:
    """Return the three means where there is none."""
    return three(lambda name: unknown(reason))
