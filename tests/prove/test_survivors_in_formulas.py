"""What mutants of the sample changed in formulas, maps and states and no test noticed: one small test each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from veracity.data import Forecasts
from veracity.formulas.differences import noncentrality_bound
from veracity.formulas.distributions import _log_gamma_excess
from veracity.formulas.intervals import wilson
from veracity.formulas.means import log_generalized_mean, log_spread
from veracity.maps import equal_rows, multiplicative
from veracity.state.pairs import Moments
from veracity.state.rows import _nearest
from veracity.state.tally import Tally


@pytest.mark.parametrize("df", [1.0, 5.0, 40.0])
def test_the_bound_of_a_large_noncentrality_solves_the_normal_approximation(df: float) -> None:
    x, z = 1.2e4, 1.959963984540054
    bound = noncentrality_bound(x, df)
    assert bound + df - z * math.sqrt(2.0 * df + 4.0 * bound) == pytest.approx(x, rel=1e-12)


@pytest.mark.parametrize("n", [3, 7, 14, 50])
def test_a_share_of_none_or_all_has_exactly_that_end(n: int) -> None:
    assert wilson(0.0, n, 0.95)[0] == 0.0
    assert wilson(1.0, n, 0.95)[1] == 1.0


@pytest.mark.parametrize("a", [20.0, 20.5, 31.0])
def test_two_halves_of_a_step_of_the_gamma_function_make_a_whole(a: float) -> None:
    """Γ(a + 1)/Γ(a) = a."""
    halves = _log_gamma_excess(a, 1) + _log_gamma_excess(a + 0.5, 1)
    assert halves == pytest.approx(-0.5 * math.log1p(0.5 / a), rel=2e-14, abs=0.0)


def test_tiny_scores_that_differ_are_different_rows() -> None:
    for p in (np.array([1e-20, 2e-20, 1e-20]), np.array([[1e-20], [2e-20], [1e-20]])):
        label, first = equal_rows(p)
        assert label.tolist() == [0, 1, 0]
        assert first.tolist() == [0, 1]


@pytest.mark.parametrize("rows", [100, 103, 110, 150, 5000])
def test_the_nearest_rows_are_those_with_the_smallest_hashes(rows: int) -> None:
    h = np.random.default_rng(rows).integers(0, 2**64 - 1, rows, np.uint64, endpoint=True)
    found = _nearest(h, 100, None)
    np.testing.assert_array_equal(found[:100], np.argsort(h)[:100])


def test_options_that_were_not_offered_are_counted_nowhere() -> None:
    p = np.array([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0], [0.5, 0.5, 0.0]])
    offered = np.array([[True, True, False], [True, True, False], [True, True, True]])
    tally = Tally.of(Forecasts(p, np.array([0, 1, 0]), (0, 1, 2), counts=np.array([1, 2, 3]), offered=offered))
    assert tally.pooled.all.sum() == 2 + 4 + 9
    assert [int(h.all.sum()) for h in tally.classwise] == [6, 6, 3]


def test_one_model_has_scores_and_no_pairs() -> None:
    found = Moments.of(np.array([[[0.1, 0.4, 0.7]]]), np.ones(3, int), np.ones(3), None)
    assert found.total[0, 0] == pytest.approx(1.2)
    assert found.pairs.shape == (1, 0, 3)


def test_a_weight_of_zero_removes_its_value_from_the_spread_and_the_mean() -> None:
    assert log_spread([0.2, 0.8, 0.0], [1.0, 1.0, 0.0]) == pytest.approx(log_spread([0.2, 0.8]), rel=1e-15)
    log_p = np.log([0.2, 0.8])
    for r in (-1.0, 0.0, 1.0):
        wanted = log_generalized_mean(log_p, r)
        assert log_generalized_mean([*log_p, -np.inf], r, [1.0, 1.0, 0.0]) == pytest.approx(wanted, rel=1e-15)


def test_a_row_without_weight_ties_no_classes() -> None:
    p = np.array([[0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 0.3, 0.7], [0.25, 0.25, 0.25, 0.25]])
    f = Forecasts(p, None, (0, 1, 2, 3), weights=np.array([0.3, 0.7, 0.0]))
    fitted = multiplicative.fit(f, target=[0.1, 0.2, 0.3, 0.4])
    assert fitted.block[0] == fitted.block[1] != fitted.block[2] == fitted.block[3]
