"""Class frequencies of bins, each with one pseudo-row shared by all classes, so that none is zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veracity.inputs import Forecasts
from veracity.inputs.content import class_order

from . import bins as plain
from ._grouping import row_mass, smoothed


@dataclass(frozen=True, eq=False)
class SmoothedBins(plain.Bins):
    @property
    def _described(self) -> str:
        return f"smoothed {super()._described}"


def fit(forecasts: Forecasts, *, bins: int | str = "auto") -> SmoothedBins:
    """Return the bins of `bins` with frequencies (n c + 1/k)/(n + 1).

    Two classes are binned by the one that is predicted less often, so that neither name nor order matters.
    """
    turned = forecasts.k == 2 and bool(class_order(forecasts)[0] == 1)
    rows = _turned(forecasts) if turned else forecasts
    fitted = plain.fit(rows, bins=bins)
    size = np.bincount(fitted.cells(rows.scores), row_mass(rows), minlength=len(fitted.means))
    means, edges = smoothed(fitted.means, size), fitted.edges
    if forecasts.k == 2:  # between forecasts and not at one: p and 1 − p, rounded, are in the same bin
        known = np.unique(rows.positive)
        above = np.searchsorted(known, edges[0])
        edges = ((known[above - 1] + known[above]) / 2.0,)
    if turned:
        means, edges = means[::-1, ::-1], (1.0 - edges[0][::-1],)
    return SmoothedBins(forecasts.classes, edges=edges, numbers=fitted.numbers, means=means)


def _turned(forecasts: Forecasts) -> Forecasts:
    """Return forecasts of two classes with the classes exchanged."""
    classes = forecasts.classes[::-1]
    return Forecasts(forecasts.matrix[:, ::-1], 1 - forecasts.observed, classes, forecasts.weights, forecasts.counts)
