"""Level and confidence of more than two classes from cells alone: a tally that left its site without rows.

The frequency of each class is compared with its mean forecast, the share of right picks with their mean probability.
Which class happens where another was given, and a recalibration, need rows: without a deviation there is no verdict.
"""

from __future__ import annotations

import math

from veracity.estimate.calibration.per_class import per_class, residual
from veracity.estimate.calibration.verdict import OVER, UNDER, not_measurable
from veracity.estimate.means.expected import Expected
from veracity.records.sections import ClassLevel
from veracity.records.verdict import ConfidenceTest, LevelTest, Reason, Verdict
from veracity.state.tally import Tally
from veracity.words.verdict import word_of

METHOD = "level of each class and confidence of the pick, from cells"


def level_and_confidence(tally: Tally, alpha: float) -> Verdict:
    """Return the verdict of a tally without rows: found where level or confidence is wrong, else not measurable."""
    names, pick = tuple(map(str, tally.classes)), residual(tally.top)
    readings = per_class(tally.classwise, names)
    p = {name: 1.0 if one.p is None else one.p for name, one in readings.items()}
    level, confidence = min(p.values()), math.erfc(abs(pick) / math.sqrt(2.0))
    together = min(2.0 * min(level, confidence), 1.0)
    classes = {
        name: ClassLevel(readings[name].predicted, readings[name].observed, residual(h))
        for name, h in zip(names, tally.classwise, strict=True)
        if p[name] <= alpha / 2.0
    }
    direction = None if confidence > alpha / 2.0 else OVER if pick < 0.0 else UNDER
    realised = 0.0 if tally.sums.zeros else math.exp(-tally.sums.score[0][0] / tally.sums.weight)
    expected = float(Expected(tally).means().geometric_accuracy)
    without_rows = not_measurable(Reason.WITHOUT_ROWS)
    fields = {
        "p": together,
        "level": LevelTest(level, classes),
        "confidence": ConfidenceTest(confidence, direction, expected, realised),
        "method": METHOD,
    }
    if together <= alpha:
        fields |= {"state": "found", "word": word_of("found", direction, bool(classes))}
    return Verdict(**{**vars(without_rows), **fields})
