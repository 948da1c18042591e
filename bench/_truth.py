"""Forecasts whose true probabilities are known: the sources of the tables of conclusions.

truth(kind, n, rng)          (n, k) true probabilities
stated(q, error, size)       the forecasts of somebody who errs in a known way
draw(q, rng)                 outcomes
removable(q, p)              the share of the expected log loss that perfect recalibration removes
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DENSE = {"k3": (3, 1.5), "k5": (5, 1.5), "k10": (10, 2.0), "k100": (100, 2.5), "k1000": (1000, 3.0)}
SATURATED = {
    "sat10": (10, 7.0, 1.0),
    "sat100": (100, 8.0, 4.0),
}  # as trained networks are: nearly certain of most picks


def softmax(z: Floats) -> Floats:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def pair(log_odds: Floats) -> Floats:
    q = 1.0 / (1.0 + np.exp(-log_odds))
    return np.column_stack([1.0 - q, q])


def truth(kind: str, n: int, rng: np.random.Generator) -> Floats:
    """Return true probabilities: bin, rare (base rate about 1 %), k3 … k1000, sat10, sat100."""
    if kind == "bin":
        return pair(rng.normal(0.0, 1.5, n))
    if kind == "rare":
        return pair(rng.normal(-5.2, 1.1, n))
    if kind in DENSE:
        k, spread = DENSE[kind]
        return softmax(rng.normal(0.0, spread, (n, k)))
    k, scale, shift = SATURATED[kind]
    z = rng.normal(0.0, 1.0, (n, k))
    z[np.arange(n), rng.integers(0, k, n)] += rng.exponential(1.0, n) * scale + 2.0 + shift
    return softmax(1.3 * z)


def stated(q: Floats, error: str, size: float = 0.0) -> Floats:
    """Return forecasts: cal (the truth), T (log-odds times size), bias, bend (two classes), cls (classes differ)."""
    logs, k = np.log(q), q.shape[1]
    odd = np.arange(k) % 2 == 1
    if error == "cal":
        return q
    if error == "T":
        return softmax(size * logs)
    if error == "bias":
        return softmax(logs + (np.array([0.0, size]) if k == 2 else size * np.where(odd, 1.0, -1.0)))
    if error == "bend":
        x = logs[:, 1] - logs[:, 0]
        return pair(x + size * (np.abs(x) - 1.2))
    return softmax(logs * np.where(odd, size, 1.0 / size))


def misread(kind: str, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return forecasts and the true probabilities given them: curves that are bent, classes that are confused.

    over, under, level, quadratic, bent, plateau (two classes); joint-3, joint-10, swap-100, T-3, level-3, swap-3,
    slopes-3 (so many classes).
    """
    if "-" not in kind:
        p = np.clip(rng.beta(0.8, 1.6, n), 1e-9, 1.0 - 1e-9)
        x = np.log(p / (1.0 - p))
        edge = np.log(0.88 / 0.12)
        bent = {"over": x / 1.25, "under": x / 0.8, "level": x + 0.2, "quadratic": x + 0.1 * (x**2 - 1.2)}
        bent |= {"bent": x + 0.25 * (np.abs(x) - 1.0), "plateau": np.clip(x, -edge, edge)}
        return pair(x), pair(bent[kind])
    name, k = kind.split("-")[0], int(kind.split("-")[1])
    if name == "joint":
        p = rng.dirichlet(np.ones(3), n) if k == 3 else softmax(rng.gumbel(0, 1.6, (n, k)) + np.arange(k) * np.log(0.7))
        return p, p + 0.9 * p * (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1))
    if k == 100:
        p = softmax(rng.gumbel(0, 1.8, (n, k)) - np.log(1 + np.arange(k)))
    else:
        p = np.maximum(rng.dirichlet([0.5, 1.0, 2.5], n), 1e-12)
        p /= p.sum(axis=1, keepdims=True)
    if name == "swap":
        mix = np.eye(k)
        mix[:2, :2] = [[0.9, 0.1], [0.1, 0.9]]
        return p, p @ mix
    logs = np.log(p)
    moved = {"T": logs / 1.2, "level": logs + 0.4 * np.eye(k)[0], "slopes": logs * np.array([1.18, 0.85, 1.18])[:k]}
    return p, softmax(moved[name])


def draw(q: Floats, rng: np.random.Generator) -> Ints:
    found: Ints = (np.cumsum(q, axis=1)[:, :-1] < rng.random((len(q), 1))).sum(axis=1)
    return found


def removable(q: Floats, p: Floats) -> float:
    """Return mean divergence of the forecasts p from the truth q over the mean loss of p."""
    loss = -(q * np.log(p)).sum(axis=1).mean()
    best = -(q * np.log(q)).sum(axis=1).mean()
    return float((loss - best) / loss)
