"""The records of a comparison: paired differences, ranking, and the cases that decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from veracity.records.decisions import Dominance
from veracity.records.findings import Finding
from veracity.records.sections import Section


@dataclass(frozen=True)
class PairDifference(Section):
    """Mean of a − b over the same cases; a negative difference of losses means that a is better.

    `p_adjusted` is Holm's over all pairs. Where nothing can be tested, or is left to test, `reason` says why.
    """

    a: str
    b: str
    value: float
    low: float | None
    high: float | None
    z: float | None
    p: float | None
    p_adjusted: float | None
    reason: str | None = None


Differences = tuple[PairDifference, ...]


@dataclass(frozen=True)
class DecidingRow(Section):
    """A case with one of the largest differences in log loss, and the share of the sum of all differences so far."""

    row: int
    outcome: str | None
    difference: float
    share: float
    file: str | None = None


@dataclass(frozen=True)
class Deciding(Section):
    """The cases that decide between two models: those that favour the better one, largest difference first."""

    a: str
    b: str
    rows: tuple[DecidingRow, ...]
    half: int | None = None  # so many of these make up half of the difference; None: more than are listed


@dataclass(frozen=True)
class CasesNeeded(Section):
    """Number of cases at which the observed difference in log loss would be seen with 80 % power."""

    a: str
    b: str
    cases: int | None  # None: there is no difference, or it is not tested


@dataclass(frozen=True)
class ComparisonRecord(Section):
    """Everything that follows from pairing the cases; differences are a − b."""

    cases: int
    paired_by: str
    method: str
    reference: str | None
    differences: Mapping[str, Differences]
    components: Mapping[str, Differences]
    ranking: Mapping[str, tuple[tuple[str, ...], ...]]
    deciding_rows: tuple[Deciding, ...]
    cases_needed: tuple[CasesNeeded, ...]
    groups: Mapping[str, Mapping[str, Differences]] = field(default_factory=dict)
    dominance: tuple[Dominance, ...] = ()  # of the best model, or the reference, against each other one
    group_rule: str = "log"  # of the differences of groups; "brier" where a log loss is infinite
    findings: tuple[Finding, ...] = ()
