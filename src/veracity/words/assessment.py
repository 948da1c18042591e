"""Sentences about one set of forecasts: use, calibration, remedy and what else must be known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from veracity.data import Finding
from veracity.data.records import Baseline, ExpectedScore, Gain, Remedy, Scores, Skill, Surprise
from veracity.data.verdict import Verdict

from .calibration import CLEARLY
from .labels import ACTION, BAD, GOOD, MARK_OF_STATE, NEUTRAL, NOTICE, RULES, SCORE_OF, Said
from .numbers import TINY, chance, decimals, ends, finite, in_full, interval, number, percent, why
from .text import capital, sentence

LONGEST_TITLE = 28  # characters of an emphasised beginning that can be set apart as a title
MOST_ROWS = 3  # row numbers named in a sentence
SIGNIFICANT = 0.05
NEAR_BASELINE = 0.95  # of the baseline's loss: forecasts with a larger one are hardly better
SLOPE_DIFFERS = (
    "The verdict is about forecasts on average, the slope about sure ones beside unsure ones: here they point in "
    "opposite directions, for the gap is widest where the forecasts are least sure."
)


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
    base = number(baseline[name], decimals(scores[name]))
    against = f"{label} {number(scores[name])} against {base} for the baseline"
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


def judged_by(scores: Scores | None) -> str:
    """Return the rule that recalibrations are judged by: "brier" where the log loss is infinite."""
    return "brier" if scores is not None and finite(scores.log_loss) is None else "log"


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


NO_SINGLE_FIX = Said(NOTICE, "No single fix", "One recalibration of all cases does not help: it is right on average.")


def left_by(fixed: Gain, scores: Scores, baseline: Baseline | None, rule: str = "log") -> tuple[str, bool] | None:
    """Return the loss that a recalibration leaves beside the baseline's, and whether it is hardly lower."""
    name = SCORE_OF[rule]
    before, base = finite(scores[name]), None if baseline is None else finite(baseline[name])
    if before is None or base is None:
        return None
    left, digits = before - (fixed.gain or 0.0), decimals(scores[name])
    return f"{number(left, digits)}, against {number(base, digits)} for the baseline", left > NEAR_BASELINE * base


def gain_text(gain: Gain) -> str:
    """
    >>> gain_text(Gain(0.2134, 0.16, 0.26))
    '0.213 (0.160–0.260)'
    """
    shown, limits = number(gain.gain, decimals(gain)), interval(gain)
    return f"{shown} ({limits})" if limits else shown


def biggest_miss(surprises: Sequence[Surprise] | None, zero_rows: int = 0) -> Said | None:
    """Return the case with the lowest probability of its outcome, if that is tiny and no zeros are reported."""
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


def notes(findings: Iterable[Finding], said_before: str = "") -> list[Said]:
    """Return the warnings that earlier sentences do not contain yet, gravest first."""
    order = {"changes the meaning": 0, "warning": 1}
    kept = [f for f in findings if f.severity in order and f.message.lower().rstrip(".") not in said_before.lower()]
    return [Said(NOTICE, "Note", finding(f)) for f in sorted(kept, key=lambda f: order[f.severity])]


def finding(found: Finding) -> str:
    """Return a finding as a sentence, with its first rows where it does not name them itself."""
    if not found.rows or "row" in found.message:
        return sentence(found.message)
    named = ", ".join(str(row) for row in found.rows[:MOST_ROWS]) + (", …" if len(found.rows) > MOST_ROWS else "")
    return sentence(f"{found.message.removesuffix('.')} ({'row' if len(found.rows) == 1 else 'rows'} {named})")


def minimum(floor: float | None) -> str:
    """Return what a minimum probability does to the means; empty without a minimum."""
    if not floor:
        return ""
    return f"In these means no probability counts below {in_full(floor)}; the scores have no minimum."
