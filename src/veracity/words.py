"""Numbers and sentences as people read them, the same in terminal, report, notebook and Markdown.

Labels and glosses of single quantities are in `measures.py`; the sentences of the calibration verdict come with it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from veracity.data import Finding
from veracity.data.reading import Reading
from veracity.data.records import Baseline, ExpectedScore, Gain, Group, Remedy, Scores, Skill, Surprise
from veracity.data.verdict import Verdict

PAPERS = {
    "N17": "K. P. Nelson (2017), Assessing probabilistic inference by comparing the generalized mean of the model and "
    "source probabilities, Entropy 19(6), 286",
    "RP": "K. P. Nelson, Reduced perplexity: a simplified perspective on assessing probabilistic forecasts",
    "CQ": "K. P. Nelson and others, Use of the geometric mean, decisiveness and robustness to assess the quality of "
    "large-scale probabilistic classifiers",
    "HB17": "G. Hughes and F. J. Burnett (2017), Evaluation of probabilistic disease forecasts, Phytopathology 107(10)",
    "KF15": "M. Kull and P. Flach (2015), Novel decompositions of proper scoring rules for classification, ECML PKDD",
    "DGJ21": "T. Dimitriadis, T. Gneiting and A. I. Jordan (2021), Stable reliability diagrams for probabilistic "
    "classifiers, PNAS 118(8)",
}

FOUND = (
    "over-confident",
    "under-confident",
    "biased",
    "over-confident and biased",
    "under-confident and biased",
    "miscalibrated",
)
VERDICTS = (
    *FOUND,
    *(f"slightly {word}" for word in FOUND),
    "calibrated",
    "no miscalibration found",
    "not measurable",
)

RULES = {"log": "log loss", "brier": "Brier score"}
SCORE_OF = {"log": "log_loss", "brier": "brier"}
GOOD, BAD, ACTION, NOTICE = "✓", "✗", "→", "!"
MARK_OF_STATE = {"found": BAD, "slight": NOTICE, "calibrated": GOOD, "none found": GOOD, "not measurable": NOTICE}
ENOUGH = 3  # decimals of a score; more only where the interval is that narrow
LONGEST_TITLE = 28  # characters of an emphasised beginning that can be set apart as a title
MOST_ROWS = 3  # row numbers named in a sentence
TINY = 1e-6  # a probability of the outcome below which a single case is worth a note
SIGNIFICANT = 0.05
HAPPENED = ("1", "1.0", "true", "yes", "event", "ja", "oui", "si", "sí")  # labels that name no event
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FORMULA = tuple("=+-@＝＋－＠")  # beginnings that a spreadsheet would compute


class Said(NamedTuple):
    """A sentence with its mark and title, and the command that does what it proposes."""

    mark: str
    title: str
    text: str
    command: str = ""


# -- numbers ----------------------------------------------------------------------------------------------------------


def value(reading: Any) -> float | None:
    """Return the number of a reading, or None where there is none."""
    if reading is None or isinstance(reading, bool) or not isinstance(reading, int | float):
        return None
    return float(reading) if getattr(reading, "known", True) else None


def finite(reading: Any) -> float | None:
    """Return the number if it is finite, else None."""
    found = value(reading)
    return found if found is not None and math.isfinite(found) else None


def ends(reading: Any) -> tuple[float, float] | None:
    """Return both ends of the interval, or None where there is none."""
    low, high = getattr(reading, "low", None), getattr(reading, "high", None)
    return None if low is None or high is None else (float(low), float(high))


def decimals(reading: Any) -> int:
    """Return the decimals that show two digits of the uncertainty, or one beyond the third decimal; three where it is
    not known.

    >>> from veracity.data.reading import Reading
    >>> [decimals(Reading(0.1, 0.1 - half, 0.1 + half)) for half in (0.12, 0.022, 0.0071, 0.00071)]
    [2, 3, 3, 4]
    """
    limits = ends(reading)
    half = (limits[1] - limits[0]) / 2.0 if limits else 0.0
    if half > 0.0 and math.isfinite(half):
        first = -math.floor(math.log10(half))  # the decimal of the first digit
        return min(max(min(first + 1, ENOUGH), first, 0), 5)
    size = abs(value(reading) or 0.0)
    return 3 if size < 10 else 1 if size < 1000 else 0


def number(reading: Any, digits: int | None = None) -> str:
    """Return a number with the digits its interval supports, never in scientific notation.

    >>> [number(x) for x in (0.71138, 2.6e-5, 2.6e-14, 1.0, 12.345, 98765.4, 0.0, float("inf"), None)]
    ['0.711', '0.00003', '<0.000001', '1.000', '12.3', '98,765', '0', '∞', '–']
    """
    x = value(reading)
    if x is None:
        return "–"
    if math.isnan(x):
        return "undefined"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    limits = ends(reading)
    if x == 0.0 and (limits is None or limits[0] == limits[1]):
        return "0"
    return _fixed(x, decimals(reading) if digits is None else digits)


def _fixed(x: float, digits: int) -> str:
    size = abs(x)
    if 0 < size < 0.5 * 10**-digits:  # never a false zero
        digits = min(-math.floor(math.log10(size)), 6)
        text = f"{size:.{digits}f}" if size >= 1e-6 else "<0.000001"
        return f"−{text}" if x < 0 and size >= 1e-6 else text
    return f"−{size:,.{digits}f}" if x < 0 and round(size, digits) else f"{size:,.{digits}f}"


def in_full(x: float) -> str:
    """Return a number that was given, with all its digits and without scientific notation.

    >>> in_full(0.01), in_full(1e-06), in_full(0.0125), in_full(3.0)
    ('0.01', '0.000001', '0.0125', '3')
    """
    return f"{Decimal(repr(float(x))):f}".removesuffix(".0")


def share(x: float) -> str:
    """Return a share in percent with the digits of its distance from 0 and 1, or as 1 in so many where it is tiny.

    >>> share(0.254), share(0.0034), share(0.00001), share(0.9997), share(0.99999999)
    ('25 %', '0.3 %', '1 in 100,000', '99.97 %', '>99.99 %')
    """
    if 0.0 < x < 0.001:
        return chance(x)
    if 0.9999 <= x < 1.0:
        return f">{99.99} %"
    rest = 100.0 * min(x, 1.0 - x)
    return f"{100.0 * x:.{0 if rest == 0.0 or rest >= 0.995 else -math.floor(math.log10(rest))}f} %"


def percent(reading: Any, digits: int | None = None) -> str:
    """Return a share in percent, with the digits its interval supports; never 0 % or 100 % where it is not.

    >>> [percent(x) for x in (0.838, 0.0, 1.0, 0.00001)], percent(0.9999, 0), percent(0.33, 0)
    (['83.8 %', '0.0 %', '100.0 %', '<0.1 %'], '>99 %', '33 %')
    """
    x = value(reading)
    if x is None or not math.isfinite(x):
        return number(reading)
    digits = min(max(decimals(reading) - 2, 0), 3) if digits is None else digits
    least = 10.0**-digits
    if 0 < x < 0.005 * least:
        return f"<{least:.{digits}f} %"
    if 1 - 0.005 * least < x < 1:
        return f">{100 - least:.{digits}f} %"
    return f"{_fixed(100 * x, digits)} %"


def interval(reading: Any, as_percent: bool = False, digits: int | None = None) -> str:
    """Return the interval as text, empty where there is none.

    >>> from veracity.data.reading import Reading
    >>> interval(Reading(1.1, 1.006, 1.198)), interval(Reading(0.67, 0.649, 0.696), True)
    ('1.006–1.198', '64.9–69.6 %')
    """
    limits = ends(reading)
    if limits is None:
        return ""
    scale = 100.0 if as_percent else 1.0
    if digits is None:
        digits = min(max(decimals(reading) - 2, 0), 3) if as_percent else decimals(reading)
    low, high = (_fixed(scale * end, digits) if math.isfinite(end) else "∞" if end > 0 else "−∞" for end in limits)
    between = " to " if limits[0] < 0 else "–"
    return f"{low}{between}{high}{' %' if as_percent else ''}"


def why(reading: Any) -> str:
    """Return why a reading has no number or no interval, empty where it does not say."""
    return str(getattr(reading, "reason", None) or "")


def count(n: float, noun: str, many: str = "") -> str:
    """
    >>> count(1, "finding"), count(1889, "row")
    ('1 finding', '1,889 rows')
    """
    return f"{n:,.0f} {noun if n == 1 else many or noun + 's'}"


def level(share: float | None) -> str:
    """
    >>> level(0.95)
    '95 %'
    """
    return f"{100 * (share or 0.95):g} %"


def day(moment: Any) -> str:
    """Return the day of a date in ISO 8601, empty where there is none.

    >>> day("2026-11-08T01:02:03+00:00"), day(None)
    ('8 Nov 2026', '')
    """
    if not moment:
        return ""
    year, month, number_of_day = (int(part) for part in str(moment)[:10].split("-"))
    return f"{number_of_day} {MONTHS[month - 1]} {year}"


def chance(p: float) -> str:
    """Return a probability in words that need no scientific notation.

    >>> chance(0.031), chance(2e-5), chance(1e-12), chance(0.0)
    ('3.1 %', '1 in 50,000', 'less than one in a million', '0')
    """
    if p == 0:
        return "0"
    if p < TINY:
        return "less than one in a million"
    return f"1 in {float(f'{1 / p:.2g}'):,.0f}" if p < 0.001 else percent(p, 1)


def p_value(p: float | None) -> str:
    """Return a p-value with the digits that matter.

    >>> [p_value(p) for p in (0.00001, 0.0123, 0.42, None)]
    ['< 0.001', '0.012', '0.42', '–']
    """
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def p_equals(p: float) -> str:
    """
    >>> p_equals(0.00001), p_equals(0.0123)
    ('p < 0.001', 'p = 0.012')
    """
    shown = p_value(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def plain(text: str) -> str:
    """Return a sentence without its marks of emphasis.

    >>> plain("**Calibrated.** At most 0.4 %.")
    'Calibrated. At most 0.4 %.'
    """
    return text.replace("**", "")


def event_name(label: str | None) -> str:
    """Return what sentences call the event: its label, or "the event" where that only says that it happened.

    >>> event_name("rain"), event_name("1"), event_name(None)
    ('rain', 'the event', 'the event')
    """
    return "the event" if label is None or label.strip().lower() in HAPPENED else label


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def sentence(text: str) -> str:
    """
    >>> sentence("12 rows left out")
    '12 rows left out.'
    """
    return capital(text if text.endswith((".", "?", "!")) else f"{text}.")


def inert(text: str) -> str:
    """Return text that a spreadsheet shows instead of computing it.

    >>> inert("=1+1"), inert("\\n =1+1"), inert("scores.brier")
    ("'=1+1", "'  =1+1", 'scores.brier')
    """
    text = clean(text)
    return f"'{text}" if text.strip(" '\"\N{REPLACEMENT CHARACTER}").startswith(FORMULA) else text


def clean(text: str) -> str:
    """Return text without control characters, which could move the cursor, reverse the line or end a file's format.

    >>> clean("a\\x1b[2Jb\\u202ec")
    'a�[2Jb�c'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if c in "\n\t\r" else "\N{REPLACEMENT CHARACTER}" if _is_control(c) else c for c in text)


