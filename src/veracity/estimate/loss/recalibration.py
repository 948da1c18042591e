"""One cross-validation of every recalibration: the gain each gives on cases it was not fitted to.

It serves the calibration loss (a linear pool of all maps), the adjustment loss, the remedies and the verdict. Every map
bounds the calibration loss from below, so the gain of the pool is stated as "at least".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from veracity import calibrators
from veracity.calibrators.coherent import Coherent
from veracity.estimate.loss.folds import Folds, folds
from veracity.estimate.loss.linear_pool import pool_weights
from veracity.estimate.means.scores import FEWEST
from veracity.formulas.differences import normal_cluster_error
from veracity.formulas.rules import ScoringRule
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts
from veracity.inputs.content import Hashes
from veracity.progress import tracked
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.types import Array

Rule = str | float | ScoringRule

MOST_ROWS, MOST_ENTRIES = 20_000, 1_000_000  # that a map is fitted on
COHERENT_ENTRIES = 100_000  # that an adjustment coherent with another r than 0 and 1 is fitted on
SOFT_ENTRIES = 4_000_000  # of rows with ideal probabilities, one for each class
MANY_CLASSES = 100  # beyond, only maps of few numbers
ROWS_PER_NUMBER = 20  # a map with more numbers than rows / 20 is not tried
REPEATED = 10  # cases of a distinct forecast, times classes, from which its own frequencies can be counted

PRIOR = "multiplicative"  # the prior correction: stage A of the log loss
NUMBERS: dict[str, Callable[[int], int]] = {  # how many numbers a map of k classes has
    "identity": lambda k: 0,
    "prior": lambda k: 0,  # always in the pool: it keeps probabilities above 0
    "temperature": lambda k: 1,
    "platt": lambda k: 2,
    "beta": lambda k: 3,
    "multiplicative": lambda k: k - 1,
    "vector": lambda k: 2 * k,
    "smoothed_isotonic": lambda k: 5 if k == 2 else 5 * k,
    "smoothed_bins": lambda k: 5,
    "matrix": lambda k: k * (k + 1) // 2,  # half: the pull towards a simpler map does the rest
    "confusion": lambda k: k * (k - 1) // 2,
    "tempered_confusion": lambda k: k * (k - 1) // 2 + 1,
    "smoothed_grouped": lambda k: 0,  # only where each distinct forecast has enough cases
}
OF_TWO = ("identity", "prior", "platt", "beta", "smoothed_isotonic", "smoothed_bins", "multiplicative")
OF_MORE = (
    *("identity", "prior", "temperature", "vector", "matrix", "smoothed_isotonic", "confusion", "tempered_confusion"),
    "multiplicative",
)
OF_MANY = ("identity", "prior", "temperature", "multiplicative")
CHEAP = ("identity", "prior", "temperature", "multiplicative", "smoothed_grouped")  # fitted on all analysis rows
NO_FREQUENCIES = "only the pick is known: there are no class frequencies to match"


@dataclass(frozen=True, eq=False)
class Recalibration:
    """Maps fitted without each fold, their linear pool, and what they gain.

    rows      the rows judged
    folds     entries (row, fold, copies)
    members   names of the maps of the pool
    fitted    by fold: the members fitted without it
    realised  (entries, members) probability that each member gave to the outcome
    weights   (folds, members) of the pool, from the entries of the other folds
    findings  maps that were not tried, and why
    exclude   maps that make no sense for these rows
    exact     whether stage C is the mean of given ideals over equal forecasts, and stage A is fitted to all rows
    """

    rows: Forecasts
    folds: Folds
    members: tuple[str, ...]
    fitted: dict[int, tuple[calibrators.Fitted, ...]]
    realised: Array
    weights: Array
    findings: tuple[Finding, ...] = ()
    exclude: tuple[str, ...] = ()
    exact: bool = False
    _held: dict[Any, Array] = field(default_factory=dict, repr=False)

    @property
    def outcomes(self) -> Array:
        """(entries,) outcome of each entry."""
        return np.asarray(self.rows.observed[self.folds.row])

    @cached_property
    def mass(self) -> Array:
        """(entries,) weight times number of cases."""
        weight = 1.0 if self.rows.weights is None else self.rows.weights[self.folds.row]
        return np.asarray(self.folds.copies * weight, dtype=np.float64)

    def _by_fold(self, mapped: Callable[[int, Array], Array]) -> Array:
        """Return (entries, k) rows of each fold mapped by `mapped(fold, rows)`."""
        out = np.empty((len(self.folds.row), self.rows.k))
        matrix = self.rows.matrix
        for fold in self.fitted:
            here = np.flatnonzero(self.folds.fold == fold)
            out[here] = mapped(fold, matrix[self.folds.row[here]])
        return out

    @cached_property
    def calibrated(self) -> Array:
        """(entries, k) the pool's forecast of each entry, fitted without its fold: stage C."""
        return self._by_fold(self._pooled)

    def _pooled(self, fold: int, p: Array) -> Array:
        out = np.zeros(p.shape)
        for weight, fitted in zip(self.weights[fold], self.fitted[fold], strict=True):
            if weight > 1e-12:
                out += weight * fitted(p)
        out /= out.sum(axis=1, keepdims=True)
        return out

    def mapped(self, fold: int, p: Array, stage: str, rule: Rule = "log") -> Array:
        """Return rows as stage A or C that was fitted without the fold."""
        if stage in self.members:
            return self.fitted[fold][self.members.index(stage)](p)
        return self._pooled(fold, p) if stage == "C" else self._adjustments(rule_of(rule))[fold](p)

    def part(self, chosen: Array | None) -> Recalibration:
        """Return the same fits, judged on some rows only; None is all."""
        if chosen is None:
            return self
        index = np.flatnonzero(chosen)
        number = np.full(len(self.rows), -1)
        number[index] = np.arange(len(index))
        kept = np.flatnonzero(chosen[self.folds.row])
        split = Folds(
            number[self.folds.row[kept]],
            self.folds.fold[kept],
            self.folds.copies[kept],
            None if self.folds.cluster is None else self.folds.cluster[kept],
            self.folds.repeats,
        )
        return replace(self, rows=select(self.rows, index), folds=split, realised=self.realised[kept], _held={})

    def predicted(self, name: str) -> Array:
        """Return (entries, k) forecasts of one member, fitted without the entry's fold."""
        place = self.members.index(name)
        return self._by_fold(lambda fold, p: self.fitted[fold][place](p))

    @cached_property
    def with_ideal(self) -> Recalibration | None:
        """The cross-validation with given ideal probabilities as soft outcomes; None where none are given.

        Where forecasts repeat, the ideal tells what they are worth without outcomes, and nothing is cross-fitted: then
        the losses are those of KF15's exact chain.
        """
        if self.rows.ideal is None:
            return None
        soft = recalibration(soft_rows(self.rows), exclude=self.exclude)
        if soft is None or not repeated(self.rows, self.rows.forecast_hashes):
            return soft
        maps = tuple(calibrators.fit(name, soft.rows) for name in ("identity", "grouped"))
        entry = np.arange(len(soft.folds.row))
        realised = np.column_stack([one(soft.rows.matrix)[soft.folds.row][entry, soft.outcomes] for one in maps])
        weights = np.tile([0.0, 1.0], (len(soft.weights), 1))
        fitted = dict.fromkeys(soft.fitted, maps)
        names = ("identity", "grouped")
        return replace(soft, members=names, fitted=fitted, realised=realised, weights=weights, exact=True, _held={})

    @property
    def why_not_adjusted(self) -> str | None:
        """Why no adjustment to the class frequencies is tried, if none is."""
        if PRIOR in self.exclude:
            return NO_FREQUENCIES
        needed = ROWS_PER_NUMBER * NUMBERS[PRIOR](self.rows.k)
        if needed > calibrators.effective_rows(self.rows):
            return f"too few cases for the frequencies of {self.rows.k:,} classes (from {needed:,})"
        return None

    @property
    def corrects_prior(self) -> bool:
        """Whether the prior correction, stage A of the log loss, is one of the maps and has cases enough."""
        return PRIOR in self.members and self.why_not_adjusted is None

    def adjusted(self, rule: Rule) -> Array | None:
        """Return (entries, k) rows with the class frequencies of the other folds, coherent with the rule: stage A.

        None where there are too few cases, or where zeros among the forecasts rule the frequencies out.
        """
        adjustments = self._adjustments(rule_of(rule))
        if all(fitted.name == "identity" for fitted in adjustments.values()):
            return None
        return self._by_fold(lambda fold, p: adjustments[fold](p))

    def _adjustments(self, rule: ScoringRule) -> dict[int, calibrators.Fitted]:
        """Return the adjustment fitted without each fold; none where there are too few cases."""
        name, parameters = calibrators.adjustment(rule)
        options: dict[str, Any] = {**parameters}
        if self.why_not_adjusted or (name == "coherent" and self.rows.k > MANY_CLASSES):
            return {}
        few = None if name != "coherent" else fit_rows(self.rows.forecast_hashes, self.rows.k, COHERENT_ENTRIES)
        adjustments: dict[int, calibrators.Fitted] = {}
        for fold in self.fitted:
            if name in self.members:
                adjustments[fold] = self.fitted[fold][self.members.index(name)]
            else:
                rest = self.rows if self.exact else _without(self.rows, self.folds, fold, few)
                adjustments[fold] = adjusted_to_outcomes(name, rest, **options) or calibrators.fit("identity", rest)
                if isinstance(shifted := adjustments[fold], Coherent):
                    options["start"] = shifted.shift  # near that of the next fold
        return adjustments

    def scores(self, rule: Rule, stage: str = "C") -> Array | None:
        """Return (entries,) score of stage S, A or C, or of the member of that name; None where there is no stage A."""
        rule = rule_of(rule)
        key = (rule.key, stage)
        if key not in self._held:
            scores = self._scores(rule, stage)
            if scores is None:
                return None
            self._held[key] = scores
        return self._held[key]

    def _scores(self, rule: ScoringRule, stage: str) -> Array | None:
        rows = self.rows
        if stage in ("S", "identity"):
            if rule.key == "log" and rows.log_realised is not None:
                return -rows.log_realised[self.folds.row]
            return np.asarray(rule.score(rows.matrix, rows.observed))[self.folds.row]
        if rule.key == "log" and stage != "A":
            with np.errstate(divide="ignore"):
                if stage != "C":
                    return np.asarray(-np.log(self.realised[:, self.members.index(stage)]))
                pooled = np.einsum("ij,ij->i", self.realised, self.weights[self.folds.fold])
                return np.asarray(-np.log(pooled))
        if stage == "A":
            adjusted = self.adjusted(rule)
            return None if adjusted is None else np.asarray(rule.score(adjusted, self.outcomes))
        predicted = self.calibrated if stage == "C" else self.predicted(stage)
        return np.asarray(rule.score(predicted, self.outcomes))

    def gains(self, rule: Rule, stage: str = "C") -> Array | None:
        """Return (entries,) score of the forecasts less that of a stage or member; 0 for ∞ − ∞."""
        after = self.scores(rule, stage)
        before = self.scores(rule, "S")
        if after is None or before is None:
            return None
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(before) & np.isinf(after), 0.0, before - after)

    def gains_by_class(self, rule: Rule, stage: str = "C") -> dict[str, float]:
        """Return the total gain of the cases of each class."""
        gains = self.gains(rule, stage)
        if gains is None or not np.isfinite(gains).all():
            return {}
        sums = np.bincount(self.outcomes, weights=gains * self.mass, minlength=self.rows.k)
        return dict(zip(map(str, self.rows.classes), sums.tolist(), strict=True))

    def gain(self, rule: Rule, stage: str = "C") -> tuple[float, float]:
        """Return the mean gain and its standard error: nan where few outcomes decide, both where there is no stage."""
        gains = self.gains(rule, stage)
        if gains is None:
            return np.nan, np.nan
        mean, error = self.mean(gains)
        return mean, np.nan if self.few_misses else error

    @cached_property
    def few_misses(self) -> bool:
        """Whether too few outcomes were surprises: almost any correction gains where none happens to be one."""
        realised = self.realised[:, self.members.index("identity")]
        return bool(self.folds.copies[realised <= 0.5].sum() < FEWEST)

    def mean(self, values: Array) -> tuple[float, float]:
        """Return the weighted mean of values of the entries and its standard error; infinite values have none."""
        shares = self.mass / self.mass.sum()
        with np.errstate(invalid="ignore"):
            mean = float(shares @ values)
        if not np.isfinite(mean):
            return mean, np.nan
        influence = shares * (values - mean)
        if self.folds.cluster is None:
            with np.errstate(over="ignore"):  # of r < 0 and outcomes that were next to impossible
                return mean, float(np.sqrt((influence**2 / self.folds.copies).sum()))
        number, at = np.unique(self.folds.cluster, return_index=True)
        sums = np.bincount(self.folds.cluster, weights=influence)[number]
        if self.folds.repeats:
            sums = sums / np.sqrt(self.folds.copies[at])
        return mean, float(normal_cluster_error(sums)[0])


