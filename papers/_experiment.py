"""The ten-dimensional experiment of N17 Fig 1 and RP Figs 3–5, over many draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers import _charts
from papers._rows import Row, shown
from veracity.formulas.means import R_GRID, log_generalized_mean
from veracity.simulate import TAILS, Fitted, ten_dimensions

Array = NDArray[Any]
DIMENSIONS = (2, 4, 6, 8, 10)
PROFILED_DRAWS = 50  # a mean risk profile needs fewer draws than a percentile
RISKS = (-2.0, -1.0, -2 / 3, -0.5, 0.0, 0.5, 1.0, 2.0)  # where risk profiles are compared
COMPARED_DRAWS = 200


@dataclass(frozen=True, eq=False)
class Experiment:
    """Results of all draws: {tail: {d: (draws, 4)}} of correct picks, decisiveness, geometric accuracy, robustness;
    the risk profiles of the first 50 draws on R_GRID, and of the first 200 at RISKS, (draws, 8)."""

    results: dict[str, dict[int, Array]]
    profiles: dict[str, dict[int, Array]]
    compared: dict[str, dict[int, Array]]

    def picks(self, tail: str, d: int) -> Array:
        """Return the share of correct picks in every draw."""
        return self.results[tail][d][:, 0]

    def mean_of(self, tail: str, d: int, which: str) -> Array:
        """Return one column of the results in every draw."""
        return self.results[tail][d][:, ("picks", "decisiveness", "accuracy", "robustness").index(which)]

    def rows(self, tail: str, reading: str) -> list[Row]:
        """Return rows of the means over the draws for every dimension, with those of known parameters."""
        found = []
        for d in DIMENSIONS:
            mean, sd = self.results[tail][d].mean(axis=0), self.results[tail][d].std(axis=0, ddof=1)
            robustness, known = np.median(self.mean_of(tail, d, "robustness")), ceiling(d)
            found.append(
                shown(
                    f"reading {reading}, {tail}, {d} dimensions",
                    f"picks {mean[0]:.3f} (sd {sd[0]:.3f}) · {mean[1]:.3f} / {mean[2]:.3f} / {robustness:.3g}",
                    f"correct picks · decisiveness / geometric accuracy (sd {sd[2]:.3f}) / robustness (median); with "
                    f"known parameters {known[0]:.3f} · {known[1]:.3f} / {known[2]:.3f} / {known[3]:.3f}",
                    value=float(mean[2]),
                )
            )
        return found

    def chart(self, tail: str, title: str) -> Any:
        """Return the chart of mean correct picks, decisiveness and geometric accuracy, and median robustness."""
        means = {
            "decisiveness": [self.mean_of(tail, d, "decisiveness").mean() for d in DIMENSIONS],
            "geometric accuracy": [self.mean_of(tail, d, "accuracy").mean() for d in DIMENSIONS],
            "robustness": [np.median(self.mean_of(tail, d, "robustness")) for d in DIMENSIONS],
        }
        picks = [self.picks(tail, d).mean() for d in DIMENSIONS]
        return _charts.shares_and_means(DIMENSIONS, picks, means, title, "dimensions")


@lru_cache(maxsize=8)
def experiment(reading: str, draws: int, seed: int = 0) -> Experiment:
    """Return `draws` replications, each with its own training and 1000 test points per class."""
    results, profiles, compared = _empty(), _empty(), _empty()
    for number, child in enumerate(np.random.SeedSequence([seed, ord(reading)]).spawn(draws)):
        fitted, x, y = ten_dimensions(np.random.default_rng(child), reading)
        distances, sign = fitted.distances(x), np.where(y == 1, 1.0, -1.0)
        for tail in TAILS:
            for d in DIMENSIONS:
                odds = fitted.log_odds(distances, tail, d) * sign  # of the observed class
                picks = (odds > 0).mean() + (odds == 0).mean() / 2.0  # a tie is half right
                log_p = -np.logaddexp(0.0, -odds)
                results[tail][d].append([picks, *np.exp(log_generalized_mean(log_p, [1.0, 0.0, -2 / 3]))])
                if number < PROFILED_DRAWS:
                    profiles[tail][d].append(np.exp(log_generalized_mean(log_p, R_GRID)))
                if number < COMPARED_DRAWS:
                    compared[tail][d].append(np.exp(log_generalized_mean(log_p, RISKS)))
    stacked = [
        {tail: {d: np.array(rows) for d, rows in by_d.items()} for tail, by_d in held.items()}
        for held in (results, profiles, compared)
    ]
    return Experiment(*stacked)


def experiments(quick: bool, seed: int) -> tuple[Experiment, Experiment]:
    """Return the experiment in readings A and B."""
    draws = 200 if quick else 500
    return experiment("A", draws, seed), experiment("B", draws, seed)


def literal(quick: bool, seed: int) -> Experiment:
    """Return the experiment to the letter: reading C, the variance of each dimension by itself."""
    return experiment("C", 50 if quick else 200, seed)


COVARIANCE = "a full covariance per class, which the text does not say"


def _empty() -> dict[str, dict[int, list[Any]]]:
    return {tail: {d: [] for d in DIMENSIONS} for tail in TAILS}


# ---- values without draws -------------------------------------------------------------------------------------------


def ceiling(d: int) -> Array:
    """Return correct picks and the three means with known parameters: log odds of the observed class are N(d/2, d)."""
    from scipy.stats import norm

    picks = norm.sf(0.0, d / 2.0, math.sqrt(d))
    return np.array([picks, *normal_profile(d / 2.0, math.sqrt(d), (1.0, 0.0, -2 / 3))])


def normal_profile(centre: float, spread: float, risks: Any) -> Array:
    """Return generalized means of p when ln(p/(1 − p)) is normal, by quadrature.

    Below r = 0 the integrand is largest near centre + r spread², where the powers outweigh the density.
    """
    from scipy.integrate import quad

    def mean(m: float) -> float:
        top = centre + min(m, 0.0) * spread**2

        def log_weight(z: float) -> float:
            return -(((z - centre) / spread) ** 2) / 2.0 - math.log(spread * math.sqrt(2.0 * math.pi))

        def integrand(z: float) -> float:
            log_p = -float(np.logaddexp(0.0, -z))
            return math.exp(log_weight(z) + m * log_p) if m else math.exp(log_weight(z)) * log_p

        cuts = sorted(
            {top - 40 * spread, top - 6 * spread, top, 0.0, centre, centre + 6 * spread, centre + 40 * spread}
        )
        total = sum(quad(integrand, a, b, epsabs=0.0, epsrel=1e-12, limit=200)[0] for a, b in pairwise(cuts))
        return float(total ** (1 / m) if m else math.exp(total))

    return np.array([mean(float(m)) for m in risks])


def known_inverse(d: int, power: int) -> float:
    """Return the mean of power −1, −2, … with known parameters: E e^(−k z) = exp(d k (k − 1)/2)."""
    total = sum(math.comb(power, k) * math.exp(d * k * (k - 1) / 2.0) for k in range(power + 1))
    return float(total ** (-1.0 / power))


def harmonic(fitted: Fitted, d: int) -> float:
    """Return the population's mean of power −1 of one fitted Gaussian model, in closed form; 0 when it diverges.

    1/p = 1 + f_other/f_own, and the ratio is the exponential of a quadratic form in normal x:
    E exp(−xᵀM x/2 + bᵀx + c) = |I + M|^(−1/2) exp(c' + (b + μ)ᵀ(I + M)⁻¹(b + μ)/2), finite when I + M is positive.
    """
    total = 0.0
    for own in (0, 1):
        other, centre = 1 - own, np.full(d, float(own))  # the source: unit covariance about 0 or 1
        precision, log_size, linear, constant = [], [], [], []
        for mean, scale in zip(fitted.means, fitted.scales, strict=True):
            inverse = np.linalg.inv(scale[:d, :d])
            precision.append(inverse)
            log_size.append(-float(np.linalg.slogdet(scale[:d, :d])[1]) / 2.0)
            linear.append(inverse @ mean[:d])
            constant.append(-float(mean[:d] @ inverse @ mean[:d]) / 2.0)
        curved = np.eye(d) + precision[other] - precision[own]
        if np.linalg.eigvalsh(curved)[0] <= 0:
            return 0.0
        push = centre + linear[other] - linear[own]
        log_ratio = (
            log_size[other] - log_size[own] + constant[other] - constant[own] - float(centre @ centre) / 2.0
            + float(push @ np.linalg.solve(curved, push)) / 2.0 - float(np.linalg.slogdet(curved)[1]) / 2.0
        )  # fmt: skip
        total += 0.5 * (1.0 + math.exp(min(log_ratio, 700.0)))
    return 1.0 / total
