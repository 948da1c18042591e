"""Laws of the model-versus-source means: bins, floors and the divergence probability."""

from __future__ import annotations

import math

import numpy as np
import pytest

import veracity as vc
from veracity.formulas.means import generalized_mean
from veracity.simulate import simulate

POWERS = (1.0, 0.0, -2 / 3)


def rooted(total: float, m: float) -> float:
    return total ** (1 / m) if m else math.exp(total)


def in_bins(p: np.ndarray, bins: int, m: float) -> list[tuple[int, float, float]]:
    """(rows, mean of p^m or ln p, geometric mean) of bins with nearly equal numbers of rows."""
    parts = np.array_split(np.sort(p), bins)
    return [(len(x), float((x**m if m else np.log(x)).mean()), float(np.exp(np.log(x).mean()))) for x in parts]


@pytest.mark.parametrize("m", POWERS)
def test_binned_model_means_are_those_of_the_rows_when_bins_are_weighted(m):
    """N17 eq 18. 1003 = 17 · 59: with 17 bins weights do not matter, with 10 they do."""
    p = simulate("dirichlet-3-calibrated", 1003, seed=4).realised
    rows = float(generalized_mean(p, m))
    for bins in (10, 17):
        held = in_bins(p, bins, m)
        weighted = rooted(sum(n * mean for n, mean, _ in held) / 1003, m)
        assert weighted == pytest.approx(rows, rel=1e-12)
        plain = rooted(sum(mean for _, mean, _ in held) / bins, m)
        if bins == 17:
            assert plain == pytest.approx(rows, rel=1e-12)
        else:
            assert abs(plain - rows) > 1e-6


def test_means_of_geometric_bin_means_are_right_at_0_only():
    p = simulate("dirichlet-3-calibrated", 1003, seed=4).realised
    found = {m: float(generalized_mean([g for *_, g in in_bins(p, 17, m)], m)) for m in POWERS}
    assert found[0.0] == pytest.approx(float(generalized_mean(p, 0.0)), rel=1e-12)
    assert found[1.0] < float(generalized_mean(p, 1.0)) - 1e-4  # by Jensen's inequality
    assert found[-2 / 3] > float(generalized_mean(p, -2 / 3)) + 1e-4


@pytest.mark.parametrize("name", ["n17-tail-0", "dirichlet-3-sharp", "dirichlet-10-calibrated"])
def test_contributions_of_bins_add_up_to_the_log_loss(name):
    a = vc.assess(simulate(name, 900, seed=2))
    assert sum(b.contribution for b in a.bins if b.true) == pytest.approx(float(a.scores.log_loss), rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_one_bin_has_one_in_the_number_of_classes_as_its_source(k):
    """So a model that knows anything has a divergence probability above 1: below 1 holds in the population only."""
    p = simulate(f"dirichlet-{k}-calibrated", 500, seed=3).matrix
    p = 0.9 * p + 0.1 / k  # away from the ends, which are bins of their own
    y = p.argmax(axis=1)
    a = vc.assess(y, p, labels=range(k), bins=1, end_width=0.0)
    assert [b.count for b in a.bins] == [500 * k]
    assert float(a.papers.published.measured.geometric_accuracy) == pytest.approx(1 / k, rel=1e-12)
    assert float(a.reported.geometric_accuracy) / float(a.papers.published.measured.geometric_accuracy) > 1


@pytest.mark.parametrize("m", POWERS)
def test_means_never_fall_with_the_floor(m):
    p = simulate("dirichlet-10-sharp", 800, seed=1).realised
    raised = [float(generalized_mean(np.maximum(p, floor), m)) for floor in (1e-6, 0.001, 0.005, 0.01, 0.05, 0.3)]
    assert np.all(np.diff(raised) >= 0)


def test_the_geometric_mean_rises_with_the_log_floor_by_the_share_below_it():
    """d ln g/d ln γ = P(p < γ): exactly, between two floors with no probability between them."""
    p = simulate("dirichlet-10-sharp", 800, seed=1).realised
    for low, high in zip(np.sort(p)[100:110], np.sort(p)[101:111], strict=True):
        share = (p <= low).mean()
        step = np.log(generalized_mean(np.maximum(p, high), 0.0) / generalized_mean(np.maximum(p, low), 0.0))
        assert step == pytest.approx(share * math.log(high / low), abs=1e-12)
        powers = [float(generalized_mean(np.maximum(p, floor), -2 / 3)) ** (-2 / 3) for floor in (low, high)]
        expected = share * (low ** (-2 / 3) - high ** (-2 / 3))
        assert powers[0] - powers[1] == pytest.approx(expected, rel=1e-9, abs=1e-11)


def test_decisiveness_of_a_calibrated_forecast_is_below_its_share_of_correct_picks():
    """E Σ p² ≤ E max p, with equality for certain rows and rows that are even on what they allow."""
    p = simulate("dirichlet-10-calibrated", 400, seed=6).matrix
    assert np.all((p**2).sum(axis=1) <= p.max(axis=1) + 1e-15)
    for even in (np.eye(4)[0], np.array([0.5, 0.5, 0.0, 0.0]), np.full(4, 0.25)):
        assert (even**2).sum() == pytest.approx(even.max(), abs=1e-15)
