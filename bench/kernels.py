"""The pass over forecasts alone, in C and in NumPy: in passes of `np.sum` over the same matrix, or in time."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import race, row
from veracity import kernels
from veracity.kernels.grid import grid
from veracity.kernels.hashes import forecast_hashes
from veracity.state.plan import Plan

KERNELS = ["numpy"] + ["native"] * (kernels.native is not None)
SIZES = ((1000, 10), (500, 40), (1000, 40), (5000, 40), (50_000, 40))  # around the change from few to many rows


def softmax(rng: np.random.Generator, n: int, k: int, spread: float) -> Any:
    """Float32 rows: softmax of normal scores; 0 spread would be uniform rows."""
    z = rng.standard_normal((n, k), dtype=np.float32) * np.float32(spread)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def scanner(p: Any, y: Any, kernel: str) -> Any:
    cells = grid(Plan().cuts, coarse=p.ndim == 2 and p.shape[1] > 128)
    return lambda: kernels.scan(p, y, cells, kernel=kernel)


def run() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    table = []
    for n, spread, target in ((20_000, 8.0, 4.5), (20_000, 3.0, 7.5), (100_000, 8.0, 4.0), (100_000, 0.05, 18.0)):
        p = softmax(rng, n, 1000, spread)
        y = rng.integers(0, 1000, n)
        plain, hashed, total = race(scanner(p, y, KERNELS[-1]), lambda p=p: forecast_hashes(p), lambda p=p: p.sum())
        name = f"{n} × 1000, softmax of {spread} z"
        table.append(row(f"{name}, passes of np.sum", plain / total, target))
        table.append(row(f"{name}, hashes of the forecasts, × the pass", hashed / plain, None))
    n = 1_000_000
    p = rng.beta(0.5, 0.5, n)
    y = (rng.random(n) < p).astype(np.int8)
    for kernel in KERNELS:
        (seconds,) = race(scanner(p, y, kernel))
        table.append(row(f"two classes, {kernel}, ns a row", 1e9 * seconds / n, {"native": 70, "numpy": 200}[kernel]))
    p, y = softmax(rng, n, 10, 2.0), rng.integers(0, 10, n)
    (seconds,) = race(scanner(p, y, KERNELS[-1]))
    table.append(row("1e6 × 10, ns an entry", 1e9 * seconds / p.size, 12))
    for n, k in SIZES:
        p, y = softmax(rng, n, k, 2.0), rng.integers(0, k, n)
        (seconds,) = race(scanner(p, y, KERNELS[-1]), repeats=50)
        table.append(row(f"{n} × {k}, ns an entry", 1e9 * seconds / p.size, 35))
    return {"table": table}


if __name__ == "__main__":
    for line in run()["table"]:
        print(f"{line['work']:60s} {line['measured']:8.2f}   target {line['target']}")
