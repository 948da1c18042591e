"""Sums by key: what clusters and moments of time add to, so that dependent cases can be judged after the pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veracity.inputs import Forecasts
from veracity.state.sums import squared_deviations
from veracity.types import Array, Floats

CLUSTER, TIME = "cluster", "time"
MOST_KEYS = {CLUSTER: 1 << 17, TIME: 1 << 22}  # signs are drawn for blocks of clusters; of times there are only sums


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Number of cases, weight and weighted sums of rows by key, keys in order.

    kind    "cluster" (keys are hashes) or "time" (keys are moments)
    values  (keys, columns)
    """

    kind: str
    keys: Array
    cases: Array
    weight: Floats
    values: Floats

    @classmethod
    def of(cls, kind: str, keys: Array, cases: Array, weight: Floats, values: Floats) -> ClusterSums:
        """Return the sums of rows: `values` (rows, columns) are weighted already."""
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys, kind="stable")
            keys, cases, weight, values = keys[order], cases[order], weight[order], values[order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
        if len(first) > MOST_KEYS[kind]:
            what = {CLUSTER: "clusters", TIME: "different times"}[kind]
            raise ValueError(
                f"{kind}: more than {MOST_KEYS[kind]:,} {what}\n"
                + (
                    "  cases that are nearly all alone in their cluster are independent: leave --cluster out"
                    if kind == CLUSTER
                    else "  give coarser times, such as days"
                )
            )
        if len(first) == len(keys):  # each key once
            return cls(kind, keys, cases, weight, values)
        return cls(kind, keys[first], *(np.add.reduceat(x, first, axis=0) for x in (cases, weight, values)))

    def __add__(self, other: ClusterSums) -> ClusterSums:
        names = ("keys", "cases", "weight", "values")
        both = (np.concatenate([getattr(self, name), getattr(other, name)]) for name in names)
        return ClusterSums.of(self.kind, *both)

    def __len__(self) -> int:
        return len(self.keys)

    def influences(self, columns: Any, combine: Floats | None = None) -> Floats:
        """(keys, means) sums of w (x − mean)/Σw of the columns, or of linear combinations of them."""
        values = self.values[:, columns]
        values = values if combine is None else values @ combine
        total = self.weight.sum()
        influences: Floats = values - self.weight[:, None] * (values.sum(axis=0) / total)
        influences[np.abs(influences) <= 1e-13 * np.abs(values)] = 0.0  # rounding
        influences /= total
        return influences


# -- scores of one model by key ---------------------------------------------------------------------------------------

POWERS = (-2.0, -4.0 / 3.0, -2.0 / 3.0, 2.0 / 3.0, 1.0, 4.0 / 3.0, 2.0)  # r whose means are summed by key; 0 is the log
POWER = [f"power {r:.4g}" for r in POWERS]
SCORES = ("log", "brier", "spherical", "correct", "excess", *POWER, "predicted", "observed", "variance")
LEAST = 1e-80  # of a probability whose powers are summed: smaller ones would leave the range of floats
ENTRIES = 1 << 21  # of forecasts scored together


@dataclass(frozen=True, eq=False)
class ClusterScores:
    """Scores of one model by cluster or time, and the same as of independent rows.

    plain  (columns, 2) Σw² x and Σw² x², w² the count times the squared weight
    """

    sums: ClusterSums
    weight2: float
    plain: Floats

    @classmethod
    def of(cls, f: Forecasts) -> ClusterScores | None:
        """Return the sums of rows that have clusters or times; None where they have none."""
        by = f.time if f.clusters is None else f.clusters
        if by is None:
            return None
        x, w2 = _scores(f), f.squared_mass
        kind = TIME if f.clusters is None else CLUSTER
        plain = f.weights is None and f.counts is None
        sums = ClusterSums.of(kind, np.asarray(by), f.copies, f.mass, x if plain else x * f.mass[:, None])
        with np.errstate(over="ignore", invalid="ignore"):  # of outcomes that were next to impossible
            return cls(sums, float(w2.sum()), np.column_stack([w2 @ x, np.einsum("i,ij,ij->j", w2, x, x)]))

    def __add__(self, other: ClusterScores) -> ClusterScores:
        return ClusterScores(self.sums + other.sums, self.weight2 + other.weight2, self.plain + other.plain)

    @property
    def independent_errors(self) -> Floats:
        """(columns,) standard errors of the means if rows were independent."""
        total = self.sums.weight.sum()
        mean = self.sums.values.sum(axis=0) / total
        variance = squared_deviations(mean, self.plain[:, 0], self.plain[:, 1], self.weight2)
        effective = total**2 / self.weight2
        small = effective / (effective - 1.0) if effective > 1.0 + 1e-9 else np.nan
        return np.asarray(np.sqrt(variance * small) / total)


def _scores(f: Forecasts) -> Floats:
    """(n, columns) scores of rows; infinite ones are 0, and columns that need all classes where they are unknown."""
    step = max(1, ENTRIES // max(f.k, 1))
    if len(f) > step:
        return np.concatenate([_scores(f.take(slice(i, i + step))) for i in range(0, len(f), step)])
    with np.errstate(divide="ignore"):
        logs = np.log(f.realised) if f.log_realised is None else np.asarray(f.log_realised, dtype=np.float64)
    known = np.where(np.isfinite(logs), logs, 0.0)
    out = np.zeros((len(SCORES), len(f))).T  # column by column
    out[:, 0] = -known
    if f.probabilities is not None and f.outcomes is not None:
        p, realised = f.matrix, f.realised
        square = np.einsum("ij,ij->i", p, p)
        out[:, 1] = 1.0 - 2.0 * realised + square
        out[:, 2] = 1.0 - realised / np.sqrt(square)
        pick = f.outcomes == 1 if f.picks_only else p.argmax(axis=1) == f.outcomes
        out[:, 3] = pick
        each = np.log(np.where(p > 0.0, p, 1.0))
        entropy = -np.einsum("ij,ij->i", p, each)
        out[:, 4] = np.where(np.isclose(-known, entropy, rtol=1e-14, atol=0.0), 0.0, -known - entropy)
        # of the event, or of ln p of the outcome; Σw of the last is the variance of Σw of its residuals
        variance = np.einsum("ij,ij,ij->i", p, each, each) - entropy**2
        if f.k == 2:
            out[:, -3], out[:, -2], variance = f.positive, f.outcomes == 1, p[:, 0] * p[:, 1]
        out[:, -1] = variance * np.divide(f.squared_mass, f.mass, out=np.zeros(len(f)), where=f.mass > 0.0)
    with np.errstate(over="ignore"):
        out[:, 5:-3] = np.exp(np.maximum(known, np.log(LEAST))[:, None] * np.array(POWERS))
    return out
