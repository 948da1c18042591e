"""The calibration verdict as a frozen record: its tests and its sizes; `words/verdict.py` has the sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from veracity.records.findings import Finding
from veracity.records.reading import Reading
from veracity.records.sections import ClassLevel, Section, Surprise

State = Literal["found", "slight", "calibrated", "none found", "too few", "not measurable"]
Direction = Literal["over-confident", "under-confident"]
Bend = Literal["too high at both ends", "too low at both ends", "upwards", "downwards"]


class Reason(StrEnum):
    """Why there is no verdict, or why it says less than usual."""

    EMPTY = "empty"
    SINGLE_CLASS = "single_class"  # only one is possible
    ONLY_REALISED = "only_realised"  # probabilities of the outcomes alone are given
    ONLY_SHARES = "only_shares"  # of an unknown number of cases
    TOO_FEW_CASES = "too_few_cases"
    TOO_FEW_CLUSTERS = "too_few_clusters"
    TOO_FEW_TIMES = "too_few_times"  # which differ
    TOO_FEW_BLOCKS = "too_few_blocks"  # to judge one of several groups
    WITHOUT_ROWS = "without_rows"  # more than two classes in cells: level and confidence alone are tested
    REPEATED_ROWS = "repeated_rows"  # which are copies of one case is unknown
    ONLY_CERTAIN_FORECASTS = "only_certain_forecasts"  # every forecast is 0 or 1
    CONSTANT = "constant"  # the forecast is the same in every case
    ONE_CLASS = "one_class"  # only one was observed


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
    direction: Direction | None = None
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
class CurvatureTest(Section):
    """Two classes: is the calibration curve bent?"""

    p: float | None
    direction: Bend | None = None


@dataclass(frozen=True)
class ClassPair(Section):
    """Class `observed` happens where class `given` had been forecast."""

    observed: str
    given: str
    z: float


@dataclass(frozen=True)
class JointTest(Section):
    """More than two classes: is one class forecast where another happens? `pairs` are the significant ones."""

    p: float
    pairs: tuple[ClassPair, ...] = ()


@dataclass(frozen=True)
class Verdict(Section):
    """Can the probabilities be taken at face value? `p` is that of all tests together.

    number, needed   how many cases or clusters there are where these are too few, and from how many on they are not
    ruled_out        the first cases whose outcome had probability 0, of `zero_rows`
    floored_loss     log loss with the minimum probability `floor`, where it is infinite without
    """

    word: str
    state: State
    p: float | None
    level: LevelTest
    confidence: ConfidenceTest
    shape: ShapeTest
    slope: Reading  # calibration slope b, below 1: over-confident
    intercept: Reading | None
    ratio: Reading | None  # expected ÷ observed events, two classes
    gain: Reading  # removable share of the log loss
    detectable: float | None
    zero_rows: int
    curvature: CurvatureTest | None = None
    joint: JointTest | None = None
    reason: Reason | None = None
    number: int | None = None
    needed: int | None = None
    method: str = ""
    approximate: bool = False  # few events are expected of clusters or blocks of time
    cases: int = 0
    tested: int | None = None  # cases that the tests used, where these are a sample
    class_count: int = 2
    picks_only: bool = False
    ruled_out: tuple[Surprise, ...] = ()
    floor: float | None = None
    floored_loss: float | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def slope_differs(self) -> bool:
        """Whether the slope, by its interval if it has one, says the opposite of the direction that was found.

        The direction is that of the average forecast. Where the slope is below 1 and the average is too cautious, the
        least sure forecasts are so most of all.
        """
        low, high = (float(self.slope) if end is None else end for end in (self.slope.low, self.slope.high))
        return {"over-confident": low > 1.0, "under-confident": high < 1.0}.get(self.confidence.direction or "", False)
