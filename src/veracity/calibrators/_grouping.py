"""Groups of equal rows, their class frequencies, and effective numbers of rows."""

from __future__ import annotations

import numpy as np

from veracity.calibrators._fitted import as_rows, blocks
from veracity.formulas import intervals
from veracity.inputs import Forecasts
from veracity.types import Array

MOST_COPIES = 1 << 22


def equal_rows(p: Array) -> tuple[Array, Array]:
    """Return the group number of each row and the first row of each group; −0.0 equals 0.0.

    Rows are sorted by a 64-bit hash of their bits, which is quick, and then compared exactly.
    """
    if p.ndim == 1 or p.shape[1] == 1:
        _, first, label = np.unique(np.ravel(p) + 0.0, return_index=True, return_inverse=True)
        return label.ravel(), first
    n, k = p.shape
    odd = np.random.default_rng(0).integers(0, 2**63, k, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    key = np.empty(n, np.uint64)
    for part in blocks(n, k):
        bits = (as_rows(p[part], k) + 0.0).view(np.uint64)
        bits = (bits ^ (bits >> np.uint64(29))) * odd
        key[part] = (bits ^ (bits >> np.uint64(32))).sum(axis=1)
    order = np.argsort(key, kind="stable")
    new = np.ones(n, bool)
    new[1:] = key[order[1:]] != key[order[:-1]]
    for part in blocks(n - 1, k):
        here, before = order[1:][part], order[:-1][part]
        if ((p[here] != p[before]).any(axis=1) & ~new[1:][part]).any():  # two rows with one hash
            _, first, label = np.unique(p + 0.0, axis=0, return_index=True, return_inverse=True)
            return label.ravel(), first
    label = np.empty(n, np.int64)
    label[order] = np.cumsum(new) - 1
    return label, order[new]


def class_means(label: Array, groups: int, outcomes: Array, mass: Array, prior: Array) -> Array:
    """Return (groups, k) weighted class frequencies; the overall ones where a group has no mass."""
    k = len(prior)
    sums = np.bincount(label * k + outcomes, weights=mass, minlength=groups * k).reshape(groups, k)
    return normalised(sums, prior)


def normalised(rows: Array, otherwise: Array | float) -> Array:
    """Return rows divided by their sum, or something else where that is zero."""
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, rows / np.where(total > 0.0, total, 1.0), otherwise)


def copies(forecasts: Forecasts) -> Array:
    """Return row numbers, each repeated by its count; evenly chosen ones beyond 4 million."""
    if forecasts.counts is None:
        return np.arange(len(forecasts))
    total = int(forecasts.counts.sum())
    if total <= MOST_COPIES:
        return np.repeat(np.arange(len(forecasts)), forecasts.counts)
    even = (np.arange(MOST_COPIES) * (total / MOST_COPIES)).astype(np.int64)
    return np.searchsorted(np.cumsum(forecasts.counts), even, side="right")


def effective_rows(forecasts: Forecasts) -> float:
    """Return n_eff = (Σw)²/Σw², a count being so many rows."""
    weights = np.ones(len(forecasts)) if forecasts.weights is None else forecasts.weights
    return intervals.effective_rows(float(forecasts.mass.sum()), float((forecasts.mass * weights).sum()))


def row_mass(forecasts: Forecasts) -> Array:
    """Return (n,) masses in units of rows: their sum is the effective number of rows."""
    total = float(forecasts.mass.sum())
    return np.asarray(forecasts.mass * (effective_rows(forecasts) / total if total > 0.0 else 0.0))


def smoothed(means: Array, rows: Array) -> Array:
    """Return (…, k) class frequencies after one more row with equal shares of all classes, so that none is zero."""
    n = np.asarray(rows, dtype=np.float64)[..., None]
    return np.asarray((n * means + 1.0 / means.shape[-1]) / (n + 1.0))
