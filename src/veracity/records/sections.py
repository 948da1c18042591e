"""The sections of a result: frozen records that `estimate` fills and that JSON, schema, words, plots and pages read.

A section knows its findings. The JSON document, its schema and the way back follow from the annotations alone
(`results/document.py`): a field of None is left out of the document, `findings` are listed once for all sections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from typing import Any

from veracity.records.findings import Finding
from veracity.records.reading import Reading

FINDINGS = "findings"  # not part of a section's document: listed once for all sections
Numbers = tuple[float, ...]
Shares = tuple[float | None, ...]  # None: undefined there
Findings = tuple[Finding, ...]


@dataclass(frozen=True)
class Section:
    """A record of a result; a field that is None, and None by default, is left out of the document."""

    def stated(self) -> Iterator[tuple[str, Any]]:
        """Yield name and value of every field that the document has."""
        for f in document_fields(type(self)):
            value = getattr(self, f.name)
            if not (f.default is None and value is None):
                yield f.name, value

    def readings(self) -> dict[str, Reading]:
        """Return the readings of this section by name."""
        return {name: value for name, value in self.stated() if isinstance(value, Reading)}


def document_fields(kind: type) -> tuple[Field[Any], ...]:
    """Return the fields of a record that its document may have: findings are listed once for all sections."""
    return _document_fields(kind)


@cache
def _document_fields(kind: type) -> tuple[Field[Any], ...]:
    return tuple(f for f in fields(kind) if f.name != FINDINGS and not f.name.startswith("_"))


@dataclass(frozen=True)
class Scores(Section):
    """Proper scores and accuracy; lower is better except for accuracy and the area under the ROC curve.

    `others` holds measures that were registered from outside; `readings()` has them all by name.
    """

    log_loss: Reading
    brier: Reading | None = None  # None where only realised probabilities are known
    half_brier: Reading | None = None  # two classes
    spherical: Reading | None = None
    accuracy: Reading | None = None
    perplexity: Reading | None = None
    auc: Reading | None = None  # two classes
    others: Mapping[str, Reading] = field(default_factory=dict)
    findings: Findings = ()

    def stated(self) -> Iterator[tuple[str, Any]]:
        yield from (pair for pair in super().stated() if pair[0] != "others")
        yield from self.others.items()

    def reading(self, name: str) -> Reading | None:
        """Return the reading of a measure by its name; None where these forecasts have none."""
        return self.readings().get(name)


@dataclass(frozen=True)
class Skill(Section):
    """1 − loss ÷ loss of the baseline, which always predicts the class frequencies."""

    log: Reading | None = None
    brier: Reading | None = None


@dataclass(frozen=True)
class Baseline(Section):
    """Scores of always predicting the class frequencies."""

    log_loss: float | None = None
    brier: float | None = None
    half_brier: float | None = None
    spherical: float | None = None
    accuracy: float | None = None

    def score(self, name: str) -> float | None:
        """Return a score by the name of its measure; None where the baseline has none."""
        return next((value for known, value in self.stated() if known == name), None)


@dataclass(frozen=True)
class Means(Section):
    """Three generalized means of the probability given to the outcome: r = 1, 0 and −2/3."""

    decisiveness: Reading
    geometric_accuracy: Reading
    robustness: Reading
    findings: Findings = ()

    def reading(self, name: str) -> Reading:
        """Return one of the means by its name."""
        return self.readings()[name]


@dataclass(frozen=True)
class RiskProfile(Section):
    """The generalized mean for every r of the grid; None where nothing can be measured."""

    r: Numbers
    expected: Numbers | None
    expected_low: Numbers | None
    expected_high: Numbers | None
    reported: Numbers
    reported_low: Numbers | None
    reported_high: Numbers | None
    measured: Numbers | None
    measured_low: Numbers | None
    measured_high: Numbers | None
    score_excess: Numbers | None = None  # observed less expected score, from r = −½ on
    score_excess_by_chance: Numbers | None = None  # how far that of calibrated forecasts lies on either side of 0


@dataclass(frozen=True)
class ExpectedScore(Section):
    """A mean score and its expectation if the forecasts were right; z and p test the difference."""

    expected: float | None
    excess: Reading  # observed − expected
    z: float | None = None
    p: float | None = None


@dataclass(frozen=True)
class ExpectedMeans(Means):
    """The means that the forecasts expect of themselves, and by rule the scores that they expect."""

    scores: Mapping[str, ExpectedScore] = field(default_factory=dict)


@dataclass(frozen=True)
class Bin(Section):
    """A bin of the published procedure: mean probabilities of the true entries, and how often entries came true."""

    low: float
    high: float
    count: int
    true: int
    model: float
    source: float
    contribution: float
    contribution_eq17: float
    model_decisiveness: float
    model_robustness: float
    ideal: float | None = None  # mean source probability, where it is given
    source_decisiveness: float | None = None  # means over the true entries, where the source tells these apart
    source_geometric_accuracy: float | None = None
    source_robustness: float | None = None


@dataclass(frozen=True)
class CalibrationError(Section):
    """Mean gap between forecast and observed frequency, and the value that calibrated forecasts show by chance."""

    value: float
    low: float | None
    high: float | None
    method: str | None
    by_chance: float | None
    debiased: float
    max: float
    bins: int
    closed: str = "right"
    norm: str = "l1"


@dataclass(frozen=True)
class CalibrationErrors(Section):
    top_label: CalibrationError | None = None
    classwise: CalibrationError | None = None
    pooled: CalibrationError | None = None

    def usual(self, classes: int) -> tuple[str, CalibrationError] | None:
        """Return the error that is usually meant, with its name: of the event of two classes, of the pick of more."""
        names = ("classwise" if classes == 2 else "top_label", "pooled")
        return next(((name, error) for name in names if (error := getattr(self, name)) is not None), None)


@dataclass(frozen=True)
class PlainTerms(Section):
    """Uncertainty − resolution + reliability without corrections for chance."""

    uncertainty: Reading
    resolution: Reading
    reliability: Reading
    within: Reading


@dataclass(frozen=True)
class Decomposition(Section):
    """loss = uncertainty − resolution + reliability + within."""

    uncertainty: Reading
    resolution: Reading
    reliability: Reading
    within: Reading
    map: str
    plain: PlainTerms | None = None


@dataclass(frozen=True)
class Losses(Section):
    """The losses of KF15 Table 2: L = AL + PCL + GL + IL (+ remainder where C was fitted in the same rows)."""

    L: Reading
    AL: Reading
    PCL: Reading
    CL: Reading
    GL: Reading
    IL: Reading
    EL: Reading
    PEL: Reading
    RL: Reading
    PL: Reading
    remainder: Reading
    raw: Mapping[str, float] = field(default_factory=dict)  # cross-fitted values before they were bounded
    findings: Findings = ()


@dataclass(frozen=True)
class DecomposedProfile(Section):
    """Terms of the loss along r, as shares of the baseline's loss at that r."""

    r: Numbers
    uncertainty: Shares = ()
    resolution: Shares = ()
    reliability: Shares = ()
    within: Shares = ()
    adjustment: Shares = ()
    post_calibration: Shares = ()
    refinement: Shares = ()
    remainder: Shares = ()


