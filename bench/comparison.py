"""Level of paired tests, coverage of component differences, level of the test of groups, and what a comparison costs.

python -m bench.comparison [level] [coverage] [ahead] [groups] [drift] [cost] [--draws N] [--seed S]
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import veracity as vc
from veracity.estimate.groups_and_time.groups import differ
from veracity.estimate.groups_and_time.windows import drifts
from veracity.inputs import prepare

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], dict[str, Any]]


def expit(z: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-z)))


def autoregressive(rng: np.random.Generator, n: int, rho: float) -> Floats:
    """Noise with standard deviation 1 and autocorrelation rho."""
    e = rng.standard_normal(n)
    for t in range(1, n):
        e[t] = rho * e[t - 1] + np.sqrt(1.0 - rho**2) * e[t]
    return e


def equal_models(rng: np.random.Generator, signal: Floats, noise: Callable[[], Floats]) -> dict[str, Any]:
    """Outcomes of a signal, and two models that see it with noise of the same kind."""
    y = (rng.random(len(signal)) < expit(signal)).astype(int)
    return {"y_true": y, "y_proba": {"a": expit(signal + noise()), "b": expit(signal + noise())}, "labels": [0, 1]}


def independent(n: int) -> Draw:
    def draw(rng: np.random.Generator) -> dict[str, Any]:
        return equal_models(rng, rng.standard_normal(n), lambda: 0.7 * rng.standard_normal(n))

    return draw


def in_time(n: int, rho: float) -> Draw:
    def draw(rng: np.random.Generator) -> dict[str, Any]:
        made = equal_models(rng, autoregressive(rng, n, rho), lambda: 0.7 * autoregressive(rng, n, rho))
        return {**made, "time": np.arange(n)}

    return draw


def in_clusters(number: int, least: int, most: int) -> Draw:
    """Signal and noise are shared within clusters in part."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        clusters = np.repeat(np.arange(number), rng.integers(least, most + 1, number))
        n = len(clusters)

        def mixed() -> Floats:
            return np.asarray(0.8 * rng.standard_normal(number)[clusters] + 0.6 * rng.standard_normal(n))

        return {**equal_models(rng, mixed(), lambda: 0.7 * mixed()), "clusters": clusters}

    return draw


LEVELS: dict[str, Draw] = {
    "independent, n = 100": independent(100),
    "independent, n = 1,000": independent(1000),
    "AR(1) .5, n = 92, --time": in_time(92, 0.5),
    "AR(1) .8, n = 200, --time": in_time(200, 0.8),
    "20 clusters of 5 to 50": in_clusters(20, 5, 50),
    "50 clusters of 5 to 50": in_clusters(50, 5, 50),
}


def level(draw: Draw, draws: int, seed: int = 0) -> float:
    """Return the share of draws in which equal models are said to differ in log loss at 5 %."""
    rng = np.random.default_rng(seed)
    found = [vc.compare(**draw(rng)).differences("log")[0].p for _ in range(draws)]
    return float(np.mean([p is not None and p < 0.05 for p in found]))


NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)


def known_components(rng: np.random.Generator, n: int, sharp: tuple[float, float]) -> tuple[dict[str, Any], Any]:
    """Two models of known components: one knows the probability, one half of what it depends on; both sharpened.

    The recalibrated forecasts are the probability, and its mean given that half; the calibration slopes are 1/sharp.
    """
    z, rest = rng.standard_normal((2, n))
    q = expit(z + rest)
    half = expit(z[:, None] + NODES) @ WEIGHTS / WEIGHTS.sum()
    best = {"a": q, "b": half}
    y = (rng.random(n) < q).astype(int)
    stated = {name: expit(s * np.log(best[name] / (1 - best[name]))) for name, s in zip(best, sharp, strict=True)}
    return {"y_true": y, "y_proba": stated, "labels": [0, 1]}, (q, best, stated)


