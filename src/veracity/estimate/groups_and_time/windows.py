"""Windows of time: the readings of each, and whether they drift."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.comparison.compare import FEWEST_TIMES, Dependence
from veracity.estimate.groups_and_time import stability
from veracity.estimate.groups_and_time.stability import LEVEL, SLOPE, aligned
from veracity.formulas.differences import half_width, holm
from veracity.records.reading import Reading
from veracity.records.stability import Drift, PValue, Window
from veracity.state.clusters import CLUSTER, SCORES, TIME, ClusterSums
from veracity.state.tally import Tally
from veracity.types import Ints

FEW = f"fewer than {FEWEST_TIMES} times: no interval"
MOST_ROWS, MOST_ENTRIES = 1 << 17, 1_000_000  # of analysis rows that are tested
SHOWN = {"log_loss": "log", "brier": "brier", "accuracy": "correct", "excess": "excess"}


def windows(tally: Tally) -> tuple[Window, ...]:
    """Return the readings of each window of time; none where the plan has no windows."""
    if tally.plan.window is None or tally.by_key is None:
        return ()
    sums = tally.by_key.sums
    place = _windows_of(sums, tally.plan.window)
    periods = []
    for number in np.unique(place):
        index = np.flatnonzero(place == number)
        part = ClusterSums(TIME, sums.keys[index], sums.cases[index], sums.weight[index], sums.values[index])
        periods.append(_window(part, tally))
    return tuple(periods)


def drifts(tally: Tally) -> Drift | None:
    """Return the test that calibration changes slowly in time; None without times."""
    if tally.by_key is None or tally.by_key.sums.kind == CLUSTER:
        return None
    times = len(tally.by_key.sums)
    if not tally.measurable or tally.shares_only:
        return _untested("forecasts cannot be compared with outcomes")
    if times < stability.FEWEST_TIMES:
        number = f"{times} different time{'' if times == 1 else 's'}"
        return _untested(f"{number}: too few to test, at least {stability.FEWEST_TIMES} needed")
    rows = tally.few_rows(MOST_ROWS, MOST_ENTRIES)
    assert rows.time is not None
    sample = aligned(rows, np.asarray(rows.time))
    p_values = stability.drift(sample.cases, sample.p, sample.beside)
    if p_values is None:
        return _untested(f"too few times in a sample of {len(rows):,} rows to test")
    cosines = stability.Cosines.of(sample.beside)
    method = f"two slowest of {cosines.number} cosines of {cosines.times:,} times"
    return Drift(PValue(p_values[LEVEL]), PValue(p_values[SLOPE]), float(holm(list(p_values.values())).min()), method)


def _untested(reason: str) -> Drift:
    return Drift(PValue(None), PValue(None), None, "", reason)


def _windows_of(sums: ClusterSums, window: str) -> Ints:
    """(times,) number of the window of each time."""
    if window.endswith("d"):
        days = sums.keys - np.floor(sums.keys[0])
        return np.asarray(np.floor(days / int(window[:-1])).astype(np.int64))
    if window.endswith("m"):
        months = _dates(sums.keys).astype("datetime64[M]").astype(np.int64)
        return np.asarray((months - months[0]) // int(window[:-1]))
    before = np.cumsum(sums.cases) - sums.cases
    return np.asarray(before // int(window))


def _dates(days: NDArray[np.float64]) -> NDArray[np.datetime64]:
    return (days * 86_400e6).round().astype(np.int64).astype("datetime64[us]")


def _window(part: ClusterSums, tally: Tally) -> Window:
    dependence = Dependence(TIME, None if tally.plan.lags is None else min(tally.plan.lags, len(part) - 1))
    total = part.weight.sum()
    means = part.values.sum(axis=0) / total
    enough = len(part) >= FEWEST_TIMES
    errors, df = dependence.error(part.influences(slice(None))) if enough else (np.zeros(len(SCORES)), math.inf)
    half = half_width(tally.plan.level, df)

    def reading(name: str) -> Reading:
        i = SCORES.index(SHOWN[name])
        if not enough:
            return Reading(float(means[i]), reason=FEW)
        wide = half * float(errors[i])
        low, high = float(means[i]) - wide, float(means[i]) + wide
        if name != "excess":
            low, high = max(low, 0.0), min(high, 1.0) if name == "accuracy" else high
        return Reading(float(means[i]), low, high, dependence.method(part, paired=""))

    names = ("log_loss", *(("brier", "accuracy", "excess") if tally.measurable else ()))
    ends = [_text(float(key), tally.names.dates) for key in (part.keys[0], part.keys[-1])]
    readings = {name: reading(name) for name in names}
    shares = _shares(part, tally)
    return Window(ends[0], ends[1], int(part.cases.sum()), readings.pop("log_loss"), **readings, **shares)  # type: ignore[arg-type]


def _shares(part: ClusterSums, tally: Tally) -> dict[str, float | None]:
    """Return predicted and observed share of the event, or typical probability of the outcome; their ratio and z."""
    if not tally.measurable or (tally.k > 2 and tally.sums.zeros):
        return {}
    sums = dict(zip(SCORES, part.values.sum(axis=0).tolist(), strict=True))
    total, variance = float(part.weight.sum()), sums["variance"]
    if tally.k == 2:
        predicted, observed, gap = sums["predicted"] / total, sums["observed"] / total, sums["observed"]
        gap -= sums["predicted"]
    else:
        predicted, observed = math.exp((sums["excess"] - sums["log"]) / total), math.exp(-sums["log"] / total)
        gap = -sums["excess"]
    z = gap / math.sqrt(variance) if variance > 0.0 and not tally.shares_only else None
    return {"predicted": predicted, "observed": observed, "ratio": predicted / observed if observed else None, "z": z}


def _text(moment: float, dates: bool) -> str:
    if not dates:
        return f"{moment:.10g}"
    text = str(_dates(np.array([moment]))[0].astype("datetime64[s]"))
    return text.removesuffix("T00:00:00")
