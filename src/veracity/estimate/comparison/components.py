"""Values of single cases whose means are the components of a loss, so that components can be compared pair by pair.

Fits are held fixed: a case is judged by the recalibrations of its model that were fitted without its fold. Cases that
took part in no fit are judged by any of them.
"""

from __future__ import annotations

import numpy as np

from veracity import calibrators
from veracity.estimate.calibration.residuals import Many, Two, cases_of, ranges_of
from veracity.estimate.calibration.slope import PER_CLASS, RIDGE, fit
from veracity.estimate.calibration.verdict import TINY, spread_zeros
from veracity.estimate.comparison.compare import NORMAL
from veracity.estimate.comparison.paired import score_of
from veracity.estimate.loss.recalibration import NUMBERS, Recalibration
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.inputs.content import Hashes, forecast_hashes, row_hashes
from veracity.kernels.hashes import SEED, mix
from veracity.types import Array, Floats

NAMES = ("CL", "AL", "RL", "slope")
NO_FOLDS = "too few cases for a cross-validation"
ONE_CLASS = "only one class was observed"


def components(rows: Forecasts, validation: Recalibration | None, rule: str | float = "log") -> dict[str, Floats | str]:
    """Return (n,) values of the rows by component, or the reason for their absence."""
    values: dict[str, Floats | str] = dict.fromkeys(("CL", "AL", "RL"), NO_FOLDS)
    if validation is not None:
        judged = Judge(validation).of(rows)
        (before, after), adjusted = judged.before_and_after(rule), judged.scores(rule, "A")
        with np.errstate(invalid="ignore"):
            values |= {"CL": before - after, "RL": after}
            no_frequencies = validation.why_not_adjusted or "the class frequencies cannot be matched"
            values["AL"] = no_frequencies if adjusted is None else before - adjusted
    return values | {"slope": slope_values(rows)}


def shortfall(validation: Recalibration | None, upper: float | None = None) -> dict[str, tuple[float, float]]:
    """Return by how much the cross-validated CL and AL fall short of the truth, and by how much more they may at 95 %.

    A maximum-likelihood fit of m numbers to n cases loses about m/2n in log loss on others; folds fit four fifths of
    the cases, and the numbers of a pool are those of its maps, by their weights. Where the pool stays near the
    forecasts for want of evidence its gains hardly vary: `upper` is the 97.5 % bound on CL that the verdict has.
    Clusters tell a fit less than as many independent cases, by the design effect of the residuals.
    """
    if validation is None:
        return {"CL": (0.0, 0.0), "AL": (0.0, 0.0)}
    effective = max(calibrators.effective_rows(validation.rows) / _design_effect(validation), 1.0)
    cases = 2.0 * (1.0 - 1.0 / len(validation.folds.used)) * effective
    k = validation.rows.k
    numbers = np.array([NUMBERS[name](k) for name in validation.members], dtype=np.float64)
    weights = validation.weights[validation.folds.used].mean(axis=0)
    gain, error = validation.gain("log")
    more = 0.0
    if upper is not None and np.isfinite([gain, error]).all():
        more = float(np.sqrt(max((upper - gain) ** 2 - (NORMAL * error) ** 2, 0.0))) if upper > gain else 0.0
    return {"CL": (float(weights @ numbers) / cases, more), "AL": ((k - 1.0) / cases, 0.0)}


def _design_effect(validation: Recalibration) -> float:
    """Return Σ_g |Σ_{i∈g} r_i|²/Σ_i |r_i|² of residuals r = outcome − forecast in clusters or blocks, at least 1."""
    if validation.folds.cluster is None:
        return 1.0
    residual = -validation.rows.matrix[validation.folds.row] * validation.mass[:, None]
    residual[np.arange(len(residual)), validation.outcomes] += validation.mass
    order = np.argsort(validation.folds.cluster, kind="stable")
    first = np.unique(validation.folds.cluster[order], return_index=True)[1]
    sums = np.add.reduceat(residual[order], first, axis=0)
    alone = float((residual**2 / validation.folds.copies[:, None]).sum())
    return max(float((sums**2).sum()) / alone, 1.0) if alone > 0.0 else 1.0


class Judge:
    """The cross-validation of a model, by which other rows are judged; what does not depend on these is kept."""

    def __init__(self, validation: Recalibration) -> None:
        self.found, self.classes = validation, validation.rows.class_keys
        contents = content(validation.rows, validation.rows.row_hashes)
        self.content, self._place = np.unique(contents, return_inverse=True)  # of rows that are the same one
        self._scores: dict[tuple[str | float, str], Floats | None] = {}

    def of(self, rows: Forecasts) -> Judged:
        return Judged(rows, self)

    def scores(self, rule: str | float, stage: str) -> Floats | None:
        """Return the mean score of each `content` of the cross-validation at stage A or C; None without stage A."""
        if (rule, stage) not in self._scores:
            folds, entries, number = self.found.folds, self.found.scores(rule, stage), len(self.content)
            place = self._place[folds.row]
            copies = np.bincount(place, weights=folds.copies, minlength=number)
            with np.errstate(invalid="ignore"):
                sums = None if entries is None else np.bincount(place, entries * folds.copies, number)
                self._scores[rule, stage] = None if sums is None else sums / np.maximum(copies, 1.0)
        return self._scores[rule, stage]


