"""The detector: evidence update by update, in a state of fixed size."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from veracity.estimate.monitoring.alternatives import MoreClasses, TwoClasses
from veracity.estimate.monitoring.reference import Alternatives
from veracity.formulas.evalues import cumulative_sum, log_mixture, log_sum, shiryaev_roberts
from veracity.records.monitoring import DAY, OVER, TOO_HIGH, TOO_LOW, UNDER, WEEK
from veracity.types import Floats, Ints

# Evidence at which the alarm is given: ten years of updates. Its mean of calibrated forecasts after n updates is n.
THRESHOLDS = {DAY: 3650.0, WEEK: 520.0}
# R before the first update, as a share of the threshold (Moustakides, Polunchenko and Tartakovsky 2011): at most 2 % of
# false alarms, once, for a change between the reference and the first update, which is likelier than on any later day.
AHEAD = 0.02
MOSTLY = 0.9  # of the evidence that must support a word


@dataclass(frozen=True, eq=False)
class Detector:
    """(…, variances, nulls, alternatives) each: ln R, the largest sum of log ratios with the update that began it.

    total  their sum over all updates
    fit    (…, variances, nulls) ln of how likely each makes all updates, if nothing changes
    Leading axes are series beside each other.
    """

    log_r: Floats
    best: Floats
    since: Ints
    total: Floats
    fit: Floats

    @classmethod
    def new(cls, alternatives: Alternatives, weights: Floats, updates: str, series: tuple[int, ...] = ()) -> Detector:
        """Return the detector before the first update, with the weights of the variances."""
        fit = np.broadcast_to(np.log(weights)[:, None], (*series, len(weights), len(alternatives.nulls)))
        shape = (*fit.shape, len(alternatives.weights))
        ahead = np.full(shape, math.log(AHEAD * THRESHOLDS[updates]))
        return cls(ahead, np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape), fit)

    def after(self, log_ratios: Floats, phi: Floats, likelihood: Floats, number: int) -> Detector:
        """Return the detector after update `number`.

        log_ratios  (…, nulls, 1 + alternatives) their sums over its cases; `phi`, `likelihood` (…, variances) of it
        """
        ratios = log_ratios[..., None, :, :] / phi[..., None, None]
        fit = self.fit + likelihood[..., None] + ratios[..., 0]
        ratio = ratios[..., 1:]
        best, begins = cumulative_sum(self.best, ratio)
        since = np.where(begins, number, self.since)
        return Detector(shiryaev_roberts(self.log_r, ratio), best, since, self.total + ratio, fit)

    def evidence(self, alternatives: Alternatives) -> Floats:
        """(…,) ln Σ w R, against the null maps that explain most."""
        return self._against_the_best(self.log_r, alternatives)

    def e_value(self, alternatives: Alternatives) -> Floats:
        """(…,) the logarithm of the e-value of all updates."""
        return self._against_the_best(self.total, alternatives)

    def _by_null(self, logs: Floats) -> Floats:
        """(…, nulls, alternatives): the mean over the variances, each as likely as the updates so far make it."""
        joint, fit = log_sum(self.fit[..., None] + logs, axis=-3), log_sum(self.fit, axis=-2)
        return joint - fit[..., None]

    def _against_the_best(self, logs: Floats, alternatives: Alternatives) -> Floats:
        by_null = self._by_null(logs)
        null = alternatives.explaining(by_null)[..., None, :]
        return log_mixture(np.take_along_axis(by_null, null, axis=-2)[..., 0, :], alternatives.weights)

    def explanation(self, alternatives: Alternatives) -> tuple[int, tuple[str, ...], int | None]:
        """Return the update with which the change began, words for it, and the class whose level changed."""
        null, each = alternatives.explaining(self._by_null(self.log_r)), np.arange(self.log_r.shape[-1])
        variance = (self.fit[..., None] + self.log_r)[:, null, each].argmax(axis=0)
        score = np.log(alternatives.weights) + self.best[variance, null, each]
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
        return int(self.since[variance, null, each][likeliest]), directions, changed


def with_centre(alternatives: Alternatives, centre: float) -> Alternatives:
    """Return alternatives of two classes whose slopes turn about another place."""
    assert isinstance(alternatives, TwoClasses)
    return replace(alternatives, centre=np.full(len(alternatives.nulls), centre))
