"""Laws of the cross-validation: nothing depends on the order of rows or classes; a count is so many rows."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from veracity.estimate.loss.folds import FOLDS, folds
from veracity.estimate.loss.linear_pool import mixture_weights
from veracity.estimate.loss.losses import losses
from veracity.estimate.loss.recalibration import recalibration, select
from veracity.inputs import Forecasts

RULES = ("log", "brier", 0.5)


def sample(k: int, n: int = 900, seed: int = 0, **options) -> Forecasts:
    rng = np.random.default_rng([seed, k])
    z = rng.normal(0, 1.5, (n, k))
    q, s = (np.exp(a * z) / np.exp(a * z).sum(axis=1, keepdims=True) for a in (1.0, 1.5))
    y = (np.cumsum(q, axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return Forecasts(s, y, tuple("abcdefghij"[:k]), **options)


def gains(f: Forecasts, **options) -> np.ndarray:
    found = recalibration(f, **options)
    return np.array([found.gain(rule, stage) for rule in RULES for stage in ("C", "A")])


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_order_of_rows_and_of_classes_does_not_matter(k, weighted):
    f = sample(k)
    rng = np.random.default_rng(1)
    f = replace(f, weights=rng.choice([0.5, 1.0, 2.0], len(f)) if weighted else None)
    expected = gains(f)
    np.testing.assert_allclose(gains(select(f, rng.permutation(len(f)))), expected, atol=1e-10)
    order = rng.permutation(k)
    place = np.argsort(order)
    turned = replace(
        f,
        probabilities=f.probabilities[:, order],
        outcomes=place[f.outcomes],
        classes=tuple(f.classes[j] for j in order),
    )
    # Iterative fits stop at a gradient of 1e-9 a row.
    np.testing.assert_allclose(gains(turned), expected, atol=1e-7)


def test_the_event_and_its_complement_have_the_same_gains():
    f = sample(2)
    p = f.probabilities[:, 1]
    given = Forecasts(p, f.outcomes, ("no", "yes"))
    other = Forecasts(1.0 - p, 1 - f.outcomes, ("yes", "no"))
    np.testing.assert_allclose(gains(other), gains(given), atol=1e-7)


@pytest.mark.parametrize("k", [2, 4])
def test_a_count_is_so_many_rows(k):
    f = sample(k, 300)
    counts = np.random.default_rng(3).integers(1, 5, len(f))
    counted = replace(f, counts=counts)
    repeated = select(f, np.repeat(np.arange(len(f)), counts))
    np.testing.assert_allclose(gains(repeated), gains(counted), atol=1e-9)


def test_gains_of_rows_have_the_gain_as_weighted_mean():
    f = sample(3, 300, counts=np.random.default_rng(3).integers(1, 90, 300), weights=np.linspace(0.5, 2.0, 300))
    found = recalibration(f)
    row, copies = found.folds.row, found.folds.copies
    for rule in RULES:
        mean = np.bincount(row, found.gains(rule) * copies) / np.bincount(row, copies)
        assert f.mass @ mean / f.mass.sum() == pytest.approx(found.gain(rule)[0], abs=1e-12)


def test_weights_have_no_scale():
    weights = np.random.default_rng(4).choice([0.5, 1.0, 3.0], 900)
    f = sample(3, weights=weights)
    found = [recalibration(replace(f, weights=w)) for w in (weights, 8.0 * weights)]
    # The folds depend on the weights' bits, so the fits are compared in the same folds.
    assert found[0].members == found[1].members
    for w, r in zip((weights, 8.0 * weights), found, strict=True):
        assert r.mean(r.gains("log"))[0] == pytest.approx((w[r.folds.row] @ r.gains("log")) / w.sum(), abs=1e-12)


def test_folds_are_even_and_spread_equal_cases():
    f = Forecasts(np.tile([[0.3, 0.7]], (2, 1)), np.array([0, 1]), (0, 1), counts=np.array([300, 700]))
    for counts in ([300, 700], [60, 50], [30_000, 70_000]):
        split = folds(replace(f, counts=np.array(counts)))
        for row in (0, 1):
            share = split.copies[split.row == row] / counts[row]
            assert share.sum() == pytest.approx(1.0)
            assert np.abs(share - 1 / FOLDS).max() < 4.5 * np.sqrt(0.16 / counts[row])
    single = folds(sample(3, 5000))
    assert np.abs(np.bincount(single.fold) / 5000 - 0.2).max() < 0.025


def test_clusters_stay_whole_and_widen_the_interval():
    f = sample(2, 200)
    four = select(f, np.repeat(np.arange(200), 4))
    cluster = np.repeat([f"patient {i}" for i in range(200)], 4)
    found = recalibration(four, clusters=cluster)
    fold = found.folds.fold.reshape(200, 4)
    assert (fold == fold[:, :1]).all()
    alone = replace(found, folds=replace(found.folds, cluster=None), _held={})
    assert alone.gain("log")[0] == found.gain("log")[0]
    # Four equal rows a cluster: twice the standard error; G/(G − 1) and t/z for the number of clusters.
    wider = np.sqrt(200 / 199) * stats.t.ppf(0.975, 199) / stats.norm.ppf(0.975)
    assert found.gain("log")[1] == pytest.approx(2 * alone.gain("log")[1] * wider, rel=1e-9)


@pytest.mark.parametrize("equal", [False, True])
def test_a_case_alone_in_its_cluster_or_under_its_id_goes_where_it_goes_by_itself(equal):
    """So naming a column that joins no cases moves no number; of 500 equal cases the folds are drawn at once."""
    f = sample(2, 500)
    f = f.take(np.zeros(500, np.int64)) if equal else f
    own = np.random.default_rng(2).permutation(len(f))
    alone = np.bincount((split := folds(f)).fold, weights=split.copies)
    assert np.array_equal(np.bincount(folds(f, clusters=own).fold), alone)
    assert np.array_equal(folds(replace(f, case=own)).fold, split.fold)
    assert gains(f, clusters=own)[:, 0] == pytest.approx(gains(f)[:, 0], abs=1e-12)
    assert gains(replace(f, case=own)) == pytest.approx(gains(f), abs=1e-12, nan_ok=True)


def test_folds_of_time_are_contiguous():
    f = sample(2, 500)
    time = np.random.default_rng(5).permutation(500).astype(float)
    found = recalibration(f, time=time)
    fold = found.folds.fold[np.argsort(time)]
    assert (np.diff(fold) >= 0).all()
    assert np.bincount(fold).tolist() == [100] * 5
    assert len(np.unique(found.folds.cluster)) == 12


def test_excluded_maps_are_left_out_and_the_adjustment_with_them():
    f = sample(2, 2000)
    found = recalibration(f, exclude=("multiplicative",))
    assert "multiplicative" not in found.members
    made = losses(f, "log", found)
    assert not made.AL.known
    assert "only the pick" in made.AL.reason
    assert made.CL > 0.0


def test_one_cluster_or_one_case_has_no_cross_validation():
    assert recalibration(sample(2, 50), clusters=np.zeros(50)) is None
    assert recalibration(sample(2, 1)) is None


def test_the_pool_has_the_weights_of_the_largest_likelihood():
    rng = np.random.default_rng(6)
    realised, rows, pseudo = rng.random((2000, 5)) ** 0.5, rng.random(2000), np.array([5.0, 0.5, 0.0, 0.0, 0.0])
    weights = mixture_weights(realised, rows, pseudo)
    em = np.full(5, 0.2)
    for _ in range(5000):
        em = em * ((rows / (realised @ em)) @ realised) + pseudo
        em /= em.sum()

    def likelihood(w):
        return rows @ np.log(realised @ w) + 5.0 * np.log(w[0]) + 0.5 * np.log(w[1])

    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert likelihood(weights) > likelihood(em) - 1e-2  # a thousandth of a row keeps every weight above zero


def test_folds_are_fitted_without_themselves():
    """Outcomes of a fold do not enter the maps that its rows are judged by."""
    f = sample(3, 600)
    found = recalibration(f)
    fold = found.folds.fold[np.argsort(found.folds.row)]
    inside = np.flatnonzero(fold == 2)
    for name in ("temperature", "matrix", "confusion"):
        place = found.members.index(name)
        rest = select(f, np.flatnonzero(fold != 2))
        from veracity import calibrators

        expected = calibrators.fit(name, rest)(f.probabilities[inside])
        # The rows come in another order: iterative fits agree to their tolerance.
        np.testing.assert_allclose(found.fitted[2][place](f.probabilities[inside]), expected, atol=1e-7)


def test_large_samples_are_fitted_on_whole_forecasts():
    rng = np.random.default_rng(7)
    p = rng.random(30_000)
    p = np.concatenate([p, p[:10_000]])
    f = Forecasts(p, (rng.random(len(p)) < p).astype(int), (0, 1))
    from veracity.estimate.loss.recalibration import MOST_ROWS, fit_rows

    chosen = fit_rows(f.forecast_hashes, 2)
    assert 0.95 * MOST_ROWS < chosen.sum() <= MOST_ROWS
    assert (chosen[:10_000] == chosen[30_000:]).all()


def test_a_cross_validation_can_be_pickled_and_looked_at_in_part():
    found = recalibration(sample(3, 600))
    again = pickle.loads(pickle.dumps(found))
    assert again.gain("brier") == found.gain("brier")
    chosen = np.arange(600) % 2 == 0
    gains = found.gains("brier")
    part = found.part(chosen)
    assert part.gain("brier")[0] == pytest.approx(gains[chosen[found.folds.row]].mean(), abs=1e-12)
