"""Source probabilities by one curve, of each class by itself or of all together, and both sides of N17's Figure 5.

A curve is fitted and read on the same cases, so its means have no intervals; the headline `measured` is cross-fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from veracity.estimate.means.curves import Curve, fit
from veracity.estimate.means.entries import AT, Entries
from veracity.estimate.means.published import bins_of, clipped, hundredths, spread_ratio
from veracity.estimate.means.reported import NOT_MEASURABLE, Profile, three
from veracity.kernels import Histogram
from veracity.kernels.result import MANY, R
from veracity.records.papers import ClassMeans, MeanNumbers, SourceCurve, SourcePoint
from veracity.records.reading import Reading, undefined
from veracity.records.sections import Bin
from veracity.state.plan import ERROR_BINS
from veracity.state.tally import Tally
from veracity.types import Floats

SAME_CASES = "fitted and read on the same cases: no interval"
MOST_POINTS = 41  # of a curve in documents and pictures
POWERS = np.array([R[at] for at in AT.values()])


@dataclass(frozen=True)
class Sources:
    """The source probabilities by the curve of this name.

    published  as the papers compute them, without the correction for the bias of frequencies of the same cases
    """

    tally: Tally
    name: str
    per_class: bool = True
    neighbours: int | None = None
    published: bool = False

    @cached_property
    def histograms(self) -> dict[str, Histogram]:
        """The entries of each class that was observed, or under "" all; clipped where the preset N17 asks for it."""
        tally = self.tally
        if not tally.measurable:
            raise ValueError(NOT_MEASURABLE)
        parts = {"": tally.pooled}
        if self.per_class:
            if tally.k > MANY:
                raise ValueError(f"per_class: offered up to {MANY} classes; these are {tally.k}\n  leave it out")
            parts = dict(zip(map(str, tally.classes), tally.classwise, strict=True))
        return {name: clipped(h, tally) for name, h in parts.items() if h.true.sum()}

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """The fitted curves."""
        tally, plan = self.tally, self.tally.plan
        options: dict[str, dict[str, Any]] = {
            "bins": {"bins": bins_of(tally), "end_width": plan.end_width, "split": not self.published},
            "width": {"cuts": tuple(i / ERROR_BINS for i in range(1, ERROR_BINS))},
            "knn": {"neighbours": self.neighbours},
        }
        if plan.preset == "N17":
            options["width"] = hundredths(plan)
        if self.name != "knn" and self.neighbours is not None:
            raise ValueError(f"neighbours: {self.neighbours} has no effect on curve {self.name!r}\n  leave it out")
        if self.neighbours is not None and not 1 <= self.neighbours <= tally.sums.rows:
            raise ValueError(
                f"neighbours: {self.neighbours}, but there are {tally.sums.rows:,} cases\n  give 1 to that"
            )
        return {
            name: fit(self.name, h, tally.grid, **options.get(self.name, {})) for name, h in self.histograms.items()
        }

    @cached_property
    def means(self) -> dict[str, Floats]:
        """The three means of each part.

        An isotonic curve is not made of frequencies of given bins, so the correction for their bias is not for it.
        """
        floor, plain = self.tally.plan.floor, self.published or self.name == "isotonic"
        return {
            name: curve.means(POWERS, floor) if plain else curve.corrected(POWERS, floor)
            for name, curve in self.curves.items()
        }

    @cached_property
    def overall(self) -> Floats:
        """The three means over all cases."""
        weight = np.array([curve.true_weight.sum() for curve in self.curves.values()])
        return generalized(np.array(list(self.means.values())), weight / weight.sum(), POWERS)

    def classes(self) -> dict[str, ClassMeans]:
        """Return the three means of both sides of each class, over the cases in which it was the outcome."""
        limits, by_class = self.tally.plan.limits, {}
        for name, h in self.histograms.items():
            model = Entries.of(h, self.tally.grid, *limits).means()
            source = dict(zip(AT, self.means[name].tolist(), strict=True))
            by_class[name] = ClassMeans(int(h.true.sum()), MeanNumbers(**model), MeanNumbers(**source))
        return by_class

    def record(self, profile: Profile) -> SourceCurve:
        """Return the means by this curve, their ratios to the reported ones, and the curve itself."""
        values = np.full(len(R), np.nan)
        values[list(AT.values())] = self.overall

        def measured(name: str) -> Reading:
            return Reading(float(values[AT[name]]), reason=SAME_CASES)

        def divergence(name: str) -> Reading:
            value = float(values[AT[name]])
            if not value > 0.0:
                return undefined("nothing was measured to divide by")
            return Reading(float(profile.values[AT[name]]) / value, reason=SAME_CASES)

        points = {name: _points(curve) for name, curve in self.curves.items()}
        ratio = spread_ratio(profile.values, values)
        ratio = Reading(float(ratio), reason=SAME_CASES) if ratio.known and np.isfinite(ratio) else ratio
        return SourceCurve(self.name, self.neighbours, three(measured), three(divergence), ratio, points)

    def in_bins(self, bins: tuple[Bin, ...], start: Any) -> tuple[Bin, ...]:
        """Return the bins with the three means of the source probabilities of their true entries."""
        place = [np.maximum(start.searchsorted(c.start, "right") - 1, 0) for c in self.curves.values()]
        weight = np.concatenate([c.true_weight for c in self.curves.values()])
        source = np.concatenate([np.maximum(c.source, self.tally.plan.floor) for c in self.curves.values()])
        return with_source_means(bins, np.concatenate(place), weight, source)


def with_source_means(bins: tuple[Bin, ...], place: Any, weight: Floats, source: Floats) -> tuple[Bin, ...]:
    """Return the bins with the three means of the source probabilities, each of one bin and with a weight."""
    some = weight > 0.0
    place, weight, source = place[some], weight[some], source[some]
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = (source, np.log(source), source ** (-2.0 / 3.0))
        total = np.bincount(place, weight, len(bins))
        mean, log, power = (np.bincount(place, weight * x, len(bins)) / total for x in columns)
        means = np.array([mean, np.exp(log), power**-1.5]).T.tolist()
    names = ("source_decisiveness", "source_geometric_accuracy", "source_robustness")
    return tuple(
        replace(one, **dict(zip(names, three, strict=True))) if total[i] > 0.0 else one
        for i, (one, three) in enumerate(zip(bins, means, strict=True))
    )


def generalized(means: Floats, share: Floats, r: Floats) -> Floats:
    """Return the generalized means of parts (parts, r) that hold these shares of the cases."""
    power = np.where(r == 0.0, 1.0, r)
    with np.errstate(divide="ignore"):
        return np.where(r == 0.0, np.exp(share @ np.log(means)), (share @ means**power) ** (1.0 / power))


def _points(curve: Curve) -> tuple[SourcePoint, ...]:
    """Return the curve at each bin, or at evenly spaced quantiles of its entries."""
    at = np.flatnonzero(curve.weight > 0.0)
    if len(at) > MOST_POINTS:
        before = curve.weight[at].cumsum()
        wanted = before[-1] * (np.arange(MOST_POINTS) + 0.5) / MOST_POINTS
        at = at[np.unique(before.searchsorted(wanted))]
    return tuple(map(SourcePoint, curve.forecast[at].tolist(), curve.source[at].tolist()))
