"""How long it takes to find a change: the monitor itself, on forecasts of the reference with drawn outcomes."""

from __future__ import annotations

import math

import numpy as np

from veracity.estimate.monitoring.alternatives import TwoClasses
from veracity.estimate.monitoring.detector import THRESHOLDS, Detector
from veracity.estimate.monitoring.reference import Alternatives, Days, Reference
from veracity.records.monitoring import DAY, Delay
from veracity.types import Array, Floats

DRAWS, MOST_UPDATES, CELLS = 40, 200, 128
LEVEL, SLOPE = "level", "slope"
CHANGES = ((LEVEL, -0.3), (LEVEL, 0.3), (SLOPE, 0.8), (SLOPE, 0.6))
SEED = 40


def expected_delays(reference: Reference, days: Days, updates: str = DAY) -> tuple[Delay, ...]:
    """Return the median number of updates until each change is found, in updates with the reference's usual cases.

    Forecasts are drawn from `days`, those of the reference, outcomes from its recalibration with the change; days
    differ by as much as the reference says, each draw by one of its likely variances.
    """
    rows = _some_rows(days)
    table = _ratios_by_outcome(reference.alternatives, rows)
    return tuple(
        Delay(what, size, _until(reference, rows, table, what, size, number, updates), MOST_UPDATES, reference.usual)
        for number, (what, size) in enumerate(CHANGES)
    )


def updates_until(
    reference: Reference, days: Days, what: str, size: float, *, share: float = 0.5, updates: str = DAY
) -> float | None:
    """Return the number of updates until a change is found in this share of simulations; None: more than 200."""
    rows = _some_rows(days)
    table = _ratios_by_outcome(reference.alternatives, rows)
    return _until(reference, rows, table, what, size, len(CHANGES), updates, share)


def _until(
    reference: Reference,
    rows: Floats,
    table: Floats,
    what: str,
    size: float,
    seed: int,
    updates: str,
    share: float = 0.5,
) -> float | None:
    alternatives = reference.alternatives
    shape = len(alternatives.nulls), 1 + len(alternatives.weights)
    rng = np.random.default_rng([SEED, seed])
    shares = _shares(alternatives, rows, what, size)
    detector = Detector.new(alternatives, reference.weights, updates, (DRAWS,))
    between = rng.choice(reference.variances, p=reference.weights, size=DRAWS)
    expected = alternatives.expected(rows)
    delay = np.full(DRAWS, np.inf)
    place = min(int(DRAWS * share), DRAWS - 1)
    for update in range(MOST_UPDATES):
        counts = _drawn(rng, between, shares, reference.usual)
        ratios = (counts.reshape(DRAWS, -1) @ table).reshape(DRAWS, *shape)
        detector = detector.after(ratios, *reference.of_day(*residuals_of_counts(counts, expected)), update)
        found = detector.evidence(alternatives) >= math.log(THRESHOLDS[updates])
        delay[np.isinf(delay) & found] = update + 1
        if np.isfinite(delay).sum() > place:
            break
    wait = float(np.sort(delay)[place])
    return wait if math.isfinite(wait) else None


def _some_rows(days: Days) -> Floats:
    """Return forecasts of the same frequency each, evenly spaced in the order of their first log-odds."""
    order = np.argsort(days.x if days.k == 2 else days.x[:, 0], kind="stable")
    share = np.cumsum(days.count[order]) / days.count.sum()
    number = min(CELLS, int(days.count.sum()))
    at = np.searchsorted(share, (np.arange(number) + 0.5) / number)
    return days.x[order[np.minimum(at, len(order) - 1)]]


def _ratios_by_outcome(alternatives: Alternatives, rows: Floats) -> Floats:
    """(rows·k, nulls·alternatives) log ratios of each forecast, outcome by outcome."""
    if isinstance(alternatives, TwoClasses):
        none, more = alternatives.ratios(rows)
        return np.stack([none, none + more], axis=1).reshape(2 * len(rows), -1)
    return alternatives.by_outcome(rows).reshape(rows.size, -1)


def _shares(alternatives: Alternatives, rows: Floats, what: str, size: float) -> Floats:
    """(rows, k) probabilities of the outcomes after the change; a level is that of the event or of the first class."""
    from scipy.special import log_softmax

    if isinstance(alternatives, TwoClasses):
        a, b = alternatives.nulls[0]
        m = alternatives.centre[0]
        eta = m + (size if what == SLOPE else 1.0) * (a + b * rows - m) + (size if what == LEVEL else 0.0)
        logs: Array = np.column_stack([np.zeros(len(rows)), eta])
    else:
        logs = alternatives.log_null(rows) * (size if what == SLOPE else 1.0)
        logs[:, alternatives.frequent[0]] += size if what == LEVEL else 0.0
    return np.asarray(log_softmax(logs, axis=1))


def residuals_of_counts(counts: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """(…, classes) observed less expected numbers, and their variance, of counts (…, rows, k); one column of two."""
    c = expected[:, None] if expected.ndim == 1 else expected
    n, observed = counts.sum(axis=-1), counts.sum(axis=-2)[..., -c.shape[1] :]
    return observed - n @ c, n @ (c * (1.0 - c))


def _drawn(rng: np.random.Generator, between: Floats, log_shares: Floats, cases: int) -> Floats:
    """(draws, rows, k) numbers of forecasts by outcome in one update of days that differ."""
    rows, k = log_shares.shape
    effect = np.zeros((DRAWS, 1, k))
    effect[:, 0, 1:] = np.sqrt(between)[:, None] * rng.standard_normal((DRAWS, k - 1))
    shares = np.exp(log_shares + effect)
    shares /= shares.sum(axis=2, keepdims=True)
    n = rng.multinomial(cases, np.full(rows, 1.0 / rows), size=DRAWS)
    return rng.multinomial(n, shares).astype(np.float64)
