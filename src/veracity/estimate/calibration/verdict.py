"""Can the probabilities be taken at face value? Four tests, one verdict, and how much recalibration could save.

The tests compare sums of residuals (`cases.py`) with those of outcomes drawn from the forecasts themselves:

    level        Σ_k U_k²/(V_k + 1)         are the class frequencies right?
    confidence   |G|, x = ln max(p, 1e-4)   are the forecasts too extreme or too cautious?
    shape        Σ_b U_b²/(V_b + 1)         are the frequencies right in every range of probability?
    curvature    u′I⁻¹u, u = Σ(y − p)(1, x, x²)   two classes: is the calibration curve bent?
    joint        Σ_{j≠k} S_jk²              more classes: does one happen where another was given?

One p-value decides: that of the smallest p over its weight, among the same draws, exact at any number of cases. Of a
pick and its confidence alone there is no level: confidence is then the mean confidence less the share that was right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.calibration.calibration_tests import ALPHA, WEIGHTS, Tests, few_events, run_tests
from veracity.estimate.calibration.residuals import DRAWS, EDGES, RANGES, Many, Two, prepared, ranges_of
from veracity.estimate.calibration.slope import (
    PER_CLASS,
    calibration_in_the_large,
    calibration_slope,
    dependence,
    fit,
    removable_share,
)
from veracity.estimate.loss.folds import BLOCKS, blocks
from veracity.formulas.intervals import quantile
from veracity.inputs import Forecasts
from veracity.inputs.content import class_order
from veracity.records.reading import Reading, unknown
from veracity.records.sections import ClassLevel
from veracity.records.verdict import (
    Bend,
    ClassPair,
    ConfidenceTest,
    CurvatureTest,
    Direction,
    JointTest,
    LevelTest,
    Range,
    Reason,
    ShapeTest,
    State,
    Verdict,
)
from veracity.types import Array, Floats
from veracity.words.verdict import why_not, word_of

NAMED = 0.02  # a direction of confidence, and a level beside a wrong confidence, is named at or below this p
SMALL = 0.01  # share of the loss below which miscalibration is slight
DETECTABLE = 12.0  # likelihood ratio of 2 parameters that the tests find with a power of about 80 %
TOO_FEW = 0.25  # share of the loss: where only larger errors would show, nothing is said
FEWEST_ROWS = 20
LOW_END = 0.2  # forecasts below are the low end of the scale
LIKELY = 0.6  # from here on a forecast names the outcome
TOO_HIGH: Bend = "too high at both ends"
TOO_LOW: Bend = "too low at both ends"
UPWARDS: Bend = "upwards"
DOWNWARDS: Bend = "downwards"
OVER: Direction = "over-confident"
UNDER: Direction = "under-confident"

GAIN = "5-fold cross-validation; upper end also from level, slope and ranges fitted in sample"
IN_SAMPLE = "level, slope and ranges fitted in sample"
TINY = 2.0**-53  # p and 1 − p of two classes are both kept above this, unless they are 0


class AllEntries(NamedTuple):
    """Probabilities (m,) of the event, or of every class, of all cases; their mass, and the mass that came true."""

    p: Floats
    mass: Floats
    true: Floats

    def between(self, first: int, last: int, flipped: bool) -> tuple[float, float, float]:
        """Return mass, expected and observed events of the ranges; `flipped`: of the other of two classes."""
        p, true = (1.0 - self.p, self.mass - self.true) if flipped else (self.p, self.true)
        b = ranges_of(p)
        inside = (b >= first) & (b <= last)
        return float(self.mass[inside].sum()), float(self.mass[inside] @ p[inside]), float(true[inside].sum())


@dataclass(frozen=True, eq=False)
class Judged:
    """Forecasts as they are tested and corrected: positive rows, classes in the order of what they hold.

    p        (m,) of the second class in that order, or (m, k); zeros among realised probabilities are spread
    order    which of the given classes comes first, second, …
    blocks   number of clusters or blocks of time; None of independent cases
    rows     number of cases
    zeros    outcomes with probability 0
    certain  whether every forecast is 0 or 1
    """

    p: Floats
    cases: Two | Many
    order: NDArray[np.int64]
    blocks: int | None
    rows: int
    zeros: int
    certain: bool

    @property
    def flipped(self) -> bool:
        """Whether p is that of the first of two classes."""
        return self.p.ndim == 1 and bool(self.order[0] == 1)

    @classmethod
    def of(
        cls,
        probabilities: Array,
        outcomes: Array,
        classes: Sequence[Any],
        counts: Array | None,
        weights: Array | None,
        clusters: Array | None,
        time: Array | None,
        picks_only: bool,
    ) -> Judged:
        p = np.asarray(probabilities, dtype=np.float64)
        y = np.asarray(outcomes, dtype=np.int64)
        count = np.ones(len(y)) if counts is None else np.asarray(counts, dtype=np.float64)
        weight = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        some = (count > 0.0) & (weight > 0.0)
        p, y, count, weight = p[some], y[some], count[some], weight[some]
        clusters, time = (None if x is None else np.asarray(x)[some] for x in (clusters, time))
        rows = int(count.sum())
        forecasts = Forecasts(p, y, tuple(map(str, classes)), weights=weight, counts=count.astype(np.int64))
        block = blocks(clusters, time, count, None if clusters is None else forecasts.row_hashes)
        order = np.arange(len(classes)) if picks_only or not rows else class_order(forecasts)
        p, y = in_class_order(p, y, order)
        realised = p[np.arange(len(y)), y] if p.ndim == 2 else np.where(y == 1, p, 1.0 - p)
        zeros = int(count[realised <= 0.0].sum())
        certain, ranges = bool(((p == 0.0) | (p == 1.0)).all()), ranges_of(p)
        p, cases = prepared(spread_zeros(p, rows) if zeros else p, y, count, weight, block, ranges)
        return cls(p, cases, order, None if block is None else len(np.unique(block)), rows, zeros, certain)


def judge(
    probabilities: Array,
    outcomes: Array,
    classes: Sequence[Any],
    *,
    counts: Array | None = None,
    weights: Array | None = None,
    clusters: Array | None = None,
    time: Array | None = None,
    picks_only: bool = False,
    zero_rows: int | None = None,
    gain: float | None = None,
    gain_error: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    alpha: float = ALPHA,
    every: AllEntries | None = None,
) -> Verdict:
    """Return the verdict of forecasts (m,) or (m, k) with outcomes as column numbers.

    `gain` and `gain_error` are mean and standard error of the log loss that recalibration saves on cases it was not
    fitted to. `zero_rows` counts the outcomes with probability 0 where the rows are a sample. `alpha` is the chance of
    a false verdict about calibrated forecasts. `every` holds the forecasts of all cases where the rows are a sample.
    """
    judged = Judged.of(probabilities, outcomes, classes, counts, weights, clusters, time, picks_only)
    rows = judged.rows
    if rows < FEWEST_ROWS:
        return not_measurable(Reason.TOO_FEW_CASES, rows, FEWEST_ROWS)
    if judged.blocks is not None and judged.blocks < BLOCKS:
        return not_measurable(
            Reason.TOO_FEW_TIMES if clusters is None else Reason.TOO_FEW_CLUSTERS, judged.blocks, BLOCKS
        )
    if judged.blocks is not None and 2.0 ** (1 - judged.blocks) > max(WEIGHTS.values()) * alpha:
        return not_measurable(Reason.TOO_FEW_BLOCKS, judged.blocks)
    p, cases, order, flipped = judged.p, judged.cases, judged.order, judged.flipped
    names, zeros = tuple(map(str, classes)), judged.zeros if zero_rows is None else zero_rows
    several = cases.levels == 1 or cases.n >= PER_CLASS * cases.levels  # cases enough for a level of each class
    tests = run_tests(cases, p, seed, picks_only)
    rejected = tests.together <= alpha
    level_test = LevelTest(tests.p.get("level"))
    confidence, shape = ConfidenceTest(tests.p["confidence"]), ShapeTest(tests.p["shape"])
    curvature = CurvatureTest(tests.p["curvature"]) if "curvature" in tests.p else None
    joint = JointTest(tests.p["joint"]) if "joint" in tests.p else None
    if rejected:
        if tests.p.get("level", 1.0) <= NAMED:
            level_test = _level(tests, p, names, order, several)
        confidence = _confidence(tests, judged, len(names), zeros > 0, picks_only, seed, every)
        if tests.p["shape"] <= ALPHA and not zeros and (b := _shape(tests, p, several)) is not None:
            where = _range(tests, p, b, b, flipped, every)
            shape = ShapeTest(tests.p["shape"], where.low, where.high, where)
        if curvature is not None and tests.p["curvature"] <= ALPHA and isinstance(cases, Two):
            curvature = replace(curvature, direction=_bend(cases, p, flipped, seed))
        if joint is not None and isinstance(cases, Many) and joint.p <= ALPHA:
            joint = replace(joint, pairs=_pairs(tests, cases, p, names, order))
    expected, gave = _means_of_picks(cases, p) if picks_only else _typical(cases, p, zeros)
    confidence = replace(confidence, expected=expected, realised=gave)
    slope = calibration_slope(cases.for_fit(p), p, several, level)
    if judged.certain:  # it would be that of the probability that zeros share
        slope = unknown(why_not(Reason.ONLY_CERTAIN_FORECASTS))
    intercept = ratio = None
    if isinstance(cases, Two) and not picks_only:
        intercept, ratio = calibration_in_the_large(cases.for_fit(p), p, level, flipped)
    share, low, high = removable_share(cases.for_fit(p), p, several, gain, gain_error)
    loss = -float(cases.mass @ np.log(cases.realised(p))) / cases.n
    least = min(loss, -float(cases.mass @ cases.mean_log(p)) / cases.n)  # that of over-confident ones is too small
    found_from = DETECTABLE * dependence(cases.for_fit(p), p)
    detectable = min(found_from / (2.0 * cases.n * least), 1.0) if least > 0.0 else 1.0 if loss > 0.0 else None
    confused = joint is not None and joint.p <= alpha
    state, few = state_of(rejected, high, detectable, zeros, confused), few_events(cases, p)
    return Verdict(
        word=word_of(state, confidence.direction, bool(level_test.classes)),
        state=state,
        p=tests.together,
        level=level_test,
        confidence=confidence,
        shape=shape,
        curvature=curvature,
        joint=joint,
        slope=slope,
        intercept=intercept,
        ratio=ratio,
        gain=Reading(share, low, high, GAIN if gain is not None else IN_SAMPLE),
        detectable=detectable,
        zero_rows=zeros,
        reason=_reason(cases, p, judged.certain),
        method=_method(cases, few),
        approximate=few,
        cases=rows,
        class_count=len(names),
        picks_only=picks_only,
    )


def state_of(rejected: bool, upper: float, detectable: float | None, zeros: int, confused: bool = False) -> State:
    """Return the state: what was found, and whether it matters.

    What confusions of classes cost is not in `upper`, which holds level, slope and ranges.
    """
    if rejected:
        return "found" if upper >= SMALL or zeros or confused else "slight"
    if detectable is not None and detectable >= TOO_FEW:
        return "too few"
    small = detectable is not None and max(upper, detectable) < SMALL
    return "calibrated" if small and not zeros else "none found"


def not_measurable(reason: Reason, number: int | None = None, needed: int | None = None) -> Verdict:
    """Return the verdict of data that allow none."""
    nothing = unknown(why_not(reason, number, needed))
    return Verdict(
        word_of("not measurable"),
        "not measurable",
        None,
        LevelTest(None),
        ConfidenceTest(None),
        ShapeTest(None),
        slope=nothing,
        intercept=None,
        ratio=None,
        gain=nothing,
        detectable=None,
        zero_rows=0,
        reason=reason,
        number=number,
        needed=needed,
    )


def spread_zeros(p: Floats, rows: int) -> Floats:
    """Return forecasts whose zero entries share 1/(2·rows) in each row, and whose others are reduced by that share."""
    share = 1.0 / (2.0 * rows)
    if p.ndim == 1:
        return np.where(p == 0.0, share, np.where(p == 1.0, 1.0 - share, p))
    zero = p == 0.0
    number = zero.sum(axis=1, keepdims=True)
    return np.where(zero, share / np.maximum(number, 1), np.where(number > 0, p * (1.0 - share), p))


def in_class_order(p: Floats, y: NDArray[np.int64], order: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Return forecasts and outcomes with the classes in this order; of two classes the probability of the second."""
    if len(order) > 2:
        return p[:, order], np.argsort(order)[y]
    p = p[:, 1] if p.ndim == 2 else p
    inside = np.clip(p, TINY, 1.0 - TINY)
    p = np.where((p > 0.0) & (p < 1.0), inside, p)
    return (1.0 - p, 1 - y) if order[0] == 1 else (p, y)


