"""How each row moves the means of a tally: standard errors of measured means, divergences and the spread ratio.

The bins are held fixed (theory section 4.1a). The entries of a row are dependent, so cells taken one by one would make
the intervals too short.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.data import Forecasts
from veracity.estimate import row_sums
from veracity.estimate.curves import Curve
from veracity.estimate.reported import AT, DIVISOR, MEANS, ZERO, Profile, coarse_places
from veracity.kernels.result import R
from veracity.state.cells import forecasts_from_cells, regrouped
from veracity.state.plan import Plan
from veracity.state.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REPORTED = np.array(list(MEANS.values()))
STEP = 3
SPARSE = R[::STEP]  # the r of standard errors along the profile; −2/3, 0 and 1 are among them
SPARSE_ZERO, SPARSE_DIVISOR = ZERO // STEP, DIVISOR[::STEP]
ROWS, ENTRIES = 2000, 300_000  # up to which every row is looked at
SAMPLED = 6000  # rows of a sample: repeated forecasts come with all their outcomes, so it holds fewer forecasts


@dataclass(frozen=True)
class Influences:
    """Standard errors: of ln of the measured means along the profile, of ln of the divergences, of the spread ratio."""

    measured_errors: Floats
    divergence_errors: dict[str, float]
    spread_ratio_error: float

    @classmethod
    def of(cls, tally: Tally, curve: Curve, profile: Profile, measured: Floats) -> Influences:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bins = BinInfluences.of(curve, tally.plan.floor)
            rows = few_rows(tally)
            if rows is not None:
                moves = of_rows(rows, bins, tally.plan)
            else:
                moves = from_sample(sample_of_rows(tally), bins, profile)
            # d ln P_r is (p^r/mean − 1)/r, in logs for r = 0; zeros do not move a mean that is 0.
            reported = moves.columns[-len(MEANS) :]
            mean = reported @ moves.share
            reported[~np.isfinite(mean)] = 0.0
            scale = np.where(REPORTED == 0.0, 1.0, np.where(np.isfinite(mean), 1.0 / (mean * REPORTED), 0.0))
            scale = np.concatenate([bins.scale, scale])
            spread, own = _spread(profile.values), _spread(measured)
            ratio = np.array([own, -own.sum() / spread.sum() * spread]) / spread.sum()
            mixes = np.zeros((len(SPARSE) + len(MEANS) + 1, len(moves.columns)))
            mixes[MIXES] = np.concatenate([SIGNS, *ratio]) * scale[MIXES[1]]
            errors = row_sums.mixed_errors(moves.columns, moves.share, moves.square, mixes)
        errors *= math.sqrt(tally.sums.weight2) / tally.sums.weight
        errors[errors < 1e-13] = 0.0  # rounding of sums that cancel
        # Straight lines between every third r, which no one can tell apart.
        along = np.interp(R, SPARSE, errors[: len(SPARSE)])
        *divergence, ratio_error = errors[len(SPARSE) :].tolist()
        return cls(along, dict(zip(AT, divergence, strict=True)), ratio_error)


def _places() -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the columns (measured along SPARSE, then reported) of the errors of measured, reported − measured, spread.

    Numbers of mixes and of the columns in them; the spread ratio, last, mixes both ends of the profiles.
    """
    m, at = len(SPARSE), {name: place // STEP for name, place in AT.items()}
    alone = [(i, i) for i in range(m + len(AT))]
    less = [(m + i, place) for i, place in enumerate(at.values())]
    spread = [(m + len(AT), c) for c in (at["decisiveness"], at["robustness"], m, m + len(AT) - 1)]
    mixes, columns = np.array([*alone, *less, *spread]).T
    return mixes, columns


MIXES = _places()
SIGNS = np.repeat([1.0, -1.0], [len(SPARSE) + len(MEANS), len(MEANS)])


def _spread(values: Floats) -> Floats:
    """Return how decisiveness − robustness, their sum, moves with ln of each."""
    return np.array([values[AT["decisiveness"]], -values[AT["robustness"]]])


@dataclass(frozen=True)
class BinInfluences:
    """(bins, SPARSE) what a true entry in a bin adds to its row's move of S_r, and what every entry takes off.

    d ln S_r is (1+r) c_y^r − r Σ_j c_j^(1+r), relative to the mean (`scale`); ln c_y + 1 − Σ_j c_j for r = 0.
    """

    curve: Curve
    own: Floats
    every: Floats
    scale: Floats

    @classmethod
    def of(cls, curve: Curve, floor: float) -> BinInfluences:
        r, log, free = SPARSE, curve.log_source(floor)[:, None], (curve.source > floor)[:, None]
        power = np.exp(log * r)
        own = np.where(free, 1.0 + r, 1.0) * power
        own[:, SPARSE_ZERO] = (log + free)[:, 0]
        every = SPARSE_DIVISOR * power * (curve.source[:, None] * free)
        scale: Floats = curve.true_weight.sum() / (curve.true_weight @ power * SPARSE_DIVISOR)
        scale[SPARSE_ZERO] = 1.0
        return cls(curve, own, every, scale)

    def fill(self, columns: Floats, f: Forecasts) -> None:
        """Return the moves of rows along SPARSE, then p of the outcome."""
        assert f.outcomes is not None
        row_sums.row_influences(_clipped(f, self.curve), f.outcomes, self.curve.low, self.own, self.every, columns)
        if f.offered is not None:
            columns[:-1] += (~f.offered).sum(axis=1) * self.every[0][:, None]  # not offered: 0, but in no bin


@dataclass(frozen=True)
class RowInfluences:
    """(SPARSE, then MEANS; rows) what each row adds: moves of measured means, and p, ln p and p^(−2/3).

    share   of the rows, for means; they sum to one
    square  of squared weights, for mean squares
    """

    columns: Floats
    share: Floats
    square: Floats


def of_rows(f: Forecasts, bins: BinInfluences, plan: Plan) -> RowInfluences:
    columns = np.empty((len(SPARSE) + len(MEANS), len(f)))
    bins.fill(columns[: len(SPARSE) + 1], f)
    p, log, power = columns[-len(MEANS) :]
    if plan.limits != (0.0, 1.0):
        p.clip(*plan.limits, out=p)
    np.log(p, out=log)
    np.exp(log * MEANS["robustness"], out=power)
    return RowInfluences(columns, *_shares(f))


def from_sample(f: Forecasts, bins: BinInfluences, profile: Profile) -> RowInfluences:
    """Return the moves of all rows: what their true entries add is known from cells, the rest from a sample f.

    The true entries that move a mean most are few, and a sample has too many of them or none. The other entries of a
    row move it little: on average as in sampled rows with such a true entry. Their variation around that average comes
    as additional rows, which move no mean.
    """
    curve, true, m = bins.curve, profile.entries, len(SPARSE)
    sampled = np.empty((m + 1, len(f)))
    bins.fill(sampled, f)
    share, square = _shares(f)
    alone, at = bins.own - bins.every, curve.locate(sampled[m])
    others = sampled[:m] - alone[at].T
    average = AverageOthers.of(others, sampled[m], at, share)

    at_cell = np.maximum(curve.start.searchsorted(true.cells, "right") - 1, 0)
    place = coarse_places(true.log)
    first = np.flatnonzero(np.append(True, (place[1:] != place[:-1]) | (at_cell[1:] != at_cell[:-1])))
    weight, to = np.add.reduceat(true.weight, first), at_cell[first]
    reported = np.add.reduceat(true.sums, first, axis=1) / weight
    p = np.clip(reported[0], curve.low[to], curve.high[to])  # a floor may have lifted it out of its bin
    main = np.vstack([alone[to].T + average.at(p), reported])
    main_share = weight / weight.sum()
    h = profile.tally.pooled
    squares = weight
    if h.true_weight2 is not None:
        squares = np.add.reduceat(h.true_weight2[h.cells.searchsorted(true.cells)], first)

    varying = np.tile((main @ main_share)[:, None], len(f))
    varying[:m] += others - average.at(sampled[m])
    varying_square = square * (curve.true_weight2 / np.bincount(at, square, len(curve)))[at]
    return RowInfluences(
        np.hstack([main, varying]),
        np.append(main_share, np.zeros(len(f))),
        np.append(squares / squares.sum(), varying_square / varying_square.sum()),
    )


@dataclass(frozen=True)
class AverageOthers:
    """What the other entries of a row add, by the probability of its true entry: straight lines between bins."""

    p: Floats  # (bins,) mean probability of the true entry
    others: Floats  # (m, bins)

    @classmethod
    def of(cls, others: Floats, p: Floats, at: Ints, share: Floats) -> AverageOthers:
        weight = np.bincount(at, share)
        some = weight > 0.0
        means = np.array([np.bincount(at, share * x)[some] / weight[some] for x in (p, *others)])
        return cls(means[0], means[1:])

    def at(self, p: Floats) -> Floats:
        """Return (m, len(p)) the averages for true entries with these probabilities."""
        place = np.interp(p, self.p, np.arange(len(self.p)))
        low = place.astype(np.int64)
        high = np.minimum(low + 1, len(self.p) - 1)
        return self.others[:, low] + (place - low) * (self.others[:, high] - self.others[:, low])


def _shares(f: Forecasts) -> tuple[Floats, Floats]:
    """Return the shares of the weights of rows, and of their squares."""
    if f.weights is None and f.counts is None:
        share = np.full(len(f), 1.0 / len(f))
        return share, share
    square = f.mass if f.weights is None else f.mass * f.weights
    return f.mass / f.mass.sum(), square / square.sum()


def few_rows(tally: Tally) -> Forecasts | None:
    """Return every row where they are few; a row that counts twice is two."""
    return tally.rows if tally.complete and tally.sums.rows <= min(ROWS, ENTRIES // tally.k) else None


def sample_of_rows(tally: Tally) -> Forecasts:
    """Return a sample of the rows: nested cells for two classes, else the first analysis rows."""
    if tally.k == 2:
        h = tally.classwise[1]
        return forecasts_from_cells(regrouped(h, tally.grid.nested[h.cells]), tally.grid.nested_edges, tally.classes)
    return tally.few_rows(SAMPLED, ENTRIES)


def row_bins(f: Forecasts, curve: Curve) -> tuple[Floats, Ints]:
    """Return (rows, bins) how many entries of a row lie in each bin, and the bin of the true entry."""
    assert f.outcomes is not None
    hits, true = row_sums.row_bins(_clipped(f, curve), f.outcomes, curve.low)
    if f.offered is not None:
        hits[:, 0] -= (~f.offered).sum(axis=1)  # what was not offered holds 0, but lies in no bin
    return hits, true


def _clipped(f: Forecasts, curve: Curve) -> NDArray[Any]:
    """Return (rows, classes) probabilities as the curve clips them; unchanged rows keep their dtype."""
    p = f.probabilities
    if curve.limits != (0.0, 1.0):
        return np.clip(f.matrix, *curve.limits)
    return p if p is not None and p.ndim == 2 else f.matrix
