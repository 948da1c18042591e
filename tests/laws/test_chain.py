"""Laws of the chain: everything adds up, for every r, with what does not named."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from veracity import calibrators
from veracity.estimate.loss.ideal import ideal
from veracity.formulas.chain import PAIRS, Chain, corp
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts

RS = [-2 / 3, -0.3, 0.0, 0.5, 1.0]


def empirical(seed: int, k: int = 3, n: int = 120) -> tuple[Forecasts, np.ndarray]:
    """Scores that are a function of features with few values, and Q = mean of Y over equal features."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 4, (n, 2)).astype(float)
    table = rng.dirichlet(np.full(k, 0.9), 4)  # the score sees the first feature only
    scores = table[features[:, 0].astype(int)]
    truth = rng.dirichlet(np.ones(k), 16)[(features @ [4, 1]).astype(int)]
    outcomes = np.array([rng.choice(k, p=p) for p in truth])
    f = Forecasts(scores, outcomes, tuple(range(k)), features=features, weights=rng.random(n) + 0.1)
    found = ideal(f)
    assert found.Q is not None
    return f, found.Q


def adjusted(f: Forecasts, rule):
    name, options = calibrators.adjustment(rule)
    return calibrators.fit(name, f, **options)


def chain_of(f: Forecasts, Q: np.ndarray | None = None, map: str = "grouped") -> Chain:
    fitted = calibrators.fit(map, f)
    cells = fitted.cells(f.probabilities) if hasattr(fitted, "cells") else None
    return Chain(
        f.probabilities,
        f.outcomes,
        C=fitted.means if cells is not None else fitted(f.probabilities),
        cells=cells,
        A=lambda rule: adjusted(f, rule)(f.probabilities),
        Q=Q,
        mass=f.mass,
        counts=f.counts,
    )


@pytest.mark.parametrize("r", RS)
@pytest.mark.parametrize("seed", range(6))
def test_all_ten_three_term_identities(r, seed):
    f, Q = empirical(seed, k=3 + seed % 3)
    chain, rule = chain_of(f, Q), rule_of(r)
    fitted = adjusted(f, rule)
    mu = fitted.multipliers(f.probabilities) if hasattr(fitted, "multipliers") else np.zeros_like(Q)
    stages = {"A": chain.adjusted(rule), "C": chain.C[chain.cells], "Q": Q, "Y": np.eye(f.k)[f.outcomes]}
    if r <= 0 or r == 1:
        assert (mu == 0).all()
    for first, second, third in combinations("SACQY", 3):
        # only the step from S to A leaves a remainder: the multipliers where A touches the edge
        remainder = chain.mean((mu * stages[third]).sum(axis=1)) if first + second == "SA" else 0.0
        whole = chain.loss(rule, first, third)
        parts = chain.loss(rule, first, second) + chain.loss(rule, second, third)
        assert whole == pytest.approx(parts + remainder, abs=1e-11), first + second + third
        assert remainder >= 0


@pytest.mark.parametrize("r", RS)
def test_losses_are_named_and_add_up(r):
    f, Q = empirical(2)
    losses = chain_of(f, Q).losses(r)
    assert list(losses) == [*PAIRS, "remainder"]
    assert losses["L"] == pytest.approx(
        losses["AL"] + losses["PCL"] + losses["GL"] + losses["IL"] + losses["remainder"], abs=1e-12
    )
    assert all(value >= -1e-12 for value in losses.values())
    assert losses["AL"] <= losses["CL"] + 1e-12


def test_edges_leave_a_positive_remainder():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.full(4, 0.3), 40)
    f = Forecasts(scores, rng.integers(0, 4, 40), (0, 1, 2, 3))
    fitted = calibrators.fit("coherent", f, r=0.5)
    assert fitted.edge > 0
    remainder = chain_of(f).losses(0.5)["remainder"]
    assert remainder > 1e-6
    mu = fitted.multipliers(scores)[np.arange(40), f.outcomes].mean()
    assert remainder == pytest.approx(mu, abs=1e-12)  # every row its own group: C = Y and nothing else is left


def test_without_q_refinement_stays_whole():
    f, _ = empirical(1)
    losses = chain_of(f).losses("log")
    assert [name for name, value in losses.items() if value is None] == ["GL", "IL", "EL", "PEL"]
    assert losses["L"] == pytest.approx(losses["AL"] + losses["PCL"] + losses["RL"], abs=1e-11)
    with pytest.raises(ValueError, match="stage Q"):
        chain_of(f).loss("log", "C", "Q")


