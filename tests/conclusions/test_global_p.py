"""One p-value decides: exact under calibration, and it sees curved and joint errors that no single range shows."""

from __future__ import annotations

import numpy as np
import pytest

from bench._truth import draw, truth
from veracity.estimate.calibration.calibration_tests import p_values, run_tests
from veracity.estimate.calibration.joint import MOST, Joint
from veracity.estimate.calibration.residuals import prepared
from veracity.estimate.calibration.verdict import judge, state_of


def logit(p):
    return np.log(p / (1 - p))


def pair(x):
    return np.column_stack([1 / (1 + np.exp(x)), 1 / (1 + np.exp(-x))])


def verdicts(make, draws):
    found = []
    for seed in range(draws):
        rng = np.random.default_rng([11, seed])
        p, q = make(rng)
        found.append(judge(p, draw(q, rng), [f"c{j}" for j in range(p.shape[1])]))
    return found


def quadratic(rng, n=300):
    p = np.clip(rng.beta(0.8, 1.6, n), 1e-9, 1 - 1e-9)
    return pair(logit(p)), pair(logit(p) + 0.1 * (logit(p) ** 2 - 1.2))


def cyclic(rng, n=300):
    p = rng.dirichlet([1, 1, 1], n)
    return p, p + 0.9 * p * (np.roll(p, -1, axis=1) - np.roll(p, 1, axis=1))


def test_a_bent_curve_is_found_and_called_curved():
    found = verdicts(quadratic, 60)
    rejected = [v for v in found if v.p <= 0.05]
    assert len(rejected) >= 36  # 71 % of draws; 36 of 60 is two standard errors below
    bends = [v.curvature.direction for v in rejected]
    assert not {"too high at both ends", "downwards"} & set(bends)
    assert bends.count("upwards") + bends.count("too low at both ends") > 0.5 * len(rejected)


def test_a_wrong_slope_or_level_alone_is_not_called_bent():
    """Before, the curve was judged where level and slope are still wrong, and 6 of 60 were."""
    z = np.random.default_rng(5).normal(0, 1.5, (20, 2000))
    stated, true = [(1.5 * x, x) for x in z[:10]] + [(x + 0.5, x) for x in z[10:]], []
    for i, (x, q) in enumerate(stated):
        y = draw(pair(q), np.random.default_rng([5, i]))
        true.append(judge(pair(x), y, ["no", "yes"]).curvature.direction)
    assert true.count(None) >= 18


@pytest.mark.parametrize("named", [False, True])
def test_a_bend_is_that_of_the_probability_shown_whichever_class_is_rarer(named):
    """x > 0 is too sure, x < 0 not sure enough: the event's probability is too high at both ends of the scale."""
    rng = np.random.default_rng(6)
    x = rng.normal(0, 1.5, 8000)
    p, q = pair(np.where(x > 0, 1.8 * x, 0.8 * x)), pair(x)
    y = draw(q, rng)
    found = judge(p[:, ::-1], 1 - y, ["yes", "no"]) if named else judge(p, y, ["no", "yes"])
    assert found.curvature.direction == ("too low at both ends" if named else "too high at both ends")


def test_forecasts_that_hardly_vary_tell_no_slope():
    """The ridge alone made it 1.00 (0.94 to 1.07)."""
    rng = np.random.default_rng(7)
    q = pair(rng.normal(-4, 0.01, 3000))
    assert np.isnan(judge(q, draw(q, rng), ["no", "yes"]).slope)


def test_confused_classes_are_not_called_slight_by_a_bound_that_does_not_hold_them():
    assert state_of(True, 0.004, 0.001, 0, True) == "found"


def test_classes_that_happen_where_others_were_given_are_found_and_named():
    found = verdicts(cyclic, 30)
    assert sum(v.p <= 0.05 for v in found) >= 28  # 99 % of draws
    named = {(pair.observed, pair.given) for v in found for pair in v.joint.pairs}
    assert named <= {("c0", "c1"), ("c1", "c2"), ("c2", "c0")}
    assert named


@pytest.mark.parametrize("kind", ["bin", "k5"])
def test_p_of_calibrated_forecasts_is_uniform(kind):
    def calibrated(rng):
        q = truth(kind, 200, rng)
        return q, q

    p = np.array([v.p for v in verdicts(calibrated, 120)])
    assert abs(p.mean() - 0.5) < 0.09  # standard error .026
    assert (p <= 0.05).mean() <= 0.11


def test_p_values_count_draws_at_least_as_large_themselves_among_them():
    assert p_values(np.array([3.0, 1.0, 2.0, 3.0])).tolist() == [0.5, 1.0, 0.75, 0.5]


def test_the_global_p_is_that_of_the_smallest_p_over_its_weight():
    rng = np.random.default_rng(5)
    q = truth("bin", 150, rng)
    ones = np.ones(150)
    p, cases = prepared(q[:, 1], draw(q, rng), ones, ones, None)
    found = run_tests(cases, p, 3)
    assert set(found.p) == {"level", "confidence", "curvature", "shape"}
    least = min(found.p[name] / weight for name, weight in (("level", 0.2), ("confidence", 0.3), ("shape", 0.2)))
    assert found.together >= min(least, found.p["curvature"] / 0.3) * 0.2 - 1e-9
    assert found.together <= 1.0


@pytest.mark.parametrize("k", [3, 40])
def test_joint_residuals_are_those_of_their_definition(k):
    rng = np.random.default_rng(k)
    p, y, w = rng.dirichlet(np.full(k, 0.5), 80), rng.integers(0, k, 80), rng.random(80) + 0.5
    joint, level = Joint.of(p, w), np.bincount(y, w, k) - w @ p
    q, happened = p, np.eye(k)[y]
    if k > MOST:  # the rare ones are one class
        often = np.sort(np.argsort(-(w @ p), kind="stable")[: MOST - 1])
        rare = np.setdiff1d(np.arange(k), often)
        q, happened = (np.column_stack([x[:, often], x[:, rare].sum(axis=1)]) for x in (p, happened))
    size = q.shape[1]
    expected = np.zeros((size, size))
    for a in range(size):
        v = w * q[:, a] * (1 - q[:, a])
        for b in set(range(size)) - {a}:
            expected[a, b] = w * (happened[:, a] - q[:, a]) @ (q[:, b] - (v @ q[:, b]) / v.sum())
    assert joint.observed(y, w, level).reshape(size, size) == pytest.approx(expected, abs=1e-9)
    assert joint.by_block(y, w, np.array([0, 20, 50])).sum(axis=0) == pytest.approx(expected.ravel(), abs=1e-9)
