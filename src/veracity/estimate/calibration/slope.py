"""How large the miscalibration is: fits of p' ∝ p·exp(a + (b − 1) ln p + c_range), and what they could save.

b is the calibration slope of clinical practice (Cox 1958): below 1 the forecasts are too extreme, above 1 too cautious;
1/b is the temperature. With a alone it is the correction of class frequencies, with b = 1 and two classes calibration
in the large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veracity.estimate.calibration.residuals import RANGES, Many, Two
from veracity.estimate.intervals import around, around_log
from veracity.formulas.differences import noncentrality_bound, normal_cluster_error
from veracity.records.reading import Reading, undefined
from veracity.types import Floats

RIDGE = 0.5  # keeps parameters finite that the outcomes do not bound
MOST_ROWS, MOST_ENTRIES = 20_000, 1_000_000  # rows that are fitted; the fit is applied to all
STEPS, HALVINGS = 25, 12
MOST_FREE = 1200  # parameters of Newton steps; beyond, only the diagonal of the information is used
CONVERGED = 1e-4  # twice the log-likelihood that a Newton step gains: the next one would gain its square
PER_CLASS = 20  # cases per class from which every class has its own level
FEWEST = 10  # cases of each outcome before the slope has an interval


@dataclass(frozen=True, eq=False)
class Fit:
    """Fitted parameters θ (0 where not free), the forecasts that they give, and which are free."""

    theta: Floats
    p: Floats
    free: NDArray[np.intp]

    @property
    def df(self) -> int:
        return len(self.free)


def fit(cases: Two | Many, p: Floats, level: bool = False, scalar: bool = False, ranges: bool = False) -> Fit:
    """Return the penalised maximum-likelihood fit with these parameters free; maximum −½·ridge·θ², by Newton steps.

    They stop as soon as likelihood ratios are known to 1e-4, and serve beyond 1200 parameters with the diagonal alone;
    SciPy's optimisers can do neither.
    """
    k = cases.levels
    most = max(1, min(MOST_ROWS, MOST_ENTRIES // k))
    some, q = (cases, p) if k == 1 or len(p) <= most else (cases.take(slice(most)), p[:most])
    is_free = np.concatenate([np.full(k, level), [scalar], np.full(RANGES, ranges)])
    free = np.flatnonzero(is_free & (some.variances(q)[: len(is_free)] > 1e-9))
    ridge = RIDGE * len(q) / len(p)
    theta, tilted, best = np.zeros(len(is_free)), q, 0.0
    for _ in range(STEPS if len(free) else 0):
        gradient = some.residuals(tilted, ranges)[free] - ridge * theta[free]
        if len(free) > MOST_FREE:
            step = gradient / (some.variances(tilted)[free] + ridge)
        else:
            bend = some.covariance(tilted, some.mass, free) + ridge * np.eye(len(free))
            step = np.asarray(np.linalg.solve(bend, gradient), dtype=np.float64)
        last = gradient @ step < CONVERGED
        for _ in range(HALVINGS):
            tried = theta.copy()
            tried[free] += step
            moved = some.tilted(q, tried)
            value = float(some.mass @ gains(some, q, moved) - ridge / 2 * tried @ tried)
            if value > best:
                break
            step /= 2.0
        else:
            break
        theta, tilted, best = tried, moved, value
        if last:
            break
    return Fit(theta, tilted if some is cases else cases.tilted(p, theta), free)


def gains(cases: Two | Many, p: Floats, better: Floats) -> Floats:
    """Return (m,) ln p'_y − ln p_y of each row."""
    least = 1e-300
    return np.asarray(np.log(np.maximum(cases.realised(better), least)) - np.log(np.maximum(cases.realised(p), least)))


