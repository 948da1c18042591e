"""Sections about forecasts in use: what is still calibrated, since when it is not, and loss without labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from veracity.records.reading import Reading
from veracity.records.sections import Findings, Section

DAY, WEEK = "day", "week"
TOO_HIGH, TOO_LOW, OVER, UNDER = "too high", "too low", "over-confident", "under-confident"


@dataclass(frozen=True)
class NullMap(Section):
    """What calibrated means: ln p' = intercept + slope·ln p (log-odds of two classes) as fitted on the reference.

    Without a reference intercept 0 and slope 1: the forecasts themselves. `phi` is the overdispersion of an update
    with as many cases as the reference's usual one; `day_sd` the log-odds by which days differ, on average
    over the likely values; None where it has too few days to tell.
    """

    intercept: float
    slope: float
    maps: int
    cases: int
    days: int
    phi: float
    day_sd: float | None


@dataclass(frozen=True)
class MonitorWindow(Section):
    """The readings of one window of updates.

    Of two classes `predicted`, `expected` and `observed` are shares of the event: stated, by the reference, and real.
    Of more they are the typical probability of the outcome. z compares observed with expected, `slope` is one Newton
    step from the reference's. `e_value` and `evidence` stand at its end: the e-value of all updates so far, and the sum
    of the e-values that began at each of them, which is compared with the threshold.
    """

    start: str
    end: str
    n: int
    predicted: float
    expected: float
    observed: float
    low: float | None
    high: float | None
    z: float | None
    log_loss: float
    expected_log_loss: float
    slope: float | None
    e_value: float
    evidence: float


@dataclass(frozen=True)
class Change(Section):
    """What changed, and since when; shares as in a window, over all updates since then.

    words  those that most of the evidence supports; empty where none does
    typical  expected and observed are typical probabilities of the outcome, e to the −log loss: of a slope alone
    class_name  of more classes: the one whose level changed
    """

    since: str
    until: str | None  # the last update before it; None where it begins with the first
    words: tuple[str, ...]
    n: int
    expected: float
    observed: float
    class_name: str | None = None
    typical: bool = False


@dataclass(frozen=True)
class Alarm(Section):
    """Updates in which the evidence stood above the threshold; `end` is None where it still does."""

    start: str
    end: str | None = None


@dataclass(frozen=True)
class Delay(Section):
    """Updates that it takes to find a change, at the median of simulations from the reference; None: more than `most`.

    `cases` of each update.
    """

    what: str
    size: float
    updates: float | None
    most: int
    cases: int


@dataclass(frozen=True)
class MonitorRecord(Section):
    """Everything that monitoring says."""

    classes: tuple[str, ...]
    updates: str
    threshold: float
    n: int
    number: int
    start: str
    end: str
    reference: NullMap | None
    evidence: float
    e_value: float
    alarms: tuple[Alarm, ...]
    change: Change | None
    windows: tuple[MonitorWindow, ...]
    delays: tuple[Delay, ...]
    findings: Findings = ()


@dataclass(frozen=True)
class Shift(Section):
    """A test that new forecasts differ from the reference's."""

    p: float | None
    method: str
    reference: Mapping[str, float] | None = None
    new: Mapping[str, float] | None = None


@dataclass(frozen=True)
class EstimateRecord(Section):
    """What forecasts without outcomes would score, if the reference's recalibration still holds."""

    n: int
    reference_n: int
    classes: tuple[str, ...]
    scores: Mapping[str, Reading]
    self_expected: Mapping[str, float]  # the same if the forecasts themselves were right
    net_benefit: Mapping[str, Reading]
    frequencies: Mapping[str, Reading]
    reference_frequencies: Mapping[str, float]
    label_shift: Shift
    forecast_shift: Shift
    findings: Findings = ()


@dataclass(frozen=True)
class Needed(Section):
    """Cases, and events among them, that something needs; None: more than can be planned for."""

    what: str  # "verdict", "comparison" or "monitor"
    cases: int | None
    events: int | None
    updates: int | None = None
    per_update: int | None = None


@dataclass(frozen=True)
class PlanRecord(Section):
    """What is needed to see an error of forecasts with a base rate and an AUC."""

    baseline: float
    auc: float
    error: str
    size: float
    power: float
    needed: tuple[Needed, ...]