class Judged:
    """Rows of compared cases, judged by maps that were fitted without them."""

    def __init__(self, rows: Forecasts, judge: Judge) -> None:
        self.rows, self.judge, self.found = rows, judge, judge.found
        hashes = row_hashes(rows, forecast_hashes(rows, judge.classes), judge.classes)
        own, theirs = content(rows, hashes), judge.content
        self.match = np.minimum(np.searchsorted(theirs, own), len(theirs) - 1)
        self.known = theirs[self.match] == own  # rows that the folds hold
        used = np.array(self.found.folds.used)
        key = hashes if rows.case is None or rows.case.dtype != np.uint64 else rows.case
        self.fold = used[(mix(key) >> np.uint64(33)).astype(np.int64) % len(used)]

    def before_and_after(self, rule: str | float) -> tuple[Floats, Floats]:
        """Return (n,) scores of the stages S and C."""
        return self.scores(rule, "S"), self.scores(rule, "C")  # type: ignore[return-value]

    def scores(self, rule: str | float, stage: str) -> Floats | None:
        """Return (n,) score of stage S, A or C; None where there is no stage A."""
        if stage == "S":
            return score_of(self.rows, str(rule))
        scores = self.judge.scores(rule, stage)
        if scores is None:
            return None
        values: Floats = scores[self.match]
        others = np.flatnonzero(~self.known)
        if len(others):
            values[others] = self._applied(rule, stage, others)
        return values

    def _applied(self, rule: str | float, stage: str, rows: Array) -> Floats:
        validation, matrix = self.found, self.rows.matrix
        out = np.empty(len(rows))
        for fold in validation.fitted:
            here = np.flatnonzero(self.fold[rows] == fold)
            if len(here):
                chosen = rows[here]
                mapped = validation.mapped(fold, matrix[chosen], stage, rule)
                out[here] = rule_of(rule).score(mapped, self.rows.observed[chosen])
        return out


def content(rows: Forecasts, key: Hashes) -> Hashes:
    """Return (n,) 64 bits of all that tells rows apart: forecast, outcome and weight (`key`), cluster and time."""
    for column in (rows.clusters, rows.time):
        if column is not None:
            bits = column if column.dtype == np.uint64 else (column.astype(np.float64) + 0.0).view(np.uint64)
            key = mix(key * SEED ^ bits)
    return key


def slope_values(rows: Forecasts) -> Floats | str:
    """Return (n,) values whose weighted mean is the slope b, each off by its influence; or why there are none."""
    p, y = np.asarray(rows.probabilities, dtype=np.float64), rows.observed
    if len(np.unique(y)) < 2:
        return ONE_CLASS
    weight = np.ones(len(y)) if rows.weights is None else rows.weights
    count = rows.copies.astype(np.float64)
    if rows.k == 2:
        p = rows.positive
        p = np.where((p > 0.0) & (p < 1.0), np.clip(p, TINY, 1.0 - TINY), p)
    if (rows.realised <= 0.0).any():
        p = spread_zeros(p, int(count.sum()))
    p, cases = cases_of(p, y.astype(np.int64), count, weight, None, ranges_of(p), np.arange(len(y)))
    cases, k = cases.for_fit(p), cases.levels
    several = k == 1 or cases.n >= PER_CLASS * k
    fitted = fit(cases, p, level=several, scalar=True)
    if k not in fitted.free:
        return "the forecasts do not vary, so they have no calibration slope"
    influence = _influences(cases, fitted.p, fitted.free)
    b = 1.0 + float(fitted.theta[k])
    mass = cases.mass
    return np.asarray(b + (influence / mass) * mass.sum() - influence.sum())


def _influences(cases: Two | Many, fitted: Floats, free: Array) -> Floats:
    """Return (n,) what each row adds to the estimate of b: its residuals times a row of the inverse information."""
    k = cases.levels
    bend = cases.covariance(fitted, cases.mass, free) + RIDGE * np.eye(len(free))
    target = np.zeros(len(free))
    target[list(free).index(k)] = 1.0
    direction = np.zeros(k + 1)
    direction[free] = np.linalg.solve(bend, target)
    if isinstance(cases, Two):
        residual = (cases.y - fitted) * (direction[0] + direction[1] * cases.x)
    else:
        weights = direction[:k] + direction[k] * cases.x
        residual = weights[cases.at_outcome] - np.einsum("ij,ij->i", fitted, weights)
    return np.asarray(cases.mass * residual)