def test_without_a_the_rest_stays():
    f, Q = empirical(1)
    known = chain_of(f, Q)
    losses = Chain(f.probabilities, f.outcomes, C=known.C, cells=known.cells, Q=Q, mass=f.mass).losses("log")
    assert [name for name, value in losses.items() if value is None] == ["AL", "PCL", "PEL", "PL"]
    assert losses["remainder"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("r", [*RS, 2.0])
@pytest.mark.parametrize("map", ["grouped", "bins", "isotonic"])
def test_uncertainty_resolution_reliability_within(r, map):
    rng = np.random.default_rng(4)
    p = rng.beta(1, 2, 300).round(2).clip(0.01, 0.99)
    f = Forecasts(p, (rng.random(300) < p**0.7).astype(int), (0, 1))
    chain = chain_of(f, map=map)
    terms = chain.terms(r)
    total = terms["uncertainty"] - terms["resolution"] + terms["reliability"] + terms["within"]
    assert total == pytest.approx(chain.loss(r, "S", "Y"), abs=1e-12)
    assert terms["reliability"] >= 0
    assert 0 <= terms["resolution"] <= terms["uncertainty"] + 1e-12
    if map == "grouped":
        assert terms["within"] == pytest.approx(0, abs=1e-12)
    if map == "isotonic":  # pooling adjacent violators leaves a remainder of one sign for every r
        assert terms["within"] >= -1e-12


def test_within_is_variance_less_covariance_for_brier_and_a_log_ratio_for_log():
    rng = np.random.default_rng(5)
    scores = rng.dirichlet(np.ones(3), 400)
    f = Forecasts(scores, np.array([rng.choice(3, p=p) for p in scores]), (0, 1, 2))
    chain = chain_of(f, map="bins")
    terms = chain.terms("brier")
    assert terms["within"] == pytest.approx(terms["within_variance"] - terms["within_covariance"], abs=1e-13)
    assert terms["within_variance"] > 0
    sizes = np.bincount(chain.cells)
    means = np.array([np.bincount(chain.cells, weights=scores[:, j]) / sizes for j in range(3)]).T
    here = np.arange(400)
    log_ratio = np.log(means[chain.cells][here, f.outcomes] / scores[here, f.outcomes]).mean()
    assert chain.terms("log")["within"] == pytest.approx(log_ratio, abs=1e-13)
    # reliability is about the means of cells
    reliability = (sizes / 400) @ ((means - chain.C) ** 2).sum(axis=1)
    assert terms["reliability"] == pytest.approx(reliability, abs=1e-14)


@pytest.mark.parametrize("r", [-0.5, 0.0, 1.0])
def test_given_ideal_leaves_only_sampling_noise(r):
    rng = np.random.default_rng(6)
    Q = rng.dirichlet(np.ones(3), 500)
    outcomes = np.array([rng.choice(3, p=q) for q in Q])
    f = Forecasts(np.clip(Q, 0.05, 1) / np.clip(Q, 0.05, 1).sum(axis=1, keepdims=True), outcomes, (0, 1, 2), ideal=Q)
    losses = chain_of(f, ideal(f).Q).losses(r)
    residual = losses["L"] - losses["EL"] - losses["IL"]
    phi = rule_of(r)
    by_class = np.array(
        [phi.score(f.probabilities, np.full(500, j)) - phi.score(Q, np.full(500, j)) for j in range(3)]
    ).T
    assert residual == pytest.approx((by_class * (np.eye(3)[outcomes] - Q)).sum(axis=1).mean(), abs=1e-12)
    assert residual != 0


def test_infinite_losses_stay_infinite():
    scores = np.array([[1.0, 0.0], [0.7, 0.3], [0.7, 0.3], [0.2, 0.8]])
    f = Forecasts(scores, np.array([1, 0, 1, 1]), (0, 1))
    chain = chain_of(f)
    chain = Chain(scores, f.outcomes, C=chain.C, cells=chain.cells)
    losses, terms = chain.losses("log"), chain.terms("log")
    assert losses["L"] == losses["CL"] == np.inf
    assert np.isnan(losses["remainder"])
    assert np.isfinite(losses["RL"])
    assert terms["reliability"] == np.inf
    assert np.isnan(terms["within"])
    assert np.isfinite([chain.losses("brier")[name] for name in ("L", "CL", "RL")]).all()
    without = Chain(scores, f.outcomes, C=chain.C, cells=chain.cells, mass=np.array([0.0, 1, 1, 1]))
    assert np.isfinite(without.loss("log", "S", "Y"))


@pytest.mark.parametrize("r", [-0.5, 0.0, 0.5, 1.0])
def test_influences_have_the_value_as_mean_and_the_right_spread(r):
    rng = np.random.default_rng(8)
    table = np.array([0.15, 0.4, 0.6, 0.85])

    def sample(n):
        p = table[rng.integers(0, 4, n)]
        return Forecasts(p, (rng.random(n) < 0.05 + 0.6 * p).astype(int), (0, 1))

    drawn, spreads = [], []
    for draw in range(100):
        chain = chain_of(sample(1000))
        drawn.append(chain.losses(r))
        if draw < 10:
            rows = {name: chain.influence(r, name) for name in ("L", "CL", "RL", "AL", "PCL", "PL")}
            for name, values in rows.items():
                assert values.mean() == pytest.approx(drawn[-1][name], abs=1e-12)
            spreads.append({name: values.std() for name, values in rows.items()})
    for name in ("L", "CL", "RL", "AL", "PL"):
        observed = np.std([d[name] for d in drawn]) * np.sqrt(1000)
        spread = np.mean([d[name] for d in spreads])
        # 100 draws know a standard deviation to 7 %: four of them
        assert observed == pytest.approx(spread, rel=0.28), name


@pytest.mark.parametrize("r", [0.0, 1.0, 0.5, -0.5])
def test_corrections_remove_the_bias_of_counting_in_sample(r):
    rng = np.random.default_rng(9)
    truth = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    scores = np.array([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.2, 0.3, 0.5]])
    rule, pi = rule_of(r), truth.mean(axis=0)
    exact = {
        "uncertainty": rule.entropy(pi),
        "resolution": rule.divergence(pi, truth).mean(),
        "reliability": rule.divergence(scores, truth).mean(),
    }
    cell = np.repeat(np.arange(3), 40)
    plain, corrected = [], []
    for _ in range(500):
        outcomes = (rng.random(120)[:, None] > truth[cell].cumsum(axis=1)).sum(axis=1)
        chain = chain_of(Forecasts(scores[cell], outcomes, (0, 1, 2)))
        terms, off = chain.terms(r), chain.corrections(r)
        plain.append([terms[name] for name in exact])
        corrected.append([terms[name] - off[name] for name in exact])
    bias = np.mean(plain, axis=0) - list(exact.values())
    left = np.mean(corrected, axis=0) - list(exact.values())
    error = np.std(corrected, axis=0) / np.sqrt(500)
    assert (np.abs(bias[1:]) > 6 * error[1:]).all()  # what is corrected is there
    assert (np.abs(left) < 4 * error + (0 if r in (0.0, 1.0) else 3e-4)).all()  # second order elsewhere


