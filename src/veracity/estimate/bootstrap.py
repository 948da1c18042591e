"""Intervals by resampling rows, on request. Bins stay fixed; the seed is the plan's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from veracity.data import Forecasts
from veracity.data.reading import Reading
from veracity.data.records import Means, Scores
from veracity.estimate.curves import Curve
from veracity.estimate.expected import from_sums
from veracity.estimate.influences import row_bins
from veracity.estimate.reported import AT, MEANS
from veracity.estimate.scores import is_defined
from veracity.kernels.hashes import SEED, mix
from veracity.kernels.result import R
from veracity.measures import MEASURES, Measure
from veracity.state.content import Hashes, row_hashes
from veracity.state.tally import Tally

Floats = NDArray[np.float64]

BLOCK = 1 << 22  # resampled counts held at once
DIGITS = 7  # decimals of ln p to which rows are the same


class Bootstrap:
    """Scores, means, measured means and spread ratios of resampled rows: the analysis rows with their counts.

    As many rows are drawn as the tally has, so that a sample of rows gives the intervals of all rows.
    """

    def __init__(self, tally: Tally, curve: Curve | None) -> None:
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
        self.curve = curve if tally.measurable else None
        if self.curve is not None:
            hits, true = row_bins(f, self.curve)
            owned = np.zeros_like(hits)
            owned[np.arange(len(true)), true] = 1.0
            self.bins = len(columns)
            columns += [*(weight[:, None] * hits).T, *(weight[:, None] * owned).T]
            columns += [*(weight[:, None] ** 2 * owned).T]
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
            for start in range(0, self.draws, at_once):
                drawn = rng.multinomial(self.tally.sums.rows, share, size=min(at_once, self.draws - start))
                # 0 × inf is NaN in a product: columns with infinities are summed over the rows drawn.
                finite = np.isfinite(columns).all(axis=0)
                sums = drawn @ np.where(finite, columns, 0.0)
                for j in np.flatnonzero(~finite):
                    sums[:, j] = np.where(drawn > 0, drawn * columns[:, j], 0.0).sum(axis=1)
                parts.append(sums)
        return np.concatenate(parts)

    def interval(self, values: Floats, point: Reading, *, measured: bool = False) -> Reading:
        """Return the point with the percentile interval of its resampled values.

        measured  it comes from bins, whose bias resampled rows have twice: their median is put where the point is
        """
        usable = values[np.isfinite(values)]
        if not point.known or not np.isfinite(point) or len(usable) < self.draws / 2 or self.tally.sums.rows < 2:
            return point
        tail = (1.0 - self.tally.plan.level) / 2.0
        low, middle, high = np.quantile(usable, [tail, 0.5, 1.0 - tail])
        shift = float(point) / middle if measured and middle > 0.0 else 1.0
        method = f"bootstrap, {self.draws} draws ({'centred percentile' if measured else 'percentile'})"
        return Reading(float(point), float(low * shift), float(high * shift), method)

    def of_scores(self, found: Scores) -> Scores:
        """Return the scores with bootstrap intervals."""
        drawn = self.scores()
        readings = {name: self.interval(drawn[name], one) for name, one in found.readings().items() if name in drawn}
        others = {name: readings.pop(name, reading) for name, reading in found.others.items()}
        return replace(found, **readings, others=others)  # type: ignore[arg-type]

    def of_means(self, section: str, found: Means) -> Means:
        """Return reported, measured or divergence means with bootstrap intervals."""
        drawn = self.means().get(section, {})
        readings = found.readings()
        changed = {name: self.interval(drawn[name], readings[name], measured=section != "reported") for name in drawn}
        return replace(found, **changed)  # type: ignore[arg-type]

    def of_spread_ratio(self, found: Reading) -> Reading:
        """Return the spread ratio with a bootstrap interval."""
        means = self.means()
        return self.interval(means["spread_ratio"]["spread_ratio"], found, measured=True) if self.curve else found

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

    def measured(self) -> Floats:
        """Return (draws, 3) corrected means, in the order of MEANS."""
        assert self.curve is not None
        bins, first = len(self.curve), self.bins
        every, true, true2 = (self.sums[:, first + i * bins : first + (i + 1) * bins] for i in range(3))
        floor = self.tally.plan.floor
        some = true > 0.0
        source = np.where(some, true / np.where(every > 0.0, every, 1.0), 1.0)
        c = np.maximum(source, floor)
        row = np.where(some & (source > floor), true2 / np.where(some, true, 1.0), 0.0) * (1.0 - c)
        total = true.sum(axis=1)
        found = []
        for r in MEANS.values():
            if r == 0.0:
                found.append(np.exp((true * np.log(c) - row / 2.0).sum(axis=1) / total))
            else:
                power = ((true - r * (r + 1.0) / 2.0 * row) * c**r).sum(axis=1) / total
                found.append(np.where(power > 0.0, np.abs(power) ** (1.0 / r), np.nan))
        return np.column_stack(found)

    def means(self) -> dict[str, dict[str, Floats]]:
        """Return (draws,) reported and measured means, their ratio, and the spread ratio."""
        reported = self.reported()[:, [AT[name] for name in MEANS]]
        found = {"reported": dict(zip(MEANS, reported.T, strict=True))}
        if self.curve is not None:
            measured = self.measured()
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = reported / measured
                spread = (measured[:, 0] - measured[:, 2]) / (reported[:, 0] - reported[:, 2])
            found["measured"] = dict(zip(MEANS, measured.T, strict=True))
            found["divergence"] = dict(zip(MEANS, ratio.T, strict=True))
            found["spread_ratio"] = {"spread_ratio": spread}
        return found


def _keys(f: Forecasts) -> Hashes:
    """Return (n,) 64 bits of forecast, outcome and weight, and of the logarithm, which tells tiny ones apart."""
    with np.errstate(divide="ignore"):
        logs = np.log(f.realised) if f.log_realised is None else np.asarray(f.log_realised, dtype=np.float64)
    weights = np.ones(len(f)) if f.weights is None else np.asarray(f.weights, dtype=np.float64)
    key = mix(weights.view(np.uint64)) if f.probabilities is None else row_hashes(f)
    return mix(mix(key * SEED ^ (np.round(logs, DIGITS) + 0.0).view(np.uint64)))
