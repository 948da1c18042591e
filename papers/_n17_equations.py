"""N17's equations on small examples, and its procedure (15)–(19) written apart from the package."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity import assess
from veracity.formulas import coupled, means, tables
from veracity.formulas.distributions import CoupledNormal
from veracity.inputs import Forecasts
from veracity.simulate import EXAMPLES, simulate

from ._population import MEANS, Population
from ._rows import Row, Section, claim, identity, shown

Array = NDArray[Any]


def histogram(f: Forecasts, limit: float = 0.01) -> tuple[Array, Array, list[dict[str, Any]]]:
    """Return (model means, source means, bins) of N17's procedure (15)–(19) per class.

    Clipped, in bins of width 0.01, weighted by true events, which makes (18) and (19) right for unequal bins.
    """
    matrix = np.clip(f.matrix, limit, 1.0 - limit)
    bins: list[dict[str, Any]] = []
    for j, label in enumerate(("green", "orange")):
        u, true = matrix[:, j], f.outcomes == j
        k = np.floor(u * 100.0 + 1e-9).astype(int)
        every, hits = np.bincount(k, minlength=101), np.bincount(k[true], minlength=101)
        logs = np.bincount(k[true], weights=np.log(u[true]), minlength=101)
        for b in np.flatnonzero(hits):
            source, model = float(hits[b] / every[b]), math.exp(logs[b] / hits[b])
            bins.append({"class": label, "true events": int(hits[b]), "source": source, "model": model})
    realised = matrix[np.arange(len(f)), f.outcomes]
    weights = np.array([b["true events"] for b in bins], dtype=np.float64)
    sources = means.generalized_mean([b["source"] for b in bins], MEANS, weights)
    return np.asarray(means.generalized_mean(realised, MEANS)), np.asarray(sources), bins


def equations() -> Section:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    realised = np.array([0.2, 0.5, 0.9, 0.99])
    weights = np.array([0.1, 0.4, 0.3, 0.2])
    h, ce, div = means.entropy(p), means.cross_entropy(q, p), means.divergence(q, p)
    spread = float(np.log(realised).std())
    rows = [
        identity(
            "(1) weighted geometric mean",
            float(means.generalized_mean(realised, 0, weights)),
            np.prod(realised**weights),
        ),
        identity(
            "(2) average probability of N forecasts",
            float(means.geometric_accuracy(realised)),
            np.prod(realised) ** (1 / 4),
        ),
        *_proof(),
        identity("(6) cross-entropy = entropy + divergence", ce, h + div),
        identity("(7) P_ce = P_ent P_div", math.exp(-ce), math.exp(-h) * math.exp(-div)),
        identity("(8) P_div = Π (q/p)^p", math.exp(-div), np.prod((q / p) ** p)),
        identity("(9) P_model = P_source P_div", np.prod(q**p), np.prod(p**p) * np.prod((q / p) ** p)),
        claim(
            "(10) spread of the log-probabilities",
            "exp of a root of a difference of squares, square and root misplaced",
            False,
            f"σ = {means.log_spread(realised):.6f} = standard deviation {spread:.6f}",
            "misprint: exp{[(1/N)Σ(ln p)² − ((1/N)Σ ln p)²]^½}",
        ),
        claim(
            "(11) m = 2κ/(1+dκ)",
            "positive sign",
            False,
            f"dual of 1: −2 as printed, {coupled.conjugate_risk(1.0):.6f} with r = −2κ/(1+dκ)",
            "the opposite sign of RP's r; only r = −2κ/(1+dκ) makes −2/3 the dual of 1",
        ),
        claim(
            "(12) Rényi entropy",
            "sum outside the logarithm",
            False,
            "−(1/m) ln Σ w p^m",
            "misprint: the sum belongs inside the logarithm; (13) is right",
        ),
        identity(
            "(13) generalized mean from (12)",
            math.exp(math.log((realised ** (-2 / 3)).mean()) / (-2 / 3)),
            float(means.robustness(realised)),
        ),
        identity(
            "(15), (18) means of bins, weighted by true events = mean of all, m = −2/3",
            means.generalized_mean(
                [float(means.robustness(part)) for part in np.split(realised, [1])], -2 / 3, [0.25, 0.75]
            ),
            float(means.robustness(realised)),
        ),
        claim(
            "(17) contribution of a bin",
            "weights P_k/ΣP_k, negative",
            False,
            "−(N*_k/N) ln Q_k",
            "the printed weights do not add up to the log of the geometric accuracy; −(N*_k/N) ln Q_k does",
        ),
        *_densities_and_sources(),
    ]
    return Section("Equations (1)–(19)", "Checked on small examples; misprints are listed with their correction.", rows)


def _proof() -> list[Row]:
    """Return rows of the proof that the average probability is the geometric mean, for Gaussian classes."""
    y = np.array([-0.4, 0.3, 1.7])
    prior = np.array([0.3, 0.7])
    likelihoods = np.column_stack([CoupledNormal(0.0).pdf(y), CoupledNormal(1.0).pdf(y)])
    assigned = tables.posterior(likelihoods, prior)
    joint = likelihoods * prior
    of_first = assigned[:, 0]
    return [
        identity("(3) Bayes' rule for one measurement", of_first[0], joint[0, 0] / joint[0].sum()),
        identity(
            "(4) total probability of independent decisions is the product",
            float(np.prod(of_first)),
            float(np.prod(joint[:, 0]) / np.prod(joint.sum(axis=1))),
        ),
        identity(
            "(5) average of the total: its N-th root is (2)",
            float(np.prod(of_first)) ** (1 / 3),
            float(means.geometric_accuracy(of_first)),
        ),
        identity(
            "Theorem 1: N times the average log-probability is that of the total",
            3 * math.log(float(means.geometric_accuracy(of_first))),
            float(np.log(of_first).sum()),
        ),
    ]


def _densities_and_sources() -> list[Row]:
    """Return rows of (14), (16) and (19): the density by hand, and the package's source beside plain bins."""
    kappa, scale = 0.25, np.array([[2.0, 0.5], [0.5, 1.0]])
    x = np.array([0.7, -0.4])
    q = float(x @ np.linalg.inv(scale) @ x)
    z = math.pi / kappa * math.gamma(1 / (2 * kappa)) / math.gamma((1 / kappa + 2) / 2)
    by_hand = (1 + kappa * q) ** (-(1 / kappa + 2) / 2) / (z * math.sqrt(np.linalg.det(scale)))
    f = simulate("n17-mean-1", 2_000)
    a = assess(f, preset="N17", curve="width")
    _, source, bins = histogram(f)
    assert a.papers.curve is not None
    of_classes = a.papers.by_curve("width", per_class=True)
    size = {label: sum(b["true events"] for b in bins if b["class"] == label) for label in ("green", "orange")}
    own = [one.source.geometric_accuracy for one in a.papers.classes.values()]
    whole = math.exp(sum(n * math.log(g) for n, g in zip(size.values(), own, strict=True)) / len(f))
    pooled = next(b for b in a.bins if b.low <= 0.5 < b.high)
    matrix = np.clip(f.matrix, 0.01, 0.99)
    held = (matrix >= 0.5) & (matrix < 0.51)
    hits = held[np.arange(len(f)), f.outcomes].sum()
    return [
        identity(
            "(14) coupled Gaussian in two dimensions, κ = 0.25",
            float(CoupledNormal(np.zeros(2), scale, kappa).pdf(x)),
            by_hand,
        ),
        identity("(16) frequency of the bin [0.50, 0.51)", float(pooled.source), float(hits / held.sum())),
        identity("(19) source of all classes from the sources of each", of_classes["geometric_accuracy"], whole),
        shown(
            "(19) simulated, orange mean 1, as published and corrected for its bins",
            f"{source[1]:.4f}, {of_classes['geometric_accuracy']:.4f}",
            f"the source's truth is {Population(EXAMPLES['mean-1'][1]).calibrated[1]:.4f}",
            value=float(source[1]),
        ),
    ]
