"""Histograms that grow in place: a number for every cell, so that adding a part costs only the cells it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.kernels import Histogram

Array = NDArray[Any]

COUNTS = {"all_weight": "all", "all_weight2": "all", "true_weight": "true", "true_weight2": "true"}


class Cells:
    """The sum of several histograms each, all on the same grid of `size` cells."""

    def __init__(self, histograms: int, size: int) -> None:
        self._n, self._size = histograms, size
        self._sums: dict[str, Array] = {}

    def add(self, parts: Sequence[Histogram]) -> None:
        """Add one histogram to each."""
        offsets, held = _joined(parts)
        place = held["cells"] + np.repeat(np.arange(self._n) * self._size, np.diff(offsets))
        weighted = "all_weight" in held
        if self._sums and weighted != ("all_weight" in self._sums):
            # A part without weights has weight one.
            lacking = self._sums if weighted else held
            lacking |= {name: lacking[count].astype(np.float64) for name, count in COUNTS.items()}
        for name, values in held.items():
            if name != "cells":
                if name not in self._sums:
                    self._sums[name] = np.zeros(self._n * self._size, values.dtype)
                self._sums[name][place] += values

    def histograms(self) -> tuple[Histogram, ...]:
        """The sums, only cells that hold any."""
        used = np.flatnonzero(self._sums["all"])
        which, cells = np.divmod(used, self._size)
        held = {"cells": cells.astype(np.int32), **{name: values[used] for name, values in self._sums.items()}}
        ends = np.searchsorted(which, np.arange(self._n + 1))
        slices = [slice(*ends[i : i + 2]) for i in range(self._n)]
        return tuple(Histogram(**{name: values[part] for name, values in held.items()}) for part in slices)


def _joined(parts: Sequence[Histogram]) -> tuple[Array, dict[str, Array]]:
    """Where each histogram begins in long arrays of all, and these."""
    offsets = np.cumsum([0, *(len(part.cells) for part in parts)])
    names = [field.name for field in fields(Histogram) if getattr(parts[0], field.name) is not None]
    return offsets, {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
