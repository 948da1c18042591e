"""What to do about a fault: one piece of advice that follows the verdict, with the map that it means.

1. Nothing was found: nothing is advised.
2. An outcome had probability 0: a minimum probability makes the log loss finite.
3. The careful correction (`careful.py`): a possible fix where verdict and correction have p ≤ .05, a fix where both
   have p ≤ .01; another map of the one cross-validation where it beats the simple ones beyond chance.
4. The corrected forecasts would be no better than the class frequencies: these are advised.
5. A fault that no map mends is said to be one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from veracity import calibrators
from veracity.estimate.calibration.careful_correction import CAUTION, CLEAR, POSSIBLE, Correction, correction
from veracity.estimate.calibration.verdict_of_tally import judged_rows
from veracity.estimate.loss.recalibration import Recalibration
from veracity.formulas.intervals import quantile
from veracity.records.fix import Fix
from veracity.records.sections import Gain
from veracity.records.verdict import Reason, Verdict
from veracity.state.tally import Tally

SIMPLE = ("identity", "prior", "temperature", "platt", "beta", "temperature_levels", "vector", "multiplicative")
FITTED = "veracity calibrate fit FILE --map advised -o map.json"
FIX, POSSIBLE_FIX, BASE_RATE, FLOOR, NONE = "fix", "possible fix", "base rate", "floor", "none"
NOTHING = 1e-9  # nats: a smaller difference of two maps is rounding
NOT_REJECTED, NO_MAP, UNJUDGED = "no fault was found", "no simple correction fits", "nothing could be judged"
ONE_CLASS = "only one class was observed"
ZEROS, NO_SKILL = "an outcome had probability 0", "corrected, it is no better than the class frequencies"


@dataclass(frozen=True, eq=False)
class Advice:
    """The advice as a record, and the map that carries it out; None where there is none."""

    fix: Fix
    fitted: calibrators.Fitted | None = None


def advice(
    tally: Tally,
    verdict: Verdict,
    validation: Recalibration | None,
    loss: float,
    baseline: float,
    upper: float | None,
    caution: float = CAUTION,
) -> Advice:
    """Return what to do.

    loss, baseline  log loss of the forecasts and of always predicting the class frequencies
    upper           upper end of the calibration loss: no gain is stated above it
    caution         standard errors by which the step of a correction is shortened; with 0 it also needs no test, since
                    a step of 1 − df/LR gains on average
    """
    if verdict.p is None:
        return Advice(Fix(NONE, UNJUDGED))
    level = tally.plan.level
    if verdict.zero_rows:
        fitted = calibrators.fit("floor", tally.rows)
        return Advice(Fix(FLOOR, ZEROS, "floor", None, fitted.text, command=FITTED), fitted)
    if caution and verdict.state not in ("found", "slight"):
        return Advice(Fix(NONE, NOT_REJECTED))
    if verdict.reason is Reason.ONE_CLASS:
        return Advice(Fix(NONE, ONE_CLASS))
    other = None if validation is None or tally.picks_only else _other(validation, level)
    if other is not None:
        name, gain = other
        fitted = calibrators.fit(name, tally.rows)
        return Advice(Fix(FIX, None, name, 1.0, fitted.text, _bounded(gain, loss, upper), command=FITTED), fitted)
    simple = _simple(tally, caution)
    always = calibrators.fit("prior", tally.rows)
    base_rate = Advice(Fix(BASE_RATE, NO_SKILL, "prior", 1.0, "always the class frequencies", command=FITTED), always)
    if simple.fitted is None or (caution and simple.p > POSSIBLE):
        return base_rate if loss >= baseline else Advice(Fix(NONE, NO_MAP if caution else NOT_REJECTED))
    gain = _bounded(Gain(*simple.gain(level)), loss, upper)
    if gain.gain is not None and min(loss, simple.loss) - gain.gain >= baseline:
        return Advice(
            Fix(BASE_RATE, NO_SKILL, "prior", 1.0, "always the class frequencies", command=FITTED),
            calibrators.fit("prior", tally.rows),
        )
    clear = verdict.p <= CLEAR and simple.p <= CLEAR
    fix = Fix(
        FIX if clear else POSSIBLE_FIX, None, simple.map, simple.strength, simple.fitted.text, gain, command=FITTED
    )
    return Advice(fix, simple.fitted)


def _simple(tally: Tally, caution: float) -> Correction:
    judged = judged_rows(tally)
    return correction(judged.cases, judged.p, tally.classes, judged.order, caution)


def _bounded(gain: Gain, loss: float, upper: float | None) -> Gain:
    """Return a gain that is not above the upper end of the calibration loss, with its share of the loss."""
    value, low, high = gain.gain, gain.low, gain.high
    if value is None:
        return gain
    most = math.inf if upper is None else upper
    value = min(value, most)
    share = value / loss if math.isfinite(loss) and loss > 0.0 else None
    return Gain(
        value, low if low is None else min(low, value), high if high is None else max(min(high, most), value), share
    )


def _other(validation: Recalibration, level: float) -> tuple[str, Gain] | None:
    """Return the map of the cross-validation that beats the best simple one beyond chance, with its gain."""
    if validation.few_misses:
        return None
    gains = {name: validation.gain("log", name)[0] for name in validation.members}
    known = {name: gain for name, gain in gains.items() if math.isfinite(gain)}
    simple = [name for name in known if name in SIMPLE]
    others = [name for name in known if name not in SIMPLE and known[name] > 0.0]
    if not others or not simple:
        return None
    best, usual = max(others, key=lambda name: (known[name], name)), max(simple, key=lambda name: (known[name], name))
    ours, theirs = validation.scores("log", best), validation.scores("log", usual)
    assert ours is not None
    assert theirs is not None
    more, error = validation.mean(theirs - ours)
    if not more - quantile(level) * error > NOTHING:
        return None
    gain, gain_error = validation.gain("log", best)
    reach = quantile(level) * gain_error
    return best, Gain(gain, gain - reach, gain + reach)
