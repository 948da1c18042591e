"""Paired differences of several scores at once, and how they are judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.estimate.decisions.spread import Dependence, errors, largest_deviation
from veracity.inputs import Forecasts
from veracity.state.clusters import CLUSTER, TIME
from veracity.state.pairs import CaseScores
from veracity.types import Array, Floats


@dataclass(frozen=True)
class How:
    """How differences are judged: the dependence of cases, level and seed of the band."""

    level: float
    seed: int
    kind: str | None = None
    lags: int | None = None

    def by(self, f: Forecasts) -> Array | None:
        return f.clusters if self.kind == CLUSTER else f.time if self.kind == TIME else None


@dataclass(frozen=True, eq=False)
class Differences:
    """Paired differences of several scores, case by case."""

    d: Floats  # (cases, scores)
    share: Floats  # of the weight
    dependence: Dependence
    level: float
    seed: int

    @classmethod
    def of(cls, a: Forecasts, b: Forecasts, x: Floats, z: Floats, how: How) -> Differences:
        """Return those of scores x and z (rows, scores) of the same cases."""
        first, second = (CaseScores.of(f, values, how.by(f)) for f, values in ((a, x), (b, z)))
        key = None if first.by is None else np.unique(first.by, return_inverse=True)[1].ravel()
        dependence = Dependence(first.cases, how.kind if key is not None else None, key, how.lags)
        return cls(first.scores - second.scores, first.weight / first.weight.sum(), dependence, how.level, how.seed)

    def band(self, *, studentised: bool = False) -> tuple[Floats, Floats]:
        """Return mean differences and the half-widths of a band that holds for all of them at once."""
        mean = self.share @ self.d
        effective = 1.0 / float((self.share**2 / self.dependence.copies).sum())
        small = effective / (effective - 1.0) if self.dependence.key is None and effective > 1.0 + 1e-9 else 1.0
        covariance = self.dependence.covariance(self.share[:, None] * (self.d - mean)) * small
        df = self.dependence.df if self.dependence.kind else max(effective - 1.0, 1.0)
        reach = largest_deviation(covariance, df, self.level, self.seed, studentised=studentised)
        return mean, reach * (errors(covariance) if studentised else np.ones(len(mean)))
