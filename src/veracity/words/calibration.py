"""The calibration verdict in sentences, each said only where it is true; a title between ** comes first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from veracity.data.records import ClassLevel
from veracity.data.verdict import ClassPair, Range, Verdict

from .numbers import count, magnitude, rounded
from .text import capital, event_name, listing, sentence

NAMED_ROWS = 5
NAMED_CLASSES = 2  # of those predicted too often, and of those predicted too rarely
LIKELY = 0.6  # from here on a forecast names the outcome, and may be right
CLEARLY = 0.1  # share of the loss: a test that would show only larger errors proves little
COUNTED = 0.5  # of an event: differences smaller than this are not told
TOLD = 1.95  # units of the last digit by which two shares differ at least: 2 but for rounding


def sentences(
    verdict: Verdict,
    cases: int,
    classes: int = 2,
    *,
    picks_only: bool = False,
    zero_rows: Sequence[object] = (),
    floor: float | None = None,
    floored_loss: float | None = None,
) -> tuple[str, ...]:
    """Return what is said about calibration, most important first.

    `zero_rows` are the numbers of rows whose outcome had probability 0, `floored_loss` is the log loss with the minimum
    probability `floor`.
    """
    said = []
    if verdict.zero_rows:
        said.append(_zeros(verdict.zero_rows, cases, zero_rows, floor, floored_loss))
    if verdict.reason and "decisions" in verdict.reason:
        said.append(_decisions(verdict.zero_rows, cases))
    said += _verdict(verdict, cases, classes, picks_only)
    if verdict.tested is not None and verdict.state != "not measurable":
        said.append(f"The tests used {verdict.tested:,} of {count(cases, 'case')}.")
    return tuple(said)


def _verdict(verdict: Verdict, cases: int, classes: int, picks_only: bool) -> list[str]:
    title = f"**{verdict.word[0].upper()}{verdict.word[1:]}{' to judge' if verdict.state == 'too few' else ''}.**"
    if verdict.state == "not measurable":
        return [f"{title} {sentence(verdict.reason or '')}".strip()]
    if verdict.state == "calibrated":
        most = at_most(max(verdict.gain.high or 0.0, verdict.detectable or 0.0))
        return [f"{title} Correcting level, slope and ranges would save at most {most} of the log loss."]
    if verdict.state == "slight":
        return [f"{title} Recalibrating saves at most {at_most(verdict.gain.high or 0.0)} of the log loss."]
    if verdict.state in ("none found", "too few"):
        return [f"{title} {_unseen(verdict, cases, classes)}".strip()]
    said = []
    if verdict.confidence.direction:
        said.append(_confidence(verdict, classes, picks_only))
    if verdict.level.classes:
        said.append(_level(verdict.level.classes, classes))
    if verdict.curvature is not None and verdict.curvature.direction and not verdict.zero_rows:
        start = "Besides, its" if said else "**Curved.** Its"
        said.append(f"{start} probabilities are {verdict.curvature.direction} of the scale.")
    if verdict.joint is not None and verdict.joint.pairs and not said:
        said.append(_confused(verdict.joint.pairs))
    where = verdict.shape.where
    if where is not None and not _told(where, verdict.confidence.where):
        start = "Besides, when" if said else f"{title} When"
        said.append(f"{start} it says {_range(where, classes, picks_only)}")
    one = "range" if classes == 2 else "class or range"
    return said or [f"{title} Outcomes differ from the forecasts by more than chance, but no single {one} stands out."]


def _told(where: Range, before: Range | None) -> bool:
    """Return whether the sentence before was about a range that holds this one."""
    return before is not None and before.low <= where.low and where.high <= before.high


def _zeros(zeros: int, cases: int, rows: Sequence[object], floor: float | None, loss: float | None) -> str:
    listed = ", ".join(str(row) for row in rows[:NAMED_ROWS]) + (", …" if zeros > NAMED_ROWS and rows else "")
    named = f" ({'row' if zeros == 1 else 'rows'} {listed})" if rows else ""
    said = f"**It ruled out what happened in {zeros:,} of {count(cases, 'case')}**{named}, so its log loss is infinite."
    if floor and loss is not None and math.isfinite(loss):
        said += f" With a minimum probability of {percent(floor)} it would be {loss:.2f}."
    return said


def _decisions(zeros: int, cases: int) -> str:
    said = "**These are decisions, not probabilities.** Every forecast is 0 or 1"
    if zeros:
        return f"{said}: right in {percent((cases - zeros) / cases)} of the cases."
    return f"{said}, and all were right: misses are rarer than {at_most(min(3.0 / cases, 1.0))}."


def _unseen(verdict: Verdict, cases: int, classes: int) -> str:
    """Return what could have been seen."""
    if verdict.reason and "same in every case" in verdict.reason:
        return sentence(verdict.reason)
    if verdict.detectable is None:
        return f"Every forecast is certain, so only misses could show it, and there is none in {count(cases, 'case')}."
    if verdict.detectable >= 1.0:
        return f"{count(cases, 'case')} {'is' if cases == 1 else 'are'} too few to judge."
    cases = cases if verdict.tested is None else verdict.tested
    errors = "level or slope errors" if classes == 2 else "slope errors"
    return f"With {count(cases, 'case')}, {errors} above {at_most(verdict.detectable)} of the loss would show."


def _confidence(verdict: Verdict, classes: int, picks_only: bool) -> str:
    test = verdict.confidence
    over = test.direction == "over-confident"
    title = f"**{'Over' if over else 'Under'}-confident.**"
    if picks_only and verdict.slope_differs and test.expected is not None and test.realised is not None:
        says, was = two_percents(test.expected, test.realised)
        return (
            f"{title} It says {says} on average; {was} of its picks are right. The gap is widest where it is least "
            f"sure, so the calibration slope is {'above' if over else 'below'} 1."
        )
    if test.where is not None:
        return f"{title} When it says {_range(test.where, classes, picks_only)}"
    extreme = f"Its probabilities are too {'extreme' if over else 'cautious'}"
    expected, realised = test.expected, test.realised
    if expected is not None and realised is not None and (realised < expected) == over and realised > 0.0:
        says, was = two_percents(expected, realised)
        if picks_only:
            return f"{title} It says {says} on average; {was} of its picks are right."
        return f"{title} {extreme}: it expects to give the outcome {says} (typically); it gave {was}."
    return f"{title} {extreme}."


def _range(where: Range, classes: int, picks_only: bool) -> str:
    says, was = two_percents(where.predicted, where.observed)
    named = range_name(where.low, where.high)
    right = where.low >= LIKELY and (classes > 2 or picks_only)
    said = f"{named} ({says} on average), {'it is right' if right else 'it happens'} {was} of the time"
    if abs(where.count - round(where.count)) > 1e-6 or abs(where.events - round(where.events)) > 1e-6:
        return f"{said}."  # weighted: there is nothing to count
    events, expected, noun = where.events, where.expected, ("time", "times")
    if where.low >= LIKELY:
        events, expected, noun = where.count - events, where.count - expected, ("miss", "misses")
    if abs(events - expected) < COUNTED:
        return f"{said}."
    number = "no misses" if round(events) == 0 and noun[0] == "miss" else count(round(events), *noun)
    return f"{said}: {number} where {_expected(expected, events)} expected."


def _expected(expected: float, events: float) -> str:
    if expected < 0.05:
        return "almost none was"
    whole = expected >= 100.0 or (expected >= 1.5 and abs(expected - events) >= 10.0)
    text = f"{expected:,.0f}" if whole else f"{expected:.1f}"
    return f"{text} {'was' if text == '1.0' else 'were'}"


def _level(levels: Mapping[str, ClassLevel], classes: int) -> str:
    if classes == 2:
        ((label, held),) = levels.items()
        says, was = two_percents(held.predicted, held.observed)
        word = "high" if held.predicted > held.observed else "low"
        name = event_name(label)
        whom = "It" if name == event_name(None) else f"For {name} it"
        return f"**Too {word} overall.** {whom} predicts {says} on average; {was} happened."
    parts: list[str] = []
    for verb, over in (("Over-predicts", True), ("Under-predicts", False)):
        some = [(name, held) for name, held in levels.items() if (held.predicted > held.observed) == over]
        if some:
            shares = [(name, *two_percents(held.predicted, held.observed)) for name, held in some[:NAMED_CLASSES]]
            listed = [f"{_class(name)} ({says}, was {was})" for name, says, was in shares]
            more = [f"{len(some) - NAMED_CLASSES} more"] if len(some) > NAMED_CLASSES else []
            parts.append(f"**{verb if not parts else verb.lower()}** {listing([*listed, *more])}")
    return ("; " if len(levels) > len(parts) else " and ").join(parts) + "."


def _confused(pairs: Sequence[ClassPair]) -> str:
    """Return which classes happen where others were forecast."""
    named = [f"{_class(pair.observed)} happens where {_class(pair.given)} was given" for pair in pairs[:NAMED_CLASSES]]
    more = [f"{len(pairs) - NAMED_CLASSES} more pairs"] if len(pairs) > NAMED_CLASSES else []
    return f"**Confuses classes.** {capital(listing([*named, *more]))}, more often than its probabilities say."


def _class(name: str) -> str:
    """Return a class as sentences call it: a number alone would be read as a quantity."""
    return f"class {name}" if name[:1].isdigit() else name


def range_name(low: float, high: float) -> str:
    """Return a range of probability in words."""
    if high >= 1.0:
        return f"{percent(low)} or more"
    if low <= 0.0:
        return f"less than {percent(high)}"
    return f"{percent(low)[:-2]}–{percent(high)}"


def percent(share: float) -> str:
    """Return a share in percent, with one digit of its complement, or two of its own, where these are small.

    >>> percent(0.12), percent(0.9998), percent(0.00034), percent(0.0)
    ('12 %', '99.98 %', '0.034 %', '0 %')
    """
    return _percent(share, _digits(share))


def two_percents(a: float, b: float) -> tuple[str, str]:
    """Return two shares in percent, with the digits that show their difference.

    >>> two_percents(0.14, 0.1), two_percents(0.111, 0.1), two_percents(0.1234, 0.1241)
    (('14 %', '10 %'), ('11.1 %', '10.0 %'), ('12.34 %', '12.41 %'))
    """
    gap = 100.0 * abs(a - b)
    digits = min(max(-magnitude(gap / TOLD), 0), 9) if gap > 0.0 else 0
    return _percent(a, max(digits, _digits(a))), _percent(b, max(digits, _digits(b)))


def at_most(share: float) -> str:
    """Return a share in percent, rounded up.

    >>> at_most(0.0041), at_most(0.00013), at_most(0.14)
    ('0.5 %', '0.02 %', '14 %')
    """
    digits = 0 if share >= 0.0995 else max(1, -magnitude(max(100.0 * share, 1e-6)))
    scale = 10.0**digits
    return _percent(math.ceil(100.0 * share * scale - 1e-9) / scale / 100.0, digits)


def _digits(share: float) -> int:
    rest = 100.0 * min(share, 1.0 - share)
    if rest <= 1e-7 or rest >= 0.995:  # rounding of a sum is no share
        return 0
    return min(-magnitude(rest) + (share < 0.001), 9)


def _percent(share: float, digits: int) -> str:
    return f"{rounded(100.0 * share, digits)} %"
