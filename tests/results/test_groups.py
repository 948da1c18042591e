"""Groups: a test that they differ, means drawn towards each other, gains without refits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import veracity as vc
from veracity.estimate.groups_and_time.groups import MOST_CASES, differ
from veracity.formulas.differences import shrunk_means
from veracity.inputs import prepare

Floats = NDArray[np.float64]


def example(n: int = 900, worse: float = 1.0, seed: int = 2) -> tuple[NDArray[np.int64], Floats, NDArray[np.str_]]:
    """Forecasts of an event; those of site c are sharpened."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    site = rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.15, 0.05])
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return y, 1 / (1 + np.exp(-z * np.where(site == "c", worse, 1.0))), site


def test_groups_that_differ_are_found_and_the_worst_is_named() -> None:
    y, p, site = example(worse=5.0)
    group = vc.assess(y, p, groups={"site": site}).groups["site"]
    assert group.differ is not None
    assert group.differ.p == 0.001
    assert group.differ.method == "999 permutations of labels"
    assert group.worst == "c"
    equal = vc.assess(*example()[:2], groups={"site": example()[2]}).groups["site"]
    assert equal.differ is not None
    assert equal.differ.p is not None
    assert equal.differ.p > 0.05


def test_permutations_agree_with_the_f_test_where_that_holds() -> None:
    y, p, site = example(worse=1.6)
    x = -np.log(np.where(y == 1, p, 1 - p))
    theirs = stats.f_oneway(*(x[site == s] for s in "abcd")).pvalue
    tally = vc.Tally.of(prepare(y, p, groups={"site": site}))
    found = differ(tally.groups["site"], 0)
    assert found is not None
    assert found.p == pytest.approx(theirs, abs=0.04)  # 999 draws, and losses that are not normal


def test_counts_are_rows() -> None:
    y, p, site = example(300)
    counts = np.random.default_rng(1).integers(1, 4, 300)
    a = vc.Tally.of(prepare(y, p, groups={"site": site}, counts=counts))
    b = vc.Tally.of(prepare(np.repeat(y, counts), np.repeat(p, counts), groups={"site": np.repeat(site, counts)}))
    assert differ(a.groups["site"], 0) == differ(b.groups["site"], 0)


def test_many_cases_are_tested_by_their_sums() -> None:
    y, p, site = example(MOST_CASES + 5000, worse=1.3)
    tally = vc.Tally.of(prepare(y, p, groups={"site": site}))
    found = differ(tally.groups["site"], 0)
    x = -np.log(np.where(y == 1, p, 1 - p))
    parts = [x[site == s] for s in "abcd"]
    statistic = sum(len(v) * (v.mean() - x.mean()) ** 2 for v in parts) / x.var()
    assert found is not None
    assert found.method == "χ² test"
    assert found.p == pytest.approx(stats.chi2.sf(statistic, 3), rel=0.01)  # errors with divisor n − 1


def test_infinite_losses_are_compared_by_brier_score() -> None:
    y, p, site = example()
    p = p.copy()
    p[3] = 1.0 - y[3]
    found = differ(vc.Tally.of(prepare(y, p, groups={"site": site})).groups["site"], 0)
    assert found is not None
    assert found.method == "999 permutations of labels, Brier score"
    assert found.p is not None


def test_small_groups_are_drawn_towards_the_mean() -> None:
    y, p, site = example(worse=5.0)
    levels = vc.assess(y, p, groups={"site": site}).groups["site"].levels
    mean = float(np.mean([level.scores.log_loss for level in levels.values()]))
    kept = {}
    for name, level in levels.items():
        assert level.shrunk is not None
        assert level.shrunk.method == "empirical Bayes (DerSimonian–Laird)"
        kept[name] = abs(level.shrunk - mean) / abs(level.scores.log_loss - mean)
    assert kept["d"] < kept["c"]  # 45 cases and 135
    off = vc.assess(vc.Tally.of(prepare(y, p, groups={"site": site}), shrink="none")).groups["site"]
    assert all(level.shrunk is None for level in off.levels.values())


def test_shrunk_means_are_nearer_to_the_truth() -> None:
    """Of 30 groups of 5 to 100 cases, 200 draws."""
    rng = np.random.default_rng(7)
    plain, drawn = 0.0, 0.0
    for _ in range(200):
        truth, error = rng.normal(0.6, 0.05, 30), 0.5 / np.sqrt(rng.integers(5, 101, 30))
        seen = truth + error * rng.standard_normal(30)
        plain += float(((seen - truth) ** 2).sum())
        drawn += float(((shrunk_means(seen, error)[0] - truth) ** 2).sum())
    assert drawn < 0.5 * plain


