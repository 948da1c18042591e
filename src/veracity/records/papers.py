"""What a calibration curve measures, and the same by the procedures of the papers."""

from __future__ import annotations

from collections.abc import Mapping
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
class MeansAt(Section):
    """The generalized mean of the probability of the outcome at one r, three ways."""

    r: float
    reported: Reading
    expected: Reading
    measured: Reading


@dataclass(frozen=True)
class FloorMeans(Section):
    """The three reported means with a minimum probability."""

    floor: float
    decisiveness: float
    geometric_accuracy: float
    robustness: float


@dataclass(frozen=True)
class MeanNumbers(Section):
    """Three means without intervals."""

    decisiveness: float
    geometric_accuracy: float
    robustness: float

    def number(self, name: str) -> float:
        """Return a mean by its name."""
        return float(getattr(self, name))


@dataclass(frozen=True)
class ClassMeans(Section):
    """Both sides of one class, over the cases in which it was the outcome: N17 Figure 5."""

    n: int
    model: MeanNumbers
    source: MeanNumbers


@dataclass(frozen=True)
class SourcePoint(Section):
    """A point of a curve: how often such forecasts came true."""

    forecast: float
    source: float


@dataclass(frozen=True)
class CurveMeans(Section):
    """Three measured means, reported ÷ measured, and the spread ratio, all from one curve."""

    measured: Means
    divergence: Means
    spread_ratio: Reading


@dataclass(frozen=True)
class SourceCurve(Section):
    """Source probabilities by the curve that was asked for; beyond 50 classes one curve, under "", serves all."""

    curve: str
    neighbours: int | None
    measured: Means
    divergence: Means
    spread_ratio: Reading
    points: Mapping[str, tuple[SourcePoint, ...]]


class Procedures(Protocol):
    """The papers' procedures on one set of forecasts."""

    @property
    def as_published(self) -> CurveMeans: ...

    def by_curve(self, curve: str, per_class: bool, neighbours: int | None) -> CurveReadings: ...


@dataclass(frozen=True)
class Papers(Section):
    """The same by the procedure that N17 or CQ published, where a preset asks for it; other curves on request.

    `classes` has both sides of each class, by the curve asked for or the published procedure; up to 50 classes.
    """

    N17: CurveMeans | None = None
    CQ: CurveMeans | None = None
    curve: SourceCurve | None = None
    classes: Mapping[str, ClassMeans] = field(default_factory=dict)
    _procedures: Procedures | None = field(default=None, repr=False, compare=False)  # None: read from a document

    @property
    def published(self) -> CurveMeans:
        """The readings by the procedure of the preset, or CQ's, whether a preset asks for it or not."""
        return self._of_forecasts.as_published

    def by_curve(self, curve: str = "bins", *, per_class: bool = False, neighbours: int | None = None) -> CurveReadings:
        """Return the three means by one of the curves: "bins", "width", "isotonic", "knn" or "kernel".

        A curve is fitted to the probabilities of all classes together, or to those of each class by itself;
        `neighbours` is the number of nearest forecasts of "knn", by default by the number of cases.
        """
        return self._of_forecasts.by_curve(curve, per_class, neighbours)

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
        return next(((name, paper) for name, paper in known.items() if paper is not None), None)
