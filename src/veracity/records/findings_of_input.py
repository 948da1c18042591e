"""Findings about what was read: rows, columns, outcomes and the origin of probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from veracity.records.findings import Finding


class ZeroProbability(Finding, severity="critical"):
    """Outcomes that the forecasts had ruled out."""


class RowsLeftOut(Finding):
    """Rows that are left out; each of several parts states its total, though it leaves out none."""


class MissingRows(RowsLeftOut, severity="critical"):
    """Rows left out because a value is missing."""


class ZeroWeight(RowsLeftOut, severity="warning"):
    """Rows left out because their weight is 0."""


class ZeroCount(RowsLeftOut, severity="note"):
    """Rows left out because their count is 0."""


class SoftOmitted(RowsLeftOut, severity="critical"):
    """Rows left out because their outcome is between 0 and 1."""


@dataclass(frozen=True, kw_only=True)
class SoftOutcomes(Finding, severity="note"):
    """Outcomes between 0 and 1 that are split into fractions of a case."""

    option: str  # what leaves them out


@dataclass(frozen=True, kw_only=True)
class ForeignIds(Finding, severity="critical"):
    """Outcomes or weights in a file of their own that belong to no row."""

    held: str  # what the file holds: "label", "weight"
    file: str


class RescaledRows(Finding, severity="warning"):
    """Rows of probabilities that did not sum to one."""


class ConstantForecast(Finding, severity="warning"):
    """Every forecast is the same."""


@dataclass(frozen=True, kw_only=True)
class OneOutcome(Finding, severity="warning"):
    """Every outcome is the same."""

    outcome: str


class RepeatedCases(Finding, severity="critical"):
    """Rows that share their case with another."""


@dataclass(frozen=True, kw_only=True)
class DependentRows(Finding, severity="critical"):
    """Rows look dependent: a column named like a unit or a date repeats its values."""

    column: str
    values: int  # distinct ones
    seen: int  # rows looked at
    whole: bool  # these are all rows
    option: str  # what names the column


@dataclass(frozen=True, kw_only=True)
class Event(Finding, severity="note"):
    """The event was not given: it is the last of the sorted labels."""

    event: str
    option: str  # what chooses the other


class AlreadyDecided(Finding, severity="critical"):
    """Forecasts of exactly 0 or 1 that came true."""


class FirstTokens(Finding, severity="note"):
    """First tokens, which have no log-probability."""


class DependentTokens(Finding, severity="warning"):
    """So many tokens of `total` answers."""


class OwnTokens(Finding, severity="critical"):
    """The tokens are the model's own words."""


class StandIns(Finding, severity="critical"):
    """Log-probabilities of -9999, which stand for unknown ones."""


class OtherTokens(Finding, severity="note"):
    """Tokens with alternatives, which are not used."""


class SummedTokens(Finding, severity="note"):
    """Log-likelihoods are sums over tokens."""


class Softmax(Finding, severity="note"):
    """Probabilities are a softmax over the options of a row."""


class NotOffered(Finding, severity="note"):
    """Probabilities of options that were not offered in a row."""


class PercentSigns(Finding, severity="note"):
    """Values written with a percent sign."""


class PickOnly(Finding, severity="warning"):
    """Only the pick and its confidence are given."""


class NoNumberOfCases(Finding, severity="warning"):
    """Shares of an unknown number of cases are given."""


class SeparateEvents(Finding, severity="critical"):
    """Columns of separate events were stacked, so that rows share a case."""


class LikelyTokens(Finding, severity="note"):
    """Probabilities of options are those among the likely tokens."""


class UnlistedOptions(Finding, severity="critical"):
    """Rows in which an option was not among the likely tokens."""


class NoAnswers(Finding, severity="warning"):
    """Replies that are no answer."""


@dataclass(frozen=True, kw_only=True)
class VerbalConfidence(Finding, severity="note"):
    """Confidences in words, read as numbers."""

    column: str


@dataclass(frozen=True, kw_only=True)
class NoConfidenceStated(Finding, severity="critical"):
    """Values that state no confidence, left out."""

    column: str
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Ensemble(Finding, severity="note"):
    """Probabilities are smoothed shares of the members of an ensemble."""

    classes: int


class RawShares(Finding, severity="critical"):
    """Probabilities are plain shares of the members of an ensemble."""


class SmallPercentages(Finding, severity="critical"):
    """No forecast said to be in percent is above 1 %."""


@dataclass(frozen=True, kw_only=True)
class PerfectSeparation(Finding, severity="critical"):
    """The forecast tells the outcomes apart in every row; two classes: up to `low`, and from `high` on."""

    column: str
    forecast: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class SkippedFiles(Finding, severity="critical"):
    """Files that could not be read."""

    files: tuple[str, ...]  # the first of them


class CasesNotLookedAt(Finding, severity="note"):
    """More than `count` rows have ids: whether cases repeat is not known."""


def without_empty(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without those about left-out rows that left out none."""
    return tuple(finding for finding in findings if finding.count or not isinstance(finding, RowsLeftOut))
