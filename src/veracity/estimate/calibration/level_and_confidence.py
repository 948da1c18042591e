"""Level and confidence of more than two classes from cells alone: a tally that left its site without rows.

The frequency of each class is compared with its mean forecast, the share of right picks with their mean probability, by
z of independent cases with Holm's first step. Which class happens where another was given, and a recalibration, need
rows: without a deviation there is no verdict.
"""

from __future__ import annotations

import math

import numpy as np

from veracity.estimate.calibration.verdict import OVER, UNDER, not_measurable
from veracity.estimate.means.expected import Expected
from veracity.formulas.intervals import quantile
from veracity.kernels import Histogram
from veracity.records.sections import ClassLevel
from veracity.records.verdict import ConfidenceTest, LevelTest, Reason, Verdict
from veracity.state.tally import Tally
from veracity.words.verdict import word_of

METHOD = "level of each class and confidence of the pick, from cells"


def level_and_confidence(tally: Tally, alpha: float) -> Verdict:
    """Return the verdict of a tally without rows: found where level or confidence is wrong, else not measurable."""
    from scipy.special import erfc

    k = tally.k
    z = np.array([_z(h) for h in (*tally.classwise, tally.top)])
    each = erfc(np.abs(z) / math.sqrt(2.0))
    level, confidence = min(float(each[:k].min()) * k, 1.0), float(each[k])
    together = min(2.0 * min(level, confidence), 1.0)
    limit = quantile(1.0 - alpha / (2.0 * k))
    shares = list(zip(map(str, tally.classes), tally.mean_forecast, tally.frequencies, z, strict=False))
    classes = {name: ClassLevel(float(p), float(f), float(u)) for name, p, f, u in shares if abs(u) >= limit}
    direction = None if confidence > alpha / 2.0 else OVER if z[k] < 0.0 else UNDER
    realised = 0.0 if tally.sums.zeros else math.exp(-tally.sums.score[0][0] / tally.sums.weight)
    expected = float(Expected(tally).means().geometric_accuracy)
    found = not_measurable(Reason.WITHOUT_ROWS)
    said = {
        "p": together,
        "level": LevelTest(level, classes),
        "confidence": ConfidenceTest(confidence, direction, expected, realised),
        "method": METHOD,
    }
    if together <= alpha:
        said |= {"state": "found", "word": word_of("found", direction, bool(classes))}
    return Verdict(**{**vars(found), **said})


def _z(h: Histogram) -> float:
    """Return events less forecasts in standard errors: those of the forecasts, or of the cells where these vary more.

    Outcomes of forecasts that are too extreme vary by more than these say.
    """
    n, true = h.all.astype(np.float64), h.true.astype(np.float64)
    mean, share = h.all_sum / n, true / n
    own, seen = (float(n @ (x * (1.0 - x))) for x in (mean, share))
    variance = max(own, seen)
    return float((true - h.all_sum).sum() / math.sqrt(variance)) if variance > 0.0 else 0.0
