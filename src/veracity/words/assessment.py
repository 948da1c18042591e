"""Sentences about one set of forecasts: use, calibration, remedy and what else must be known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veracity.records.findings import Finding
from veracity.records.findings_of_input import ZeroProbability
from veracity.records.findings_of_results import Empty, OneClass
from veracity.records.fix import Fix
from veracity.records.reading import Reading
from veracity.records.sections import NOT_JUDGED, Baseline, ExpectedScore, Gain, Means, Remedy, Scores, Skill, Surprise
from veracity.records.stability import Group
from veracity.records.verdict import Reason, Verdict

from . import stability
from .findings import sentence_of
from .labels import ACTION, BAD, GOOD, NEUTRAL, NOTICE, RECALIBRATED, RULES, SCORE_OF, WITHIN_CHANCE, Said
from .numbers import TINY, chance, count, decimals, ends, finite, in_full, interval, number, percent, why
from .text import capital, sentence
from .verdict import mark_of, marked, row_of

if TYPE_CHECKING:
    from veracity.estimate.estimates import Estimates

MOST_ROWS = 3  # row numbers named in a sentence
SIGNIFICANT = 0.05
UNSEEN = ("calibrated", "none found", "too few")  # states of a verdict that found nothing
FULL = 0.99  # share of the fitted step from which a correction is as long as it was fitted
SLOPE_DIFFERS = (
    "The verdict is about forecasts on average, the slope about sure ones beside unsure ones: here they point in "
    "opposite directions, for the gap is widest where the forecasts are least sure."
)


def recalibrated(reported: Means, measured: Means, detail: Verdict | None) -> str:
    """Return what recalibrated means are, and whether they differ from those given by chance only."""
    if detail is None or detail.state in ("found", "slight", "not measurable") or detail.zero_rows:
        return RECALIBRATED
    differ = any(abs(measured.reading(name) - given) > 1e-9 for name, given in reported.readings().items())
    return f"{RECALIBRATED} {WITHIN_CHANCE}" if differ else RECALIBRATED


def usefulness(scores: Scores, skill: Skill, baseline: Baseline) -> Said | None:
    """Return whether the forecasts are better than always predicting the class frequencies."""
    judged = _beside_baseline(scores, skill, baseline)
    if judged is None:
        return None
    rule, gain, loss, base = judged
    share = float(gain)
    against = f"{capital(RULES[rule])} {loss} against {base} for the baseline"
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


@dataclass(frozen=True)
class Conclusions:
    """What is concluded about one set of forecasts: sentences of the headline, and what cards say of them."""

    useful: Said | None
    beside_baseline: str  # the same loss and that of the baseline in a few words
    verdict: list[Said]
    mark: str  # of the verdict
    changes: str  # how calibration holds on average only: over time or by group; empty where nothing shows that
    differs: tuple[Said, ...]  # the same beside a verdict that found a fault


def conclusions(a: Estimates) -> Conclusions:
    """Return what the headline and the cards say; a verdict that found nothing holds only on average where it may."""
    detail, beside = a.verdict_detail, (a.drift, a.windows, a.groups)
    average = stability.unstable(*beside) if detail.state in UNSEEN else None
    verdict = marked(a.verdict, detail)
    return Conclusions(
        usefulness(a.scores, a.skill, a.baseline),
        _loss_and_baseline(a.scores, a.skill, a.baseline),
        verdict if average is None else [average, *(verdict if detail.state == "too few" else [])],  # not the tick
        mark_of(detail),
        "" if average is None else stability.CHANGES if stability.drifting(a.drift) else stability.DIFFERS,
        stability.notes(*beside) if average is None else (),
    )


def _loss_and_baseline(scores: Scores, skill: Skill, baseline: Baseline) -> str:
    """Return the same loss and that of the baseline in a few words."""
    judged = _beside_baseline(scores, skill, baseline)
    return "" if judged is None else "{} {} vs {}".format(RULES[judged[0]], *judged[2:])


def _beside_baseline(scores: Scores, skill: Skill, baseline: Baseline) -> tuple[str, Reading, str, str] | None:
    """Return the rule that tells usefulness, its skill, the loss and that of the baseline; None where none does."""
    for rule, gain in (("log", skill.log), ("brier", skill.brier)):  # an infinite log loss says nothing about it
        loss, base = scores.reading(SCORE_OF[rule]), baseline.score(SCORE_OF[rule])
        if gain is not None and finite(gain) is not None:
            return None if loss is None or base is None else (rule, gain, number(loss), number(base, decimals(loss)))
    return None


def expectation(scores: Scores, expected: Mapping[str, ExpectedScore], verdict: Verdict) -> str:
    """Return whether the log loss was worse or better than the forecasts expected of themselves.

    A direction is named only where the calibration verdict found something and chance does not explain the difference.
    """
    rule = judged_by(scores)
    score, observed = expected.get(rule), scores.reading(SCORE_OF[rule])
    if score is None or score.expected is None or finite(observed) is None:
        return ""
    name, gap = RULES[rule], abs(float(score.excess))
    both = f"{name} {number(observed)}, expected {number(score.expected, decimals(observed))}"
    named = verdict.state in ("found", "slight")
    if score.p is None and verdict.reason is Reason.WITHOUT_ROWS:
        return f"Whether the difference is due to chance needs rows: {both}."
    if not named or score.p is None or score.p >= SIGNIFICANT:
        return f"About as good as it expected of itself: {both}."
    word = "Worse" if score.excess > 0.0 else "Better"
    return f"{word} than it expected of itself: {both}, a difference of {number(gap, decimals(score.excess))}."


def judged_by(scores: Scores) -> str:
    """Return the rule that recalibrations are judged by: "brier" where the log loss is infinite."""
    return "brier" if finite(scores.log_loss) is None else "log"


def any_infinite(scores: Iterable[Scores]) -> bool:
    """Return whether a log loss is infinite, so that these are judged by the Brier score, which all of them have."""
    models = list(scores)
    return all(finite(one.brier) is not None for one in models) and any(one.log_loss == math.inf for one in models)


def remedy_name(remedy: Remedy) -> str:
    """Return a recalibration with its parameters: what `parameters` says, else the name of the map."""
    return remedy.parameters or remedy.map.replace("_", " ")


NO_SINGLE_FIX = Said(NOTICE, "No single fix", "One recalibration of all cases does not help: it is right on average.")


def fix(
    advised: Fix | None, verdict: Verdict | None, *, changes: bool = False, baseline: float | None = None
) -> Said | None:
    """Return what to do, with the command for FILE.

    changes   calibration differs over time or between groups, so that "nothing to fix" would contradict it
    baseline  log loss of always predicting the class frequencies
    """
    if advised is None or verdict is None or verdict.p is None or verdict.reason is Reason.WITHOUT_ROWS:
        return None
    ready = (advised.command or "", advised.python or "")
    if advised.advice in ("fix", "possible fix") and advised.log is not None:
        name = capital(advised.parameters or advised.map or "")
        careful = "" if advised.strength is None or advised.strength > FULL else ", a careful correction,"
        text = f"{name}{careful} cuts the log loss by about {saved(advised.log)}."
        return Said(ACTION, capital(advised.advice), text, *ready)
    if advised.advice == "base rate":
        text = "Corrected, it would be no better than always predicting the class frequencies: predict those."
        return Said(ACTION, "Use the base rate", text, *ready)
    if advised.advice == "floor":
        text = "No outcome should be ruled out: a minimum probability makes the log loss finite, and does no more: "
        text += "assess what it gives to see what else helps."
        loss = verdict.floored_loss
        if baseline is not None and loss is not None and baseline <= loss < math.inf:
            always = "always predicting the class frequencies"
            text += f" Even so, {always} has a better log loss: {baseline:.2f} against {loss:.2f}."
        return Said(ACTION, "Fix", text, *ready)
    if verdict.state in ("found", "slight"):
        text = "No simple correction fits: it needs more cases, or another model."
        if verdict.reason is Reason.ONE_CLASS:
            text = "Where only one class was observed, nothing can be fitted."
        return Said(NOTICE, "No simple fix", text)
    if changes:
        return NO_SINGLE_FIX
    shown = verdict.state == "calibrated" or (verdict.state == "none found" and mark_of(verdict) == GOOD)
    return Said(GOOD, "Nothing to fix", "No recalibration is called for.") if shown else None


def advised_nothing(advised: Fix, word: str = "") -> str:
    """Return why no map is advised; `word` is the verdict."""
    why = ": ".join(part for part in (word, advised.reason) if part)
    return f"no correction is advised ({why})"


FEW_FOR_A_MAP = 50  # cases below which a fitted map is mostly chance


def few_for_a_map(cases: int) -> str:
    """Return what to know about a map fitted on few cases; empty where there are enough."""
    if cases >= FEW_FOR_A_MAP:
        return ""
    return f"{count(cases, 'case')}: another sample of so few would give quite another map"


def nearly_ruled_out(cases: int, most: float) -> str:
    """Return that a map leaves outcomes that had probability 0, and happened, without a chance; empty for no case.

    >>> nearly_ruled_out(6, 2e-5)
    '6 outcomes had probability 0, and the map gives such 1 in 50,000: the advised one is a minimum probability'
    """
    if not cases:
        return ""
    given = chance(most) if most > 0.0 else "0 again"
    told = f"{count(cases, 'outcome')} had probability 0, and the map gives such {given}"
    return f"{told}: the advised one is a minimum probability"


def calibrator(parameters: str, fix: Fix | None, gain: Gain | None, cases: int | None) -> str:
    """Return what a fitted map is and does: for new forecasts, on how many cases, with which gain.

    fix    the advice, where the map is the advised one
    gain   cross-validated gain in log loss of a map that was named
    cases  it was fitted on; None where that is not known
    """
    name = capital(parameters)
    fitted = "" if cases is None else f", fitted on {count(cases, 'case')}"
    if fix is not None and fix.map is None:
        return f"Identity{fitted}: {advised_nothing(fix)}, so probabilities stay as they are."
    careful = "" if fix is None or fix.strength is None or fix.strength > FULL else ", a careful correction"
    told = f"{name}{careful}{fitted}"
    gain = gain if fix is None else fix.log
    if gain is not None and gain.gain is not None:
        if gain.gain == math.inf:
            return f"{told}: makes the log loss finite."
        if gain.gain > 0.0:
            return f"{told}: cuts the log loss by about {saved(gain)}."
        return f"{told}: {'rules outcomes out' if math.isinf(gain.gain) else 'saves nothing'} in cases it has not seen."
    return f"{told}: {fix.reason}." if fix is not None and fix.reason else f"{told}."


def saved(gain: Gain) -> str:
    """Return a gain in percent of the loss with its interval, or as a number where the loss is infinite.

    >>> saved(Gain(0.003, 0.0, 0.007, 0.006)), saved(Gain(0.2134, 0.16, 0.26))
    ('0.6 % (0 to 1.4 %)', '0.213 (0.160–0.260)')
    """
    if gain.share is None or gain.gain is None or gain.low is None or gain.high is None or gain.gain <= 0.0:
        return gain_text(gain)
    scale = 100.0 * gain.share / gain.gain
    low, high = max(gain.low, 0.0) * scale, gain.high * scale
    digits = 0 if scale * gain.gain >= 10.0 else 1 if scale * gain.gain >= 0.1 else 2
    least = "0" if low <= 0.5 * 10.0**-digits else f"{low:.{digits}f}"
    return f"{scale * gain.gain:.{digits}f} % ({least} to {high:.{digits}f} %)"


def gain_text(gain: Gain) -> str:
    """
    >>> gain_text(Gain(0.2134, 0.16, 0.26))
    '0.213 (0.160–0.260)'
    """
    shown, limits = number(gain.gain, decimals(gain)), interval(gain)
    return f"{shown} ({limits})" if limits else shown


def group_verdicts(group: Group) -> str:
    """Return at which p the verdicts of groups are found; empty where that is unknown or that of one verdict."""
    if group.alpha is None or group.alpha >= SIGNIFICANT:
        return ""
    short = sum(part.verdict == NOT_JUDGED for part in group.levels.values())
    several = f"{len(group.levels) - short:,} of the {len(group.levels):,}" if short else f"the {len(group.levels):,}"
    judged = f"Each of {several} groups is judged at {group.alpha:.2g} because there are several"
    note = f"p: of the calibration tests of a group by itself. {judged}; alone, it would be at {SIGNIFICANT}."
    others = "The others, which are smaller, have scores and shares only: level_of(column, group) in Python judges one."
    return f"{note} {others}" if short else note


def place(case: Surprise) -> str:
    """
    >>> place(Surprise(17, "yes", 0.1)), place(Surprise(17, "yes", 0.1, "a.csv", "patient 3"))
    ('Row 17', 'Row 17 of a.csv (patient 3)')
    """
    return f"Row {row_of(case)}"


def notes(findings: Iterable[Finding], verdict: Verdict, surprises: Sequence[Surprise] = ()) -> Iterator[Said]:
    """Yield what the sentences of the verdict do not tell: a tiny probability of an outcome, warnings, gravest first.

    surprises  the cases with the lowest probabilities of their outcomes, told where none was ruled out
    """
    rare = [case for case in surprises if 0 < case.probability < TINY and not verdict.zero_rows]
    for case in rare[:1]:
        yield Said(NOTICE, "Note", f"{place(case)} gave its outcome a probability of {chance(case.probability)}.")
    order = {"critical": 0, "warning": 1}
    kept = [f for f in findings if f.severity in order and not _told(f, verdict)]
    yield from (note(f) for f in sorted(kept, key=lambda f: order[f.severity]))


def note(fact: Finding) -> Said:
    """Return a finding under the mark of a notice, or a neutral one where it changes no number's meaning."""
    return Said(NEUTRAL if fact.severity == "note" else NOTICE, "Note", finding(fact))


def _told(finding: Finding, verdict: Verdict) -> bool:
    """Whether the sentences of the verdict say this too."""
    if isinstance(finding, ZeroProbability):
        return verdict.zero_rows > 0
    return isinstance(finding, (Empty, OneClass)) and verdict.reason in (Reason.EMPTY, Reason.SINGLE_CLASS)


def finding(fact: Finding) -> str:
    """Return a finding as a sentence with its first rows, which no message names itself."""
    message = sentence_of(fact)
    if not fact.rows:
        return sentence(message)
    named = ", ".join(str(row) for row in fact.rows[:MOST_ROWS]) + (", …" if len(fact.rows) > MOST_ROWS else "")
    return sentence(f"{message.removesuffix('.')} ({'row' if len(fact.rows) == 1 else 'rows'} {named})")


def minimum(floor: float | None) -> str:
    """Return what a minimum probability does to the means; empty without a minimum."""
    if not floor:
        return ""
    return f"In these means no probability counts below {in_full(floor)}; the scores have no minimum."
