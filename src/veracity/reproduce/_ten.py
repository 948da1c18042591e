"""The ten-dimensional experiment of N17 Fig 1 and RP Figs 3–5, over many draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.formulas.means import R_GRID, log_generalized_mean
from veracity.simulate import TAILS, ten_dimensions

Array = NDArray[Any]
DIMENSIONS = (2, 4, 6, 8, 10)
PROFILED_DRAWS = 50  # a mean risk profile needs fewer draws than a percentile


@dataclass(frozen=True, eq=False)
class Experiment:
    """Results of all draws: {tail: {d: (draws, 4)}} of correct picks, decisiveness, geometric accuracy, robustness;
    and mean risk profiles on R_GRID."""

    results: dict[str, dict[int, Array]]
    profiles: dict[str, dict[int, Array]]

    def picks(self, tail: str, d: int) -> Array:
        return self.results[tail][d][:, 0]

    def mean_of(self, tail: str, d: int, which: str) -> Array:
        return self.results[tail][d][:, ("picks", "decisiveness", "accuracy", "robustness").index(which)]


@lru_cache(maxsize=8)
def experiment(reading: str, draws: int, seed: int = 0) -> Experiment:
    """`draws` replications, each with its own training and 1000 test points per class."""
    results: dict[str, dict[int, list[Any]]] = {tail: {d: [] for d in DIMENSIONS} for tail in TAILS}
    profiles: dict[str, dict[int, list[Any]]] = {tail: {d: [] for d in DIMENSIONS} for tail in TAILS}
    for number, child in enumerate(np.random.SeedSequence([seed, ord(reading)]).spawn(draws)):
        fitted, x, y = ten_dimensions(np.random.default_rng(child), reading)
        distances, sign = fitted.distances(x), np.where(y == 1, 1.0, -1.0)
        for tail in TAILS:
            for d in DIMENSIONS:
                odds = fitted.log_odds(distances, tail, d) * sign  # for what happened
                picks = (odds > 0).mean() + (odds == 0).mean() / 2.0  # a tie is half right
                log_p = -np.logaddexp(0.0, -odds)
                results[tail][d].append([picks, *np.exp(log_generalized_mean(log_p, [1.0, 0.0, -2 / 3]))])
                if number < PROFILED_DRAWS:
                    profiles[tail][d].append(np.exp(log_generalized_mean(log_p, R_GRID)))
    return Experiment(
        {tail: {d: np.array(rows) for d, rows in by_d.items()} for tail, by_d in results.items()},
        {tail: {d: np.mean(rows, axis=0) for d, rows in by_d.items()} for tail, by_d in profiles.items()},
    )


def ceiling(d: int) -> Array:
    """The same four numbers when the parameters are known: the log odds for what happened are N(d/2, d)."""
    from scipy.integrate import quad
    from scipy.stats import norm

    odds = norm(d / 2.0, np.sqrt(d))

    def mean(m: float) -> float:
        def integrand(z: float) -> float:
            log_p = -float(np.logaddexp(0.0, -z))
            return float(odds.pdf(z)) * (np.exp(m * log_p) if m else log_p)

        total = sum(quad(integrand, *piece, epsabs=1e-12, epsrel=1e-11)[0] for piece in ((-60, 0), (0, d), (d, 80)))
        return float(total ** (1 / m) if m else np.exp(total))

    return np.array([float(odds.sf(0.0)), mean(1.0), mean(0.0), mean(-2 / 3)])
