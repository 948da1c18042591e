"""Everything that follows from one tally: sections as frozen records, each computed when first asked for and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from veracity import estimate
from veracity.calibrators import Fitted
from veracity.estimate.calibration.careful_correction import CAUTION
from veracity.estimate.calibration.fix import Advice
from veracity.estimate.loss.losses import NoProbabilities
from veracity.estimate.rule_names import RULES, parameter_of, rule_key, rule_of
from veracity.estimate.shared import Shared
from veracity.kernels.blas import one_blas_thread, section
from veracity.kernels.result import R
from veracity.records import findings_of_results as of_results
from veracity.records import sections as records
from veracity.records import stability
from veracity.records.decisions import AtPrior, Decisions
from veracity.records.findings import Finding, unique
from veracity.records.fix import Fix
from veracity.records.papers import FloorMeans, MeansAt, Papers
from veracity.records.reading import Reading, undefined, unknown
from veracity.records.verdict import Verdict
from veracity.state.plan import FLOORS, asked_prior, finite_power
from veracity.state.tally import Tally

FIT_AND_USE = "k = vc.calibrate(y_true, y_proba)\nk.predict(new_proba)"
NOT_EXPECTED = "means are expected for r > −1"
FROM_JSON = "this assessment was read from a document that does not hold this; make it again from the forecasts"

WORKINGS = ("_shared", "_advised")  # kept with the sections, and made again where a result is copied or sent


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """The sections of an assessment."""

    tally: Tally | None  # None where they were read from a document

    def complete(self) -> Self:
        """Return itself with every section computed: no page decides what is estimated, or when.

        What was read from a document holds all that it will hold.
        """
        if self.tally is None:
            return self
        for name, attribute in vars(Estimates).items():
            if isinstance(attribute, cached_property) and name not in WORKINGS:
                getattr(self, name)
        return self

    # -- filled by the one pass -----------------------------------------------------------------------------------

    @section
    def n(self) -> int:
        """Number of cases."""
        return self._counted.cases

    @section
    def classes(self) -> tuple[Any, ...]:
        return self._counted.classes

    @section
    def floor(self) -> float:
        """Minimum probability of the reported means."""
        return self._counted.plan.limits[0]

    @section
    def level(self) -> float:
        """Level of the intervals."""
        return self._counted.plan.level

    @section
    def scores(self) -> records.Scores:
        """Proper scores, accuracy and ranking."""
        if self._shared.nothing:
            nothing = of_results.OneClass() if self.n else of_results.Empty()
            scores = estimate.no_scores(self._state, self._shared.nothing)
            return replace(scores, findings=(*self._state.findings, nothing))
        scores = estimate.scores(self._state)
        scores = self._shared.bootstrap.of_scores(scores) if self._shared.bootstrap else scores
        findings = estimate.findings(self._state, scores, self._shared.profile.entries)
        return self._shared.shown(replace(scores, findings=findings))

    @section
    def skill(self) -> records.Skill:
        """Improvement on the baseline as a share of its loss."""
        if self._shared.nothing:
            return records.Skill(undefined(self._shared.nothing), undefined(self._shared.nothing))
        return self._shared.shown(estimate.skill(self._state, self.baseline))

    @section
    def baseline(self) -> records.Baseline:
        """Scores of always predicting the class frequencies."""
        return records.Baseline() if self._shared.nothing else estimate.baseline(self._state)

    @section
    def reported(self) -> records.Means:
        """The three means of the probability given to the outcome."""
        if self._shared.nothing:
            return self._shared.no_means
        means, bootstrap = self._shared.profile.means(), self._shared.bootstrap
        return self._shared.shown(means if bootstrap is None else bootstrap.of_means(means), "reported")

    @section
    def expected(self) -> records.ExpectedMeans:
        """The same means as the forecaster expects of itself, and its expected scores beside the observed ones."""
        shared = self._shared
        means = self._shared.no_means if shared.nothing else shared.shown(shared.expected.means(), "expected")
        scores = {key: self._expected_score(key) for key in (*RULES, *shared.further)}
        return records.ExpectedMeans(**means.readings(), findings=means.findings, scores=scores)

    @section
    def measured(self) -> records.Means:
        """The same means after recalibration: the refinement loss as a probability, (1 − r·RL)^(1/r)."""
        shared = self._shared
        return shared.shown_measured(shared.measured.means()) if shared.measured else shared.no_measured_means

    @section
    def divergence(self) -> records.Means:
        """Reported ÷ measured."""
        shared = self._shared
        if shared.measured is None:
            return shared.no_measured_means
        return shared.shown_measured(shared.measured.divergence(self.losses("log").CL))

    @section
    def papers(self) -> Papers:
        """Measured means, divergence and spread ratio by the procedures of the papers and by the curve asked for."""
        shared, plan = self._shared, self._state.plan
        n17, cq = (shared.as_published if plan.preset == name else None for name in ("N17", "CQ"))
        sources = shared.sources
        curve = None if sources is None or plan.curve is None else sources.record(shared.profile)
        classes = sources.classes() if sources is not None and sources.per_class else {}
        return Papers(n17, cq, curve, classes, shared)

    @section
    def source(self) -> records.Means:
        """The same means of the source probabilities, where they are given (`ideal`)."""
        if self._shared.nothing:
            return self._shared.no_means
        return self._shared.shown(estimate.source_means(self._state), "expected")

    @section
    def source_divergence(self) -> records.Means:
        """Reported ÷ source."""
        return self._shared.no_means if self._shared.nothing else estimate.source_divergence(self.reported, self.source)

    @section
    def calibration_slope(self) -> Reading:
        """Slope b of ln p' = a + b ln p, that of the verdict: below 1 over-confident, above 1 under-confident."""
        return self.verdict_detail.slope

    @section
    def spread_ratio(self) -> Reading:
        """Spread ratio of N17 and CQ: (decisiveness − robustness) measured ÷ reported."""
        shared = self._shared
        return shared.measured.spread_ratio() if shared.measured else shared.no_measured_means.decisiveness

    @section
    def risk_profile(self) -> records.RiskProfile:
        """The generalized mean for every r: expected, reported and measured."""
        if self._shared.nothing:
            none = (np.nan,) * len(R)
            return records.RiskProfile(tuple(R.tolist()), *(none for _ in range(11)))
        shared = self._shared
        expected = None if shared.unjudged else shared.expected
        return shared.shown(estimate.risk_profile(expected, shared.profile, shared.measured, shared.bootstrap))

    @section
    def means_at(self) -> Mapping[str, MeansAt]:
        """The generalized means at the r of the plan."""
        means = {}
        for r in self._state.plan.r:
            expected = self.expected_at(r) if r > -1.0 else unknown(NOT_EXPECTED)
            means[repr(r)] = MeansAt(r, self.reported_at(r), expected, self.measured_at(r))
        return means

    @section
    def floors(self) -> tuple[FloorMeans, ...]:
        """The reported means with minimum probabilities (CQ Table 2)."""
        if self._shared.nothing:
            return tuple(FloorMeans(floor, np.nan, np.nan, np.nan) for floor in FLOORS)
        return self._shared.profile.floors

    @section
    def bins(self) -> tuple[records.Bin, ...]:
        """The bins of the published procedure, with source means where a curve or given probabilities tell them."""
        published, sources = self._shared.published, self._shared.sources
        if published is None:
            return ()
        bins = published.bins()
        if self._state.plan.curve is not None and sources is not None:
            bins = sources.in_bins(bins, published.curve.start)
        return estimate.with_source(bins, self._state)

    @section
    def calibration_error(self) -> records.CalibrationErrors:
        """Mean gaps between forecast and frequency."""
        return records.CalibrationErrors() if self._shared.unjudged else estimate.calibration_error(self._state)

    # -- conclusions: one cross-validation serves verdict, losses and remedies ------------------------------------

    @section
    def verdict(self) -> str:
        """The calibration verdict in one or a few words."""
        return self.verdict_detail.word

    @section
    def verdict_detail(self) -> Verdict:
        """Can the probabilities be taken at face value? Tests, sizes and sentences."""
        return self._shared.shown(self._shared.verdict)

    @section
    def remedies(self) -> tuple[records.Remedy, ...]:
        """What each recalibration gains on cases it was not fitted to, best first."""
        if self._shared.unfitted:
            return ()
        return estimate.remedies(self._shared.recalibration, level=self._state.plan.level)

    @section
    def advice(self) -> Fix:
        """What to do about what the verdict found: a map with its gain, or the reason why there is none."""
        fix = self._advised.fix
        return fix if fix.map is None else replace(fix, python=FIT_AND_USE)

    @section
    def _advised(self) -> Advice:
        """The advice with the map that it means."""
        return self._advised_with()

    def _advised_with(self, caution: float = CAUTION) -> Advice:
        """Return that advice with a step that is shortened by so many standard errors."""
        shared, baseline = self._shared, self.baseline.log_loss
        if shared.unmapped or baseline is None:
            return Advice(Fix("none", shared.unmapped or None))
        loss, share = float(self.scores.log_loss), self.verdict_detail.gain.high
        upper = None if share is None else share * loss  # the same end that the calibration loss has
        return estimate.advice(self._state, self.verdict_detail, shared.recalibration, loss, baseline, upper, caution)

    @property
    def advised_map(self) -> Fitted | None:
        """The map that the advice means, fitted; None where none is advised."""
        return self._advised.fitted

    @section
    def _losses_by_rule(self) -> Mapping[str, records.Losses]:
        """The losses of KF15 by rule: log, Brier, and the r of the plan."""
        return {key: self._losses(key) for key in (*RULES, *self._shared.further)}

    @section
    def _decompositions(self) -> Mapping[str, records.Decomposition]:
        """Uncertainty − resolution + reliability by rule."""
        return {key: self._shared.decomposition(key) for key in (*RULES, *self._shared.further)}

    @section
    def decomposed_profile(self) -> records.DecomposedProfile:
        """Terms of the loss along r as shares of the baseline's loss."""
        if self._shared.unmapped:
            return records.DecomposedProfile(())
        tally, recalibration = self._state, self._shared.recalibration
        rows = tally.rows if recalibration is None else recalibration.rows
        try:
            return estimate.decomposed_profile(rows, recalibration, map=tally.plan.map, prior=tally.frequencies)
        except NoProbabilities:
            return records.DecomposedProfile(())

    @section
    def corp(self) -> records.Corp:
        """Miscalibration, discrimination and uncertainty with isotonic recalibration."""
        return records.Corp() if self._shared.unmapped else estimate.corp(self._state.rows)

    @section
    def adjustment(self) -> records.Adjustment:
        """What prior correction does: factors or shifts, and the loss after it."""
        return records.Adjustment() if self._shared.unmapped else estimate.adjustment(self._state.rows)

    @section
    def per_class(self) -> Mapping[str, records.ClassReading]:
        """Predicted and observed frequency, slope and share of the miscalibration of each class."""
        if self._shared.unjudged:
            return {}
        recalibration, tally = self._shared.recalibration, self._state
        how: Any = {"level": tally.plan.level, "independent": tally.by_key is None}
        how["gains"] = None if recalibration is None else recalibration.gains_by_class("log")
        return estimate.per_class(tally.classwise, self.classes, **how)

    @section
    def curves(self) -> records.Curves:
        """Reliability curves, sharpness and ROC."""
        published = self._shared.published
        return records.Curves() if published is None else estimate.reliability(self._state, published.curve)

    @section
    def groups(self) -> Mapping[str, stability.Group]:
        """Readings of each level of each group."""
        return {column: self._shared.group(levels) for column, levels in self._state.groups.items()}

    @one_blas_thread
    def level_of(self, column: str, name: str) -> records.Level:
        """Return all readings of one level of a group, which `groups` leaves short where there are very many."""
        return self._shared.level(self._state.groups, column, name)

    @section
    def windows(self) -> tuple[stability.Window, ...]:
        """Readings of each window of time, where the plan has windows."""
        return estimate.windows(self._state)

    @section
    def drift(self) -> stability.Drift | None:
        """Whether calibration changes slowly in time; None without times."""
        return estimate.drifts(self._state)

    @section
    def decisions(self) -> Decisions:
        """What the forecasts are worth to those who act on them: decision curve, costs, picks, other frequencies."""
        reason = self._shared.unjudged
        return Decisions(None, reason=reason) if reason else estimate.decisions(self._state, self._shared.recalibration)

    @one_blas_thread
    def at_prior(self, prior: Mapping[Any, float]) -> AtPrior:
        """Return scores and net benefit where classes have other frequencies, such as {"event": 0.05}."""
        if self._shared.unmapped:
            raise ValueError(f"prior: {self._shared.unmapped}")
        asked = asked_prior(prior, self.classes, self._state.sums.by_class[:, 0].tolist())
        return estimate.at_prior(self._state, asked, self.decisions.thresholds)

    @section
    def surprises(self) -> tuple[records.Surprise, ...]:
        """The cases that gave least to their outcome."""
        return estimate.surprises(self._state)

    @section
    def findings(self) -> tuple[Finding, ...]:
        """What must be known, from all sections that can tell."""
        known = [*self.scores.findings, *self.reported.findings, *self.measured.findings, *self.verdict_detail.findings]
        known += [finding for losses in self._losses_by_rule.values() for finding in losses.findings]
        return unique(known)

    # -- any r ----------------------------------------------------------------------------------------------------

    def losses(self, rule: str | float = "log") -> records.Losses:
        """Return the losses of KF15 Table 2 under "log", "brier" or any r > −1."""
        key = rule_key(rule)
        return self._losses_by_rule[key] if key in self._losses_by_rule else self._losses(key)

    def decomposition(self, rule: str | float = "log") -> records.Decomposition:
        """Return loss = uncertainty − resolution + reliability + within under "log", "brier" or any r > −1."""
        key = rule_key(rule)
        return self._decompositions[key] if key in self._decompositions else self._shared.decomposition(key)

    @one_blas_thread
    def reported_at(self, r: float) -> Reading:
        """Return the generalized mean of the probability of the outcome at any r (RP eq 2.6)."""
        if self._shared.nothing:
            return undefined(self._shared.nothing)
        return self._shared.shown(estimate.ReportedAt(self._shared.profile, finite_power(r)).reading(), "reported")

    @one_blas_thread
    def expected_at(self, r: float) -> Reading:
        """Return the expected mean of the probability of the outcome at r > −1."""
        if self._shared.nothing:
            return undefined(self._shared.nothing)
        return self._shared.shown(estimate.expected_at(self._state, finite_power(r)), "expected")

    @one_blas_thread
    def measured_at(self, r: float) -> Reading:
        """Return the measured mean of the probability of the outcome at r > −1: (1 − r·RL)^(1/r)."""
        r, shared = finite_power(r), self._shared
        if shared.measured is None:
            return shared.no_measured_means.decisiveness
        mean = shared.measured.at(r)
        return shared.shown_measured(records.Means(mean, mean, mean)).decisiveness

    # -- what sections share --------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in WORKINGS}

    @property
    def _counted(self) -> Tally:
        """The tally as it was counted."""
        if self.tally is None:
            raise AttributeError(FROM_JSON)
        return self.tally

    @property
    def _state(self) -> Tally:
        """The tally that estimates are made from."""
        return self._shared.tally

    @section
    def _shared(self) -> Shared:
        return Shared(self._counted)

    def _expected_score(self, key: str) -> records.ExpectedScore:
        if self._shared.nothing:
            return records.ExpectedScore(None, undefined(self._shared.nothing))
        return self._shared.shown(estimate.expected_score(self._state, parameter_of(key)))

    @one_blas_thread
    def _losses(self, key: str) -> records.Losses:
        tally, plan = self._state, self._state.plan
        if self._shared.unfitted:
            return estimate.no_losses(self._shared.unfitted)
        score = {"log": self.scores.log_loss, "brier": self.scores.brier}.get(key)
        if score is None and self._shared.recalibration is not None:
            score = estimate.score_at(tally, self._shared.recalibration, parameter_of(key))
        upper = None
        if key == "log" and plan.map == "auto" and self.verdict_detail.gain.high is not None and score is not None:
            upper = self.verdict_detail.gain.high * float(score)
        options: dict[str, Any] = {"map": plan.map, "level": plan.level, "score": score, "upper": upper}
        options["ideal"] = self._shared.ideal
        try:
            losses = estimate.losses(tally.rows, rule_of(key), self._shared.recalibration, **options)
        except NoProbabilities as error:
            losses = estimate.no_losses(str(error), score)
        return self._shared.shown(losses)
