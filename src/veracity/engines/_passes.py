"""Another look at the rows: sums of functions of rows, made where the rows are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from veracity.data import Finding, Forecasts
from veracity.maps._dual import Sums, Work
from veracity.maps._fitted import as_rows, blocks

Array = NDArray[Any]


class Added:
    """The sum of work(rows, shares) over rows."""

    def __init__(self, work: Work, zero: Sums, mass: float, kept: Array | None) -> None:
        self._work, self.value, self._mass, self._kept = work, zero, mass, kept

    def take(self, forecasts: Forecasts) -> None:
        assert forecasts.probabilities is not None
        for part in blocks(len(forecasts), forecasts.k):
            rows = as_rows(forecasts.probabilities[part], forecasts.k)
            rows = rows if self._kept is None else rows[:, self._kept]
            self._add(self._work(rows, forecasts.mass[part] / self._mass))

    def _add(self, other: Sums) -> None:
        self.value = tuple(a + b for a, b in zip(self.value, other, strict=True))

    def tell(self, model: str, findings: tuple[Finding, ...]) -> None:
        """The tally has said it."""

    def name(self, *parts: str) -> None:
        """The tally has said what does not fit."""

    def skip(self, part: str, reason: str) -> None:
        """The tally has said what was left out."""

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
