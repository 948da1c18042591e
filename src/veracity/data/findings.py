"""Findings: facts that a reader must know about the data or a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

FIRST = 20  # rows named in a finding: a screenful

# {count} and {total} are filled in when a finding is made and again when findings of several parts are merged.
TEXTS = {
    "zero_probability": (
        "changes the meaning",
        "{count} of {total} outcomes had been ruled out (probability 0): log loss is infinite and the typical "
        "probability of the outcome is 0, whatever the other rows say",
    ),
    "missing_rows": ("changes the meaning", "{count} of {total} rows have missing values and are left out"),
    "foreign_ids": (
        "changes the meaning",
        "{count} of {total} {held} in {file} belong to no row of the data and are left out",
    ),
    "soft_outcomes": (
        "note",
        "{count} of {total} outcomes are between 0 and 1: split ({omit} leaves them out)",
    ),
    "soft_omitted": ("changes the meaning", "{count} of {total} outcomes are between 0 and 1: left out"),
    "zero_weight": ("warning", "{count} of {total} rows have weight 0 and are left out"),
    "zero_count": ("note", "{count} of {total} rows have count 0 and are left out"),
    "rescaled_rows": ("warning", "{count} of {total} rows did not sum to one and were rescaled"),
    "constant_forecast": ("warning", "every forecast is the same: it cannot tell cases apart"),
    "one_outcome": ("warning", "every outcome is {outcome}: only the overall level of the forecasts can be judged"),
    "repeated_cases": (
        "changes the meaning",
        "rows look dependent ({count} of {total} share their case with another); the intervals assume they are not",
    ),
    "dependent_rows": (
        "changes the meaning",
        "rows look dependent (`{column}`: {values} values, {seen}); add {option}, the intervals may be too narrow "
        "without",
    ),
    "repeated_forecasts": (
        "changes the meaning",
        "rows seem to repeat: equal forecasts have equal outcomes more often than chance explains, so they count as "
        "one cluster each ({option} names the cases)",
    ),
    "repeated_rows": (
        "changes the meaning",
        "nearly equal forecasts have equal outcomes more often than chance explains, as copies of a case would: the "
        "intervals are too narrow; name the case of each row with {option}",
    ),
    "event": ("note", "the event is {event}, the last of the sorted labels ({option} chooses)"),
    "already_decided": (
        "changes the meaning",
        "{count} of {total} forecasts are exactly 0 or 1 and came true: already decided, they raise every mean",
    ),
    "first_tokens": ("note", "{count} of {total} log-probabilities are missing (the first token has none): left out"),
    "dependent_tokens": (
        "warning",
        "{count} tokens of {total} answers: those of one answer are not independent, the intervals take them so",
    ),
    "own_tokens": (
        "changes the meaning",
        "the tokens are the model's own words: how sure it was of them, not how well it foresaw a given text",
    ),
    "stand_ins": (
        "changes the meaning",
        "{count} of {total} log-probabilities are -9999, written for tokens that were not among the likeliest: their "
        "real values are higher",
    ),
    "other_tokens": ("note", "{count} of {total} tokens come with alternatives (top_logprobs): not used"),
    "summed_tokens": ("note", "log-likelihoods are sums over the tokens of an answer, not length-normalised"),
    "softmax": ("note", "softmax over the answer options of each row, not length-normalised"),
    "not_offered": ("note", "{count} of {total} probabilities are missing: the option was not offered there"),
    "percent_signs": ("note", "written % signs: {count} values divided by 100"),
    "pick_only": ("warning", "only the pick and its confidence are given: everything here is about the pick"),
    "no_number_of_cases": ("warning", "the number of cases is unknown (shares are given): no intervals"),
    "separate_events": (
        "changes the meaning",
        "rows look dependent ({count} columns of separate yes/no events, stacked); the intervals assume they are not",
    ),
    "likely_tokens": (
        "note",
        "probabilities of the options among the likely tokens (top_logprobs) of the answer, rescaled to sum to one",
    ),
    "unlisted_options": (
        "changes the meaning",
        "in {count} of {total} rows an option was not among the likely tokens: such options share the probability "
        "that is left",
    ),
    "no_answers": ("warning", "{count} of {total} replies are no answer: left out"),
    "spoken": ("note", "confidences in words: {count} of {total} values of `{column}` read as numbers"),
    "unspoken": (
        "changes the meaning",
        "{count} of {total} values of `{column}` state no confidence ({examples}): left out",
    ),
    "ensemble": (
        "note",
        "probabilities are {rule}, m of M members in a class: no class is ruled out because no member is in it",
    ),
    "raw_shares": (
        "changes the meaning",
        "probabilities are the plain share of members: exactly 0 and 1 where all members agree",
    ),
    "worse_than_chance": (
        "changes the meaning",
        "higher forecasts go with fewer events: is this the probability of the other outcome ({option})?",
    ),
    "picks_below_chance": (
        "changes the meaning",
        "its picks are right in {share} of the cases, less often than by chance ({chance}): are the columns in the "
        "order of the classes?",
    ),
    "small_percentages": (
        "changes the meaning",
        "no forecast is above 1 %: are these probabilities already, and not percentages?",
    ),
    "only_certain": (
        "changes the meaning",
        "every probability is 0 or 1: are these predicted labels? Give probabilities, such as predict_proba",
    ),
}


LEFT_OUT = ("missing_rows", "zero_weight", "zero_count", "soft_omitted")


@dataclass(frozen=True)
class Finding:
    """A fact that a reader must know about the data or a number."""

    code: str
    severity: str  # "changes the meaning" | "warning" | "note"
    message: str
    count: int = 0
    rows: tuple[int, ...] = ()
    total: int = 0
    details: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, code: str, count: int = 0, total: int = 0, rows: Any = (), **details: Any) -> Finding:
        """Return the finding of this code, its message filled in."""
        severity, text = TEXTS[code]
        message = text.format(count=f"{count:,}", total=f"{total:,}", **details)
        first = tuple(row if isinstance(row, int) else int(row) for row in rows[:FIRST])  # a Row keeps its file
        return cls(code, severity, message, int(count), first, int(total), tuple(details.items()))


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of several parts, one of each kind, with the counts of all parts."""
    kinds: dict[tuple[str, Any], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.code, finding.details), []).append(finding)
    merged = []
    for same in kinds.values():
        first = same[0]
        if len(same) == 1 or first.code not in TEXTS:
            merged.append(replace(first, count=sum(f.count for f in same)))
            continue
        rows = sorted({row for f in same for row in f.rows})
        count, total = sum(f.count for f in same), sum(f.total for f in same)
        merged.append(Finding.of(first.code, count, total, rows, **dict(first.details)))
    return tuple(merged)


def unique(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without repetitions, in their order."""
    return tuple(dict.fromkeys(findings))


def without_empty(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without those about left-out rows that left out none."""
    return tuple(finding for finding in findings if finding.count or finding.code not in LEFT_OUT)
