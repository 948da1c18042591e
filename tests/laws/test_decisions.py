"""Every score of the family is a weighted area under the curve of elementary losses, for any number of classes."""

from __future__ import annotations

import numpy as np
import pytest

from veracity.formulas import decisions as formulas
from veracity.formulas.rules import rule

R = (-0.9, -2 / 3, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0)


def drawn(k: int, n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.6), n)
    p = np.maximum(p, 1e-9)
    return p / p.sum(axis=1, keepdims=True), rng.integers(0, k, n)


@pytest.mark.parametrize("k", [2, 3, 10, 100])
@pytest.mark.parametrize("r", R)
def test_half_scores_of_all_classes_add_to_the_score(k: int, r: float) -> None:
    p, y = drawn(k)
    halves = formulas.half_score(p, np.arange(k) == y[:, None], r).sum(axis=1)
    np.testing.assert_allclose(halves, rule(r).score(p, y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("r", R)
@pytest.mark.parametrize("event", [0, 1])
def test_half_score_is_the_weighted_area_of_elementary_losses(r: float, event: int) -> None:
    p = np.array([0.03, 0.2, 0.5, 0.9])
    # substituting u = c^((1 + r)/4) makes the integrand of a false alarm a power of u; each stretch has no jump
    nodes, weights = np.polynomial.legendre.leggauss(80)
    power = (1.0 + r) / 4.0
    areas = []
    for one in p:
        low, high = (0.0, one) if event == 0 else (one, 1.0)
        a, b = low**power, high**power
        u = (a + b) / 2.0 + (b - a) / 2.0 * nodes
        c = u ** (1.0 / power)
        loss = formulas.elementary_loss(one, event, c)
        slope = c ** (1.0 - power) / power
        areas.append(weights @ (loss * formulas.score_weight(c, r) * slope) * (b - a) / 2.0)
    # the quadrature is good to ten digits
    np.testing.assert_allclose(areas, formulas.half_score(p, event, r), rtol=1e-9)


def test_two_classes_hide_from_every_r_what_the_event_half_tells() -> None:
    q = (np.arange(200_000) + 0.5) / 200_000
    low, high = np.where(q < 0.5, q, 0.75), np.where(q > 0.5, q, 0.25)

    def mean_half(p: np.ndarray, r: float) -> float:
        return float((q * formulas.half_score(p, 1, r) + (1.0 - q) * formulas.half_score(p, 0, r)).mean())

    for r in (-0.5, 0.0, 0.5, 1.0, 2.0):
        both = [mean_half(p, r) + float(np.mean((1.0 - q) * formulas.half_score(1.0 - p, 1, r)
                + q * formulas.half_score(1.0 - p, 0, r))) for p in (low, high)]  # fmt: skip
        assert both[0] == pytest.approx(both[1], abs=1e-9)
    found = [mean_half(low, r) - mean_half(high, r) for r in (-0.5, 1.0, 2.0)]
    np.testing.assert_allclose(found, [-0.024, 0.0, 0.008], atol=5e-4)


def test_the_score_at_two_is_three_quarters_of_the_score_at_one_for_two_classes() -> None:
    p, y = drawn(2)
    np.testing.assert_allclose(rule(2.0).score(p, y), 0.75 * rule(1.0).score(p, y), atol=1e-12)


@pytest.mark.parametrize("digits", [None, 1])
def test_mean_elementary_loss_is_that_of_net_benefit_on_the_same_side(digits: int | None) -> None:
    rng = np.random.default_rng(2)
    p = rng.random(500) if digits is None else np.round(rng.random(500), digits)
    y = (rng.random(500) < p).astype(int)
    for c in (0.1, 0.2, 0.35, 0.9):
        act = p > c
        benefit = formulas.net_benefit((act & (y == 1)).mean(), (act & (y == 0)).mean(), c)
        expected = formulas.elementary_loss(p, y, c).mean()
        assert float(formulas.murphy(benefit, y.mean(), c)) == pytest.approx(expected, abs=1e-12)


def test_updating_moves_forecasts_as_their_threshold_moves() -> None:
    p = np.linspace(0.001, 0.999, 999)
    after = formulas.at_prior(np.column_stack([1.0 - p, p]), [0.7, 0.3], [0.95, 0.05])[:, 1]
    for c in (0.05, 0.1, 0.5, 0.9):
        limit = float(formulas.updated_threshold(c, 0.3, 0.05))
        far = np.abs(p - limit) > 1e-9
        np.testing.assert_array_equal((after >= c)[far], (p >= limit)[far])
    np.testing.assert_allclose(formulas.at_prior([0.7, 0.3], [0.6, 0.4], [0.6, 0.4]), [0.7, 0.3], rtol=1e-15)
