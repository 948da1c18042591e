"""Sentences about one set of forecasts: use, calibration, remedy, groups, drift and what else must be known."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from veracity.data import Finding
from veracity.data.reading import Reading
from veracity.data.records import Baseline, Drift, ExpectedScore, Gain, Group, Remedy, Scores, Skill, Surprise, Window
from veracity.data.verdict import Verdict

from .calibration import CLEARLY
from .labels import ACTION, BAD, GOOD, MARK_OF_STATE, NEUTRAL, NOTICE, RULES, SCORE_OF, Said
from .numbers import TINY, chance, decimals, ends, finite, in_full, interval, number, p_equals, percent, why
from .text import capital, sentence

LONGEST_TITLE = 28  # characters of an emphasised beginning that can be set apart as a title
MOST_ROWS = 3  # row numbers named in a sentence
SIGNIFICANT = 0.05
NEAR_BASELINE = 0.95  # of the baseline's loss: forecasts with a larger one are hardly better
SLOPE_DIFFERS = (
    "The verdict is about forecasts on average, the slope about sure ones beside unsure ones: here they point in "
    "opposite directions, for the gap is widest where the forecasts are least sure."
)
BESIDE = 0.01  # p of a test beside the verdict below which it claims something: together they keep the 5 % of one


def verdict(word: str, detail: Verdict | None) -> list[Said]:
    """Return the sentences of the calibration verdict, each with its mark and title."""
    if detail is None:
        return [Said(NOTICE, capital(word), "")]
    mark = mark_of(detail)
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


def mark_of(detail: Verdict) -> str:
    """Return the mark of a verdict: a tick only where errors of a tenth of the loss would have shown."""
    unclear = detail.detectable is not None and detail.detectable >= CLEARLY
    if detail.state == "none found" and (unclear or detail.zero_rows):
        return NEUTRAL
    return MARK_OF_STATE.get(detail.state, NOTICE)


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


def usefulness(scores: Scores, skill: Skill, baseline: Baseline) -> Said | None:
    """Return whether the forecasts are better than always predicting the class frequencies."""
    loss: Reading | None
    label, loss, base, gain = "Log loss", scores.log_loss, baseline.log_loss, skill.log
    if finite(gain) is None:  # an infinite log loss says nothing about usefulness, the Brier score does
        label, loss, base, gain = "Brier score", scores.brier, baseline.brier, skill.brier
    share = finite(gain)
    if share is None or loss is None or base is None:
        return None
    against = f"{label} {number(loss)} against {number(base, decimals(loss))} for the baseline"
    limits = ends(gain)
    if limits is not None and limits[0] <= 0.0 <= limits[1]:
        worse = f"{percent(-limits[0], 0)} worse" if limits[0] < 0.0 else "no better"
        between = f"between {worse} and {percent(limits[1], 0)} better"
        return Said(NOTICE, "Not clearly useful", f"{against}: {between}.")
    if limits is None:
        size = f"{percent(abs(share), 0)} {'worse' if share < 0 else 'better'}"
        return Said(NOTICE, "Not clearly useful", f"{against}, {size}; chance may explain it ({why(gain)}).")
    if share < 0:
        return Said(BAD, "Worse than the baseline", f"{against}, which always predicts the class frequencies.")
    return Said(GOOD, "Useful", f"{against} ({percent(share, 0)} better).")


def expectation(scores: Scores, expected: Mapping[str, ExpectedScore], verdict: Verdict) -> str:
    """Return whether the log loss was worse or better than the forecasts expected of themselves.

    A direction is named only where the calibration verdict found something and chance does not explain the difference.
    """
    rule = judged_by(scores)
    found, observed = expected.get(rule), scores.reading(SCORE_OF[rule])
    if found is None or found.expected is None or finite(observed) is None:
        return ""
    name, gap = RULES[rule], abs(float(found.excess))
    both = f"{name} {number(observed)}, expected {number(found.expected, decimals(observed))}"
    named = verdict.state in ("found", "slight")
    if not named or found.p is None or found.p >= SIGNIFICANT:
        return f"About as good as it expected of itself: {both}."
    word = "Worse" if found.excess > 0.0 else "Better"
    return f"{word} than it expected of itself: {both}, a difference of {number(gap, decimals(found.excess))}."


def judged_by(scores: Scores) -> str:
    """Return the rule that recalibrations are judged by: "brier" where the log loss is infinite."""
    return "brier" if finite(scores.log_loss) is None else "log"


def any_infinite(scores: Iterable[Scores]) -> bool:
    """Return whether a log loss is infinite, so that these are judged by the Brier score, which all of them have."""
    held = list(scores)
    return all(finite(one.brier) is not None for one in held) and any(one.log_loss == math.inf for one in held)


def best_remedy(
    remedies: Iterable[Remedy] | None, rule: str = "log", *, clear: bool = True
) -> tuple[Remedy, Gain] | None:
    """Return the recalibration with the largest gain, and that gain, if there is one.

    `clear`: among those whose interval excludes 0; otherwise whatever the interval.
    """
    gains = [(remedy, remedy.log if rule == "log" else remedy.brier) for remedy in remedies or ()]
    known = [pair for pair in gains if finite(pair[1].gain) is not None]
    some = [pair for pair in known if (finite(pair[1].low if clear else pair[1].gain) or 0.0) > 0.0]
    return max(some, key=lambda pair: pair[1].gain or 0.0) if some else None


def remedy_name(remedy: Remedy) -> str:
    """Return a recalibration with its parameters: what `parameters` says, else the name of the map."""
    return (remedy.parameters or remedy.map.replace("_", " ")).replace(" -", " −")


def fix(
    remedies: Sequence[Remedy] | None, rule: str = "log", *, wanted: bool = False, unseen: bool = False
) -> Said | None:
    """Return the best recalibration with its command for FILE; where none helps clearly, that is said.

    `wanted`: a fault was found, so that "nothing to fix" would contradict it; `unseen`: no test found miscalibration.
    """
    if not remedies:
        return None
    best = best_remedy(remedies, rule)
    if best is not None:
        remedy, gain = best
        share = f", {percent(gain.share, 0)}" if finite(gain.share) is not None else ""
        text = f"{capital(remedy_name(remedy))} cuts the {RULES[rule]} by {gain_text(gain)}{share}."
        return Said(ACTION, "Possible fix" if unseen else "Fix", text, remedy.command or "")
    if not wanted:
        return Said(GOOD, "Nothing to fix", "No recalibration helps.")
    unclear = best_remedy(remedies, rule, clear=False)
    if unclear is None:
        text = f"No recalibration lowered the {RULES[rule]} of cases it was not fitted to."
        return Said(NOTICE, "No fix found", text)
    remedy, gain = unclear
    text = f"No recalibration helps clearly. The best, {remedy_name(remedy)}, cuts the {RULES[rule]} by "
    return Said(NOTICE, "No clear fix", f"{text}{gain_text(gain)}, which may be chance.")


def left_by(fixed: Gain, scores: Scores, baseline: Baseline, rule: str = "log") -> tuple[str, bool] | None:
    """Return the loss that a recalibration leaves beside the baseline's, and whether it is hardly lower."""
    loss = scores.reading(SCORE_OF[rule])
    before, base = finite(loss), finite(baseline.score(SCORE_OF[rule]))
    if before is None or base is None:
        return None
    left, digits = before - (fixed.gain or 0.0), decimals(loss)
    return f"{number(left, digits)}, against {number(base, digits)} for the baseline", left > NEAR_BASELINE * base