def true_components(sharp: tuple[float, float], n: int = 2_000_000) -> dict[str, float]:
    """Return the true differences a − b, from many cases."""
    _, (q, best, stated) = known_components(np.random.default_rng(99), n, sharp)
    loss = {
        (name, which): float(np.mean(-q * np.log(p[name]) - (1 - q) * np.log(1 - p[name])))
        for which, p in (("S", stated), ("C", best))
        for name in ("a", "b")
    }
    entropy = {name: float(np.mean(-p * np.log(p) - (1 - p) * np.log(1 - p))) for name, p in stated.items()}
    excess = {name: entropy[name] - loss[name, "S"] for name in entropy}
    return {
        "CL": (loss["a", "S"] - loss["a", "C"]) - (loss["b", "S"] - loss["b", "C"]),
        "AL": 0.0,
        "RL": loss["a", "C"] - loss["b", "C"],
        "slope": 1.0 / sharp[0] - 1.0 / sharp[1],
        "expected_minus_realised": excess["a"] - excess["b"],
    }


def coverage(n: int, sharp: tuple[float, float], draws: int, seed: int = 0) -> dict[str, float]:
    """Return the share of draws in which the interval of each component's difference holds the true one."""
    truth, rng = true_components(sharp), np.random.default_rng(seed)
    held: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(draws):
        c = vc.compare(**known_components(rng, n, sharp)[0])
        for name, value in truth.items():
            d = c.components(name)[0]
            held[name].append(d.low is not None and d.high is not None and d.low <= value <= d.high)
    return {name: float(np.mean(found)) for name, found in held.items()}


def said_ahead(
    n: int, noise: tuple[float, float], bend: tuple[float, float], draws: int, seed: int
) -> dict[str, float]:
    """Return the shares of draws in which a or b is said to be ahead once recalibrated, of two classes.

    Both see the log-odds with noise of the given sizes; b states them as level + slope times what it sees (`bend`).
    Recalibrated, the one with less noise is ahead, and none where the noise is equal.
    """
    rng = np.random.default_rng([seed, n])
    ahead = {"a": 0, "b": 0}
    for _ in range(draws):
        z = 1.5 * rng.standard_normal(n)
        y = (rng.random(n) < expit(z)).astype(int)
        a, b = (z + size * rng.standard_normal(n) for size in noise)
        c = vc.compare(y, {"a": expit(a), "b": expit(bend[0] + bend[1] * b)}, labels=[0, 1])
        for name in ahead:
            ahead[name] += bool(re.search(rf"Once recalibrated +{name} would", str(c)))
    return {name: count / draws for name, count in ahead.items()}


BENDS = {"× 2.5": (0.0, 2.5), "÷ 2.5": (0.0, 0.4), "+ 1": (1.0, 1.0)}


def ahead(draws: int, seed: int) -> None:
    """Print how often a bent model is said to be ahead once recalibrated, that knows as much, and that knows more."""
    print("said to be ahead once recalibrated: one that knows as much (at most 5 %), one that knows more")
    for n in (300, 1000):
        for name, bend in BENDS.items():
            equal, more = (said_ahead(n, noise, bend, draws, seed) for noise in ((0.7, 0.7), (1.0, 0.3)))
            shown = f"{100 * equal['b']:5.1f} % (the other {100 * equal['a']:.1f}), {100 * more['b']:5.1f} %"
            print(f"  n = {n:5}, log-odds {name}: {shown}", flush=True)


def equal_groups(number: int, n: int, nested: int = 0, crossed: int = 0) -> Draw:
    """Groups of very unequal sizes that do not differ; clusters, `nested` in each or `crossed`, share their signal."""

    def draw(rng: np.random.Generator) -> dict[str, Any]:
        shares = rng.dirichlet(np.full(number, 1.0)) * 0.8 + 0.2 / number
        level = rng.choice(number, n, p=shares)
        z = 1.5 * rng.standard_normal(n)
        made: dict[str, Any] = {}
        if nested or crossed:
            cluster = rng.integers(0, nested or crossed, n) + (level * nested)
            z = z / 2.0 + rng.standard_normal(int(cluster.max()) + 1)[cluster]
            made["clusters"] = cluster
        y = (rng.random(n) < expit(z)).astype(int)
        return {**made, "y_true": y, "y_proba": expit(1.3 * z), "labels": [0, 1], "groups": {"g": level}}

    return draw


