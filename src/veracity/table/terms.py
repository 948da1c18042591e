"""The terms of one scoring rule on a table: score = uncertainty − resolution + reliability."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from veracity.formulas import tables as formula
from veracity.formulas.domain import Array
from veracity.formulas.rules import ScoringRule


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
        return 1.0 - self.score / self.uncertainty

    def document(self) -> dict[str, Any]:
        whole = {name: getattr(self, name) for name in ("score", "uncertainty", "resolution", "reliability", "skill")}
        return {**whole, "per_category": [asdict(category) for category in self.per_category]}


def terms(n: Array, f: Array, rows: tuple[str, ...], rule: ScoringRule) -> Terms:
    d, share = formula.predictive_values(n), formula.category_shares(n)
    resolutions, reliabilities = formula.resolutions(n, rule), formula.reliabilities(n, f, rule)
    divergences, entropies = formula.cell_divergences(f, rule), rule.entropy(d)
    per_category = tuple(
        Category(
            row,
            float(n[i].sum()),
            f[i].tolist(),
            d[i].tolist(),
            float(resolutions[i]),
            float(reliabilities[i]),
            float(entropies[i]),
            divergences[i].tolist(),
            tangent(float(f[i, -1]), rule) if n.shape[1] == 2 else None,
        )
        for i, row in enumerate(rows)
    )
    return Terms(
        rule.name,
        formula.score(n, f, rule),
        formula.uncertainty(n, rule),
        float(share @ resolutions),
        float(share @ reliabilities),
        per_category,
    )


def tangent(p: float, rule: ScoringRule) -> dict[str, float]:
    slope, at_0, at_1 = (float(t) for t in formula.tangents(p, rule))
    return {"slope": slope, "at_0": at_0, "at_1": at_1}


def diagram(n: Array, f: Array, rows: tuple[str, ...], columns: tuple[str, ...], rule: ScoringRule) -> dict[str, Any]:
    """Return curve, tangents and Bregman divergences of HB17 Figs 1–4, two outcomes.

    forecasts  the tangent at each forecast (Figs 1, 2, 4)
    gaps       between tangent and curve at 0 and 1: the scores of the two outcomes
    prior      the tangent at the prior (Fig 3); its gap to the curve at an observed frequency is RES_i
    observed   the observed frequencies, on the curve and on both tangents
    """

    def point(p: float) -> dict[str, float]:
        return {"p": p, "g": float(formula.curve(p, rule)), **tangent(p, rule)}

    grid = np.linspace(0.0, 1.0, 101)
    prior = point(float(formula.prior(n)[-1]))
    forecasts: list[dict[str, Any]] = [
        {"category": row, **point(float(p))} for row, p in zip(rows, f[:, -1], strict=True)
    ]
    ends = formula.curve([0.0, 1.0], rule)
    gaps = [
        {"category": at["category"], "outcome": columns[j], "p": j, "curve": float(ends[j]), "tangent": at[end]}
        | {"gap": float(ends[j]) - at[end], "slope": at["slope"]}
        for at in forecasts
        for j, end in enumerate(("at_0", "at_1"))
    ]
    observed = []
    for row, d, at in zip(rows, formula.predictive_values(n)[:, -1], forecasts, strict=True):
        heights = {"on_prior": _height(prior, float(d)), "on_forecast": _height(at, float(d))}
        observed.append({"category": row, "p": float(d), "g": float(formula.curve(d, rule)), **heights})
    return {
        "rule": rule.name,
        "curve": [{"p": float(p), "g": float(g)} for p, g in zip(grid, formula.curve(grid, rule), strict=True)],
        "forecasts": forecasts,
        "gaps": gaps,
        "prior": prior,
        "observed": observed,
    }


def _height(at: dict[str, Any], p: float) -> float:
    """Return the height of a tangent at p; NaN for a vertical one."""
    return float(at["at_0"] + p * at["slope"]) if math.isfinite(at["slope"]) else math.nan
