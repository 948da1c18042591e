"""The generalized mean at any r: reported, expected and measured side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veracity.estimate.means.intervals import NONE, failures_of
from veracity.estimate.means.reported import Profile
from veracity.estimate.means.row_sums import log_power_mean
from veracity.formulas.intervals import hall, quantile
from veracity.kernels.result import R
from veracity.records.reading import Reading

ON_GRID = 1e-12


@dataclass(frozen=True)
class ReportedAt:
    """The reported mean at one r, with the interval that it would have on the risk profile."""

    profile: Profile
    r: float

    def reading(self) -> Reading:
        """Return the mean: that of the risk profile where r is on its grid, elsewhere from the moments of cells."""
        at = np.flatnonzero(np.abs(R - self.r) < ON_GRID)
        if len(at):
            return self.profile.reading_at(int(at[0]))
        log_value = self._log_value()
        value = math.exp(log_value)
        if value == 0.0:
            return self.profile.described(0.0, math.nan, math.nan, 0, negative=True)
        low, high, failure = self._limits(log_value)
        return self.profile.described(value, low, high, failure, negative=self.r < 0.0)

    def _log_value(self) -> float:
        entries = self.profile.entries
        return log_power_mean(entries.weight, entries.sums, self.r)

    def _limits(self, log_value: float) -> tuple[float, float, int]:
        """Return the ends of the interval, NaN without one, and why it may be short or missing."""
        tally, r = self.profile.tally, self.r
        n, level, value = tally.sums.n_eff, tally.plan.level, math.exp(log_value)
        weight, log = self.profile.coarse
        share, failure = weight / weight.sum(), 0
        if r < 0.0:
            failure = int(failures_of(*self.profile.tail_at(np.array([r]), np.array([log_value])))[0])
        t = np.exp(r * (log - (log.min() if r < 0.0 else log.max())))
        mean = share @ t
        variance = share @ (t - mean) ** 2
        if failure == NONE or n <= 1.0 + 1e-9 or not np.isfinite(mean):
            return math.nan, math.nan, failure
        error = math.sqrt(variance / (n - 1.0)) / mean
        if r > 0.0:
            reach = quantile(level) * error / r
            return max(value * (1.0 - reach), 0.0), min(value * (1.0 + reach), 1.0), failure
        skewness = share @ (t - mean) ** 3 / variance**1.5 if variance > 0.0 else 0.0
        below, above = (float(x[0]) for x in hall(np.array([error]), np.array([skewness]), n, level))
        power = math.exp(r * log_value)
        ends = (power * (1.0 + above)) ** (1.0 / r), max(power * (1.0 - below), 1.0) ** (1.0 / r)
        return max(ends[0], 0.0), min(ends[1], 1.0), failure
