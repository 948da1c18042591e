"""Sentences about a comparison: who is best, who ties, what decides."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from veracity.records.comparison import ComparisonRecord, PairDifference
from veracity.records.reading import Reading

from .labels import ACTION, BAD, GOOD, NOTICE, RULES, Said
from .numbers import count, decimals, interval, number
from .text import listing

MOST_NAMED = 3  # models with their difference in the sentence
FEW_DECIDE = 10  # cases up to which those that make up half of the difference are named


def difference(record: ComparisonRecord, a: str, b: str, rule: str = "log") -> PairDifference | None:
    """Return the difference a − b under a rule; None where the pair was not compared."""
    return among(record.differences.get(rule, ()), a, b)


def among(differences: Iterable[PairDifference], a: str, b: str) -> PairDifference | None:
    """Return the difference a − b among these, turned round where they hold b − a."""
    d = next((d for d in differences if {d.a, d.b} == {a, b}), None)
    return d if d is None or d.a == a else turned(d)


def as_reading(d: PairDifference | None) -> Reading | None:
    """Return a difference as a number with its interval."""
    return None if d is None else Reading(d.value, d.low, d.high, None, d.reason)


def anchor(record: ComparisonRecord) -> str:
    """Return the model that others are compared with on screen: the reference, else the best."""
    return record.reference or record.ranking[judged_by(record)][0][0]


def judged_by(record: ComparisonRecord) -> str:
    """Return "log", or "brier" where a log loss is infinite: the Brier score ranks all models."""
    finite = all(math.isfinite(d.value) for d in record.differences["log"])
    return "log" if finite or "brier" not in record.ranking else "brier"


def claimed(record: ComparisonRecord, a: str, b: str, level: float) -> bool:
    """Return whether the log losses of two models are said to differ: by Holm's p over all pairs that were tested."""
    d = difference(record, a, b)
    return d is not None and d.p_adjusted is not None and d.p_adjusted < 1.0 - level


def amount(d: PairDifference) -> str:
    """Return the size of a difference with its interval: "0.063 (0.004–0.122)"."""
    size = as_reading(d if d.value >= 0.0 else turned(d))
    limits = interval(size)
    return f"{number(size)} ({limits})" if limits else number(size)


def turned(d: PairDifference) -> PairDifference:
    low, high, z = (None if x is None else -x for x in (d.high, d.low, d.z))
    return PairDifference(d.b, d.a, -d.value, low, high, z, d.p, d.p_adjusted, d.reason)


def others(record: ComparisonRecord) -> list[str]:
    """Return the models that the anchor is compared with, best first."""
    name = anchor(record)
    return [other for tier in record.ranking[judged_by(record)] for other in tier if other != name]


def lowest(name: str, loss: Reading | None, second: str, next_loss: Reading | None, rule: str) -> str:
    """Return which of several models has the lowest loss, and that only a comparison tells whether it is better."""
    own = f"{number(loss)} ({limits})" if (limits := interval(loss)) else number(loss)
    other = number(next_loss, decimals(loss))
    why = "" if rule == "log" else " Ranked by Brier score, as a log loss is infinite."
    return f"{name} has {own}, next is {second} with {other}.{why} `compare` tests whether that is more than chance."


def different_cases(cases: Sequence[int]) -> str:
    """Return why models with different cases, so many each, are not ranked."""
    spread = f"{min(cases):,} to {max(cases):,}" if len(set(cases)) > 1 else f"{cases[0]:,} each"
    text = f"The models have different cases ({spread}), and a lower loss may come from easier ones."
    return f"{text} `compare` ranks them on the cases that all of them share."


def ranking(record: ComparisonRecord, level: float) -> Said:
    """Return who is best, by how much, and who ties."""
    rule = judged_by(record)
    if record.reference is not None:
        return _against_reference(record, rule, level)
    best, *tied = record.ranking[rule][0]
    beaten = [name for tier in record.ranking[rule][1:] for name in tier]
    known = {name: difference(record, best, name, rule) for name in beaten}
    won = {name: d for name, d in known.items() if d is not None and math.isfinite(d.value)}
    by_chance = [name for name, d in won.items() if d.p_adjusted is not None and d.p_adjusted >= 1.0 - level]
    won = {name: d for name, d in won.items() if name not in by_chance}  # of a lower tier, and yet not clearly worse
    tied += by_chance
    if not won:
        return _tie(record, best, tied, rule)
    named = [f"{name} by {amount(d)}" for name, d in list(won.items())[:MOST_NAMED]]
    more = len(won) - len(named)
    sentence = f"{best} beats {listing([*named, *([f'{more} more'] if more else [])])}"
    sentence += f", and ties with {listing(tied[: MOST_NAMED + 1])}" if tied else ""
    return Said(GOOD, "Best", f"{sentence} ({RULES[rule]}).")


def _tie(record: ComparisonRecord, best: str, tied: Sequence[str], rule: str) -> Said:
    """Return the sentence about a best model that is not clearly better than the next."""
    if not tied:
        return Said(GOOD, "Best", f"{best} has the lowest {RULES[rule]}; that of the others is infinite.")
    d = difference(record, best, tied[0], rule)
    if d is None or d.value == 0.0:
        return Said(NOTICE, "Tie", f"{listing([best, *tied])} have the same {RULES[rule]}.")
    others = f"; {listing(tied[1:])} {'ties' if len(tied) == 2 else 'tie'} too" if len(tied) > 1 else ""
    tests = sum(one.p is not None for one in record.differences[rule])
    clear = d.low is not None and d.high is not None and d.low * d.high > 0.0
    chance = f"may be chance among {tests} comparisons" if clear and tests > 1 else "may be chance"
    text = f"{best} is ahead of {tied[0]} by {amount(d)} in {RULES[rule]}, which {chance}{others}."
    return Said(NOTICE, "Tie", text)


