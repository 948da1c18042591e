"""Sections about time and groups: does calibration hold throughout, and are some times or groups harder?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from veracity.records.reading import Reading
from veracity.records.sections import Level, Section


@dataclass(frozen=True)
class PValue(Section):
    """A p-value; None where nothing could be tested."""

    p: float | None


@dataclass(frozen=True)
class Drift(Section):
    """A test that calibration changes slowly in time: its level, its slope, and both together (Holm)."""

    level: PValue
    slope: PValue
    p: float | None
    method: str
    reason: str | None = None  # why nothing was tested


@dataclass(frozen=True)
class Window(Section):
    """The readings of one window: first and last time, and scores; `excess` is observed less expected log loss.

    Of two classes `predicted` and `observed` are shares of the event. Of more they are the probability that the
    forecasts expect to give to the outcome, typically, and the one they gave. `ratio` is predicted ÷ observed, z how
    far they differ.
    """

    start: str
    end: str
    n: int
    log_loss: Reading
    brier: Reading | None = None
    accuracy: Reading | None = None
    excess: Reading | None = None
    predicted: float | None = None
    observed: float | None = None
    ratio: float | None = None
    z: float | None = None


@dataclass(frozen=True)
class Difference(Section):
    """A test that the levels of a group differ in their scores: that some are harder."""

    p: float | None
    method: str


@dataclass(frozen=True)
class GroupShift(Section):
    """A group whose calibration differs from that of all cases together.

    what       "level" or "slope"
    direction  "too low" or "too high" (level of two classes), "too extreme" or "too cautious" (slope)
    """

    group: str
    what: str
    z: float
    direction: str | None = None


@dataclass(frozen=True)
class GroupCalibration(Section):
    """A test that calibration differs by group: its level, its slope, and both together (Holm).

    names   groups whose level or slope is off by more than chance explains, the farthest first
    shifts  two classes: log-odds by which each group is off, shrunk by what chance explains
    """

    level: PValue
    slope: PValue
    p: float | None
    names: tuple[str, ...]
    method: str
    off: tuple[GroupShift, ...] = ()
    shifts: Mapping[str, float] | None = None
    reason: str | None = None  # why nothing was tested


@dataclass(frozen=True)
class Group(Section):
    """The levels of a group, whether some are harder (`differ`), and whether calibration differs."""

    levels: Mapping[str, Level]
    differ: Difference | None = None
    calibration: GroupCalibration | None = None
    worst: str | None = None
    alpha: float | None = None  # of the verdict of each level: a share of the chance of a false one
