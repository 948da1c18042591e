"""The verdict in plain words: what was ruled out and happened, the level, then the confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from veracity.data import Finding
from veracity.data.reading import Reading
from veracity.estimate.ladder import EXPLAINED
from veracity.estimate.scores import Entries
from veracity.estimate.verdict import MATCHED, Verdict
from veracity.state.plan import FLOORS
from veracity.state.tally import Tally

NAMED_ROWS = 5
SURE = 0.9  # a pick is called sure from here
ENOUGH = 20  # cases, before what happened in them is told


def sentences(
    tally: Tally, verdict: Verdict, slope: Reading, losses: Mapping[str, Reading], findings: Sequence[Finding]
) -> list[str]:
    """Sentences in the order in which they are read."""
    if not tally.sums.rows:
        return ["There are no rows to assess."]
    said = _zeros(tally) + _level(tally, verdict) + _confidence(tally, verdict, slope, losses)
    said += [f"{f.message[0].upper()}{f.message[1:]}." for f in findings if f.code in ("rows_decide", "few_events")]
    return said


def _zeros(tally: Tally) -> list[str]:
    z, n = tally.sums.zeros, max(tally.cases, tally.sums.zeros)
    if not z:
        return []
    given = tally.plan.limits[0]
    floor = given or FLOORS[2]
    typical = Entries.of(tally.binned, tally.grid, floor).means()["accuracy"]
    rows = [str(row) for p, row, _ in tally.lowest if p == 0.0]
    more = ", …" if z > NAMED_ROWS else ""
    return [
        f"{z:,} of {n:,} outcomes had been ruled out (probability 0). Log loss is infinite and the typical probability "
        f"{'would be' if given else 'is'} 0, whatever the other {n - z:,} rows say. "
        f"Rows {', '.join(rows[:NAMED_ROWS])}{more}. "
        f"With {'the' if given else 'a'} floor of {floor:g}: {typical:.3f}."
    ]


def _level(tally: Tally, verdict: Verdict) -> list[str]:
    if verdict.level is None:
        return []
    share = {name: (pair["forecast"], pair["observed"]) for name, pair in verdict.level.items()}
    if tally.k == 2:
        says, happened = share[str(tally.classes[1])]
        if tally.picks_given:
            sure = "too sure" if says > happened else "not sure enough"
            return [f"It is {sure} of its picks: it says {says:.3g}, {happened:.3g} of them are right."]
        word = "high" if says > happened else "low"
        return [f"It is too {word} overall: it says {says:.3g}, {happened:.3g} happened."]
    most = max(share, key=lambda name: share[name][0] - share[name][1])
    least = min(share, key=lambda name: share[name][0] - share[name][1])
    return [
        f"It favours some classes: most over-used {most} ({share[most][0]:.3f}, true {share[most][1]:.3f}), "
        f"most under-used {least} ({share[least][0]:.3f}, true {share[least][1]:.3f})."
    ]


def _confidence(tally: Tally, verdict: Verdict, slope: Reading, losses: Mapping[str, Reading]) -> list[str]:
    adjusted, n = verdict.slope_adjusted, tally.cases
    if not tally.measurable:
        return [
            "Not measurable here. Only the probability of what happened is given, so it cannot be compared with "
            "frequencies."
        ]
    if verdict.word == "matched":
        remaining = ""
        if _finite(losses, "RL", "remainder") and not _too_coarse(losses):
            remaining = f" What loss remains is {losses['RL']:.3f} nats that recalibration cannot remove."
        return [
            f"Matched. Stated probabilities agree with what happened, within {100 * (MATCHED[1] - 1):.0f} % in spread "
            f"(interval {adjusted.low:.2f} to {adjusted.high:.2f}).{remaining}"
        ]
    if verdict.word == "undetermined":
        if adjusted.low is None:
            return [f"Undetermined: {verdict.reason}."]
        needed = (
            f" About {verdict.rows_needed:,} cases would settle a difference of this size."
            if verdict.rows_needed
            else ""
        )
        return [
            f"Undetermined. {n:,} cases cannot tell over- from under-confidence (slope {adjusted:.2f}, "
            f"{adjusted.low:.2f} {'and up' if adjusted.high == np.inf else f'to {adjusted.high:.2f}'}, "
            f"once the class frequencies are matched).{needed}"
        ]
    over = verdict.word == "over-confident"
    said = (
        "Over-confident. Its probabilities are too extreme"
        if over
        else "Under-confident. Its probabilities are too cautious"
    )
    where = _where_it_shows(tally, over)
    first = f"{said}: {where}." if where else f"{said}."
    if not _finite(losses, "L", "CL", "AL"):
        return [first]
    if _too_coarse(losses):
        return [
            first,
            f"{losses['AL']:.3f} of {losses['L']:.3f} nats of log loss goes away by matching the class frequencies "
            "(no labels needed).",
        ]
    return [
        first,
        f"{losses['CL']:.3f} of {losses['L']:.3f} nats of log loss is calibration loss (in-sample, an upper estimate); "
        f"{losses['AL']:.3f} of it goes away by matching the class frequencies.",
    ]


def _too_coarse(losses: Mapping[str, Reading]) -> bool:
    """Cells of many classes may explain too little for losses that could be compared with the loss."""
    return abs(losses["remainder"]) > EXPLAINED * losses["L"]


def _finite(losses: Mapping[str, Reading], *names: str) -> bool:
    return all(np.isfinite(losses[name]) for name in names)


def _where_it_shows(tally: Tally, over: bool) -> str:
    """Where forecasts are surest, if they show it there, else where they are not: what was said and what happened."""
    h, edges = tally.classwise[1] if tally.k == 2 else tally.top, tally.grid.edges
    every = h.all.astype(float) if h.all_weight is None else h.all_weight
    true = h.true.astype(float) if h.true_weight is None else h.true_weight

    def share(held: NDArray[np.bool_], low: bool) -> tuple[float, float] | None:
        """What was said and what happened, if it shows; forecasts of next to nothing err upwards."""
        if h.all[held].sum() < ENOUGH:
            return None
        says, right = (float(x[held].sum() / every[held].sum()) for x in (h.all_sum, true))
        return (says, right) if (right < says) == (over != low) and f"{says:.3g}" != f"{right:.3g}" else None

    if tally.k > 2:
        sure, all_picks = (share(edges[h.cells] >= least, False) for least in (SURE, 0.0))
        if sure:
            return f"where it says {SURE} or more ({sure[0]:.3g} on average), {sure[1]:.3g} happens"
        if all_picks:
            return f"it gives its picks {all_picks[0]:.3g} on average, and {all_picks[1]:.3g} of them are right"
        return ""
    for least in (SURE, 0.5):
        most = round(1.0 - least, 1)
        ends = {
            f"above {least}": share(edges[h.cells] >= least, False),
            f"below {most}": share(edges[h.cells] < most, True),
        }
        said = [f"{where} it says {found[0]:.3g}, and {found[1]:.3g} happens" for where, found in ends.items() if found]
        if said:
            return "; ".join(said)
    return ""
