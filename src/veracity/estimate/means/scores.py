"""Scores of a tally: proper scores, accuracy, ranking, and skill against the baseline."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.intervals import around, exponential
from veracity.formulas.intervals import wilson
from veracity.inputs import Forecasts
from veracity.measures import MEASURES, Measure
from veracity.records.reading import WILSON, Reading, undefined
from veracity.records.sections import Baseline, Scores, Skill
from veracity.state.sums import Sums, squared_deviations
from veracity.state.tally import Tally
from veracity.types import Floats

NOTHING_LOST = "every forecast was certain and right: no interval"
FEWEST = 10  # misses, or outcomes other than the most frequent one, that show how much scores vary
MOST_ENTRIES = 1_000_000  # of rows from which the variance of the forecasts themselves is taken
FEW_MISSES = f"fewer than {FEWEST} outcomes had a probability of 50 % or less: no interval"
FEW_OTHERS = f"fewer than {FEWEST} cases had another outcome than the most frequent one: no interval"


def mean_and_error(sums: Sums, score: int) -> tuple[float, float]:
    """Return the weighted mean of a score and its standard error."""
    total, total2, square2 = sums.score[score].tolist()
    mean = total / sums.weight
    variance = float(squared_deviations(mean, total2, square2, sums.weight2))
    small = sums.n_eff / (sums.n_eff - 1.0) if sums.n_eff > 1.0 + 1e-9 else math.nan
    return mean, math.sqrt(variance * small) / sums.weight


def scores(tally: Tally) -> Scores:
    """Return every registered score that is defined for these forecasts."""
    return _record({m.name: reading_of(m, tally) for m in MEASURES if is_defined(m, tally)})


def no_scores(tally: Tally, reason: str) -> Scores:
    """Return the scores of rows that cannot be assessed: undefined, with the reason."""
    return _record({m.name: undefined(reason) for m in MEASURES if is_defined(m, tally)})


def _record(by_name: dict[str, Reading]) -> Scores:
    known: dict[str, Any] = {name: by_name.pop(name) for name in tuple(by_name) if name in Scores.__dataclass_fields__}
    return Scores(**known, others=by_name)


def is_defined(measure: Measure, tally: Tally) -> bool:
    """Return whether a measure is a score of these forecasts: some need all classes, some two."""
    if measure.section != "scores":
        return False
    return measure.needs == "realised" or (tally.measurable and (measure.needs != "two classes" or tally.k == 2))


def reading_of(measure: Measure, tally: Tally) -> Reading:
    """Return a score from the tally's sums where they give it, else from the analysis rows."""
    of = measure.of or EXACT.get(measure.name)
    return _from_rows(measure, tally) if of is None else of(tally)


def _from_rows(measure: Measure, tally: Tally) -> Reading:
    """Return the value of the mean rows with a delta-method interval; none where it is no function of mean rows."""
    f, method = tally.rows, f"delta method, {tally.basis}" if tally.basis else "delta method"
    if measure.rows is None:
        return Reading(measure(f), reason="no interval is known for this measure")
    values, share = measure.rows(f), f.mass / f.mass.sum()
    mean = share @ values
    steps = 1e-6 * np.maximum(np.abs(mean), 1e-6)
    slopes = [(measure.value(mean + e) - measure.value(mean - e)) / (2.0 * e.max()) for e in np.diag(steps)]
    influence = (values - mean) @ np.array(slopes)
    variance = float(f.squared_mass @ influence**2 / f.squared_mass.sum()) / max(tally.sums.n_eff - 1.0, 1e-9)
    return around(float(measure.value(mean)), math.sqrt(variance), tally.plan.level, measure.bounds, method)


def _log_loss(tally: Tally) -> Reading:
    if tally.sums.zeros:
        return Reading(np.inf, reason=zeros_reason(tally.sums))
    loss, error = mean_and_error(tally.sums, 0)
    return _loss(max(loss, 0.0), max(error, expected_error(tally, 0)), tally, np.inf)


def misses(tally: Tally) -> int:
    """Return the number of cases whose outcome had a probability of at most one half."""
    h = tally.pooled
    return int(h.true[h.cells < tally.grid.edges.searchsorted(0.5, side="right")].sum())


