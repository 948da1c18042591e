"""Isotonic regression: the ascending levels closest to the data, by pooling adjacent violators (Barlow et al. 1972)."""

from __future__ import annotations

import numpy as np

from veracity.types import Floats, Ints

EQUAL = 1e-12  # levels this close, as a share of themselves, differ by rounding alone and are one level


def pooled_blocks(y: Floats, weight: Floats) -> Ints:
    """Return where the blocks of equal levels begin, given at least one value y with weights above zero.

    >>> pooled_blocks(np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4)).tolist()
    [0, 1, 3]
    """
    from scipy.optimize import isotonic_regression  # a quarter of a small command to import

    start = np.asarray(isotonic_regression(y, weights=weight).blocks[:-1], dtype=np.int64)
    while True:
        total = np.add.reduceat(weight, start)
        level = np.add.reduceat(y * weight, start) / total
        ascends = np.append(True, level[1:] - level[:-1] > EQUAL * np.abs(level[1:]))
        if ascends.all():
            return start
        start = start[ascends]
