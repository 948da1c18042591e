"""Question 5: does adjustment to class frequencies pay when these are estimated?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import chi2

from papers import _charts
from papers._rows import Figure
from papers.questions import Claim, Page, Results, Table
from papers.questions._draws import over_draws, panels, share, softmax, text_of
from veracity.calibrators import black_box, em, multiplicative
from veracity.inputs import Forecasts
from veracity.types import Array

QUESTION = "Does adjustment to class frequencies pay when these are estimated?"
PAPERS = "KF15"
BEFORE = {2: np.array([0.7, 0.3]), 5: np.array([0.4, 0.25, 0.15, 0.12, 0.08])}
SHIFTS = (0.0, 0.1, 0.25, 0.5, 1.0)  # of the way from the frequencies before to the same in reverse order
POWERS = {"calibrated": 1.0, "over-confident": 1.5, "under-confident": 0.67}
SIZES = (50, 200, 1000, 5000)
REFERENCE = 1000  # cases with outcomes from before the shift
ENOUGH = 100  # cases a class without outcomes: what the rule asks for
SEPARATION = 1.5  # of the class means, in standard deviations: 83 and 67 % of the picks are right for 2 and 5 classes
METHODS = {
    "outcomes": "frequencies of the outcomes themselves",
    "known": "known frequencies, KF15's adjustment",
    "odds": "known frequencies, odds times new over old",
    "em": "EM",
    "bbse": "black-box shift estimation, mean probabilities",
    "picks": "black-box shift estimation, picks",
}


def scene(k: int, n: int, shift: float, power: float, generator: np.random.Generator) -> Any:
    """Return a reference with outcomes, scores and outcomes here, true probabilities here, frequencies before and here.

    Densities of the classes stay the same. Scores are the true probabilities before the shift, to a power.
    """
    before = BEFORE[k]
    here = (1.0 - shift) * before + shift * before[::-1]

    def evidence(size: int, frequencies: Array) -> tuple[Array, Array]:
        y = generator.choice(k, size, p=frequencies)
        return y, SEPARATION * (generator.standard_normal((size, k)) + SEPARATION * np.eye(k)[y])

    y_ref, z_ref = evidence(REFERENCE, before)
    y, z = evidence(n, here)
    scored = [softmax(power * (part + np.log(before))) for part in (z_ref, z)]
    reference = Forecasts(scored[0], y_ref, tuple(range(k)))
    return reference, scored[1], y, softmax(z + np.log(here)), before, here


def one_draw(
    k: int, n: int, shift: float, power: float, generator: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return {method: (log loss saved in nats, p that nothing changed)}; NaN where there is no estimate."""
    reference, scores, y, truth, before, here = scene(k, n, shift, power, generator)
    forecasts = Forecasts(scores, None, reference.classes)

    def loss(rows: Array) -> float:
        return float(-(truth * np.log(np.maximum(rows, 1e-300))).sum(axis=1).mean())

    def matched(target: Array) -> float:
        return loss(scores) - loss(multiplicative.fit(forecasts, target=target)(scores))

    def weighted(ratio: Array) -> Array:
        rows = scores * ratio
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    counts = np.bincount(y, minlength=k)
    found = {
        "outcomes": (matched(counts / n), np.nan),
        "known": (matched(here), np.nan),
        "odds": (loss(scores) - loss(weighted(here / before)), np.nan),
    }
    estimates: dict[str, Callable[[], Any]] = {
        "em": lambda: em(forecasts, before),
        "bbse": lambda: black_box(forecasts, reference),
        "picks": lambda: black_box(picked(forecasts), picked(reference)),
    }
    for name, estimate in estimates.items():
        try:
            frequencies, finding = estimate()
            found[name] = (matched(frequencies), finding.p)
        except ValueError:
            found[name] = (np.nan, np.nan)
    return found


def picked(forecasts: Forecasts) -> Forecasts:
    """Return the picks as forecasts: 1 for the most probable class."""
    rows = forecasts.matrix
    return Forecasts(np.eye(forecasts.k)[rows.argmax(axis=1)], forecasts.outcomes, forecasts.classes)


def rules(k: int) -> dict[str, float]:
    """Return the largest p at which each rule adjusts."""
    return {"always": 1.0, "twice its freedom": float(chi2.sf(2.0 * (k - 1), k - 1)), "p ≤ .05": 0.05}