def _is_control(c: str) -> bool:
    """Whether a character is no text: controls, surrogates, line separators, directions, what no character is."""
    if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069":
        return True
    return (ord(c) & 0xFFFE) == 0xFFFE or "\ufdd0" <= c <= "\ufdef"


# -- sentences --------------------------------------------------------------------------------------------------------


def verdict(word: str, detail: Verdict | None) -> list[Said]:
    """Return the sentences of the calibration verdict, each with its mark and title."""
    if detail is None:
        return [Said(NOTICE, capital(word), "")]
    mark = MARK_OF_STATE.get(detail.state, NOTICE)
    if not detail.sentences:
        return [Said(mark, capital(word), sentence(detail.reason) if detail.reason else "")]
    said: list[Said] = []
    for i, text in enumerate(detail.sentences):
        title, rest = _titled(text, word)
        if not title and said and said[-1].title:  # goes on with the sentence before
            said[-1] = said[-1]._replace(text=f"{said[-1].text} {rest}")
        else:
            said.append(Said(BAD if i == 0 and detail.zero_rows else mark, title, rest))
    return said


def _titled(text: str, word: str) -> tuple[str, str]:
    """Split **Title.** from a sentence; one that begins with an emphasised verb has the verdict as its title.

    >>> _titled("**Calibrated.** At most 0.4 %.", "calibrated")
    ('Calibrated', 'At most 0.4 %.')
    >>> _titled("**Over-predicts** cat (14 %, was 10 %).", "biased")
    ('Biased', '**Over-predicts** cat (14 %, was 10 %).')
    """
    found = re.match(r"\*\*(.+?)([.:]?)\*\*\s*(.*)", text, re.DOTALL)
    if found is None or len(found[1]) > LONGEST_TITLE:
        return "", text
    return (found[1], found[3]) if found[2] else ("Biased" if "biased" in word else capital(word), text)


