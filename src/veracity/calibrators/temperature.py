"""Temperature scaling: p ∝ p^(1/T), one number for all classes (Guo et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from veracity.calibrators._fitted import Formula, as_rows, blocks
from veracity.formulas.rules import largest
from veracity.inputs import Forecasts
from veracity.types import Array

from ._grouping import effective_rows

LABEL = "temperature scaling"

IMPOSSIBLE = -1e100  # the logarithm of 0, whose powers stay finite
RANGE = 10.0  # of ln(1/T): beyond it the map is a hard pick or the same row for all
MOST_STEPS = 12  # of Newton's method; a root beyond their reach is found by bracketing
NEAR = 1e-8  # a Newton step this short leaves an error of its square


def sharpened(p: Array, beta: float) -> Array:
    """Return rows in proportion to p^β; zeros stay zero."""
    with np.errstate(divide="ignore"):
        q = np.exp(beta * np.log(p / largest(p)))
    return np.asarray(q / q.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Temperature(Formula):
    """p ∝ p^(1/temperature); above 1 makes forecasts more cautious."""

    temperature: float

    wording = "temperature {0.temperature:.2f}"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.temperature > 0.0, f"temperature {self.temperature!r}")
        super().check()

    def rows(self, p: Array) -> Array:
        return sharpened(p, 1.0 / self.temperature)


# Three other maps begin with the temperature: it is kept for as long as somebody holds the forecasts.
_KNOWN: WeakKeyDictionary[Forecasts, float] = WeakKeyDictionary()


def fit(forecasts: Forecasts, *, start: float | None = None, pseudo: float = 0.0) -> Temperature:
    """Return the map with the best temperature.

    start   temperature to begin from
    pseudo  number of cases, added in equal parts to all rows and all classes, that keep the temperature above 0 where
            the largest probability is always right; no row may hold a 0
    """
    if start is not None or pseudo:
        return Temperature(forecasts.classes, temperature=_best(forecasts, start or 1.0, pseudo))
    if forecasts not in _KNOWN:
        _KNOWN[forecasts] = _best(forecasts, 1.0, 0.0)
    return Temperature(forecasts.classes, temperature=_KNOWN[forecasts])


def _best(forecasts: Forecasts, start: float, pseudo: float) -> float:
    """Return the temperature with the least log loss: the only root of its derivative, which rises in β = 1/T.

    Rows that gave the outcome probability 0 have infinite loss at every temperature and take no part.
    """
    scores, outcomes, mass, k = forecasts.scores, forecasts.observed, forecasts.mass, forecasts.k
    parts: list[tuple[Array, Array, Array]] = []
    extra, even = pseudo / effective_rows(forecasts), np.full(k, 1.0 / k)
    for part in blocks(len(scores), k):
        p, y = as_rows(scores[part], k), outcomes[part]
        possible = p[np.arange(len(y)), y] > 0.0
        p, y = p[possible], y[possible]
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(p / largest(p)), IMPOSSIBLE)
        realised, share = logs[np.arange(len(y)), y], mass[part][possible]
        if pseudo:
            realised, share = (realised + extra * (logs @ even)) / (1.0 + extra), share * (1.0 + extra)
        parts.append((logs, realised, share))

    ones = np.ones(k)

    def derivatives(log_beta: float) -> tuple[float, float]:
        """Return the derivative of the log loss in β, and the derivative of that in ln β."""
        beta = float(np.exp(np.clip(log_beta, -RANGE, RANGE)))
        first = second = 0.0
        for logs, realised, share in parts:
            q = np.exp(beta * logs)
            total = q @ ones  # quicker than a sum along rows
            q *= logs
            mean = q @ ones / total
            q *= logs
            first += float(share @ (mean - realised))
            second += float(share @ (q @ ones / total - mean**2))
        return first, beta * second or np.nan  # flat: no Newton step

    return float(np.exp(-_rising_root(derivatives, -np.log(start))))


def _rising_root(derivatives: Callable[[float], tuple[float, float]], start: float) -> float:
    """Return the root of an increasing function in [−RANGE, RANGE], or the end that is nearer to it."""
    from scipy.optimize import brentq, root_scalar

    with np.errstate(all="ignore"):
        near = root_scalar(derivatives, x0=start, fprime=True, method="newton", maxiter=MOST_STEPS, xtol=NEAR)
    if near.converged and abs(near.root) < RANGE:
        return float(near.root)
    ends = [derivatives(end)[0] for end in (-RANGE, RANGE)]
    if ends[0] < 0.0 < ends[1]:
        return float(brentq(lambda t: derivatives(t)[0], -RANGE, RANGE, xtol=1e-13))
    return -RANGE if ends[0] >= 0.0 else RANGE
