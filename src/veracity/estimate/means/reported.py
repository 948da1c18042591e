"""Reported means: generalized means of the probability given to the outcome, with their findings and floors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.means.entries import AT, MEANS, Entries, cell_of, floored_sums, means_of
from veracity.estimate.means.intervals import ENOUGH, NONE, SHORT, ProfileWithIntervals
from veracity.kernels.grid import Grid
from veracity.kernels.result import LOWEST
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.records.papers import FloorMeans
from veracity.records.reading import Reading
from veracity.records.sections import Means
from veracity.state.lowest_rows import Low
from veracity.state.plan import FLOORS

NOT_MEASURABLE = "only the probability of the outcome is given, so it cannot be compared with frequencies"
NAMED = 5  # of the lowest rows, where more decide a mean
MOSTLY = 0.5  # rows decide a mean when they make up half of its power sum


@dataclass(frozen=True)
class Profile(ProfileWithIntervals):
    """The reported means: values, intervals, floors, and findings about the rows that decide them."""

    def means(self) -> Means:
        """Return the three reported means with their intervals."""
        return three(self.reading, self.findings())

    def findings(self) -> tuple[Finding, ...]:
        """Return findings about the rows that decide robustness, and whether its interval can be trusted."""
        findings: list[Finding] = []
        at = AT["robustness"]
        value = float(self.values[at])
        if self.values[at] > 0.0 and self.failures[at] == SHORT and self.tally.sums.n_eff >= ENOUGH:
            findings.append(of_results.ShortInterval())
        none = self.values[at] > 0.0 and self.failures[at] == NONE
        decides = self.deciding_rows() if none else None
        if none and decides is None and len(self.tally.lowest) > 1:
            rows = tuple(low.row for low in self.tally.lowest[:NAMED])
            floored = float(self.floors[FLOORS.index(0.005)].robustness)
            cases = min(NAMED, sum(low.cases for low in self.tally.lowest))
            findings.append(of_results.HeavyTail(cases, rows=rows, value=value, floored=floored))
        if decides is not None and f"{decides[2]:.3g}" != f"{self.values[at]:.3g}":
            cases, rows, without = decides
            findings.append(of_results.RowsDecide(cases, rows=rows, value=value, without=without))
        return tuple(findings)

    @cached_property
    def floors(self) -> tuple[FloorMeans, ...]:
        """The three means at each floor (CQ Table 2)."""
        tally = self.tally
        e = self.entries if tally.plan.limits == (0.0, 1.0) else Entries.of(tally.pooled, tally.grid)
        first = e.cells.searchsorted(_cells(tally.grid, FLOORS)).tolist()
        above = np.array([e.sums[:, i:].sum(axis=1) for i in first]).T
        below = np.array([e.weight[:i].sum() for i in first])
        with np.errstate(invalid="ignore"):
            sums = above + np.where(below > 0.0, below * floored_sums(FLOORS), 0.0)
        means = dict(zip(MEANS, means_of(sums / e.weight.sum()), strict=True))
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


def three(reading: Callable[[str], Reading], findings: tuple[Finding, ...] = ()) -> Means:
    """Return the record of the three means, each by its name."""
    return Means(reading("decisiveness"), reading("geometric_accuracy"), reading("robustness"), findings)


@lru_cache(maxsize=64)
def _cells(grid: Grid, levels: tuple[float, ...]) -> NDArray[np.int64]:
    return np.array([cell_of(grid, level) for level in levels])
