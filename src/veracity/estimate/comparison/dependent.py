"""Intervals of dependent cases: how much wider clusters or time make them.

The factor of a score is exact: half-widths of independent rows times t·se of clusters or times ÷ z·se of rows. Readings
without sums of their own (ratios, areas) get the factor of the score they follow, at least 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from veracity.estimate.comparison.compare import FEWEST_CLUSTERS, FEWEST_TIMES, Dependence
from veracity.estimate.means.reported import three
from veracity.formulas.differences import half_width
from veracity.formulas.intervals import quantile, wilson
from veracity.measures import PERPLEXITY, quantities
from veracity.records.reading import WILSON, Reading
from veracity.records.sections import ExpectedScore, Means, RiskProfile, Scores, Skill
from veracity.state.clusters import CLUSTER, POWERS, SCORES, ClusterScores
from veracity.state.tally import Tally
from veracity.types import Floats

Bounds = tuple[float, float]
Shown = TypeVar("Shown")

# The score whose factor a reading gets; `followed` ones have no sums of their own.
OWN = {"log_loss": "log", "brier": "brier", "half_brier": "brier", "spherical": "spherical", "accuracy": "correct"}
OWN |= {"perplexity": "log", "log": "log"}
ANY = (-math.inf, math.inf)
FOLLOWED = {"auc": "brier"}
MEANS = {"decisiveness": "power 1", "geometric_accuracy": "log", "robustness": "power -0.6667"}


def bounds_of(section: str, name: str = "") -> Bounds:
    """Return the bounds of a registered quantity, of its own or those of its whole section; none where it has none."""
    known = quantities()
    quantity = known.get(f"{section}.{name}") or known.get(section)
    return ANY if quantity is None else quantity.bounds


@dataclass(frozen=True, eq=False)
class Widening:
    """How much wider intervals of a tally are for its clusters or times."""

    tally: Tally

    @property
    def held(self) -> ClusterScores:
        """The sums of clusters or times."""
        assert self.tally.by_key is not None
        return self.tally.by_key

    @property
    def number(self) -> int:
        """Number of clusters or times."""
        return len(self.held.sums)

    @property
    def kind(self) -> str:
        return self.held.sums.kind

    @property
    def reason(self) -> str:
        """Why there can be no intervals; empty where there can."""
        least, what = (FEWEST_CLUSTERS, "clusters") if self.kind == CLUSTER else (FEWEST_TIMES, "times")
        few = f"{self.number} {what.removesuffix('s') if self.number == 1 else what}"
        return f"{few}: too few for an interval (from {least})" if self.number < least else ""

    @cached_property
    def _errors(self) -> tuple[Floats, float]:
        """Standard errors of all scores for dependent cases, and degrees of freedom."""
        plan = self.tally.plan
        lags = None if plan.lags is None else min(plan.lags, self.number - 1)
        return Dependence(self.kind, lags).error(self.held.sums.influences(slice(None)))

    def error(self, score: int) -> float:
        """Standard error of a score by its place in SCORES."""
        return float(self._errors[0][score])

    @cached_property
    def factors(self) -> dict[str, float]:
        """Factors of half-widths by score."""
        level, (errors, df) = self.tally.plan.level, self._errors
        scale = half_width(level, df) / quantile(level)
        plain = self.held.independent_errors
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = np.where(plain > 0.0, scale * errors / np.where(plain > 0.0, plain, 1.0), 1.0)
        return dict(zip(SCORES, np.where(np.isfinite(ratios), ratios, 1.0).tolist(), strict=True))

    @property
    def method(self) -> str:
        return f"{self.number:,} clusters" if self.kind == CLUSTER else f"{self.number:,} times"

    def at(self, r: Floats) -> Floats:
        """Factors of the generalized means at r, between those that are summed."""
        known = {0.0: self.factors["log"], **{p: self.factors[f"power {p:.4g}"] for p in POWERS}}
        x = np.array(sorted(known))
        return np.asarray(np.interp(r, x, [known[float(one)] for one in x]))

    def reading(self, reading: Any, factor: float, bounds: Bounds = ANY) -> Any:
        """Return a reading whose interval is so much wider, within the bounds of its quantity."""
        if not isinstance(reading, Reading) or reading.low is None or reading.high is None:
            return reading
        if self.reason:
            return Reading(float(reading), reason=self.reason, known=reading.known)
        value = float(reading)
        method = f"{reading.method}, {self.method}" if reading.method else self.method
        if reading.method == WILSON and 0.0 < value < 1.0:
            half = quantile(self.tally.plan.level)
            effective = self.tally.sums.n_eff / factor**2
            low, high = wilson(value, max(effective, half), self.tally.plan.level)
            return Reading(value, float(low), float(high), method, reading.reason)
        low, high = value - factor * (value - reading.low), value + factor * (reading.high - value)
        ends = max(low, min(bounds[0], value)), min(high, max(bounds[1], value))  # a corrected value may lie outside
        return Reading(value, *ends, method, reading.reason, reading.known)

    def by_sums(self, means: Means) -> Means:
        """Return means whose intervals come from sums of clusters or times; without where there are too few."""

        def bare(name: str) -> Reading:
            one = means.reading(name)
            return Reading(float(one), reason=one.reason or self.reason, known=one.known)

        return three(bare, means.findings) if self.reason else means

    def perplexity(self, reading: Reading, loss: Reading) -> Reading:
        """Return the perplexity with the ends of the log loss."""
        if reading.low is None or loss.low is None or loss.high is None:
            return self.reading(reading, 1.0, PERPLEXITY.bounds)  # type: ignore[no-any-return]
        return Reading(float(reading), math.exp(loss.low), math.exp(loss.high), loss.method, reading.reason)

    def section(self, part: Shown, of: str = "") -> Shown:
        """Return a section with intervals for dependent cases; verdict, losses and measured means have them.

        of  the quantity that means, or a single reading, are of; intervals keep its bounds
        """
        widened: Any = part
        factor = self.factors if not self.reason else dict.fromkeys(SCORES, 1.0)
        if isinstance(part, Reading):
            widened = self.reading(part, max(1.0, factor["power 1"], factor["power -0.6667"]), bounds_of(of))
        elif isinstance(part, Scores):
            factors = {name: factor[score] for name, score in OWN.items()}
            factors |= {name: max(1.0, factor[score]) for name, score in FOLLOWED.items()}
            factors |= {name: max(1.0, factor["log"]) for name in part.others}
            changed = {
                name: self.reading(one, factors[name], bounds_of("scores", name))
                for name, one in part.readings().items()
                if name in factors
            }
            if part.perplexity is not None:
                changed["perplexity"] = self.perplexity(part.perplexity, changed["log_loss"])
            others = {name: changed.pop(name) for name in part.others}
            widened = replace(part, **changed, others=others)
        elif isinstance(part, Skill):
            rules = {"log": part.log, "brier": part.brier}
            widened = replace(
                part, **{name: self.reading(one, factor[name], bounds_of("skill", name)) for name, one in rules.items()}
            )
        elif isinstance(part, Means):
            widened = replace(
                part,
                **{
                    name: self.reading(one, factor[MEANS[name]], bounds_of(of, name))
                    for name, one in part.readings().items()
                },
            )
        elif isinstance(part, ExpectedScore):
            widened = replace(part, excess=self.reading(part.excess, factor["excess"]))
        elif isinstance(part, RiskProfile):
            widened = self._profile(part)
        return widened  # type: ignore[no-any-return]

    def _profile(self, curve: RiskProfile) -> RiskProfile:
        """Return the profile with a wider band of reported means; without any for too few clusters or times.

        Measured means have the sums of clusters or times in their bands already.
        """
        factors = self.at(np.array(curve.r))
        ends = ("reported_low", "reported_high")
        if self.reason:
            none: dict[str, Any] = dict.fromkeys((*ends, "measured_low", "measured_high"))
            return replace(curve, **none)
        if curve.reported is None or curve.reported_low is None or curve.reported_high is None:
            return curve
        c, a, b = (np.array(x, dtype=np.float64) for x in (curve.reported, curve.reported_low, curve.reported_high))
        wider = np.maximum(c - factors * (c - a), 0.0), np.minimum(c + factors * (b - c), 1.0)
        changed: dict[str, Any] = {name: tuple(x.tolist()) for name, x in zip(ends, wider, strict=True)}
        return replace(curve, **changed)
