"""Residuals of pairs of classes: does class j happen more often where class k was given more?

    S_jk = Σ_i w_i (1[y_i = j] − p_ij)(p_ik − m_jk),    m_jk = Σ_i w_i p_ij (1 − p_ij) p_ik / Σ_i w_i p_ij (1 − p_ij)

m_jk makes S_jk blind to a wrong level of class j. Beyond 31 classes, the 30 with the largest Σp and the rest as one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.types import Floats, Ints

MOST = 31  # classes, the last of them all that are rare: S has their square
BLOCKS = 256  # of rows, whose sums get random signs where outcomes are not drawn


def frequent_classes(p: Floats, mass: Floats, most: int = MOST) -> tuple[Floats, Ints]:
    """Return (n, K') forecasts of the frequent classes and of the rest as one, and (K,) where each class went."""
    k = p.shape[1]
    if k <= most:
        return p, np.arange(k)
    frequent = np.sort(np.argsort(-(mass @ p), kind="stable")[: most - 1])
    of_class = np.full(k, most - 1)
    of_class[frequent] = np.arange(most - 1)
    rest = np.clip(1.0 - p[:, frequent].sum(axis=1), 0.0, 1.0)
    return np.column_stack([p[:, frequent], rest]), of_class


@dataclass(frozen=True, eq=False)
class Joint:
    """Forecasts p (n, K') of the frequent classes, and what S needs of them.

    of_class  (K,) the class among the K' that each class is part of
    centre    (K', K') m_jk
    expected  (K', K') Σ_i w_i p_ij p_ik
    """

    p: Floats
    of_class: Ints
    centre: Floats
    expected: Floats

    @classmethod
    def of(cls, p: Floats, mass: Floats) -> Joint:
        p, of_class = frequent_classes(p, mass)
        varied = mass[:, None] * p * (1.0 - p)
        total = varied.sum(axis=0)[:, None]
        centre = np.divide(varied.T @ p, total, out=np.zeros((p.shape[1],) * 2), where=total > 0.0)
        return cls(p, of_class, centre, (p * mass[:, None]).T @ p)

    @property
    def size(self) -> int:
        return int(self.p.shape[1])

    def outcome_sums(self, y: Ints, mass: Floats) -> Floats:
        """Return (K', K') Σ_{i: y_i = j} w_i p_ik."""
        group = self.of_class[y]
        sums = [np.bincount(group, mass * column, self.size) for column in self.p.T]
        return np.asarray(np.column_stack(sums))

    def move(self, sums: Floats, draw: Ints, i: Ints, away: Ints, to: Ints, weight: Floats) -> None:
        """Add to (draws, K', K') the change of the sums where the outcome of row i is `to`, not `away`; i ascends."""
        from scipy.sparse import csr_array

        size, draws, rows = self.size, len(sums), len(self.p)
        place = (draw * size + np.stack([self.of_class[to], self.of_class[away]])).T.ravel()
        ends = 2 * np.searchsorted(i, np.arange(rows + 1))
        moved = csr_array((np.stack([weight, -weight]).T.ravel(), place, ends), shape=(rows, draws * size))
        sums += (moved.T @ self.p).reshape(draws, size, size)

    def residuals(self, sums: Floats, level: Floats) -> Floats:
        """Return (draws, K'²) S_jk from sums by outcome and the residuals of the level (draws, K)."""
        own = np.zeros((len(level), self.size))
        for k, group in enumerate(self.of_class):
            own[:, group] += level[:, k]
        residuals = sums - self.expected - own[:, :, None] * self.centre
        residuals[:, np.arange(self.size), np.arange(self.size)] = 0.0
        return np.asarray(residuals.reshape(len(level), -1))

    def observed(self, y: Ints, mass: Floats, level: Floats) -> Floats:
        """Return (K'²,) S_jk of the outcomes y."""
        return np.asarray(self.residuals(self.outcome_sums(y, mass)[None], level[None])[0])

    def by_block(self, y: Ints, mass: Floats, starts: Ints) -> Floats:
        """Return (blocks, K'²) S_jk of the rows of each block, which begin at `starts`."""
        rest = -self.p
        rest[np.arange(len(y)), self.of_class[y]] += 1.0
        rest *= mass[:, None]
        sums = np.empty((len(starts), self.size, self.size))
        for j in range(self.size):
            sums[:, j] = np.add.reduceat(rest[:, j, None] * self.p, starts, axis=0)
        sums -= np.add.reduceat(rest, starts, axis=0)[:, :, None] * self.centre
        sums[:, np.arange(self.size), np.arange(self.size)] = 0.0
        return np.asarray(sums.reshape(len(starts), -1))

    def signed(self, y: Ints, mass: Floats, draws: int, rng: np.random.Generator) -> Floats:
        """Return (draws, K'²) sums over blocks of rows with random signs; rows are in the order of their hashes."""
        starts = np.unique(np.linspace(0, len(y), min(BLOCKS, len(y)), endpoint=False).astype(np.int64))
        sums = self.by_block(y, mass, starts)
        return np.asarray((1.0 - 2.0 * rng.integers(0, 2, (draws, len(starts)))) @ sums)
