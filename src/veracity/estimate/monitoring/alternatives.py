"""What could have changed: alternatives to calibrated forecasts, and how well they predict each update.

Calibrated means: as the reference recalibrates them. That recalibration is estimated, so several *null maps* around it
are kept beside each other, and each has its own alternatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from veracity.formulas.evalues import log_mixture
from veracity.types import Floats, Ints

LEAST = 1e-6  # smallest probability behind a log-odds: one unlikely outcome must not decide alone
ENTRIES = 1 << 20  # of cases × null maps × alternatives at a time

LEVELS, SLOPES = (-1.0, -0.5, -0.25, 0.25, 0.5, 1.0), (0.4, 0.6, 0.8, 1.25, 1.67, 2.5)
BOTH = tuple(product((-0.4, 0.4), (0.7, 1.4)))
# Two classes: log-odds m + a + b(x − m), as pairs (a, b).
TWO = np.array([*((a, 1.0) for a in LEVELS), *((0.0, b) for b in SLOPES), *BOTH])
POWERS, CLASS_LEVELS = (0.5, 0.7, 0.85, 1.18, 1.43, 2.0), (-1.0, -0.5, -0.25, 0.25, 0.5, 1.0)
MOST_CLASSES = 20  # that have a level of their own


def softplus(x: Floats) -> Floats:
    """Return ln(1 + e^x)."""
    return np.asarray(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """Alternatives of two classes. `nulls` (j, 2): log-odds a + b·x0 of the reference's recalibration; the first is it.

    centre  (j,) m of each: the mean log-odds, weighted by c(1 − c), about which slopes turn
    """

    nulls: Floats
    centre: Floats

    @property
    def weights(self) -> Floats:
        return np.full(len(TWO), 1.0 / len(TWO))

    @property
    def effects(self) -> Floats:
        """(alternatives, 2) what each says: change of the log-odds of the event, and slope."""
        return TWO

    def explaining(self, logs: Floats) -> Ints:
        """(…, alternatives) of logs (…, nulls, alternatives): the null map that explains most, the same for all."""
        null = log_mixture(logs, self.weights).argmin(axis=-1)
        return np.broadcast_to(null[..., None], (*null.shape, logs.shape[-1]))

    def expected(self, x0: Floats) -> Floats:
        """(n,) probability of the event by the reference."""
        from scipy.special import expit

        a, b = self.nulls[0]
        return np.asarray(expit(a + b * x0))

    def ratios(self, x0: Floats) -> tuple[Floats, Floats]:
        """(n, nulls, 1 + alternatives) ln q(0)/c(0), and how much larger ln q(1)/c(1) is.

        The first is that of the null map itself against the estimate.
        """
        x = self.nulls[:, 0] + self.nulls[:, 1] * x0[:, None]
        eta = (self.centre + TWO[:, [0]] + TWO[:, [1]] * (x[:, None, :] - self.centre)).transpose(0, 2, 1)
        none, estimate = softplus(x), x[:, [0]]
        own = (softplus(estimate) - none)[:, :, None], (x - estimate)[:, :, None]
        return np.dstack([own[0], none[:, :, None] - softplus(eta)]), np.dstack([own[1], eta - x[:, :, None]])

    def log_ratios(self, x0: Floats, y: Ints, count: Ints) -> Floats:
        """(nulls, 1 + alternatives) sum over cases of ln q(y)/c(y), the first that of the null map itself."""
        total = np.zeros((len(self.nulls), 1 + len(TWO)))
        step = max(1, ENTRIES // total.size)
        for i in range(0, len(x0), step):
            at = slice(i, i + step)
            none, more = self.ratios(x0[at])
            c = np.asarray(count[at], dtype=np.float64)
            total += np.einsum("i,ijt->jt", c, none) + np.einsum("i,ijt->jt", c * y[at], more)
        return total


@dataclass(frozen=True, eq=False)
class MoreClasses:
    """Alternatives of more classes. `nulls` (j, k + 1): ln c = a_1 … a_k + b ln p, normalised.

    frequent  classes that have alternatives of their own
    """

    nulls: Floats
    frequent: Ints

    @cached_property
    def effects(self) -> Floats:
        """(alternatives, 2) what each says: change of the log-probability of a class, and slope."""
        levels = [(a, 1.0) for _ in self.frequent for a in CLASS_LEVELS]
        return np.array([*((0.0, b) for b in POWERS), *levels])

    @property
    def weights(self) -> Floats:
        """Half on the slopes, half on the levels of classes."""
        levels = len(self.frequent) * len(CLASS_LEVELS)
        return np.concatenate([np.full(len(POWERS), 0.5 / len(POWERS)), np.full(levels, 0.5 / levels)])

    def explaining(self, logs: Floats) -> Ints:
        """(…, alternatives) of logs (…, nulls, alternatives): the null map that explains most of each.

        Several levels are off at once, and a null map moves one: 10 classes had 70 % false alarms a year otherwise.
        """
        return np.asarray(logs.argmin(axis=-2))

    def class_of(self, alternative: int) -> int | None:
        """Return the class whose level an alternative changes."""
        place = alternative - len(POWERS)
        return int(self.frequent[place // len(CLASS_LEVELS)]) if place >= 0 else None

    def log_null(self, logs: Floats, j: int = 0) -> Floats:
        """(n, k) ln c of a null map."""
        from scipy.special import log_softmax

        a, b = self.nulls[j, :-1], self.nulls[j, -1]
        return np.asarray(log_softmax(a + b * logs, axis=1))

    def expected(self, logs: Floats) -> Floats:
        """(n, k) probabilities by the reference."""
        return np.exp(self.log_null(logs))

    def log_ratios(self, logs: Floats, y: Ints, count: Ints) -> Floats:
        """(nulls, 1 + alternatives) sum over cases of ln q(y)/c(y), the first that of the null map itself."""
        total = np.zeros((len(self.nulls), 1 + len(self.weights)))
        step = max(1, ENTRIES // (logs.shape[1] * len(POWERS)))
        for i in range(0, len(y), step):
            at = slice(i, i + step)
            rows, c = np.arange(len(y[at])), np.asarray(count[at], dtype=np.float64)
            estimate = c @ self.log_null(logs[at])[rows, y[at]]
            for j in range(len(self.nulls)):
                log_c = self.log_null(logs[at], j)
                total[j, 0] += c @ log_c[rows, y[at]] - estimate
                total[j, 1:] += self._sums(log_c, y[at], c)
        return total

    def by_outcome(self, logs: Floats) -> Floats:
        """(n, k, nulls, 1 + alternatives) ln q(y)/c(y) of each row, whichever class comes."""
        from scipy.special import logsumexp

        n, k = logs.shape
        powers, levels = np.array(POWERS), np.array(CLASS_LEVELS)
        came = (np.arange(k)[:, None] == self.frequent)[:, :, None] * levels
        ratios, estimate = np.empty((n, k, len(self.nulls), 1 + len(self.weights))), self.log_null(logs)
        for j in range(len(self.nulls)):
            log_c = self.log_null(logs, j)
            slopes = (powers - 1.0) * log_c[:, :, None] - logsumexp(powers * log_c[:, :, None], axis=1)[:, None]
            chosen = np.log1p(np.exp(log_c[:, self.frequent, None]) * np.expm1(levels))
            levels_of = (came - chosen[:, None]).reshape(n, k, -1)
            ratios[:, :, j] = np.concatenate([(log_c - estimate)[:, :, None], slopes, levels_of], axis=2)
        return ratios

    def _sums(self, log_c: Floats, y: Ints, count: Floats) -> Floats:
        from scipy.special import logsumexp

        realised = log_c[np.arange(len(y)), y]
        slopes = [count @ ((b - 1.0) * realised - logsumexp(b * log_c, axis=1)) for b in POWERS]
        chosen = np.exp(log_c[:, self.frequent])
        happened = count @ (y[:, None] == self.frequent)
        levels = [a * happened - count @ np.log1p(chosen * np.expm1(a)) for a in CLASS_LEVELS]
        return np.concatenate([slopes, np.array(levels).T.ravel()])


def log_odds(p: Floats) -> Floats:
    """Return ln p/(1 − p), neither taken below 1e-6."""
    return np.asarray(np.log(np.maximum(p, LEAST)) - np.log(np.maximum(1.0 - p, LEAST)))


def logs_of(p: Floats) -> Floats:
    """Return ln p, none taken below ln 1e-6."""
    return np.asarray(np.log(np.maximum(p, LEAST)))
