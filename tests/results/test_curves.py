"""Curves: laws that hold for every file of `curves/`, isotonic beside scikit-learn, bins of given width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.isotonic import IsotonicRegression

from veracity.estimate.means import curves
from veracity.estimate.means.curves import Curve, shown
from veracity.inputs import Forecasts
from veracity.state.plan import Plan
from veracity.state.tally import Tally

TENTHS = tuple(i / 10 for i in range(1, 10))
N17 = Plan(preset="N17")
R = np.array([-2.0, -2.0 / 3.0, 0.0, 0.5, 1.0, 2.0])

# What each curve needs beside the histogram; a new curve that needs more is named here.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "bins": [{"bins": b, "end_width": w, "split": s} for b in (1, 7, 30) for w in (0.0, 0.005) for s in (False, True)],
    "width": [{"cuts": TENTHS}, {"cuts": TENTHS, "own": (0.01, 0.99)}, {"cuts": ()}],
}
CASES = [(name, options) for name in curves.CURVES for options in OPTIONS.get(name, [{}])]
IDS = [f"{name} {' '.join(f'{k}={v}' for k, v in options.items() if k != 'cuts')}" for name, options in CASES]


def task(k: int, n: int = 800, seed: int = 0, weighted: bool = False) -> Forecasts:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), n)
    p[:40] = np.round(p[:40, :1], 1) @ np.eye(k)[:1] + (1.0 - np.round(p[:40, :1], 1)) @ np.eye(k)[1:2]  # ties, 0, 1
    y = np.array([rng.choice(k, p=row) for row in p])
    return Forecasts(p, y, tuple(range(k)), rng.gamma(2.0, size=n) if weighted else None)


def tally(f: Forecasts, plan: Plan = N17) -> Tally:
    """On N17's grid, on which 0.01, 0.02, … are edges."""
    return Tally.of(f, plan=plan)


def fitted(name: str, options: dict[str, Any], t: Tally) -> Curve:
    return curves.fit(name, t.pooled, t.grid, **options)


