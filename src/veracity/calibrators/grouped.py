"""Stage C by exact equality: the class frequencies among rows with the same score vector (KF15 section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veracity.calibrators._fitted import Fitted, as_rows, checked_rows
from veracity.inputs import Forecasts
from veracity.types import Array

from ._grouping import class_means, equal_rows


@dataclass(frozen=True, eq=False)
class Grouped(Fitted):
    """seen (g, k): the distinct score vectors; means (g, k): the class frequencies among their rows.

    decimals: digits to which rows were rounded before the comparison; None is exact equality.
    """

    seen: Array
    means: Array
    decimals: int | None

    @property
    def _described(self) -> str:
        return f"grouped ({len(self.seen)} distinct rows)"

    def check(self, kept: slice | Array = slice(None)) -> None:
        self.require_distributions(self.means, "means")
        self.require(self.seen.shape == self.means.shape and np.isfinite(self.seen).all(), "rows that were not seen")
        good = self.decimals is None or (type(self.decimals) is int and abs(self.decimals) <= 100)
        self.require(good, "decimals that are no small whole number")

    def cells(self, rows: ArrayLike) -> Array:
        """Return (n,) numbers of the equal fitted rows."""
        p = as_rows(checked_rows(rows, self.k), self.k)
        cell = numbers_of(self.seen, rounded(p, self.decimals))
        unseen = np.flatnonzero(cell < 0)
        if unseen.size:
            raise ValueError(
                f"rows: row {unseen[0]} {p[unseen[0]].tolist()} equals none of the fitted rows "
                f"({unseen.size} such rows); use bins or isotonic for new scores"
            )
        return cell

    def __call__(self, rows: ArrayLike) -> Array:
        return np.asarray(self.means[self.cells(rows)])


def numbers_of(seen: Array, p: Array) -> Array:
    """Return (n,) the number of the row of `seen` that equals each row of p; −1 if none does."""
    label, _ = equal_rows(np.concatenate([seen, p]))
    number = np.full(label.max() + 1, -1)
    number[label[: len(seen)]] = np.arange(len(seen))
    return np.asarray(number[label[len(seen) :]])


def rounded(p: Array, decimals: int | None) -> Array:
    return p if decimals is None else p.round(decimals)


def fit(forecasts: Forecasts, *, decimals: int | None = None) -> Grouped:
    """Return class frequencies of groups of equal rows; with `decimals`, of rows that round alike."""
    scores, outcomes = rounded(forecasts.scores, decimals), forecasts.observed
    label, first = equal_rows(scores)
    means = class_means(label, len(first), outcomes, forecasts.mass, forecasts.prior)
    seen = rounded(as_rows(scores[first], forecasts.k), decimals) + 0.0
    return Grouped(forecasts.classes, seen=seen, means=means, decimals=decimals)
