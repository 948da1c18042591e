"""Question 1: which r to report?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from papers import _charts
from papers._rows import Figure
from papers.questions import Claim, Page, Results, Table
from papers.questions._draws import outcomes_of, over_draws, percents, share, softmax, text_of
from veracity.formulas.means import log_generalized_mean
from veracity.formulas.rules import power
from veracity.types import Array

QUESTION = "Which r should be reported?"
PAPERS = "RP, CQ"
RISKS = (-0.9, -0.75, -0.6, -0.5, -0.25, 0.0, 0.5, 1.0, 2.0)
HALVES = (-0.5, 0.25, 0.5, 1.0, 2.0, 3.0)
SIZE = 1000
POWERS = {"flattened, odds to the 0.6": 0.6, "as it is": 1.0, "sharpened, odds squared": 2.0}
MEANS = {"robustness, r = −2/3": -2 / 3, "geometric accuracy, r = 0": 0.0, "decisiveness, r = 1": 1.0}


def event_half(p: Array, event: Array, r: float) -> Array:
    """Return the half of the score that belongs to the event: its thresholds c weigh (1 + r) c^(r − 1).

    (1+r)/r (1 − p^r) − (1 − p^(1+r)) if it happened, p^(1+r) if not.
    """
    first = -np.log(p) if r == 0 else (1.0 - p**r) / r * (1.0 + r)
    return np.where(event == 1, first - (1.0 - p ** (1.0 + r)), p ** (1.0 + r))


def sharp(generator: np.random.Generator) -> Array:
    """Return calibrated probabilities of two classes with log-odds N(0, 4²)."""
    return softmax(np.column_stack([np.zeros(SIZE), generator.normal(0.0, 4.0, SIZE)]))


def below_half(draws: int, seed: int) -> dict[str, Any]:
    """Return by r the share of draws in which calibrated forecasts do better than expected, and its interval covers."""
    rows = []
    generator = np.random.default_rng([seed, 1])
    for _ in range(draws):
        p = sharp(generator)
        own = p[np.arange(SIZE), outcomes_of(p, generator)]
        cells = []
        for r in RISKS:
            value, fair = (own**r, (p ** (1.0 + r)).sum(axis=1)) if r else (np.log(own), (p * np.log(p)).sum(axis=1))
            gap = (value - fair) * (np.sign(r) if r else 1.0)  # positive: better than expected
            half = 1.96 * gap.std(ddof=1) / math.sqrt(SIZE)
            cells.append((gap.mean() > 0.0, abs(gap.mean()) <= half))
        rows.append(cells)
    held = np.array(rows)
    return {f"{r:g}": {"better": share(held[:, at, 0]), "covered": share(held[:, at, 1])} for at, r in enumerate(RISKS)}


def preferred(draws: int, seed: int) -> dict[str, Any]:
    """Return which of three reports of calibrated forecasts each local mean prefers, and how often."""
    generator = np.random.default_rng([seed, 2])
    wins: dict[str, list[str]] = {name: [] for name in MEANS}
    for _ in range(draws):
        x = generator.normal(0.0, 2.0, SIZE)
        q = softmax(np.column_stack([np.zeros(SIZE), x]))
        y = outcomes_of(q, generator)
        reports = {name: softmax(np.column_stack([np.zeros(SIZE), b * x])) for name, b in POWERS.items()}
        for name, r in MEANS.items():
            values = {word: log_generalized_mean(np.log(p[np.arange(SIZE), y]), [r])[0] for word, p in reports.items()}
            wins[name].append(max(values, key=lambda word: values[word]))
    return {name: {word: share([one == word for one in chosen]) for word in POWERS} for name, chosen in wins.items()}


def two_experts(draws: int, seed: int) -> dict[str, Any]:
    """Return score and event half of A, who knows the lower half of uniform risks, less those of B (the upper half)."""
    generator = np.random.default_rng([seed, 3])
    found: dict[str, list[Any]] = {f"{r:g}": [] for r in HALVES}
    for _ in range(draws):
        q = generator.random(SIZE)
        a, b = np.where(q < 0.5, q, 0.75), np.where(q > 0.5, q, 0.25)
        for r in HALVES:
            rule = power(r)
            score, half = [], []
            for p in (a, b):  # the mean over both outcomes given q: less noise than drawn outcomes
                rows = np.column_stack([1.0 - p, p])
                truth = np.column_stack([1.0 - q, q])
                score.append(float(sum((truth[:, y] * rule.score(rows, np.full(SIZE, y))).mean() for y in (0, 1))))
                half.append(((1.0 - q) * event_half(p, np.zeros(SIZE), r) + q * event_half(p, np.ones(SIZE), r)).mean())
            found[f"{r:g}"].append((score[0] - score[1], half[0] - half[1]))
    return {
        r: {"score": over_draws(np.array(v)[:, 0]), "event half": over_draws(np.array(v)[:, 1])}
        for r, v in found.items()
    }


def study(seed: int = 0, short: bool = False) -> Results:
    """Return the three simulations."""
    draws = 20 if short else 1000
    return {
        "draws": draws,
        "below": below_half(draws, seed),
        "preferred": preferred(draws // 2, seed),
        "experts": two_experts(draws // 2, seed),
    }


def best_report(q: Array, r: float) -> Array:
    """Return the report that maximises the expected local mean of power r < 1: odds (true odds)^(1/(1 − r))."""
    odds = (q / (1.0 - q)) ** (1.0 / (1.0 - r))
    return np.asarray(odds / (1.0 + odds))


def page(results: Results) -> Page:
    """Return the page from the kept results."""
    below, chosen, experts = results["below"], results["preferred"], results["experts"]
    q = np.linspace(0.005, 0.995, 199)
    reports = {"r = −2/3 (robustness)": -2 / 3, "r = 0 (log score)": 0.0, "r = 0.5": 0.5}
    chart = _charts.curves(
        [({"local mean": name}, q, best_report(q, r)) for name, r in reports.items()],
        "true probability", "best report", colour="local mean", dash="local mean", y_domain=(0.0, 1.0),
        dashes=list(reports), title="What a local mean rewards", legend_columns=1,
    )  # fmt: skip
    c = np.linspace(0.01, 1.0, 200)
    weights = _charts.curves(
        [({"r": f"{r:g}"}, c, np.minimum((1.0 + r) * c ** (r - 1.0), 8.0)) for r in HALVES],
        "threshold c", "weight in the event half", colour="r", dash="r", y_domain=(0.0, 6.0),
        dashes=[f"{r:g}" for r in HALVES], title="Which thresholds count", legend_columns=6,
    )  # fmt: skip
    rng = np.random.default_rng(5)
    p = rng.random(50)
    two = [np.array([power(r).score(np.column_stack([1 - p, p]), np.full(50, y)) for y in (0, 1)]) for r in (1.0, 2.0)]
    tables = [
        Table(
            "Thresholds of the event half, and A (knows the low risks) less B (knows the high ones): negative, A is "
            "better",
            ["r", "half of the weight lies below c =", "mean threshold", "score of r", "event half of r"],
            [
                [
                    f"{r:g}",
                    f"{0.5 ** (1 / r):.3f}" if r > 0 else "0 (infinite weight at 0)",
                    f"{r / (1 + r):.3f}" if r > 0 else "–",
                    text_of(experts[f"{r:g}"]["score"], 4),
                    text_of(experts[f"{r:g}"]["event half"], 4),
                ]
                for r in HALVES
            ],
        ),
        Table(
            "Which report of calibrated forecasts has the highest local mean (n = 1,000)",
            ["local mean", *POWERS],
            [[name, *(percents(chosen[name][word]) for word in POWERS)] for name in MEANS],
        ),
        Table(
            f"Calibrated sharp forecasts, n = 1,000, {results['draws']:,} draws: 50 and 95 % would be right",
            ["r", "realised better than expected", "95 % interval of the difference covers 0"],
            [[f"{r:g}", percents(below[f"{r:g}"]["better"]), percents(below[f"{r:g}"]["covered"])] for r in RISKS],
        ),
    ]
    lowest = below["-0.9"]
    return Page(
        answer=(
            "Report r = 0; with two classes leave out r = 2 (it is three quarters of r = 1); if one kind of mistake "
            "costs more, add the event half whose ½^(1/r) is nearest to your threshold; and claim nothing below r = −½."
        ),
        method=(
            "Acting above a threshold c costs c/(1 − c) per false alarm against 1 per hit; every proper score of the "
            "family is a mixture of such losses. For two classes the mixture is symmetric in c and 1 − c, so r cannot "
            "tell those who fear misses from those who fear false alarms. Its event half can: it weighs thresholds by "
            "(1 + r) c^(r − 1), so half of the weight lies below ½^(1/r), and the mean threshold is r/(1 + r).",
            "p^3 + (1 − p)^3 = 1 − 3p(1 − p) and p² + (1 − p)² = 1 − 2p(1 − p): with two classes r = 2 and r = 1 rank "
            "every pair of forecasters alike.",
            "A calibrated forecaster's p_y^r has the variance Σ p^(1+2r) − (Σ p^(1+r))², which is bounded for r ≥ −½ "
            "only. Below, the mean is carried by cases that are mostly not in the sample: typical samples look too "
            "good.",
            "Decisiveness and robustness are local means. Away from r = 0 their best report is not the truth: at r = "
            "−2/3 odds (true odds)^0.6, at r = 1 certainty. They say how the probabilities spread around the geometric "
            "mean; they cannot choose between models.",
        ),
        simulation=(
            f"{results['draws']:,} draws of 1,000 calibrated forecasts with log-odds N(0, 4²) for what happens below "
            f"−½; {results['draws'] // 2:,} of log-odds N(0, 2²), reported in three ways; {results['draws'] // 2:,} of "
            "uniform risks, of which A knows the lower and B the upper half. Intervals: 95 %."
        ),
        fails=(
            "At r = −½ itself the interval is a little short for very sharp forecasts "
            f"(it covers {percents(below['-0.5']['covered'])}); from −¼ up it holds.",
            "Beyond two classes r = 1 and r = 2 differ, and the halves are one for each class.",
        ),
        claims=(
            Claim(
                "A and B have equal scores at every r, and the event half separates them below and above r = 1",
                all(abs(one["score"]["mean"]) < 0.002 or one["score"]["low"] <= 0 <= one["score"]["high"]
                    for one in experts.values())
                and experts["-0.5"]["event half"]["high"] < 0 < experts["2"]["event half"]["low"],
            ),
            Claim(
                "with two classes the score of r = 2 is ¾ of that of r = 1",
                bool(np.allclose(two[1], 0.75 * two[0], atol=1e-12)),
            ),
            Claim(
                "robustness prefers the flattened and decisiveness the sharpened report to the truth in 95 % or more",
                chosen["robustness, r = −2/3"]["flattened, odds to the 0.6"]["mean"] >= 0.95
                and chosen["decisiveness, r = 1"]["sharpened, odds squared"]["mean"] >= 0.95,
            ),
            Claim(
                "the geometric accuracy prefers the truth in 95 % or more",
                chosen["geometric accuracy, r = 0"]["as it is"]["mean"] >= 0.95,
            ),
            Claim(
                f"at r = −0.9 calibrated forecasts look better than expected in {percents(lowest['better'])} of draws, "
                "far from 50",
                lowest["better"]["low"] > 0.6,
            ),
        ),
        tables=tables,
        figures=[Figure("Left: thresholds that the event half weighs. Right: the report with the highest expected "
                        "local mean.", _charts.side_by_side(weights, chart, columns=2))],
    )  # fmt: skip
