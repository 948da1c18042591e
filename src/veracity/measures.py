"""What can be measured of forecasts, each a function of weighted means: one constant here is all that a measure needs.

A measure maps every row to numbers (`rows`), averages them with the rows' weights and counts, and turns the averages
into the value people read (`value`). The fused pass computes the same sums at memory speed; tests hold both together.
Decisiveness and robustness describe; only measures marked `proper` may choose between models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.data import Forecasts
from veracity.formulas.rules import ScoringRule, half_brier, power, rule

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """Name and symbol; which way is better; the range; whether honest probabilities are best; where it is defined."""

    name: str
    symbol: str
    better: str  # "lower" | "higher" | "neither"
    bounds: tuple[float, float]
    proper: bool
    cite: str
    rows: Callable[[Forecasts], Floats]
    value: Callable[[Floats], float]

    def __call__(self, forecasts: Forecasts) -> float:
        """The measure of these forecasts.

        >>> f = Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9])
        >>> round(accuracy(f), 6), round(decisiveness(f), 6)
        (0.795811, 0.8)
        """
        rows, mass = self.rows(forecasts), forecasts.mass
        counted = mass > 0.0  # a row without weight takes no part, even where it is infinite
        share = mass[counted] / mass[counted].sum()
        return float(self.value(share @ rows[counted]))


def _first(means: Floats) -> float:
    return float(means[0])


def _log_realised(f: Forecasts) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(f.realised) if f.log_realised is None else np.asarray(f.log_realised, dtype=np.float64)


def _score(of: ScoringRule) -> Callable[[Forecasts], Floats]:
    def rows(f: Forecasts) -> Floats:
        assert f.outcomes is not None
        return np.asarray(of.score(f.matrix, f.outcomes))[:, None]

    return rows


def _correct(f: Forecasts) -> Floats:
    p = f.matrix
    pick = np.argmax(p, axis=1) if f.probabilities is not None and f.probabilities.ndim == 2 else p[:, 1] > 0.5
    correct: Floats = (pick == f.outcomes).astype(np.float64)[:, None]
    return correct


def mean_of_power(r: float, name: str, cite: str) -> Measure:
    """P_r, the generalized mean of the probability given to what happened."""

    def rows(f: Forecasts) -> Floats:
        log = _log_realised(f)
        with np.errstate(over="ignore"):
            return (log if r == 0.0 else np.exp(r * log))[:, None]

    def value(means: Floats) -> float:
        with np.errstate(divide="ignore"):
            return float(np.exp(means[0]) if r == 0.0 else means[0] ** (1.0 / r))

    better = "higher" if r == 0.0 else "neither"
    return Measure(name, f"P_{r:.3g}", better, (0.0, 1.0), r == 0.0, cite, rows, value)


def power_score(r: float) -> Measure:
    """The proper score of the power family at r: 0 is the log loss, 1 the Brier score."""
    highest = (1.0 + r) / r if r > 0.0 else np.inf
    cite = "theory of the power family; Gneiting & Raftery 2007 eq 25"
    return Measure(f"power({r:.3g})", f"d_{r:.3g}", "lower", (0.0, highest), True, cite, _score(power(r)), _first)


log_loss = Measure(
    "log_loss", "L_log", "lower", (0.0, np.inf), True, "HB17 eq 2; KF15 section 2",
    lambda f: -_log_realised(f)[:, None], _first,
)  # fmt: skip
perplexity = Measure(
    "perplexity", "PP", "lower", (1.0, np.inf), True, "RP Table 1",
    lambda f: -_log_realised(f)[:, None], lambda means: float(np.exp(means[0])),
)  # fmt: skip
brier = Measure("brier", "BS", "lower", (0.0, 2.0), True, "KF15 section 2", _score(rule("brier")), _first)
half = Measure("half_brier", "BS/2", "lower", (0.0, 1.0), True, "HB17 eq 1", _score(half_brier), _first)
spherical = Measure("spherical", "S", "lower", (0.0, 1.0), True, "Good 1971", _score(rule("spherical")), _first)
prediction_accuracy = Measure("prediction_accuracy", "ACC", "higher", (0.0, 1.0), False, "CQ", _correct, _first)
decisiveness = mean_of_power(1.0, "decisiveness", "CQ eq 2 with ρ = 1")
accuracy = mean_of_power(0.0, "accuracy", "CQ eq 2 with ρ = 0; N17 eq 6")
robustness = mean_of_power(-2.0 / 3.0, "robustness", "CQ eq 2 with ρ = −2/3")

MEASURES = (
    log_loss, perplexity, brier, half, spherical, prediction_accuracy, decisiveness, accuracy, robustness,
)  # fmt: skip


def risk_profile(r: Any) -> tuple[Measure, ...]:
    """P_r for every r."""
    return tuple(mean_of_power(float(one), f"P_{float(one):.3g}", "RP eq 3.5; N17 eq 13") for one in r)
