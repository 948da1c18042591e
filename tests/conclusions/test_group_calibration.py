"""Does calibration differ by group? Levels and slopes after recalibration; harder groups are something else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import veracity as vc
from veracity.estimate.groups_and_time.groups import calibration
from veracity.inputs import prepare
from veracity.records.stability import GroupCalibration
from veracity.words import stability

Floats = NDArray[np.float64]


def sigmoid(z: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-z))
    return found


def example(n: int = 1500, groups: int = 6, seed: int = 5) -> tuple[Floats, NDArray[np.int64], np.random.Generator]:
    """Log-odds of forecasts, their groups, and what draws the outcomes."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 1.5, n), rng.integers(0, groups, n), rng


def compared(y: Any, p: Any, group: Any, **more: Any) -> GroupCalibration:
    found = calibration(vc.Tally.of(prepare(y, p, groups={"g": group}, **more)).groups["g"], 0)
    assert found is not None
    return found


def test_a_group_whose_level_is_off_is_named_with_its_direction() -> None:
    z, g, rng = example()
    y = (rng.random(len(z)) < sigmoid(z + 0.9 * (g == 3))).astype(int)
    found = compared(y, sigmoid(z), g)
    assert found.p is not None
    assert found.p <= 0.01
    assert found.names[0] == "3"
    assert (found.off[0].what, found.off[0].direction) == ("level", "too low")
    assert found.shifts is not None
    assert 0.2 < found.shifts["3"] < 1.2
    flipped = compared(1 - y, 1 - sigmoid(z), g)  # the other class is the event: as far off, the other way
    assert flipped.off[0].direction == "too high"
    assert flipped.shifts is not None
    assert flipped.shifts["3"] == pytest.approx(-found.shifts["3"])
    assert (flipped.level, flipped.slope) == (found.level, found.slope)


def test_a_group_whose_slope_is_off_is_named_with_its_direction() -> None:
    z, g, rng = example()
    y = (rng.random(len(z)) < sigmoid(z * np.where(g == 2, 0.2, 1.0))).astype(int)
    found = compared(y, sigmoid(z), g)
    assert found.slope.p is not None
    assert found.slope.p <= 0.005
    assert ("2", "slope", "too extreme") in [(one.group, one.what, one.direction) for one in found.off]


def test_a_direction_of_a_group_is_said_to_be_beside_all_cases_which_may_be_off_the_other_way() -> None:
    z, g, rng = example()
    y = (rng.random(len(z)) < sigmoid(z)).astype(int)
    a = vc.assess(y, sigmoid(z + 1.2 - 0.8 * (g == 3)), groups=g)
    ((column, group),) = a.groups.items()
    level = group.levels["3"].level
    assert level is not None
    assert level.predicted > level.observed  # too high by itself, and too low beside the others
    said = " ".join(stability.group_notes(column, group))
    assert "3 (too low beside all cases together)" in said


def test_one_group_that_is_off_does_not_make_the_others_off() -> None:
    named = []
    for seed in range(12):
        z, g, rng = example(groups=5, seed=seed)
        slope = np.where(g == 0, 0.3, 1.0) if seed % 2 else 1.0
        y = (rng.random(len(z)) < sigmoid(slope * z + (g == 0) * (1 - seed % 2))).astype(int)
        named.append(compared(y, sigmoid(z), g).names)
    assert all(found[:1] == ("0",) for found in named)
    assert sum(len(found) > 1 for found in named) <= 2  # 5 % of them; half of them where all are compared with all


def test_harder_groups_do_not_differ_in_calibration() -> None:
    z, g, rng = example()
    z = z * (0.3 + 0.5 * g)
    y = (rng.random(len(z)) < sigmoid(z)).astype(int)
    group = vc.assess(y, sigmoid(z), groups={"g": g}).groups["g"]
    assert group.differ is not None
    assert group.differ.p == pytest.approx(0.001)
    assert group.calibration is not None
    assert group.calibration.p is not None
    assert group.calibration.p > 0.05
    assert group.calibration.names == ()


