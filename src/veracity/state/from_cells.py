"""Tallies without rows: of two classes counted in cells, by a database or for others who must not see the cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.inputs import Forecasts
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
    empty = Forecasts(np.zeros(0), np.zeros(0, np.int64), tally.classes, counts=np.zeros(0, np.int64))
    empty = replace(empty, picks_only=tally.picks_only, shares_only=tally.shares_only)
    return replace(tally, lowest=(), analysis=AnalysisRows(empty, False), by_key=None, groups={})


def without_rows(tally: Tally, at_least: int) -> Tally:
    """Return a tally with cells of at least so many cases and no row, key, group or lowest row."""
    if not tally.measurable:
        raise ValueError("only the probability of the outcome is known: there are no cells of forecasts")
    if tally.sums.rows < at_least:
        raise ValueError(
            f"{tally.sums.rows} cases are fewer than the {at_least} of one cell\n  send no tally of so few"
        )
    findings = tuple(replace(finding, rows=()) for finding in tally.findings)
    if tally.k != 2:
        raise ValueError(
            f"{tally.k} classes: a tally without rows is made of two\n"
            "  one class against the rest:  --versus-rest LABEL; joint verdict and recalibration need rows"
        )
    h = tally.classwise[1]
    if h.all_weight is not None:
        raise ValueError("cells of weighted cases are not made\n  leave the weights out, or use counts")
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
    made = tally_of_cells(cells, tally.classes, tally.plan)
    return replace(_rowless(made), sums=tally.sums, findings=findings, cases=tally.cases, names=tally.names)


def _joined(count: Ints, at_least: int) -> Ints:
    """Return (cells,) the number of the group of each cell: neighbours, joined until a group has enough cases."""
    place, number, held = np.zeros(len(count), np.int64), 0, 0
    for i, n in enumerate(count.tolist()):
        place[i] = number
        held += n
        if held >= at_least:
            number, held = number + 1, 0
    if held and number:  # what is left at the end joins the last group
        place[place == number] = number - 1
    return place
