"""Intervals by resampling rows, on request; the seed is the plan's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.means.entries import AT
from veracity.estimate.means.expected import from_sums
from veracity.estimate.means.scores import is_defined
from veracity.inputs import Forecasts
from veracity.inputs.content import Hashes
from veracity.kernels.hashes import SEED, mix
from veracity.kernels.result import R
from veracity.measures import MEASURES, Measure
from veracity.progress import tracked
from veracity.records.reading import Reading
from veracity.records.sections import Means, Scores
from veracity.state.tally import Tally
from veracity.types import Floats

BLOCK = 1 << 22  # resampled counts held at once
DIGITS = 7  # decimals of ln p to which rows are the same


class Bootstrap:
    """Scores and means of resampled rows: the analysis rows with their counts.

    As many rows are drawn as the tally has, so that a sample of rows gives the intervals of all rows.
    """

    def __init__(self, tally: Tally) -> None:
        self.tally, self.draws = tally, tally.plan.bootstrap or 0
        f = tally.rows
        weight = np.ones(len(f)) if f.weights is None else f.weights
        floor, ceiling = tally.plan.limits
        p = np.clip(f.realised, floor, ceiling)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            logs = np.log(p) if f.log_realised is None or floor > 0.0 else f.log_realised
            power = np.where(R == 0.0, logs[:, None], np.exp(logs[:, None] * R))
        columns = [weight, *(weight[:, None] * power).T]
        self.measures: dict[str, tuple[Measure, slice]] = {}
        for measure in MEASURES:
            if measure.rows is not None and is_defined(measure, tally):
                rows = measure.rows(f)
                self.measures[measure.name] = measure, slice(len(columns), len(columns) + rows.shape[1])
                columns += [*(weight[:, None] * rows).T]
        # By what rows hold, equal ones together: nothing depends on the names of clusters and classes.
        _, first, place = np.unique(_keys(f), return_index=True, return_inverse=True)
        counts = np.bincount(place.ravel(), weights=f.copies).astype(np.int64)
        self.sums = self._resample(np.column_stack([column[first] for column in columns]), counts)

    def _resample(self, columns: Floats, counts: NDArray[np.int64]) -> Floats:
        rng = np.random.default_rng(self.tally.plan.random_state)
        rows = len(columns)
        share = counts / counts.sum()
        at_once = max(1, BLOCK // rows)
        parts = []
        with np.errstate(invalid="ignore", over="ignore"):
            starts = range(0, self.draws, at_once)
            for start in tracked("resampling", starts, len(starts)):
                drawn = rng.multinomial(self.tally.sums.rows, share, size=min(at_once, self.draws - start))
                # 0 × inf is NaN in a product: columns with infinities are summed over the rows drawn.
                finite = np.isfinite(columns).all(axis=0)
                sums = drawn @ np.where(finite, columns, 0.0)
                for j in np.flatnonzero(~finite):
                    sums[:, j] = np.where(drawn > 0, drawn * columns[:, j], 0.0).sum(axis=1)
                parts.append(sums)
        return np.concatenate(parts)

    def interval(self, values: Floats, point: Reading) -> Reading:
        """Return the point with the percentile interval of its resampled values."""
        usable = values[np.isfinite(values)]
        if not point.known or not np.isfinite(point) or len(usable) < self.draws / 2 or self.tally.sums.rows < 2:
            return point
        tail = (1.0 - self.tally.plan.level) / 2.0
        low, high = np.quantile(usable, [tail, 1.0 - tail])
        return Reading(float(point), float(low), float(high), f"bootstrap, {self.draws} draws (percentile)")

    def of_scores(self, scores: Scores) -> Scores:
        """Return the scores with bootstrap intervals."""
        drawn = self.scores()
        readings = {name: self.interval(drawn[name], one) for name, one in scores.readings().items() if name in drawn}
        others = {name: readings.pop(name, reading) for name, reading in scores.others.items()}
        return replace(scores, **readings, others=others)  # type: ignore[arg-type]

    def of_means(self, means: Means) -> Means:
        """Return the reported means with bootstrap intervals."""
        drawn = self.reported()
        changed = {name: self.interval(drawn[:, AT[name]], means.reading(name)) for name in AT}
        return replace(means, **changed)  # type: ignore[arg-type]

    def reported_limits(self) -> tuple[Floats, Floats]:
        """Return the ends of the intervals of the reported means along r."""
        tail = (1.0 - self.tally.plan.level) / 2.0
        low, high = np.nanquantile(self.reported(), [tail, 1.0 - tail], axis=0)
        return low, high

    def scores(self) -> dict[str, Floats]:
        """Return (draws,) values of every registered score that is a function of mean rows."""
        weight = self.sums[:, :1]
        return {
            name: np.array([measure.value(means) for means in self.sums[:, at] / weight])
            for name, (measure, at) in self.measures.items()
        }

    def reported(self) -> Floats:
        """Return (draws, r) means."""
        return from_sums(self.sums[:, 1 : 1 + len(R)] / self.sums[:, :1], R)


def _keys(f: Forecasts) -> Hashes:
    """Return (n,) 64 bits of forecast, outcome and weight, and of the logarithm, which tells tiny ones apart."""
    with np.errstate(divide="ignore"):
        logs = np.log(f.realised) if f.log_realised is None else np.asarray(f.log_realised, dtype=np.float64)
    weights = np.ones(len(f)) if f.weights is None else np.asarray(f.weights, dtype=np.float64)
    key = mix(weights.view(np.uint64)) if f.probabilities is None else f.row_hashes
    return mix(mix(key * SEED ^ (np.round(logs, DIGITS) + 0.0).view(np.uint64)))
