"""Findings about results: scores, losses, means, comparisons and prediction tables."""

from __future__ import annotations

from dataclasses import dataclass

from veracity.records.findings import Finding


class OneClass(Finding, severity="critical"):
    """There is only one class."""


class Empty(Finding, severity="critical"):
    """There are no rows."""


class OneRow(Finding, severity="critical"):
    """There is only one row."""


@dataclass(frozen=True, kw_only=True)
class FewEvents(Finding, severity="warning"):
    """The rarer of two outcomes is rare."""

    outcome: str


@dataclass(frozen=True, kw_only=True)
class PicksBelowChance(Finding, severity="critical"):
    """The picks are right less often than by chance."""

    share: float
    chance: float


class OnlyCertain(Finding, severity="critical"):
    """Every probability is 0 or 1."""


@dataclass(frozen=True, kw_only=True)
class WorseThanChance(Finding, severity="critical"):
    """Higher forecasts go with fewer events."""

    option: str  # what reads them as those of the other outcome


@dataclass(frozen=True, kw_only=True)
class ManyBins(Finding, severity="warning"):
    """More bins were asked for than the rows can fill."""

    bins: int


class OneWeight(Finding, severity="critical"):
    """All weight is on one row."""


@dataclass(frozen=True, kw_only=True)
class Surprises(Finding, severity="note"):
    """The least expected outcomes make up much of the log loss."""

    share: float


class IdealGiven(Finding, severity="note"):
    """The ideal probabilities are those that were given."""


class IdealFromCases(Finding, severity="note"):
    """The ideal probabilities are the outcome frequencies of each case."""


@dataclass(frozen=True, kw_only=True)
class IdealFromFeatures(Finding, severity="note"):
    """The ideal probabilities are the outcome frequencies of equal feature rows."""

    distinct: int


@dataclass(frozen=True, kw_only=True)
class GroupingBound(Finding, severity="note"):
    """Feature rows repeat too rarely: the grouping loss has a lower bound only."""

    distinct: int
    log: float
    brier: float


class NotSeparable(Finding, severity="note"):
    """Grouping loss and irreducible loss cannot be told apart."""


@dataclass(frozen=True, kw_only=True)
class RepeatedTimes(Finding, severity="note"):
    """Cases that share their time with another."""

    time: str


@dataclass(frozen=True, kw_only=True)
class GapsInTime(Finding, severity="note"):
    """Steps in time that are longer than usual."""

    time: str


@dataclass(frozen=True, kw_only=True)
class PersistentDifferences(Finding, severity="warning"):
    """Differences in loss persist in time."""

    autocorrelation: float


@dataclass(frozen=True, kw_only=True)
class InfiniteCalibrated(Finding, severity="warning"):
    """The map rules out some outcomes, so that steps of the loss are infinite."""

    map: str
    steps: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CoarseCells(Finding, severity="warning"):
    """The cells of the map are too coarse for the loss to be decomposed."""

    map: str
    left: float
    loss: float


class TooManyBins(Finding, severity="warning"):
    """Some measured means are undefined because bins are too small."""


@dataclass(frozen=True, kw_only=True)
class MeasuredRobustness(Finding, severity="note"):
    """Too many classes to estimate the measured pessimistic average well."""

    classes: int


@dataclass(frozen=True, kw_only=True)
class UninformativeConfidence(Finding, severity="warning"):
    """Picks that are right about as often where their confidence is high as where it is low."""

    auc: float


@dataclass(frozen=True, kw_only=True)
class FewMisses(Finding, severity="note"):
    """Too few misses for an interval of what recalibrations gain."""

    fewest: int


@dataclass(frozen=True, kw_only=True)
class TooFewForMaps(Finding, severity="note"):
    """Recalibrations that were not tried, and the cases that each would need."""

    maps: tuple[str, ...]
    needed: tuple[int, ...]


class ShortInterval(Finding, severity="note"):
    """The interval of the pessimistic average is too short."""


@dataclass(frozen=True, kw_only=True)
class HeavyTail(Finding, severity="note"):
    """A few rows decide the pessimistic average; `floored`: with a minimum probability of 0.5 %."""

    value: float
    floored: float


@dataclass(frozen=True, kw_only=True)
class RowsDecide(Finding, severity="note"):
    """So many cases decide the pessimistic average."""

    value: float
    without: float


@dataclass(frozen=True, kw_only=True)
class LabelShift(Finding, severity="warning"):
    """Class frequencies were estimated from the scores alone."""

    classes: tuple[str, ...]
    frequencies: tuple[float, ...]
    p: float  # of Wald's test that they are those before
    cases: float  # effective number behind the estimate
    needs_calibration: bool  # whether the estimate takes scores for true probabilities


class OwnPicks(Finding, severity="critical"):
    """Each model is judged by its own picks, and not all are right in the same cases."""


class SampledComponents(Finding, severity="note"):
    """Components are compared in a sample."""


@dataclass(frozen=True, kw_only=True)
class RuledOut(Finding, severity="critical"):
    """An outcome of a table that followed a forecast of probability 0."""

    outcome: str
    category: str
    times: float | None  # None: shares are given


@dataclass(frozen=True, kw_only=True)
class Orientation(Finding, severity="critical"):
    """Event and positive forecast of a table are the more frequent ones."""

    event: str
    positive: str
    command: str  # what reads it the other way


@dataclass(frozen=True, kw_only=True)
class Reversed(Finding, severity="critical"):
    """The event was more frequent after the best forecast of a table than after the worst."""

    event: str
    best: str
    worst: str


@dataclass(frozen=True, kw_only=True)
class FewCases(Finding, severity="warning"):
    """A cell of a table has too few expected cases for G²."""

    fewest: int


@dataclass(frozen=True, kw_only=True)
class EmptyCell(Finding, severity="note"):
    """Cells of a table that never happened, as (outcome, forecast)."""

    cells: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class PsepUnused(Finding, severity="note"):
    """Cases of a table that PSEP leaves unused."""

    unused: float
    cases: float | None
    share: float


@dataclass(frozen=True, kw_only=True)
class RepeatedForecasts(Finding, severity="critical"):
    """Rows seem to repeat: those with equal forecasts count as one cluster each."""

    option: str  # what names the cases


@dataclass(frozen=True, kw_only=True)
class RepeatedRows(Finding, severity="critical"):
    """Rows seem to repeat, with forecasts that are nearly equal: which are copies of one case is unknown."""

    option: str  # what names the cases


@dataclass(frozen=True, kw_only=True)
class UpdatesWithoutCases(Finding, severity="note"):
    """Days or weeks between the first and the last of a monitor have no cases."""

    what: str
    first: str


class ImpossibleOutcomes(Finding, severity="critical"):
    """Outcomes that monitored forecasts had given probability 0."""


class NoReference(Finding, severity="note"):
    """A monitor judges forecasts against themselves."""


@dataclass(frozen=True, kw_only=True)
class UnknownDays(Finding, severity="warning"):
    """A monitor has a reference of too few days to see how much days differ."""

    days: int


class AssumedRecalibration(Finding, severity="note"):
    """An estimate without labels assumes that the reference's recalibration still holds."""


@dataclass(frozen=True, kw_only=True)
class ForecastsShifted(Finding, severity="warning"):
    """New forecasts are distributed differently from those of the reference."""

    p: float


@dataclass(frozen=True, kw_only=True)
class LabelsShifted(Finding, severity="warning"):
    """Class frequencies seem to differ from those of the reference."""

    p: float
