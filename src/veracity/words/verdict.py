"""The calibration verdict in sentences, each with its title and said only where it is true."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from veracity.records.sections import ClassLevel, Surprise
from veracity.records.verdict import Bend, ClassPair, Direction, Range, Reason, State, Verdict

from .labels import BAD, MARK_OF_STATE, NEUTRAL, NOTICE, Said
from .numbers import count, magnitude, rounded
from .text import capital, event_name, listing, sentence

LONGEST_TITLE = 28  # characters of a title that can be set apart; a longer one is the emphasised beginning of its text
NAMED_ROWS = 5
LONGEST_ID = 30
NAMED_CLASSES = 2  # of those predicted too often, and of those predicted too rarely
LIKELY = 0.6  # from here on a forecast names the outcome, and may be right
CLEARLY = 0.1  # share of the loss: a test that would show only larger errors proves little
COUNTED = 0.5  # of an event: differences smaller than this are not told
TOLD = 1.95  # units of the last digit by which two shares differ at least: 2 but for rounding
APPROXIMATE = "Approximate: few events in dependent cases."


WHY_NOT = {
    Reason.EMPTY: "there are no rows",
    Reason.SINGLE_CLASS: "there is only one class: the outcome is certain, and nothing can be compared",
    Reason.ONLY_REALISED: "only the probability of the outcome is given, so it cannot be compared with frequencies",
    Reason.ONLY_SHARES: "only shares of cases are given, so the number of cases is unknown and nothing can be tested",
    Reason.TOO_FEW_CASES: "{cases}: too few to judge, at least {needed} needed",
    Reason.TOO_FEW_CLUSTERS: "{clusters}: too few to judge, at least {needed} needed",
    Reason.TOO_FEW_TIMES: "fewer than {needed} different times: too few to judge",
    Reason.TOO_FEW_BLOCKS: "{clusters} or blocks of time: too few to judge one of several groups",
    Reason.WITHOUT_ROWS: "cells of more than two classes show level and confidence alone; the joint verdict and "
    "recalibration need rows",
    Reason.REPEATED_ROWS: "rows seem to repeat: nothing can be tested until the case of each row is named",
    Reason.ONLY_CERTAIN_FORECASTS: "every forecast is 0 or 1: these are decisions, not probabilities",
    Reason.CONSTANT: "the forecast is the same in every case: only its level can be judged",
    Reason.ONE_CLASS: "only one class was observed",
}


BIASED = "biased"
MISCALIBRATED = "miscalibrated"  # in no way that has a name of its own
SLIGHTLY = "slightly "
WORD_OF_STATE: dict[State, str] = {
    "calibrated": "calibrated",
    "none found": "no miscalibration found",
    "too few": "too few cases",
    "not measurable": "not measurable",
}


def word_of(state: State, direction: Direction | None = None, biased: bool = False) -> str:
    """Return the verdict in a word or two.

    >>> word_of("slight", "over-confident", biased=True)
    'slightly over-confident and biased'
    """
    if state in WORD_OF_STATE:
        return WORD_OF_STATE[state]
    faults = " and ".join(name for name in (direction, BIASED if biased else None) if name)
    return (SLIGHTLY if state == "slight" else "") + (faults or MISCALIBRATED)


VERDICTS: dict[str, tuple[State, frozenset[str]]] = {  # every word that there is, with the faults that it names
    word_of(state, direction, biased): (
        state,
        frozenset() if state in WORD_OF_STATE else frozenset([direction or "", BIASED * biased]) - {""},
    )
    for state in get_args(State)
    for biased in (False, True)
    for direction in (*get_args(Direction), None)
}
UNTOLD = ("too few", "not measurable")  # states that show neither that there is a fault nor that there is none


def shows(verdict: str, asked: str) -> bool | None:
    """Return whether a verdict shows what is asked for, as “miscalibrated” is every fault; None where it cannot tell.

    >>> shows("over-confident and biased", "over-confident"), shows("biased", "miscalibrated")
    (True, True)
    >>> shows("slightly biased", "biased"), shows("too few cases", "biased")
    (False, None)
    """
    (state, faults), (wanted, named) = VERDICTS[verdict], VERDICTS[asked]
    if state in UNTOLD and wanted not in UNTOLD:
        return None
    return state == wanted and named <= faults


def why_not(reason: Reason, number: int | None = None, needed: int | None = None) -> str:
    """Return in words why there is no verdict, or why it says less than usual.

    >>> why_not(Reason.TOO_FEW_CASES, 7, 20)
    '7 cases: too few to judge, at least 20 needed'
    """
    cases, clusters = count(number or 0, "case"), count(number or 0, "cluster")
    return WHY_NOT[reason].format(cases=cases, clusters=clusters, needed=needed)


def marked(word: str, detail: Verdict | None) -> list[Said]:
    """Return the sentences of the calibration verdict, most important first, each with its mark and title."""
    if detail is None:
        return [Said(NOTICE, capital(word), "")]
    mark, lines = mark_of(detail), list[Said]()
    for i, one in enumerate(sentences(detail)):
        title, text = one if len(one.title) <= LONGEST_TITLE else ("", str(one))
        if not title and lines and lines[-1].title:  # goes on with the sentence before
            lines[-1] = lines[-1]._replace(text=f"{lines[-1].text} {text}")
        else:
            lines.append(Said(BAD if i == 0 and detail.zero_rows else mark, title, text))
    return lines


def mark_of(detail: Verdict) -> str:
    """Return the mark of a verdict: a tick only where errors of a tenth of the loss would have shown."""
    unclear = detail.detectable is not None and detail.detectable >= CLEARLY
    if detail.state == "none found" and (unclear or detail.zero_rows):
        return NEUTRAL
    return MARK_OF_STATE.get(detail.state, NOTICE)


class Titled(NamedTuple):
    """A sentence behind its title; without one it goes on with the sentence before."""

    title: str
    text: str

    def __str__(self) -> str:
        return f"**{self.title}.** {self.text}" if self.title else self.text


def sentences(verdict: Verdict) -> list[Titled]:
    """Return what is said about calibration, most important first."""
    told = [*_exceptions(verdict), *_judged(verdict)]
    if verdict.tested is not None and verdict.state != "not measurable":
        told.append(Titled("", f"The tests used {verdict.tested:,} of {count(verdict.cases, 'case')}."))
    if verdict.reason is Reason.WITHOUT_ROWS:
        fault = verdict.state == "found"
        told.append(Titled("", sentence(_why_not(verdict)) if fault else "Level and confidence show no error."))
    if verdict.approximate:
        told.append(Titled("", APPROXIMATE))
    return told


def _exceptions(verdict: Verdict) -> Iterator[Titled]:
    """Yield what must be known before the verdict: outcomes that were ruled out, decisions instead of forecasts."""
    zeros, cases = verdict.zero_rows, verdict.cases
    if zeros:
        rows, loss = verdict.ruled_out, verdict.floored_loss
        listed = ", ".join(row_of(case) for case in rows[:NAMED_ROWS]) + (", …" if zeros > NAMED_ROWS and rows else "")
        named = f" ({'row' if zeros == 1 else 'rows'} {listed})" if rows else ""
        happened = f"what happened in {zeros:,} of {count(cases, 'case')}"
        text = f"**It ruled out {happened}**{named}, so its log loss is infinite."
        if verdict.floor and loss is not None and math.isfinite(loss):
            text += f" With a minimum probability of {percent(verdict.floor)} it would be {loss:.2f}."
        yield Titled("", text)
    if verdict.reason is Reason.ONLY_CERTAIN_FORECASTS:
        right = f", and all were right: misses are rarer than {at_most(min(3.0 / cases, 1.0))}."
        if zeros:
            right = f": right in {percent((cases - zeros) / cases)} of the cases."
        yield Titled("These are decisions, not probabilities", f"Every forecast is 0 or 1{right}")


def row_of(case: Surprise) -> str:
    """Return the number of a case, with its file where there are several and its id where ids were given."""
    named = (case.case or "")[:LONGEST_ID] + ("…" if len(case.case or "") > LONGEST_ID else "")
    return f"{case.row}" + (f" of {case.file}" if case.file else "") + (f" ({named})" if named else "")


def _judged(verdict: Verdict) -> list[Titled]:
    title = capital(verdict.word) + (" to judge" if verdict.state == "too few" else "")
    if verdict.state == "not measurable":
        return [Titled(title, sentence(_why_not(verdict)))]
    if verdict.state == "calibrated":
        most = at_most(max(verdict.gain.high or 0.0, verdict.detectable or 0.0))
        return [Titled(title, f"Correcting level, slope and ranges would save at most {most} of the log loss.")]
    if verdict.state == "slight":
        return [Titled(title, f"Recalibrating saves at most {at_most(verdict.gain.high or 0.0)} of the log loss.")]
    if verdict.state in ("none found", "too few"):
        return [Titled(title, _unseen(verdict))]
    classes, told = verdict.class_count, list[Titled]()
    if verdict.confidence.direction:
        told.append(_confidence(verdict))
    if verdict.level.classes:
        told.append(_level(verdict.level.classes, classes))
    untold = verdict.zero_rows or verdict.reason is Reason.ONE_CLASS  # of these the curve says nothing new
    if verdict.curvature is not None and verdict.curvature.direction and not untold:
        told.append(_curved(verdict.curvature.direction, bool(told)))
    if verdict.joint is not None and verdict.joint.pairs and not told:
        told.append(_confused(verdict.joint.pairs))
    where = verdict.shape.where
    if where is not None and not _told(where, verdict.confidence.where):
        named = _range(where, classes, verdict.picks_only)
        told.append(Titled("", f"Besides, when it says {named}") if told else Titled(title, f"When it says {named}"))
    one = "range" if classes == 2 else "class or range"
    nothing = f"Outcomes differ from the forecasts by more than chance, but no single {one} stands out."
    return told or [Titled(title, nothing)]


def _curved(bend: Bend, besides: bool) -> Titled:
    """Return how the calibration curve is bent, and where that makes the probabilities wrong if it is known."""
    if bend in ("upwards", "downwards"):
        what = f"calibration curve bends {bend}, which no level and slope correct."
    else:
        what = f"probabilities are {bend} of the scale."
    return Titled("" if besides else "Curved", f"{'Besides, its' if besides else 'Its'} {what}")


def _why_not(verdict: Verdict) -> str:
    return why_not(verdict.reason, verdict.number, verdict.needed) if verdict.reason else ""


def _told(where: Range, before: Range | None) -> bool:
    """Return whether the sentence before was about a range that holds this one."""
    return before is not None and before.low <= where.low and where.high <= before.high


def _unseen(verdict: Verdict) -> str:
    """Return what could have been seen."""
    cases = verdict.cases
    if verdict.reason is Reason.CONSTANT:
        return sentence(_why_not(verdict))
    if verdict.detectable is None:
        return f"Every forecast is certain, so only misses could show it, and there is none in {count(cases, 'case')}."
    if verdict.detectable >= 1.0:
        return f"{count(cases, 'case')} {'is' if cases == 1 else 'are'} too few to judge."
    cases = cases if verdict.tested is None else verdict.tested
    errors = "level or slope errors" if verdict.class_count == 2 else "slope errors"
    return f"With {count(cases, 'case')}, {errors} above {at_most(verdict.detectable)} of the loss would show."


def _confidence(verdict: Verdict) -> Titled:
    test, picks_only = verdict.confidence, verdict.picks_only
    over = test.direction == "over-confident"
    title = capital(test.direction or "")
    if picks_only and verdict.slope_differs and test.expected is not None and test.realised is not None:
        says, was = two_percents(test.expected, test.realised)
        return Titled(
            title,
            f"It says {says} on average; {was} of its picks are right. The gap is widest where it is least sure, so "
            f"the calibration slope is {'above' if over else 'below'} 1.",
        )
    if test.where is not None:
        return Titled(title, f"When it says {_range(test.where, verdict.class_count, picks_only)}")
    extreme = f"Its probabilities are too {'extreme' if over else 'cautious'}"
    expected, realised = test.expected, test.realised
    if expected is not None and realised is not None and (realised < expected) == over and realised > 0.0:
        says, was = two_percents(expected, realised)
        if picks_only:
            return Titled(title, f"It says {says} on average; {was} of its picks are right.")
        return Titled(title, f"{extreme}: it expects to give the outcome {says} (typically); it gave {was}.")
    return Titled(title, f"{extreme}.")


def _range(where: Range, classes: int, picks_only: bool) -> str:
    says, was = two_percents(where.predicted, where.observed)
    named = range_name(where.low, where.high)
    right = where.low >= LIKELY and (classes > 2 or picks_only)
    sentence = f"{named} ({says} on average), {'it is right' if right else 'it happens'} {was} of the time"
    if abs(where.count - round(where.count)) > 1e-6 or abs(where.events - round(where.events)) > 1e-6:
        return f"{sentence}."  # weighted: there is nothing to count
    events, expected, noun = where.events, where.expected, ("time", "times")
    if where.low >= LIKELY:
        events, expected, noun = (
            where.count - events,
            where.count - expected,
            ("miss", "misses") if right else ("exception", "exceptions"),
        )
    if abs(events - expected) < COUNTED:
        return f"{sentence}."
    number = f"no {noun[1]}" if round(events) == 0 and where.low >= LIKELY else count(round(events), *noun)
    return f"{sentence}: {number} where {_expected(expected, events)} expected."


def _expected(expected: float, events: float) -> str:
    if expected < 0.05:
        return "almost none was"
    whole = expected >= 100.0 or (expected >= 1.5 and abs(expected - events) >= 10.0)
    text = f"{expected:,.0f}" if whole else f"{expected:.1f}"
    return f"{text} {'was' if text == '1.0' else 'were'}"


def _level(levels: Mapping[str, ClassLevel], classes: int) -> Titled:
    if classes == 2:
        ((label, level),) = levels.items()
        says, was = two_percents(level.predicted, level.observed)
        word = "high" if level.predicted > level.observed else "low"
        name = event_name(label)
        whom = "It" if name == event_name(None) else f"For {name} it"
        return Titled(f"Too {word} overall", f"{whom} predicts {says} on average; {was} happened.")
    parts: list[str] = []
    for verb, over in (("Over-predicts", True), ("Under-predicts", False)):
        some = [(name, level) for name, level in levels.items() if (level.predicted > level.observed) == over]
        if some:
            shares = [(name, *two_percents(level.predicted, level.observed)) for name, level in some[:NAMED_CLASSES]]
            listed = [f"{_class(name)} ({says}, was {was})" for name, says, was in shares]
            more = [f"{len(some) - NAMED_CLASSES} more"] if len(some) > NAMED_CLASSES else []
            parts.append(f"**{verb if not parts else verb.lower()}** {listing([*listed, *more])}")
    return Titled("Biased", ("; " if len(levels) > len(parts) else " and ").join(parts) + ".")


def _confused(pairs: Sequence[ClassPair]) -> Titled:
    """Return which classes happen where others were forecast."""
    named = [f"{_class(pair.observed)} happens where {_class(pair.given)} was given" for pair in pairs[:NAMED_CLASSES]]
    more = [f"{len(pairs) - NAMED_CLASSES} more pairs"] if len(pairs) > NAMED_CLASSES else []
    return Titled("Confuses classes", f"{capital(listing([*named, *more]))}, more often than its probabilities say.")


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
    if not math.isfinite(share):
        return "an unknown share"
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
