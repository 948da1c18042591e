"""The calibration loss of forecasts whose truth is known: a short version of `bench/recalibration.py`."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench(root):
    sys.path.insert(0, str(root))
    from bench import recalibration

    yield recalibration
    sys.path.remove(str(root))


NAMES = (
    *("softmax times 2, k = 10", "calibrated, k = 10", "Dirichlet squared, k = 3", "Dirichlet squared, k = 10"),
    *("15 % label noise, k = 10", "confusion, k = 10", "bent, k = 2", "slopes by class, k = 5"),
    "eleven forecasts, k = 2",
)


@pytest.mark.parametrize("name", NAMES)
def test_the_pool_finds_the_calibration_loss_and_its_lower_end_is_true(bench, name):
    found = bench.bias(name, draws=range(4), seed=11)
    # Four draws: 0.015 nats of bias and two standard errors of the draws (0.0175 at most).
    assert abs(found["bias"]) < 0.015 + 2 * 0.0175 / np.sqrt(4)
    assert found["holds"] >= 0.75


@pytest.mark.parametrize(
    ("model", "value", "error"),
    [("naive_bayes", 0.200, 0.054), ("random_forest", 0.235, 0.014), ("logistic_regression", 0.0, 0.003)],
)
def test_demo_models_have_the_calibration_loss_of_the_specification(bench, model, value, error):
    _, found, _, _ = bench.demo(model)
    assert found == pytest.approx(value, abs=error / 2)


def test_few_distinct_forecasts_leave_calibrated_ones_alone(bench):
    """Folds by hash(p, y) alone, or strata of y within equal p, found gains here that do not exist."""
    false = 0
    for draw in range(20):
        rng = np.random.default_rng([12, draw])
        p = np.clip(rng.integers(0, 11, 2000) / 10, 0.02, 0.98)
        f = bench.forecasts(np.column_stack([1 - p, p]), (rng.random(2000) < p).astype(int))
        value, error = bench.recalibration(f).gain("log")
        assert -0.004 < value < 0.004
        false += value - 1.96 * error > 0.0
    assert false <= 3


@pytest.mark.parametrize(("k", "n", "power"), [(2, 300, 1.0), (5, 300, 1.5)])
def test_intervals_of_losses_hold(bench, k, n, power):
    for entry in bench.coverage(k, n, power, draws=range(40), rules=("log", "brier")):
        # 0.90 less two standard errors of forty draws.
        assert entry["covered"] >= 0.80, entry
