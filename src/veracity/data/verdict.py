"""The calibration verdict as a frozen record: its tests, its sizes and its sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .findings import Finding
from .reading import Reading
from .records import ClassLevel, Section


@dataclass(frozen=True)
class LevelTest(Section):
    """Are the class frequencies right? `classes` holds those whose excess is significant."""

    p: float | None
    classes: Mapping[str, ClassLevel] = field(default_factory=dict)


@dataclass(frozen=True)
class Range(Section):
    """Forecasts between `low` and `high`: their mean, how often they came true, and how often by the forecasts."""

    low: float
    high: float
    predicted: float
    observed: float
    count: float  # number of forecasts in the range
    events: float  # how many came true
    expected: float  # how many should have
    z: float


@dataclass(frozen=True)
class ConfidenceTest(Section):
    """Are the probabilities too extreme or too cautious? `expected` and `realised` are typical probabilities.

    Of picks alone they are the mean confidence and the share that was right. `where` is the range of probability that
    shows the direction most significantly.
    """

    p: float | None
    direction: str | None = None  # "over-confident" | "under-confident"
    expected: float | None = None
    realised: float | None = None
    where: Range | None = None


@dataclass(frozen=True)
class ShapeTest(Section):
    """The range of probability whose frequency is most significantly wrong, if any."""

    p: float | None
    low: float | None = None
    high: float | None = None
    where: Range | None = None


@dataclass(frozen=True)
class Verdict(Section):
    """Can the probabilities be taken at face value? (rule: three tests, weighted Holm)"""

    word: str
    state: str  # "found" | "slight" | "calibrated" | "none found" | "not measurable"
    level: LevelTest
    confidence: ConfidenceTest
    shape: ShapeTest
    slope: Reading
    intercept: Reading | None
    ratio: Reading | None  # expected ÷ observed events, two classes
    gain: Reading  # removable share of the log loss
    detectable: float | None
    zero_rows: int
    reason: str | None = None
    method: str = ""
    sentences: tuple[str, ...] = ()
    p: float | None = None  # of the three tests together
    findings: tuple[Finding, ...] = ()
