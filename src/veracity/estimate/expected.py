"""What the forecasts expect of themselves: the means of the risk profile if every forecast were right.

Whoever believes p expects Σ_j p_j^{1+r} for p_y^r, so

    P_r^exp = (mean_i Σ_j p_ij^{1+r})^{1/r},    r = 0: exp(mean_i Σ_j p_ij ln p_ij),

from the forecasts alone; r = 1 is the mean of Σ p², which decisiveness equals for calibrated forecasts. The proper
score of r exceeds its expectation by ((1 + r)/r)(Σ_j p_j^{1+r} − p_y^r); its z is Spiegelhalter's (1986) at r = 1 and
the score test of the calibration slope at r = 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from veracity.data import Forecasts
from veracity.data.reading import Reading, around, unknown
from veracity.data.records import ExpectedScore, Means
from veracity.estimate.measured import NOT_MEASURABLE
from veracity.estimate.reported import MEANS, three
from veracity.estimate.scores import zeros_reason
from veracity.formulas.intervals import quantile
from veracity.formulas.rules import power
from veracity.kernels import Histogram
from veracity.state.sums import R
from veracity.state.tally import Tally

Floats = NDArray[np.float64]

LEAST_R = -0.5  # below, a few surprises decide, and calibrated forecasts look under-confident: nothing is claimed
MOST_ENTRIES = 40_000  # of rows from which variances along the profile are taken
ENTRIES_OF_A_RULE = 400_000  # of rows from which the variance of one score is taken
FEW_DECIDE = "a few surprises decide the realised mean at this r: no interval"
WIDE = 2.0**-5  # relative width of a cell beyond which its mean does not tell its powers


def means_of(histogram: Histogram, edges: Floats, r: Floats, cases: float, rows: Floats | None = None) -> Floats:
    """Return P_r^exp for each r > −1 from the histogram of all entries; at −1 1/(mean number above 0), below NaN.

    `cases` is the total weight. Each cell counts with its mean, to about 1e-7; cells too wide for that take the
    distribution of the entries of `rows`.
    """
    every = histogram.all.astype(np.float64) if histogram.all_weight is None else histogram.all_weight
    some = (histogram.all_sum > 0.0) & (every > 0.0)
    cells, every = histogram.cells[some], every[some]
    mean = histogram.all_sum[some] / every
    sums = _power_sums(mean, r, every)
    ends = np.append(edges, 1.0)
    wide = (ends[cells + 1] - edges[cells]) > WIDE * edges[cells]
    if rows is not None and wide.any():
        entries = np.ravel(rows)
        place = np.searchsorted(cells[wide], np.searchsorted(edges, entries, side="right") - 1)
        place = np.minimum(place, wide.sum() - 1)
        inside = cells[wide][place] == np.searchsorted(edges, entries, side="right") - 1
        sums += _within_cells(entries[inside], place[inside], mean[wide], every[wide], r)
    return from_sums(sums / cases, r)


def _power_sums(p: Floats, r: Floats, weight: Floats) -> Floats:
    """Return Σ weight·p^{1+r} for each r; for r = 0 Σ weight·p ln p."""
    return np.array(
        [weight @ (p * np.log(p) if one == 0.0 else p ** (1.0 + one)) if one >= -1.0 else np.nan for one in r]
    )


def _within_cells(entries: Floats, place: NDArray[np.int64], mean: Floats, every: Floats, r: Floats) -> Floats:
    """Return by how much sums of powers change if entries are distributed in their cells as these are."""
    size = np.bincount(place, minlength=len(mean))
    filled = size > 0
    own = np.bincount(place, entries, len(mean)) / np.maximum(size, 1)
    relative = entries / own[place]
    changes = []
    for one in r:
        if one < -1.0:
            changes.append(np.nan)
            continue
        f = relative * np.log(relative) if one == 0.0 else relative ** (1.0 + one)
        factor = np.bincount(place, f, len(mean)) / np.maximum(size, 1)
        scale = mean if one == 0.0 else mean ** (1.0 + one)
        changes.append(float((every * scale * (factor - (one != 0.0)))[filled].sum()))
    return np.array(changes)


def from_sums(mean_powers: Floats, r: Floats) -> Floats:
    """Return the generalized means whose mean powers these are; at r = 0 the mean logarithm."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(r == 0.0, np.exp(mean_powers), mean_powers ** (1.0 / np.where(r == 0.0, 1.0, r)))


