"""Smoothed maps, floors and edges of bins beside their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from veracity import calibrators
from veracity.inputs import Forecasts


def drawn(n: int, k: int, seed: int = 1) -> Forecasts:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return Forecasts(p, (rng.random((n, 1)) > p.cumsum(axis=1)[:, :-1]).sum(axis=1), tuple(range(k)))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_smoothed_levels_have_one_more_row_shared_by_all_classes(k: int) -> None:
    f = drawn(400, k)
    plain, smooth = calibrators.fit("isotonic", f), calibrators.fit("smoothed_isotonic", f)
    for j, (knots, before, after) in enumerate(zip(plain.knots, plain.values, smooth.values, strict=True)):
        x = f.matrix[:, 1 if k == 2 else j]
        for level in np.unique(before):
            at = knots[before == level]
            n = ((x >= at.min()) & (x <= at.max())).sum()
            assert after[before == level] == pytest.approx((n * level + 1 / k) / (n + 1), rel=1e-9)


@pytest.mark.parametrize("k", [2, 4])
def test_smoothed_class_frequencies_have_one_more_row_shared_by_all_classes(k: int) -> None:
    f = drawn(50, k)
    counts = np.bincount(f.observed, minlength=k)
    assert calibrators.fit("prior", f).frequencies == pytest.approx((counts + 1 / k) / 51, rel=1e-12)


@pytest.mark.parametrize("rare", [0, 1])
def test_smoothed_bins_do_not_depend_on_which_class_is_called_first(rare: int) -> None:
    """Of two classes, the one that is predicted less often is binned: exchanged names exchange the columns."""
    rng = np.random.default_rng(2)
    p = rng.beta(1.0, 3.0, 300)
    y = (rng.random(300) < p).astype(int)
    rows = np.column_stack([p, 1 - p])[:, :: 1 if rare == 0 else -1]
    happened = 1 - y if rare == 0 else y
    fitted = calibrators.fit("smoothed_bins", Forecasts(rows, happened, ("a", "b")))
    cells = fitted.cells(rows)
    for cell in np.unique(cells):
        inside = cells == cell
        counts = np.bincount(happened[inside], minlength=2)
        assert fitted.means[cell] == pytest.approx((counts + 0.5) / (inside.sum() + 1), rel=1e-12)
    assert abs(np.corrcoef(fitted(rows)[:, rare], p)[0, 1]) > 0.5
    assert np.corrcoef(fitted(rows)[:, rare], p)[0, 1] > 0.0


def test_a_forecast_at_an_edge_belongs_to_the_bin_above_it() -> None:
    p = np.repeat([0.1, 0.3, 0.5, 0.9], 10)
    rows, y = np.column_stack([1 - p, p]), (np.arange(40) % 3 > 0).astype(int)
    fitted = calibrators.fit("bins", Forecasts(rows, y, (0, 1)), bins=2)
    (edge,) = fitted.edges[0]
    at: Any = np.array([[1 - x, x] for x in (np.nextafter(edge, 0), edge, np.nextafter(edge, 1))])
    assert fitted.cells(at).tolist() == [0, 1, 1]


@pytest.mark.parametrize(("k", "minimum"), [(2, 0.001), (100, 0.001), (200, 0.0005), (1000, 0.0001)])
def test_a_minimum_probability_takes_at_most_a_tenth_of_all_classes_together(k: int, minimum: float) -> None:
    fitted = calibrators.fit("floor", drawn(20, k))
    assert fitted.minimum == pytest.approx(minimum)
    sure = np.eye(k)[:1]
    after = fitted(sure)
    assert after.min() == pytest.approx(minimum)
    assert after.sum() == pytest.approx(1.0)
    assert after[0, 0] >= 0.9 - 1e-9


def test_beta_calibration_never_has_a_falling_part() -> None:
    """Either slope below zero is set to zero, whichever of the two it is."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.02, 0.98, 600)
    for x in (-np.log(1 - p), np.log(p)):
        log_odds = x - x.mean() - 0.6 * (np.log(p) if x[0] > 0 else -np.log(1 - p))
        y = (rng.random(600) < 1 / (1 + np.exp(-1.5 * log_odds))).astype(int)
        a, b, _ = calibrators.fit("beta", Forecasts(np.column_stack([1 - p, p]), y, (0, 1))).coefficients[0]
        assert a >= 0.0
        assert b >= 0.0


def test_a_temperature_weighs_its_rows() -> None:
    f = drawn(300, 3, 4)
    weights = np.where(np.arange(300) < 150, 3.0, 1.0)
    weighed = Forecasts(f.probabilities, f.outcomes, f.classes, weights=weights)
    again = np.concatenate([np.arange(300), np.repeat(np.arange(150), 2)])
    wanted = calibrators.fit("temperature", f.take(again)).temperature
    assert calibrators.fit("temperature", weighed).temperature == pytest.approx(wanted, rel=1e-6)
    assert calibrators.fit("temperature", f).temperature != pytest.approx(wanted, rel=1e-3)