def usefulness(scores: Scores | None, skill: Skill | None, baseline: Baseline | None) -> Said | None:
    """Return whether the forecasts are better than always predicting the class frequencies."""
    if scores is None or skill is None or baseline is None:
        return None
    name, label, gain = "log_loss", "Log loss", skill.log
    if finite(gain) is None:  # an infinite log loss says nothing about usefulness, the Brier score does
        name, label, gain = "brier", "Brier score", skill.brier
    if finite(gain) is None or name not in scores or name not in baseline:
        return None
    share = float(gain)  # type: ignore[arg-type]
    against = f"{label} {number(scores[name])} against {_beside(baseline[name], scores[name])} for the baseline"
    limits = ends(gain)
    if limits is not None and limits[0] <= 0.0 <= limits[1]:
        between = f"between {percent(-limits[0], 0)} worse and {percent(limits[1], 0)} better"
        return Said(NOTICE, "Not clearly useful", f"{against}: {between}.")
    if share < 0:
        return Said(BAD, "Worse than the baseline", f"{against}, which always predicts the class frequencies.")
    return Said(GOOD, "Useful", f"{against} ({percent(share, 0)} better).")


def expectation(scores: Scores | None, expected: Mapping[str, ExpectedScore] | None, verdict: Verdict | None) -> str:
    """Return whether the log loss was worse or better than the forecasts expected of themselves.

    A direction is named only where the calibration verdict found something and chance does not explain the difference.
    """
    rule = judged_by(scores)
    found, observed = (expected or {}).get(rule), None if scores is None else scores[SCORE_OF[rule]]
    if found is None or found.expected is None or finite(observed) is None:
        return ""
    name, gap = RULES[rule], abs(float(found.excess))
    both = f"{name} {number(observed)}, expected {number(found.expected, decimals(observed))}"
    named = verdict is not None and verdict.state in ("found", "slight")
    if not named or found.p is None or found.p >= SIGNIFICANT:
        return f"About as good as it expected of itself: {both}."
    word = "Worse" if found.excess > 0.0 else "Better"
    return f"{word} than it expected of itself: {both}, a difference of {number(gap, decimals(found.excess))}."


