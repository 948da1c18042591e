"""Scores and targets of an adjustment, checked; and the targets that zeros among the scores allow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas.domain import numbers
from veracity.types import Array

from ._dual_solver import Chunks, narrowed, summed
from ._feasibility import blocks_of_support


def checked_target(target: ArrayLike, classes: tuple[Any, ...]) -> Array:
    """Return (k,) class probabilities that sum to one; one number means the second of two classes."""
    k = len(classes)
    try:
        pi = numbers("target", target)
    except ValueError:
        raise ValueError(
            f"target: {target!r:.80} holds no numbers; give one probability for each of the {k} classes"
        ) from None
    if pi.ndim == 0 and k == 2:
        pi = np.array([1.0 - pi, pi])
    if pi.shape != (k,):
        raise ValueError(f"target: shape {pi.shape} does not fit the {k} classes {', '.join(map(str, classes))}")
    bad = np.flatnonzero(~(np.isfinite(pi) & (pi >= 0.0)))
    if bad.size:
        raise ValueError(
            f"target: {pi[bad[0]]} for class {classes[bad[0]]} is not a probability; give values from 0 to 1"
        )
    if abs(pi.sum() - 1.0) > 1e-8:
        raise ValueError(f"target: the values sum to {pi.sum():.10g}, not to 1; divide them by their sum")
    return np.asarray(pi / pi.sum())


def checked_scores(y_proba: ArrayLike) -> Array:
    """Return (n, k) or (n,) scores without bad values or all-zero rows; float16 becomes float64."""
    try:
        p = np.asarray(y_proba)
    except (ValueError, TypeError, RuntimeError) as problem:
        raise ValueError(f"y_proba: not one array ({problem}); give probabilities of shape (n, k)") from None
    if p.dtype.kind not in "fiub":
        raise ValueError(f"y_proba: {p.dtype} values are not numbers; give probabilities of shape (n, k)")
    if p.ndim not in (1, 2) or p.size == 0 or (p.ndim == 2 and p.shape[1] < 2):
        raise ValueError(f"y_proba: shape {p.shape}; give (n, k) with k of at least 2, or (n,) for two classes")
    p = p if p.dtype.kind == "f" and p.dtype != np.float16 else p.astype(np.float64)
    low, total = p.min(), p if p.ndim == 1 else p.sum(axis=1)
    if not np.isfinite(total).all() or low < 0.0 or (p.ndim == 1 and p.max() > 1.0):
        bad = np.argwhere(~np.isfinite(p) | (p < 0.0) | ((p.ndim == 1) & (p > 1.0)))[0]
        raise ValueError(f"y_proba: row {bad[0]} holds {p[tuple(bad)]}, no probability; give values from 0 to 1")
    if p.ndim == 2:
        off = np.flatnonzero(total == 0.0)
        if off.size:
            raise ValueError(
                f"y_proba: row {off[0]} is all zeros ({off.size} such rows); drop it or give its probabilities"
            )
        off = np.flatnonzero(np.abs(total - 1.0) > 1e-3)
        if off.size:
            raise ValueError(
                f"y_proba: row {off[0]} sums to {total[off[0]]:.6g} ({off.size} of {len(p)} rows do not sum to one); "
                "divide each row by its sum"
            )
    return p


class Task:
    """A target of the scores, checked, with the classes that it does not rule out: `kept` of all, and their chunks."""

    def __init__(self, chunks: Chunks, target: ArrayLike, classes: tuple[Any, ...]) -> None:
        pi = checked_target(target, classes)
        self.kept: Array = pi > 0.0
        self.chunks = chunks if self.kept.all() else narrowed(chunks, self.kept)
        self.target: Array = pi[self.kept]
        self.names = tuple(c for c, keep in zip(classes, self.kept, strict=True) if keep)

    def all_classes(self, values: Array, ruled_out: float) -> Array:
        """Return values of the kept classes among those of all."""
        out = np.full(len(self.kept), ruled_out, values.dtype)
        out[self.kept] = values
        return out


class Patterns(dict[bytes, float]):
    """The share of rows for each set of classes with a positive score; these add."""

    def __add__(self, other: Patterns) -> Patterns:
        return Patterns({key: self.get(key, 0.0) + other.get(key, 0.0) for key in [*self, *other]})


def support(rows: Array, shares: Array) -> tuple[Patterns]:
    positive = rows > 0.0
    if positive.all():
        return (Patterns({np.packbits(np.ones(rows.shape[1], bool)).tobytes(): float(shares.sum())}),)
    packed = np.ascontiguousarray(np.packbits(positive, axis=1))
    keys, first = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_inverse=True)
    sums = np.bincount(first.ravel(), weights=shares)
    return (Patterns(zip(keys.tolist(), sums.tolist(), strict=True)),)


def blocks_and_levels(chunks: Chunks, mass: float, target: Array, classes: tuple[Any, ...]) -> tuple[Array, Array]:
    """Return block and level of each class from the zeros among the scores; raises InfeasibleTarget.

    One pass over the rows. `mass` is their whole mass, so that counts become whole numbers again.
    """
    k = len(target)
    (shares,) = summed(chunks, support, (Patterns(),))
    patterns = np.array([np.unpackbits(np.frombuffer(key, np.uint8), count=k) for key in shares], dtype=bool)
    counts = np.array(list(shares.values())) * mass
    if patterns.all():
        return np.zeros(k, int), np.zeros(k, int)
    whole = np.rint(counts)
    counts = whole if np.abs(counts - whole).max() < 1e-6 else counts
    kept = counts > 0.0
    return blocks_of_support(patterns[kept], counts[kept], target, classes)
