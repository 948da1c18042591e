"""Tallies without rows: counted in cells, by a database or for others who must not see the cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.inputs import Forecasts
from veracity.kernels import Histogram
from veracity.kernels.result import MANY
from veracity.state.analysis_rows import AnalysisRows
from veracity.state.plan import Plan
from veracity.state.tally import Tally
from veracity.types import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Cases of two classes by cell of the grid and outcome: each entry lies in one cell.

    count       cases; `event`: whether the event happened
    total       Σp of the event, `square` Σp²
    log         Σ ln of the probability given to the outcome, over cases in which it was not 0
    low, high   the smallest and the largest p, between which the mean lies whatever sums are rounded to
    """

    event: Array
    count: Ints
    total: Floats
    square: Floats
    log: Floats
    low: Floats
    high: Floats


def tally_of_cells(cells: CellCounts, classes: Sequence[Any], plan: Plan | None = None) -> Tally:
    """Return the tally of counted cells; log loss and Brier score are exact, what needs rows uses the cells."""
    plan = plan or Plan()
    some = cells.count > 0
    event, count = np.asarray(cells.event[some], dtype=np.int64), np.asarray(cells.count[some], dtype=np.int64)
    total, square, log = (np.asarray(x[some], dtype=np.float64) for x in (cells.total, cells.square, cells.log))
    if not count.sum():
        return Tally.zero(classes, plan)
    p = np.clip(total / count, cells.low[some], cells.high[some])
    whole = Tally.of(Forecasts(p, event, tuple(classes), counts=count), plan=plan)
    brier = 2.0 * np.where(event == 1, count - 2.0 * total + square, square)
    score, by_class = whole.sums.score.copy(), whole.sums.by_class.copy()
    score[0, :2], score[1, :2] = -log.sum(), brier.sum()
    for y in (0, 1):
        own = event == y
        by_class[y, 2:4], by_class[y, 4:6] = -log[own].sum(), brier[own].sum()
    column = np.array([float((count - total).sum()), float(total.sum())])
    return _rowless(replace(whole, sums=replace(whole.sums, score=score, by_class=by_class, column=column)))


def _rowless(tally: Tally) -> Tally:
    empty = Forecasts(
        np.zeros(0 if tally.k == 2 else (0, tally.k)),
        np.zeros(0, np.int64),
        tally.classes,
        counts=np.zeros(0, np.int64),
    )
    empty = replace(empty, picks_only=tally.picks_only, shares_only=tally.shares_only)
    return replace(
        tally, lowest=(), analysis=AnalysisRows(empty, False, None if tally.k == 2 else 0), by_key=None, groups={}
    )


def without_rows(tally: Tally, at_least: int) -> Tally:
    """Return a tally with cells of at least so many cases and no row, key, group or lowest row."""
    if not tally.measurable:
        raise ValueError("only the probability of the outcome is known: there are no cells of forecasts")
    if tally.sums.rows < at_least:
        raise ValueError(
            f"{tally.sums.rows} cases are fewer than the {at_least} of one cell\n  send no tally of so few"
        )
    findings = tuple(replace(finding, rows=()) for finding in tally.findings)
    if any(h.all_weight is not None for h in tally.classwise):
        raise ValueError("cells of weighted cases are not made\n  leave the weights out, or use counts")
    outcomes = tally.sums.by_class[:, 0]
    for name, n in zip(tally.classes, outcomes, strict=True):
        if 0.0 < n < at_least:  # the sums of its losses would tell those of its cases
            raise ValueError(
                f"{name} happened in {n:.0f} cases, fewer than the {at_least} of one cell: their sums would tell them\n"
                "  merge with further days or sites first, or choose a smaller number"
            )
    if tally.k > 2:
        wide = tally.grid.edges if tally.k <= MANY else tally.grid.nested_edges
        pooled, top = (_coarser(h, tally.grid.edges, at_least) for h in (tally.pooled, tally.top))
        classwise = tuple(_coarser(h, wide, at_least) for h in tally.classwise)
        return _rowless(replace(tally, pooled=pooled, top=top, classwise=classwise, findings=findings))
    h = tally.classwise[1]
    place = _joined(h.all, at_least)
    count, true = (np.bincount(place, x).astype(np.int64) for x in (h.all, h.true))
    total = np.bincount(place, h.all_sum)
    mean = total / count
    cells = CellCounts(
        event=np.repeat([1, 0], len(count)),
        count=np.concatenate([true, count - true]),
        total=np.concatenate([mean * true, mean * (count - true)]),
        square=np.concatenate([mean**2 * true, mean**2 * (count - true)]),
        log=np.zeros(2 * len(count)),
        low=np.zeros(2 * len(count)),
        high=np.ones(2 * len(count)),
    )
    cell_tally = tally_of_cells(cells, tally.classes, tally.plan)
    return replace(_rowless(cell_tally), sums=tally.sums, findings=findings, cases=tally.cases, names=tally.names)


def _coarser(h: Histogram, edges: Floats, at_least: int) -> Histogram:
    """Return a histogram with small cells joined, and true entries at the mean of their cell."""
    if not len(h.cells):
        return h
    place = _joined(h.all, at_least)
    first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    last = np.append(first[1:], len(place)) - 1
    count, true, total = (np.add.reduceat(x, first) for x in (h.all, h.true, h.all_sum))
    mean = total / count
    cells = np.clip(np.searchsorted(edges, mean, side="right") - 1, h.cells[first], h.cells[last])
    logs = np.log(np.where(mean > 0.0, mean, 1.0))
    powers = np.where(mean > 0.0, mean, 1.0) ** (-2.0 / 3.0) * (mean > 0.0)
    sums = {"true_sum": true * mean, "true_log": true * logs, "true_power": true * powers}
    kept = {name: values for name, values in sums.items() if getattr(h, name) is not None}
    return Histogram(cells.astype(np.int32), count, true, total, **kept)


def _joined(count: Ints, at_least: int) -> Ints:
    """Return (cells,) the number of the group of each cell: neighbours, joined until a group has enough cases."""
    place, number, total = np.zeros(len(count), np.int64), 0, 0
    for i, n in enumerate(count.tolist()):
        place[i] = number
        total += n
        if total >= at_least:
            number, total = number + 1, 0
    if total and number:  # what is left at the end joins the last group
        place[place == number] = number - 1
    return place
