"""The loss ladder of a tally: where the loss comes from, and what would remove it.

Fits the maps, builds the chain of stages, and gives every loss with its interval.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity import maps
from veracity.data import Finding, Forecasts
from veracity.data.reading import Reading, around, undefined, unknown
from veracity.estimate.means import NOT_MEASURABLE
from veracity.estimate.scores import frequencies
from veracity.formulas.chain import Chain, corp
from veracity.formulas.rules import ScoringRule
from veracity.formulas.rules import rule as rule_of
from veracity.state.cells import rows_of_two
from veracity.state.sampling import few
from veracity.state.sums import R
from veracity.state.tally import Tally

Floats = NDArray[np.float64]

MOST_ENTRIES = 20_000_000  # of rows looked at again; beyond, cells of two classes or a sample of rows serve
EXACT_ROWS = 1 << 20  # of two classes
MOST_PROFILE_ENTRIES = 4_000_000  # of rows in the profile
PROFILE_ENTRIES = 40_000  # of rows that are adjusted for every r of it
PROFILE_R = R[(R > -0.7) & (np.arange(len(R)) % 3 == 0)]  # −2/3, −1/3, 0, … 2
MANY_CLASSES = 50  # beyond, no isotonic curve for each class
NOT_SEPARABLE = (
    "grouping and irreducible loss cannot be told apart from these inputs: give the ideal probabilities, features, or "
    "repeated outcomes"
)
BOTH_INFINITE = "the difference of two infinite losses"
RULED_OUT = "what happened had been ruled out in some rows: no interval"
EXPLAINED = 0.1  # of the log loss may be left over by the ladder
LOSSES = ("L", "AL", "PCL", "CL", "GL", "IL", "EL", "PEL", "RL", "PL", "remainder")
TERMS = ("uncertainty", "resolution", "reliability", "within")


class Ladder:
    """Losses, decompositions, CORP, adjustments and remedies of one tally, each computed when asked for."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self._unmatched = ""  # why there is no stage A

    @cached_property
    def rows(self) -> Forecasts:
        held, k = self.tally.held, self.tally.k
        if held is not None and (len(held) <= EXACT_ROWS if k == 2 else len(held) * k <= MOST_ENTRIES):
            return held
        if held is None and self.tally.sample.complete:
            return self.tally.sample.rows
        if k == 2:
            return rows_of_two(self.tally.classwise[1], self.tally.grid.edges, self.tally.classes)
        return few(held, MOST_ENTRIES // k) if held is not None else self.tally.sample.rows

    @property
    def basis(self) -> str:
        """What the numbers stand on: all rows, cells, or a sample."""
        held, sample = self.tally.held, self.tally.thinned
        if self.rows is held or (sample is not None and sample.complete and self.rows is sample.rows):
            return "row influences"
        if self.tally.k == 2:
            return "row influences, on cells of the grid"
        return f"row influences, on a sample of {len(self.rows):,} rows"

    @cached_property
    def problem(self) -> str | None:
        """Why there is no ladder, if there is none."""
        if not self.tally.sums.rows:
            return "there are no rows"
        if not self.tally.measurable:
            return NOT_MEASURABLE
        outside = getattr(self.stage_c, "outside", 0)
        if outside:
            return f"the map {self.tally.plan.map!r} gives {outside:,} values that are no probabilities; choose another"
        return None

    @cached_property
    def stage_c(self) -> maps.Fitted:
        return maps.fit(self.tally.plan.map, self.rows)

    @cached_property
    def ideal(self) -> maps.Ideal:
        """Stage Q where the data tell it: given, from equal features, from repeated outcomes."""
        return maps.ideal(self.rows, seed=self.tally.plan.random_state)

    def findings(self, losses: dict[str, Reading]) -> tuple[Finding, ...]:
        """How Q was found, where it was asked for; and whether the cells of C are too coarse for the (log) losses."""
        if self.problem:
            return ()
        found = [] if self.ideal.finding.code == "not_separable" else [self.ideal.finding]
        too_coarse = np.isfinite(losses["remainder"]) and abs(losses["remainder"]) > EXPLAINED * losses["L"]
        if self.chain.cells is not None and too_coarse:
            message = (
                f"the cells of the map {self.tally.plan.map!r} are too coarse: calibration loss holds what rows of one "
                f"cell differ by, and {losses['remainder']:.3g} of {losses['L']:.3g} nats are left over; the maps "
                "temperature and isotonic have no cells (--map)"
            )
            found.append(Finding("coarse_cells", "warning", message))
        return tuple(found)

    @cached_property
    def chain(self) -> Chain:
        return self._chain(self.rows)

    def _chain(self, f: Forecasts) -> Chain:
        assert f.probabilities is not None
        assert f.outcomes is not None
        fitted = self.stage_c
        held_cells: Any = getattr(fitted, "cells", None)
        if held_cells is not None:
            stage_c, cells = fitted.means, held_cells(f.probabilities)  # type: ignore[attr-defined]
        else:
            stage_c, cells = fitted(f.probabilities), None
        ideal = self.ideal.Q if f is self.rows else None
        if ideal is not None and ideal.ndim == 1:
            ideal = np.column_stack([1.0 - ideal, ideal])
        return Chain(
            f.probabilities,
            f.outcomes,
            stage_c,
            A=lambda rule: self._adjusted(f, rule),
            Q=ideal,
            cells=cells,
            mass=f.mass,
            counts=f.counts,
            log_realised=f.log_realised,
        )

    def _adjusted(self, f: Forecasts, rule: ScoringRule) -> Floats | None:
        name, options = maps.adjustment(rule)
        assert f.probabilities is not None
        try:
            adjusted: Floats = maps.fit(name, f, **options)(f.probabilities)
        except maps.InfeasibleTarget as problem:
            in_the_way = "a probability of zero stands in the way" if problem.classes else "no adjustment was found"
            self._unmatched = f"the class frequencies cannot be matched: {in_the_way}"
            return None
        return adjusted

    def _reading(self, value: float | None, influence: Any, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Reading:
        if value is None:
            return unknown(NOT_SEPARABLE)
        if np.isnan(value):
            return undefined(BOTH_INFINITE)
        if not np.isfinite(value):
            return around(value, np.nan, self.tally.plan.level)
        f, s = self.rows, self.tally.sums
        mass2 = f.mass if f.weights is None else f.mass * f.weights
        with np.errstate(invalid="ignore"):
            x = influence()
            spread = float(np.sqrt(mass2 @ (x - value) ** 2 / mass2.sum()))
        if not np.isfinite(spread):
            return Reading(value, reason=RULED_OUT)
        error = spread / np.sqrt(s.n_eff - 1.0) if s.n_eff > 1.0 + 1e-9 else np.nan
        return around(value, error, self.tally.plan.level, bounds, self.basis)

    def losses(self, rule: str) -> dict[str, Reading]:
        if self.problem:
            return dict.fromkeys(LOSSES, unknown(self.problem))
        values, found = self.chain.losses(rule), {}
        for name in LOSSES:
            value = values[name]
            if name == "remainder":
                found[name] = undefined(BOTH_INFINITE) if value is None or np.isnan(value) else Reading(value)
            elif name == "GL" and self.ideal.grouping is not None:
                found[name] = _at_least(self.ideal.grouping[rule])
            elif value is None and name in ("AL", "PCL", "PL"):
                found[name] = unknown(self._unmatched)
            else:
                found[name] = self._reading(value, lambda name=name: self.chain.influence(rule, name), (0.0, np.inf))
        return found

    def crossfitted(self, rule: str) -> dict[str, Reading]:
        """The losses with C fitted without the rows it is applied to: not optimistic, as the in-sample C is."""
        if self.problem:
            return dict.fromkeys(LOSSES, unknown(self.problem))
        calibrated = maps.crossfit(self.tally.plan.map, self.rows, seed=self.tally.plan.random_state)
        if calibrated is None:
            return dict.fromkeys(LOSSES, unknown("too few rows to fit C without some of them"))
        chain = replace(self.chain, C=calibrated, cells=None, _held={})
        values = chain.losses(rule)
        return {name: unknown(NOT_SEPARABLE) if (v := values[name]) is None else Reading(v) for name in LOSSES}

    def corrections(self, rule: str) -> dict[str, float]:
        """What class frequencies counted in the same rows add to each term by chance; subtract it."""
        if self.problem:
            raise ValueError(self.problem)
        return self.chain.corrections(rule)

    def decomposition(self, rule: str) -> dict[str, Any]:
        if self.problem:
            return {**dict.fromkeys(TERMS, unknown(self.problem)), "map": self.tally.plan.map}
        values, influences = self.chain.terms(rule), self.chain.term_influences(rule)
        found: dict[str, Any] = {}
        for name in TERMS:
            bounds = (-np.inf, np.inf) if name == "within" else (0.0, np.inf)
            found[name] = self._reading(values[name], lambda name=name: influences[name], bounds)
        return {**found, "map": self.tally.plan.map}

    def profile(self) -> dict[str, Any]:
        """All terms along the risk axis as shares of the base-rate loss at that r."""
        if self.problem:
            return {"r": []}
        k, rs = self.tally.k, PROFILE_R.tolist()
        f = few(self.rows, MOST_PROFILE_ENTRIES // k)
        chain = self.chain
        if f is not self.rows:  # which may lack some classes
            chain = replace(self._chain(f), prior=frequencies(self.tally), _held={})
        if k <= MANY_CLASSES and len(f) * k <= PROFILE_ENTRIES:
            return dict(chain.profile(rs))
        found = dict(replace(chain, A=None, _held={}).profile(rs))
        if k <= MANY_CLASSES:  # beyond, an adjustment for every r takes seconds, and says little
            some = few(self.rows, max(500, PROFILE_ENTRIES // k))
            for i, r in enumerate(rs):
                share, calibration = self._adjustment_share(some, r), found["post_calibration"][i]
                if share is not None and calibration is not None:
                    found["adjustment"][i], found["post_calibration"][i] = share, calibration - share
        return found

    def _adjustment_share(self, f: Forecasts, r: float) -> float | None:
        """The adjustment loss at r as a share of the base-rate loss, from a sample f of rows.

        A sample has class frequencies of its own. Its rows are therefore adjusted by what all rows lack: its mean
        forecast moves by as much as the mean of all rows has to move.
        """
        prior, column = frequencies(self.tally), self.tally.sums.column / self.tally.sums.weight
        share = f.mass / f.mass.sum()
        target = np.maximum(share @ f.matrix + prior - column, 0.0)
        rule = rule_of(r)
        name, options = maps.adjustment(rule)
        try:
            adjusted = maps.fit(name, f, target=target / target.sum(), **options)(f.matrix)
        except maps.InfeasibleTarget:
            return None
        return float(share @ rule.divergence(f.matrix, adjusted) / rule.entropy(prior))

    def adjustment(self) -> dict[str, Any]:
        """What matching the class frequencies does under each rule: weights or shifts, and the loss after it."""
        if self.problem:
            return {}
        f, names = self.rows, [str(c) for c in self.tally.classes]
        found: dict[str, dict[str, Any]] = {}
        for rule, attribute in (("log", "weights"), ("brier", "shift")):
            name, options = maps.adjustment(rule)
            try:
                fitted = maps.fit(name, f, **options)
            except maps.InfeasibleTarget as error:
                found[rule] = {attribute: None, "loss": None, "reason": str(error)}
                continue
            moved = dict(zip(names, getattr(fitted, attribute).tolist(), strict=True))
            found[rule] = {attribute: moved, "loss": self.chain.loss(rule, "A", "Y")}
        return found

    def corp(self) -> dict[str, Any]:
        """Miscalibration, discrimination and uncertainty with isotonic C: two classes, or the pick and each class."""
        if self.problem:
            return {}
        f, y = self.rows, np.asarray(self.rows.outcomes)
        if self.tally.k == 2:
            return self._corp(f.matrix, y == 1)
        matrix = f.matrix
        pick = matrix.argmax(axis=1)
        found: dict[str, Any] = {"top_label": self._corp(_against_rest(matrix, pick), pick == y)}
        if self.tally.k <= MANY_CLASSES:
            found["classwise"] = {
                str(c): self._corp(_against_rest(matrix, np.full(len(y), j)), y == j)
                for j, c in enumerate(self.tally.classes)
            }
        return found

    def _corp(self, scores: Floats, event: NDArray[np.bool_]) -> dict[str, dict[str, Reading]]:
        p = scores[:, 1]
        f = Forecasts(p, event.astype(np.int64), (False, True), self.rows.weights, self.rows.counts)
        calibrated = maps.fit("isotonic", f)(p)
        assert f.outcomes is not None
        return {
            rule: {name: Reading(value) for name, value in corp(rule, scores, calibrated, f.outcomes, f.mass).items()}
            for rule in ("brier", "log")
        }

    def remedies(self) -> list[dict[str, Any]] | None:
        """Cross-fitted gain of every adjustment and calibrator against doing nothing."""
        if self.problem:
            return None
        plan = self.tally.plan
        found: list[dict[str, Any]] = maps.remedies(self.rows, seed=plan.random_state, level=plan.level)
        return found


def _against_rest(matrix: Floats, column: NDArray[Any]) -> Floats:
    """(n, 2) the probability of one class of each row last, before it that of all others: 1 − p, but not a false 0."""
    p = matrix[np.arange(len(matrix)), column]
    rest, sure = 1.0 - p, np.flatnonzero(p > 1.0 - 1e-8)
    others = matrix[sure]
    others[np.arange(len(sure)), column[sure]] = 0.0
    rest[sure] = others.sum(axis=1)
    return np.column_stack([rest, p])


def _at_least(bound: float) -> Reading:
    """A loss of which only a lower bound is known."""
    reason = "only a lower bound can be given: too many distinct features"
    return Reading(np.nan, bound, None, "lower bound by a cross-fitted partition of the features", reason, known=False)