def _level(tests: Tests, p: Floats, names: Sequence[str], order: NDArray[np.int64], several: bool) -> LevelTest:
    """Return the classes whose frequencies are wrong: those whose |z| exceeds the largest of most draws.

    Outcomes of forecasts that are too extreme vary by more than these say, so a class is named only if its residual is
    also large beside the variance of the corrected forecasts.
    """
    cases, k = tests.cases, tests.cases.levels
    corrected = fit(cases.for_fit(p), p, level=several, scalar=True).p
    variance = np.maximum(tests.variances, cases.variances(corrected))[:k]
    size = np.abs(tests.residuals[:k]) / np.sqrt(variance + 1.0)
    # Draws of nearly certain forecasts hardly vary, so the normal quantile is a limit too.
    limit = max(tests.largest(slice(k)), quantile(1.0 - NAMED / k))
    worst = [j for j in np.argsort(-size, kind="stable") if size[j] > limit]
    shares, z = np.atleast_1d(cases.mass @ p) / cases.n, tests.residuals[:k] / np.sqrt(np.maximum(variance, 1e-300))
    events = shares + tests.residuals[:k] / cases.n
    if k == 1:  # the event, as the caller named it
        if order[0] == 1:
            shares, events, z = 1.0 - shares, 1.0 - events, -z
        order = np.array([1])
    by_class = {names[order[j]]: ClassLevel(float(shares[j]), float(events[j]), float(z[j])) for j in worst}
    return LevelTest(tests.p["level"], by_class)


