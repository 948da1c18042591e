"""The loss ladder against ideal probabilities that are given: a second look at every row, with maps of the first."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veracity import maps
from veracity.data import Finding, Forecasts, check
from veracity.data.reading import Reading, around, undefined, unknown
from veracity.estimate.ladder import BOTH_INFINITE, RULED_OUT, Ladder
from veracity.formulas.chain import PAIRS, Chain
from veracity.formulas.rules import ScoringRule

Floats = NDArray[np.float64]
RULES = ("log", "brier")
NOT_MATCHED = "the class frequencies cannot be matched: a probability of zero stands in the way"


@dataclass(frozen=True)
class Stages:
    """The maps of one model that lead from S to A and C."""

    adjusted: Mapping[str, maps.Fitted | None]
    calibrated: maps.Fitted

    @classmethod
    def of(cls, ladder: Ladder) -> Stages:
        adjusted: dict[str, maps.Fitted | None] = {}
        for rule in RULES:
            name, options = maps.adjustment(rule)
            try:
                adjusted[rule] = maps.fit(name, ladder.rows, **options)
            except maps.InfeasibleTarget:
                adjusted[rule] = None
        return cls(adjusted, ladder.stage_c)

    def chain(self, f: Forecasts) -> Chain:
        p, ideal = f.probabilities, f.ideal
        assert p is not None
        assert f.outcomes is not None

        def adjusted(rule: ScoringRule) -> Floats | None:
            fitted = self.adjusted[rule.name]
            return None if fitted is None else fitted(p)

        return Chain(p, f.outcomes, self.calibrated(p), A=adjusted, Q=ideal, mass=f.mass, log_realised=f.log_realised)


class Losses:
    """Sums over rows: Σm x of every loss, and Σm y, Σm² y, Σm² y² of what its sampling error comes from.

    x is the divergence between two stages, y the difference of their scores for what happened.
    """

    def __init__(self, stages: Mapping[str, Stages]) -> None:
        self._stages = stages
        self.sums: dict[str, Floats] = {}  # (2 rules, 10 losses, 6): the above, Σm and Σm²

    def take(self, forecasts: Forecasts) -> None:
        model = forecasts.model or ""
        if model not in self._stages:
            return
        checked = check(forecasts)
        chain, m = self._stages[model].chain(checked), checked.mass
        m2 = m if checked.weights is None else m * checked.weights
        found = np.full((len(RULES), len(PAIRS), 6), np.nan)
        for i, rule in enumerate(RULES):
            # Where the class frequencies cannot be matched, there is no stage A.
            missing = "A" if self._stages[model].adjusted[rule] is None else ""
            to_y = {stage: chain.rows(rule, stage, "Y") for stage in "SACQ" if stage != missing}
            to_y["Y"] = np.zeros(len(m))
            for j, pair in enumerate(PAIRS.values()):
                before, after = pair[0], pair[1]
                if missing and missing in (before, after):
                    continue
                x = to_y[before] if after == "Y" else chain.rows(rule, before, after)
                with np.errstate(invalid="ignore"):
                    y = to_y[before] - to_y[after]
                found[i, j] = m @ x, m @ y, m2 @ y, m2 @ y**2, m.sum(), m2.sum()
        self._add(model, found)

    def _add(self, model: str, sums: Floats) -> None:
        self.sums[model] = self.sums[model] + sums if model in self.sums else sums

    def losses(self, model: str, level: float) -> dict[str, dict[str, Reading]]:
        """Every loss with its interval, by rule."""
        sums = zip(RULES, self.sums[model], strict=True)
        return {rule: _readings(dict(zip(PAIRS, held, strict=True)), level) for rule, held in sums}

    def tell(self, model: str, findings: tuple[Finding, ...]) -> None:
        """The tally has said it."""

    def name(self, *parts: str) -> None:
        """The tally has said what does not fit."""

    def skip(self, part: str, reason: str) -> None:
        """The tally has said what was left out."""

    def merge(self, state: bytes) -> None:
        for model, sums in pickle.loads(state).items():
            self._add(model, sums)

    def state(self) -> bytes:
        return pickle.dumps(self.sums)  # between workers of one run, which exchange pickled tasks anyway


def _readings(sums: Mapping[str, Floats], level: float) -> dict[str, Reading]:
    made: dict[str, Reading] = {}
    for name, (x, y, y2, yy2, mass, mass2) in sums.items():
        value, centre = float(x / mass), y / mass
        if np.isnan(value):
            made[name] = unknown(NOT_MATCHED)
            continue
        with np.errstate(invalid="ignore"):
            spread = np.sqrt(np.maximum(yy2 - 2.0 * centre * y2 + centre**2 * mass2, 0.0) / mass2)
        if np.isfinite(value) and not np.isfinite(spread):
            made[name] = Reading(value, reason=RULED_OUT)
            continue
        n = mass**2 / mass2
        error = float(spread / np.sqrt(n - 1.0)) if n > 1.0 + 1e-9 else np.nan
        made[name] = around(value, error, level, (0.0, np.inf), "row influences")
    steps = ("CL", "GL", "IL") if np.isnan(made["AL"]) else ("AL", "PCL", "GL", "IL")
    rest = sum(float(made[step]) for step in steps)
    infinite = np.isinf(made["L"]) and np.isinf(rest)
    made["remainder"] = undefined(BOTH_INFINITE) if infinite else Reading(float(made["L"]) - rest)
    return made
