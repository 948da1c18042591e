"""Isotonic regression: the ascending levels closest to the data, by pooling adjacent violators (Barlow et al. 1972)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EQUAL = 1e-12  # levels this close, as a share of themselves, differ by rounding alone and are one level
WORTHWHILE = 0.9  # blocks that a round over all of them may leave; beyond, they are pooled one by one


def pooled_blocks(y: Floats, weight: Floats) -> Ints:
    """Return where the blocks of equal levels begin, given at least one value y with weights above zero.

    SciPy's `isotonic_regression` finds the same blocks, but importing it takes a quarter of a small command.

    >>> pooled_blocks(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)).tolist()
    [0, 1, 3]
    """
    start, mean, weight = np.arange(len(y)), y, weight
    while True:
        ascends = mean[1:] - mean[:-1] > EQUAL * np.abs(mean[1:])
        first = np.flatnonzero(np.append(True, ascends))  # runs that do not ascend belong together
        if len(first) == len(mean):
            return start
        if len(first) > WORTHWHILE * len(mean):
            return start[_pooled_one_by_one(mean.tolist(), weight.tolist())]
        total = np.add.reduceat(weight, first)
        start, mean, weight = start[first], np.add.reduceat(mean * weight, first) / total, total


def _pooled_one_by_one(mean: list[float], weight: list[float]) -> list[int]:
    """Return where the blocks begin."""
    blocks: list[tuple[int, float, float]] = []
    for at, (level, mass) in enumerate(zip(mean, weight, strict=True)):
        first = at
        while blocks and level - blocks[-1][1] <= EQUAL * abs(level):
            first, before, more = blocks.pop()
            level, mass = (before * more + level * mass) / (more + mass), more + mass
        blocks.append((first, level, mass))
    return [first for first, _, _ in blocks]