def _confidence(
    tests: Tests, judged: Judged, classes: int, zeros: bool, picks: bool, seed: int, every: AllEntries | None
) -> ConfidenceTest:
    """Return the direction of confidence: that of what the level does not explain, or of all where the level is right.

    Where the level is wrong the class frequencies are matched first: the level explains more than its tangent does. An
    outcome that was ruled out was too confident a forecast.
    """
    cases, p, flipped = tests.cases, judged.p, judged.flipped
    own, (projected, sign) = tests.p["confidence"], tests.slope
    if tests.p.get("level", 1.0) <= ALPHA:
        matched = fit(cases.for_fit(p), p, level=True).p
        projected, sign = run_tests(cases.for_test(matched), matched, seed).slope
    elif own <= NAMED < projected:
        projected, sign = own, float(np.sign(tests.residuals[0 if picks else cases.levels]))
    named = sign if projected <= NAMED else 0.0
    direction = OVER if named < 0.0 or zeros else UNDER if named > 0.0 else None
    ends = _where(tests, direction, classes, zeros, flipped) if direction else None
    return ConfidenceTest(own, direction, where=_range(tests, p, *ends, flipped, every) if ends else None)


def _bend(cases: Two, p: Floats, flipped: bool, seed: int) -> Bend | None:
    """Return how the curve is bent beyond its best level and slope; where each end of the scale is off so, that."""
    matched = fit(cases.for_fit(p), p, level=True, scalar=True).p
    value, sign = run_tests(cases.for_test(matched), matched, seed).bend
    missed, variance = cases.mass * (cases.y - p), cases.mass2 * p * (1.0 - p)
    ends = [float(missed[end].sum() / np.sqrt(variance[end].sum() + 1.0)) for end in (p < LOW_END, p >= 1.0 - LOW_END)]
    if value > NAMED:
        return None
    upwards, at_ends = (sign > 0.0) != flipped, min(sign * z for z in ends) > 1.0
    return (TOO_LOW if upwards else TOO_HIGH) if at_ends else UPWARDS if upwards else DOWNWARDS


