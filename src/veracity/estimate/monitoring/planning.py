"""How many cases are needed to see an error: by the tests that judge, on forecasts of a given base rate and AUC."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from veracity.estimate.calibration.verdict import judge
from veracity.estimate.monitoring.alternatives import TwoClasses
from veracity.estimate.monitoring.delays import LEVEL, SLOPE, updates_until
from veracity.estimate.monitoring.reference import Days, Reference, centre_of
from veracity.progress import tracked
from veracity.records.monitoring import Needed
from veracity.types import Floats

CELLS = 128  # forecasts of equal frequency that stand for all
DRAWS, ROUNDS = 80, 3  # of outcomes at each number of cases, and numbers that are tried
ALPHA = 0.05
MOST = 10_000_000
WIDEST = 12.0  # standard deviation of log-odds beyond which an AUC is 1 in figures
SEED = 40


def source(baseline: float, auc: float) -> Floats:
    """Return log-odds of calibrated forecasts, normally distributed, with this base rate and AUC."""
    normal = np.array([NormalDist().inv_cdf((i + 0.5) / CELLS) for i in range(CELLS)])
    low, high = 0.0, WIDEST
    x = normal
    for _ in range(50):
        sd = (low + high) / 2.0
        x = _centred(normal * sd, baseline)
        low, high = (sd, high) if _auc(x) < auc else (low, sd)
    return x


def needed(x: Floats, what: str, size: float, power: float, per_update: int) -> tuple[Needed, ...]:
    """Return the cases that a verdict, a comparison with the corrected forecasts, and a monitor need."""
    moved = _moved(x, what, size)
    share = float(_share(moved).mean())
    verdict = _for_verdict(x, moved, power)
    comparison = _for_comparison(x, moved, power)
    updates = _for_monitor(x, what, size, power, per_update)
    alone = None if updates is None else updates * per_update
    needs = [("verdict", verdict, None), ("comparison", comparison, None), ("monitor", alone, updates)]
    return tuple(
        Needed(name, cases, None if cases is None else round(cases * share), steps, per_update if steps else None)
        for name, cases, steps in needs
    )


def _share(x: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(x))


def _centred(x: Floats, baseline: float) -> Floats:
    low, high = -60.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _share(x + middle).mean() < baseline else (low, middle)
    return np.asarray(x + (low + high) / 2.0)


def _auc(x: Floats) -> float:
    p = _share(x)  # rising
    below = np.cumsum(1.0 - p) - (1.0 - p) / 2.0
    return float(p @ below / (p.sum() * (1.0 - p).sum()))


def _moved(x: Floats, what: str, size: float) -> Floats:
    """Return the true log-odds where the forecasts have the error."""
    m = centre_of(np.array([0.0, 1.0]), x, np.ones(len(x)))
    return np.asarray(m + (size if what == SLOPE else 1.0) * (x - m) + (size if what == LEVEL else 0.0))


def _for_verdict(x: Floats, moved: Floats, power: float) -> int | None:
    """Return the cases at which the verdict rejects with this power.

    The power at a number of cases is simulated, and the next number follows from a normal test of the same power.
    """
    p, truth = _share(x), _share(moved)
    w = p * (1.0 - p)
    gap = float(((truth - p) ** 2).sum() / w.sum()) * float(w.mean())
    normal = NormalDist()
    aim = normal.inv_cdf(power) + normal.inv_cdf(1.0 - ALPHA / 2.0)
    n = max(30, math.ceil(1.5 * aim**2 / max(gap, 1e-300))) if gap > aim**2 / MOST else MOST
    for round_ in tracked("simulating", range(ROUNDS), ROUNDS):
        if n >= MOST:
            return None
        rng = np.random.default_rng([SEED, round_])
        share = float(np.mean([_rejects(rng, p, truth, n) for _ in range(DRAWS)]))
        share = min(max(share, 0.5 / DRAWS), 1.0 - 0.5 / DRAWS)
        seen = normal.inv_cdf(share) + normal.inv_cdf(1.0 - ALPHA / 2.0)
        n = max(20, math.ceil(n * min(max((aim / max(seen, 0.3)) ** 2, 0.25), 8.0)))
    return n


def _rejects(rng: np.random.Generator, p: Floats, truth: Floats, n: int) -> bool:
    count = rng.multinomial(n, np.full(len(p), 1.0 / len(p)))
    events = rng.binomial(count, truth)
    counts = np.concatenate([events, count - events])
    some = counts > 0
    y = np.repeat([1, 0], len(p))[some]
    verdict = judge(np.concatenate([p, p])[some], y, ("0", "1"), counts=counts[some])
    return verdict.p is not None and verdict.p <= ALPHA


def _for_comparison(x: Floats, moved: Floats, power: float) -> int | None:
    """Return the cases at which the log losses of these and of the corrected forecasts differ with this power."""
    p, truth = _share(x), _share(moved)
    event, other = np.log(truth / p), np.log((1.0 - truth) / (1.0 - p))
    mean = float((truth * event + (1.0 - truth) * other).mean())
    square = float((truth * event**2 + (1.0 - truth) * other**2).mean())
    normal = NormalDist()
    aim = normal.inv_cdf(power) + normal.inv_cdf(1.0 - ALPHA / 2.0)
    n = aim**2 * (square - mean**2) / mean**2 if mean > 0.0 else math.inf
    return math.ceil(n) if n < MOST else None


def _for_monitor(x: Floats, what: str, size: float, power: float, per_update: int) -> int | None:
    """Return the updates within which a monitor without a reference gives the alarm with this power."""
    count = np.ones(len(x), np.int64)
    days = Days(np.zeros(1, np.int64), np.zeros(1, np.int64), x, _share(x), np.zeros(len(x), np.int64), count)
    null = np.array([[0.0, 1.0]])
    alternatives = TwoClasses(null, np.array([centre_of(null[0], x, count.astype(np.float64))]))
    reference = Reference(alternatives, len(x), 1, per_update, 0.0, np.zeros(1))
    updates = updates_until(replace(reference, usual=per_update), days, what, size, share=power)
    return None if updates is None else int(updates)