def study(seed: int = 0, short: bool = False) -> Results:
    """Return nats saved by classes, calibration, size, shift, method and rule; without an estimate nothing is saved."""
    draws = 2 if short else 200
    cells = []
    for k in BEFORE:
        for word, power in POWERS.items():
            for n in SIZES[::2] if short else SIZES:
                for shift in SHIFTS:
                    generator = np.random.default_rng([seed, k, int(100 * power), n, int(100 * shift)])
                    drawn = [one_draw(k, n, shift, power, generator) for _ in range(draws)]
                    cell: dict[str, Any] = {"classes": k, "scores": word, "n": n, "shift": shift}
                    for method in METHODS:
                        gain, p = np.array([one[method] for one in drawn]).T
                        cell[method] = over_draws(np.nan_to_num(gain))
                        if method in ("em", "bbse", "picks"):
                            cell[f"{method} refused"] = share(np.isnan(gain))
                            for rule, most in rules(k).items():
                                adjusts = np.nan_to_num(p, nan=2.0) <= most
                                cell[f"{method}, {rule}"] = over_draws(np.where(adjusts, np.nan_to_num(gain), 0.0))
                                cell[f"{method}, {rule}, adjusted"] = share(adjusts)
                    cells.append(cell)
    return {"draws": draws, "reference": REFERENCE, "cells": cells}


