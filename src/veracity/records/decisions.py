"""Sections about decisions: what the forecasts are worth to somebody who acts from a threshold on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from veracity.records.reading import Reading
from veracity.records.sections import Numbers, Section

READ = "these decisions were read from a document, which holds one event; make the assessment again from the forecasts"


@dataclass(frozen=True)
class Span(Section):
    """Thresholds from `low` to `high`, both among those that were looked at."""

    low: float
    high: float


@dataclass(frozen=True)
class AtThreshold(Section):
    """Acting where the probability is at least `threshold`.

    murphy  mean elementary loss of acting where the probability is above the threshold
    avoided net share of cases spared an intervention beside acting in all, no event more missed
    """

    threshold: float
    acts: float
    sensitivity: Reading
    specificity: Reading
    net_benefit: Reading
    standardised: Reading
    treat_all: Reading
    avoided: Reading
    murphy: Reading


@dataclass(frozen=True)
class User(Section):
    """A decision-maker by costs of errors: cost per case with the forecasts, without them, with perfect knowledge.

    without    that of the better of acting in all cases and in none, which `default` names: "all" or "none"
    saved      cost without less cost with the forecasts
    best       the threshold with the lowest cost in these cases
    regret     cost at `threshold` less the lowest cost at any threshold
    """

    false_alarm: float
    miss: float
    threshold: float
    cost: Reading
    without: Reading
    default: str
    saved: Reading
    perfect: Reading
    best: float
    regret: Reading


@dataclass(frozen=True)
class PriorScores(Section):
    """Scores where classes have other frequencies; net benefit by threshold, for two classes."""

    log_loss: Reading
    brier: Reading
    net_benefit: Mapping[str, Reading] = field(default_factory=dict)
    curve: Numbers = ()  # net benefit at the thresholds of the decisions


@dataclass(frozen=True)
class AtPrior(Section):
    """The same cases reweighted to other class frequencies: forecasts as they are, and updated by Bayes' rule.

    treat_all   net benefit of acting in all cases, at the same thresholds
    """

    frequencies: Mapping[str, float]
    observed: Mapping[str, float]
    as_is: PriorScores
    updated: PriorScores
    thresholds: Numbers = ()
    treat_all: Numbers = ()


@dataclass(frozen=True)
class BandPoint(Section):
    """A forecast, and between which limits the frequency of the event lies, for all forecasts at once."""

    forecast: float
    low: float
    high: float


@dataclass(frozen=True)
class SmoothPoint(Section):
    """A forecast, and its recalibrated value."""

    forecast: float
    calibrated: float


@dataclass(frozen=True)
class Clinical(Section):
    """Calibration of two classes as clinicians report it, from the cross-fitted recalibration.

    ici, e90  mean and 90 % quantile of the distance between forecast and recalibrated forecast
    band      simultaneous, for frequencies that rise with the forecast; empty with the `reason` why there is none
    inside    whether the forecasts themselves lie in the band everywhere
    width     median width of the band over the forecasts
    """

    ici: Reading
    e90: Reading
    curve: tuple[SmoothPoint, ...]
    band: tuple[BandPoint, ...]
    inside: bool | None = None
    width: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Coverage(Section):
    """Accuracy of the picks with the highest confidence, as many as this share of the cases."""

    coverage: float
    accuracy: float


@dataclass(frozen=True)
class Picks(Section):
    """Leaving the least sure picks to somebody else: the risk–coverage curve.

    area      mean share of wrong picks over all coverages
    accuracy  by coverage; top_k: share of cases whose outcome is among the k most probable classes, by k
    """

    curve: tuple[Coverage, ...]
    area: Reading
    accuracy: Mapping[str, Reading]
    top_k: Mapping[str, Reading]
    method: str | None = None


class Deciding(Protocol):
    """What can tell the decisions about any class."""

    def of(self, label: Any) -> Decisions: ...


@dataclass(frozen=True)
class Decisions(Section):
    """What forecasts of an event are worth at every threshold: the decision curve and the Murphy curve.

    Net benefit acts at p ≥ threshold (as decision curve analysis does), the Murphy curve at p > threshold.

    net_benefit_low, net_benefit_high  intervals at each threshold by itself
    band    half-width of the band around the mean elementary loss that holds for all thresholds at once
    half    mean half score of the event by r: a proper score that tells misses (below r = 1) from false alarms
    useful  thresholds at which acting by the forecasts is better than acting in all cases and in none, all at once
    reason  why there is no curve
    """

    event: str | None
    thresholds: Numbers = ()
    net_benefit: Numbers = ()
    net_benefit_low: Numbers | None = None
    net_benefit_high: Numbers | None = None
    treat_all: Numbers = ()
    murphy: Numbers = ()
    band: float | None = None
    half: Mapping[str, Reading] = field(default_factory=dict)
    useful: tuple[Span, ...] = ()
    prevalence: float | None = None
    at: tuple[AtThreshold, ...] = ()
    costs: tuple[User, ...] = ()
    prior: AtPrior | None = None
    picks: Picks | None = None
    clinical: Clinical | None = None
    method: str | None = None
    reason: str | None = None
    _deciding: Deciding | None = field(default=None, repr=False, compare=False)  # None: read from a document

    def of(self, label: Any) -> Decisions:
        """Return the decisions about one class against the rest."""
        if self.event is not None and str(label) == self.event:
            return self
        if self._deciding is None:
            raise AttributeError(READ)
        return self._deciding.of(label)


@dataclass(frozen=True)
class Winner(Section):
    """Mean elementary loss of a less that of b at a prevalence and a threshold; who is better, where it is proven."""

    prevalence: float
    threshold: float
    difference: float
    better: str | None = None


@dataclass(frozen=True)
class Dominance(Section):
    """Where one model is better for every decision-maker: sets of thresholds and of r, each with a simultaneous band.

    difference       mean elementary loss of a less that of b, by threshold; `band` its half-width
    a_better, b_better            thresholds at which a model is better, all at once
    r, half, half_low, half_high  difference of the event's half score by r; whole_… of the whole score
    r_a_better, …                 r at which a model is better by the half score of the event; whole_… by the score
    prevalences      who is better where the event is more or less frequent, with one band for all
    everywhere       the model that is better at every threshold at which the two act differently
    """

    a: str
    b: str
    event: str | None
    cases: int
    thresholds: Numbers
    difference: Numbers
    band: float | None
    a_better: tuple[Span, ...]
    b_better: tuple[Span, ...]
    everywhere: str | None
    r: Numbers
    half: Numbers
    half_low: Numbers
    half_high: Numbers
    whole: Numbers
    whole_low: Numbers
    whole_high: Numbers
    r_a_better: tuple[Span, ...]
    r_b_better: tuple[Span, ...]
    whole_a_better: tuple[Span, ...]
    whole_b_better: tuple[Span, ...]
    level: float  # of each band, so that all pairs of models together keep that of the comparison
    method: str
    prevalences: tuple[Winner, ...] = ()
    reason: str | None = None
