"""Question 2: do the gaps between expected, reported and measured profile tell the kind of error?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from papers.questions import Claim, Page, Results, Table
from papers.questions._draws import percents, share
from veracity.formulas.distributions import CoupledNormal
from veracity.formulas.means import log_generalized_mean
from veracity.simulate import TwoClasses
from veracity.types import Array

QUESTION = "Does the shape of the risk profile tell which kind of error the model makes?"
PAPERS = "N17"
KINDS = ("mean", "variance", "tail", "amplitude")
DIRECTIONS = ("down", "up")
RISKS = (-0.5, -0.25, 0.0, 0.5, 1.0, 2.0)
ROWS, BINS = 2000, 20
RANGES = {  # of the wrong value; the true ones are 2, 1, the source's κ and 1
    "mean": ((0.8, 1.6), (2.4, 3.2)),
    "variance": ((0.4, 0.8), (1.3, 2.5)),
    "tail": ((0.0, 0.6), (1.6, 3.0)),  # factors of κ
    "amplitude": ((0.4, 0.75), (1.35, 2.5)),
}
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
    "forest": lambda: RandomForestClassifier(200, min_samples_leaf=3, random_state=0),
}


def scene(kind: str, direction: str, generator: np.random.Generator, *, kappa: float = 0.5, mean: float = 2.0) -> Any:
    """Return N17's two classes with one error of this kind in the model, its size drawn."""
    wrong = generator.uniform(*RANGES[kind][DIRECTIONS.index(direction)])
    source = (CoupledNormal(0.0, 1.0, kappa), CoupledNormal(mean, 1.0, kappa))
    if kind == "mean":
        return TwoClasses(source, (source[0], CoupledNormal(mean * wrong / 2.0, 1.0, kappa)))
    if kind == "variance":
        return TwoClasses(source, (source[0], CoupledNormal(mean, math.sqrt(wrong), kappa)))
    if kind == "tail":
        return TwoClasses(source, (CoupledNormal(0.0, 1.0, kappa * wrong), CoupledNormal(mean, 1.0, kappa * wrong)))
    return TwoClasses(source, source, wrong)


def features(p: Array, y: Array) -> Array:
    """Return log gaps by r: reported less expected, and reported less measured for all cases and for each class.

    Measured means use event frequencies of 20 bins with equal numbers of cases, with one case added at the mean.
    """
    order = np.argsort(p[:, 1], kind="stable")
    bins = np.empty(len(p), dtype=np.int64)
    bins[order] = np.arange(len(p)) * BINS // len(p)
    frequency = (np.bincount(bins, y) + y.mean()) / (np.bincount(bins) + 1.0)
    own, measured = p[np.arange(len(p)), y], np.where(y == 1, frequency[bins], 1.0 - frequency[bins])
    reported = log_generalized_mean(np.log(own), RISKS)
    expected = [
        math.log((p ** (1.0 + r)).sum(axis=1).mean()) / r if r else (p * np.log(p)).sum(axis=1).mean() for r in RISKS
    ]
    gaps = [reported - np.array(expected)]
    for rows in (slice(None), y == 0, y == 1):
        gaps.append(
            log_generalized_mean(np.log(own[rows]), RISKS) - log_generalized_mean(np.log(measured[rows]), RISKS)
        )
    return np.concatenate(gaps)


def drawn(draws: int, seed: list[int], **source: float) -> tuple[Array, Array, Array]:
    """Return features, kinds and directions of draws of every kind and direction."""
    x, kinds, directions = [], [], []
    for k, kind in enumerate(KINDS):
        for d, direction in enumerate(DIRECTIONS):
            generator = np.random.default_rng([*seed, k, d])
            for _ in range(draws):
                forecasts = scene(kind, direction, generator, **source).draw(ROWS, generator)
                x.append(features(np.clip(forecasts.matrix, 1e-12, 1.0), forecasts.observed))
                kinds.append(k)
                directions.append(d)
    return np.array(x), np.array(kinds), np.array(directions)


def confusion(kinds: Array, named: Array) -> list[list[int]]:
    """Return counts: true kind by row, named kind by column."""
    table = np.zeros((len(KINDS), len(KINDS)), dtype=int)
    np.add.at(table, (kinds, named), 1)
    return [[int(v) for v in row] for row in table]