def page(results: Results) -> Page:
    """Return the page from the kept results."""
    cells, draws = results["cells"], results["draws"]

    def chosen(**wanted: Any) -> list[Any]:
        return [cell for cell in cells if all(cell[key] == value for key, value in wanted.items())]

    def means(method: str, rows: list[Any]) -> list[float]:
        return [1000.0 * cell[method]["mean"] for cell in rows]

    large = [cell for cell in cells if cell["n"] >= ENOUGH * cell["classes"]]
    small = [cell for cell in cells if cell["n"] < ENOUGH * cell["classes"]]
    still = [cell for cell in cells if cell["shift"] == 0.0]
    gated, always = "bbse, p ≤ .05", "bbse"
    calibrated = [cell for cell in large if cell["scores"] == "calibrated"]
    flat = [cell for cell in large if cell["scores"] == "under-confident"]
    fired = [
        1000.0 * cell[gated]["mean"] / cell[f"{gated}, adjusted"]["mean"]
        for cell in large
        if cell["shift"] == 0.0 and cell[f"{gated}, adjusted"]["mean"] > 0.0
    ]
    alarms = [cell["bbse, p ≤ .05, adjusted"]["mean"] for cell in still]
    false = float(np.mean(alarms))
    shown = {
        "EM": "em",
        "EM, p ≤ .05": "em, p ≤ .05",
        "black box": always,
        "black box, p ≤ .05": gated,
        "known, KF15": "known",
        "known, odds": "odds",
    }
    tables = [
        Table(
            f"Log loss saved in thousandths of a nat, {k} classes, {word} scores, {draws} draws",
            ["cases", "shift", *shown, "black box, p ≤ .05, with interval", "adjusts"],
            [
                [
                    f"{cell['n']:,}",
                    f"{cell['shift']:g}",
                    *(f"{1000.0 * cell[method]['mean']:.1f}" for method in shown.values()),
                    text_of(cell[gated], 1, 1000.0),
                    f"{100 * cell['bbse, p ≤ .05, adjusted']['mean']:.0f} %",
                ]
                for cell in chosen(classes=k, scores=word)
            ],
        )
        for k in BEFORE
        for word in POWERS
    ]
    labels = ["EM", "black box", "black box, p ≤ .05", "known, odds"]
    charts = [
        _charts.curves(
            [
                ({"frequencies": name}, SHIFTS[:3], means(shown[name], chosen(classes=5, scores=word, n=1000))[:3])
                for name in labels
            ],
            "shift",
            "thousandths of a nat saved",
            colour="frequencies",
            dash="frequencies",
            y_domain=(-160.0, 60.0),
            dashes=labels,
            legend_columns=3,
            title=word,
            width=200,
        )
        for word in POWERS
    ]
    worst: dict[str, float] = min((cell[gated] for cell in large), key=lambda value: value["mean"])
    worst_em = min(means("em", flat))
    shifted = [cell for cell in large if cell["shift"] > 0.0]
    return Page(
        answer=(
            "Adjust to estimated frequencies only where they differ from those before by more than chance (p ≤ .05) "
            f"and there are {ENOUGH} cases a class: `adjust --to bbse` with cases from before the shift then saved "
            f"{np.mean(means(gated, shifted)):.0f} thousandths of a nat on average over the settings with a shift "
            f"and lost {-1000.0 * worst['mean']:.1f} (up to {-1000.0 * worst['low']:.1f}) in the worst of all "
            f"{len(large)}; EM is better by a little when scores are calibrated and loses up to {-worst_em:.0f} when "
            "they are under-confident."
        ),
        method=(
            "Label shift: class frequencies change, cases within a class do not. EM (Saerens et al. 2002) maximises "
            "the likelihood of the frequencies, taking the scores for true probabilities before the shift. Black-box "
            "shift estimation (Lipton et al. 2018) takes the scores for anything: with C_ij = E[h_i; y = j] before and "
            "mean h now, C·(π/π before) = mean h. With h the probabilities themselves it needs fewer cases than with "
            "picks.",
            "The estimate has an error δ, and the loss after adjustment is quadratic in it: adjustment saves about "
            "what the true shift is worth, less what the error costs. So it pays where the estimated change is large "
            "against its standard error: Wald's χ² of the change, with the errors of both samples. The rule adjusts at "
            "p ≤ .05.",
        ),
        simulation=(
            f"{draws} draws of each of 120 cells: 2 and 5 classes, n = 50 to 5,000 cases without outcomes, "
            f"{results['reference']:,} with outcomes from before, a shift of 0 to all the way to the frequencies in "
            "reverse order; scores calibrated, over-confident (power 1.5) or under-confident (.67). The loss is the "
            "expected one given the features. An estimate with a negative frequency is refused and saves 0."
        ),
        fails=(
            f"Below {ENOUGH} cases a class the rule loses up to {-min(means(gated, small)):.0f} thousandths on "
            "average: the test finds shifts whose size it cannot tell.",
            "An estimate that passes the test by chance is too large: without any shift the rule fires in "
            f"{100 * false:.0f} % of samples, and then costs up to {-min(fired):.0f} thousandths at {ENOUGH} cases a "
            "class or more. If no shift is plausible, do not adjust.",
            "Known population frequencies do not always pay either: KF15's adjustment gives the mean of the sample the "
            f"frequencies of the population, which costs up to {-min(means('known', still)):.0f} thousandths at n = 50 "
            "without any shift. Multiplying the odds by new ÷ old frequencies costs nothing there, and repairs no "
            "calibration.",
            "If cases within a class change too (other than label shift), no rule here can see it.",
        ),
        claims=(
            Claim(
                f"with {ENOUGH} cases a class the rule loses at most 4 thousandths in every setting, mean of its draws",
                worst["mean"] >= -0.004,
            ),
            Claim(
                f"without a shift the rule adjusts in {100 * false:.1f} % of draws, mean over {len(alarms)} cells "
                f"(single cells {100 * min(alarms):.1f} to {100 * max(alarms):.1f} %): between 3 and 7 %",
                0.03 <= false <= 0.07,
            ),
            Claim(
                f"with {ENOUGH} cases a class and a quarter of the way or more it gains in every cell, on average",
                all(cell[gated]["mean"] > 0.0 for cell in large if cell["shift"] >= 0.25),
            ),
            Claim(
                "for calibrated scores and as many cases EM saves at least as much as the black box in every cell",
                all(a >= b - 0.1 for a, b in zip(means("em", calibrated), means(always, calibrated), strict=True)),
            ),
            Claim(
                "for under-confident scores EM loses in most of these cells, whatever the rule",
                float(np.mean([v < 0.0 for v in means("em, p ≤ .05", flat)])) > 0.5,
            ),
            Claim(
                "mean probabilities beat picks in every one of these cells",
                all(a >= b - 0.1 for a, b in zip(means(always, large), means("picks", large), strict=True)),
            ),
        ),
        tables=tables,
        figures=[Figure("Five classes, n = 1,000, smaller shifts.", panels(*charts))],
    )
