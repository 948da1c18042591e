"""Sums of functions of rows, computed by further passes of the engine where the rows are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from veracity.data.types import Array
from veracity.engines._sums import Sum
from veracity.maps._dual import Sums, Work
from veracity.maps._fitted import as_rows, blocks
from veracity.read.parts import Batch


class Added(Sum):
    """The sum of work(rows, shares) over rows."""

    def __init__(self, work: Work, zero: Sums, mass: float, kept: Array | None) -> None:
        self._work, self.value, self._mass, self._kept = work, zero, mass, kept

    def take(self, batch: Batch) -> None:
        for f in batch.forecasts:
            assert f.probabilities is not None
            for part in blocks(len(f), f.k):
                rows = as_rows(f.probabilities[part], f.k)
                rows = rows if self._kept is None else rows[:, self._kept]
                self._add(self._work(rows, f.mass[part] / self._mass))

    def _add(self, other: Sums) -> None:
        self.value = tuple(a + b for a, b in zip(self.value, other, strict=True))

    def merge(self, state: bytes) -> None:
        self._add(pickle.loads(state))

    def state(self) -> bytes:
        return pickle.dumps(self.value)  # between workers of one run, which exchange pickled tasks anyway


@dataclass(frozen=True, eq=False)
class Passes:
    """Chunks for the dual solver that stay where they are; every sum is a pass of the engine."""

    total: Callable[..., Added]
    mass: float
    k: int
    kept: Array | None = None
    dense: int = 2000  # classes up to which a matrix of couplings costs less than more passes

    def summed(self, work: Work, zero: Sums) -> Sums:
        return self.total(partial(Added, work, zero, self.mass, self.kept)).value

    def narrowed(self, kept: Array) -> Passes:
        return replace(self, kept=kept)

    def __call__(self) -> Iterable[tuple[Array, Array]]:
        raise TypeError("rows on a cluster are summed where they are")
