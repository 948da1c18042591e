"""Isotonic regression against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from veracity.formulas.isotonic import pooled_blocks

RNG = np.random.default_rng(0)
ASCENDING = np.linspace(0.0, 1.0, 3000)
DATA = {
    "outcomes of an event": (RNG.random(3000) < ASCENDING).astype(float),
    "no relation": (RNG.random(3000) < 0.3).astype(float),
    "noisy line": ASCENDING + RNG.standard_normal(3000),
    "one surprise first": np.append(1e6, np.arange(2999.0)),  # pools one value after another
    "descending": -ASCENDING,
    "ascending": ASCENDING,
    "equal": np.ones(3000),
    "one value": np.ones(1),
}


def test_levels_that_differ_by_rounding_are_one_level() -> None:
    assert pooled_blocks(np.array([0.3, 0.1 + 0.2, 0.4]), np.ones(3)).tolist() == [0, 2]
    many = np.append(np.arange(1.0, 40.0), [50 * 0.3, 50 * (0.1 + 0.2)]) / 50.0  # pooled one by one
    many.sort()
    assert len(pooled_blocks(many, np.ones(41))) == len(np.unique(many.round(12)))


@pytest.mark.parametrize("y", DATA.values(), ids=DATA)
@pytest.mark.parametrize("weighted", [False, True])
def test_levels_of_blocks_are_those_of_scipy(y: np.ndarray, weighted: bool) -> None:
    weight = np.random.default_rng(1).random(len(y)) + 0.1 if weighted else np.ones(len(y))
    start = pooled_blocks(y, weight)
    levels = np.add.reduceat(y * weight, start) / np.add.reduceat(weight, start)
    assert (np.diff(levels) > 0.0).all()
    found = np.repeat(levels, np.diff(np.append(start, len(y))))
    # Sums over thousands of values in another order.
    np.testing.assert_allclose(found, isotonic_regression(y, weights=weight).x, rtol=1e-12, atol=1e-12)
