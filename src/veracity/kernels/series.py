"""Sums of functions of probabilities from the moments of their positions in narrow cells, by Taylor series.

A series is an array of its first five coefficients, each an array over cells.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from veracity.kernels.result import R
from veracity.types import Array

TERMS = 5
BLOCK = 1 << 12  # cells whose series stay in the cache
SUMS = ("realised", "power", "log", "log²", "brier", "brier²", "spherical", "spherical²")


@dataclass(frozen=True, eq=False)
class Realised:
    """Rows of some cells, t = t0 + t1 x being the probability of the outcome.

    >>> t = 0.5 + 2.0**-13 * np.array([-0.3, 0.2])
    >>> x = (t - 0.5) * 2
    >>> half, log, moments = np.array([0.5]), np.log([0.5]), np.array([[np.sum(x**j)] for j in range(5)])
    >>> bool(abs(Realised(half, half, half, log, moments).sums()["log"][0] + np.log(t).sum()) < 1e-15)
    True
    """

    t0: Array
    t1: Array
    rest0: Array  # 1 - t0, exact where t0 is near 1
    log0: Array  # ln t0, likewise
    moments: Array  # (5, cells) Σx^j

    def blocks(self) -> list[Realised]:
        """Yield the cells a few at a time; at least one block."""
        starts = range(0, max(len(self.t0), 1), BLOCK)
        return [Realised(*(getattr(self, f.name)[..., i : i + BLOCK] for f in fields(self))) for i in starts]

    @cached_property
    def _step(self) -> Array:
        """Powers of t1/t0."""
        step = self.t1 / self.t0
        square = step * step
        return np.array([np.ones_like(step), step, square, square * step, square * square])

    def sums(self) -> dict[str, Array]:
        """Return, for each cell, Σ t, Σ t^(-2/3), and the sums of each score and its square."""
        step = self._step
        log = -np.array([self.log0, step[1], -step[2] / 2, step[3] / 3, -step[4] / 4])
        t, rest = _line(self.t0, self.t1), _line(self.rest0, -self.t1)
        squares = _product(rest, rest)
        spherical = -_product(t, _power(_product(t, t) + squares, -0.5))
        spherical[0] += 1.0
        wanted = {"realised": t, "power": _binomials(-2 / 3)[:, None] * np.exp(-2 / 3 * self.log0) * step}
        for name, score in (("log", log), ("brier", 2.0 * squares), ("spherical", spherical)):
            wanted |= {name: score, f"{name}²": _product(score, score)}
        return {name: np.einsum("jn,jn->n", series, self.moments) for name, series in wanted.items()}

    def powers(self) -> Array:
        """Return Σ t^r over all cells for r in R."""
        scaled = self.moments * self._step
        root, power = np.exp(self.log0 / 9), np.exp(R[0] * self.log0)
        sums = []
        for r in R:
            sums.append(float(_binomials(r) @ np.einsum("n,jn->j", power, scaled)))
            power = power * root
        return np.array(sums)


def _binomials(r: float) -> Array:
    """Coefficients of (1 + x)^r."""
    return np.cumprod([1.0, *((r - j + 1) / j for j in range(1, TERMS))])


def _line(constant: Array, slope: Array) -> Array:
    return np.array([constant, slope, *np.zeros((TERMS - 2, len(constant)))])


def _product(a: Array, b: Array) -> Array:
    return np.array([sum(a[i] * b[j - i] for i in range(j + 1)) for j in range(TERMS)])


def _power(a: Array, r: float) -> Array:
    """a^r, by h' a = r a' h."""
    h = [a[0] ** r]
    for j in range(1, TERMS):
        h.append(sum(((r + 1) * i - j) * a[i] * h[j - i] for i in range(1, j + 1)) / (j * a[0]))
    return np.array(h)
