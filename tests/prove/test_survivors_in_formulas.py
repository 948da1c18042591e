"""What mutants of the sample changed in formulas, maps and states and no test noticed: one small test each."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from veracity.calibrators import equal_rows, multiplicative
from veracity.calibrators._logistic import applied, logistic, minimise
from veracity.calibrators._softmax import full_fit, softmax
from veracity.formulas.differences import noncentrality_bound
from veracity.formulas.distributions import _log_gamma_excess
from veracity.formulas.intervals import wilson
from veracity.inputs import Forecasts
from veracity.state.pairs import Moments
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


def test_a_row_without_weight_ties_no_classes() -> None:
    p = np.array([[0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 0.3, 0.7], [0.25, 0.25, 0.25, 0.25]])
    f = Forecasts(p, None, (0, 1, 2, 3), weights=np.array([0.3, 0.7, 0.0]))
    fitted = multiplicative.fit(f, target=[0.1, 0.2, 0.3, 0.4])
    assert fitted.block[0] == fitted.block[1] != fitted.block[2] == fitted.block[3]


def test_a_quadratic_loss_is_minimised_exactly() -> None:
    bend, middle = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([3.0, -1.0])

    def measure(x: np.ndarray) -> tuple[float, np.ndarray, None]:
        return float((x - 2.0 * middle) @ bend @ x) / 2.0, bend @ (x - middle), None  # 0 at the start

    found = minimise(measure, lambda _: bend.dot, np.zeros(2), 1.0)
    np.testing.assert_allclose(found, middle, rtol=1e-14)


def test_curves_of_classes_are_normalised_however_small_they_are() -> None:
    p, slopes = np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]), np.array([[0.01], [0.02], [0.03]])
    found = applied(p, lambda x, c: np.asarray(c[0] * x), slopes)
    np.testing.assert_allclose(found, [[4 / 14, 4 / 14, 6 / 14], [0.0, 0.0, 1.0]], rtol=1e-14)
    nothing = applied(np.zeros((1, 3)), lambda x, c: np.asarray(c[0] * x), slopes)
    np.testing.assert_allclose(nothing, 1 / 3, rtol=1e-14)


@pytest.mark.parametrize("ridge", [0.1, 1.0, 10.0, 100.0])
def test_weights_of_a_matrix_are_where_loss_and_penalty_are_least(ridge: float) -> None:
    rng = np.random.default_rng(0)
    x, y, centre = np.column_stack([rng.normal(size=(20, 3)), np.ones(20)]), rng.integers(0, 3, 20), 2.0 * np.eye(3, 4)
    w = full_fit(x, y, np.ones(20), centre, ridge)
    q, _ = softmax(x @ w.T)
    np.testing.assert_allclose((q - np.eye(3)[y]).T @ x + ridge * (w - centre), 0.0, atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 1.0, 10.0, 100.0])
def test_logistic_coefficients_are_where_loss_and_penalty_are_least(ridge: float) -> None:
    rng = np.random.default_rng(1)
    x, y = np.column_stack([rng.normal(size=40), np.ones(40)]), rng.integers(0, 2, 40).astype(float)
    c = logistic(x, y, np.ones(40), ridge, np.array([2.0, -1.0]))
    pull = (x**2).mean(axis=0) * (c - [2.0, -1.0])
    np.testing.assert_allclose((expit(x @ c) - y) @ x + ridge * pull, 0.0, atol=1e-8)
