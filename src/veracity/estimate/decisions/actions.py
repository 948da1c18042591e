"""Who would have acted: shares of events and other cases between thresholds, with their covariance.

Everything that a threshold decides is a sum of two numbers per range of forecasts: one for events, one for the others.
The sums come from the histogram of the class, so that all cases count; their covariance too where cases are
independent, else from the analysis rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from veracity.estimate.calibration.reliability import class_grid
from veracity.estimate.decisions.spread import Dependence, errors, half
from veracity.inputs import Forecasts
from veracity.kernels.grid import Grid
from veracity.records.reading import DELTA, Reading, undefined
from veracity.state.tally import PERCENTS, Tally
from veracity.types import Array, Floats

FEWEST_ACTING = 10  # cases on either side of a threshold, for an interval


@dataclass(frozen=True, eq=False)
class Actions:
    """One class against the rest at thresholds.

    start       (thresholds, 2) first range of forecasts at or above each threshold, and above it
    sums        (2, ranges) weight of the events and of the other cases in each range of forecasts
    cases       (2, ranges) their number
    covariance  (2·ranges, 2·ranges) of the sums less their share of the weight of each case
    effective   number of cases of equal weight that tell as much
    """

    thresholds: Floats
    start: Array
    sums: Floats
    cases: Floats
    covariance: Floats
    df: float
    level: float
    seed: int
    method: str
    effective: float
    reason: str | None = None

    @property
    def weight(self) -> float:
        return float(self.sums.sum())

    @property
    def prevalence(self) -> float:
        return float(self.sums[0].sum() / self.weight)

    def shares(self, above: bool = False) -> tuple[Floats, Floats]:
        """Return the shares of all cases that are hits and false alarms of acting at (or only above) each threshold."""
        after = np.zeros((2, self.sums.shape[1] + 1))
        after[:, :-1] = np.cumsum(self.sums[:, ::-1], axis=1)[:, ::-1]
        hits, alarms = after[:, self.start[:, int(above)]] / self.weight
        return hits, alarms

    def acting(self, above: bool = False) -> Floats:
        """(thresholds, ranges) whether forecasts of a range lead to action."""
        return (np.arange(self.sums.shape[1]) >= self.start[:, int(above), None]).astype(np.float64)

    def acted(self) -> Floats:
        """(thresholds,) number of cases at or above each threshold."""
        return np.asarray(self.acting() @ self.cases.sum(axis=0))

    def means(self, events: Floats, others: Floats) -> tuple[Floats, Floats]:
        """Return means of what each range is worth, (m, ranges) for events and for the other cases; and covariance."""
        worth = np.concatenate(np.broadcast_arrays(events, others), axis=1)
        value = worth @ self.sums.ravel() / self.weight
        return value, worth @ self.covariance @ worth.T / self.weight**2

    def readings(self, events: Floats, others: Floats, enough: Array | None = None) -> list[Reading]:
        """Return such means with their intervals; without where `enough` says that too few cases are on a side."""
        value, covariance = self.means(events, others)
        return self.around(value, errors(covariance), enough)

    def around(self, value: Floats, error: Floats, enough: Array | None = None) -> list[Reading]:
        z = 0.0 if self.reason else half(self.level, self.df)
        readings = []
        for i, (x, e) in enumerate(zip(value.tolist(), error.tolist(), strict=True)):
            if not np.isfinite(x):
                readings.append(undefined("no such cases"))
            elif self.reason:
                readings.append(Reading(x, reason=self.reason))
            elif enough is not None and not enough[i]:
                readings.append(Reading(x, reason=f"fewer than {FEWEST_ACTING} cases on one side of the threshold"))
            else:
                readings.append(Reading(x, x - z * e, x + z * e, f"{DELTA}, {self.method}"))
        return readings


def places(grid: Grid, wanted: Floats) -> tuple[Floats, Array]:
    """Return thresholds and the first cells at and above each: atoms of cuts, and otherwise the nearest edge."""
    edges = grid.edges
    thresholds: list[float] = []
    cells: list[tuple[int, int]] = []
    for c in wanted.tolist():
        at = int(np.searchsorted(edges, c, side="right")) - 1
        atom = c in grid.cuts and at + 1 < len(edges) and edges[at + 1] - edges[at] <= 2.0**-20 * c
        if atom:
            thresholds.append(c)
            cells.append((at, at + 1))
            continue
        at += int(at + 1 < len(edges) and edges[at + 1] - c < c - edges[at])
        thresholds.append(float(edges[at]))
        cells.append((at, at))
    first = np.unique(thresholds, return_index=True)[1]
    return np.array(thresholds)[first], np.array(cells)[first]


def actions(tally: Tally, label: int) -> Actions:
    """Return who would have acted on the forecasts of a class, at every percent and at the plan's thresholds."""
    h, grid, plan = tally.classwise[label], class_grid(tally), tally.plan
    thresholds, start = places(grid, np.array(sorted({*PERCENTS, *plan.action_thresholds})))
    inside = (thresholds > 0.0) & (thresholds < 1.0)
    thresholds, start = thresholds[inside], start[inside]
    bounds = np.unique(start)
    range_of = np.searchsorted(bounds, h.cells, side="right")

    def by_range(every: Array, true: Array) -> Floats:
        parts = (np.asarray(x, dtype=np.float64) for x in (true, every - true))
        return np.array([np.bincount(range_of, weights=x, minlength=len(bounds) + 1) for x in parts])

    cases = by_range(h.all, h.true)
    weighted = h.all_weight is not None and h.true_weight is not None
    sums = by_range(h.all_weight, h.true_weight) if weighted else cases  # type: ignore[arg-type]
    rows = tally.rows
    dependence = Dependence.of(tally, rows) if not tally.on_cells else Dependence(rows.copies)
    ranges = np.searchsorted(bounds, start, side="right")
    core = {"thresholds": thresholds, "start": ranges, "sums": sums, "cases": cases, "df": dependence.df}
    core |= {"effective": tally.sums.n_eff, "level": plan.level, "seed": plan.random_state, "method": dependence.method}
    reason = "the number of cases is unknown: no intervals" if tally.shares_only else dependence.reason
    if dependence.key is None:
        squares = by_range(h.all_weight2, h.true_weight2) if weighted else cases  # type: ignore[arg-type]
        covariance = _independent(sums, squares)
    else:
        p = rows.matrix[:, label]
        covariance = _of_rows(rows, p, label, grid, bounds, dependence) * (sums.sum() / rows.mass.sum())
    return Actions(**core, covariance=covariance, reason=reason)  # type: ignore[arg-type]


