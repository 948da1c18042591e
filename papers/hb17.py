"""HB17: probabilistic disease forecasts as prediction–realization tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from veracity import PredictionTable
from veracity.formulas import tables
from veracity.formulas.rules import ScoringRule, rule
from veracity.simulate import SCENARIOS

from . import Options
from ._rows import AGREES, Figure, Row, Section, claim, identity, printed, shown

TITLE = (
    "G. Hughes and F. J. Burnett (2017), Evaluation of probabilistic disease forecasts, Phytopathology 107(10), 1136"
)
NUMBERED = ("Table 1", *(f"Figure {i}" for i in range(1, 5)), *(f"equation {i}" for i in range(1, 16)))
NOT_REPRODUCED: dict[str, str] = {}
A, B, C1, C2 = (np.array(SCENARIOS[name], dtype=np.float64) for name in ("a", "b", "c1", "c2"))
BRIER, LOG = rule("half_brier"), rule("log")
ROUNDED = "the paper's Figures 1 and 2 use f rounded to three decimals (0.857, 0.403)"


def sections(options: Options) -> Iterator[Section]:
    del options
    yield _table_1()
    yield _madden()
    yield _tangent_figure("Figure 1", BRIER, "0.230")
    yield _tangent_figure("Figure 2", LOG, "0.650")
    yield _figure_3()
    yield _scenario_b()
    yield _reliability()
    yield _figure_4()
    yield _left_open()


def _events(n: Any) -> Any:
    """Observed frequency of the event in each category."""
    return tables.predictive_values(n)[:, 1]


def _mean(n: Any, per_category: Any) -> float:
    return float(tables.category_shares(n) @ per_category)


def _table_1() -> Section:
    values = {
        "A": (A, "0.403", "0.857", "0.444"),
        "B": (B, "0.099", "0.931", "0.340"),
        "C1": (C1, "0.058", "0.609", "0.227"),
        "C2": (C2, "0.250", "0.824", "0.586"),
    }
    rows = []
    for name, (n, best, worst, prior) in values.items():
        d = _events(n)
        rows += [
            printed(f"{name}: Pr(o2|f1) = {n[0, 1]:.0f}/{n[0].sum():.0f}", best, float(d[0])),
            printed(f"{name}: Pr(o2|f2) = {n[1, 1]:.0f}/{n[1].sum():.0f}", worst, float(d[1])),
            printed(f"{name}: Pr(o2) = {n[:, 1].sum():.0f}/{n.sum():.0f}", prior, float(tables.prior(n)[1])),
        ]
    return Section("Table 1", "Predictive values and prior of the four scenarios.", rows)


def _madden() -> Section:
    rows = [
        printed(
            f"Pr(o2|f2) at prevalence {prior:g}",
            value,
            float(_events(tables.shares_from_rates(0.833, 0.844, prior))[1]),
        )
        for prior, value in ((0.05, "0.22"), (0.36, "0.75"), (0.85, "0.97"))
    ]
    return Section(
        "Sensitivity 0.833, specificity 0.844 (Madden 2006)", "Posterior by Bayes' rule at three priors.", rows
    )


def _tangent_figure(title: str, scoring: ScoringRule, mean_score: str) -> Section:
    """Figures 1 and 2: tangents at the two forecasts of scenario A."""
    d = _events(A)
    brier = scoring is BRIER
    quoted = {  # slope, height at 0, height at 1, divergence at 0, divergence at 1
        "f2 = 0.857": ("1.714", "-0.734", "0.980", "0.734", "0.020")
        if brier
        else ("1.791", "-1.945", "-0.154", "1.945", "0.154"),
        "f1 = 0.403": ("0.806", "-0.162", "0.644", "0.162", "0.356")
        if brier
        else ("-0.393", "-0.516", "-0.909", "0.516", "0.909"),
    }
    rows: list[Row] = []
    for (name, numbers), f in zip(quoted.items(), d[::-1], strict=True):
        exact, rounded = (_tangent(value, scoring) for value in (float(f), round(float(f), 3)))
        words = ("slope", "meets f = 0 at", "meets f = 1 at", "score of no event", "score of event")
        for word, paper, value, from_rounded in zip(words, numbers, exact, rounded, strict=True):
            row = printed(f"{name}: {word}", paper, value)
            if row.verdict != AGREES:
                again = printed("", paper, from_rounded).verdict == AGREES
                note = f"{ROUNDED}: from them {from_rounded:.4f}" if again else ""
                row = printed(f"{name}: {word}", paper, value, note)
            rows.append(row)
    rows += [
        identity(
            f"equation 3: score of an event at f2 is {'(1 − f)²' if brier else '−ln f'}",
            _tangent(float(d[1]), scoring)[4],
            (1 - d[1]) ** 2 if brier else -math.log(d[1]),
        ),
        printed("PSEP (equation 5)", "0.454", tables.psep(tables.predictive_values(A))),
        printed(
            f"mean score (equation {1 if brier else 2} and equation 4)",
            mean_score,
            tables.score(A, tables.predictive_values(A), scoring),
        ),
    ]
    if brier:
        rows.append(
            claim(
                "caption: the tangent at f1 meets f = 0 at −0.734 too",
                "-0.734",
                False,
                f"{_tangent(float(d[0]), scoring)[1]:.3f}",
                "the caption repeats the sentence of f2; only −0.162 belongs to f1",
            )
        )
    word = "Brier score" if brier else "divergence score (log loss)"
    chart = PredictionTable(A).plot("bregman_tangents", rule=scoring.name)
    caption = f"Scenario A, {word}: the curve g, its tangents at the two forecasts, and their heights at 0 and 1."
    return Section(title, f"Tangents to g for the {word}.", rows, [Figure(caption, chart)])


def _tangent(f: float, scoring: ScoringRule) -> tuple[float, float, float, float, float]:
    slope, low, high = (float(v) for v in tables.tangents(f, scoring))
    no_event, event = (float(v) for v in tables.cell_divergences([[1.0 - f, f]], scoring)[0])
    return slope, low, high, no_event, event


def _figure_3() -> Section:
    prior = float(tables.prior(A)[1])
    res = tables.resolutions(A, LOG)
    rows = [
        printed("slope of the tangent at the prior", "-0.223", _tangent(prior, LOG)[0]),
        printed("RES at d2 = 0.857 (equation 7)", "0.369", float(res[1])),
        printed("RES at d1 = 0.403 (equation 7)", "0.004", float(res[0])),
        printed("RES in nits (equation 8)", "0.037", _mean(A, res)),
        printed("PSEP", "0.454", tables.psep(tables.predictive_values(A))),
        identity(
            "equation 6: DS = UNC − RES",
            tables.score(A, tables.predictive_values(A), LOG),
            tables.uncertainty(A, LOG) - _mean(A, res),
        ),
    ]
    chart = PredictionTable(A).plot("bregman_tangents", at="prior")
    caption = "Scenario A: resolution is the height of the curve over the tangent at the prior, 0.444."
    return Section("Figure 3", "Resolution.", rows, [Figure(caption, chart)])


def _scenario_b() -> Section:
    model, null = tables.log_likelihoods(B)
    coefficients = tables.saturated_logit(B)[0].ravel()
    odds = [coefficients[0], coefficients[0] + coefficients[1]]
    rows = [
        printed("I(o,f) from the table (equation 10)", "0.340", tables.mutual_information(B)),
        printed("H(o) (equation 11)", "0.641", tables.entropy(B)),
        identity(
            "equation 12: entropies of the categories, weighted, give equation 13",
            _mean(B, tables.conditional_entropies(B)),
            tables.conditional_entropy(B),
        ),
        printed("H(o|f) (equation 13)", "0.301", tables.conditional_entropy(B)),
        claim(
            "equation 13", "−Σ Pr(f) H(o|f)", False, "+Σ Pr(f) H(o|f)", "misprint: equation 12 has the minus already"
        ),
        printed("I(o,f) = H(o) − H(o|f) (equation 14)", "0.340", tables.entropy(B) - tables.conditional_entropy(B)),
        printed("normalised I(o,f) (equation 15)", "0.530", tables.normalized_mutual_information(B)),
        printed("G²", "67.931", tables.g2(B)),
        printed("G²/(2N)", "0.340", tables.g2(B) / (2 * B.sum())),
        printed("logit intercept", "-2.213", float(coefficients[0])),
        printed("logit slope", "4.816", float(coefficients[1])),
        printed("Pr(o2|f1) from the logit", "0.099", 1 / (1 + math.exp(-odds[0]))),
        printed("Pr(o2|f2) from the logit", "0.931", 1 / (1 + math.exp(-odds[1]))),
        printed("McFadden's R²", "0.530", tables.mcfadden_r2(B)),
        identity("McFadden's R² = normalised I(o,f)", 1 - model / null, tables.normalized_mutual_information(B)),
        identity("−log-likelihood/N = H(o|f)", -model / B.sum(), tables.conditional_entropy(B)),
        claim(
            "G² = 2N I and R² = I/H hold for the logistic regression",
            "regression on f",
            False,
            "forecast category as a factor",
            "they hold for the saturated model; with two categories that is the same model",
        ),
    ]
    return Section("Scenario B", "Expected mutual information, G², McFadden's R².", rows)


def _reliability() -> Section:
    f1 = tables.predictive_values(C1)
    crossed = tables.reliabilities(C2, f1, LOG)
    rows = [
        printed("C1: I(o,f)", "0.177", tables.mutual_information(C1)),
        printed("C2: I(o,f)", "0.172", tables.mutual_information(C2)),
        printed("C1: PSEP", "0.55", tables.psep(f1)),
        printed("C2: PSEP", "0.57", tables.psep(tables.predictive_values(C2))),
        printed("C1: H(o|f), information inaccuracy", "0.358", tables.conditional_entropy(C1)),
        printed("C2: H(o|f)", "0.506", tables.conditional_entropy(C2)),
        printed("C1: H(o)", "0.535", tables.entropy(C1)),
        printed("C2: H(o)", "0.678", tables.entropy(C2)),
        printed("C2, own frequencies as forecasts: DS", "0.506", tables.score(C2, tables.predictive_values(C2), LOG)),
        printed("C2 with C1 forecasts: DS", "0.650", tables.score(C2, f1, LOG)),
        printed("C2 with C1 forecasts: UNC", "0.678", tables.uncertainty(C2, LOG)),
        printed("C2 with C1 forecasts: RES", "0.172", _mean(C2, tables.resolutions(C2, LOG))),
        printed("C2 with C1 forecasts: REL", "0.144", _mean(C2, crossed)),
        identity(
            "equation 6: DS = UNC − RES + REL",
            tables.score(C2, f1, LOG),
            tables.uncertainty(C2, LOG) - _mean(C2, tables.resolutions(C2, LOG)) + _mean(C2, crossed),
        ),
        claim(
            "0 ≤ PSEP ≤ 1",
            "[0, 1]",
            False,
            f"{tables.psep(tables.predictive_values(A[::-1])):.3f} when the categories are exchanged",
            "PSEP lies in [−1, 1]; it is non-negative when 'worst' is the category with the larger frequency",
        ),
    ]
    return Section(
        "Scenarios C1 and C2", "Reliability: forecasts of the training data judged by the validation data.", rows
    )


def _figure_4() -> Section:
    forecasts = _events(C1)
    rel = tables.reliabilities(C2, tables.predictive_values(C1), LOG)
    rows = [
        printed("slope of the tangent at f2 = 0.609", "0.442", _tangent(float(forecasts[1]), LOG)[0]),
        printed("slope of the tangent at f1 = 0.058", "-2.793", _tangent(float(forecasts[0]), LOG)[0]),
        printed("REL at d2 = 0.824 (equation 7)", "0.108", float(rel[1])),
        printed("REL at d1 = 0.250 (equation 7)", "0.195", float(rel[0])),
        printed("REL in nits (equation 9)", "0.144", _mean(C2, rel)),
    ]
    chart = PredictionTable(C2).scored_with(PredictionTable(C1)).plot("bregman_tangents")
    caption = (
        "Tangents at the forecasts of C1; reliability is the height of the curve over them at the frequencies of C2."
    )
    return Section("Figure 4", "Reliability.", rows, [Figure(caption, chart)])


def _left_open() -> Section:
    rows = [
        shown(
            "Altman and Royston: share of subjects used by PSEP",
            "not recomputable",
            "data of another paper",
            paper="49 %, 47 %",
        ),
        shown(
            "DS of A and of C2 with C1 forecasts",
            ", ".join(f"{tables.score(n, tables.predictive_values(f), LOG):.6f}" for n, f in ((A, A), (C2, C1))),
            "equal only after rounding",
            paper="0.650, 0.650",
        ),
        *(
            shown(
                f"{name}: half Brier = UNC − RES + REL",
                f"{tables.score(n, f, BRIER):.6f} = {tables.uncertainty(n, BRIER):.6f} − "
                f"{_mean(n, tables.resolutions(n, BRIER)):.6f} + {_mean(n, tables.reliabilities(n, f, BRIER)):.6f}",
                value=tables.score(n, f, BRIER),
            )
            for name, n, f in (
                ("A", A, tables.predictive_values(A)),
                ("B", B, tables.predictive_values(B)),
                ("C1", C1, tables.predictive_values(C1)),
                ("C2", C2, tables.predictive_values(C2)),
                ("C2 with C1 forecasts", C2, tables.predictive_values(C1)),
            )
        ),
    ]
    return Section("Not in the paper, or not to be checked", "", rows)
