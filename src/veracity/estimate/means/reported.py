"""Reported means: generalized means of the probability given to the outcome, and the risk profile."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.means.row_sums import power_moments, true_cells
from veracity.estimate.means.scores import mean_and_error, zeros_reason
from veracity.formulas.intervals import hall, quantile
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.kernels.result import LOWEST, R
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.records.papers import FloorMeans
from veracity.records.reading import DELTA, HALL, Reading
from veracity.records.sections import Means
from veracity.state.low import Low
from veracity.state.plan import FLOORS
from veracity.state.tally import Tally
from veracity.types import Floats

MEANS = {"decisiveness": 1.0, "geometric_accuracy": 0.0, "robustness": -2.0 / 3.0}
AT = {name: int(np.argmin(np.abs(R - r))) for name, r in MEANS.items()}
ZERO = AT["geometric_accuracy"]  # r = 0, where formulas take logarithms; r < 0 before, r > 0 after
DIVISOR = np.where(R == 0.0, 1.0, R)
SIZE = np.abs(DIVISOR)
NOT_MEASURABLE = "only the probability of the outcome is given, so it cannot be compared with frequencies"
SHORT, NONE = 1, 2  # how an interval of a mean with r < 0 can fail: too short, or undefined
ENOUGH = 1000  # cases, from which an interval that is a little too short is shown
COARSE_ABOVE = 2000  # cells of entries, before they are brought together for spread and skewness
ROUNDING = 1e-12  # 50 and 20 equal rows have exactly the shares at which intervals fail
NAMED = 5  # of the lowest rows, where more decide a mean
MOSTLY = 0.5  # rows decide a mean when they make up half of its power sum


@dataclass(frozen=True)
class Entries:
    """Realised probabilities by cell, floored as the plan says: weights, and sums of p, ln p and p^(−2/3)."""

    cells: NDArray[np.int64]
    rows: NDArray[np.int64]
    weight: Floats
    log: Floats  # the mean logarithm
    sums: Floats  # (3, cells) Σw p, Σw ln p, Σw p^(−2/3)

    @classmethod
    def of(cls, h: Histogram, grid: Grid, floor: float = 0.0, ceiling: float = 1.0) -> Entries:
        (cells, rows), sums = true_cells(h)
        weight, sums = sums[0], sums[1:]
        if len(cells) and cells[0] == 0:
            sums[1:, 0] = -np.inf, np.inf
        if floor > 0.0:
            beyond = cells.searchsorted(_cell(grid, floor))
            sums[:, :beyond] = _floored((floor,)) * weight[:beyond]
        if ceiling < 1.0:
            beyond = cells.searchsorted(_cell(grid, ceiling), "right")
            sums[:, beyond:] = _floored((ceiling,)) * weight[beyond:]
        return cls(cells, rows, weight, sums[1] / weight, sums)

    def means(self) -> dict[str, float]:
        means = _means(self.sums.sum(axis=1) / self.weight.sum())
        return dict(zip(MEANS, map(float, means), strict=True))

    def profile(self) -> Floats:
        """Return ln P_r for all r, from cell means (to about 1e-7; exact sums are used where there is no floor)."""
        total = self.weight.sum()
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            terms = np.log(self.weight / total)[:, None] + np.where(R == 0.0, 0.0, self.log[:, None] * R)
            peak = np.max(np.where(np.isfinite(terms), terms, -np.inf), axis=0)
            powers = (peak + np.log(np.exp(terms - peak).sum(axis=0))) / DIVISOR
            powers = np.where((R < 0.0) & np.isinf(self.log).any(), -np.inf, powers)
            found: Floats = np.where(R == 0.0, self.weight @ self.log / total, powers)
        found[list(AT.values())] = np.log(np.maximum(list(self.means().values()), 0.0) + 0.0)
        return found


def coarse_places(log: Floats) -> Floats:
    """Return a number for each ascending logarithm, equal for those that may be merged: none below −10."""
    return np.where(log < -10.0, np.arange(len(log)) - len(log), np.floor(log * 64.0) + 1000.0)


@lru_cache(maxsize=64)
def _cell(grid: Grid, limit: float) -> int:
    return grid.atom(limit) if 0.0 < limit < 1.0 else (0 if limit <= 0.0 else len(grid.edges))


@dataclass(frozen=True)
class Profile:
    """The reported risk profile with intervals (theory section 4.1b)."""

    tally: Tally

    @cached_property
    def entries(self) -> Entries:
        floor, ceiling = self.tally.plan.limits
        return Entries.of(self.tally.pooled, self.tally.grid, floor, ceiling)

    @cached_property
    def log_values(self) -> Floats:
        """ln P_r."""
        s = self.tally.sums
        if self.tally.plan.limits != (0.0, 1.0):
            return self.entries.profile()
        values: Floats = (s.log_powers - math.log(s.weight)) / DIVISOR
        values[ZERO] = -s.score[0, 0] / s.weight
        if s.zeros:
            values[: ZERO + 1] = -np.inf
        return np.minimum(values, 0.0) if values.max() < 1e-9 else values

    @cached_property
    def values(self) -> Floats:
        return np.exp(self.log_values)

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
            held = slice(before.searchsorted(lowest))  # cells that hold the lowest
            last, grid = held.stop - 1, self.tally.grid
            if grid.is_wide(int(e.cells[last])):  # entries of one cell are indistinguishable: take all below its end
                lowest = int(before[last] + rows[last])
                next_log = np.log(grid.edges[e.cells[last] + 1])
            within = np.minimum(lowest - before[held], rows[held])
            spacing = next_log - float((within * logs[held]).sum()) / max(lowest, 1)
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
        found = np.zeros(len(R), dtype=np.int64)
        found[:ZERO] = failures_of(*self.tail)
        return found

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals; NaN for a mean without an interval."""
        level, n = self.tally.plan.level, self.tally.sums.n_eff
        error, skewness = self.relative_moments
        nothing = (self.failures == NONE) | ~np.isfinite(error) | (self.values == 0.0)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            half = quantile(level) * error
            reach = half / SIZE
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

    def means(self) -> Means:
        """Return the three reported means with their intervals."""
        return three(self.reading, self.findings())

    def findings(self) -> tuple[Finding, ...]:
        """Return findings about the rows that decide robustness, and whether its interval can be trusted."""
        found: list[Finding] = []
        at = AT["robustness"]
        value = float(self.values[at])
        if self.values[at] > 0.0 and self.failures[at] == SHORT and self.tally.sums.n_eff >= ENOUGH:
            found.append(of_results.ShortInterval())
        none = self.values[at] > 0.0 and self.failures[at] == NONE
        decides = self.deciding_rows() if none else None
        if none and decides is None and len(self.tally.lowest) > 1:
            rows = tuple(low.row for low in self.tally.lowest[:NAMED])
            floored = float(self.floors[FLOORS.index(0.005)].robustness)
            cases = min(NAMED, sum(low.cases for low in self.tally.lowest))
            found.append(of_results.HeavyTail(cases, rows=rows, value=value, floored=floored))
        if decides is not None and f"{decides[2]:.3g}" != f"{self.values[at]:.3g}":
            cases, rows, without = decides
            found.append(of_results.RowsDecide(cases, rows=rows, value=value, without=without))
        return tuple(found)

    @cached_property
    def floors(self) -> tuple[FloorMeans, ...]:
        """The three means at each floor (CQ Table 2)."""
        tally = self.tally
        e = self.entries if tally.plan.limits == (0.0, 1.0) else Entries.of(tally.pooled, tally.grid)
        first = e.cells.searchsorted(_cells(tally.grid, FLOORS)).tolist()
        above = np.array([e.sums[:, i:].sum(axis=1) for i in first]).T
        below = np.array([e.weight[:i].sum() for i in first])
        with np.errstate(invalid="ignore"):
            held = above + np.where(below > 0.0, below * _floored(FLOORS), 0.0)
        means = dict(zip(MEANS, _means(held / e.weight.sum()), strict=True))
        if e is self.entries:
            for name, at in AT.items():
                means[name][FLOORS.index(0.0)] = self.values[at]
        return tuple(map(FloorMeans, FLOORS, *(values.tolist() for values in means.values())))

    def deciding_rows(self) -> tuple[int, tuple[int, ...], float] | None:
        """Return the fewest cases that make up half of Σ p^(−2/3): how many, their rows, and robustness without them.

        None where they are more than the lowest rows kept, or the floor lifts them.
        """
        lowest = self.tally.lowest
        if not lowest or lowest[0].p == 0.0 or self.tally.plan.limits[0] > 0.0:
            return None
        power, weight = float(self.entries.sums[2].sum()), float(self.entries.weight.sum())
        if self.tally.pooled.all_weight is not None and len(lowest) == LOWEST:
            # Which of equal probabilities were kept depends on the order of rows, and their weights differ.
            lowest = tuple(low for low in lowest if low.p < lowest[-1].p)
        heaviest = sorted(lowest, key=lambda low: (-low.weight * low.p ** (-2.0 / 3.0), low.row))
        wanted, cases, gone = MOSTLY * power, 0, [0.0, 0.0]
        rows: list[int] = []
        for low in heaviest:
            each = low.weight * low.p ** (-2.0 / 3.0)
            needed = min(low.cases, math.ceil((wanted - gone[0]) / each - 1e-9))
            cases, rows = cases + needed, [*rows, low.row]
            gone = [gone[0] + needed * each, gone[1] + needed * low.weight]
            if gone[0] >= wanted * (1.0 - 1e-12):
                break
        left = weight - gone[1]
        if gone[0] < wanted * (1.0 - 1e-12) or cases > LOWEST or left <= 1e-9 * weight:
            return None
        rest = self._power_without(cases, heaviest)
        return (cases, tuple(rows), max(rest / left, 1.0) ** -1.5) if rest > 0.0 else None

    def _power_without(self, cases: int, heaviest: list[Low]) -> float:
        """Return Σ w p^(−2/3) without so many of the heaviest cases, summed anew for the sake of precision."""
        e = self.entries
        left = e.sums[2].copy()
        cells = e.cells.searchsorted(self.tally.grid.locate(np.array([low.p for low in heaviest])))
        for low, cell in zip(heaviest, cells.tolist(), strict=True):
            taken, cases = min(low.cases, cases), cases - min(low.cases, cases)
            left[cell] -= taken * low.weight * low.p ** (-2.0 / 3.0)
            if left[cell] < 1e-9 * e.sums[2][cell]:
                left[cell] = 0.0
        return float(left.sum())