def _pairs(
    tests: Tests, cases: Many, p: Floats, names: Sequence[str], order: NDArray[np.int64]
) -> tuple[ClassPair, ...]:
    """Return pairs of classes: one that happened where the other was given, beyond the largest of most draws."""
    joint, columns = cases.joint(p), slice(cases.beyond, None)
    spread = tests.draws[:, columns].std(axis=0)
    some = spread > 1e-9 * max(float(spread.max()), 1e-300)
    scale = np.where(some, 1.0 / np.where(some, spread, 1.0), 0.0)
    z, drawn = tests.residuals[columns] * scale, tests.draws[:, columns] * scale
    limit = float(np.quantile(np.abs(drawn).max(axis=1), 1.0 - ALPHA))
    alone = np.bincount(joint.of_class, minlength=joint.size) == 1  # the rest of many classes has no name
    label = {int(group): names[order[k]] for k, group in enumerate(joint.of_class)}
    pairs = []
    for place in np.argsort(-z, kind="stable"):
        j, k = divmod(int(place), joint.size)
        if z[place] <= limit:
            break
        if alone[j] and alone[k]:
            pairs.append(ClassPair(label[j], label[k], float(z[place])))
    return tuple(pairs)


def _shape(tests: Tests, p: Floats, several: bool) -> int | None:
    """Return the range that is most wrong, if it still is when level and slope are corrected."""
    cases, columns = tests.cases, slice(tests.cases.levels + 1, tests.cases.beyond)
    corrected = fit(cases.for_fit(p), p, level=several, scalar=True).p
    left = cases.residuals(corrected)[columns] / np.sqrt(cases.variances(corrected)[columns] + 1.0)
    z, largest = tests.z(columns), tests.largest(columns)
    wrong = (np.abs(left) > largest) & (np.abs(z) > largest) & (left * z > 0.0)
    return int(np.argmax(np.where(wrong, np.abs(left), 0.0))) if wrong.any() else None


