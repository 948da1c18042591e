"""Source probabilities that are given (`ideal`): their three means, and their mean in every bin of the forecasts.

The model probability of N17 is source × divergence. Without given source probabilities the measured means estimate the
source from frequencies of the same forecasts; with them it is known, and what forecasts do not tell apart counts too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from veracity.estimate.means.by_curve import with_source_means
from veracity.estimate.means.reported import Profile, three
from veracity.inputs import Forecasts
from veracity.records.reading import Reading, undefined, unknown
from veracity.records.sections import Bin, Means
from veracity.state.tally import Tally

NOT_GIVEN = "no source probabilities were given (ideal)"


def source_means(tally: Tally) -> Means:
    """Return the three means of the source probability of the outcome, with the intervals of reported means."""
    rows = tally.rows
    ideal = rows.ideal_matrix if rows.probabilities is not None else None
    if ideal is None:
        return three(lambda name: unknown(NOT_GIVEN))
    source = Forecasts(ideal, rows.outcomes, rows.classes, weights=rows.weights, counts=rows.counts)
    profile = Profile(Tally.of(source, plan=replace(tally.plan, bootstrap=None)))

    def reading(name: str) -> Reading:
        mean = profile.reading(name)
        method = ", ".join(part for part in (mean.method, tally.basis) if part) if mean.method else mean.method
        return Reading(float(mean), mean.low, mean.high, method, mean.reason)

    return three(reading)


def source_divergence(reported: Means, source: Means) -> Means:
    """Return reported ÷ source for the three means."""

    def ratio(name: str) -> Reading:
        given, truth = reported.reading(name), source.reading(name)
        if not truth.known:
            return unknown(NOT_GIVEN)
        if not truth > 0.0:
            return undefined("the source probability is 0: nothing to divide by")
        return Reading(float(given) / float(truth), reason="a ratio of two means: no interval")

    return three(ratio)


def with_source(bins: tuple[Bin, ...], tally: Tally) -> tuple[Bin, ...]:
    """Return the bins with the given source probabilities; unchanged where none are given.

    The mean over all entries of a bin, and the three means over its true entries.
    """
    if tally.analysis.rows.ideal is None or tally.analysis.rows.probabilities is None or not bins:
        return bins
    rows = tally.rows
    ideal = np.ravel(rows.ideal_matrix)  # type: ignore[arg-type]
    entries, mass = rows.matrix.ravel(), np.repeat(rows.mass, tally.k)
    place = np.clip(np.searchsorted([one.low for one in bins], entries, side="right") - 1, 0, len(bins) - 1)
    weight = np.bincount(place, mass, len(bins))
    sums = np.bincount(place, mass * ideal, len(bins))
    assert rows.outcomes is not None
    true = (rows.outcomes[:, None] == np.arange(tally.k)).ravel()
    bins = with_source_means(bins, place[true], mass[true], ideal[true])
    return tuple(
        replace(one, ideal=float(sums[i] / weight[i]) if weight[i] > 0.0 else None) for i, one in enumerate(bins)
    )
