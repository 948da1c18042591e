"""The table of classes: its numbers come from the histograms of the classes alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from veracity.estimate.calibration.per_class import per_class
from veracity.formulas.differences import holm
from veracity.kernels import Histogram


def histogram(p: np.ndarray, true: np.ndarray, weights: np.ndarray | None = None) -> Histogram:
    """One cell per forecast."""
    w = np.ones(len(p)) if weights is None else weights
    extra = {} if weights is None else {"all_weight": w, "true_weight": w * true, "all_weight2": w**2}
    ones = np.ones(len(p), dtype=np.int64)
    return Histogram(np.arange(len(p), dtype=np.int32), ones, true.astype(np.int64), w * p, **extra)


def data(bias: float = 0.0, power: float = 1.0, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    truth = rng.dirichlet([1.0, 1.0, 1.0], n)
    y = (rng.random((n, 1)) > truth.cumsum(1)[:, :-1]).sum(1)
    p = truth**power * np.exp([bias, 0.0, 0.0])
    return p / p.sum(1, keepdims=True), y


def readings(p: np.ndarray, y: np.ndarray, **options: object) -> dict:
    return per_class([histogram(p[:, j], y == j) for j in range(3)], "abc", **options)


def test_shares_and_counts_are_those_of_the_rows() -> None:
    p, y = data()
    found = readings(p, y)
    for j, name in enumerate("abc"):
        assert found[name].n == (y == j).sum()
        assert found[name].predicted == pytest.approx(p[:, j].mean(), abs=1e-12)
        assert found[name].observed == pytest.approx((y == j).mean(), abs=1e-12)


def test_slope_is_the_maximum_likelihood_of_the_logistic_model() -> None:
    p, y = data(power=1.6)
    x, true = np.log(p[:, 0] / (1 - p[:, 0])), y == 0
    fitted = minimize(lambda b: np.sum(np.logaddexp(0, b[0] + b[1] * x) - true * (b[0] + b[1] * x)), [0.0, 1.0])
    slope = readings(p, y)["a"].slope
    assert slope == pytest.approx(fitted.x[1], abs=1e-4)  # BFGS stops at a gradient of 1e-5
    assert slope.high < 1.0


def test_only_a_biased_class_is_significant() -> None:
    assert min(one.p for one in readings(*data()).values()) > 0.05
    found = readings(*data(bias=0.5))
    assert found["a"].p < 0.001
    assert found["a"].predicted > found["a"].observed


def test_weights_two_are_rows_twice_for_every_value() -> None:
    p, y = data(bias=0.2, n=300)
    once = per_class([histogram(p[:, 0], y == 0, np.full(300, 2.0))], "a")["a"]
    plain = per_class([histogram(p[:, 0], y == 0)], "a")["a"]
    assert once.predicted == pytest.approx(plain.predicted, abs=1e-12)
    assert once.slope == pytest.approx(float(plain.slope), abs=1e-9)
    assert (once.slope.low, once.slope.high) == pytest.approx((plain.slope.low, plain.slope.high), abs=1e-9)
    assert once.p == pytest.approx(plain.p, abs=1e-9)


def test_shares_of_the_miscalibration_sum_to_one_and_losses_count_as_none() -> None:
    found = readings(*data(), gains={"a": 3.0, "b": 1.0, "c": -2.0})
    assert [found[name].share for name in "abc"] == [0.75, 0.25, 0.0]


@pytest.mark.parametrize(("events", "why"), [(5, "fewer than 10"), (0, "fewer than 10")])
def test_rare_classes_have_no_slope_and_say_why(events: int, why: str) -> None:
    p = np.linspace(0.01, 0.2, 200)
    found = per_class([histogram(p, np.arange(200) < events)], "a")["a"]
    assert np.isnan(found.slope)
    assert why in found.slope.reason


def test_holm_keeps_the_order_and_never_exceeds_one() -> None:
    adjusted = holm([0.5, 0.001, 0.4])
    assert adjusted == pytest.approx([0.8, 0.003, 0.8], abs=1e-12)


def test_a_class_that_is_nearly_separated_has_no_slope() -> None:
    true = np.arange(300) % 3 == 0
    p = np.where(true, 0.97, 0.01) + np.linspace(0.0, 0.02, 300)
    found = per_class([histogram(p, true)], "a")["a"].slope
    assert np.isnan(found)
    assert "could be almost anything" in found.reason
