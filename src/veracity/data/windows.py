"""The records of windows of time."""

from __future__ import annotations

from dataclasses import dataclass

from .reading import Reading
from .section import Section


@dataclass(frozen=True)
class Window(Section):
    """The readings of one window: first and last time, and scores; `excess` is observed less expected log loss."""

    start: str
    end: str
    n: int
    log_loss: Reading
    brier: Reading | None = None
    accuracy: Reading | None = None
    excess: Reading | None = None


@dataclass(frozen=True)
class Drift(Section):
    """A test of slow change in time: of the log loss, and of observed less expected log loss (calibration)."""

    p: float | None
    calibration_p: float | None
    method: str