def test_a_group_of_more_classes_is_named() -> None:
    rng = np.random.default_rng(3)
    p, g = rng.dirichlet([1.0, 1.0, 2.0], 1200), rng.integers(0, 4, 1200)
    q = p * np.where((g == 1)[:, None], [3.0, 1.0, 1.0], 1.0)
    q /= q.sum(axis=1, keepdims=True)
    y = (rng.random((1200, 1)) > q.cumsum(axis=1)).sum(axis=1)
    found = compared(y, p, g)
    assert found.p is not None
    assert found.p <= 0.01
    assert found.names[0] == "1"
    assert found.shifts is None


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("more", ["", "weights", "clusters"])
def test_neither_order_nor_names_nor_parts_change_the_test(k: int, more: str) -> None:
    rng = np.random.default_rng(9)
    n = 400
    p, g = rng.dirichlet(np.ones(k), n), rng.integers(0, 5, n)
    y = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)
    own = {"weights": {"sample_weight": rng.random(n) + 0.1}, "clusters": {"clusters": rng.integers(0, 60, n)}}
    given: dict[str, Any] = own.get(more, {})
    whole = compared(y, p, g, **given)
    i = rng.permutation(n)
    names = np.array(["e", "b", "d", "a", "c"])
    other = compared(y[i], p[i], names[g[i]], **{name: values[i] for name, values in given.items()})
    assert (other.level.p, other.slope.p) == (whole.level.p, whole.slope.p)
    assert other.names == tuple(str(names[int(name)]) for name in whole.names)
    parts = [
        vc.Tally.of(prepare(y[j], p[j], groups={"g": g[j]}, **{name: v[j] for name, v in given.items()}))
        for j in np.array_split(i, 3)
    ]
    summed = calibration((parts[2] + parts[0] + parts[1]).groups["g"], 0)
    assert summed is not None
    assert (summed.level.p, summed.slope.p) == (whole.level.p, whole.slope.p)


def test_counts_are_cases() -> None:
    z, g, rng = example(300)
    y, counts = (rng.random(300) < sigmoid(z)).astype(int), rng.integers(1, 4, 300)
    a = compared(y, sigmoid(z), g, counts=counts)
    b = compared(np.repeat(y, counts), np.repeat(sigmoid(z), counts), np.repeat(g, counts))
    assert (a.level, a.slope) == (b.level, b.slope)


@pytest.mark.parametrize(
    ("y", "p"),
    [
        (np.zeros(60, int), np.full(60, 0.3)),  # one outcome, constant forecasts
        (np.arange(60) % 2, np.full(60, 0.5)),
        (np.arange(60) % 2, (np.arange(60) % 2).astype(float)),  # certain and right
        (np.arange(60) % 2, (np.arange(60) % 3 == 0).astype(float)),  # certain, and sometimes wrong
    ],
)
@pytest.mark.parametrize("groups", [2, 60])
def test_forecasts_that_can_hardly_be_compared_have_a_p_value(y: Any, p: Any, groups: int) -> None:
    found = compared(y, p, np.arange(60) // 7 % groups if groups == 2 else np.arange(60))
    assert found.p is not None
    assert 0.0 < found.p <= 1.0
    assert math.isfinite(sum((found.shifts or {}).values()))


def test_what_cannot_be_compared_has_a_reason() -> None:
    z, g, rng = example(60, 2)
    y = (rng.random(60) < sigmoid(z)).astype(int)
    assert calibration(vc.Tally.of(prepare(y, sigmoid(z), groups={"g": np.zeros(60)})).groups["g"], 0) is None
    few = compared(y[:12], sigmoid(z[:12]), g[:12])
    assert (few.p, few.reason) == (None, "12 cases: too few to test, at least 20 needed")
    clustered = compared(y, sigmoid(z), g, clusters=np.arange(60) % 3)
    assert (clustered.p, clustered.reason) == (None, "3 clusters: too few to test, at least 8 needed")


def test_a_thousand_groups_of_many_rows_are_compared_in_seconds() -> None:
    """Rare events in groups of a hundred: normal draws alone would find some group off in every file."""
    rng = np.random.default_rng(1)
    n = 100_000
    z, g = rng.normal(-4.0, 0.7, n), rng.integers(0, 1500, n)
    y = (rng.random(n) < sigmoid(z)).astype(int)
    found = compared(y, sigmoid(z), g)
    assert found.method == "999 normal draws"
    assert found.p is not None
    assert found.p > 0.05