GROUPS: dict[str, Draw] = {
    "2 groups, n = 200": equal_groups(2, 200),
    "5 groups, n = 500": equal_groups(5, 500),
    "20 groups, n = 1,000": equal_groups(20, 1000),
    "20 groups, n = 25,000 (χ²)": equal_groups(20, 25_000),
    "5 groups of 12 clusters, n = 900": equal_groups(5, 900, nested=12),
    "5 groups of 12 clusters, n = 25,000": equal_groups(5, 25_000, nested=12),
    "5 groups across 30 clusters, n = 900": equal_groups(5, 900, crossed=30),
}


def group_level(draw: Draw, draws: int, seed: int = 0) -> float:
    """Return the share of draws in which equal groups are said to differ at 5 %."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        tally = vc.Tally.of(prepare(**draw(rng)))
        test = differ(tally.groups["g"], 0)
        found.append(test is not None and test.p is not None and test.p < 0.05)
    return float(np.mean(found))


def drift_level(n: int, rho: float, draws: int, seed: int = 0) -> float:
    """Return the share of draws in which a stationary series of log losses is said to drift at 5 %."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        z = autoregressive(rng, n, rho)
        y = (rng.random(n) < expit(z)).astype(int)
        stated = expit(1.3 * z + 0.7 * autoregressive(rng, n, rho))
        test = drifts(vc.Tally.of(prepare(y, stated, labels=[0, 1], time=np.arange(n))))
        found.append(test is not None and test.p is not None and test.p < 0.05)
    return float(np.mean(found))


def cost(models: int = 5, n: int = 100_000, k: int = 10) -> float:
    """Return the time of the document of a comparison over that of the document of one model."""
    rng = np.random.default_rng(1)
    z = rng.standard_normal((n, k)) * 1.5
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1)
    held = {}
    for i in range(models):
        own = np.exp((0.7 + 0.3 * i) * z + 0.3 * rng.standard_normal((n, k)))
        held[f"m{i}"] = own / own.sum(axis=1, keepdims=True)
    vc.assess(y[:500], held["m0"][:500]).document()  # imports
    started = time.process_time()
    vc.assess(y, held["m1"]).document()
    one = time.process_time() - started
    started = time.process_time()
    vc.compare(y, held).document()
    return (time.process_time() - started) / one


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    parts = given.parts or ["level", "coverage", "ahead", "groups", "drift", "cost"]
    if "level" in parts:
        print("level of the paired test at 5 % (3 to 7 % wanted)")
        for name, draw in LEVELS.items():
            print(f"  {name:28} {100 * level(draw, given.draws, given.seed):5.1f} %", flush=True)
    if "coverage" in parts:
        print("coverage of component differences at 95 % (90 to 99 % wanted)")
        for n in (300, 2000):
            for sharp in ((1.0, 1.0), (1.5, 1.0), (1.5, 2.0)):
                found = coverage(n, sharp, given.draws // 2 if n == 300 else given.draws // 4, given.seed)
                shown = "  ".join(f"{name} {100 * share:.0f}" for name, share in found.items())
                print(f"  n = {n:5}, sharpened {sharp}: {shown}", flush=True)
    if "ahead" in parts:
        ahead(given.draws, given.seed)
    if "groups" in parts:
        print("level of the test of groups at 5 % (3 to 7 % wanted)")
        for name, draw in GROUPS.items():
            print(f"  {name:34} {100 * group_level(draw, given.draws, given.seed):5.1f} %", flush=True)
    if "drift" in parts:
        print("level of the test of drift at 5 % (at most 8 % wanted)")
        for n, rho in ((40, 0.0), (100, 0.5), (400, 0.5), (400, 0.8)):
            print(f"  n = {n}, AR(1) {rho}: {100 * drift_level(n, rho, given.draws, given.seed):5.1f} %", flush=True)
    if "cost" in parts:
        print(f"document of 5 models over that of one, 1e5 × 10: {cost():.2f} (at most 5.5)")


if __name__ == "__main__":
    main()