@dataclass(frozen=True)
class CorpTerms(Section):
    """Terms of Dimitriadis, Gneiting & Jordan 2021, with isotonic recalibration in the same rows."""

    miscalibration: Reading
    discrimination: Reading
    uncertainty: Reading


@dataclass(frozen=True)
class CorpRules(Section):
    brier: CorpTerms
    log: CorpTerms


@dataclass(frozen=True)
class Corp(Section):
    """Two classes: `brier` and `log`; more: the pick, and each class against the rest."""

    brier: CorpTerms | None = None
    log: CorpTerms | None = None
    top_label: CorpRules | None = None
    classwise: Mapping[str, CorpRules] | None = None


@dataclass(frozen=True)
class CurvePoint(Section):
    """A bin of a reliability curve with the interval of its frequency and the band of calibrated forecasts."""

    low: float
    high: float
    count: int
    true: int
    forecast: float
    observed: float
    observed_low: float
    observed_high: float
    band_low: float
    band_high: float


@dataclass(frozen=True)
class HistogramBar(Section):
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class RocPoint(Section):
    threshold: float
    false_positive_rate: float
    true_positive_rate: float


@dataclass(frozen=True)
class Curves(Section):
    """Reliability of all entries, of the pick and of each class; sharpness; ROC, observed and as predicted."""

    pooled: tuple[CurvePoint, ...] = ()
    top_label: tuple[CurvePoint, ...] = ()
    classwise: Mapping[str, tuple[CurvePoint, ...]] = field(default_factory=dict)
    sharpness: tuple[HistogramBar, ...] = ()
    roc: tuple[RocPoint, ...] = ()
    roc_predicted: tuple[RocPoint, ...] = ()


