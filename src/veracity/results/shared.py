"""What several sections of an assessment share: each is estimated once, when first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from veracity import estimate
from veracity.data.papers import CurveMeans
from veracity.data.reading import Reading, undefined, unknown
from veracity.data.records import Decomposition, ExpectedScore, Means, RiskProfile
from veracity.estimate.bootstrap import Bootstrap
from veracity.estimate.dependent import Widening
from veracity.estimate.expected import Expected
from veracity.estimate.ideal import Ideal
from veracity.estimate.measured import Measured, Published
from veracity.estimate.recalibration import Recalibration
from veracity.estimate.repeated import Repetition
from veracity.estimate.reported import Profile
from veracity.estimate.scores import FEW_MISSES, few_misses
from veracity.results.document import RULES, Shown, rule_key, without_intervals
from veracity.state.tally import Tally

EMPTY = "there are no rows"
ONE_CLASS = "there is only one class: the outcome is certain, and nothing can be compared"
MOST_ROWS, MOST_ENTRIES = 20_000, 1_000_000  # of analysis rows that recalibrations are fitted on and judged by

# scores and losses see to it themselves
DECIDED_BY_MISSES = (Reading, Means, ExpectedScore, RiskProfile, Decomposition)


@dataclass(frozen=True, eq=False)
class Shared:
    """The estimates of one tally that more than one section needs.

    repetition  that rows seem to repeat; where those with equal forecasts do, these are clusters of the tally
    """

    tally: Tally
    repetition: Repetition | None = None

    @classmethod
    def of(cls, tally: Tally) -> Shared:
        """Return the estimates of a tally whose rows may repeat."""
        found = estimate.repeated_rows(tally)
        return cls(estimate.forecasts_as_clusters(tally) if found is not None and found.tied else tally, found)

    @property
    def repeating(self) -> str:
        """Why there is no verdict though forecasts can be compared with outcomes: copies of cases cannot be told."""
        if self.repetition is None or self.repetition.tied:
            return ""
        return f"rows seem to repeat: name the case of each row with {self.cluster_option}"

    @property
    def cluster_option(self) -> str:
        """How the caller names the clusters of rows."""
        return {"file": "--cluster", "frame": "cluster="}.get(self.tally.names.style, "clusters=")

    @cached_property
    def nothing(self) -> str:
        """Why there is nothing to assess; empty where there is something."""
        return "" if self.tally.sums.rows else ONE_CLASS if self.tally.cases else EMPTY

    @cached_property
    def unjudged(self) -> str:
        """Why forecasts cannot be compared with outcomes; empty where they can."""
        return self.nothing or ("" if self.tally.measurable else estimate.NOT_MEASURABLE)

    @cached_property
    def profile(self) -> Profile:
        """The reported means along the risk profile."""
        return Profile(self.tally)

    @cached_property
    def expected(self) -> Expected:
        """The means that the forecasts expect of themselves along the risk profile."""
        return Expected(self.tally)

    @cached_property
    def measured(self) -> Measured | None:
        """The measured means, where forecasts can be compared with frequencies."""
        return None if self.unjudged else Measured(self.tally, self.profile)

    @cached_property
    def published(self) -> Published | None:
        """The same by the published procedure: that of the preset, or CQ's."""
        return None if self.unjudged else Published(self.tally, self.profile)

    @cached_property
    def bootstrap(self) -> Bootstrap | None:
        """The resampled rows, where the plan asks for them."""
        if not self.tally.plan.bootstrap:
            return None
        return Bootstrap(self.tally, self.measured.curve if self.measured else None)

    @cached_property
    def compared(self) -> CurveMeans:
        """What `measured` says of the forecasts, with the intervals that the plan asks for."""
        return self._of_curve(self.measured, self.bootstrap if self.measured else None)

    @cached_property
    def as_published(self) -> CurveMeans:
        """What the published procedure says of the forecasts."""
        return self._of_curve(self.published)

    def _of_curve(self, held: Measured | None, bootstrap: Bootstrap | None = None) -> CurveMeans:
        """Return means, divergences and spread ratio by one curve."""
        if held is None:
            none = undefined(self.nothing) if self.nothing else unknown(estimate.NOT_MEASURABLE)
            return CurveMeans(Means(none, none, none), Means(none, none, none), none)
        measured, divergence, ratio = held.measured_means(), held.divergence_means(), held.spread_ratio()
        if bootstrap is not None:
            measured = bootstrap.of_means("measured", measured)
            divergence = bootstrap.of_means("divergence", divergence)
            ratio = bootstrap.of_spread_ratio(ratio)
        return CurveMeans(self.shown(measured, "measured"), self.shown(divergence, "divergence"), self.shown(ratio))

    @cached_property
    def recalibration(self) -> Recalibration | None:
        """The one cross-validation of verdict, losses and remedies; None where copies could be on both its sides."""
        if self.unjudged or self.repeating:
            return None
        rows = self.tally.few_rows(MOST_ROWS, MOST_ENTRIES)
        clusters = self.tally.dependent(rows)
        exclude = ("multiplicative",) if rows.picks_only else ()
        return estimate.recalibration(rows, clusters=clusters, time=rows.time, exclude=exclude)

    @cached_property
    def ideal(self) -> Ideal:
        """Stage Q where the data tell it: given, from equal features, from repeated outcomes."""
        return estimate.ideal(self.tally.rows, seed=self.tally.plan.random_state)

    @property
    def further(self) -> tuple[str, ...]:
        """The r of the plan beyond log and Brier, by their names in documents."""
        return tuple(key for r in self.tally.plan.r if (key := rule_key(r)) not in RULES)

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

    @cached_property
    def _few_misses(self) -> bool:
        return few_misses(self.tally)

    @cached_property
    def _widening(self) -> Widening:
        return Widening(self.tally)
