"""Measured means against the truth of the source: `python -m bench.measured [n …] [--draws N] [--first S]`.

The truth is the refinement loss of C = E[Y | S], which each source knows, on the probability scale. The bias is the
mean distance to what that C has on the same outcomes, so that the chance of these does not blur it. To reach: coverage
of the 95 % interval at least 88 %, |bias| at most half a standard deviation; three classes with shifted frequencies and
20,000 cases within .003.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import row
from bench._draws import options
from bench._truth import draw, pair, softmax, stated, truth
from veracity import assess
from veracity.formulas.means import mean_of_score
from veracity.formulas.rules import rule as rule_of

Floats = NDArray[np.float64]
Source = Callable[[int, np.random.Generator], tuple[Floats, Floats]]  # forecasts and C

DRAWS, SIZES, MANY = 100, (300, 1000, 5000), 400_000
LEAST, MOST_BIAS, SHIFTED_BIAS = 0.88, 0.5, 0.003
MEANS = {"decisiveness": 1.0, "geometric_accuracy": 0.0, "robustness": -2.0 / 3.0}


def of_truth(kind: str, error: str, size: float) -> Source:
    """Forecasts that are a one-to-one function of the truth, which is their C."""

    def made(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        q = truth(kind, n, rng)
        return stated(q, error, size), q

    return made


def bent(shape: Callable[[Floats], Floats]) -> Source:
    """Forecasts of two classes whose true log-odds are a function of those given."""

    def made(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        p = np.clip(rng.beta(0.8, 1.6, n), 1e-9, 1.0 - 1e-9)
        x = np.log(p / (1.0 - p))
        return pair(x), pair(shape(x))

    return made


def shifted(n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Three classes that are 1, 2.5 and 6 times as frequent as the forecasts take them to be."""
    z = rng.normal(0.0, 1.2, (n, 3))
    return softmax(z - np.log([1.0, 2.5, 6.0])), softmax(z)


SOURCES: dict[str, Source] = {
    "two classes, calibrated": of_truth("bin", "cal", 0.0),
    "two classes, over-confident": of_truth("bin", "T", 1.5),
    "two classes, level": of_truth("bin", "bias", 0.5),
    "two classes, plateau": bent(lambda x: np.clip(x, np.log(0.12 / 0.88), np.log(0.88 / 0.12))),
    "rare event": of_truth("rare", "cal", 0.0),
    "three classes, shifted frequencies": shifted,
    "five classes, over-confident": of_truth("k5", "T", 1.5),
    "ten classes, calibrated": of_truth("k10", "cal", 0.0),
}


def true_means(source: Source) -> dict[str, float]:
    """Return the means of the source's C: its expected score, which is its entropy, as a probability."""
    c = source(MANY, np.random.default_rng(99))[1]
    return {name: mean_of_score(float(np.mean(rule_of(r).entropy(c))), r) for name, r in MEANS.items()}


def found(source: Source, n: int, seed: int) -> tuple[Any, dict[str, float]]:
    """Return the measured means of drawn outcomes, and those of the true C with the same outcomes."""
    rng = np.random.default_rng([seed, n])
    p, c = source(n, rng)
    y = draw(c, rng)
    best = {name: mean_of_score(float(np.mean(rule_of(r).score(c, y))), r) for name, r in MEANS.items()}
    return assess(y, p, labels=list(range(p.shape[1]))).measured, best


def table(draws: Iterable[int], sizes: Iterable[int] = SIZES, sources: Any = None) -> Iterator[dict[str, Any]]:
    """Yield truth, bias in standard deviations, and coverage of each mean, by source and number of cases."""
    for name, source in (SOURCES if sources is None else sources).items():
        true = true_means(source)
        for n in sizes:
            drawn = [found(source, n, seed) for seed in draws]
            for mean, wanted in true.items():
                spread = float(np.std([float(one.reading(mean)) for one, _ in drawn]))
                bias = float(np.mean([float(one.reading(mean)) - best[mean] for one, best in drawn]))
                shown = [one.reading(mean) for one, _ in drawn if one.reading(mean).low is not None]
                held = sum(one.low <= wanted <= one.high for one in shown)
                yield {
                    "source": name, "n": n, "mean": mean, "truth": wanted, "bias": bias, "sd": spread,
                    "covered": held / len(shown) if len(shown) > len(drawn) / 2 else None,
                }  # fmt: skip


def run(quick: bool = False) -> dict[str, Any]:
    """Return the worst miss of the intervals, and the bias of shifted frequencies, as rows."""
    cells = list(table(range(10 if quick else DRAWS)))
    missed = max(1.0 - cell["covered"] for cell in cells if cell["covered"] is not None)
    rows = [row("missed by the 95 % interval of a measured mean, worst source", missed, 1.0 - LEAST)]
    cells = list(table(range(3), (20_000,), {"shifted": shifted}))
    bias = max(abs(cell["bias"]) for cell in cells)
    return {"table": [*rows, row("bias of measured means under shifted frequencies", bias, SHIFTED_BIAS)]}


def main() -> None:
    """Print the table."""
    draws, sizes = options(__doc__, DRAWS, tuple(map(str, SIZES)))
    print("| source | n | mean | truth | bias | bias/sd | coverage |\n|---|---|---|---|---|---|---|")
    for cell in table(draws, [int(n) for n in sizes]):
        covered = "–" if cell["covered"] is None else f"{100 * cell['covered']:.0f} %"
        bias = f"{cell['bias']:+.4f} | {cell['bias'] / cell['sd']:+.2f}"
        print(
            f"| {cell['source']} | {cell['n']:,} | {cell['mean']} | {cell['truth']:.4f} | {bias} | {covered} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
