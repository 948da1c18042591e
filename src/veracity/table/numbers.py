"""The numbers of a table of counts, and the terms of a scoring rule: score = uncertainty − resolution + reliability."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veracity.formulas import tables as formula
from veracity.formulas.domain import Array
from veracity.formulas.intervals import clopper_pearson, ratio_limits, wilson
from veracity.formulas.rules import ScoringRule, rule

from . import check

Rule = str | float | ScoringRule

DRAWS = 9_999  # random tables of a permutation p: an error of at most 0.005
MOST_CASES = 10_000_000  # above this the chi-square p is as good as any


@dataclass(frozen=True)
class Category:
    """The contribution of one forecast category (HB17 eqs 3 and 7)."""

    category: str
    cases: float
    forecast: list[float]
    observed: list[float]
    resolution: float
    reliability: float
    entropy: float
    divergences: list[float]  # D_B(o_j ‖ f_i): the score when outcome j follows
    tangent: dict[str, float] | None  # two outcomes: to the rule's curve at the forecast


@dataclass(frozen=True)
class Terms:
    """score = uncertainty − resolution + reliability, whole and per forecast category."""

    rule: str
    score: float
    uncertainty: float
    resolution: float
    reliability: float
    per_category: tuple[Category, ...]

    @property
    def skill(self) -> float:
        """1 − score / uncertainty: 0 is always forecasting the prior, 1 is perfect."""
        return 1.0 - self.score / self.uncertainty if self.uncertainty else math.nan

    def document(self) -> dict[str, Any]:
        whole = {name: getattr(self, name) for name in ("score", "uncertainty", "resolution", "reliability", "skill")}
        return {**whole, "per_category": [asdict(category) for category in self.per_category]}


class Numbers:
    """The numbers of a PredictionTable, from its counts (k, K), forecasts, and names of rows and columns."""

    counts: Array
    forecasts: Array | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    unit: str
    cases: float | None
    level: float

    @property
    def n(self) -> float | None:
        """Number of cases; None for weights of an unknown number."""
        return float(self.counts.sum()) if self.unit == "counts" else self.cases

    @property
    def binary(self) -> bool:
        return len(self.columns) == 2

    @property
    def prior(self) -> Array:
        return formula.prior(self.counts)

    @property
    def predictive_values(self) -> Array:
        """(k, K) Pr(outcome | forecast)."""
        return formula.predictive_values(self.counts)

    @property
    def stated(self) -> Array:
        """(k, K) the probabilities that are scored: the forecasts, or the observed frequencies in their place."""
        return self.predictive_values if self.forecasts is None else self.forecasts

    @property
    def sensitivity(self) -> float | None:
        return float(formula.sensitivity(self.counts)[0]) if self.counts.shape == (2, 2) else None

    @property
    def specificity(self) -> float | None:
        return float(formula.specificity(self.counts)[0]) if self.counts.shape == (2, 2) else None

    @property
    def likelihood_ratios(self) -> Array | None:
        return formula.likelihood_ratios(self.counts) if self.binary else None

    @property
    def psep(self) -> float:
        """Separation of the observed frequencies of the last outcome, worst category minus best."""
        return formula.psep(self.predictive_values)

    @property
    def psep_forecasts(self) -> float:
        """Separation of the forecast probabilities of the last outcome, worst category minus best."""
        return formula.psep(self.stated)

    @property
    def psep_unused(self) -> float:
        """Cases in categories between best and worst, which PSEP does not use."""
        return float(self.counts[1:-1].sum())

    @property
    def half_brier(self) -> float | None:
        return formula.score(self.counts, self.stated, rule("half_brier")) if self.binary else None

    @property
    def brier(self) -> float:
        return formula.score(self.counts, self.stated, rule("brier"))

    @property
    def divergence_score(self) -> float:
        return formula.score(self.counts, self.stated, rule("log"))

    @property
    def entropy(self) -> float:
        return formula.entropy(self.counts)

    @property
    def conditional_entropy(self) -> float:
        return formula.conditional_entropy(self.counts)

    @property
    def mutual_information(self) -> float:
        return formula.mutual_information(self.counts)

    @property
    def normalized_mutual_information(self) -> float:
        return formula.normalized_mutual_information(self.counts)

    @property
    def mcfadden_r2(self) -> float:
        return formula.mcfadden_r2(self.counts)

    @property
    def g2(self) -> float | None:
        return None if self.n is None else formula.g2(self.counts)

    @property
    def x2(self) -> float | None:
        return None if self.n is None else formula.x2(self.counts)

    @property
    def df(self) -> int:
        return formula.degrees_of_freedom(self.counts)

    @property
    def g2_p(self) -> float | None:
        return None if self.g2 is None else formula.chi_square_tail(self.g2, self.df)

    @cached_property
    def exact_p(self) -> tuple[float, str] | None:
        """p without the chi-square approximation, and its method: Fisher's for 2 × 2, random tables beyond."""
        if self.unit != "counts" or self.counts.sum() > MOST_CASES:
            return None
        if self.counts.shape == (2, 2):
            return formula.fisher_p(self.counts), "Fisher's exact test, two-sided"
        return formula.permutation_p(self.counts, DRAWS, 0), f"{DRAWS:,} random tables with the same totals, seed 0"

    @property
    def logit(self) -> tuple[Array, Array]:
        """Coefficients (k, K−1) of the saturated logistic model and their standard errors (NaN without n)."""
        b, error = formula.saturated_logit(self.counts)
        return b, error if self.n is not None else np.full_like(error, np.nan)

    @property
    def thresholds(self) -> list[dict[str, Any]]:
        """Sensitivity and specificity when every category from one on counts as a forecast of the event."""
        if not self.binary:
            return []
        rates = zip(self.rows[1:], formula.sensitivity(self.counts), formula.specificity(self.counts), strict=True)
        return [{"from": row, "sensitivity": float(sens), "specificity": float(spec)} for row, sens, spec in rates]

    def at_prevalence(self, prevalence: float) -> Array:
        """Return (k, 2) predictive values at another prevalence of the event, with the same Pr(forecast | outcome).

        >>> from veracity import PredictionTable
        >>> PredictionTable.from_rates(0.833, 0.844, 0.36).at_prevalence(0.85)[1, 1].round(2)
        np.float64(0.97)
        """
        if not self.binary:
            raise ValueError("prevalence: needs two outcomes; add up columns until two are left (Python: versus_rest)")
        event = check.rate("prevalence", prevalence)
        return formula.posterior(formula.likelihoods(self.counts), [1.0 - event, event])

    def terms(self, name: Rule = "log") -> Terms:
        """Return UNC, RES, REL and their parts for 'log', 'half_brier', 'brier' or any r > −1 of the risk axis.

        >>> from veracity import PredictionTable
        >>> round(PredictionTable([[83, 56], [2, 12]]).terms("log").resolution, 3)
        0.037
        """
        chosen, n, f = rule(name), self.counts, self.stated
        resolutions, reliabilities = formula.resolutions(n, chosen), formula.reliabilities(n, f, chosen)
        per_category = map(
            Category,
            self.rows,
            n.sum(1).tolist(),
            f.tolist(),
            self.predictive_values.tolist(),
            resolutions.tolist(),
            reliabilities.tolist(),
            chosen.entropy(self.predictive_values).tolist(),
            formula.cell_divergences(f, chosen).tolist(),
            [_tangent(float(p), chosen) if self.binary else None for p in f[:, -1]],
        )
        share, score = formula.category_shares(n), formula.score(n, f, chosen)
        means = (formula.uncertainty(n, chosen), float(share @ resolutions), float(share @ reliabilities))
        return Terms(chosen.name, score, *means, tuple(per_category))

    def tangents(self, name: Rule = "log") -> dict[str, Any]:
        """Return curve, tangents and Bregman divergences of HB17 Figs 1–4 for any rule of the risk axis; two outcomes.

        forecasts  the tangent at each forecast (Figs 1, 2, 4)
        gaps       between tangent and curve at 0 and 1: the scores of the two outcomes
        prior      the tangent at the prior (Fig 3); its gap to the curve at an observed frequency is RES_i
        observed   the observed frequencies, on the curve and on both tangents
        """
        if not self.binary:
            raise ValueError("tangents: need two outcomes; choose one of them with versus_rest")
        chosen = rule(name)

        def point(p: float) -> dict[str, float]:
            return {"p": p, "g": float(formula.curve(p, chosen)), **_tangent(p, chosen)}

        grid, ends = np.linspace(0.0, 1.0, 101), formula.curve([0.0, 1.0], chosen).tolist()
        prior = point(float(self.prior[-1]))
        forecasts: list[dict[str, Any]] = [
            {"category": row, **point(float(p))} for row, p in zip(self.rows, self.stated[:, -1], strict=True)
        ]
        gaps = [
            {"category": at["category"], "outcome": self.columns[j], "p": j, "curve": curve, "tangent": at[end]}
            | {"gap": curve - at[end], "slope": at["slope"]}
            for at in forecasts
            for j, (curve, end) in enumerate(zip(ends, ("at_0", "at_1"), strict=True))
        ]
        observed = []
        for row, d, at in zip(self.rows, self.predictive_values[:, -1], forecasts, strict=True):
            heights = {"on_prior": _height(prior, float(d)), "on_forecast": _height(at, float(d))}
            observed.append({"category": row, "p": float(d), "g": float(formula.curve(d, chosen)), **heights})
        return {
            "rule": chosen.name,
            "curve": [{"p": float(p), "g": float(g)} for p, g in zip(grid, formula.curve(grid, chosen), strict=True)],
            "forecasts": forecasts,
            "gaps": gaps,
            "prior": prior,
            "observed": observed,
        }

    def intervals(self) -> dict[str, Any]:
        """Return Clopper–Pearson ('exact') and Wilson limits of prior, predictive values, sensitivity and specificity;
        limits of likelihood ratios by their logarithm, None where a cell is empty.
        """
        if self.n is None:
            return {}
        event, total = self.counts[:, -1], self.counts.sum(1)
        x, n = [*event, event.sum()], [*total, total.sum()]
        if self.counts.shape == (2, 2):
            x, n = [*x, self.counts[1, 1], self.counts[0, 0]], [*n, *self.counts.sum(0)[::-1]]
        score = wilson(np.array(x) / np.array(n), n, self.level)
        limits = np.stack([*clopper_pearson(x, n, self.level), *score], 1).tolist()
        both = [{"exact": limit[:2], "wilson": limit[2:]} for limit in limits]
        k = len(self.rows)
        (best_low, best_high), (worst_low, worst_high) = both[0]["wilson"], both[k - 1]["wilson"]
        best, worst = self.predictive_values[[0, -1], -1]
        newcombe = [  # Newcombe 1998, method 10: the two Wilson intervals combined
            self.psep - math.hypot(worst - worst_low, best_high - best),
            self.psep + math.hypot(worst_high - worst, best - best_low),
        ]
        rates: dict[str, Any] = dict(zip(("prior", "sensitivity", "specificity"), both[k:], strict=False))
        if self.binary:
            others, happened = total - event, event.sum()
            ends = ratio_limits(event, happened, others, n[k] - happened, self.level)
            pairs = np.stack(ends, 1).tolist()
            rates["likelihood_ratios"] = [None if math.isnan(pair[0]) else {"log": pair} for pair in pairs]
        return {"level": self.level, "predictive_values": both[:k], **rates, "psep": {"newcombe": newcombe}}


def _tangent(p: float, rule: ScoringRule) -> dict[str, float]:
    slope, at_0, at_1 = (float(t) for t in formula.tangents(p, rule))
    return {"slope": slope, "at_0": at_0, "at_1": at_1}


def _height(at: dict[str, Any], p: float) -> float:
    """Return the height of a tangent at p; NaN for a vertical one."""
    return float(at["at_0"] + p * at["slope"]) if math.isfinite(at["slope"]) else math.nan
