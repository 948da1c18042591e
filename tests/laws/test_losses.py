"""Laws of the losses: what is shown adds up, for every rule, cross-fitted or by the exact chain."""

from __future__ import annotations

import numpy as np
import pytest

from veracity import calibrators
from veracity.estimate.loss.decomposition import PROFILE_R, adjustment, corp, decomposed_profile, decomposition
from veracity.estimate.loss.losses import chance_of_adjustment, losses
from veracity.estimate.loss.recalibration import recalibration
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts

RULES = ("log", "brier", -0.5, 0.5)


def sample(k: int, n: int = 1200, power: float = 1.5, seed: int = 0, bias: float = 0.0, **options) -> Forecasts:
    rng = np.random.default_rng([seed, k])
    z = rng.normal(0, 1.5, (n, k))
    shift = bias * (np.arange(k) == 0)
    q, s = (np.exp(v) / np.exp(v).sum(axis=1, keepdims=True) for v in (z, power * z + shift))
    y = (np.cumsum(q, axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    ideal = {"ideal": q} if options.pop("with_ideal", False) else {}
    return Forecasts(s, y, tuple(range(k)), **ideal, **options)


@pytest.fixture(scope="module", params=[2, 4])
def fitted(request):
    f = sample(request.param, bias=0.7)
    return f, recalibration(f)


@pytest.mark.parametrize("rule", RULES)
def test_crossfitted_losses_add_up_and_are_not_negative(fitted, rule):
    f, found = fitted
    made = losses(f, rule, found)
    assert pytest.approx(rule_of(rule).score(f.probabilities, f.outcomes).mean(), abs=1e-12) == made.L
    assert pytest.approx(made.CL + made.RL, abs=1e-12) == made.L
    assert pytest.approx(made.AL + made.PCL, abs=1e-12) == made.CL
    assert pytest.approx(made.AL + made.PL, abs=1e-12) == made.L
    assert min(made.AL, made.PCL, made.RL) >= 0.0
    assert max(made.raw["CL"], made.raw["AL"], 0.0) == made.CL
    assert made.remainder == 0.0
    assert 0.0 < made.AL.low <= made.AL <= made.AL.high
    assert 0.0 < made.CL.low <= made.CL
    assert made.CL.high is None
    assert "at least" in made.CL.method
    assert not made.GL.known


def test_an_upper_end_from_elsewhere_and_the_score_of_all_rows_are_used(fitted):
    f, found = fitted
    from veracity.records.reading import Reading

    made = losses(f, "log", found, upper=0.7, score=Reading(0.9, 0.8, 1.0))
    assert made.CL.high == 0.7
    assert made.L == 0.9
    assert pytest.approx(made.CL + made.RL, abs=1e-12) == made.L
    assert losses(f, "log", found, upper=0.0).CL.high >= made.CL


@pytest.mark.parametrize("k", [2, 5])
def test_calibrated_forecasts_have_nothing_to_gain(k):
    f = sample(k, 3000, power=1.0)
    for rule in RULES:
        made = losses(f, rule, recalibration(f))
        assert made.CL.low == 0.0
        assert made.CL < 0.004
        assert made.AL.low == 0.0


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("rule", RULES)
def test_ideal_forecasts_have_no_grouping_loss(k, rule):
    f = sample(k, 400, power=1.0, with_ideal=True)
    made = losses(f, rule, recalibration(f))
    assert pytest.approx(0.0, abs=1e-12) == made.EL
    assert pytest.approx(0.0, abs=1e-12) == made.GL
    assert pytest.approx(0.0, abs=1e-12) == made.CL
    assert pytest.approx(rule_of(rule).entropy(f.ideal).mean(), abs=1e-12) == made.IL
    assert made.remainder == pytest.approx(made.L - made.EL - made.IL, abs=1e-12)


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_a_forecast_that_sees_half_has_grouping_loss(rule):
    """Q depends on two bits, S tells one of them, calibrated: all of EL is grouping loss."""
    rng = np.random.default_rng(8)
    seen, hidden = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000)
    q = 0.2 + 0.3 * seen + 0.3 * hidden
    s = 0.35 + 0.3 * seen
    f = Forecasts(s, (rng.random(4000) < q).astype(int), (0, 1), ideal=q)
    truth = rule_of(rule).divergence(np.column_stack([1 - s, s]), np.column_stack([1 - q, q])).mean()
    made = losses(f, rule, recalibration(f))
    assert pytest.approx(truth, abs=1e-12) == made.EL
    assert pytest.approx(made.CL + made.GL, abs=1e-12) == made.EL
    assert pytest.approx(truth, abs=0.005) == made.GL
    exact = losses(f, rule, None, map="grouped")
    assert pytest.approx(exact.CL + exact.GL, abs=1e-12) == exact.EL  # C is the mean of Q over equal forecasts


@pytest.mark.parametrize("rule", RULES)
def test_calibration_and_grouping_loss_are_exact_where_forecasts_repeat_with_their_ideals(rule):
    """Own arithmetic: C is the mean ideal of equal forecasts; fewer cases of a forecast are cross-fitted."""
    rng = np.random.default_rng(11)
    cell = np.repeat(np.arange(6), 40)
    s, q = rng.dirichlet([3.0, 2.0, 1.0], 6)[cell], rng.dirichlet([2.0, 2.0, 2.0], 240)
    f = Forecasts(s, (rng.random(240)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1), (0, 1, 2), ideal=q)
    c = np.array([q[cell == i].mean(axis=0) for i in range(6)])[cell]
    made, divergence = losses(f, rule, recalibration(f)), rule_of(rule).divergence
    assert pytest.approx(divergence(s, c).mean(), abs=1e-9) == made.CL
    assert pytest.approx(divergence(c, q).mean(), abs=1e-9) == made.GL
    assert pytest.approx(made.L - divergence(s, c).mean(), abs=1e-9) == made.RL
    assert made.CL >= made.AL >= 0.0
    few = Forecasts(s[::4], f.outcomes[::4], (0, 1, 2), ideal=q[::4])
    assert "cross-fitted" in losses(few, rule, recalibration(few)).CL.method


def test_an_infinite_stage_c_is_a_finding_and_not_a_dropped_step():
    p = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.9])
    q = np.full(6, 0.5)
    f = Forecasts(p, np.array([0, 0, 0, 1, 1, 1]), (0, 1), ideal=q)
    made = losses(f, "log", None, map="isotonic")
    assert np.inf == made.GL
    assert "infinite_calibrated" in {note.code for note in made.findings}
    assert np.isfinite(losses(f, "log", recalibration(f)).GL)


