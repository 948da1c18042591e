"""What a calibration curve measures, and the same by the procedures of the papers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypedDict

from veracity.records.reading import Reading
from veracity.records.sections import Means, Section


class MeanValues(TypedDict):
    """Three measured means."""

    decisiveness: float
    geometric_accuracy: float
    robustness: float


class CurveReadings(MeanValues, total=False):
    """Three measured means by one curve; `classes` has those of each observed class, where each has its own curve."""

    classes: dict[str, MeanValues]


@dataclass(frozen=True)
class CurveMeans(Section):
    """Three measured means, reported ÷ measured, and the spread ratio, all from one curve."""

    measured: Means
    divergence: Means
    spread_ratio: Reading


class Procedures(Protocol):
    """The papers' procedures on one set of forecasts."""

    @property
    def as_published(self) -> CurveMeans: ...

    def by_curve(self, curve: str, per_class: bool) -> CurveReadings: ...


@dataclass(frozen=True)
class Papers(Section):
    """The same by the procedure that N17 or CQ published, where a preset asks for it; other curves on request."""

    N17: CurveMeans | None = None
    CQ: CurveMeans | None = None
    _procedures: Procedures | None = field(default=None, repr=False, compare=False)  # None: read from a document

    @property
    def published(self) -> CurveMeans:
        """The readings by the procedure of the preset, or CQ's, whether a preset asks for it or not."""
        return self._of_forecasts.as_published

    def by_curve(self, curve: str = "bins", *, per_class: bool = False) -> CurveReadings:
        """Return the three means by the papers' other curves: "bins", "width" or "isotonic".

        A curve is fitted to the probabilities of all classes together, or to those of each class by itself.
        """
        return self._of_forecasts.by_curve(curve, per_class)

    @property
    def _of_forecasts(self) -> Procedures:
        if self._procedures is None:
            raise AttributeError(
                "papers: a document holds the readings of its preset alone; assess the forecasts again"
            )
        return self._procedures

    @property
    def asked(self) -> tuple[str, CurveMeans] | None:
        """The paper that the preset names, with its readings."""
        known = {"N17": self.N17, "CQ": self.CQ}
        return next(((name, found) for name, found in known.items() if found is not None), None)