def _beside(x: float, reading: Any) -> str:
    """Return a number with as many decimals as the reading beside it."""
    return number(x, decimals(reading))


def judged_by(scores: Scores | None) -> str:
    """Return the rule that recalibrations are judged by: "brier" where the log loss is infinite."""
    return "brier" if scores is not None and finite(scores.log_loss) is None else "log"


def best_remedy(remedies: Iterable[Remedy] | None, rule: str = "log") -> tuple[Remedy, Gain] | None:
    """Return the recalibration with the largest gain among those whose interval excludes 0, and that gain."""
    gains = [(remedy, remedy.log if rule == "log" else remedy.brier) for remedy in remedies or ()]
    clear = [pair for pair in gains if finite(pair[1].gain) is not None and (finite(pair[1].low) or 0.0) > 0.0]
    return max(clear, key=lambda pair: pair[1].gain or 0.0) if clear else None


def remedy_name(remedy: Remedy) -> str:
    """Return a recalibration with its parameters: what `parameters` says, else the name of the map."""
    return (remedy.parameters or remedy.map.replace("_", " ")).replace(" -", " −")


def fix(remedies: Sequence[Remedy] | None, rule: str = "log", *, wanted: bool = False) -> Said | None:
    """Return the best recalibration with its command for FILE; where none helps clearly, that is said.

    `wanted`: miscalibration was found, so that "nothing to fix" would contradict it.
    """
    if not remedies:
        return None
    best = best_remedy(remedies, rule)
    if best is not None:
        remedy, gain = best
        share = f", {percent(gain.share, 0)}" if finite(gain.share) is not None else ""
        text = f"{capital(remedy_name(remedy))} cuts the {RULES[rule]} by {gain_text(gain)}{share}."
        return Said(ACTION, "Fix", text, remedy.command or "")
    unclear = largest_gain(remedies, rule) if wanted else None
    if not wanted:
        return Said(GOOD, "Nothing to fix", "No recalibration helps.")
    if unclear is None:
        return Said(
            NOTICE, "No fix found", f"No recalibration lowered the {RULES[rule]} of cases it was not fitted to."
        )
    remedy, gain = unclear
    text = f"No recalibration helps clearly. The best, {remedy_name(remedy)}, changes the {RULES[rule]} by "
    return Said(NOTICE, "No clear fix", f"{text}{change_text(gain)}.")


def largest_gain(remedies: Iterable[Remedy], rule: str = "log") -> tuple[Remedy, Gain] | None:
    """Return the recalibration with the largest gain, whatever its interval; None where none gains."""
    gains = [(remedy, remedy.log if rule == "log" else remedy.brier) for remedy in remedies]
    known = [pair for pair in gains if (finite(pair[1].gain) or 0.0) > 0.0]
    return max(known, key=lambda pair: pair[1].gain or 0.0) if known else None