def few_misses(tally: Tally) -> bool:
    """Return whether too few outcomes had a probability of at most one half to show how much means of them vary."""
    return tally.measurable and misses(tally) < FEWEST


def expected_error(tally: Tally, score: int) -> float:
    """Return the standard error of a mean score if outcomes follow the forecasts; 0 where enough of them were misses.

    Where few outcomes had a probability of at most one half, the cases hardly show how much a score varies.
    """
    if tally.sums.n_eff <= 1.0 + 1e-9 or not few_misses(tally):
        return 0.0
    rows = tally.few_rows(MOST_ENTRIES, MOST_ENTRIES)
    p, share = rows.matrix, rows.mass / rows.mass.sum()
    square = np.einsum("ij,ij->i", p, p)[:, None]
    of_outcomes = (-np.log(np.where(p > 0.0, p, 1.0)), 1.0 - 2.0 * p + square, 1.0 - p / np.sqrt(square))[score]
    mean, mean_square = (float(share @ (p * of_outcomes**power).sum(axis=1)) for power in (1, 2))
    variance = mean_square - mean**2
    return math.sqrt(variance / tally.sums.n_eff) if variance > 1e-14 * mean_square else 0.0  # the rest is rounding


def _perplexity(tally: Tally) -> Reading:
    loss = _log_loss(tally)
    low, high = (None if x is None else exponential(x) for x in (loss.low, loss.high))
    return Reading(exponential(loss), low, high, loss.method, loss.reason)


def _mean_score(at: int, highest: float, scale: float = 1.0) -> Callable[[Tally], Reading]:
    def reading(tally: Tally) -> Reading:
        mean, error = mean_and_error(tally.sums, at)
        error = max(error, expected_error(tally, at))
        return _loss(scale * mean, scale * error, tally, highest)

    return reading


def _loss(value: float, error: float, tally: Tally, highest: float) -> Reading:
    """Return a mean loss with its interval; none where nothing was lost, for later cases may lose."""
    if value == error == 0.0:
        return Reading(0.0, reason=NOTHING_LOST)
    return around(value, error, tally.plan.level, (0.0, highest))


def _of_share(share: float, n: float, tally: Tally, method: str) -> Reading:
    low, high = wilson(share, n, tally.plan.level)
    return Reading(share, float(low), float(high), method)


def _accuracy(tally: Tally) -> Reading:
    share = float(tally.frequencies[1]) if tally.picks_only else mean_and_error(tally.sums, 3)[0]
    return _of_share(share, tally.sums.n_eff, tally, WILSON)


def zeros_reason(s: Sums) -> str:
    """Return why a log score has no interval where outcomes had probability 0."""
    return f"{s.zeros:,} {'outcome' if s.zeros == 1 else 'outcomes'} had probability 0: no interval"


def baseline(tally: Tally) -> Baseline:
    """Return the scores of always predicting the observed class frequencies."""
    if not tally.measurable:
        return Baseline()
    prior = tally.frequencies
    entropy = -float(prior @ np.log(np.where(prior > 0.0, prior, 1.0)))
    square = float(prior @ prior)
    return Baseline(
        log_loss=entropy + 0.0,
        brier=1.0 - square,
        half_brier=(1.0 - square) / 2.0 if tally.k == 2 else None,
        spherical=1.0 - math.sqrt(square),
        accuracy=float(prior[1] if tally.picks_only else prior.max()),
    )


