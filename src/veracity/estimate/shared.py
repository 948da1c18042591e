"""What several sections of an assessment share: each is estimated once, when first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from veracity import estimate
from veracity.estimate.calibration.repeated_rows import Repetition, finding
from veracity.estimate.calibration.verdict_of_tally import rowless
from veracity.estimate.comparison.dependent import Widening
from veracity.estimate.loss.decomposition import cells_of
from veracity.estimate.loss.ideal import Ideal
from veracity.estimate.loss.losses import ONE_FOLD, NoProbabilities, chain
from veracity.estimate.loss.recalibration import Recalibration
from veracity.estimate.means.bootstrap import Bootstrap
from veracity.estimate.means.entries import AT
from veracity.estimate.means.expected import Expected
from veracity.estimate.means.measured import FEWEST, TOO_FEW, Measured, unmeasured
from veracity.estimate.means.published import Published
from veracity.estimate.means.reported import Profile
from veracity.estimate.means.scores import FEW_MISSES, few_misses
from veracity.estimate.rule_names import RULES, rule_key, rule_of
from veracity.formulas.chain import Chain
from veracity.kernels.blas import one_blas_thread, section
from veracity.kernels.result import MANY
from veracity.records.papers import CurveMeans, CurveReadings
from veracity.records.reading import Reading, undefined, unknown
from veracity.records.sections import (
    Decomposition,
    ExpectedScore,
    Level,
    Means,
    RiskProfile,
    Section,
    document_fields,
)
from veracity.records.stability import Group
from veracity.records.verdict import Reason, Verdict
from veracity.state.tally import Tally
from veracity.words.verdict import why_not

Shown = TypeVar("Shown")
NO_CASES = "the number of cases is unknown: no intervals"
TERMS = ("uncertainty", "resolution", "reliability", "within")
MOST_ROWS, MOST_ENTRIES = 20_000, 1_000_000  # of analysis rows that recalibrations are fitted on and judged by

# scores and losses see to it themselves
DECIDED_BY_MISSES = (Reading, Means, ExpectedScore, RiskProfile, Decomposition)


@dataclass(frozen=True, eq=False)
class Shared:
    """The estimates of one tally, as it was counted, that more than one section needs."""

    counted: Tally

    @section
    def tally(self) -> Tally:
        """The tally that estimates are made from: equal forecasts are clusters where these seem to be copies."""
        if not estimate.has_equal_forecasts(self.counted):
            return self.counted
        return estimate.forecasts_as_clusters(self.counted) if self._equal_repeat else self.counted

    @section
    def repetition(self) -> Repetition | None:
        """That rows seem to repeat."""
        return estimate.repeated_rows(self.counted)

    @property
    def _equal_repeat(self) -> bool:
        """Whether it is the rows with equal forecasts that do."""
        return self.repetition is not None and self.repetition.tied

    @property
    def repeating(self) -> Reason | None:
        """Why there is no verdict though forecasts can be compared with outcomes: copies of cases cannot be told."""
        return None if self.repetition is None or self._equal_repeat else Reason.REPEATED_ROWS

    @property
    def cluster_option(self) -> str:
        """How the caller names the clusters of rows."""
        return {"file": "--cluster", "frame": "cluster="}.get(self.tally.names.style, "clusters=")

    @section
    def nothing(self) -> str:
        """Why there is nothing to assess; empty where there is something."""
        reason = estimate.nothing(self.tally)
        return why_not(reason) if reason else ""

    @section
    def unjudged(self) -> str:
        """Why forecasts cannot be compared with outcomes; empty where they can."""
        return self.nothing or ("" if self.tally.measurable else estimate.NOT_MEASURABLE)

    @section
    def unmapped(self) -> str:
        """Why no map can be fitted; empty where one can."""
        return self.unjudged or (why_not(Reason.WITHOUT_ROWS) if rowless(self.tally) else "")

    @property
    def unfitted(self) -> str:
        """Why no recalibration can be fitted and judged on the same rows; empty where one can."""
        return self.unmapped or (why_not(self.repeating) if self.repeating else "")

    @section
    def verdict(self) -> Verdict:
        """The calibration verdict, with what must be known about rows that seem to repeat."""
        verdict = estimate.verdict(self.tally, self.recalibration, untested=self.repeating)
        if self.repetition is None:
            return verdict
        return replace(verdict, findings=(*verdict.findings, finding(self.repetition, self.cluster_option)))

    def group(self, levels: Mapping[str, Tally]) -> Group:
        """Return the readings of each level of a group."""
        return estimate.group(self._as_clusters(levels), self.recalibration, self.measured, self.repeating)

    def level(self, groups: Mapping[str, Mapping[str, Tally]], column: str, name: str) -> Level:
        """Return all readings of one level of a group."""
        for what, names in ((column, groups), (name, groups.get(column, {}))):
            if what not in names:
                raise KeyError(f"no {what!r}; there are {', '.join(sorted(names)[:10]) or 'no groups'}")
        levels = self._as_clusters(groups[column])
        return estimate.whole_level(levels, name, self.recalibration, self.measured, self.repeating)

    def _as_clusters(self, levels: Mapping[str, Tally]) -> Mapping[str, Tally]:
        """Return the levels; where equal forecasts are clusters, they are in every level."""
        return (
            {name: estimate.forecasts_as_clusters(part) for name, part in levels.items()}
            if self._equal_repeat
            else levels
        )

    @section
    def profile(self) -> Profile:
        """The reported means along the risk profile."""
        return Profile(self.tally)

    @section
    def expected(self) -> Expected:
        """The means that the forecasts expect of themselves along the risk profile."""
        return Expected(self.tally)

    @section
    def measured(self) -> Measured | None:
        """The measured means, where a recalibration can be judged."""
        if self.unmeasured or self.recalibration is None:
            return None
        steps = self._chain if isinstance(self._chain, Chain) else None
        return Measured(self.tally, self.profile, self.recalibration, steps)

    @section
    def unmeasured(self) -> str:
        """Why there are no measured means; empty where there are."""
        if self.unjudged:
            return self.unjudged
        if self.tally.cases < FEWEST and not self.tally.shares_only:
            return TOO_FEW
        if self.recalibration is None:
            return self.unfitted or ONE_FOLD
        return self._chain if isinstance(self._chain, str) else ""

    @section
    def _chain(self) -> Chain | str | None:
        """The exact chain of the map that the plan names, or why that has none; None for the cross-fitted C."""
        plan = self.tally.plan
        if plan.map == "auto":
            return None
        try:
            return chain(self.tally.rows, plan.map, q=self.ideal)
        except NoProbabilities as error:
            return str(error)

    @section
    def published(self) -> Published | None:
        """The same by the published procedure: that of the preset, or CQ's."""
        return None if self.unjudged else Published(self.tally, self.profile)

    @section
    def bootstrap(self) -> Bootstrap | None:
        """The resampled rows, where the plan asks for them."""
        if not self.tally.plan.bootstrap:
            return None
        return Bootstrap(self.tally)

    def __getstate__(self) -> dict[str, Tally]:
        return {"counted": self.counted}

    def by_curve(self, curve: str, per_class: bool, neighbours: int | None) -> CurveReadings:
        """Return the measured means by another curve, of all classes together or of each by itself."""
        sources = estimate.Sources(self.tally, curve, per_class, neighbours)
        values = {name: dict(zip(AT, means.tolist(), strict=True)) for name, means in sources.means.items()}
        overall = dict(zip(AT, sources.overall.tolist(), strict=True))
        return cast(CurveReadings, {**overall, "classes": values} if per_class else overall)

    @section
    def sources(self) -> estimate.Sources | None:
        """Source probabilities of each class by the curve of the plan, or else as published; None without classes."""
        plan, per_class = self.tally.plan, self.tally.k <= MANY
        if self.unjudged or (plan.curve is None and not per_class):
            return None
        if plan.curve is not None:
            return estimate.Sources(self.tally, plan.curve, per_class, plan.neighbours)
        return estimate.Sources(self.tally, "width" if plan.preset == "N17" else "bins", published=True)

    @section
    def as_published(self) -> CurveMeans:
        """What the published procedure says of the forecasts."""
        none = self.no_measured_means
        return CurveMeans(none, none, none.decisiveness) if self.published is None else self.published.means()

    @property
    def no_measured_means(self) -> Means:
        """The measured means where there are none."""
        return self.no_means if self.nothing else unmeasured(self.unmeasured)

    @property
    def no_means(self) -> Means:
        """The means where there is nothing to assess."""
        none = undefined(self.nothing)
        return Means(none, none, none)

    @section
    def recalibration(self) -> Recalibration | None:
        """The one cross-validation of verdict, losses and remedies; None where copies could be on both its sides."""
        if self.unfitted:
            return None
        rows = self.tally.few_rows(MOST_ROWS, MOST_ENTRIES)
        clusters = self.tally.dependent(rows)
        exclude = ("multiplicative",) if rows.picks_only else ()
        return estimate.recalibration(rows, clusters=clusters, time=rows.time, exclude=exclude)

    @section
    def ideal(self) -> Ideal:
        """Stage Q where the data tell it: given, from equal features, from repeated outcomes."""
        return estimate.ideal(self.tally.rows, seed=self.tally.plan.random_state)

    @section
    def _cells(self) -> Chain:
        """The chain whose stage C is counted in cells, the same for every rule."""
        tally = self.tally
        return chain(tally.rows, cells_of(tally.rows, tally.plan.map), prior=tally.frequencies)

    @one_blas_thread
    def decomposition(self, key: str) -> Decomposition:
        """Return loss = uncertainty − resolution + reliability + within of a rule by its name in documents."""
        tally, plan = self.tally, self.tally.plan
        reason = self.unmapped
        if not reason:
            options: dict[str, Any] = {"map": plan.map, "level": plan.level}
            try:
                return self.shown(estimate.decomposition(tally.rows, rule_of(key), steps=self._cells, **options))
            except NoProbabilities as error:
                reason = str(error)
        nothing: dict[str, Any] = dict.fromkeys(TERMS, unknown(reason))
        return Decomposition(**nothing, map=plan.map)

    @property
    def further(self) -> tuple[str, ...]:
        """The r of the plan that have a proper score, beyond log and Brier, by their names in documents."""
        return tuple(key for r in self.tally.plan.r if r > -1.0 and (key := rule_key(r)) not in RULES)

    def shown_measured(self, means: Means) -> Means:
        """Return measured means, whose intervals come from sums of clusters or times already, as they can be shown."""
        if self.tally.shares_only or self._few_misses or self.tally.by_key is None:
            return self.shown(means, "measured")
        return self._widening.by_sums(means)

    def shown(self, section: Shown, of: str = "") -> Shown:
        """Return the section with intervals for dependent cases, without where the number of cases is unknown.

        of  the quantity that means, or a single reading, are of
        """
        if self.tally.shares_only:
            return without_intervals(section)
        if isinstance(section, DECIDED_BY_MISSES) and self._few_misses:
            return without_intervals(section, FEW_MISSES)
        dependent = self.tally.by_key is not None and not self.tally.plan.bootstrap and not self.nothing
        return self._widening.section(section, of) if dependent else section

    @section
    def _few_misses(self) -> bool:
        return few_misses(self.tally)

    @section
    def _widening(self) -> Widening:
        return Widening(self.tally)


def without_intervals(section: Shown, reason: str = NO_CASES) -> Shown:
    """Return the section with every interval removed, and the reason in its place."""
    stripped: Any = section
    if isinstance(section, Reading):
        stripped = Reading(float(section), reason=section.reason or reason, known=section.known)
    elif isinstance(section, Section):
        changed = {f.name: without_intervals(getattr(section, f.name), reason) for f in document_fields(type(section))}
        if isinstance(section, RiskProfile):
            changed |= {name: None for name in changed if name.endswith(("_low", "_high"))}
        stripped = replace(section, **changed)
    elif isinstance(section, Mapping):
        stripped = {name: without_intervals(entry, reason) for name, entry in section.items()}
    return stripped  # type: ignore[no-any-return]