def _where(tests: Tests, direction: str, classes: int, zeros: bool, flipped: bool) -> tuple[int, int] | None:
    """Return the first and the last range that together show this direction of confidence most significantly.

    They are single ranges, or all from one on in which a forecast names the outcome; such ones come first, as people
    understand them best. The ranges of zeros are left out if any failed.
    """
    upper, lower = EDGES[:-1] >= 1.2 / classes - 1e-9, EDGES[1:] <= 0.8 / classes + 1e-9
    sign = np.where(upper, -1.0, np.where(lower, 1.0, 0.0)) * (1.0 if direction == OVER else -1.0)
    if zeros:
        sign[[0, -1]] = 0.0
    likely = EDGES[1:] <= 1.0 - LIKELY + 1e-9 if flipped else EDGES[:-1] >= LIKELY - 1e-9
    named = [] if zeros else [int(b) for b in np.flatnonzero(likely)]
    at, last = np.array([*range(RANGES), *named]), 0 if flipped else RANGES - 1
    spans = [(b, b) for b in range(RANGES)] + [(min(b, last), max(b, last)) for b in named]
    chosen = np.array([[first <= b <= end for b in range(RANGES)] for first, end in spans], dtype=np.float64)
    columns = slice(tests.cases.levels + 1, tests.cases.beyond)
    scale = np.sqrt(chosen @ tests.variances[columns] + 1.0)  # at most one entry of a row is likely: variances add up
    z, drawn = chosen @ tests.residuals[columns] / scale, tests.draws[:, columns] @ chosen.T / scale
    fits = (np.abs(z) > np.quantile(np.abs(drawn).max(axis=1), 1.0 - ALPHA) * (1.0 + 1e-9)) & (sign[at] * z > 0.0)
    if (fits & likely[at]).any():
        fits &= likely[at]
    return spans[int(np.argmax(np.where(fits, np.abs(z), 0.0)))] if fits.any() else None


def _range(tests: Tests, p: Floats, first: int, last: int, flipped: bool, every: AllEntries | None) -> Range:
    """Return the frequencies of forecasts in these ranges: of all cases, with z as the test saw it."""
    cases = tests.cases
    columns = slice(cases.levels + 1 + first, cases.levels + 2 + last)
    z = float(tests.residuals[columns].sum() / np.sqrt(tests.variances[columns].sum() or 1.0))  # 0: next to impossible
    inside = (cases.ranges >= first) & (cases.ranges <= last)
    if every is not None:
        count, expected, events = every.between(first, last, flipped)
    elif isinstance(cases, Two):
        count, expected, events = (float(cases.mass[inside] @ x[inside]) for x in (np.ones(len(p)), p, cases.y))
    else:
        count = float(cases.mass @ inside.sum(axis=1))
        expected = float(cases.mass @ np.where(inside, p, 0.0).sum(axis=1))
        events = float(cases.mass @ inside[cases.at_outcome])
    low, high = float(EDGES[first]), float(EDGES[last + 1])
    if flipped:
        low, high, expected, events, z = round(1 - high, 3), round(1 - low, 3), count - expected, count - events, -z
    return Range(low, high, expected / count, events / count, count, events, expected, z)


def _typical(cases: Two | Many, p: Floats, zeros: int) -> tuple[float, float]:
    """Return the probability that the forecasts typically expect to give to the outcome, and the one they gave."""
    expected, realised = (
        float(np.exp(cases.mass @ logs / cases.n)) for logs in (cases.mean_log(p), np.log(cases.realised(p)))
    )
    return expected, 0.0 if zeros else realised


def _means_of_picks(cases: Two | Many, p: Floats) -> tuple[float, float]:
    """Return mean confidence and the share of picks that were right."""
    return float(cases.mass @ p / cases.n), float(cases.mass @ cases.y / cases.n)


def _reason(cases: Two | Many, p: Floats, certain: bool) -> Reason | None:
    if certain:
        return Reason.ONLY_CERTAIN_FORECASTS
    if (p == p[0]).all():
        return Reason.CONSTANT
    return Reason.ONE_CLASS if (cases.y == cases.y[0]).all() else None


def _method(cases: Two | Many, approximate: bool) -> str:
    signs = "" if cases.block is None else f"signs of {len(np.unique(cases.block))} blocks"
    return signs + (", approximate" if approximate else "") or f"{DRAWS} draws of outcomes from the forecasts"