def skill(tally: Tally, reference: Baseline) -> Skill:
    """Return 1 − loss ÷ loss of the baseline: 0 is no better than the baseline, 1 is perfect."""
    if not tally.measurable:
        return Skill()
    s, prior, level = tally.sums, tally.frequencies, tally.plan.level
    assert reference.log_loss is not None
    assert reference.brier is not None
    # How one outcome of each class moves the loss of the baseline, up to a constant.
    moves = {
        "log": -np.log(np.where(prior > 0.0, prior, 1.0)),
        "brier": np.where(prior > 0.0, 2.0 * (1.0 - reference.brier) - 2.0 * prior + reference.brier, 0.0),
    }
    readings: dict[str, Reading] = {}
    for name, score, column, base in (("log", 0, 3, reference.log_loss), ("brier", 1, 5, reference.brier)):
        if base < 1e-100:
            readings[name] = undefined("one outcome only: the baseline has no loss to compare with")
            continue
        if name == "log" and s.zeros:
            readings[name] = Reading(-np.inf, reason="infinite: no interval")
            continue
        others = s.by_class.sum(axis=0) - s.by_class[np.argmax(s.by_class[:, 0])]
        if others[0] ** 2 < FEWEST * others[1] and not tally.shares_only:
            readings[name] = Reading(1.0 - s.score[score][0] / s.weight / base, reason=FEW_OTHERS)
            continue
        # 1 − L/U varies as −(x − L)/U + (L/U²)(u − U).
        total, total2, square2 = s.score[score].tolist()
        loss, u = total / s.weight, moves[name]
        a, b = -1.0 / base, loss / base**2
        by_class, squares = (u @ s.by_class).tolist(), float(u * u @ s.by_class[:, 1])
        constant = -a * loss - b * base
        linear = a * total2 + b * by_class[1]
        square = a * a * square2 + 2.0 * a * b * by_class[column] + b * b * squares
        variance = square + 2.0 * constant * linear + constant * constant * s.weight2
        readings[name] = around(1.0 - loss / base, math.sqrt(max(variance, 0.0)) / s.weight, level, (-np.inf, 1.0))
    return Skill(**readings)


def auc(tally: Tally) -> Reading:
    """Return the area under the ROC curve with DeLong's interval; ties count half."""
    if tally.complete:
        score, y, mass = _ranked(tally.rows)
        first = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1]])[: len(score)])
        events = np.add.reduceat(mass * y, first) if len(first) else mass
        others = np.add.reduceat(mass - mass * y, first) if len(first) else mass
    else:
        h = tally.classwise[1]
        events = h.true.astype(float) if h.true_weight is None else h.true_weight
        others = (h.all if h.all_weight is None else h.all_weight) - events
    return _auc(events, others, tally)


def _ranked(f: Forecasts) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Return forecasts of the event, whether it happened, and mass, by ascending forecast."""
    order = np.argsort(f.positive, kind="stable")
    return f.positive[order], np.equal(f.outcomes, 1)[order], f.mass[order]  # type: ignore[arg-type]


def _auc(events: Floats, others: Floats, tally: Tally) -> Reading:
    p, n = events.sum(), others.sum()
    if not (p > 0.0 and n > 0.0):
        return undefined("one outcome only: nothing to rank")
    below = (np.cumsum(others) - others / 2.0) / n
    above = 1.0 - (np.cumsum(events) - events / 2.0) / p
    # Sums of products and not @: threads of a BLAS cost more here than they save.
    area = float((events * below).sum() / p)
    by_class = tally.sums.by_class
    eff = by_class[:, 0] ** 2 / np.maximum(by_class[:, 1], np.finfo(float).tiny)
    of_events = float((events * below**2).sum() / p) - area**2
    of_others = float((others * above**2).sum() / n) - area**2
    variance = of_events / max(eff[1] - 1.0, 1.0) + of_others / max(eff[0] - 1.0, 1.0)
    if variance <= 1e-15 and (area < 1e-9 or area > 1.0 - 1e-9):  # no pair is in the other order: nothing varies
        return _of_share(area, float(eff.min()), tally, f"{WILSON}, of the rarer outcome")
    if float(eff.min()) < FEWEST and not tally.shares_only:
        return Reading(area, reason=FEW_OTHERS)
    return around(area, float(np.sqrt(max(variance, 0.0))), tally.plan.level, (0.0, 1.0), "DeLong")


EXACT: dict[str, Callable[[Tally], Reading]] = {
    "log_loss": _log_loss,
    "brier": _mean_score(1, 2.0),
    "half_brier": _mean_score(1, 1.0, 0.5),
    "spherical": _mean_score(2, 1.0),
    "accuracy": _accuracy,
    "perplexity": _perplexity,
    "auc": auc,
}