def recalibration(
    rows: Forecasts, *, clusters: Array | None = None, time: Array | None = None, exclude: tuple[str, ...] = ()
) -> Recalibration | None:
    """Return the cross-validation of all recalibrations; None where fewer than two folds hold cases.

    clusters  (n,) rows with one value depend on each other and stay in one fold
    time      (n,) when each case took place: the folds are contiguous
    exclude   names of maps to leave out, such as "multiplicative" where only the pick is known
    """
    hashes = rows.forecast_hashes
    split = folds(rows, rows.row_hashes, clusters, time)
    if len(split.used) < 2:
        return None
    few = fit_rows(hashes, rows.k)
    members, findings = members_of(rows, hashes, few)
    members = tuple(name for name in members if name not in exclude)
    fitted: dict[int, tuple[calibrators.Fitted, ...]] = {}
    realised = np.empty((len(split.row), len(members)))
    matrix, outcomes = rows.matrix, rows.observed
    for fold in tracked("recalibrating", split.used, len(split.used)):
        every = _without(rows, split, fold)
        some = every if few is None else _without(rows, split, fold, few)
        fitted[fold] = tuple(fit_member(name, every if name in CHEAP else some) for name in members)
        here = np.flatnonzero(split.fold == fold)
        row = split.row[here]
        p, y = matrix[row], outcomes[row]
        for place, member in enumerate(fitted[fold]):
            realised[here, place] = member(p)[np.arange(len(y)), y]
    validation = Recalibration(rows, split, members, fitted, realised, np.empty((0, 0)), findings, exclude)
    squares = float((validation.mass**2 / split.copies).sum())
    cases = validation.mass * (validation.mass.sum() / squares)
    weights = pool_weights(realised, split.fold, cases, members)
    if validation.few_misses:
        findings += (of_results.FewMisses(fewest=FEWEST),)
    return replace(validation, weights=weights, findings=findings)


