"""False dominance, power, bands and coverage of decisions, on sources whose truth is known: `docs/decisions.md`.

`python -m bench.decisions [DRAWS]` prints one line per cell; 1,000 draws take about ten minutes of one processor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from veracity.estimate.decisions.actions import actions
from veracity.estimate.decisions.clinical import by_forecast, reliability_band
from veracity.estimate.decisions.curves import at_thresholds, useful, user
from veracity.estimate.decisions.dominance import dominance
from veracity.estimate.decisions.paired import How
from veracity.estimate.decisions.picks import picks
from veracity.estimate.decisions.prevalence import PREVALENCES, THRESHOLDS
from veracity.estimate.decisions.prior import at_prior
from veracity.formulas import decisions as formulas
from veracity.inputs import Forecasts
from veracity.options.deciding import costs_of
from veracity.records.decisions import Dominance, Span
from veracity.state.plan import Plan
from veracity.state.tally import Tally

Line = tuple[str, dict[str, Any]]
Rng = np.random.Generator
SPREAD = 1.2  # of the true log-odds
COMMON, RARE = 0.0, -2.75  # their means: half of the cases are events, or a tenth
TRUTH = 2_000_000  # cases from which the truth is counted


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def models(rng: Rng, n: int, mean: float, noise: tuple[float, float]) -> tuple[Forecasts, Forecasts]:
    """Return two forecasts of the same cases: the true log-odds with noise."""
    x = rng.normal(mean, SPREAD, n)
    y = (rng.random(n) < sigmoid(x)).astype(np.int64)
    made = [Forecasts.of(y, sigmoid(x + rng.normal(0.0, sd, n)), labels=[0, 1]) for sd in noise]
    first, second = (replace(f, case=np.arange(n, dtype=np.uint64)) for f in made)
    return first, second


def compared(rng: Rng, n: int, mean: float, noise: tuple[float, float]) -> Dominance:
    return dominance(("a", "b"), *models(rng, n, mean, noise), 1, (), How(0.95, int(rng.integers(1 << 30))))


def _wrong(d: Dominance, truth: dict[tuple[float, float], float]) -> bool:
    """Return whether the worse model, a, is said to be better anywhere; or a model at a prevalence where it is not.

    `truth` has the true differences by prevalence and threshold: at other prevalences a is better here and there.
    """
    signs = {"a": -1.0, "b": 1.0}
    false = any(w.better and signs[w.better] * truth[w.prevalence, w.threshold] <= 0.0 for w in d.prevalences)
    return bool(d.a_better or d.r_a_better or d.whole_a_better or false)


def _truth(noise: tuple[float, float]) -> dict[tuple[float, float], float]:
    """Return true differences of mean elementary loss by prevalence and threshold."""
    rng = np.random.default_rng(7)
    x = rng.normal(COMMON, SPREAD, TRUTH)
    y = rng.random(TRUTH) < sigmoid(x)
    p = [sigmoid(x + rng.normal(0.0, sd, TRUTH)) for sd in noise]
    found = {}
    for c in THRESHOLDS:
        missed, alarmed = [np.mean(q[y] < c) for q in p], [np.mean(q[~y] >= c) for q in p]
        for pi in PREVALENCES:
            found[pi, c] = pi * (1.0 - c) * (missed[0] - missed[1]) + (1.0 - pi) * c * (alarmed[0] - alarmed[1])
    return found


def covers(spans: tuple[Span, ...], low: float, high: float) -> bool:
    return any(span.low <= low + 1e-9 and span.high >= high - 1e-9 for span in spans)


def false_dominance(draws: int) -> Iterator[Line]:
    """Share of draws in which one of two equally good models is said to be better anywhere."""
    for n in (200, 1_000):
        for name, mean in (("half events", COMMON), ("10 % events", RARE)):
            rng = np.random.default_rng(1)
            found = [compared(rng, n, mean, (0.6, 0.6)) for _ in range(draws)]
            yield (
                f"equal models, n = {n:,}, {name}",
                {
                    "thresholds": np.mean([bool(d.a_better or d.b_better) for d in found]),
                    "r, event half": np.mean([bool(d.r_a_better or d.r_b_better) for d in found]),
                    "r, whole score": np.mean([bool(d.whole_a_better or d.whole_b_better) for d in found]),
                    "prevalences": np.mean([any(w.better for w in d.prevalences) for d in found]),
                },
            )


def power(draws: int) -> Iterator[Line]:
    """Share of draws in which the better model, b, is found; and the worse one."""
    for noise in ((1.2, 0.3), (0.6, 0.3)):
        truth = _truth(noise)
        for n in (1_000, 3_000):
            rng = np.random.default_rng(2)
            found = [compared(rng, n, COMMON, noise) for _ in range(draws)]
            yield (
                f"log-odds noise {noise[0]} against {noise[1]}, n = {n:,}",
                {
                    "some threshold": np.mean([bool(d.b_better) for d in found]),
                    "all of 30–70 %": np.mean([covers(d.b_better, 0.3, 0.7) for d in found]),
                    "some r": np.mean([bool(d.whole_b_better) for d in found]),
                    "wrong winner": np.mean([_wrong(d, truth) for d in found]),
                },
            )


RISING: dict[str, Callable[[Any], Any]] = {
    "calibrated": lambda p: p,
    "over-confident": lambda p: sigmoid(np.log(p / (1.0 - p)) / 1.5),
    "plateau": lambda p: np.clip(p, 0.2, 0.6),
    "too high": lambda p: p**1.5,
}


def reliability(draws: int) -> Iterator[Line]:
    """Share of draws in which the band holds the whole curve; width at the median forecast."""
    for n, digits in ((200, None), (1_000, None), (1_000, 1), (1_000, 2), (5_000, None)):
        for name, truth in RISING.items():
            rng = np.random.default_rng(3)
            inside, widths = [], []
            for _ in range(draws):
                p = np.clip(rng.beta(1.0, 1.5, n), 0.005, 0.995)
                p = p if digits is None else np.clip(np.round(p, digits), 10.0**-digits, 1.0 - 10.0**-digits)
                y = (rng.random(n) < truth(p)).astype(np.int64)
                x, low, high, _ = reliability_band(*by_forecast(Forecasts.of(y, p, labels=[0, 1])), 0.95)
                q = truth(x)
                inside.append(bool(((low <= q + 1e-12) & (q <= high + 1e-12)).all()))
                widths.append(float(np.median(high - low)))
            rounded = "" if digits is None else f", {digits} decimals"
            yield f"band, {name}, n = {n:,}{rounded}", {"covers": np.mean(inside), "width": np.mean(widths)}


def classes(rng: Rng, y: Any, slope: float) -> Any:
    """Return forecasts of a test that is N(±0.8, 1), for an event in 30 % of the cases; slope 1: calibrated."""
    x = rng.normal(np.where(y == 1, 0.8, -0.8), 1.0)
    return sigmoid(slope * (1.6 * x + np.log(0.3 / 0.7)))


def scores_at(p: Any, y: Any, c: float) -> list[float]:
    log = -np.log(np.where(y == 1, p, 1.0 - p))
    act = p >= c
    benefit = formulas.net_benefit((act & (y == 1)).mean(), (act & (y == 0)).mean(), c)
    return [float(log.mean()), float(2.0 * ((p - y) ** 2).mean()), float(benefit)]


def prevalence(draws: int) -> Iterator[Line]:
    """Coverage of intervals at another prevalence, 30 → 5 %, n = 1,000."""
    new, c = 0.05, 0.1
    for slope in (1.0, 1.5):
        rng = np.random.default_rng(4)
        y = (rng.random(TRUTH) < new).astype(np.int64)
        p = classes(rng, y, slope)
        after = formulas.at_prior(np.column_stack([1.0 - p, p]), [0.7, 0.3], [1.0 - new, new])[:, 1]
        as_is, updated = scores_at(p, y, c), scores_at(after, y, c)
        held: dict[str, list[bool]] = {}
        for _ in range(draws):
            y = (rng.random(1_000) < 0.3).astype(np.int64)
            tally = Tally.of(y, classes(rng, y, slope), plan=Plan(threshold=(c,)))
            found = at_prior(tally, (1.0 - new, new))
            for side, record, truth in (("as is", found.as_is, as_is), ("updated", found.updated, updated)):
                readings = (record.log_loss, record.brier, record.net_benefit[f"{c:g}"])
                for name, reading, value in zip(("log", "Brier", "NB(.1)"), readings, truth, strict=True):
                    held.setdefault(f"{name} {side}", []).append(bool(reading.low <= value <= reading.high))
        yield f"30 → 5 %, slope {slope:g}", {name: np.mean(values) for name, values in held.items()}


def thresholds(draws: int) -> Iterator[Line]:
    """Coverage of readings at thresholds, of the regret, and how often useless forecasts are called useful."""
    plan = Plan(threshold=(0.1, 0.5), costs=("false_alarm=1,miss=4",))
    (costs,) = costs_of(plan.costs)
    for name, mean in (("half events", COMMON), ("10 % events", RARE)):
        rng = np.random.default_rng(5)
        x = rng.normal(mean, SPREAD, TRUTH)
        y, p = (rng.random(TRUTH) < sigmoid(x)).astype(np.int64), sigmoid(x * 1.4)
        whole = actions(Tally.of(y, p, plan=plan), 1)
        truth, regret = at_thresholds(whole, plan.threshold), float(user(whole, costs).regret)
        held: dict[str, list[bool]] = {}
        for _ in range(draws):
            x = rng.normal(mean, SPREAD, 1_000)
            y = (rng.random(1_000) < sigmoid(x)).astype(np.int64)
            a = actions(Tally.of(y, sigmoid(x * 1.4), plan=plan, labels=[0, 1]), 1)
            for one, right in zip(at_thresholds(a, plan.threshold), truth, strict=True):
                for key, reading in one.readings().items():
                    if reading.low is not None and reading.high is not None:
                        value = float(right.readings()[key])
                        inside = reading.low - 1e-9 <= value <= reading.high + 1e-9
                        held.setdefault(f"{key} {one.threshold:g}", []).append(inside)
            found = user(a, costs).regret
            assert found.low is not None
            assert found.high is not None
            held.setdefault("regret", []).append(bool(found.low <= regret <= found.high))
            useless = Tally.of(y, rng.permutation(sigmoid(x)), labels=[0, 1])
            held.setdefault("useless, called useful", []).append(bool(useful(actions(useless, 1))))
        yield f"thresholds, n = 1,000, {name}", {key: np.mean(values) for key, values in held.items()}


def coverage(draws: int) -> Iterator[Line]:
    """Coverage of accuracy by coverage, area and top-k, three classes and ten."""
    for k in (3, 10):
        rng = np.random.default_rng(6)

        def source(n: int, k: int = k, rng: Rng = rng) -> tuple[Any, Any]:
            z = rng.normal(0.0, 1.3, (n, k))
            q = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
            p = np.exp(1.5 * z) / np.exp(1.5 * z).sum(axis=1, keepdims=True)
            return np.minimum((np.cumsum(q, axis=1) < rng.random((n, 1))).sum(axis=1), k - 1), p

        truth = picks(Tally.of(*source(TRUTH // 10), labels=range(k)))
        held: dict[str, list[bool]] = {}
        for _ in range(draws):
            found = picks(Tally.of(*source(1_000), labels=range(k)))
            pairs = {"area": (found.area, truth.area), "top 2": (found.top_k["2"], truth.top_k["2"])}
            pairs |= {f"accuracy at {c}": (found.accuracy[c], truth.accuracy[c]) for c in found.accuracy}
            for name, (reading, value) in pairs.items():
                assert reading.low is not None
                assert reading.high is not None
                held.setdefault(name, []).append(bool(reading.low <= float(value) <= reading.high))
        yield f"picks, {k} classes, n = 1,000", {name: np.mean(values) for name, values in held.items()}


def lines(draws: int) -> Iterator[Line]:
    yield from prevalence(draws)
    yield from thresholds(draws // 2)
    yield from coverage(draws // 2)
    yield from reliability(draws // 2)
    yield from power(draws // 2)
    yield from false_dominance(draws)


if __name__ == "__main__":
    for title, numbers in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000):
        print(f"{title}: {', '.join(f'{name} {value:.3f}' for name, value in numbers.items())}", flush=True)
