"""CQ's "incorrect-class predictions": four readings beside a simulation of the paper's share of correct picks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from papers import Options
from papers._readings import READINGS, readings, section
from veracity import assess
from veracity.inputs import Forecasts
from veracity.simulate import _network, simulate

PICKS_568, PICKS_605 = 1.80, 1.92  # strengths of the simulation that give these shares of correct picks

# One draw each, some thousand rows: robustness, geometric accuracy, decisiveness for sharpness 1 and 2.
TABLE = {
    "reported": ((0.053, 0.188, 0.458), (0.037, 0.179, 0.538)),
    "a": ((0.052, 0.187, 0.462), (0.041, 0.163, 0.446)),
    "b": ((0.050, 0.187, 0.464), (0.022, 0.105, 0.428)),
    "c": ((0.039, 0.194, 0.569), (0.022, 0.127, 0.570)),
    "d": ((0.708, 0.728, 0.758), (0.718, 0.753, 0.797)),
}
ANOTHER_RUN = {
    "reported": ((0.065, 0.225, 0.497), (0.044, 0.214, 0.576)),
    "b'": ((0.086, 0.288, 0.543), (0.075, 0.306, 0.590)),
}


def draws(k: int, strength: float, sharpness: float, n: int, number: int = 6) -> list[Forecasts]:
    options = {"k": k, "strength": strength, "sharpness": sharpness}
    return [_network(n, np.random.default_rng(seed), **options) for seed in range(number)]


def near(found: list[np.ndarray], quoted: tuple[float, ...]) -> None:
    """One quoted draw among ours: three standard deviations of a draw less our mean, and half a unit."""
    values = np.array(found)
    allowed = 3 * values.std(axis=0, ddof=1) * math.sqrt(1 + 1 / len(values)) + 5e-4
    assert np.all(np.abs(values.mean(axis=0) - quoted) < allowed), (values.mean(axis=0), quoted, allowed)


@pytest.mark.slow
@pytest.mark.parametrize("sharpness", [1, 2])
def test_every_reading_of_a_thousand_classes(sharpness):
    for strength, n, table in ((PICKS_568, 5000, TABLE), (PICKS_605, 2000, ANOTHER_RUN)):
        found = [readings(f) for f in draws(1000, strength, sharpness, n)]
        for name, quoted in table.items():
            near([one[name] for one in found], quoted[sharpness - 1])


@pytest.mark.parametrize(
    ("name", "reported", "measured"),
    [
        ("alexnet", (0.719, 0.925, 0.970), (0.752, 0.926, 0.962)),
        ("densenet", (0.522, 0.850, 0.941), (0.607, 0.857, 0.924)),
    ],
)
def test_reading_a_of_over_confident_networks_of_43_classes(name, reported, measured):
    found = [readings(simulate(f"cq-{name}-gtsrb-sharp", 4000, seed=seed)) for seed in range(6)]
    near([one["reported"] for one in found], reported)
    near([one["a"] for one in found], measured)
    assert np.mean([one["a"][0] - one["reported"][0] for one in found]) > 0.01  # Table 1's sign
    few = [readings(simulate(f"cq-{name}-gtsrb-sharp", 4000, seed=seed), bins=10) for seed in range(2)]
    assert all(one["a"][0] < one["reported"][0] for one in few)  # with ten bins it turns


def test_without_end_bins_the_first_bin_swallows_the_wrong_classes():
    f = simulate("cq-alexnet-gtsrb-calibrated", 4000, seed=2)
    found = readings(f, ends="never")
    assert found["reported"][0] == pytest.approx(0.858, abs=5e-3)  # the standard deviation of a draw is 0.01
    assert found["a"][0] == pytest.approx(0.230, abs=1e-3)


def test_end_bins_make_robustness_almost_free_of_the_number_of_bins():
    """43 classes, reported robustness 0.30; measured with 10, 20 and 100 bins."""
    apart, auto = [], []
    for f in draws(43, 2.23, 1, 5000, 4):
        apart.append([readings(f, bins, ends="always")["a"][0] for bins in (10, 20, 100)])
        auto.append([readings(f, bins)["a"][0] for bins in (10, 20, 100)])
    near([np.array(one) for one in apart], (0.289, 0.295, 0.299))
    low, middle, high = np.mean(auto, axis=0)
    assert low < 0.17 < middle < 0.25 < 0.28 < high


def test_signs_of_table_1_exclude_other_readings():
    sharp = readings(simulate("cq-alexnet-imagenet-sharp", 4000, seed=1))
    assert sharp["a"][0] > sharp["reported"][0] > sharp["b"][0]  # Table 1 has measured ≥ reported robustness
    assert sharp["a"][1] < sharp["reported"][1] < sharp["b'"][1]
    assert sharp["d"][0] > 0.6


@pytest.mark.parametrize("name", ["dirichlet-3-sharp", "dirichlet-10-calibrated", "cq-densenet-gtsrb-sharp"])
def test_decisiveness_of_reading_c_is_the_share_of_correct_picks(name):
    f = simulate(name, 700, seed=3)
    for bins in (3, 20):
        picks = (f.matrix.argmax(axis=1) == f.outcomes).mean()
        assert readings(f, bins, floor=0.0)["c"][2] == pytest.approx(picks, abs=1e-12)


def test_reading_a_is_the_procedure_of_the_program():
    f = simulate("cq-densenet-gtsrb-sharp", 3000, seed=5)
    measured = assess(f, preset="CQ", bins=20).papers.CQ.measured
    by_hand = readings(f, ends="always")["a"]
    # Edges of the program lie on its grid, those here between two values.
    assert by_hand == pytest.approx([measured.robustness, measured.geometric_accuracy, measured.decisiveness], abs=2e-3)


def test_readings_of_five_rows_equal_those_by_hand():
    """Five rows in two bins, cut between 0.7 and 0.8: fractions of each reading by counting."""
    p = np.array([0.9, 0.8, 0.7, 0.4, 0.3])
    f = Forecasts(np.column_stack([1 - p, p]), np.ones(5, dtype=int), (0, 1))
    found = readings(f, bins=2, floor=0.0, ends="never")
    # Below lie three that happened, all five others, three picks (one right, two wrong); above two right picks.
    assert found["a"][2] == pytest.approx((3 * 3 / 8 + 2 * 2 / 2) / 5)
    assert found["b"][2] == pytest.approx((3 * 1 / 3 + 2 * 2 / 2) / 5)
    assert found["c"][2] == pytest.approx((3 * 1 / 3 + 2 * 2 / 2) / 5)
    assert found["d"][2] == pytest.approx((3 * 3 / 5 + 2 * 2 / 2) / 5)


def test_rows_of_the_reproduction():
    rows = section(Options(quick=True)).rows
    assert len(rows) == 2 * len(READINGS) + 5
    verdicts = [row.verdict for row in rows if row.verdict != "shown"]
    assert verdicts == ["agrees", "documented", "documented", "documented", "documented"]