def row_spread(p: Floats, weight: Floats, r: Floats) -> Floats:
    """Return, for each r, the mean over rows (m, k) of the variance of p_y^r if outcomes follow p; r = 0: of ln p_y."""
    safe = np.where(p > 0.0, p, 1.0)
    logs, share = np.log(safe), weight / weight.sum()
    found = []
    for one in r:
        f = logs if one == 0.0 else np.exp(np.minimum(one * logs, 700.0))
        mean = np.einsum("ij,ij->i", p, f)
        found.append(float(share @ np.maximum(np.einsum("ij,ij,ij->i", p, f, f) - mean**2, 0.0)))
    return np.array(found)


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
    """Return observed less expected mean score, ((1 + r)/r)(Σ p^{1+r} − p_y^r), from the two generalized means."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        divisor = np.where(r == 0.0, 1.0, r)
        powers = (1.0 + r) / divisor * (expected**r - realised**r)
        return np.where(r == 0.0, np.log(expected) - np.log(realised), powers)


# -- of a tally -----------------------------------------------------------------------------------------------------


def expected_means(tally: Tally) -> Means:
    """Return the three means that the forecasts expect of themselves, with the band of calibrated forecasts."""
    if not tally.measurable:
        return three(lambda name: unknown(NOT_MEASURABLE))
    return three(lambda name: expected_at(tally, MEANS[name]))


def expected_at(tally: Tally, r: float) -> Reading:
    """Return the expected mean at r > −1, with the band in which realised means of calibrated forecasts lie."""
    if not tally.measurable:
        return unknown(NOT_MEASURABLE)
    if not r > -1.0:
        raise ValueError(f"r: {r:g}; means are expected for r > -1")
    powers = np.array([r])
    value = float(_values(tally, powers)[0])
    low, high = (float(end[0]) for end in _band(tally, powers, np.array([value])))
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
    expected, realised = _values(tally, r), _realised(tally, r)
    entropy = float(-np.log(expected[0]) if parameter == 0.0 else (1.0 - expected[0] ** parameter) / parameter)
    difference = float(excess_scores(expected, realised, r)[0])
    if not np.isfinite(difference):
        return ExpectedScore(entropy, Reading(difference, reason=zeros_reason(tally.sums)))
    if parameter < LEAST_R:
        return ExpectedScore(entropy, Reading(difference, reason=FEW_DECIDE))
    rows = _few_rows(tally, ENTRIES_OF_A_RULE)
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


def excess_profile(tally: Tally) -> tuple[Floats, Floats]:
    """Return observed less expected scores along the risk profile, and how far those of calibrated forecasts reach.

    NaN below r = −½, where a few surprises decide.
    """
    expected, claimed = _values(tally, R), R >= LEAST_R
    found = np.where(claimed, excess_scores(expected, _realised(tally, R), R), np.nan)
    reach = np.full(len(R), np.nan)
    scale = np.array([_score_scale(r) for r in R[claimed]])
    reach[claimed] = quantile(tally.plan.level) * scale * np.sqrt(_spread(tally, R[claimed]) / tally.sums.n_eff)
    return found, reach


def _realised(tally: Tally, r: Floats) -> Floats:
    """Return the generalized means of the probability of the outcome: exact along the profile, elsewhere from cells."""
    sums, h = tally.sums, tally.pooled
    some = h.true > 0
    weight = (h.true.astype(np.float64) if h.true_weight is None else h.true_weight)[some]
    assert h.true_sum is not None
    mean, found = h.true_sum[some] / weight, []
    for one in r:
        at = int(np.argmin(np.abs(R - one)))
        if sums.zeros and one <= 0.0:
            found.append(0.0)
        elif one == 0.0:
            found.append(float(np.exp(-sums.score[0, 0] / sums.weight)))
        elif abs(R[at] - one) < 1e-12:
            found.append(float(np.exp((sums.log_powers[at] - np.log(sums.weight)) / one)))
        else:
            found.append(float((weight @ mean**one / sums.weight) ** (1.0 / one)))
    return np.array(found)


def expected_profile(tally: Tally) -> Floats:
    """Return the expected means along the risk profile; NaN for r ≤ −1."""
    return _values(tally, R)


def expected_band(tally: Tally) -> tuple[Floats, Floats]:
    """Return where the reported means of calibrated forecasts would lie along the risk profile; NaN below r = −½."""
    return _band(tally, R, _values(tally, R))


def _values(tally: Tally, r: Floats) -> Floats:
    rows = _few_rows(tally)
    found = means_of(tally.pooled, tally.grid.edges, r, tally.sums.weight, rows.matrix if tally.grid.coarse else None)
    return np.where(r > -1.0, found, np.nan)


def _band(tally: Tally, r: Floats, expected: Floats) -> tuple[Floats, Floats]:
    claimed, spread = r >= LEAST_R, np.full(len(r), np.nan)
    spread[claimed] = _spread(tally, r[claimed])
    return band(expected, spread, r, tally.sums.n_eff, quantile(tally.plan.level))


def _spread(tally: Tally, r: Floats) -> Floats:
    rows = _few_rows(tally)
    return row_spread(rows.matrix, rows.mass, r)


def _few_rows(tally: Tally, entries: int = MOST_ENTRIES) -> Forecasts:
    return tally.rows.take(slice(max(1, entries // tally.k))) if not tally.on_cells else tally.rows