def failures_of(share: Floats, index: Floats) -> NDArray[np.int64]:
    """Return 0, SHORT or NONE for the share of the lowest row and the Hill index of the tail."""
    found = np.zeros(len(share), dtype=np.int64)
    found[(index <= 2.0) | (share >= 0.02 - ROUNDING)] = SHORT
    found[(index <= 1.5) | (share > 0.05 + ROUNDING)] = NONE
    return found


def three(reading: Callable[[str], Reading], findings: tuple[Finding, ...] = ()) -> Means:
    """Return the record of the three means, each by its name."""
    return Means(reading("decisiveness"), reading("geometric_accuracy"), reading("robustness"), findings)


@lru_cache(maxsize=64)
def _cells(grid: Grid, levels: tuple[float, ...]) -> NDArray[np.int64]:
    return np.array([_cell(grid, level) for level in levels])


@lru_cache(maxsize=16)
def _floored(levels: tuple[float, ...]) -> Floats:
    """Return (3, levels): what an entry at the floor adds to the sums."""
    with np.errstate(divide="ignore"):
        return np.array([levels, np.log(levels), np.power(levels, -2.0 / 3.0)])


def _means(averages: Floats) -> tuple[Floats, Floats, Floats]:
    """Return decisiveness, accuracy and robustness from the averages of p, ln p and p^(−2/3)."""
    arithmetic, log, power = averages
    with np.errstate(divide="ignore"):
        return arithmetic, np.exp(log), power**-1.5