@dataclass(frozen=True)
class Adjusted(Section):
    """The effect of matching the class frequencies under one rule: factors or shifts, and the loss after it."""

    weights: Mapping[str, float] | None = None
    shift: Mapping[str, float] | None = None
    loss: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Adjustment(Section):
    log: Adjusted | None = None
    brier: Adjusted | None = None


@dataclass(frozen=True)
class Gain(Section):
    """Cross-validated gain with its interval, and the share of the loss that it is."""

    gain: float | None
    low: float | None = None
    high: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class Remedy(Section):
    """A recalibration: its gain on cases it was not fitted to, its requirements, and the command that applies it."""

    map: str
    parameters: str
    needs: str
    log: Gain
    brier: Gain
    command: str | None = None
    rows: int = 0
    folds: int = 0

    def by(self, rule: str) -> Gain:
        """Return the gain under "log" or "brier"."""
        return self.log if rule == "log" else self.brier


@dataclass(frozen=True)
class ClassLevel(Section):
    """Predicted and observed share of one class."""

    predicted: float
    observed: float
    z: float


NOT_JUDGED = "not judged"  # the word for the verdict of a level that nobody asked for


@dataclass(frozen=True)
class Level(Section):
    """The readings of one level of a group; means and verdict are not made of small levels among very many."""

    n: int
    scores: Scores
    reported: Means
    expected: Means
    measured: Means
    spread_ratio: Reading
    verdict: str
    level: ClassLevel | None = None
    shrunk: Reading | None = None  # log loss drawn towards the mean of all levels: small groups vary by chance
    gain: Reading | None = None  # log loss that the recalibration of all cases saves here
    p: float | None = None  # of the tests of calibration together; the verdict compares it with `alpha` of the group


@dataclass(frozen=True)
class ClassReading(Section):
    """Predicted and observed share of one class, and its share of the miscalibration."""

    n: float  # cases of the class
    predicted: float
    observed: float
    slope: Reading | None = None  # calibration slope of the class against the rest
    share: float | None = None  # of the miscalibration, from the row gains of the recalibration
    p: float | None = None  # of predicted against observed, adjusted for the number of classes


@dataclass(frozen=True)
class Surprise(Section):
    """A case whose outcome had a low probability; `case` is its id, where ids were given."""

    row: int
    outcome: str | None
    probability: float
    file: str | None = None
    case: str | None = None


@dataclass(frozen=True)
class Given(Section):
    """What a command was given to read, and where in it the forecasts of one of several models are."""

    files: tuple[str, ...]
    options: tuple[tuple[str, ...], ...]  # that say how files are read: a name and its value, or a flag
    column: str | None = None  # of the models' names
    forecasts: tuple[str, ...] = ()  # the model's own columns


@dataclass(frozen=True)
class Provenance(Section):
    """Where the numbers come from."""

    command: str | None
    date: str
    version: str
    kernel: str
    engine: str
    inputs: tuple[Mapping[str, Any], ...]
    reading: Any
    plan: Mapping[str, Any]
    seconds: float | None
    given: Given | None = None
