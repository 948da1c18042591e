"""Stage Q: the ideal probabilities, where the data can tell them, or a lower bound of the grouping loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veracity.calibrators import InfeasibleTarget, bins, class_means, copies, equal_rows, multiplicative
from veracity.estimate.loss.recalibration import select
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.types import Array

LEVEL_SETS = 15
DEPTH = 3
PER_LEAF = 25  # rows of the growing half
MOST_ROWS = 100_000  # rows that the bound is estimated from


@dataclass(frozen=True, eq=False)
class Ideal:
    """Q (n, k) or None; `grouping` a lower bound of the grouping loss by rule or None; what the reader must know."""

    Q: Array | None
    grouping: dict[str, float] | None
    finding: Finding


def ideal(forecasts: Forecasts, *, seed: int = 0) -> Ideal:
    """Return Q as given, from equal features, or from repeated outcomes of a case; else a bound, else nothing."""
    if forecasts.ideal is not None:
        return Ideal(forecasts.ideal_matrix, None, of_results.IdealGiven())
    if forecasts.features is not None:
        return ideal_from_features(forecasts, seed=seed)
    if forecasts.case is not None:
        label = np.unique(forecasts.case, return_inverse=True)[1].ravel()
        if label.max() + 1 <= forecasts.copies.sum() / 2:
            return Ideal(_frequencies(forecasts, label), None, of_results.IdealFromCases())
    return Ideal(None, None, of_results.NotSeparable())


def ideal_from_features(forecasts: Forecasts, *, seed: int = 0) -> Ideal:
    """Return outcome frequencies of equal feature rows when at most half the rows are distinct; else the bound."""
    features = codes(forecasts.features)
    n = int(forecasts.copies.sum())
    label, first = equal_rows(features)
    if len(first) <= n / 2:
        finding = of_results.IdealFromFeatures(total=n, distinct=len(first))
        return Ideal(_frequencies(forecasts, label), None, finding)
    bound = grouping_bound(forecasts, features, seed=seed)
    return Ideal(
        None, bound, of_results.GroupingBound(total=n, distinct=len(first), log=bound["log"], brier=bound["brier"])
    )


def _frequencies(forecasts: Forecasts, label: Array) -> Array:
    means = class_means(label, int(label.max()) + 1, forecasts.observed, forecasts.mass, forecasts.prior)
    return np.asarray(means[label])


def codes(features: Any) -> Array:
    """Return (n, f) numbers; other values become the ranks of their sorted names."""
    columns = np.asarray(features)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.dtype.kind in "fiub":
        return columns.astype(np.float64)
    ranked = [np.unique(column.astype(str), return_inverse=True)[1].ravel() for column in columns.T]
    return np.column_stack(ranked).astype(np.float64)


def grouping_bound(forecasts: Forecasts, features: Array, *, seed: int = 0) -> dict[str, float]:
    """Return a lower bound of E d(C, Q) for the log and the Brier score, without the bias of small leaves.

    Within level sets of the score a tree is grown on one half of the rows; on the other half the leaves' outcome
    frequencies are compared with the leaves' mean calibrated score. The divergence is jointly convex, so a partition
    can only lose grouping loss; chance is taken off as in Ferro & Fricker 2012 and Miller & Madow. Both ways, averaged.
    The calibrated score is S adjusted to the class frequencies of its level set. (Cf. Perez-Lebel et al. 2023.)
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((*features.T, forecasts.row_hashes))  # by what rows hold: names do not matter
    forecasts, features = forecasts.take(order), features[order]
    each = copies(forecasts)
    rows = each[rng.permutation(len(each))[:MOST_ROWS]]
    part = replace(select(forecasts, rows), counts=None)
    features, scores, outcomes = features[rows], part.matrix, part.observed
    wanted = max(1, min(LEVEL_SETS, len(rows) // (8 * PER_LEAF)))
    cell = bins.fit(part, bins=wanted if part.k == 2 else max(1, wanted // 3)).cells(scores)
    half = np.arange(len(rows)) % 2 == 0
    total = {"log": 0.0, "brier": 0.0}
    whole = part.mass.sum()
    for level in np.unique(cell):
        for growing in (half, ~half):
            grow_on, look_at = (np.flatnonzero((cell == level) & side) for side in (growing, ~growing))
            if min(len(grow_on), len(look_at)) < 2 * PER_LEAF:
                continue
            try:
                expected = [_calibrated(part, side) for side in (grow_on, look_at)]
            except InfeasibleTarget:  # outcomes that had probability 0: no finite calibrated score to compare with
                continue
            observed = np.eye(part.k)[outcomes]
            tree = grow(features[grow_on], observed[grow_on] - expected[0], DEPTH)
            leaf = leaves(tree, features[look_at])
            mass = part.mass[look_at]
            share = mass.sum() / whole
            for name in total:
                total[name] += share * _excess(name, leaf, observed[look_at], expected[1], mass)
    return {name: max(float(value), 0.0) for name, value in total.items()}


def _calibrated(forecasts: Forecasts, rows: Array) -> Array:
    part = select(forecasts, rows)
    return multiplicative.fit(part)(part.matrix)


def _excess(name: str, leaf: Array, observed: Array, expected: Array, mass: Array) -> float:
    """Return mean divergence of the leaves' frequencies from their expected scores, less what chance adds."""
    rule, k = rule_of(name), observed.shape[1]
    numbers = leaf.max() + 1
    size = np.bincount(leaf, weights=mass, minlength=numbers)
    sums = [
        np.column_stack([np.bincount(leaf, weights=mass * m[:, j], minlength=numbers) for j in range(k)])
        for m in (observed, expected)
    ]
    frequencies, mean = (s / size[:, None] for s in sums)
    rows = size**2 / np.bincount(leaf, weights=mass**2, minlength=numbers)
    shares = size / size.sum()
    overall, all_rows = shares @ frequencies, mass.sum() ** 2 / (mass**2).sum()
    divergence = np.asarray(rule.divergence(mean / mean.sum(axis=1, keepdims=True), frequencies))
    chance = shares @ _chance(name, frequencies, rows) - _chance(name, overall[None], np.array([all_rows]))[0]
    return float(shares @ divergence - chance)


def _chance(name: str, c: Array, rows: Array) -> Array:
    """Return what counting in so many rows adds to a divergence."""
    if name == "brier":
        return np.asarray((c * (1.0 - c)).sum(axis=1) / np.maximum(rows - 1.0, 1.0))
    return np.asarray(((c > 0.0).sum(axis=1) - 1.0) / (2.0 * rows))


Tree = tuple[int, float, Any, Any] | None


def grow(features: Array, residual: Array, depth: int) -> Tree:
    """Return a tree of at most `depth` splits that separates mean residuals: (feature, threshold, below, above)."""
    n = len(features)
    if depth == 0 or n < 2 * PER_LEAF:
        return None
    best, split = (residual.sum(axis=0) ** 2).sum() / n + 1e-12, None
    for column in range(features.shape[1]):
        order = np.argsort(features[:, column], kind="stable")
        x, upto = features[order, column], np.cumsum(residual[order], axis=0)
        size = np.arange(1, n)
        gain = (upto[:-1] ** 2).sum(axis=1) / size + ((upto[-1] - upto[:-1]) ** 2).sum(axis=1) / (n - size)
        allowed = (x[1:] != x[:-1]) & (size >= PER_LEAF) & (n - size >= PER_LEAF)
        gain = np.where(allowed, gain, -np.inf)
        at = int(np.argmax(gain))
        if gain[at] > best:
            best, split = gain[at], (column, float((x[at] + x[at + 1]) / 2.0))
    if split is None:
        return None
    below = features[:, split[0]] < split[1]
    if not 0 < below.sum() < n:
        return None
    lower, upper = (grow(features[side], residual[side], depth - 1) for side in (below, ~below))
    return *split, lower, upper


def leaves(tree: Tree, features: Array) -> Array:
    """Return (n,) numbers of the leaves that the rows fall in, without gaps."""

    def number(tree: Tree, rows: Array, start: int) -> int:
        if tree is None:
            out[rows] = start
            return start + 1
        below = features[rows, tree[0]] < tree[1]
        return number(tree[3], rows[~below], number(tree[2], rows[below], start))

    out = np.zeros(len(features), np.int64)
    number(tree, np.arange(len(features)), 0)
    return np.unique(out, return_inverse=True)[1].ravel()
