"""CQ Tables 1 and 2: what the printed means say about one another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from papers import cq
from papers._moments import feasible, meets, rise
from veracity.formulas.means import generalized_mean

FLOORS = {gamma: (float(row[0]), float(row[1])) for gamma, row in cq.TABLE_2.items() if gamma > 0}


def test_shares_below_the_floor_from_two_columns():
    """d ln g/d ln γ and d r^(−2/3)/d γ^(−2/3) are both the share of probabilities below γ."""
    shares = []
    for high, low in ((0.05, 0.01), (0.01, 0.005), (0.005, 0.001)):
        (r1, g1), (r2, g2) = FLOORS[low], FLOORS[high]
        by_robustness = (r1 ** (-2 / 3) - r2 ** (-2 / 3)) / (low ** (-2 / 3) - high ** (-2 / 3))
        shares.append((math.log(g2 / g1) / math.log(high / low), by_robustness))
    by_geometric, by_robustness = zip(*shares, strict=True)
    assert by_geometric == pytest.approx((0.0227, 0.0157, 0.0114), abs=5e-5)
    assert by_robustness == pytest.approx((0.0219, 0.0158, 0.0109), abs=5e-5)
    rows = cq._table_2_consistency().rows[:3]
    assert [row.value for row in rows] == pytest.approx(by_geometric, abs=1e-12)


def test_decisiveness_must_rise_by_more_than_its_roundings_allow():
    assert rise(FLOORS) == pytest.approx((0.001007, 0.001187), abs=5e-7)


def test_no_floor_gives_table_1_from_the_probabilities_of_table_2():
    assert not any(meets(FLOORS, gamma, 0.437, 0.831) for gamma in np.geomspace(0.004, 0.012, 12))
    # A pair that lies on the curve of Table 2 is met.
    assert meets(FLOORS, 0.005, 0.425, 0.823)
    assert meets(FLOORS, 0.007, 0.463, 0.827)


def test_the_means_of_any_set_of_probabilities_are_feasible():
    rng = np.random.default_rng(5)
    for _ in range(3):
        p = np.maximum(rng.beta(0.6, 0.5, 400), 0.005)
        r, g, d = (float(generalized_mean(p, m)) for m in (-2 / 3, 0.0, 1.0))
        low, high = feasible(r, d)
        assert low - 1e-4 <= g <= high + 1e-4
        floors = {
            gamma: tuple(float(generalized_mean(np.maximum(p, gamma), m)) for m in (-2 / 3, 0.0))
            for gamma in (0.05, 0.01)
        }
        least, most = rise(floors)  # type: ignore[arg-type]
        assert least <= np.maximum(p, 0.05).mean() - np.maximum(p, 0.01).mean() <= most


def test_six_printed_triples_are_possible_and_two_are_not():
    impossible = []
    for name, (_, reported, measured) in cq.TABLE_1.items():
        for word, triple in (("reported", reported), ("measured", measured)):
            r, g, d = map(float, triple)
            low, high = feasible(r, d)
            if not low - 5e-4 <= g <= high + 5e-4:
                impossible.append((name, word))
    assert impossible == [("alexnet-imagenet", "reported"), ("densenet-imagenet", "reported")]


def test_a_correct_pick_among_43_classes_is_never_below_the_floors_of_table_2():
    """So the reported means are of every row's correct class: Table 2 moves between γ = 0.01 and 0."""
    assert pytest.approx(0.0233, abs=5e-5) == 1 / 43
    assert cq.TABLE_2[0.01] != cq.TABLE_2[0.0]