def test_corrections_keep_the_sum_and_count_rows():
    f, _ = empirical(3)
    chain = chain_of(f)
    for rule in ("log", "brier"):
        off = chain.corrections(rule)
        assert off["uncertainty"] - off["resolution"] + off["reliability"] == pytest.approx(0, abs=1e-15)
        assert off["CL"] + off["RL"] == 0
    counts = np.random.default_rng(0).integers(1, 4, len(f))
    few = Forecasts(f.probabilities, f.outcomes, f.classes, counts=counts)
    many = Forecasts(np.repeat(f.probabilities, counts, axis=0), np.repeat(f.outcomes, counts), f.classes)
    assert chain_of(few).corrections("brier") == pytest.approx(chain_of(many).corrections("brier"), abs=1e-13)
    assert chain_of(few).terms("log") == pytest.approx(chain_of(many).terms("log"), abs=1e-12)


def test_profile_is_the_terms_as_shares():
    f, _ = empirical(0)
    chain = chain_of(f)
    profile = chain.profile([-2 / 3, 0.0, 1.0, 2.0])
    assert list(profile) == [
        *("r", "uncertainty", "resolution", "reliability", "within"),
        *("adjustment", "post_calibration", "refinement", "remainder"),
    ]
    assert profile["uncertainty"] == [1.0] * 4
    for i, r in enumerate(profile["r"]):
        unit, losses = chain.terms(r)["uncertainty"], chain.losses(r)
        for name, loss in (("adjustment", "AL"), ("post_calibration", "PCL"), ("refinement", "RL")):
            assert profile[name][i] == pytest.approx(losses[loss] / unit, abs=1e-12)
        assert profile["remainder"][i] == pytest.approx(losses["remainder"] / unit, abs=1e-11)


def test_profile_of_one_outcome_is_undefined():
    f = Forecasts(np.array([0.2, 0.4]), np.array([0, 0]), (0, 1))
    assert chain_of(f).profile([0.0])["resolution"] == [None]


@pytest.mark.parametrize("pair", ["YS", "SS ", "XY", ""])
def test_unknown_pairs_are_refused(pair):
    f, Q = empirical(0)
    with pytest.raises(ValueError, match="stages in order"):
        chain_of(f, Q).loss("log", pair[:1], pair[1:])


def test_other_rules_have_no_corrections():
    f, _ = empirical(0)
    with pytest.raises(ValueError, match="power family"):
        chain_of(f).corrections("spherical")
    with pytest.raises(ValueError, match="cells"):
        chain_of(f, map="isotonic").corrections("log")


def test_corp_keeps_its_own_names_and_adds_up():
    rng = np.random.default_rng(2)
    p = rng.random(200)
    f = Forecasts(p, (rng.random(200) < p**2).astype(int), (0, 1))
    S, C = f.matrix, calibrators.fit("isotonic", f)(p)
    for rule in ("log", "brier", -0.5):
        terms = corp(rule, S, C, f.outcomes)
        assert list(terms) == ["miscalibration", "discrimination", "uncertainty"]
        assert terms["miscalibration"] - terms["discrimination"] + terms["uncertainty"] == pytest.approx(
            rule_of(rule).score(S, f.outcomes).mean(), abs=1e-12
        )
        assert terms["miscalibration"] >= 0
        assert terms["discrimination"] >= 0
