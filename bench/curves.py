"""Source probabilities by every curve against known truth: `python -m bench.curves [draws]` prints bias and RMSE.

The truth is c(u), how often forecasts of u come true, which each source knows; its geometric mean over the outcomes of
the population is what a curve of each class by itself measures from n cases. `on the same outcomes` is the distance to
c itself on the outcomes drawn, which the chance of these does not blur. `cross-fitted` is the headline `measured`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench._truth import draw, misread, pair
from veracity import assess
from veracity.estimate.means.by_curve import Sources
from veracity.inputs import Forecasts
from veracity.simulate import EXAMPLES
from veracity.state.tally import Tally

Floats = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], tuple[Forecasts, Floats]]  # forecasts, and c of each outcome

DRAWS, SIZES, MANY = 200, (100, 1_000, 10_000), 2_000_000
CURVES = ("bins", "width", "isotonic", "knn", "kernel")
HEADLINE = "cross-fitted"
HEADLINE_DRAWS = {100: 1.0, 1_000: 0.5, 10_000: 0.25}  # share of the draws: each is a cross-validation
STEP = 0.005  # of log odds, in which c is tabulated


def _clipped(log_odds: Floats) -> Floats:
    limit = np.log(0.99 / 0.01)
    return np.clip(log_odds, -limit, limit)


def _step(log_odds: Floats) -> NDArray[np.int64]:
    return np.round(log_odds / STEP).astype(np.int64)


def n17(name: str) -> Draw:
    """Return a source of N17 with its precision limit; c is tabulated from quantiles of both classes."""

    @cache
    def table() -> tuple[Floats, int]:
        case = EXAMPLES[name][1]
        levels = (np.arange(MANY // 2) + 0.5) / (MANY // 2)
        cells = [_step(_clipped(case.log_odds(density.ppf(levels)))) for density in case.source]
        low = min(int(each.min()) for each in cells)
        size = 1 + max(int(each.max()) for each in cells) - low
        green, orange = (np.bincount(each - low, minlength=size) for each in cells)
        return orange / np.maximum(green + orange, 1), low

    def drawn(n: int, rng: np.random.Generator) -> tuple[Forecasts, Floats]:
        case, y = EXAMPLES[name][1], rng.integers(0, 2, n)
        green, orange = (density.rvs(n, rng) for density in case.source)
        log_odds = _clipped(case.log_odds(np.where(y == 1, orange, green)))
        c, low = table()
        event = c[np.clip(_step(log_odds) - low, 0, len(c) - 1)]
        return Forecasts(pair(log_odds), y, (0, 1)), np.where(y == 1, event, 1.0 - event)

    return drawn


def bent(kind: str) -> Draw:
    """Return a source whose true probability is a function of the forecast."""

    def drawn(n: int, rng: np.random.Generator) -> tuple[Forecasts, Floats]:
        p, c = misread(kind, n, rng)
        y = draw(c, rng)
        return Forecasts(p, y, tuple(range(p.shape[1]))), c[np.arange(n), y]

    return drawn


SOURCES: dict[str, Draw] = {
    **{f"N17 {name}": n17(name) for name in ("matched", "mean-1", "variance-2", "tail-0")},
    **{kind: bent(kind) for kind in ("over", "quadratic", "plateau")},
}


def table(draws: int = DRAWS, sizes: tuple[int, ...] = SIZES, sources: Any = None) -> Iterator[dict[str, Any]]:
    """Yield truth, bias, RMSE and the RMSE on the same outcomes of each curve, by source and number of cases."""
    for name, source in (SOURCES if sources is None else sources).items():
        truth = float(np.exp(np.mean(np.log(np.maximum(source(MANY // 4, np.random.default_rng(9))[1], 1e-12)))))
        for n in sizes:
            errors: dict[str, list[tuple[float, float]]] = {curve: [] for curve in (*CURVES, HEADLINE)}
            for seed in range(draws):
                f, c = source(n, np.random.default_rng([seed, n]))
                same = float(np.exp(np.mean(np.log(np.maximum(c, 1e-12)))))
                tally = Tally.of(f)
                found = {curve: float(Sources(tally, curve).overall[1]) for curve in CURVES}
                if seed < draws * HEADLINE_DRAWS[n]:
                    found[HEADLINE] = float(assess(f).measured.geometric_accuracy)
                for curve, value in found.items():
                    errors[curve].append((value - truth, value - same))
            for curve, pairs in errors.items():
                known = [pair for pair in pairs if np.isfinite(pair[0])]  # some headlines have a reason instead
                of_truth, of_same = np.array(known).T
                yield {
                    "source": name,
                    "n": n,
                    "curve": curve,
                    "truth": truth,
                    "bias": float(of_truth.mean()),
                    "rmse": float(np.sqrt((of_truth**2).mean())),
                    "on the same outcomes": float(np.sqrt((of_same**2).mean())),
                    "draws": len(known),
                }


def main(draws: int = DRAWS) -> None:
    """Print the table."""
    print(
        "| source | n | curve | truth | bias | RMSE | on the same outcomes | draws |\n|---|---|---|---|---|---|---|---|"
    )
    for one in table(draws):
        numbers = f"{one['truth']:.4f} | {one['bias']:+.4f} | {one['rmse']:.4f} | {one['on the same outcomes']:.4f}"
        print(f"| {one['source']} | {one['n']:,} | {one['curve']} | {numbers} | {one['draws']} |", flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
