"""The detector: evidence update by update, in a state of fixed size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from veracity.estimate.monitoring.alternatives import MoreClasses, TwoClasses
from veracity.estimate.monitoring.reference import Alternatives
from veracity.formulas.evalues import cumulative_sum, log_mixture, shiryaev_roberts
from veracity.records.monitoring import DAY, OVER, TOO_HIGH, TOO_LOW, UNDER, WEEK
from veracity.types import Floats, Ints

# Evidence at which the alarm is given: ten years of updates. Its mean of calibrated forecasts after n updates is n.
THRESHOLDS = {DAY: 3650.0, WEEK: 520.0}
MOSTLY = 0.9  # of the evidence that must support a word


@dataclass(frozen=True, eq=False)
class Detector:
    """(nulls, alternatives) each: ln R, the largest sum of log ratios with the update that began it, and their sum."""

    log_r: Floats
    best: Floats
    since: Ints
    total: Floats

    @classmethod
    def new(cls, alternatives: Alternatives) -> Detector:
        shape = (len(alternatives.nulls), len(alternatives.weights))
        return cls(np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape))

    def after(self, log_ratio: Floats, number: int) -> Detector:
        """Return the detector after update `number`, with the sum of its log ratios, divided by φ."""
        best, begins = cumulative_sum(self.best, log_ratio)
        since = np.where(begins, number, self.since)
        return Detector(shiryaev_roberts(self.log_r, log_ratio), best, since, self.total + log_ratio)

    def evidence(self, alternatives: Alternatives) -> float:
        """Return ln Σ w R, against the null maps that explain most."""
        return float(evidence(self.log_r, alternatives))

    def e_value(self, alternatives: Alternatives) -> float:
        """Return the logarithm of the e-value of all updates."""
        return float(evidence(self.total, alternatives))

    def explanation(self, alternatives: Alternatives) -> tuple[int, tuple[str, ...], int | None]:
        """Return the update with which the change began, words for it, and the class whose level changed."""
        null, each = alternatives.explaining(self.log_r), np.arange(self.log_r.shape[1])
        score = np.log(alternatives.weights) + self.best[null, each]
        share = np.exp(score - score.max())
        share /= share.sum()
        likeliest = int(score.argmax())
        level, slope = alternatives.effects.T
        words = {
            TOO_LOW: level > 0.0,
            TOO_HIGH: level < 0.0,
            OVER: slope < 1.0,
            UNDER: slope > 1.0,
        }
        directions = tuple(word for word, says in words.items() if share[says].sum() >= MOSTLY)
        changed = alternatives.class_of(likeliest) if isinstance(alternatives, MoreClasses) else None
        return int(self.since[null[likeliest], likeliest]), directions, changed


def evidence(logs: Floats, alternatives: Alternatives) -> Floats:
    """(…,) of logs (…, nulls, alternatives): those of the mixture against the null maps that explain most."""
    null = alternatives.explaining(logs)[..., None, :]
    return log_mixture(np.take_along_axis(logs, null, axis=-2)[..., 0, :], alternatives.weights)


def with_centre(alternatives: Alternatives, centre: float) -> Alternatives:
    """Return alternatives of two classes whose slopes turn about another place."""
    assert isinstance(alternatives, TwoClasses)
    return replace(alternatives, centre=np.full(len(alternatives.nulls), centre))