def _against_reference(record: ComparisonRecord, rule: str, level: float) -> Said:
    reference = record.reference
    differences = [d for d in record.differences[rule] if d.p_adjusted is not None]
    clear = sorted((d for d in differences if (d.p_adjusted or 0.0) < 1.0 - level), key=lambda d: d.value)
    better, worse = [d for d in clear if d.value < 0.0], [d for d in clear if d.value > 0.0]
    tied = [d.a for d in differences if d not in better and d not in worse]
    parts = [listing([f"{d.a} beats {reference} by {amount(d)}" for d in better])] if better else []
    if worse:
        parts.append(f"{reference} beats {listing([f'{d.a} by {amount(d)}' for d in worse])}")
    if tied:
        parts.append(f"{listing(tied)} {'ties' if len(tied) == 1 else 'tie'} with {reference}")
    mark = GOOD if better else BAD if worse else NOTICE
    return Said(mark, "Against the reference", f"{'; '.join(parts) or 'nothing could be tested'} ({RULES[rule]}).")


def infinite(record: ComparisonRecord, rows: Mapping[str, Sequence[int]], counts: Mapping[str, int]) -> Said | None:
    """Return which models have infinite log loss, and the ranking by Brier score."""
    names = [name for name in counts if counts[name]]
    if not names:
        return None
    parts = []
    for name in names[:MOST_NAMED]:
        shown = ", ".join(str(row) for row in list(rows[name])[:3]) + (", …" if counts[name] > 3 else "")
        numbers = f"row{'s' if counts[name] > 1 else ''} {shown}"
        parts.append(f"{name} in {counts[name]:,} of {record.cases:,} cases ({numbers})")
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    one = "its log loss is infinite and is" if len(names) == 1 else "their log losses are infinite and are"
    tiers = record.ranking.get("brier", ())
    by = "" if not tiers else "all tie" if len(tiers) == 1 else " > ".join(", ".join(tier) for tier in tiers)
    text = f"Outcomes were ruled out: {listing(parts)}{more}, so {one} not tested."
    return Said(BAD, "Infinite loss", f"{text} The ranking is by Brier score: {by}." if by else text)


def ahead_recalibrated(record: ComparisonRecord, correctable: Iterable[str], level: float) -> PairDifference | None:
    """Return what the anchor loses after recalibration beyond the best of those that would then be clearly ahead of it.

    Only models that a correction is advised for, and that are not said to be better as they are.
    """
    name = anchor(record)
    ahead = []
    for other in correctable:
        now, then = difference(record, other, name), among(record.components.get("RL", ()), name, other)
        better_now = now is not None and now.value < 0.0 and claimed(record, other, name, level)
        if then is not None and then.value > 0.0 and (then.p_adjusted or 0.0) < 1.0 - level and not better_now:
            ahead += [then] if then.p_adjusted is not None else []
    return max(ahead, key=lambda d: d.value, default=None)


def recalibrated(ahead: PairDifference, fix: Said | None) -> Said:
    """Return which model would be ahead of the anchor once both are recalibrated, with the command of its fix."""
    text = f"{ahead.b} would be ahead of {ahead.a} by {amount(ahead)} in log loss: it knows more, and states it badly."
    return Said(ACTION, "Once recalibrated", text, *(fix[3:] if fix is not None else ()))


def deciding(record: ComparisonRecord, level: float) -> Said | None:
    """Return the few cases that make up half of the difference between the first two that are said to differ."""
    if judged_by(record) != "log" or not record.deciding_rows:
        return None
    name = anchor(record)
    pairs = [{name, other} for other in others(record) if claimed(record, name, other, level)]
    cases = next((d for pair in pairs for d in record.deciding_rows if {d.a, d.b} == pair), None)
    if cases is None or cases.half is None or cases.half > FEW_DECIDE or 4 * cases.half > record.cases:
        return None
    rows = cases.rows[: cases.half]
    where = ", ".join(f"{row.row} of {row.file}" if row.file else str(row.row) for row in rows)
    part = "1 case makes" if cases.half == 1 else f"{cases.half} of {record.cases:,} cases make"
    numbers = f"row{'s' if len(rows) > 1 else ''} {where}"
    text = f"{part} up half of the difference between {cases.a} and {cases.b} ({numbers})."
    return Said(NOTICE, "Few cases decide", text)


def groups(record: ComparisonRecord, column: str, level: float) -> str:
    """Return in which groups the order of the first two models is clear, and where it turns."""
    name, other = anchor(record), next(iter(others(record)), None)
    if other is None:
        return ""
    wins: dict[str, list[str]] = {name: [], other: []}
    for group, differences in record.groups[column].items():
        d = next((d for d in differences if {d.a, d.b} == {name, other}), None)
        if d is not None and d.p is not None and d.p < 1.0 - level:
            wins[d.a if d.value < 0.0 else d.b].append(group)
    total = len(record.groups[column])
    parts = [f"{who} is better in {len(where)} of {count(total, 'group')}" for who, where in wins.items() if where]
    return f"{listing(parts)} (no correction for several groups)." if parts else "In no group is the difference clear."