def study(seed: int = 0, short: bool = False) -> Results:
    """Return how often each classifier names the kind: the same source, another source, and a direction never seen."""
    draws = 6 if short else 200
    x, kinds, directions = drawn(draws, [seed, 1])
    other, other_kinds, _ = drawn(max(draws // 4, 5), [seed, 2], kappa=0.2, mean=1.5)
    results: dict[str, Any] = {"draws": draws, "rows": ROWS, "classifiers": {}}
    for name, make in list(CLASSIFIERS.items())[: 1 if short else None]:
        split = StratifiedKFold(5, shuffle=True, random_state=seed)
        same = cross_val_predict(make(), x, kinds, cv=split)
        moved = make().fit(x, kinds).predict(other)
        opposite = np.empty_like(kinds)
        for k in range(len(KINDS)):
            for d in range(len(DIRECTIONS)):
                held_out = (kinds == k) & (directions == d)
                opposite[held_out] = make().fit(x[~held_out], kinds[~held_out]).predict(x[held_out])
        results["classifiers"][name] = {
            "same": {"right": share(same == kinds), "confusion": confusion(kinds, same)},
            "other source": {"right": share(moved == other_kinds), "confusion": confusion(other_kinds, moved)},
            "opposite": {
                "right": share(opposite == kinds),
                "confusion": confusion(kinds, opposite),
                "by kind": {
                    kind: [share((opposite == kinds)[(kinds == k) & (directions == d)]) for d in range(len(DIRECTIONS))]
                    for k, kind in enumerate(KINDS)
                },
            },
        }
    return results


def page(results: Results) -> Page:
    """Return the page from the kept results."""
    found = results["classifiers"]
    same, opposite = ({name: one[which]["right"] for name, one in found.items()} for which in ("same", "opposite"))
    moved = [one["other source"]["right"] for one in found.values()]
    best = max(same.values(), key=lambda value: value["mean"])
    held = max(opposite.values(), key=lambda value: value["mean"])
    titles = {
        "same": "five-fold cross-validation",
        "other source": "another source (κ = 0.2, means 0 and 1.5)",
        "opposite": "each direction of each kind held out in turn",
    }
    tables = [
        Table(
            f"{name}, {title}: {percents(found[name][which]['right'])} right; true kind by row, named kind by column",
            ["", *KINDS],
            [[kind, *map(str, row)] for kind, row in zip(KINDS, found[name][which]["confusion"], strict=True)],
        )
        for which, title in titles.items()
        for name in found
    ]
    tables.append(
        Table(
            "Right where this direction was never seen in training",
            ["kind", *(f"{name}, {direction}" for name in found for direction in DIRECTIONS)],
            [
                [kind, *(percents(value) for name in found for value in found[name]["opposite"]["by kind"][kind])]
                for kind in KINDS
            ],
        )
    )
    return Page(
        answer=(
            "Do not read a kind of error (mean, variance, tail, amplitude) from the profile: a classifier of the gaps "
            f"names it in {percents(best)} of draws from the sources it was trained on, but in "
            f"{percents(held)} when the direction of the error is one that it has not seen; look at the reliability "
            "diagram of each class."
        ),
        method=(
            "N17 shows that errors of mean, variance, tail and amplitude move the three means differently. If the kind "
            "had a signature, the gaps would tell it whatever the size and direction of the error.",
            "Features: logarithms of reported ÷ expected and of reported ÷ measured means at six r from −½ to 2, for "
            "all cases and for each class. Classifiers: logistic regression and a random forest.",
        ),
        simulation=(
            f"{results['draws']} draws for each of four kinds and two directions, n = {results['rows']:,} each, error "
            "sizes drawn: N17's two classes on a line (κ = ½, means 0 and 2), the error in the orange model (tail: in "
            "both). Tested in three ways: on new draws, on another source, and on a direction left out of training."
        ),
        fails=(
            "This is the result: signatures belong to a direction, not to a kind. They carry over to another source "
            f"({percents(max(moved, key=lambda value: value['mean']))} right), but errors in opposite directions move "
            "the profile in opposite ways, so the one says nothing about the other.",
            "A direction left out halves its kind's share of the training draws, to one in seven; guessing would still "
            "be right more often.",
            "Nothing of this is in the report.",
        ),
        claims=(
            Claim("on its own sources the better classifier is right in 80 % or more", best["mean"] >= 0.8),
            Claim(
                "on a direction never seen, neither is right more often than in 50 % of draws",
                held["high"] <= 0.5,
            ),
        ),
        tables=tables,
    )
