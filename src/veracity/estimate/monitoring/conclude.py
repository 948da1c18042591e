"""What the state of a monitor says: windows, alarms, and what changed since when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np

from veracity.estimate.intervals import exponential
from veracity.estimate.monitoring.detector import THRESHOLDS
from veracity.estimate.monitoring.reference import Reference
from veracity.estimate.monitoring.watch import MONDAY, State, Update
from veracity.formulas.intervals import quantile
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.records.monitoring import OVER, UNDER, WEEK, Alarm, Change, MonitorRecord, MonitorWindow, NullMap
from veracity.types import Array

FEWEST = 10  # of either outcome in a window with a slope


def concluded(state: State, window: str, level: float = 0.95) -> MonitorRecord:
    """Return everything that the state says, in windows of days, months or updates."""
    history = state.history
    threshold = THRESHOLDS[state.updates]
    last = history[-1]
    return MonitorRecord(
        classes=state.classes,
        updates=state.updates,
        threshold=threshold,
        n=sum(update.n for update in history),
        number=len(history),
        start=moment(state, history[0].key),
        end=moment(state, last.key, end=True),
        reference=None if state.reference is None else _null_map(state.reference),
        evidence=exponential(last.evidence),
        e_value=exponential(last.e_value),
        alarms=tuple(_alarms(state, math.log(threshold))),
        change=_change(state) if last.evidence >= math.log(threshold) else None,
        windows=tuple(_window(state, part, level) for part in _parts(state, window)),
        delays=() if state.reference is None else state.reference.delays,
        findings=_findings(state),
    )


def moment(state: State, key: int, *, end: bool = False) -> str:
    """Return the day of an update, of a week its first or last; times that are no dates as numbers."""
    first = 7 * key - MONDAY if state.updates == WEEK else key
    day = first + 6 if end and state.updates == WEEK else first
    return str(np.datetime64(day, "D")) if state.dates else str(day)


def _null_map(reference: Reference) -> NullMap:
    null = reference.alternatives.nulls[0]
    variance = reference.variance
    a, b = (float(null[0]), float(null[1])) if len(null) == 2 else (0.0, float(null[-1]))
    sd = None if variance is None else math.sqrt(variance)
    maps = len(reference.alternatives.nulls)
    return NullMap(a, b, maps, reference.cases, reference.days, 1.0 + (variance or 0.0) * reference.spread, sd)


def _parts(state: State, window: str) -> list[list[Update]]:
    """Return the updates of each window: days, months, or a number of updates."""
    if window.endswith("d"):
        length = int(window[:-1])
        days = 7 if state.updates == WEEK else 1
        start = state.history[0].key * days
        places = [(update.key * days - start) // length for update in state.history]
    elif window.endswith("m"):
        months = [int(np.datetime64(moment(state, u.key), "M").astype(np.int64)) for u in state.history]
        places = [(month - months[0]) // int(window[:-1]) for month in months]
    else:
        places = [i // int(window) for i in range(len(state.history))]
    pairs = zip(places, state.history, strict=True)
    return [[update for _, update in group] for _, group in groupby(pairs, key=lambda pair: pair[0])]


def _window(state: State, part: Sequence[Update], level: float) -> MonitorWindow:
    n = sum(update.n for update in part)
    predicted, expected, observed = (_mean(state, part, name) for name in ("predicted", "expected", "observed"))
    variance = sum(update.variance * update.phi for update in part)
    gap = sum(update.observed - update.expected for update in part)
    z = gap / math.sqrt(variance) if variance > 0.0 and math.isfinite(gap) else None
    half = quantile(level) * math.sqrt(variance) / n
    two = len(state.classes) == 2
    low, high = (expected + side if two else expected * math.exp(side) for side in (-half, half))
    last = part[-1]
    return MonitorWindow(
        start=moment(state, part[0].key),
        end=moment(state, last.key, end=True),
        n=n,
        predicted=predicted,
        expected=expected,
        observed=observed,
        low=max(low, 0.0),
        high=min(high, 1.0),
        z=z,
        log_loss=sum(update.log_loss for update in part) / n,
        expected_log_loss=sum(update.expected_log_loss for update in part) / n,
        slope=_slope(part),
        e_value=exponential(last.e_value),
        evidence=exponential(last.evidence),
    )


def _mean(state: State, part: Sequence[Update], name: str) -> float:
    """Return a share of the event, or a typical probability of the outcome."""
    mean = sum(getattr(update, name) for update in part) / sum(update.n for update in part)
    return float(mean if len(state.classes) == 2 else math.exp(mean))


def _slope(part: Sequence[Update]) -> float | None:
    """Return 1 plus one Newton step along the centred log-odds, orthogonal to the level."""
    events, n = sum(update.observed for update in part), sum(update.n for update in part)
    score, square, cross = np.sum([update.slope for update in part], axis=0)
    variance = sum(update.variance for update in part)
    if min(events, n - events) < FEWEST or variance <= 0.0:
        return None
    left = square - cross**2 / variance
    gap = sum(update.observed - update.expected for update in part)
    return float(1.0 + (score - cross / variance * gap) / left) if left > 1e-9 * square else None


def _alarms(state: State, line: float) -> list[Alarm]:
    alarms: list[Alarm] = []
    above = [update.evidence >= line for update in state.history]
    for i, (now, update) in enumerate(zip(above, state.history, strict=True)):
        if now and (i == 0 or not above[i - 1]):
            alarms.append(Alarm(moment(state, update.key)))
        elif not now and i and above[i - 1]:
            alarms[-1] = Alarm(alarms[-1].start, moment(state, state.history[i - 1].key, end=True))
    return alarms


def _change(state: State) -> Change:
    assert state.alternatives is not None
    assert state.detector is not None
    began, words, changed = state.detector.explanation(state.alternatives)
    part = state.history[began:]
    n = sum(update.n for update in part)
    typical = changed is None and (len(state.classes) > 2 or (bool(words) and set(words) <= {OVER, UNDER}))
    means = ("expected_log_loss", "log_loss") if typical else ("expected", "observed")
    sums = [sum(getattr(update, mean) for update in part) / n for mean in means]
    expected, observed = (math.exp(-x) for x in sums) if typical else sums
    name = None
    if changed is not None:
        frequent: Array = state.alternatives.frequent  # type: ignore[union-attr]
        place = int(np.flatnonzero(frequent == changed)[0])
        expected, observed = (float(x) / n for x in np.sum([update.by_class[:, place] for update in part], axis=0))
        name = state.classes[changed]
    until = moment(state, state.history[began - 1].key, end=True) if began else None
    return Change(moment(state, state.history[began].key), until, words, n, expected, observed, name, typical)


def _findings(state: State) -> tuple[Finding, ...]:
    findings: list[Finding] = []
    keys = [update.key for update in state.history]
    lacking = [key for a, b in pairwise(keys) for key in range(a + 1, b)]
    if lacking and state.dates:
        span, first = keys[-1] - keys[0] + 1, moment(state, lacking[0])
        findings.append(of_results.UpdatesWithoutCases(len(lacking), span, what=state.updates, first=first))
    if zeros := sum(update.zeros for update in state.history):
        findings.append(of_results.ImpossibleOutcomes(zeros, sum(update.n for update in state.history)))
    if state.reference is None:
        findings.append(of_results.NoReference())
    elif state.reference.variance is None:
        findings.append(of_results.UnknownDays(days=state.reference.days))
    return tuple(findings)
