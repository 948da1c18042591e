"""Findings about the whole set: what a reader must know before the numbers."""

from __future__ import annotations

import numpy as np

from veracity.estimate.means.entries import Entries
from veracity.kernels.result import MANY
from veracity.records import findings_of_input as of_input
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding, first_rows
from veracity.records.sections import Scores
from veracity.state.tally import Tally

SURPRISES, SURPRISES_SHARE = 5, 0.1  # the largest ones, and their share of the log loss before it is a finding
FEW_EVENTS, FEW_IN_BINS = 20, 5
CHANCE, FEWEST_TO_RANK, FEWEST_EVENTS = 0.4, 50, 10  # an area under the ROC curve so low in so many rows is no chance


def findings(tally: Tally, scores: Scores, entries: Entries) -> tuple[Finding, ...]:
    """Return what the whole set shows: zeros, one outcome, one forecast, few events, heavy surprises."""
    s, notes = tally.sums, list(tally.findings)
    if s.zeros:
        zeros = [low.row for low in tally.lowest if low.p == 0.0]
        notes.insert(0, of_input.ZeroProbability(s.zeros, max(tally.cases, s.zeros), first_rows(zeros)))
    if s.rows == 1:
        notes.append(of_results.OneRow(1))
    if tally.measurable and s.rows > 1:
        notes += _of_outcomes(tally)
        notes += _of_forecasts(tally, scores)
        if tally.plan.bins != "auto" and s.rows < FEW_IN_BINS * int(tally.plan.bins):
            notes.append(of_results.ManyBins(s.rows, bins=int(tally.plan.bins)))
        if s.n_eff < 1.0 + 1e-9:
            notes.append(of_results.OneWeight(1))
    return (*notes, *_surprises(tally, entries))


def _of_outcomes(tally: Tally) -> list[Finding]:
    """Return the finding that there is only one outcome, or that the rarer of two is rare."""
    s = tally.sums
    seen = [j for j, weight in enumerate(s.by_class[:, 0].tolist()) if weight > 0.0]
    if len(seen) == 1:
        return [of_input.OneOutcome(s.rows, s.rows, outcome=str(tally.classes[seen[0]]))]
    if tally.k != 2 or tally.shares_only:
        return []
    events = [int(h.true.sum()) for h in tally.classwise]
    rarer = str(tally.classes[int(np.argmin(events))])
    return [of_results.FewEvents(min(events), outcome=rarer)] if min(events) < FEW_EVENTS else []


def _of_forecasts(tally: Tally, scores: Scores) -> list[Finding]:
    """Return findings about forecasts that are worse than chance, certain, or all the same."""
    s, notes = tally.sums, list[Finding]()
    auc, picks = scores.auc, scores.accuracy
    assert picks is not None
    if tally.k > 2 and s.rows >= FEWEST_TO_RANK and picks.high is not None and picks.high < 1.0 / tally.k:
        notes.append(of_results.PicksBelowChance(s.rows, s.rows, share=float(picks), chance=1.0 / tally.k))
    if s.rows >= FEW_EVENTS and _only_certain(tally):
        notes.append(of_results.OnlyCertain(s.rows, s.rows))
    if auc is not None and auc.low is not None and auc.high is not None and _many_of_each(tally):
        if tally.picks_only and CHANCE < auc.low <= auc.high < 1.0 - CHANCE:
            notes.append(of_results.UninformativeConfidence(s.rows, s.rows, auc=float(auc)))
        if auc < CHANCE and auc.high < 0.5:
            option = tally.names.option("positive", tally.classes[0])
            notes.append(of_results.WorseThanChance(s.rows, s.rows, option=option))
    if _constant(tally):
        notes.append(of_input.ConstantForecast(s.rows, s.rows))
    return notes


def _many_of_each(tally: Tally) -> bool:
    """Return whether there are cases enough of every class to judge their ranking."""
    enough = tally.sums.rows >= FEWEST_TO_RANK
    return enough and min(int(h.true.sum()) for h in tally.classwise) >= FEWEST_EVENTS


def _surprises(tally: Tally, entries: Entries) -> list[Finding]:
    """Return the finding that a few outcomes bear much of the log loss."""
    s = tally.sums
    if not s.zeros and s.rows >= 50:
        total, worst, wanted = float(s.score[0, 0]), 0.0, SURPRISES
        for cases, logs in zip(entries.rows[:SURPRISES].tolist(), entries.sums[1][:SURPRISES].tolist(), strict=True):
            worst -= logs * min(cases, wanted) / cases  # of the lowest cells, as many cases as are wanted
            wanted -= min(cases, wanted)
        share = worst / total if total > 0.0 else 0.0
        if share > SURPRISES_SHARE * (1.0 + 1e-9):  # equal shares of 50 cases are no surprise, whatever rounding says
            rows = [low.row for low in tally.lowest[:SURPRISES]]
            return [of_results.Surprises(SURPRISES, rows=tuple(rows), share=share)]
    return []


def _only_certain(tally: Tally) -> bool:
    """Return whether every entry is 0 or 1."""
    cells = tally.pooled.cells
    return len(cells) <= 2 and set(cells.tolist()) <= {0, len(tally.grid) - 1}


def _constant(tally: Tally) -> bool:
    """Return whether all forecasts are the same; with many classes pooled cells tell, class-wise ones are too wide."""
    if not all(len(h.cells) == 1 for h in tally.classwise) or len(tally.pooled.cells) > tally.k:
        return False
    return tally.k <= MANY or not (tally.pooled.all % tally.sums.rows).any()