def standard_errors(cases: Two | Many, p: Floats, fitted: Fit) -> Floats:
    """Return the errors of free levels and slope: by information, or by the sums of dependent blocks if larger."""
    information = cases.covariance(fitted.p, cases.mass, fitted.free)
    spread = information if cases.mass2 is cases.mass else cases.covariance(fitted.p, cases.mass2, fitted.free)
    inverse = np.linalg.inv(information + RIDGE * np.eye(fitted.df))
    variance = np.diag(inverse @ spread @ inverse)
    if cases.block is not None:
        sums = cases.residuals_by_block(fitted.p)[:, fitted.free]
        variance = np.maximum(variance, normal_cluster_error(sums @ inverse) ** 2)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def calibration_slope(cases: Two | Many, p: Floats, level: bool, confidence: float) -> Reading:
    """Return b with its interval, fitted together with a if `level`."""
    fitted = fit(cases, p, level=level, scalar=True)
    if cases.levels not in fitted.free or _projected_variance(cases, p, level) < 1e-9:
        return undefined("the forecasts do not vary, so they have no calibration slope")
    if (cases.y == cases.y[0]).all():
        return undefined("only one class was observed, so there is no calibration slope")
    if _projected_variance(cases, fitted.p, level) < RIDGE:  # which then says more of the slope than the cases
        return undefined("the forecasts hardly vary, so these cases do not tell a calibration slope")
    b = 1.0 + float(fitted.theta[cases.levels])
    observed = np.bincount(cases.y, cases.count, 2 if cases.levels == 1 else cases.levels)
    if observed.min() < FEWEST:
        return Reading(b, reason=f"no interval: an outcome occurs fewer than {FEWEST} times")
    error = standard_errors(cases, p, fitted)[list(fitted.free).index(cases.levels)]
    how = "information matrix" if cases.block is None else f"{len(np.unique(cases.block))} clusters or blocks of time"
    return around(b, float(error), confidence, method=f"Cox 1958, {how}")


def _projected_variance(cases: Two | Many, p: Floats, level: bool) -> float:
    """Return the variance of the scalar residual that the level does not explain."""
    k = cases.levels
    if not level:
        return float(cases.variances(p)[k])
    covariance = cases.covariance(p, cases.mass2, np.arange(k + 1))
    direction = np.append(-explained(covariance, k), 1.0)
    return float(direction @ covariance @ direction)


def explained(covariance: Floats, k: int) -> Floats:
    """Return (k,) coefficients of the regression of the scalar residual on those of the level."""
    level = covariance[:k, :k]
    scale = float(np.trace(level)) / k
    if scale <= 0.0:
        return np.zeros(k)
    return np.asarray(np.linalg.solve(level + 1e-9 * scale * np.eye(k), covariance[:k, k]), dtype=np.float64)


def calibration_in_the_large(cases: Two, p: Floats, confidence: float, flipped: bool) -> tuple[Reading, Reading]:
    """Return the intercept at b = 1 and the ratio of expected to observed events; `flipped` means of non-events."""
    fitted = fit(cases, p, level=True)
    events, expected = float(cases.mass @ cases.y), float(cases.mass @ p)
    events, expected = (cases.n - events, cases.n - expected) if flipped else (events, expected)
    if not 0.0 < events < cases.n or not fitted.df:
        nothing = undefined("only one class was observed" if fitted.df else "every forecast is certain")
        return nothing, nothing
    # Outcomes of forecasts that are too extreme vary by more than the fit with slope 1 says: their residuals count too.
    curvature = float(cases.mass @ (fitted.p * (1.0 - fitted.p)))
    of_residuals = float(np.sqrt(cases.mass2 @ (cases.y - fitted.p) ** 2)) / curvature
    error = max(float(standard_errors(cases, p, fitted)[0]), of_residuals)
    y, forecast = (1.0 - cases.y, 1.0 - p) if flipped else (cases.y, p)
    of_ratio = float(np.sqrt(cases.mass2 @ (forecast / expected - y / events) ** 2))
    intercept = around(
        -float(fitted.theta[0]) if flipped else float(fitted.theta[0]), error, confidence, method="logistic, slope 1"
    )
    return intercept, around_log(expected / events, max(error * curvature / events, of_ratio), confidence)