def change_text(gain: Gain) -> str:
    """Return a gain as the change of the loss.

    >>> change_text(Gain(0.009, -0.007, 0.025))
    '−0.009 (−0.025 to 0.007)'
    """
    held = Reading(gain.gain or 0.0, gain.low, gain.high)
    turned = Reading(-held, None if held.high is None else -held.high, None if held.low is None else -held.low)
    limits = interval(turned)
    return f"{number(turned)} ({limits})" if limits else number(turned)


def gain_text(gain: Gain) -> str:
    """
    >>> gain_text(Gain(0.2134, 0.16, 0.26))
    '0.213 (0.160–0.260)'
    """
    shown, limits = number(gain.gain, decimals(gain)), interval(gain)
    return f"{shown} ({limits})" if limits else shown


def worst_group(groups: Any) -> Said | None:
    """Return the worst group of the first column whose groups differ significantly."""
    for column, group in (groups or {}).items():
        if _differs(group) and group.worst in group.levels:
            loss = group.levels[group.worst].scores.log_loss
            differ = f"groups differ ({p_equals(group.differ.p)})"
            text = f"{column} = {group.worst} has the highest log loss, {number(loss)}; {differ}."
            return Said(NOTICE, "Groups", text)
    return None


def drift(found: Any) -> str:
    """Return whether log loss and calibration drift, in a sentence; empty where that was not tested."""
    if found is None or found.p is None:
        return ""
    said = "The log loss drifts" if found.p < SIGNIFICANT else "No drift of the log loss was found"
    said = f"{said} ({p_equals(found.p)})"
    if found.calibration_p is not None:
        also = f"calibration {'drifts' if found.calibration_p < SIGNIFICANT else 'does not drift'}"
        said += f"; {also} ({p_equals(found.calibration_p)})"
    return f"{said}."


def drifting(found: Any, windows: Any) -> Said | None:
    """Return that log loss or calibration drifts, with the first and the last window; None where neither does."""
    if found is None or not any(p is not None and p < SIGNIFICANT for p in (found.p, found.calibration_p)):
        return None
    ends = ""
    if windows and len(windows) > 1:
        first, last = windows[0], windows[-1]
        ends = f" It was {number(first.log_loss)} from {first.start} and {number(last.log_loss)} from {last.start} on."
    return Said(NOTICE, "Drift", f"{drift(found)}{ends}")


def _differs(group: Group) -> bool:
    return group.differ is not None and group.differ.p is not None and group.differ.p < SIGNIFICANT


def biggest_miss(surprises: Sequence[Surprise] | None, zero_rows: int = 0) -> Said | None:
    """Return the case that gave least to its outcome, if that is almost nothing and no zeros were told already."""
    rare = [case for case in surprises or () if 0 < case.probability < TINY]
    if not rare or zero_rows:
        return None
    return Said(NOTICE, "Note", f"{place(rare[0])} gave its outcome a probability of {chance(rare[0].probability)}.")


def place(case: Surprise) -> str:
    """
    >>> place(Surprise(17, "yes", 0.1)), place(Surprise(17, "yes", 0.1, "a.csv"))
    ('Row 17', 'Row 17 of a.csv')
    """
    return f"Row {case.row}" + (f" of {case.file}" if case.file else "")


def notes(findings: Iterable[Finding], told: str = "") -> list[Said]:
    """Return what else must be known, gravest first, without what the sentences before have told."""
    order = {"changes the meaning": 0, "warning": 1}
    kept = [f for f in findings if f.severity in order and f.message.lower().rstrip(".") not in told.lower()]
    return [Said(NOTICE, "Note", finding(f)) for f in sorted(kept, key=lambda f: order[f.severity])]


def finding(found: Finding) -> str:
    """Return a finding as a sentence, with its first rows where it does not name them itself."""
    if not found.rows or "row" in found.message:
        return sentence(found.message)
    named = ", ".join(str(row) for row in found.rows[:MOST_ROWS]) + (", …" if len(found.rows) > MOST_ROWS else "")
    return sentence(f"{found.message.removesuffix('.')} ({'row' if len(found.rows) == 1 else 'rows'} {named})")


def minimum(floor: float | None) -> str:
    """Return what a minimum probability does to the means, empty where there is none."""
    if not floor:
        return ""
    return f"In these means no probability counts below {in_full(floor)}; the scores have no minimum."