def test_gains_of_levels_are_those_of_the_one_recalibration() -> None:
    y, p, site = example(worse=5.0)
    a = vc.assess(y, p, groups={"site": site})
    levels = a.groups["site"].levels
    whole = a._shared.recalibration
    assert whole is not None
    total = sum(level.n * float(level.gain) for level in levels.values() if level.gain is not None)
    assert total / len(y) == pytest.approx(whole.gain("log")[0], abs=1e-12)


DEPENDENT = {
    "nested": ("clusters", "999 permutations of labels of clusters"),
    "crossed": ("clusters", "signs of 20 clusters"),
    "seasons": ("time", "signs of 12 blocks of time"),
    "eras": ("time", "999 permutations of labels of blocks of time"),
}


@pytest.mark.parametrize("case", DEPENDENT)
@pytest.mark.parametrize("n", [600, MOST_CASES + 4000])
def test_dependent_cases_are_tested_by_their_clusters_or_blocks(case: str, n: int) -> None:
    """Of any number of cases by the same test; equal levels are not told apart, a worse one is."""
    option, method = DEPENDENT[case]
    y, p, _ = example(n)
    level, unit = {
        "nested": (np.arange(n) % 4, np.arange(n) % 4 * 100 + np.arange(n) // 4 % 10),
        "crossed": (np.arange(n) % 3, np.arange(n) // 3 % 20),
        "seasons": (np.arange(n) // 5 % 4, np.arange(n)),
        "eras": (np.arange(n) * 3 // n, np.arange(n)),
    }[case]
    for worse in (False, True):
        stated = np.where((level == 1) & worse, 1.0 - p, p)
        given: Any = {option: unit}
        held = vc.Tally.of(prepare(y, stated, groups={"g": level}, **given))
        found = differ(held.groups["g"], 0)
        assert found is not None
        assert found.p is not None
        assert found.method == method
        assert (found.p < 0.01) == worse


def test_a_group_of_one_cluster_each_cannot_be_tested() -> None:
    """Whether groups or their clusters differ is the same question: no permutation changes anything."""
    y, p, site = example(600, worse=5.0)
    found = differ(vc.Tally.of(prepare(y, p, groups={"site": site}, clusters=site)).groups["site"], 0)
    assert found is not None
    assert found.p == 1.0


def test_worst_of_groups_whose_losses_are_shrunk_to_one_has_the_largest_loss() -> None:
    rng = np.random.default_rng(4)
    p = rng.uniform(0.2, 0.8, 400)
    found = vc.assess((rng.random(400) < p).astype(int), p, groups={"site": np.tile(list("DABC"), 100)}).groups["site"]
    assert len({round(float(level.shrunk), 9) for level in found.levels.values()}) == 1
    assert found.worst == max(found.levels, key=lambda name: found.levels[name].scores.log_loss)
    assert found.worst != "D"  # the last name, which ties would give


def test_small_groups_among_very_many_have_scores_and_are_judged_on_demand() -> None:
    rng = np.random.default_rng(3)
    site = np.repeat(np.arange(60), np.arange(120, 60, -1))
    p = rng.beta(0.7, 1.3, len(site))
    y = rng.random(len(site)) < np.where(site == 59, np.sqrt(p), p)
    a = vc.assess(y, p, groups={"site": site})
    found = a.groups["site"]
    judged = {name for name, level in found.levels.items() if level.verdict != "not judged"}
    assert judged == {*map(str, range(50)), "59"}  # the largest, and the one that is off
    assert found.calibration is not None
    assert found.calibration.names == ("59",)
    small, alone = found.levels["55"], vc.assess(y[site == 55], p[site == 55])
    assert float(small.scores.log_loss) == pytest.approx(float(alone.scores.log_loss), rel=1e-12)
    assert small.level is not None
    assert small.level.observed == pytest.approx(y[site == 55].mean(), abs=1e-12)
    assert a.level_of("site", "55").verdict == "no miscalibration found"
    assert repr(a.level_of("site", "3")) == repr(found.levels["3"])
    with pytest.raises(KeyError, match="no '77'; there are 0, 1"):
        a.level_of("site", "77")
    assert "Each of 51 of the 60 groups is judged at 0.0025" in str(a)


def test_worst_of_groups_with_infinite_losses_has_the_largest_brier_score_of_these() -> None:
    rng = np.random.default_rng(5)
    y, site = (rng.random(400) < 0.5).astype(int), np.tile(list("ABCD"), 100)
    p = np.where(site == "D", 0.5, np.where(site == "B", np.where(y == 1, 0.3, 0.7), np.where(y == 1, 0.6, 0.4)))
    p[[0, 1, 2]] = 1.0 - y[:3]  # the outcomes of the first A, B and C are ruled out
    group = vc.assess(y, p, groups={"site": site}).groups["site"]
    assert group.worst == "B"
    assert [math.isinf(group.levels[name].scores.log_loss) for name in "ABCD"] == [True, True, True, False]