def in_bins(curve: Curve, u: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.bincount(curve.locate(u), values, len(curve))


# ---- laws, for every curve ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.parametrize(("k", "weighted"), [(2, False), (3, False), (12, True)])
def test_counts_and_sums_are_kept(name: str, options: dict[str, Any], k: int, weighted: bool) -> None:
    f = task(k, weighted=weighted)
    curve = fitted(name, options, tally(f))
    entries, mass = f.matrix.ravel(), np.repeat(f.mass, k)
    true = (np.arange(k) == f.outcomes[:, None]).ravel()
    # Every entry lies in the bin that `locate` says, and all of them are counted.
    np.testing.assert_array_equal(curve.count, in_bins(curve, entries, np.ones(len(entries))))
    np.testing.assert_array_equal(curve.true, in_bins(curve, entries, true))
    assert curve.count.sum() == len(entries)
    assert curve.true.sum() == len(f)
    np.testing.assert_allclose(curve.weight, in_bins(curve, entries, mass), rtol=1e-12)
    np.testing.assert_allclose(curve.true_weight, in_bins(curve, entries, mass * true), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(curve.true_weight2, in_bins(curve, entries, mass**2 * true), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(curve.forecast * curve.weight, in_bins(curve, entries, mass * entries), rtol=1e-12)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
@pytest.mark.parametrize("k", [2, 3, 12])
def test_frequencies_lie_in_the_unit_interval_and_edges_ascend(name: str, options: dict[str, Any], k: int) -> None:
    curve = fitted(name, options, tally(task(k)))
    assert np.all((curve.source >= 0.0) & (curve.source <= 1.0))
    assert np.all(curve.low < curve.high) or curve.low[-1] == curve.high[-1] == 1.0  # the cell {1} by itself
    assert np.all(curve.high[:-1] <= curve.low[1:])
    assert np.all(curve.count > 0)
    filled = curve.true > 0
    assert np.all((curve.model[filled] >= curve.low[filled]) & (curve.model[filled] <= curve.high[filled]))
    if name not in ("knn", "kernel"):  # whose frequencies are those of a neighbourhood
        np.testing.assert_allclose(curve.source, curve.true_weight / curve.weight, rtol=1e-12)


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_measured_means_are_those_of_frequencies_put_in_place_of_forecasts(name: str, options: dict[str, Any]) -> None:
    f = task(3, weighted=True)
    curve = fitted(name, options, tally(f))
    c, share = curve.source[curve.locate(f.realised)], f.mass / f.mass.sum()
    for floor in (0.0, 0.05):
        u = np.maximum(c, floor)
        plain = [np.exp(share @ np.log(u)) if r == 0.0 else (share @ u**r) ** (1 / r) for r in R]
        np.testing.assert_allclose(curve.means(R, floor), plain, rtol=1e-12)
        assert np.all(np.diff(curve.means(R, floor)) >= -1e-15)  # a generalized mean grows with r


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_contributions_of_bins_add_up_to_the_log_loss(name: str, options: dict[str, Any]) -> None:
    f = task(3, seed=3)
    positive = f.realised > 0.0
    f = Forecasts(f.matrix[positive], f.outcomes[positive], f.classes)
    additive, published = fitted(name, options, tally(f)).contributions()
    assert additive.sum() == pytest.approx(-np.mean(np.log(f.realised)), rel=1e-12)
    curve = fitted(name, options, tally(f))
    some = curve.true > 0
    expected = -curve.source[some] / curve.source.sum() * np.log(curve.model[some])  # N17 eq 17
    np.testing.assert_allclose(published[some], expected, rtol=1e-12, atol=1e-15)


@given(
    hnp.arrays(np.float64, st.integers(1, 60), elements=st.floats(0.0, 1.0)),
    st.integers(0, 2**32 - 1),
    st.sampled_from(CASES),
)
def test_curves_hold_every_entry_of_any_probabilities(
    p: np.ndarray, seed: int, case: tuple[str, dict[str, Any]]
) -> None:
    y = np.random.default_rng(seed).integers(0, 2, len(p))
    curve = fitted(*case, tally(Forecasts(p, y, (0, 1))))
    assert curve.count.sum() == 2 * len(p)
    assert curve.true.sum() == len(p)
    assert np.all((curve.source >= 0.0) & (curve.source <= 1.0))
    entries = np.concatenate([1.0 - p, p])
    np.testing.assert_array_equal(curve.count, in_bins(curve, entries, np.ones(len(entries))))


def test_unknown_curve_is_refused() -> None:
    assert {"bins", "isotonic", "width"} <= set(curves.CURVES)
    t = tally(task(2))
    with pytest.raises(ValueError, match=r"no curve is called 'spline'; there are bins, width, isotonic, knn, kernel"):
        curves.fit("spline", t.pooled, t.grid)


# ---- isotonic -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "weighted"), [(2, False), (2, True), (5, True)])
def test_isotonic_equals_scikit_learn_on_cell_means(k: int, weighted: bool) -> None:
    t = tally(task(k, weighted=weighted))
    h, curve = t.pooled, fitted("isotonic", {}, t)
    assert np.all(np.diff(curve.source) >= -1e-15)
    weight = h.all.astype(float) if h.all_weight is None else h.all_weight
    true = h.true if h.true_weight is None else h.true_weight
    forecast = h.all_sum / weight
    theirs = IsotonicRegression().fit_transform(forecast, true / weight, sample_weight=weight)
    np.testing.assert_allclose(curve.source[curve.locate(t.grid.edges[h.cells])], theirs, atol=1e-12)


def test_isotonic_of_few_values_by_hand() -> None:
    # Frequencies 1/2, 1/3 (violates), 1: the first two pool to 2/5.
    p = np.array([0.2, 0.2, 0.6, 0.6, 0.6, 0.9])
    y = np.array([1, 0, 0, 1, 0, 1])
    t = tally(Forecasts(p, y, (0, 1)))
    curve = curves.fit("isotonic", t.classwise[1], t.grid)
    np.testing.assert_allclose(curve.source, [2 / 5, 1.0])
    np.testing.assert_array_equal(curve.count, [5, 1])


# ---- bins of given width --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_width_bins_are_closed_below(dtype: Any) -> None:
    p = np.array([0.0, 0.05, 0.1, 0.15, 0.3, 0.9, 1.0], dtype=dtype)
    t = tally(Forecasts(p, np.array([0, 0, 1, 0, 1, 1, 1]), (0, 1)))
    curve = curves.fit("width", t.classwise[1], t.grid, cuts=TENTHS)
    assert shown(curve.low, N17.cuts) == [0.0, 0.1, 0.3, 0.9]
    assert shown(curve.high, N17.cuts) == [0.1, 0.2, 0.4, 1.0]
    np.testing.assert_array_equal(curve.count, [2, 2, 1, 2])
    np.testing.assert_array_equal(curve.true, [0, 1, 1, 2])


def test_width_bins_equal_a_plain_histogram() -> None:
    f = task(4, seed=5)
    curve = fitted("width", {"cuts": tuple(i / 100 for i in range(1, 100))}, tally(f))
    edges = np.append(np.arange(100) / 100, np.nextafter(1.0, 2.0))
    entries = np.round(f.matrix.ravel(), 15)  # 1 − 0.8 lies at 0.2, where the cuts are mirrored
    which = np.searchsorted(edges, entries, side="right") - 1
    counts = np.bincount(which, minlength=100)
    np.testing.assert_array_equal(curve.count, counts[counts > 0])


def test_atoms_of_their_own() -> None:
    p = np.array([0.01, 0.01, 0.015, 0.5, 0.985, 0.99])
    t = tally(Forecasts(p, np.array([0, 1, 0, 1, 1, 1]), (0, 1)))
    cuts = tuple(i / 100 for i in range(1, 100))
    curve = curves.fit("width", t.classwise[1], t.grid, cuts=cuts, own=(0.01, 0.99))
    np.testing.assert_array_equal(curve.count, [2, 1, 1, 1, 1])  # {0.01}, (0.01, 0.02), …, {0.99}
    assert curve.source[0] == 0.5