def gain_text(gain: Gain) -> str:
    """
    >>> gain_text(Gain(0.2134, 0.16, 0.26))
    '0.213 (0.160–0.260)'
    """
    shown, limits = number(gain.gain, decimals(gain)), interval(gain)
    return f"{shown} ({limits})" if limits else shown


NOT_THROUGHOUT = Said(NOTICE, "Otherwise none found", "All times together show no miscalibration beyond chance.")


def worst_group(groups: Mapping[str, Group]) -> Said | None:
    """Return the worst group of the first column whose groups differ significantly."""
    for column, group in groups.items():
        p = group.differ.p if group.differ is not None else None
        if p is not None and p < BESIDE and group.worst is not None and group.worst in group.levels:
            loss = group.levels[group.worst].scores.log_loss
            loss_text = f"log loss {number(loss)}" if finite(loss) is not None else "an infinite log loss"
            text = f"{column} = {group.worst} is worst, with {loss_text}; groups differ ({p_equals(p)})."
            return Said(NOTICE, "Groups", text)
    return None


def group_verdicts(group: Group) -> str:
    """Return at which p the verdicts of groups are found; empty where that is unknown or that of one verdict."""
    if group.alpha is None or group.alpha >= SIGNIFICANT:
        return ""
    judged = f"Each of the {len(group.levels):,} groups is judged at {group.alpha:.2g} because there are several"
    return f"p: of the calibration tests of a group. {judged}; alone, it would be at {SIGNIFICANT}."


