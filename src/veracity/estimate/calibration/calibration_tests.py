"""The calibration tests: residuals of the outcomes beside those of outcomes drawn from the forecasts themselves.

Random signs of dependent blocks take their sums to be symmetric. With few events they are not: few events happen to
mean a small spread too, so that calibrated forecasts look too high (40 clusters, 20 events: 13 % rejected). There each
p-value is the larger of that of the signs and that of outcomes drawn one by one, whose residuals are widened by the
dispersion of the blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from veracity.estimate.calibration.residuals import DRAWS, Many, Two, normal, starts_of
from veracity.estimate.calibration.slope import explained
from veracity.types import Floats

ALPHA = 0.05
WEIGHTS_OF_TWO = {"level": 0.2, "confidence": 0.3, "curvature": 0.3, "shape": 0.2}
WEIGHTS = {"level": 0.3, "confidence": 0.3, "shape": 0.2, "joint": 0.2}
PICK_WEIGHTS = {"confidence": 0.8, "shape": 0.2}
ALL_SIGNS = 12  # so many blocks have few enough signs to take them all
MOST_BLOCKS = 4096  # beyond, sums with random signs are normal
EVENTS = 100  # expected events below which signs of blocks are approximate


@dataclass(frozen=True, eq=False)
class Tests:
    """Sums of residuals, their variances under the forecasts, and the same sums of drawn outcomes, with what they say.

    complete  whether the draws are all that there can be, the outcomes themselves first
    p         p-value of each test: level, confidence, shape, curvature or joint
    together  p-value of the smallest of them, each in units of its weight, over the same draws
    slope     p-value and sign of the confidence that the level does not explain
    bend      p-value and sign of the curvature that level and slope do not explain (two classes)
    """

    cases: Two | Many
    residuals: Floats
    variances: Floats
    draws: Floats
    complete: bool
    p: Mapping[str, float]
    together: float
    slope: tuple[float, float]
    bend: tuple[float, float]

    def z(self, columns: slice) -> Floats:
        """Return residuals over their errors, (V + 1)^½."""
        return np.asarray(self.residuals[columns] / np.sqrt(self.variances[columns] + 1.0))

    def largest(self, columns: slice) -> float:
        """Return the 95 % quantile of the largest |z| of the draws."""
        drawn = np.abs(self.draws[:, columns] / np.sqrt(self.variances[columns] + 1.0))
        return float(np.quantile(drawn.max(axis=1), 1.0 - ALPHA)) * (1.0 + 1e-9)


def run_tests(cases: Two | Many, p: Floats, seed: int, picks: bool = False) -> Tests:
    """Return the tests at the forecasts p."""
    draws, complete = null(cases, p, np.random.default_rng(seed))
    tests = _compared(cases, p, draws, complete, picks)
    if not (isinstance(cases, Two) and few_events(cases, p)):
        return tests
    other = _compared(cases, p, dispersed(cases, p, np.random.default_rng([seed, 1])), False, picks)
    return replace(
        tests,
        p={name: max(value, other.p[name]) for name, value in tests.p.items()},
        together=max(tests.together, other.together),
        slope=(max(tests.slope[0], other.slope[0]), tests.slope[1]),
        bend=(max(tests.bend[0], other.bend[0]), tests.bend[1]),
    )


def few_events(cases: Two | Many, p: Floats) -> bool:
    """Return whether so few events are expected of clusters or blocks of time that their signs are approximate."""
    rare = cases.n - float(cases.mass @ (np.maximum(p, 1.0 - p) if p.ndim == 1 else p.max(axis=1)))
    return cases.block is not None and rare < EVENTS


def dispersed(cases: Two, p: Floats, rng: np.random.Generator) -> Floats:
    """Return residuals of outcomes drawn from the forecasts, widened where those of blocks vary by more.

    The dispersion is that of the sums of blocks about their common excess, over their variance at the frequency that
    was observed: events that are fewer than expected have a smaller variance, and do not make the test sharper.
    """
    assert cases.block is not None
    sums, spread = cases.residuals_by_block(p), cases.mass2 * p * (1.0 - p)
    share = np.add.reduceat(spread, starts_of(cases.block)) / max(spread.sum(), 1e-300)
    apart = sums - np.outer(share, sums.sum(axis=0))
    expected = float(cases.mass @ np.minimum(p, 1.0 - p))
    observed = float(cases.mass @ np.where(p <= 0.5, cases.y, 1 - cases.y))
    fewer = min((observed + 0.5) / (expected + 0.5), 1.0)
    variance = np.maximum(fewer * cases.variances(p), 1e-12)
    return np.asarray(cases.draws(p, rng) * np.sqrt(np.maximum((apart**2).sum(axis=0) / variance, 1.0)))


def _compared(cases: Two | Many, p: Floats, draws: Floats, complete: bool, picks: bool) -> Tests:
    """Return the tests of the outcomes beside these draws."""
    k, last = cases.levels, cases.beyond
    residuals, variances = cases.residuals(p), cases.variances(p)
    if isinstance(cases, Many):
        residuals = np.append(residuals, cases.joint(p).observed(cases.y, cases.mass, residuals[:k]))
    sums = draws if complete else np.vstack([residuals, draws])  # those of the outcomes first

    def of_squares(columns: slice) -> Floats:
        return np.asarray(np.einsum("ij,ij,j->i", sums[:, columns], sums[:, columns], 1.0 / (variances[columns] + 1.0)))

    free = _directions(cases, p, (0,) if picks else (0, 1, last) if k == 1 else ())
    scalar = sums[:, 0 if picks else k]
    statistics = {"confidence": np.abs(scalar), "shape": of_squares(slice(k + 1, last))}
    if not picks:
        statistics["level"] = of_squares(slice(k))
    bend = np.zeros(len(sums))
    if k == 1 and not picks:
        parts = sums[:, [0, 1, last]] @ free.T
        statistics["curvature"] = np.einsum("ij,ij->i", parts, parts)
        bend = parts[:, -1]
        scalar = scalar - sums[:, 0] * _share(cases.covariance(p, cases.mass2, np.arange(2)))
    elif k > 1:
        statistics["joint"] = np.einsum("ij,ij->i", sums[:, last:], sums[:, last:])
        scalar = scalar - sums[:, :k] @ explained(cases.covariance(p, cases.mass2, np.arange(k + 1)), k)
    if variances[0 if picks else k] < 1e-9:  # every forecast is certain: only rounding is left
        statistics["confidence"][:] = scalar[:] = 0.0
    weights = PICK_WEIGHTS if picks else WEIGHTS_OF_TWO if k == 1 else WEIGHTS
    by_draw = {name: p_values(statistic) for name, statistic in statistics.items()}
    smallest = np.min([by_draw[name] / weight for name, weight in weights.items()], axis=0)
    return Tests(
        cases,
        residuals,
        variances,
        draws,
        complete,
        p={name: float(values[0]) for name, values in by_draw.items()},
        together=float(p_values(-smallest)[0]),
        slope=(float(p_values(np.abs(scalar))[0]), float(np.sign(scalar[0]))),
        bend=(float(p_values(np.abs(bend))[0]), float(np.sign(bend[0]))),
    )


def p_values(statistic: Floats) -> Floats:
    """Return for each draw the share of draws, itself among them, whose statistic is at least as large."""
    ordered = np.sort(statistic)
    limit = statistic - 1e-9 * np.abs(statistic) - 1e-12
    return np.asarray(1.0 - np.searchsorted(ordered, limit, side="left") / len(ordered))


def _directions(cases: Two | Many, p: Floats, columns: tuple[int, ...]) -> Floats:
    """Return rows that make these residuals uncorrelated with variance 1, one after another.

    A residual of which less than 1e-9 of its variance is left by those before it has a row of zeros.
    """
    covariance = cases.covariance(p, cases.mass2, np.array(columns, dtype=np.int64)) if columns else np.zeros((0, 0))
    rows = np.zeros(covariance.shape)
    for i in range(len(columns)):
        row = np.eye(len(columns))[i]
        row = row - rows[:i].T @ (rows[:i] @ covariance @ row)
        left = float(row @ covariance @ row)
        rows[i] = row / np.sqrt(left) if left > 1e-9 * covariance[i, i] and left > 1e-9 else 0.0
    return rows


def _share(covariance: Floats) -> float:
    return float(covariance[0, 1] / covariance[0, 0]) if covariance[0, 0] > 0.0 else 0.0


def null(cases: Two | Many, p: Floats, rng: np.random.Generator) -> tuple[Floats, bool]:
    """Return residuals as calibrated forecasts would show them, and whether they are all that there can be.

    Outcomes drawn from the forecasts; of dependent blocks their sums with random signs.
    """
    if cases.block is None:
        return cases.draws(p, rng), False
    sums = cases.residuals_by_block(p)
    if isinstance(cases, Many):
        sums = np.hstack([sums, cases.joint(p).by_block(cases.y, cases.mass, starts_of(cases.block))])
    if len(sums) <= MOST_BLOCKS:
        return signs(len(sums), DRAWS, rng) @ sums, len(sums) <= ALL_SIGNS
    return normal(sums.T @ sums, rng), False


def signs(blocks: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return (draws, blocks) random signs; all that there can be, no change of sign first, of up to twelve blocks."""
    if blocks <= ALL_SIGNS:
        return np.asarray(1.0 - 2.0 * (np.arange(2**blocks)[:, None] >> np.arange(blocks) & 1))
    return np.asarray(1.0 - 2.0 * rng.integers(0, 2, (draws, blocks)))