def test_outcomes_that_had_probability_0_leave_a_finite_refinement_loss():
    f = sample(2, 400)
    p = f.probabilities[:, 1].copy()
    p[np.flatnonzero(f.outcomes == 1)[:2]] = 0.0
    f = Forecasts(p, f.outcomes, (0, 1))
    made = losses(f, "log", recalibration(f))
    assert np.inf == made.L
    assert np.inf == made.CL
    assert np.isfinite(made.RL)
    assert made.CL.low is None
    assert "probability 0" in made.CL.reason


def test_too_many_classes_for_their_frequencies_are_reported():
    f = sample(12, 150)
    made = losses(f, "log", recalibration(f))
    assert not made.AL.known
    assert "too few cases for the frequencies of 12 classes" in made.AL.reason
    assert made.CL >= 0.0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("map", ["grouped", "bins", "isotonic", "temperature"])
def test_the_exact_chain_is_that_of_its_map(rule, map):
    f = sample(3, 300)
    made = losses(f, rule, None, map=map)
    c = calibrators.fit(map, f)(f.probabilities)
    assert pytest.approx(rule_of(rule).divergence(f.probabilities, c).mean(), abs=1e-12) == made.CL
    assert pytest.approx(made.AL + made.PCL + made.RL + made.remainder, abs=1e-12) == made.L or np.isinf(made.RL)
    assert made.CL.low is None
    assert "same rows" in made.CL.reason
    assert made.L.low < made.L < made.L.high


def test_losses_outside_the_family_are_refused():
    f = sample(2, 100)
    with pytest.raises(ValueError, match="power family"):
        losses(f, "spherical", recalibration(f))
    with pytest.raises(ValueError, match="no probabilities"):
        losses(sample(3, 40, power=3.0, bias=2.0), "log", None, map="additive")


