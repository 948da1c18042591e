"""Temperature scaling: p ∝ p^(1/T), one number for all classes (Guo et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from veracity.data import Forecasts

from ._fitted import Formula, as_rows, blocks
from ._target import scores_of

Array = NDArray[Any]

RANGE = 10.0  # of ln(1/T): beyond it the map is a hard pick or the same row for all


def sharpened(p: Array, beta: float) -> Array:
    """Rows in proportion to p^β; zeros stay zero."""
    with np.errstate(divide="ignore"):
        q = np.exp(beta * np.log(p / p.max(axis=1, keepdims=True)))
    return np.asarray(q / q.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Temperature(Formula):
    """p ∝ p^(1/temperature); above 1 makes forecasts more cautious."""

    temperature: float

    name: ClassVar[str] = "temperature"

    @property
    def text(self) -> str:
        return f"temperature {self.temperature:.2f}"

    def rows(self, p: Array) -> Array:
        return sharpened(p, 1.0 / self.temperature)


def fit(forecasts: Forecasts) -> Temperature:
    """The temperature with the least log loss: the only root of its derivative, which rises in 1/T.

    Rows that gave what happened probability 0 have infinite loss at every temperature and take no part.
    """
    scores, outcomes, mass, k = scores_of(forecasts), forecasts.outcomes, forecasts.mass, forecasts.k
    assert outcomes is not None

    def derivative(log_beta: float) -> float:
        total = 0.0
        for part in blocks(len(scores), k):
            p, y = as_rows(scores[part], k), outcomes[part]
            with np.errstate(divide="ignore"):
                logs = np.log(p)
            q = np.exp(np.exp(log_beta) * (logs - logs.max(axis=1, keepdims=True)))
            logs[p == 0.0] = 0.0
            happened = np.take_along_axis(logs, y[:, None], axis=1)[:, 0]
            gap = np.einsum("ij,ij->i", q, logs) / q.sum(axis=1) - happened
            gap[np.take_along_axis(p, y[:, None], axis=1)[:, 0] == 0.0] = 0.0
            total += float(mass[part] @ gap)
        return total

    if derivative(RANGE) <= 0.0:
        log_beta = RANGE
    elif derivative(-RANGE) >= 0.0:
        log_beta = -RANGE
    else:
        log_beta = brentq(derivative, -RANGE, RANGE, xtol=1e-13)
    return Temperature(forecasts.classes, temperature=float(np.exp(-log_beta)))