def _independent(sums: Floats, squares: Floats) -> Floats:
    """Return the covariance of the sums of independent cases, from sums of squared weights."""
    z, q = sums.ravel() / sums.sum(), squares.ravel()
    effective = sums.sum() ** 2 / q.sum()
    small = effective / (effective - 1.0) if effective > 1.0 + 1e-9 else np.nan
    return np.asarray((np.diag(q) - np.outer(q, z) - np.outer(z, q) + q.sum() * np.outer(z, z)) * small)


def _of_rows(rows: Forecasts, p: Floats, label: int, grid: Grid, bounds: Array, dependence: Dependence) -> Floats:
    """Return the covariance of the sums of dependent rows."""
    cell = np.searchsorted(grid.edges, p, side="right") - 1
    ranges = len(bounds) + 1
    column = np.searchsorted(bounds, cell, side="right") + ranges * (rows.observed != label)
    n = len(rows)
    each = sparse.csr_matrix((rows.mass, (np.arange(n), column)), (n, 2 * ranges))
    mean = np.asarray(each.sum(axis=0)).ravel() / rows.mass.sum()
    assert dependence.key is not None
    weight = np.bincount(dependence.key, weights=rows.mass, minlength=dependence.number).astype(np.float64)
    return dependence.of_sums(dependence.by_key(each), weight, mean)
