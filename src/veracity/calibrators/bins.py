"""Stage C by cells of equal population.

Two classes: bins of all rows by the probability of the second class. More classes: predicted class × bins of its
probability, at least 10·k rows a cell; classes picked too seldom share cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veracity.calibrators._fitted import Fitted, as_rows, blocks, checked_rows
from veracity.inputs import Forecasts
from veracity.inputs.content import Hashes
from veracity.types import Array, Ints

from ._grouping import class_means, effective_rows

FEWEST, MOST = 5, 50  # bins when their number is not given
PER_BIN = 10  # rows a bin, times the number of classes beyond two


def equal_population_edges(values: Array, counts: Array | None, bins: int, least: int = 1) -> Array:
    """Return inner edges of bins with `array_split` sizes, each with `least` rows or more; ties go up."""
    order = None if counts is None else np.argsort(values, kind="stable")
    ordered = np.sort(values) if order is None else values[order]
    upto = np.arange(len(values) + 1) if counts is None else np.concatenate([[0], np.cumsum(counts[order])])
    n = int(upto[-1])
    sizes = np.full(bins, n // bins)
    sizes[: n % bins] += 1
    cuts = np.cumsum(sizes)[:-1]
    below, above = (ordered[np.searchsorted(upto, place, side="right") - 1] for place in (cuts - 1, cuts))
    middle = (below + above) / 2.0
    edges: list[float] = []
    last = 0
    for edge in np.unique(np.where(middle > below, middle, above)):
        rows = int(upto[np.searchsorted(ordered, edge)])
        if min(rows - last, n - rows) >= least:
            edges.append(float(edge))
            last = rows
    return np.asarray(edges, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Bins(Fitted):
    """edges and numbers: for the one probability of two classes, or for each predicted class, the inner edges of its
    bins [a, b) and the cell of each bin; means (cells, k): class frequencies in the cells."""

    edges: tuple[Array, ...]
    numbers: tuple[Ints, ...]
    means: Array

    @property
    def _described(self) -> str:
        return f"bins ({len(self.means)} cell{'s' if len(self.means) != 1 else ''})"

    def cells(self, rows: ArrayLike) -> Array:
        """(n,) cell of each row."""
        p = checked_rows(rows, self.k)
        out = np.empty(len(p), np.int64)
        lowest = np.array([number[0] for number in self.numbers])
        several = [group for group, edges in enumerate(self.edges) if len(edges)]
        for part in blocks(len(p), self.k):
            pick, value = projected(p[part], self.k)
            out[part] = lowest[pick]
            for group in several:
                mask = pick == group if len(self.edges) > 1 else slice(None)
                out[part][mask] = self.numbers[group][np.searchsorted(self.edges[group], value[mask], side="right")]
        return out

    def __call__(self, rows: ArrayLike) -> Array:
        return np.asarray(self.means[self.cells(rows)])

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require(len(self.edges) == len(self.numbers) == (1 if self.k == 2 else self.k), "one set of bins a class")
        self.require_distributions(self.means, "means")
        for edges, numbers in zip(self.edges, self.numbers, strict=True):
            rising = edges.ndim == numbers.ndim == 1 and (np.diff(edges) > 0).all() and np.isfinite(edges).all()
            self.require(rising and len(numbers) == len(edges) + 1, "edges that do not rise, or not one cell a bin")
            self.require((numbers >= 0).all() and (numbers < len(self.means)).all(), "a cell that is not there")


def projected(p: Array, k: int) -> tuple[Array, Array]:
    """Return group and value for binning: one group and the positive class, or the picked class and its probability."""
    if k == 2:
        return np.zeros(len(p), np.intp), np.asarray(p if p.ndim == 1 else p[:, 1], dtype=np.float64)
    rows = as_rows(p, k)
    pick = rows.argmax(axis=1)
    return pick, rows[np.arange(len(rows)), pick]


def fit(forecasts: Forecasts, *, bins: int | str = "auto") -> Bins:
    """Return cells of equal row counts (weights do not move edges, counts do) with weighted class frequencies.

    `bins` is their number: of all for two classes, of each predicted class otherwise; "auto" is one for every ten rows
    (10·k beyond two classes), 5 to 50 in all for two classes.
    """
    scores, outcomes, k, counts = forecasts.scores, forecasts.observed, forecasts.k, forecasts.counts
    n = len(scores)
    pick, value = np.empty(n, np.intp), np.empty(n)
    for part in blocks(n, k):
        pick[part], value[part] = projected(scores[part], k)
    if k == 2:
        rows = int(effective_rows(forecasts))
        wanted = min(max(rows // PER_BIN, FEWEST), MOST) if bins == "auto" else int(bins)
        edges = [equal_population_edges(value, counts, min(wanted, len(value)))]
        numbers = [np.arange(len(edges[0]) + 1)]
    else:
        edges, numbers = cells_by_pick(pick, value, counts, forecasts.class_keys, MOST if bins == "auto" else int(bins))
    cells = 1 + max(int(number.max()) for number in numbers)
    empty = Bins(forecasts.classes, edges=tuple(edges), numbers=tuple(numbers), means=np.empty((cells, k)))
    means = class_means(empty.cells(scores), cells, outcomes, forecasts.mass, forecasts.prior)
    return Bins(forecasts.classes, edges=empty.edges, numbers=empty.numbers, means=means)


def cells_by_pick(
    pick: Array, value: Array, counts: Array | None, keys: Hashes, most: int
) -> tuple[list[Array], list[Array]]:
    """Return edges and cell numbers for each predicted class; rarely picked classes share cells, the rarest first.

    Names and order of the classes do not matter: equally rare ones are ordered by their mean probability, then by the
    keys of what they hold.
    """
    k = len(keys)
    least = PER_BIN * k
    rows = np.bincount(pick, weights=counts, minlength=k).astype(int)
    edges, numbers = [np.empty(0)] * k, [np.zeros(1, np.int64)] * k
    cells, waiting, total = 0, [], 0
    means = np.bincount(pick, weights=value if counts is None else value * counts, minlength=k) / np.maximum(rows, 1)
    by_rows = np.lexsort((keys, means.round(9), rows))  # sums differ by rounding
    for group in by_rows[rows[by_rows] < least]:
        waiting.append(group)
        total += rows[group]
        numbers[group] = np.full(1, cells)
        if total >= least:
            cells, waiting, total = cells + 1, [], 0
    shared = cells
    for group in np.flatnonzero(rows >= least):
        mine = pick == group
        share = None if counts is None else counts[mine]
        edges[group] = equal_population_edges(value[mine], share, min(most, rows[group] // least), least)
        numbers[group] = cells + np.arange(len(edges[group]) + 1)
        cells += len(numbers[group])
    # Too few even together, the last ones join the last shared cell, or the least sure cell of the class picked most.
    joined = numbers[by_rows[-1]][:1] if shared == 0 and cells else np.full(1, max(shared - 1, 0))
    for group in waiting:
        numbers[group] = joined
    return edges, numbers
