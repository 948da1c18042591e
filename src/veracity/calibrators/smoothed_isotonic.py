"""Isotonic curves whose levels have one pseudo-row shared by all classes, so that none is zero."""

from __future__ import annotations

from dataclasses import dataclass

from veracity.inputs import Forecasts

from . import isotonic
from ._grouping import row_mass


@dataclass(frozen=True, eq=False)
class SmoothedIsotonic(isotonic.Isotonic):
    @property
    def _described(self) -> str:
        return f"smoothed {super()._described}"


def fit(forecasts: Forecasts) -> SmoothedIsotonic:
    """Return the curves of `isotonic` with levels (n c + 1/k)/(n + 1)."""
    return SmoothedIsotonic(forecasts.classes, **isotonic.curves_of(forecasts, row_mass(forecasts)))
