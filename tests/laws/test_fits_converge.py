"""Fits by optimisation reach the minimum itself, so that neither the order of rows nor the start shows."""

from __future__ import annotations

import numpy as np
import pytest

from veracity import calibrators
from veracity.calibrators import temperature
from veracity.inputs import Forecasts

# The optimum is flat: at 1e-12 of it the loss does not change, but sums in another order differ by 1e-16 each.
SAME = 1e-11


def sample(seed: int) -> Forecasts:
    rng = np.random.default_rng(seed)
    k, n = int(rng.choice([2, 3, 5, 12])), int(rng.choice([8, 30, 200, 1000]))
    p = rng.dirichlet(np.full(k, rng.choice([0.02, 0.2, 1.0, 5.0])), n)
    y = np.where(rng.random(n) < rng.choice([0.0, 0.3, 1.0]), p.argmax(axis=1), rng.integers(0, k, n))
    return Forecasts(p, y, tuple(range(k)), weights=rng.exponential(size=n) if seed % 4 == 0 else None)


@pytest.mark.parametrize("name", ["temperature", "platt", "beta", "vector", "matrix"])
def test_the_order_of_rows_does_not_show_in_fits_by_optimisation(name: str) -> None:
    for seed in range(24):
        f = sample(seed)
        order = np.random.default_rng(seed).permutation(len(f))
        expected = calibrators.fit(name, f)(f.probabilities)
        found = calibrators.fit(name, f.take(order))(f.probabilities)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=SAME, err_msg=f"seed {seed}")


@pytest.mark.parametrize("start", [1e-4, 0.3, 4.0, 1e4])
def test_the_temperature_does_not_depend_on_where_the_search_begins(start: float) -> None:
    f = sample(9)
    expected = temperature.fit(f).temperature
    assert temperature.fit(f, start=start).temperature == pytest.approx(expected, rel=1e-9)


def test_equal_forecasts_leave_the_temperature_as_it_is() -> None:
    """Every temperature has the same loss, so the forecasts do not change."""
    even = Forecasts(np.full((6, 3), 1 / 3), np.array([0, 1, 2, 0, 0, 0]), (0, 1, 2))
    assert temperature.fit(even).temperature == 1.0