def members_of(rows: Forecasts, hashes: Hashes, few: Array | None) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Return the maps of the pool, and a finding about those that were not tried."""
    k = rows.k
    names = OF_TWO if k == 2 else OF_MORE if k <= MANY_CLASSES else OF_MANY
    all_rows = calibrators.effective_rows(rows)
    some = all_rows if few is None else calibrators.effective_rows(select(rows, few))
    tried: list[str] = []
    hopeless: dict[str, int] = {}  # the cases that each would need
    for name in names:
        needed = ROWS_PER_NUMBER * NUMBERS[name](k)
        if needed <= (all_rows if name in CHEAP else some):
            tried.append(name)
        else:
            hopeless[calibrators.label(name)] = needed
    if repeated(rows, hashes):
        tried.append("smoothed_grouped")
    if not hopeless:
        return tuple(tried), ()
    finding = of_results.TooFewForMaps(len(hopeless), maps=tuple(hopeless), needed=tuple(hopeless.values()))
    return tuple(tried), (finding,)


def repeated(rows: Forecasts, hashes: Hashes) -> bool:
    """Return whether distinct forecasts have 10·k cases each on average."""
    return rows.k <= MANY_CLASSES and len(np.unique(hashes)) * REPEATED * rows.k <= int(rows.copies.sum())


def fit_rows(hashes: Hashes, k: int, entries: int = MOST_ENTRIES) -> Array | None:
    """Return (n,) which rows maps are fitted on; None for all. Whole forecasts, those with the smallest hashes."""
    most = min(MOST_ROWS, max(1, entries // k))
    if len(hashes) <= most:
        return None
    limit = np.partition(hashes, most)[most]
    chosen = hashes < limit
    return np.asarray(chosen if chosen.any() else hashes <= limit)


def select(rows: Forecasts, index: Array, counts: Array | None = None) -> Forecasts:
    """Return some rows with what maps need; `counts` replaces the counts of all rows."""
    counts = rows.counts if counts is None else counts
    return Forecasts(
        rows.scores[index],
        rows.observed[index],
        rows.classes,
        weights=None if rows.weights is None else rows.weights[index],
        counts=None if counts is None else counts[index],
        log_realised=None if rows.log_realised is None else rows.log_realised[index],
    )


def soft_rows(rows: Forecasts) -> Forecasts:
    """Return a row for every class that the ideal gives probability, with that probability as weight, as one case.

    Cases with the same forecast, ideal and weight are one, with a count.
    """
    hashes = rows.forecast_hashes
    chosen = fit_rows(hashes, rows.k * rows.k, SOFT_ENTRIES)
    index = np.arange(len(rows)) if chosen is None else np.flatnonzero(chosen)
    ideal = np.asarray(rows.ideal_matrix)[index]
    columns = [hashes[index], *ideal.T, *([] if rows.weights is None else [rows.weights[index]])]
    order = np.lexsort(columns[::-1])
    first = np.flatnonzero(np.append(True, np.any([x[order][1:] != x[order][:-1] for x in columns], axis=0)))
    counts = np.zeros(len(rows), np.int64)
    counts[index[order[first]]] = np.add.reduceat(rows.copies[index][order], first)
    index, ideal = index[order[first]], ideal[order[first]]
    at, outcome = np.nonzero(ideal > 0.0)
    part = select(rows, index[at], counts)
    weight = ideal[at, outcome] * (1.0 if part.weights is None else part.weights)
    return replace(part, outcomes=outcome, weights=weight, case=at, log_realised=None)


def _without(rows: Forecasts, split: Folds, fold: int, chosen: Array | None = None) -> Forecasts:
    """Return the cases of the other folds, or of the chosen rows among them."""
    others = split.fold != fold
    counts = np.bincount(split.row[others], weights=split.copies[others], minlength=len(rows)).astype(np.int64)
    kept = counts > 0 if chosen is None else (counts > 0) & chosen
    return select(rows, np.flatnonzero(kept), counts)


def fit_member(name: str, rows: Forecasts) -> calibrators.Fitted:
    if name == "multiplicative":
        return adjusted_to_outcomes(name, rows) or calibrators.fit("identity", rows)
    return calibrators.fit(name, rows)


def adjusted_to_outcomes(name: str, rows: Forecasts, **options: Any) -> calibrators.Fitted | None:
    """Return the adjustment to the class frequencies of the outcomes; None where zeros among forecasts rule it out.

    A class that is missing from these rows is not ruled out by that: then frequencies have one more row shared by all.
    """
    target = rows.prior
    if (target == 0.0).any():
        target = calibrators.fit("prior", rows).frequencies  # type: ignore[attr-defined]
    try:
        return calibrators.fit(name, rows, target=target, **options)
    except calibrators.InfeasibleTarget:
        return None
