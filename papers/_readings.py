"""Readings of CQ's "incorrect-class predictions" of a bin, which the paper leaves open.

(a)  every probability of a class other than the outcome, N(k − 1) in all (N17 equation 16)
(b)  the picked class's probability only: wrong picks against right picks; a bin without picks has fraction 0
(b') the same, bins without picks left out
(c)  rows by the probability of the outcome: the share with a right pick
(d)  the probability of the outcome against the probability of wrong picks
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.formulas.means import generalized_mean
from veracity.inputs import Forecasts
from veracity.simulate import simulate

from . import Options
from ._rows import Section, claim, shown, slashed

Array = NDArray[Any]
MEANS = (-2.0 / 3.0, 0.0, 1.0)  # robustness, geometric accuracy, decisiveness
READINGS = ("a", "b", "b'", "c", "d")


def readings(f: Forecasts, bins: int = 20, floor: float = 0.005, ends: str = "auto") -> dict[str, Array]:
    """Return {"reported", "a", "b", "b'", "c", "d"}: the three means, bins weighted by their outcomes."""
    p, outcomes = f.matrix, np.asarray(f.outcomes)
    realised, picked = p[np.arange(len(p)), outcomes], p.max(axis=1)
    right = p.argmax(axis=1) == outcomes
    edges = _edges(realised, bins, floor, ends)

    def held(values: Array) -> Array:
        return np.histogram(values, edges)[0].astype(np.float64)

    true, picks, right_picks = held(realised), held(picked), held(picked[right])
    counted = {  # right and all predictions of a bin
        "a": (true, held(p.ravel())),
        "b": (right_picks, picks),
        "b'": (right_picks, picks),
        "c": (held(realised[right]), true),
        "d": (true, true + held(picked[~right])),
    }
    found = {"reported": np.asarray(generalized_mean(np.maximum(realised, floor), MEANS))}
    for name, (hits, every) in counted.items():
        fraction = np.divide(hits, every, out=np.zeros_like(hits), where=every > 0)
        some = (true > 0) & (every > 0) if name == "b'" else true > 0
        found[name] = np.asarray(generalized_mean(np.maximum(fraction[some], floor), MEANS, true[some]))
    return found


def _edges(realised: Array, bins: int, floor: float, ends: str) -> Array:
    """Return edges of bins with equal numbers of outcomes; the ends [0, floor) and [1 − floor, 1] apart.

    ends = "always", "auto" (when an end holds more than its share) or "never".
    """
    p = np.sort(realised)
    low, high = p < floor, p >= 1.0 - floor
    apart = [ends == "always" or (ends == "auto" and end.sum() > len(p) / bins) for end in (low, high)]
    rest = p[~((low & apart[0]) | (high & apart[1]))]
    parts = [part for part in np.array_split(rest, bins) if part.size]
    cuts = [(a[-1] + b[0]) / 2.0 for a, b in itertools.pairwise(parts)]
    outer = [edge for edge, own in zip((floor, 1.0 - floor), apart, strict=True) if own]
    return np.unique([0.0, *outer, *cuts, np.inf])


def section(options: Options) -> Section:
    """Return the section on "incorrect-class predictions": four readings and the signs of Table 1."""
    n, draws = (4_000, 2) if options.quick else (10_000, 4)
    found: dict[str, dict[str, Array]] = {}
    for word in ("calibrated", "sharp"):
        drawn = [
            readings(simulate(f"cq-alexnet-imagenet-{word}", n, seed=seed))
            for seed in range(options.seed, options.seed + draws)
        ]
        found[word] = {name: np.mean([one[name] for one in drawn], axis=0) for name in drawn[0]}
    about = {
        "a": "(a) every probability of another class than the outcome",
        "b": "(b) picks only, none in a bin: fraction 0",
        "b'": "(b') picks only, bins without picks left out",
        "c": "(c) rows by the probability of the outcome: share of right picks",
        "d": "(d) outcomes against wrong picks",
    }
    rows = []
    for name in READINGS:
        for word, means in found.items():
            rows.append(
                shown(
                    f"{about[name]}; {word}",
                    slashed(means[name]),
                    f"measured robustness / geometric accuracy / decisiveness; reported {slashed(means['reported'])}",
                    value=float(means[name][1]),
                    paper="0.054 / 0.185 / 0.444" if name == "a" else "–",
                )
            )
    sharp, calibrated = found["sharp"], found["calibrated"]
    without = sharp["b'"]
    above = "Table 1: measured ≥ reported"
    rows += [
        claim(
            "(a) robustness of the over-confident network",
            above,
            bool(sharp["a"][0] >= sharp["reported"][0]),
            f"{sharp['a'][0]:.3f} against {sharp['reported'][0]:.3f}",
            value=float(sharp["a"][0]),
        ),
        claim(
            "(b) robustness of the over-confident network",
            above,
            bool(sharp["b"][0] >= sharp["reported"][0]),
            f"{sharp['b'][0]:.3f} against {sharp['reported'][0]:.3f}",
            "not the paper's reading: in its four columns measured robustness is never below the reported one",
            value=float(sharp["b"][0]),
        ),
        claim(
            "(b') geometric accuracy of the over-confident network",
            "Table 1: measured ≤ reported (GTSRB)",
            bool(without[1] <= sharp["reported"][1]),
            f"{without[1]:.3f} against {sharp['reported'][1]:.3f}",
            "not the paper's reading: without the empty bins over-confidence would raise the geometric accuracy",
            value=float(without[1]),
        ),
        claim(
            "(c) decisiveness",
            "0.444 with 0.568 correct picks",
            bool(abs(calibrated["c"][2] - 0.444) < 0.02),
            f"{calibrated['c'][2]:.3f}",
            "not the paper's reading: the mean of these fractions is the share of correct picks, always",
            value=float(calibrated["c"][2]),
        ),
        claim(
            "(d) robustness",
            "0.054",
            bool(calibrated["d"][0] < 0.2),
            f"{calibrated['d'][0]:.3f}",
            "not the paper's reading: few wrong picks are set against all rows, so every fraction is large",
            value=float(calibrated["d"][0]),
        ),
    ]
    text = (
        f"Simulated AlexNet, ImageNet, mean of {draws} draws of {n:,} rows, γ = 0.005, B = 20, an end bin apart when "
        "it holds more than its share. Only reading (a), which N17 writes as equation 16, has the signs of Table 1."
    )
    return Section("Table 1: which predictions are incorrect ones", text, rows)
