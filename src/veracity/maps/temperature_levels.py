"""Temperature and class levels: p ∝ p^b e^{a_j}, one slope for all classes and one number a class."""

from __future__ import annotations

from dataclasses import dataclass

from ._fitted import Array, Formula
from ._logistic import logs
from ._softmax import softmax

LABEL = "temperature and class levels"

RIDGE = 0.5


@dataclass(frozen=True, eq=False)
class TemperatureLevels(Formula):
    """slope b and intercepts a (k,) on the logarithms of the probabilities, none taken below 1e-12."""

    slope: float
    intercepts: Array

    @property
    def text(self) -> str:
        return f"temperature {1.0 / self.slope:.2f} and class levels" if self.slope > 0.0 else LABEL

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(self.intercepts.shape == (self.k,), "a number a class")
        super().check()

    def rows(self, p: Array) -> Array:
        return softmax(logs(p) * self.slope + self.intercepts)[0]
