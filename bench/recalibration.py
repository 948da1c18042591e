"""Calibration loss of forecasts whose truth is known: bias of the cross-fitted pool, intervals, demo models, time.

python -m bench.recalibration [bias|r|demo|time|coverage …] [--draws N] [--first S]
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import row
from bench._draws import options
from bench.measured import SOURCES as OF_MEANS
from veracity.calibrators import adjust
from veracity.estimate.calibration.remedies import remedies
from veracity.estimate.loss.decomposition import decomposition
from veracity.estimate.loss.losses import losses
from veracity.estimate.loss.recalibration import Recalibration, recalibration
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.records.reading import Reading

Array = NDArray[Any]
Source = Callable[[int, np.random.Generator], tuple[Array, Array]]

DEMO = Path(__file__).resolve().parents[1] / "demo"
SHIFTS = ("two classes, calibrated", "two classes, level", "three classes, shifted frequencies")
RULES = ("log", "brier", 0.5)
MANY = 200_000  # draws that the true values are computed from
BIAS, HOLDS = 0.015, 0.93  # to reach: bias in nats at n = 5,000, share of draws whose lower end is true


def softmax(z: Array) -> Array:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def pair(log_odds: Array) -> Array:
    q = 1.0 / (1.0 + np.exp(-log_odds))
    return np.column_stack([1.0 - q, q])


def logits(k: int, spread: float, power: float) -> Source:
    """Softmax of normal logits; the forecast has them times `power`."""

    def made(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        z = rng.normal(0.0, spread, (n, k))
        return softmax(power * z), softmax(z)

    return made


def dirichlet(k: int, concentration: float) -> Source:
    """Dirichlet rows; the forecast squares them."""

    def made(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        q = np.maximum(rng.dirichlet(np.full(k, concentration), n), 1e-12)
        q /= q.sum(axis=1, keepdims=True)
        return softmax(2.0 * np.log(q)), q

    return made


def exchanged(k: int, spread: float, matrix: Array) -> Source:
    """Right forecasts of labels that are then exchanged by a matrix."""

    def made(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        s = softmax(rng.normal(0.0, spread, (n, k)))
        return s, s @ matrix

    return made


def bent(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two classes: log odds bent upwards at both ends."""
    x = rng.normal(0.0, 1.5, n)
    return pair(x + 0.4 * (np.abs(x) - 1.2)), pair(x)


