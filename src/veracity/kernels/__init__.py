"""The one pass over forecasts that everything else is computed from: in C where it was compiled, else in NumPy."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

import numpy as np

from veracity.kernels import reference
from veracity.kernels.grid import Grid
from veracity.kernels.hashes import forecast_hashes
from veracity.kernels.result import Histogram, Pass, tolerance
from veracity.types import Array

__all__ = ["NAME", "Histogram", "Pass", "Places", "forecast_hashes", "scan"]

native: ModuleType | None
try:
    from veracity.kernels import native
except ImportError:  # installed without a compiler
    native = None
NAME = "numpy" if native is None or os.environ.get("VERACITY_KERNEL") == "numpy" else "native"


def scan(
    p: Array,
    y: Array,
    grid: Grid,
    *,
    weights: Array | None = None,
    counts: Array | None = None,
    allowed: float | None = None,
    threads: int | None = None,
    kernel: str | None = None,
) -> Pass:
    """Return sums, scores, problems and histograms of forecasts p with outcomes y, from one pass.

    p        (n,) probability of column 1 of two, or (n, k); float32 or float64, any memory order.
    y        (n,) column number of the outcome.
    weights  (n,) float64; counts (n,) int64. Both are taken as checked.
    allowed  how far the sum of a row may be from one; None: by the dtype of p (result.tolerance).
    kernel   "native" or "numpy"; None takes "native" if it was compiled.

    >>> from veracity.kernels.grid import grid
    >>> one = scan(np.array([0.9, 0.8, 0.3]), np.array([1, 1, 0]), grid())
    >>> one.score_sums[0, 0].round(6)  # -(ln .9 + ln .8 + ln .7)
    np.float64(0.685179)
    """
    kernel = kernel or NAME
    if kernel not in ("numpy", "native"):
        raise ValueError(f"kernel: {kernel!r} is neither 'native' nor 'numpy'")
    if p.ndim not in (1, 2) or (p.ndim == 2 and p.shape[1] == 0):
        raise ValueError(f"p: shape {p.shape} is neither (n,) nor (n, k)")
    for name, given in (("y", y), ("weights", weights), ("counts", counts)):
        if given is not None and given.shape != (len(p),):
            raise ValueError(f"{name}: shape {given.shape} for {len(p)} rows of p")
    if y.dtype.kind not in "iub":
        raise ValueError(f"y: {y.dtype} are not column numbers; give integers")
    if allowed is None:
        allowed = tolerance(p.dtype, 2 if p.ndim == 1 else p.shape[1])
    p, y = _readable(p, y)
    if kernel == "native":
        if native is None:
            raise ValueError("kernel: 'native' was not compiled in this installation; use 'numpy'")
        sums: Pass = native.scan(p, y, grid, weights, counts, threads, allowed)
        return sums
    return reference.scan(p, y, grid, weights, counts, allowed)


def _readable(p: Array, y: Array) -> tuple[Array, Array]:
    """Return both in a kind that the kernels read."""
    p = p if p.dtype in (np.float32, np.float64) else p.astype(np.float64)
    return p, y if y.dtype.isnative else y.astype(np.int64)


class Places:
    """A stream of forecasts of two classes in one column, whose sums are finished once and not for every batch."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._counter: Any = None

    def add(self, p: Array, y: Array, so_far: int, allowed: float) -> Pass | None:
        """Count rows and return the pass over the rest of them; None where they are not counted here.

        so_far  rows that came before: few are counted row by row, which is faster
        """
        if NAME != "native" or native is None:
            return None
        if self._counter is None and so_far + len(p) < native.PAIRED:
            return None
        self._counter = self._counter or native.PlaceCounter(self._grid)
        rest: Pass | None = self._counter.add(*_readable(p, y), allowed)
        return rest

    def result(self) -> Pass | None:
        """Return the pass over the rows that were counted here; None where there are none."""
        return None if self._counter is None else self._counter.result()
