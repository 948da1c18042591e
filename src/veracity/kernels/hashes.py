"""64-bit hashes of forecasts, which choose the analysis rows independently of the parts that rows come in.

The hash of a row is that of Σ_j b_j · m(b_j), where b_j has the bits of p_j in float32 and m mixes them, so it does not
depend on the order of classes. One column of two classes, which may be next to 1, is hashed in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity import kernels

Hashes = NDArray[np.uint64]

BLOCK = 1 << 16  # entries hashed together: they stay in the cache
FOLD, HALF_FOLD = np.uint64(32), np.uint32(15)
KEY = np.uint32(0x9E3779B1)
SEED, MULTIPLY = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


def forecast_hashes(p: NDArray[Any], kernel: str | None = None) -> Hashes:
    """Return (n,) hashes of forecasts p, (n,) or (n, k): equal for equal forecasts, float32 or float64, 0 or −0.

    >>> a, b = forecast_hashes(np.array([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]], dtype=np.float32))
    >>> bool(a == b == forecast_hashes(np.array([[0.25, 0.25, 0.5]]))[0])
    True
    """
    p = p if p.dtype in (np.float32, np.float64) and p.dtype.isnative else p.astype(np.float64)
    if (kernel or kernels.NAME) == "native":
        assert kernels.native is not None
        out = np.empty(len(p), np.uint64)
        kernels.native._native.forecast_hashes(p, out)
        return out
    if p.ndim == 1:
        return mix((p.astype(np.float64) + 0.0).view(np.uint64) ^ SEED)
    sums = np.empty(len(p), np.uint64)
    step = max(1, BLOCK // max(p.shape[1], 1))
    for start in range(0, len(p), step):
        with np.errstate(over="ignore", invalid="ignore"):  # rows that cannot be used have hashes too
            bits = (p[start : start + step].astype(np.float32) + np.float32(0.0)).view(np.uint32)
        other = bits * KEY
        other ^= other >> HALF_FOLD
        (bits.astype(np.uint64) * other).sum(axis=1, out=sums[start : start + step])
    return mix(mix(sums ^ SEED))


def mix(h: Hashes) -> Hashes:
    """Return one round of splitmix64's finaliser: every input bit moves the leading output bits, which decide."""
    return (h ^ (h >> FOLD)) * MULTIPLY