@pytest.mark.parametrize("rule", RULES)
def test_corrected_terms_have_the_sum_of_the_plain_ones(rule):
    f = sample(2, 800, power=1.0)
    terms = decomposition(f, rule)
    total = {}
    for name, t in (("corrected", terms), ("plain", terms.plain)):
        total[name] = t.uncertainty - t.resolution + t.reliability + t.within
    score = rule_of(rule).score(f.probabilities, f.outcomes).mean()
    assert total["corrected"] == pytest.approx(score, abs=1e-12)
    assert total["plain"] == pytest.approx(score, abs=1e-12)
    assert abs(terms.reliability) < terms.plain.reliability
    assert terms.uncertainty.low <= terms.uncertainty <= terms.uncertainty.high
    assert terms.resolution.low is None
    assert terms.resolution.reason


def test_plain_terms_of_grouped_forecasts_are_those_of_hb17():
    """Scenario C2 scored with the forecasts of C1 (HB17 Table 3): theory section 5."""
    counts = np.array([9, 3, 3, 14])  # no event and event, of each category
    p = np.repeat([6 / 104, 28 / 46], 2)
    terms = decomposition(Forecasts(p, np.array([0, 1, 0, 1]), (0, 1), counts=counts), "log", map="grouped").plain
    found = (terms.uncertainty, terms.resolution, terms.reliability, terms.within)
    assert found == pytest.approx((0.678209, 0.172347, 0.144401, 0.0), abs=5e-7)


def test_repeated_forecasts_are_their_own_cells():
    rng = np.random.default_rng(9)
    p = rng.integers(1, 10, 2000) / 10
    f = Forecasts(p, (rng.random(2000) < p).astype(int), (0, 1))
    terms = decomposition(f, "log")
    assert terms.map == "grouped"
    assert terms.within == pytest.approx(0.0, abs=1e-12)
    assert "smoothed_grouped" in recalibration(f).members
    assert decomposition(sample(2, 300), "log").map == "bins"


def test_the_profile_agrees_with_the_losses(fitted):
    f, found = fitted
    profile = decomposed_profile(f, found)
    assert profile.r == PROFILE_R
    assert len(PROFILE_R) == 25
    for r in (0.0, 1.0):
        at = int(np.argmin(np.abs(np.array(PROFILE_R) - r)))
        made, terms = losses(f, r, found), decomposition(f, r)
        unit = terms.uncertainty
        assert profile.refinement[at] == pytest.approx(made.RL / unit, abs=1e-12)
        assert profile.resolution[at] == pytest.approx(terms.resolution / unit, abs=1e-12)
        calibration = profile.adjustment[at] + profile.post_calibration[at]
        assert calibration == pytest.approx(made.CL / unit, abs=1e-12)
        # One is fitted in the same rows and corrected for chance, the other cross-fitted.
        assert profile.adjustment[at] == pytest.approx(made.AL / unit, abs=0.006)


@pytest.mark.parametrize("r", [-0.5, 0.0, 0.5, 1.0])
def test_chance_of_adjustment_is_what_calibrated_forecasts_show(r):
    rule, found, expected = rule_of(r), [], []
    for seed in range(150):
        f = sample(4, 400, power=1.0, seed=seed)
        a = calibrators.fit("coherent", f, r=r)(f.probabilities)
        found.append(rule.divergence(f.probabilities, a).mean())
        expected.append(chance_of_adjustment(f, r))
    error = np.std(found) / np.sqrt(len(found))
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=4 * error)


def test_corp_and_adjustment_are_records(fitted):
    f, _ = fitted
    found = corp(f)
    rules = found if f.k == 2 else found.top_label
    assert rules.brier.miscalibration >= 0.0
    assert (found.classwise is None) == (f.k == 2)
    made = adjustment(f)
    assert made.log.loss == pytest.approx(losses(f, "log", None, map="grouped").PL, abs=1e-12)
    assert set(made.log.weights) == set(made.brier.shift) == {str(c) for c in f.classes}
