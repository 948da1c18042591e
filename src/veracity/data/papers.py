"""What a calibration curve measures, and the same by the procedures of the papers."""

from __future__ import annotations

from dataclasses import dataclass

from .reading import Reading
from .records import Means, Section


@dataclass(frozen=True)
class CurveMeans(Section):
    """Three measured means, reported ÷ measured, and the spread ratio, all from one curve."""

    measured: Means
    divergence: Means
    spread_ratio: Reading


@dataclass(frozen=True)
class Papers(Section):
    """The same by the procedure that N17 or CQ published, where a preset asks for it."""

    N17: CurveMeans | None = None
    CQ: CurveMeans | None = None
