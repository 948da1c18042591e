"""Intervals of the reported means: Hall's for r < 0, the delta method's above, and none where a few rows decide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.means.entries import AT, DIVISOR, ZERO, ProfileValues
from veracity.estimate.means.row_sums import power_moments
from veracity.estimate.means.scores import mean_and_error, zeros_reason
from veracity.formulas.intervals import hall, quantile
from veracity.kernels.result import LOWEST, R
from veracity.records.reading import DELTA, HALL, Reading
from veracity.types import Floats

SHORT, NONE = 1, 2  # how an interval of a mean with r < 0 can fail: too short, or undefined
ENOUGH = 1000  # cases, from which an interval that is a little too short is shown
COARSE_ABOVE = 2000  # cells of entries, before they are brought together for spread and skewness
ROUNDING = 1e-12  # 50 and 20 equal rows have exactly the shares at which intervals fail


@dataclass(frozen=True)
class ProfileWithIntervals(ProfileValues):
    """The reported risk profile with intervals (theory section 4.1b)."""

    @cached_property
    def coarse(self) -> tuple[Floats, Floats]:
        """Weights and mean logarithms of entries by cell, cells above 2^-14 brought together in larger ones.

        Spread and skewness do not need the fine cells; the lowest entries, which decide them, keep theirs.
        """
        e = self.entries
        if len(e.log) < COARSE_ABOVE:
            return e.weight, e.log
        weight, log = e.weight, e.log  # entries ascend
        place = coarse_places(log)
        first = np.flatnonzero(np.concatenate([[True], place[1:] != place[:-1]]))
        total = np.add.reduceat(weight, first)
        with np.errstate(invalid="ignore"):
            return total, np.add.reduceat(weight * log, first) / total

    @cached_property
    def relative_moments(self) -> tuple[Floats, Floats]:
        """Standard error ÷ mean, and skewness, of p^r (of ln p, not divided, for r = 0)."""
        weight, log = self.coarse
        share, n = weight / weight.sum(), self.tally.sums.n_eff
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            # The powers of p^(1/9), and of its inverse: the largest p^r, r < 0, becomes 1.
            down, up = (power_moments(np.exp(x / 9.0), share, ZERO) for x in (log.min() - log, log))
            of_log = power_moments(log, share, 1)
            mean, variance, cube = np.concatenate([down[:, ::-1], of_log, up], axis=1)
            skewness = cube / variance**1.5
            mean[ZERO] = 1.0
            error = np.sqrt(variance / (n - 1.0)) / mean if n > 1.0 + 1e-9 else np.full(len(R), np.nan)
        if self.tally.plan.limits == (0.0, 1.0):
            error[ZERO] = mean_and_error(self.tally.sums, 0)[1]  # that of the log loss, whose exponential it is
        return error, np.where(variance > 0.0, skewness, 0.0)

    @cached_property
    def tail(self) -> tuple[Floats, Floats]:
        """Share of Σ p^r that the lowest row holds, and the Hill index of p^r from the √n lowest, for r < 0."""
        return self.tail_at(R[:ZERO], self.log_values[:ZERO])

    def tail_at(self, r: Floats, log_values: Floats) -> tuple[Floats, Floats]:
        """Return share and index for these r < 0, given ln P_r."""
        e, s = self.entries, self.tally.sums
        lowest = math.isqrt(s.rows)
        rows, logs = e.rows[: lowest + 1], e.log[: lowest + 1]  # entries ascend
        before = rows.cumsum() - rows
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            next_log = logs[before.searchsorted(lowest, side="right") - 1]
            cells = slice(before.searchsorted(lowest))  # cells that hold the lowest
            last, grid = cells.stop - 1, self.tally.grid
            if grid.is_wide(int(e.cells[last])):  # entries of one cell are indistinguishable: take all below its end
                lowest = int(before[last] + rows[last])
                next_log = np.log(grid.edges[e.cells[last] + 1])
            within = np.minimum(lowest - before[cells], rows[cells])
            spacing = next_log - float((within * logs[cells]).sum()) / max(lowest, 1)
            index = -1.0 / (r * spacing) if spacing > 0.0 else np.full(len(r), np.inf)
            # The row that weighs most is among the lowest cells; with weights it need not be the lowest.
            log = e.log[:LOWEST].copy()
            if self.tally.plan.limits[0] == 0.0 and grid.is_wide(int(e.cells[0])):
                log[0] = np.log(self.tally.lowest[0].p)  # far below the mean of its cell
            row = np.log(e.weight[:LOWEST] / e.rows[:LOWEST])[:, None] + r * log[:, None]
            share = np.exp(row - r * log_values).max(axis=0) / s.weight
        return share, index

    @cached_property
    def failures(self) -> NDArray[np.int64]:
        """For each r: 0, SHORT or NONE."""
        codes = np.zeros(len(R), dtype=np.int64)
        codes[:ZERO] = failures_of(*self.tail)
        return codes

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals; NaN for a mean without an interval."""
        level, n = self.tally.plan.level, self.tally.sums.n_eff
        error, skewness = self.relative_moments
        nothing = (self.failures == NONE) | ~np.isfinite(error) | (self.values == 0.0)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            half = quantile(level) * error
            reach = half / np.abs(DIVISOR)
            spread = np.array([1.0 - reach, 1.0 + reach])
            spread[:, ZERO] = np.exp(-half[ZERO]), np.exp(half[ZERO])
            # For r < 0 the mean of p^r lies above one, and a larger mean is a smaller P.
            below, above = hall(error[:ZERO], skewness[:ZERO], n, level)
            mean = np.exp(R[:ZERO] * self.log_values[:ZERO])
            ends = np.array([mean * (1.0 + above), np.maximum(mean * (1.0 - below), 1.0)])
            limits = self.values * spread
            limits[:, :ZERO] = ends ** (1.0 / R[:ZERO])
        low, high = np.where(nothing, np.nan, np.minimum(np.maximum(limits, 0.0), 1.0))
        return low, high

    def reading(self, name: str) -> Reading:
        """Return one of the three means."""
        return self.reading_at(AT[name])

    def reading_at(self, at: int) -> Reading:
        """Return the mean at one of the r of the grid."""
        value, low, high = float(self.values[at]), float(self.limits[0][at]), float(self.limits[1][at])
        return self.described(value, low, high, int(self.failures[at]), negative=bool(R[at] < 0.0))

    def described(self, value: float, low: float, high: float, failure: int, *, negative: bool) -> Reading:
        """Return a mean with its interval, or with the reason why it has none."""
        if failure == SHORT and self.tally.sums.n_eff < ENOUGH and value > 0.0:
            return Reading(value, reason=f"a few rows decide it: no interval holds below {ENOUGH:,} cases")
        if math.isfinite(low) and math.isfinite(high):
            return Reading(value, low, high, HALL if negative else DELTA)
        if self.tally.sums.zeros and value == 0.0:
            return Reading(value, reason=zeros_reason(self.tally.sums))
        few = self.tally.sums.n_eff <= 1.0 + 1e-9
        return Reading(value, reason="too few rows for an interval" if few else "a few rows decide it: no interval")


def coarse_places(log: Floats) -> Floats:
    """Return a number for each ascending logarithm, equal for those that may be merged: none below −10."""
    return np.where(log < -10.0, np.arange(len(log)) - len(log), np.floor(log * 64.0) + 1000.0)


def failures_of(share: Floats, index: Floats) -> NDArray[np.int64]:
    """Return 0, SHORT or NONE for the share of the lowest row and the Hill index of the tail."""
    codes = np.zeros(len(share), dtype=np.int64)
    codes[(index <= 2.0) | (share >= 0.02 - ROUNDING)] = SHORT
    codes[(index <= 1.5) | (share > 0.05 + ROUNDING)] = NONE
    return codes