def removable_share(
    cases: Two | Many, p: Floats, level: bool, gain: float | None, gain_error: float | None
) -> tuple[float, float, float]:
    """Return the share of the log loss that recalibration removes: estimate, lower end and upper end.

    The lower end is that of the cross-validated gain. The upper end is the largest of its upper end and of two bounds
    from an in-sample fit of level, slope and ranges with likelihood ratio LR and df effective parameters: the 97.5 %
    bound on the noncentrality of LR, over 2n, and (LR − df)/2n + 1.96 errors. A slope for each class is added to LR by
    one step from 40 cases per class; levels that are not fitted add a bound of their own.
    """
    fitted = fit(cases, p, level=level or cases.levels == 1, scalar=True, ranges=True)
    gained = gains(cases, p, fitted.p)
    loss = -float(cases.mass @ np.log(np.maximum(cases.realised(p), 1e-300))) / cases.n
    if loss <= 0.0:
        return 0.0, 0.0, 0.0
    excess = dependence(cases, p)
    n, ratio = cases.n / excess, max(2.0 * float(cases.mass @ gained), 0.0) / excess
    df = max(_free_parameters(cases, fitted), 1.0)
    if isinstance(cases, Many) and cases.n >= 2 * PER_CLASS * cases.levels:
        more_ratio, more_df = _class_slopes(cases, fitted.p)
        ratio, df = ratio + more_ratio / excess, df + more_df
    error = float(np.sqrt(cases.mass2 @ (gained - cases.mass @ gained / cases.n) ** 2 * excess)) / cases.n
    bounds = [noncentrality_bound(ratio, df) / (2.0 * n), (ratio - df) / (2.0 * n) + 1.96 * error]
    middle, low = max(ratio - df, 0.0) / (2.0 * n), max((ratio - df) / (2.0 * n) - 1.96 * error, 0.0)
    if gain is not None and gain_error is not None and math.isfinite(gain):
        known = math.isfinite(gain_error)  # it is not where few outcomes decide
        bounds += [gain + 1.96 * gain_error] if known else []
        middle, low = max(gain, 0.0), max(gain - 1.96 * gain_error, 0.0) if known else 0.0
    high = max(bounds) + (0.0 if level or cases.levels == 1 else _level_bound(cases, p) / (2.0 * n))
    return min(middle / loss, 1.0), min(low / loss, 1.0), min(high / loss, 1.0)


def _free_parameters(cases: Two | Many, fitted: Fit) -> float:
    """Return the effective number of parameters of a penalised fit, tr H(H + ridge)⁻¹ with the information H."""
    bend = cases.covariance(fitted.p, cases.mass, fitted.free)
    return float(np.trace(np.linalg.solve(bend + RIDGE * np.eye(fitted.df), bend)))


def _class_slopes(cases: Many, p: Floats) -> tuple[float, float]:
    """Return by how much a slope of each class would raise the likelihood ratio of the fit p, and its parameters."""
    score, bend = cases.class_slopes(p)
    penalised = bend + RIDGE * np.eye(len(bend))
    df = float(np.trace(np.linalg.solve(penalised, bend))) - cases.levels  # levels and one slope are fitted already
    return float(score @ np.linalg.solve(penalised, score)), max(df, 0.0)


def _level_bound(cases: Two | Many, p: Floats) -> float:
    """Return a 97.5 % bound on the noncentrality of the level, Σ U²/(V + 1)."""
    k = cases.levels
    u, v = cases.residuals(p)[:k], cases.variances(p)[:k]
    df = float((v / (v + 1.0)).sum())
    return noncentrality_bound(float((u**2 / (v + 1.0)).sum()), max(df, 1.0))


def dependence(cases: Two | Many, p: Floats) -> float:
    """Return by how much the variances of residuals exceed those of independent rows; at least 1."""
    if cases.block is None:
        return 1.0
    sums, variance = cases.residuals_by_block(p), cases.variances(p)
    enough = variance > 1.0
    return max(1.0, float(((sums**2).sum(axis=0)[enough] / variance[enough]).mean())) if enough.any() else 1.0
