"""Over-confident, under-confident, matched or undetermined (theory section 4.1a).

The papers' slope mistakes a wrong level for confidence, so the verdict uses the slope after the class frequencies have
been matched, and an interval that comes from what calibrated forecasts of the same cases would show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity import maps
from veracity.data import Forecasts
from veracity.data.reading import Reading, quantile, undefined
from veracity.estimate.curves import Curve
from veracity.estimate.means import Measured, not_measurable
from veracity.estimate.scores import AT, Profile, frequencies
from veracity.state.cells import rows_of_two
from veracity.state.sampling import few, in_order, take
from veracity.state.tally import Tally

Floats = NDArray[np.float64]

MATCHED = (0.95, 1.05)  # the slopes that nobody would act on
MARGIN = (0.98, 1.02)  # an interval must clear these before a model is called over- or under-confident
NULL_ROWS, NULL_DRAWS = 20_000, 999
FEWEST_ROWS, FEWEST_BINS, LEAST_SPREAD = 100, 5, 0.01
FLOOR = 0.005
MOST_ENTRIES = 20_000_000  # of rows that are adjusted; beyond, a sample of rows by hash serves
BLOCK = 1 << 21  # drawn outcomes held at once
LEVEL_SHARE = 0.01  # of the log loss, before a wrong level is worth a sentence
LEVEL_CLASSES = 10
FEWEST_LEVEL = 20  # cases: the frequencies of fewer are no level to speak of


@dataclass(frozen=True)
class Verdict:
    """word: over-confident, under-confident, matched or undetermined; level: {class: forecast and observed share}."""

    word: str
    slope_adjusted: Reading
    reason: str | None = None
    level: dict[str, dict[str, float]] | None = None
    rows_needed: int | None = None


def verdict(tally: Tally) -> Verdict:
    if not tally.measurable:
        return Verdict("undetermined", not_measurable(), not_measurable().reason)
    rows = rows_to_adjust(tally)
    if len(rows) <= NULL_ROWS:
        # In an order that does not depend on how the rows were given, so that the null draws do not either.
        rows = take(rows, in_order(rows))
    assert rows.probabilities is not None
    try:
        adjusted = maps.fit("multiplicative", rows)(rows.probabilities)
    except maps.InfeasibleTarget as problem:
        ruled_out = "too often, what happened had been ruled out" if problem.classes else "no adjustment was found"
        unmatched = f"the class frequencies cannot be matched: {ruled_out}"
        return Verdict("undetermined", undefined(unmatched), unmatched)
    f = Forecasts(adjusted, rows.outcomes, rows.classes, rows.weights, rows.counts)
    plan = replace(tally.plan, preset=None, floor=max(tally.plan.floor, FLOOR))
    of_adjusted = Tally.count(f, plan)
    measured = Measured(of_adjusted, Profile(of_adjusted))
    slope = measured.slope()
    d, r = AT["decisiveness"], AT["robustness"]
    spread = float(measured.profile.values[d] - measured.profile.values[r])
    level = wrong_level(tally, rows, adjusted)
    reason = _too_little(tally, measured, spread)
    if reason is None and tally.sums.rows <= NULL_ROWS:
        slope = null_interval(float(slope), f, measured)
    reason = reason or slope.reason
    if reason is not None:
        value = Reading(float(slope), reason=reason) if np.isfinite(slope) else undefined(reason)
        return Verdict("undetermined", value, reason, level)
    assert slope.low is not None
    assert slope.high is not None
    word = word_for(slope.low, slope.high)
    needed = rows_needed(slope, tally.cases) if word == "undetermined" else None
    reason = "the interval of the slope is too wide" if word == "undetermined" else None
    return Verdict(word, slope, reason, level, needed)


def word_for(low: float, high: float) -> str:
    """The word for an interval of the adjusted slope."""
    if MATCHED[0] <= low and high <= MATCHED[1]:
        return "matched"
    if high < MARGIN[0]:
        return "over-confident"
    return "under-confident" if low > MARGIN[1] else "undetermined"


def rows_needed(slope: Reading, rows: int) -> int | None:
    """About how many more rows than there are would make the interval as narrow as the difference from one."""
    assert slope.low is not None
    assert slope.high is not None
    if not slope.low > 0.0 or not np.isfinite(slope.high):
        return None
    difference = abs(float(np.log(slope)))
    if difference < 0.01:
        return None
    needed = rows * (float(np.log(slope.high / slope.low)) / 2.0 / difference) ** 2
    digits = 10 ** max(int(np.log10(needed)) - 1, 0)
    rounded = int(np.ceil(needed / digits) * digits)
    return rounded if rounded > rows else None  # the difference is too small to matter, not too hard to see


def _too_little(tally: Tally, measured: Measured, spread: float) -> str | None:
    if tally.shares_only:
        return "the number of cases is unknown"
    if tally.cases < FEWEST_ROWS:
        return f"{tally.cases} {'row' if tally.cases == 1 else 'rows'}; at least {FEWEST_ROWS} are needed"
    if len(measured.curve) < FEWEST_BINS:
        return f"only {len(measured.curve)} different levels of probability; at least {FEWEST_BINS} are needed"
    if spread < LEAST_SPREAD:
        return "the stated probabilities of what happened hardly differ"
    return None


def rows_to_adjust(tally: Tally) -> Forecasts:
    """All rows where they are at hand and not too many; cells of two classes; or the sample."""
    rows = tally.every_row
    if rows is not None and len(rows) * tally.k <= MOST_ENTRIES:
        return rows
    if tally.k == 2:
        return rows_of_two(tally.classwise[1], tally.grid.edges, tally.classes)
    return few(rows, MOST_ENTRIES // tally.k) if rows is not None else tally.sample.rows


def wrong_level(tally: Tally, f: Forecasts, adjusted: Floats) -> dict[str, dict[str, float]] | None:
    """Where class means differ from frequencies, if matching them removes more than 1 % of the log loss for certain."""
    assert f.outcomes is not None
    if tally.sums.n_eff < FEWEST_LEVEL:
        return None
    at = np.arange(len(f)), f.outcomes
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.log(adjusted[at]) - np.log(f.realised)
    some = np.isfinite(gain)  # a zero stays zero: it gains nothing
    share = f.mass[some] / f.mass[some].sum()
    mean = float(share @ gain[some])
    error = float(np.sqrt(share @ (gain[some] - mean) ** 2 / (tally.sums.n_eff - 1.0)))
    loss = tally.sums.score[0, 0] / tally.sums.weight
    if not (mean > LEVEL_SHARE * loss and mean - quantile(tally.plan.level) * error > 0.0):
        return None
    observed, forecast = frequencies(tally), tally.sums.column / tally.sums.weight
    order = np.argsort(-np.abs(forecast - observed), kind="stable")[:LEVEL_CLASSES]
    return {
        str(tally.classes[j]): {"forecast": float(forecast[j]), "observed": float(observed[j])} for j in sorted(order)
    }


def null_interval(slope: float, f: Forecasts, measured: Measured) -> Reading:
    """slope ÷ quantiles of the slopes that calibrated forecasts show: outcomes redrawn from the forecasts.

    A quantile that is not above zero bounds nothing: forecasts that hardly differ often show no spread by chance.
    """
    level = measured.tally.plan.level
    least, most = np.quantile(null_slopes(f, measured), [(1.0 - level) / 2, (1.0 + level) / 2])
    if slope <= 0.0 and least <= 0.0:
        return Reading(slope, reason="no spread is borne out, which may be chance")
    ends = sorted(slope / q if q > 0.0 else np.inf for q in (least, most))
    return Reading(slope, float(ends[0]), float(ends[1]), f"{NULL_DRAWS} null draws")


def null_slopes(f: Forecasts, measured: Measured) -> Floats:
    """Slopes of NULL_DRAWS sets of outcomes drawn from the forecasts, on the same bins."""
    plan, curve = measured.tally.plan, measured.curve
    if f.counts is not None:
        rows = np.repeat(np.arange(len(f)), f.counts)
        weights = None if f.weights is None else f.weights[rows]
        f = Forecasts(f.matrix[rows], f.outcomes[rows], f.classes, weights)  # type: ignore[index]
    p = f.matrix
    # Columns from likely to unlikely: most draws are settled by the first few.
    order = np.argsort(-p, axis=1, kind="stable")
    p = np.take_along_axis(p, order, axis=1)
    cumulative = np.cumsum(p, axis=1)[:, :-1]
    bins = curve.locate(p)
    stated = np.maximum(p, plan.floor)
    weight = np.ones(len(p)) if f.weights is None else f.weights
    rng = np.random.default_rng(plan.random_state)
    at_once = max(1, BLOCK // max(len(p), 1))
    found = []
    for start in range(0, NULL_DRAWS, at_once):
        draws = min(at_once, NULL_DRAWS - start)
        column = _draw(rng.random((draws, len(p))), cumulative)
        row = np.arange(len(p))
        found.append(_slopes(curve, plan.floor, bins[row, column], stated[row, column], weight))
    return np.concatenate(found)


def _draw(u: Floats, cumulative: Floats) -> NDArray[np.int64]:
    """(draws, rows) columns, by inverting the distribution function of each row."""
    draws, rows = u.shape
    column = np.zeros(draws * rows, dtype=np.int64)
    flat = u.ravel()
    active = np.arange(draws * rows)
    for j in range(cumulative.shape[1]):
        active = active[flat[active] > cumulative[active % rows, j]]
        if not len(active):
            break
        column[active] = j + 1
    return column.reshape(draws, rows)


def _slopes(curve: Curve, floor: float, bins: NDArray[Any], stated: Floats, weight: Floats) -> Floats:
    """The slope of each draw: the corrected means of theory section 3 on drawn true counts."""
    draws, n_bins = len(bins), len(curve)
    flat = (np.arange(draws)[:, None] * n_bins + bins).ravel()

    def per_bin(values: Floats) -> Floats:
        spread = np.broadcast_to(values, bins.shape).ravel()
        return np.bincount(flat, spread, draws * n_bins).reshape(draws, n_bins).astype(np.float64)

    true = per_bin(weight)
    true2 = true if np.all(weight == 1.0) else per_bin(weight**2)
    total = weight.sum()
    source = true / curve.weight
    some = true > 0.0
    c = np.where(some, np.maximum(source, floor), 1.0)
    row = np.where(some & (source > floor), true2 / np.where(some, true, 1.0), 0.0) * (1.0 - c)

    def spread(first: Floats, power: Floats) -> Floats:
        return first - power**-1.5

    borne_out = spread(
        (true * c - row * c).sum(axis=1) / total,
        ((true + row / 9.0) * c ** (-2.0 / 3.0)).sum(axis=1) / total,
    )
    shares = weight / total
    # Without the threads of a BLAS, which cost more than they save.
    means = (np.einsum("di,i->d", values, shares) for values in (stated, stated ** (-2.0 / 3.0)))
    found: Floats = borne_out / spread(*means)
    return found