def class_slopes(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Five classes, over-confident about some and under-confident about others."""
    z = rng.normal(0.0, 1.5, (n, 5))
    logs = np.log(softmax(z))
    return softmax(logs * np.where(np.arange(5) % 2, 1.6, 1.0 / 1.6)), softmax(z)


def eleven(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two classes, eleven distinct forecasts: the event has probability (.05 + .9 s²)."""
    s = rng.integers(0, 11, n) / 10.0
    s = np.clip(s, 0.02, 0.98)
    q = 0.05 + 0.9 * s**2
    return np.column_stack([1.0 - s, s]), np.column_stack([1.0 - q, q])


K10 = np.eye(10)
SOURCES: dict[str, Source] = {
    "softmax times 2, k = 10": logits(10, 1.5, 2.0),
    "calibrated, k = 10": logits(10, 1.5, 1.0),
    "Dirichlet squared, k = 3": dirichlet(3, 0.8),
    "Dirichlet squared, k = 10": dirichlet(10, 0.3),
    "15 % label noise, k = 10": exchanged(10, 2.5, 0.85 * K10 + 0.015),
    "confusion, k = 10": exchanged(10, 2.0, 0.8 * K10 + 0.2 * np.roll(K10, 1, axis=1)),
    "bent, k = 2": bent,
    "slopes by class, k = 5": class_slopes,
    "eleven forecasts, k = 2": eleven,
}


def drawn(q: Array, rng: np.random.Generator) -> Array:
    return np.asarray((np.cumsum(q, axis=1)[:, :-1] < rng.random((len(q), 1))).sum(axis=1))


def forecasts(s: Array, y: Array) -> Forecasts:
    return Forecasts(s, y, tuple(range(s.shape[1])))


def true_loss(source: Source, rule: str = "log") -> float:
    s, c = source(MANY, np.random.default_rng(99))
    return float(np.mean(rule_of(rule).divergence(s, c)))


def bias(name: str, draws: Iterable[int], n: int = 5000, rule: str = "log", seed: int = 1) -> dict[str, Any]:
    """Bias and root mean square error of the raw calibration loss, and how often its lower end is true."""
    source = SOURCES[name]
    truth, found = true_loss(source, rule), []
    for draw in draws:
        rng = np.random.default_rng([seed, draw, sum(name.encode())])
        s, c = source(n, rng)
        fitted = recalibration(forecasts(s, drawn(c, rng)))
        assert fitted is not None
        found.append(fitted.gain(rule))
    value, error = np.array(found).T
    return {
        "source": name,
        "truth": truth,
        "bias": float(value.mean() - truth),
        "rmse": float(np.sqrt(np.mean((value - truth) ** 2))),
        "holds": float(np.mean(value - 1.96 * error <= truth)),
    }


def at_other_r(source: Source, n: int, draws: Iterable[int]) -> Iterator[str]:
    """Yield for each r CL and AL as shown beside their truth, and what CL would be if AL at that r could raise it."""
    s, c = source(MANY, np.random.default_rng(99))
    shown: dict[float, list[tuple[float, float, float]]] = {r: [] for r in (1.0, 0.5, -0.5)}
    for draw in draws:
        rng = np.random.default_rng([draw, n])
        p, q = source(n, rng)
        f = forecasts(p, drawn(q, rng))
        fitted = recalibration(f)
        for r, found in shown.items():
            one = losses(f, r, fitted)
            found.append((float(one.CL), max(float(one.CL), float(one.raw["AL"])), float(one.AL)))
    for r, found in shown.items():
        rule, adjusted = rule_of(r), adjust(s, c.mean(axis=0), r)(s)
        truth = float(np.mean(rule.divergence(s, c)))
        truths = np.array([truth, truth, truth - float(np.mean(rule.divergence(adjusted, c)))])
        error = np.array(found) - truths
        bias, root = error.mean(axis=0), np.sqrt((error**2).mean(axis=0))
        yield (
            f"{r:g} | {len(found)} | {truths[0]:.4f} | {bias[0]:+.4f} | {root[0]:.4f} | {root[1]:.4f} | "
            f"{truths[2]:.4f} | {bias[2]:+.4f} | {root[2]:.4f}"
        )


def covered(reading: Reading, truth: float) -> bool:
    """Whether an interval, open where an end is missing, holds the truth."""
    low = -np.inf if reading.low is None else reading.low
    high = np.inf if reading.high is None else reading.high
    return bool(low - 1e-12 <= truth <= high + 1e-12)


def coverage(
    k: int, n: int, power: float, draws: Iterable[int], rules: tuple[Any, ...] = ("log", "brier", 0.5)
) -> list[dict[str, Any]]:
    """Share of draws whose nominal 95 % interval holds the truth, for every loss that has an interval."""
    source = logits(k, 1.5, power) if k > 2 else (lambda n, rng: _two(n, rng, power))
    s, c = source(MANY, np.random.default_rng(98))
    truth: dict[tuple[Any, str], float] = {}
    for rule in rules:
        score = rule_of(rule)
        adjusted = adjust(s, c.mean(axis=0), rule)(s)
        truth[rule, "AL"] = float(np.mean(score.divergence(s, adjusted)))
        truth[rule, "CL"] = float(np.mean(score.divergence(s, c)))
        truth[rule, "RL"] = float(np.mean(score.entropy(c)))
        truth[rule, "L"] = truth[rule, "CL"] + truth[rule, "RL"]
        truth[rule, "uncertainty"] = float(score.entropy(c.mean(axis=0)))
    held: dict[tuple[Any, str], list[bool]] = {key: [] for key in truth}
    for draw in draws:
        rng = np.random.default_rng([2, draw, n, k, int(10 * power)])
        s, c = source(n, rng)
        f = forecasts(s, drawn(c, rng))
        fitted = recalibration(f)
        for rule in rules:
            made = losses(f, rule, fitted)
            terms = decomposition(f, rule)
            for name in ("L", "AL", "CL", "RL"):
                held[rule, name].append(covered(getattr(made, name), truth[rule, name]))
            held[rule, "uncertainty"].append(covered(terms.uncertainty, truth[rule, "uncertainty"]))
    return [
        {"k": k, "n": n, "power": power, "rule": rule, "loss": name, "covered": float(np.mean(hits))}
        for (rule, name), hits in held.items()
    ]


def _two(n: int, rng: np.random.Generator, power: float) -> tuple[Array, Array]:
    x = rng.normal(0.0, 1.5, n)
    return pair(power * x), pair(x)


def demo(name: str) -> tuple[Recalibration, float, float, str]:
    """The cross-validation of a demo model, its gain and error, and the best remedy."""
    with open(DEMO / f"{name}.csv", newline="") as file:
        table = np.array(list(csv.reader(file))[1:], dtype=np.float64)
    found = recalibration(forecasts(table[:, 1:], table[:, 0].astype(int)))
    assert found is not None
    value, error = found.gain("log")
    return found, value, error, remedies(found)[0].parameters


def seconds(k: int, n: int) -> float:
    """CPU time of one cross-validation with its log and Brier gains."""
    rng = np.random.default_rng(5)
    s, c = _two(n, rng, 1.3) if k == 2 else logits(k, 2.5, 1.3)(n, rng)
    f = forecasts(s, drawn(c, rng))
    start = time.process_time()
    found = recalibration(f)
    assert found is not None
    found.gain("log"), found.gain("brier")
    return time.process_time() - start


SIZES = ((2, 131_072, 1.0), (10, 20_000, 2.5), (100, 2_000, 2.5), (1000, 4_000, 2.0))  # classes, rows, seconds


def run(quick: bool = False) -> dict[str, Any]:
    """The bias table, the lower ends, and the time, as rows of the common table."""
    draws = range(5 if quick else 20)
    table = []
    for name in SOURCES:
        found = bias(name, draws)
        table.append(row(f"calibration loss, |bias| in nats: {name}", abs(found["bias"]), BIAS, **found))
    for k, n, target in SIZES:
        table.append(row(f"cross-validation of {n:,} × {k}, seconds", seconds(k, n), target))
    return {"table": table}


def main() -> None:
    draws, parts = options(__doc__, 100, ("bias", "r", "demo", "time", "coverage"))
    if "bias" in parts:
        print("| source | truth | bias | rmse | lower end true |\n|---|---|---|---|---|")
        for name in SOURCES:
            found = bias(name, draws)
            numbers = f"{found['truth']:.3f} | {found['bias']:+.4f} | {found['rmse']:.4f} | {found['holds']:.2f}"
            print(f"| {name} | {numbers} |", flush=True)
    if "r" in parts:
        print("| source | n | r | draws | CL | bias | RMSE | RMSE of max(CL, AL) | AL | bias | RMSE |")
        print("|" + "---|" * 11)
        for name, n in product(SHIFTS, (300, 1000)):
            for line in at_other_r(OF_MEANS[name], n, draws):
                print(f"| {name} | {n:,} | {line} |", flush=True)
    for name in ("naive_bayes", "random_forest", "logistic_regression") if "demo" in parts else ():
        pool, value, error, best = demo(name)
        print(f"{name}: {value:.3f} ± {error:.3f} ({best}); pool of {', '.join(pool.members)}", flush=True)
    for k, n, target in SIZES if "time" in parts else ():
        print(f"{n:,} × {k}: {seconds(k, n):.2f} s (target {target} s)", flush=True)
    if "coverage" in parts:
        print("| k | n | power | rule | L | AL | CL | RL | uncertainty |\n|" + "---|" * 9)
    for k, n, power in product((2, 5), (300, 2000), (1.0, 1.5)) if "coverage" in parts else ():
        made = coverage(k, n, power, draws)
        for rule in RULES:
            values = " | ".join(f"{e['covered']:.2f}" for e in made if e["rule"] == rule)
            print(f"| {k} | {n} | {power} | {rule} | {values} |", flush=True)


if __name__ == "__main__":
    main()