def drift(found: Drift | None) -> str:
    """Return whether log loss and calibration drift, in a sentence; empty where that was not tested."""
    if found is None or found.p is None:
        return ""
    said = "The log loss drifts" if found.p < BESIDE else "The log loss does not clearly drift"
    said = f"{said} ({p_equals(found.p)})"
    if found.calibration_p is not None:
        also = f"calibration {'drifts' if found.calibration_p < BESIDE else 'does not clearly drift'}"
        said += f"; {also} ({p_equals(found.calibration_p)})"
    return f"{said}."


def drifting(found: Drift | None, windows: Sequence[Window]) -> Said | None:
    """Return that log loss or calibration drifts, with the first and the last window; None where neither does."""
    if found is None or not any(p is not None and p < BESIDE for p in (found.p, found.calibration_p)):
        return None
    text = drift(found)
    if len(windows) > 1:
        first, last = windows[0], windows[-1]
        text += f" Log loss {number(first.log_loss)} from {first.start}, {number(last.log_loss)} from {last.start} on"
        excesses = [(w.log_loss, excess) for w in (first, last) if (excess := finite(w.excess)) is not None]
        if len(excesses) == 2:
            expected = [number(loss - excess, decimals(loss)) for loss, excess in excesses]
            text += f"; expected by the forecasts: {expected[0]} and {expected[1]}"
        text += "."
    return Said(NOTICE, "Drift", text)


def biggest_miss(surprises: Sequence[Surprise], zero_rows: int = 0) -> Said | None:
    """Return the case with the lowest probability of its outcome, if that is tiny and no zeros are reported."""
    rare = [case for case in surprises if 0 < case.probability < TINY]
    if not rare or zero_rows:
        return None
    return Said(NOTICE, "Note", f"{place(rare[0])} gave its outcome a probability of {chance(rare[0].probability)}.")


def place(case: Surprise) -> str:
    """
    >>> place(Surprise(17, "yes", 0.1)), place(Surprise(17, "yes", 0.1, "a.csv"))
    ('Row 17', 'Row 17 of a.csv')
    """
    return f"Row {case.row}" + (f" of {case.file}" if case.file else "")


def notes(findings: Iterable[Finding], said_before: str = "") -> list[Said]:
    """Return the warnings that earlier sentences do not contain yet, gravest first."""
    order = {"changes the meaning": 0, "warning": 1}
    kept = [f for f in findings if f.severity in order and f.message.lower().rstrip(".") not in said_before.lower()]
    return [Said(NOTICE, "Note", finding(f)) for f in sorted(kept, key=lambda f: order[f.severity])]


def finding(found: Finding) -> str:
    """Return a finding as a sentence with its first rows, which no message names itself."""
    if not found.rows:
        return sentence(found.message)
    named = ", ".join(str(row) for row in found.rows[:MOST_ROWS]) + (", …" if len(found.rows) > MOST_ROWS else "")
    return sentence(f"{found.message.removesuffix('.')} ({'row' if len(found.rows) == 1 else 'rows'} {named})")


def minimum(floor: float | None) -> str:
    """Return what a minimum probability does to the means; empty without a minimum."""
    if not floor:
        return ""
    return f"In these means no probability counts below {in_full(floor)}; the scores have no minimum."
