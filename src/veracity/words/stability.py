"""Sentences about time and groups: does calibration hold throughout, and which groups are harder?"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence

from veracity.records.sections import Level
from veracity.records.stability import Drift, Group, GroupCalibration, GroupShift, Window

from .labels import NOTICE, Said
from .numbers import finite, number, p_equals
from .text import listing
from .verdict import two_percents

BESIDE = 0.01  # p of a test beside the verdict below which it claims something: together they keep the 5 % of one
IN_TABLE = 0.05  # p below which a table says it
MOST_COLUMNS = 5  # of groups that share the 1 %: 999 draws give no p below .001, and two are tested
NAMED_GROUPS = 2
ON_AVERAGE = "Calibrated on average"
SHRUNK = "Shrunk: log loss drawn towards the mean of all groups, as small groups vary by chance."
OFF_BY = "Off by: log-odds beside the calibration of all cases, drawn towards 0 as chance explains it."
CHANGES, DIFFERS = "Changes over time", "Differs by group"


def drifting(drift: Drift | None) -> bool:
    """Return whether calibration changes in time by more than chance explains."""
    return drift is not None and drift.p is not None and drift.p <= BESIDE


def differing(groups: Mapping[str, Group] | None) -> dict[str, Group]:
    """Return the columns whose groups differ in calibration by more than chance explains."""
    columns = groups or {}
    least = BESIDE / min(max(len(columns), 1), MOST_COLUMNS) * (1.0 + 1e-9)
    p_values = {name: group.calibration.p for name, group in columns.items() if group.calibration is not None}
    return {name: columns[name] for name, p in p_values.items() if p is not None and p <= least}


def unstable(drift: Drift | None, windows: Sequence[Window] | None, groups: Mapping[str, Group] | None) -> Said | None:
    """Return that calibration holds on average only; None where it holds throughout as far as can be seen."""
    parts = ["not over time" + _bracketed(when(drift, windows))] if drift is not None and drifting(drift) else []
    parts += [f"not in {where(column, group)}" for column, group in differing(groups).items()]
    return Said(NOTICE, ON_AVERAGE, f"But {listing(parts)}.") if parts else None


def notes(
    drift: Drift | None, windows: Sequence[Window] | None, groups: Mapping[str, Group] | None
) -> tuple[Said, ...]:
    """Return that calibration changes over time, and that it differs by group, beside a verdict that found a fault."""
    lines: list[Said] = []
    if drift is not None and drifting(drift):
        lines.append(Said(NOTICE, CHANGES, f"Calibration is not the same over time{_bracketed(when(drift, windows))}."))
    for column, group in differing(groups).items():
        own = _fit_of_group(column, group)
        text = f"Calibration is not the same in {where(column, group)}."
        text += " One map for all cases leaves that; for these alone:" if own else ""
        lines.append(Said(NOTICE, DIFFERS, text, *own))
    return tuple(lines)


def _fit_of_group(column: str, group: Group) -> tuple[str, ...]:
    """Return what fits a map of the one group that is off, as a command and in Python; nothing where several are."""
    names = group.calibration.names if group.calibration is not None else ()
    if len(names) != 1:
        return ()
    chosen = shlex.quote(f"{column}={names[0]}")
    rows = f"rows = {column if column.isidentifier() else 'group'} == {names[0]!r}"
    return (
        f"veracity calibrate fit FILE --where {chosen} --map advised -o map.json",
        f"{rows}\nk = vc.calibrate(y_true[rows], y_proba[rows])",
    )


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def when(drift: Drift, windows: Sequence[Window] | None) -> str:
    """Return the windows that are farthest off on either side, with predicted and observed; else the p-value."""
    known = [w for w in windows or () if w.z is not None and w.predicted is not None and w.observed is not None]
    if len(known) < 2 or (drift.level.p or 0.0) > IN_TABLE:
        what = "its slope changes, " if (drift.level.p or 0.0) > IN_TABLE else ""
        return what + p_equals(drift.p or 0.0)
    ends = {id(w): w for w in (min(known, key=_z), max(known, key=_z))}
    return "; ".join(f"{_shares(w.predicted, w.observed)} from {w.start} on" for w in known if id(w) in ends)


def _z(window: Window) -> float:
    return window.z or 0.0


def _shares(predicted: float | None, observed: float | None) -> str:
    """
    >>> _shares(0.31, 0.42)
    'predicted 31 %, observed 42 %'
    """
    return "predicted {}, observed {}".format(*two_percents(predicted or 0.0, observed or 0.0))


def where(column: str, group: Group) -> str:
    """Return the groups whose calibration is off, with predicted and observed."""
    tested = group.calibration
    assert tested is not None
    if not tested.names:
        return f"every group of {column} ({p_equals(tested.p or 0.0)})"
    named = [f"{column} = {name}{_bracketed(_how(name, tested, group))}" for name in tested.names[:NAMED_GROUPS]]
    more = len(tested.names) - NAMED_GROUPS
    return listing([*named, *([f"{more} more"] if more > 0 else [])])


def _how(name: str, calibration: GroupCalibration, group: Group) -> str:
    """Return how far a group is off: its shares where the level is, its direction where only the slope is."""
    off = [one for one in calibration.off if one.group == name]
    level: Level | None = group.levels.get(name)
    if any(one.what == "level" for one in off) and level is not None:
        if level.level is not None:
            return _shares(level.level.predicted, level.level.observed)
        expected, gave = level.expected.geometric_accuracy, level.reported.geometric_accuracy
        if finite(expected) is not None and finite(gave) is not None:
            return "it expected to give the outcome {}, and gave {}".format(*two_percents(expected, gave))
        return ""
    return _slope(off)


def _slope(off: Sequence[GroupShift]) -> str:
    return next((beside_all(one) for one in off if one.what == "slope" and one.direction), "")


def beside_all(shift: GroupShift) -> str:
    """Return how a group is off, which is beside the calibration of all cases: these may be off themselves."""
    return f"{shift.direction} beside all cases together" if shift.direction else ""


def drift_note(drift: Drift | None) -> str:
    """Return whether calibration changes over time, for the table of windows; empty without times."""
    if drift is None:
        return ""
    if drift.p is None:
        return f"Change over time was not tested: {drift.reason}." if drift.reason else ""
    verb = "changes" if drift.p <= BESIDE else "seems to change" if drift.p <= IN_TABLE else "does not clearly change"
    each = ", ".join(f"{name} {p_equals(p)}" for name, p in (("level", drift.level.p), ("slope", drift.slope.p)) if p)
    slow = "" if drift.p <= IN_TABLE else " Only slow change is looked for, none that comes and goes, as with seasons."
    return f"Calibration {verb} over time ({p_equals(drift.p)}; {each}).{slow}"


def group_notes(column: str, group: Group) -> list[str]:
    """Return whether calibration differs, and which cases are harder, for the table of groups."""
    calibration, sentences = group.calibration, []
    p = None if calibration is None else calibration.p
    if calibration is not None and p is None and calibration.reason:
        sentences.append(f"Calibration was not compared: {calibration.reason}.")
    if calibration is not None and p is not None:
        shifts = [one.group + _bracketed(beside_all(one)) for one in _first(calibration)]
        verb = "differs" if p <= BESIDE else "seems to differ" if p <= IN_TABLE else "does not clearly differ"
        off = f": {listing(shifts)}" if shifts and p <= IN_TABLE else ""
        sentences.append(f"Calibration {verb} by {column} ({p_equals(p)}; {calibration.method}){off}.")
    harder = None if group.differ is None else group.differ.p
    if group.differ is not None and harder is not None:
        how = f"({p_equals(harder)}; {group.differ.method})"
        if harder >= BESIDE:
            sentences.append(f"The log losses of groups do not clearly differ {how}.")
        elif p is not None and p > IN_TABLE and group.worst is not None and group.worst in group.levels:
            sentences.append(f"Cases of {column} = {group.worst} are harder, with {loss_of_worst(group)} {how}.")
        else:
            sentences.append(f"The log losses of groups differ {how}.")
    return sentences


def loss_of_worst(group: Group) -> str:
    """Return the loss of the worst group by name, which several infinite log losses leave to the Brier score."""
    scores = group.levels[group.worst or ""].scores
    infinite = sum(one.scores.log_loss == math.inf for one in group.levels.values())
    if infinite > 1 and scores.brier is not None:
        return f"Brier score {number(scores.brier)} among {infinite} groups of infinite log loss"
    return f"log loss {number(scores.log_loss)}"


def _first(calibration: GroupCalibration) -> list[GroupShift]:
    """Return the strongest shift of each named group."""
    strongest: dict[str, GroupShift] = {}
    for one in calibration.off:
        strongest.setdefault(one.group, one)
    return list(strongest.values())
