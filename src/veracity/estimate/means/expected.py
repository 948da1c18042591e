"""What the forecasts expect of themselves: the means of the risk profile if every forecast were right.

A forecaster who believes p expects Σ_j p_j^{1+r} for p_y^r, so

    P_r^exp = (mean_i Σ_j p_ij^{1+r})^{1/r},    r = 0: exp(mean_i Σ_j p_ij ln p_ij),

from the forecasts alone; r = 1 is the mean of Σ p², which decisiveness equals for calibrated forecasts. The proper
score of r exceeds its expectation by ((1 + r)/r)(Σ_j p_j^{1+r} − p_y^r); its z is Spiegelhalter's (1986) at r = 1 and
the score test of the calibration slope at r = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from veracity.estimate.intervals import around
from veracity.estimate.means.entries import AT, Entries, log_powers
from veracity.estimate.means.reported import NOT_MEASURABLE, three
from veracity.estimate.means.row_sums import log_power_mean
from veracity.estimate.means.scores import zeros_reason
from veracity.formulas.intervals import quantile
from veracity.formulas.rules import power
from veracity.inputs import Forecasts
from veracity.kernels import Histogram
from veracity.kernels.grid import COARSE, Grid
from veracity.kernels.result import R
from veracity.records.reading import Reading, unknown
from veracity.records.sections import ExpectedScore, Means
from veracity.state.tally import Tally
from veracity.types import Floats

ROUNDING = 1e-12  # of sums of thousands of probabilities
LEAST_R = -0.5  # below, a few surprises decide, and calibrated forecasts look under-confident: nothing is claimed
MOST_ENTRIES = 40_000  # of rows from which variances along the profile are taken
ENTRIES_OF_A_RULE = 400_000  # of rows from which the variance of one score is taken
FEW_DECIDE = "a few surprises decide the realised mean at this r: no interval"


def powers(log: Floats, r: Floats) -> Iterator[Floats]:
    """Yield p^r, given ln p, for each of evenly spaced r, in one array: a multiplication each. 0^r is 0."""
    values, step = np.exp(log * r[0]), np.exp(log * (r[1] - r[0])) if len(r) > 1 else log
    if r[0] == 0.0:
        values[np.isneginf(log)] = 0.0
    for i in range(len(r)):
        if i:
            values *= step
        yield values


def means_of(histogram: Histogram, grid: Grid, r: Floats, cases: float, rows: Floats | None = None) -> Floats:
    """Return P_r^exp for each of evenly spaced r > −1 from the histogram of all entries.

    `cases` is the total weight. Each cell counts with its mean, to about 1e-7; cells too wide for that take the
    distribution of the entries of `rows`.
    """
    every = histogram.all.astype(np.float64) if histogram.all_weight is None else histogram.all_weight
    some = (histogram.all_sum > 0.0) & (every > 0.0)
    cells, every = histogram.cells[some], every[some]
    mean = histogram.all_sum[some] / every
    sums = _power_sums(mean, every, r)
    if rows is not None:
        for at in range(np.searchsorted(cells, np.searchsorted(grid.edges, COARSE))):
            low, high = grid.ends[cells[at] : cells[at] + 2]
            inside = rows[(rows >= low) & (rows < high)]
            if len(inside):
                relative = _power_sums(inside / inside.mean(), np.full(len(inside), 1.0 / len(inside)), r)
                scale = every[at] * np.where(r == 0.0, mean[at], mean[at] ** (1.0 + r))
                sums += scale * (relative - (r != 0.0))
    return from_sums(sums / cases, r)


def _power_sums(p: Floats, weight: Floats, r: Floats) -> Floats:
    """Return Σ weight·p^{1+r} for each r; for r = 0 Σ weight·p ln p."""
    log = np.log(p)
    sums = np.array([np.einsum("i,i->", weight, power) for power in powers(log, 1.0 + r)])
    sums[r == 0.0] = np.einsum("i,i,i->", weight, p, log)
    return sums


def from_sums(mean_powers: Floats, r: Floats) -> Floats:
    """Return the generalized means whose mean powers these are; at r = 0 the mean logarithm."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(r == 0.0, np.exp(mean_powers), mean_powers ** (1.0 / np.where(r == 0.0, 1.0, r)))


