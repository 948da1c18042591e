"""Intervals by resampling rows, on request. Bins stay fixed; the seed is the plan's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veracity.data.reading import Reading
from veracity.estimate.curves import Curve
from veracity.estimate.influences import row_bins
from veracity.estimate.scores import AT, MEANS
from veracity.formulas.rules import rule
from veracity.state.sums import R
from veracity.state.tally import Tally

Floats = NDArray[np.float64]

BLOCK = 1 << 22  # resampled counts held at once


class Bootstrap:
    """Means, measured means and slopes of resampled rows. The rows are the tally's sample: in memory or streamed alike.

    A row of the sample stands for its count; as many rows are drawn as the tally has, so that a sample gives the
    intervals of all rows.
    """

    def __init__(self, tally: Tally, curve: Curve | None) -> None:
        self.tally, self.draws = tally, tally.plan.bootstrap or 0
        f = tally.sample.rows
        weight = np.ones(len(f)) if f.weights is None else f.weights
        floor, ceiling = tally.plan.limits
        p = np.clip(f.realised, floor, ceiling)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log = -np.log(f.realised) if f.log_realised is None else -f.log_realised
            logs = np.log(p) if f.log_realised is None or floor > 0.0 else f.log_realised
            power = np.where(R == 0.0, logs[:, None], np.exp(logs[:, None] * R))
        columns = [weight, *(weight * log)[None], *(weight[:, None] * power).T]
        if tally.measurable and curve is not None:
            matrix = f.matrix
            assert f.outcomes is not None
            if tally.picks_given:
                picked = f.outcomes == 1
            elif matrix.shape[1] > 2:
                picked = np.argmax(matrix, axis=1) == f.outcomes
            else:
                picked = (matrix[:, 1] > 0.5) == f.outcomes
            scores = [rule("brier").score(matrix, f.outcomes), rule("spherical").score(matrix, f.outcomes), picked]
            hits, true = row_bins(f, curve, tally.plan)
            owned = np.zeros_like(hits)
            owned[np.arange(len(true)), true] = 1.0
            squared = weight[:, None] ** 2 * owned
            columns += [weight * score for score in scores]
            columns += [*(weight[:, None] * hits).T, *(weight[:, None] * owned).T, *squared.T]
        self.curve = curve if tally.measurable else None
        self.sums = self._resample(np.column_stack(columns), f.counts)

    def _resample(self, columns: Floats, counts: NDArray[np.int64] | None) -> Floats:
        rng = np.random.default_rng(self.tally.plan.random_state)
        rows = len(columns)
        share = np.full(rows, 1.0 / rows) if counts is None else counts / counts.sum()
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
        """The point with the percentile interval of its resampled values.

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

    def scores(self) -> dict[str, Floats]:
        weight = self.sums[:, 0]
        log_loss = self.sums[:, 1] / weight
        found = {"log_loss": log_loss, "perplexity": np.exp(log_loss)}
        if self.curve is not None:
            names = ("brier", "spherical", "prediction_accuracy")
            found |= {name: self.sums[:, 2 + len(R) + i] / weight for i, name in enumerate(names)}
            found["half_brier"] = found["brier"] / 2.0
        return found

    def reported(self) -> Floats:
        """(draws, r) means."""
        means = self.sums[:, 2 : 2 + len(R)] / self.sums[:, :1]
        with np.errstate(divide="ignore", over="ignore"):
            found: Floats = np.where(R == 0.0, np.exp(means), means ** (1.0 / np.where(R == 0.0, 1.0, R)))
        return found

    def measured(self) -> Floats:
        """(draws, 3) corrected means, in the order of MEANS."""
        assert self.curve is not None
        bins, first = len(self.curve), 5 + len(R)
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
        """Reported, measured, divergence and slope."""
        reported = self.reported()[:, [AT[name] for name in MEANS]]
        found = {"reported": dict(zip(MEANS, reported.T, strict=True))}
        if self.curve is not None:
            measured = self.measured()
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = reported / measured
                slope = (measured[:, 0] - measured[:, 2]) / (reported[:, 0] - reported[:, 2])
            found["measured"] = dict(zip(MEANS, measured.T, strict=True))
            found["divergence"] = dict(zip(MEANS, ratio.T, strict=True))
            found["slope"] = {"slope": slope}
        return found
