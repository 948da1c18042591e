"""Confusion map: p' = p M with rows of M that sum to one: labels exchanged at random with probabilities M."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from veracity.calibrators._fitted import Formula, as_rows
from veracity.inputs import Forecasts
from veracity.types import Array

from ._grouping import row_mass

LABEL = "confusion map"

KEEP = 5.0  # pseudo-rows of each class that keep their label: a class with few rows hardly changes
MOST_ROUNDS = 300
TOLERANCE = 1e-9  # change of an entry in one round


@dataclass(frozen=True, eq=False)
class Confusion(Formula):
    """matrix M (k, k): the share of each class (row) that is given to each class (column)."""

    matrix: Array

    @property
    def _described(self) -> str:
        return f"confusion map (keeps {100 * np.diag(self.matrix).mean():.0f} % of a class on average)"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require_distributions(self.matrix, "matrix")
        self.require(len(self.matrix) == self.k, f"matrix of shape {self.matrix.shape} for {self.k} classes")
        super().check()

    def rows(self, p: Array) -> Array:
        q = p @ self.matrix
        return np.asarray(q / q.sum(axis=1, keepdims=True))


def exchange(p: Array, outcomes: Array, rows: Array) -> Array:
    """Return (k, k) M with the largest likelihood of p M, by EM with pseudo-rows that keep every entry positive.

    Two rounds of EM and a step along their extrapolation make one (Varadhan & Roland 2008, SQUAREM). SciPy's methods
    with constraints hold matrices of k⁴ entries.
    """
    k = p.shape[1]
    prior = KEEP * np.eye(k) + 1.0 / k
    order = np.argsort(outcomes, kind="stable")
    ends = np.searchsorted(outcomes[order], np.arange(k + 1))
    by_class = [(p[order[a:b]], rows[order[a:b]]) for a, b in pairwise(ends)]

    def counted(m: Array) -> Array:
        counts = prior.copy()
        for j, (scores, mass) in enumerate(by_class):
            if len(mass):
                total = scores @ m[:, j]
                share = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0.0)
                counts[:, j] += m[:, j] * (share @ scores)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    m: Array = prior / prior.sum(axis=1, keepdims=True)
    for _ in range(MOST_ROUNDS // 3):
        one = counted(m)
        two = counted(one)
        if np.abs(two - one).max() < TOLERANCE:
            return two
        first, second = one - m, two - 2.0 * one + m
        length = -max(1.0, float(np.linalg.norm(first)) / max(float(np.linalg.norm(second)), 1e-300))
        far = m - 2.0 * length * first + length**2 * second
        m = counted(far) if far.min() > 0.0 else two
    return m


def fit(forecasts: Forecasts) -> Confusion:
    """Return the exchange of labels under which the outcomes are likeliest."""
    scores, outcomes = forecasts.scores, forecasts.observed
    return Confusion(forecasts.classes, matrix=exchange(as_rows(scores, forecasts.k), outcomes, row_mass(forecasts)))