def row_spread(p: Floats, weight: Floats, r: Floats) -> Floats:
    """Return the mean over rows (m, k) of the variance of p_y^r if outcomes follow p; r = 0: of ln p_y.

    r  evenly spaced, from −½
    """
    if not len(p):
        return np.full(len(r), np.nan)
    p = np.ascontiguousarray(p.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(p)
        mean, square = (np.array([_total(power) for power in powers(log, 1.0 + s * r)]) for s in (1.0, 2.0))
    log = np.maximum(log, -1e100)  # 0 ln 0 is 0
    mean[r == 0.0], square[r == 0.0] = _total(p * log), _total(p * log * log)
    spread = square - mean**2
    spread[spread <= 1e-14 * square] = 0.0  # rounding of sums that cancel
    return np.asarray(spread @ (weight / weight.sum()))


def _total(p: Floats) -> Floats:
    """Return the sums of columns."""
    return np.asarray(np.einsum("ij->j", p))


def band(expected: Floats, spread: Floats, r: Floats, n: float, z: float) -> tuple[Floats, Floats]:
    """Return where the realised means of n cases lie if the forecasts are right; NaN below r = −½."""
    error = np.sqrt(spread / n)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = np.where(r == 0.0, np.log(expected), expected**r)
        ends = [
            from_sums(np.where(r == 0.0, mean + s * z * error, np.maximum(mean + s * z * error, 0.0)), r)
            for s in (-1, 1)
        ]
    low, high = np.fmin(*ends), np.fmin(np.fmax(*ends), 1.0)
    claimed = r >= LEAST_R
    return np.where(claimed, low, np.nan), np.where(claimed, high, np.nan)


def excess_scores(expected: Floats, realised: Floats, r: Floats) -> Floats:
    """Return observed less expected mean score, ((1 + r)/r)(Σ p^{1+r} − p_y^r), from the two generalized means.

    A difference that is next to nothing beside either term is rounding, and 0.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        divisor = np.where(r == 0.0, 1.0, r)
        theirs, ours = (np.where(r == 0.0, np.log(mean), mean**r) for mean in (expected, realised))
        difference = np.where(np.abs(theirs - ours) <= ROUNDING * np.abs(theirs), 0.0, theirs - ours)
        return np.where(r == 0.0, difference, (1.0 + r) / divisor * difference)


# -- of a tally -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expected:
    """The means that forecasts expect of themselves along the risk profile, with the band of calibrated forecasts."""

    tally: Tally

    @cached_property
    def values(self) -> Floats:
        """(R,) the means; NaN for r ≤ −1."""
        means = np.full(len(R), np.nan)
        means[R > -1.0] = _values(self.tally, R[R > -1.0])
        return means

    @cached_property
    def band(self) -> tuple[Floats, Floats]:
        """Where the reported means of calibrated forecasts would lie; NaN below r = −½."""
        return band(self.values, self._spread, R, self.tally.sums.n_eff, quantile(self.tally.plan.level))

    @cached_property
    def excess(self) -> tuple[Floats, Floats]:
        """Observed less expected scores, and how far those of calibrated forecasts reach; NaN below r = −½."""
        excess = np.where(R >= LEAST_R, excess_scores(self.values, realised_means(self.tally, R), R), np.nan)
        scale = np.array([_score_scale(r) for r in R])
        return excess, quantile(self.tally.plan.level) * scale * np.sqrt(self._spread / self.tally.sums.n_eff)

    @cached_property
    def _spread(self) -> Floats:
        rows, claimed, spread = _few_rows(self.tally), R >= LEAST_R, np.full(len(R), np.nan)
        spread[claimed] = row_spread(rows.matrix, rows.mass, R[claimed])
        return spread

    def means(self) -> Means:
        """Return the three means."""
        if not self.tally.measurable:
            return three(lambda name: unknown(NOT_MEASURABLE))
        low, high = self.band
        return three(lambda name: _reading(*(float(x[AT[name]]) for x in (self.values, low, high))))


def expected_at(tally: Tally, r: float) -> Reading:
    """Return the expected mean at r > −1, with the band in which realised means of calibrated forecasts lie."""
    if not tally.measurable:
        return unknown(NOT_MEASURABLE)
    if not r > -1.0:
        raise ValueError(f"r: {r:g}; means are expected for r > -1")
    one, rows = np.array([r]), _few_rows(tally)
    value = _values(tally, one)
    if r < LEAST_R:
        return _reading(float(value[0]), np.nan, np.nan)
    spread = row_spread(rows.matrix, rows.mass, one)
    low, high = band(value, spread, one, tally.sums.n_eff, quantile(tally.plan.level))
    return _reading(*(float(x[0]) for x in (value, low, high)))


def _reading(value: float, low: float, high: float) -> Reading:
    if np.isnan(low):
        return Reading(value, reason=FEW_DECIDE)
    return Reading(value, low, high, "where calibrated forecasts would be")


def expected_score(tally: Tally, parameter: float) -> ExpectedScore:
    """Return the score of a parameter r > −1 that the forecasts expect of themselves, and the excess of the observed.

    The interval is that of the difference; z and p are those of calibrated forecasts, whose difference varies by the
    forecasts alone.
    """
    if not tally.measurable:
        return ExpectedScore(None, unknown(NOT_MEASURABLE))
    r, n, rule = np.array([parameter]), tally.sums.n_eff, power(parameter)
    expected, realised = _values(tally, r), realised_means(tally, r)
    entropy = float(-np.log(expected[0]) if parameter == 0.0 else (1.0 - expected[0] ** parameter) / parameter)
    difference = float(excess_scores(expected, realised, r)[0])
    if not np.isfinite(difference):
        return ExpectedScore(entropy, Reading(difference, reason=zeros_reason(tally.sums)))
    if parameter < LEAST_R:
        return ExpectedScore(entropy, Reading(difference, reason=FEW_DECIDE))
    rows = _few_rows(tally, ENTRIES_OF_A_RULE)
    if not len(rows):
        return ExpectedScore(entropy, Reading(difference, reason="an interval needs rows, which were left out"))
    assert rows.outcomes is not None
    residual = np.asarray(rule.score(rows.matrix, rows.outcomes)) - np.asarray(rule.entropy(rows.matrix))
    spread, n_rows = float(row_spread(rows.matrix, rows.mass, r)[0]), rows.mass.sum() ** 2 / rows.squared_mass.sum()
    share = rows.squared_mass / rows.squared_mass.sum()
    varies = float(share @ (residual - rows.mass @ residual / rows.mass.sum()) ** 2)
    scaled = np.sqrt(varies / (1.0 - 1.0 / n_rows) / n) if n_rows > 1.0 + 1e-9 else np.nan
    excess = around(difference, float(scaled), tally.plan.level)
    error = _score_scale(parameter) * float(np.sqrt(spread / n))
    if not error > 0.0:
        return ExpectedScore(entropy, excess)
    z = difference / error
    return ExpectedScore(entropy, excess, z, float(2.0 * ndtr(-abs(z))))


def _score_scale(r: float) -> float:
    """Return by how much a score changes with p_y^r; with ln p_y for r = 0."""
    return 1.0 if r == 0.0 else (1.0 + r) / abs(r)


def realised_means(tally: Tally, r: Floats) -> Floats:
    """Return the generalized means of the probability of the outcome: exact along the profile, elsewhere from cells."""
    sums = tally.sums
    at = np.abs(R[:, None] - r).argmin(axis=0)
    means: Floats = np.exp((log_powers(sums)[at] - np.log(sums.weight)) / np.where(r == 0.0, 1.0, r))
    between = np.abs(R[at] - r) >= 1e-12
    if between.any():
        entries = Entries.of(tally.pooled, tally.grid)
        means[between] = [np.exp(log_power_mean(entries.weight, entries.sums, each)) for each in r[between].tolist()]
    means[r == 0.0] = np.exp(-sums.score[0, 0] / sums.weight)
    if sums.zeros:
        means[r <= 0.0] = 0.0
    return means


def scores_from_means(tally: Tally, r: float) -> float:
    """Return the mean score L of all cases at r ≠ 0: 1 − r·L = (1 + r) mean p_y^r − r mean Σ p^{1+r}."""
    one = np.array([r])
    with np.errstate(divide="ignore", over="ignore"):
        realised, expected = (float(mean[0] ** r) for mean in (realised_means(tally, one), _values(tally, one)))
    return (1.0 - (1.0 + r) * realised + r * expected) / r


def _values(tally: Tally, r: Floats) -> Floats:
    rows = _few_rows(tally).matrix if tally.grid.coarse else None
    return means_of(tally.pooled, tally.grid, r, tally.sums.weight, rows)


def _few_rows(tally: Tally, entries: int = MOST_ENTRIES) -> Forecasts:
    return tally.few_rows(entries, entries)
