"""Assessments of a thousand classes: small entries share cells, which nothing that is said may rest on."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest

import veracity
from veracity.estimate.means.curves import equal_true_bins, number_of_bins
from veracity.kernels import scan
from veracity.kernels.grid import grid
from veracity.state.plan import Plan
from veracity.state.tally import Tally, total
from veracity.words.verdict import sentences


def softmax(n, k, strength, seed):
    rng = np.random.default_rng(seed)
    p = np.exp(strength * rng.standard_normal((n, k)))
    p = (p / p.sum(axis=1, keepdims=True)).astype(np.float32)
    y = np.array([rng.choice(k, p=row / row.sum()) for row in p.astype(np.float64)])
    return y, p


def codes(assessment):
    return {finding.code for finding in assessment.findings}


def test_near_uniform_is_not_constant():
    y, p = softmax(40, 1000, 0.1, seed=1)
    assert p.max() < 2.0**-5  # all in the lowest class-wise cell
    assert "constant_forecast" not in codes(veracity.assess(y, p, labels=range(1000)))
    p[:] = p[0]
    assert "constant_forecast" in codes(veracity.assess(y, p, labels=range(1000)))


@pytest.mark.parametrize("strength", [0.1, 1.0, 3.0, 8.0])
def test_classwise_calibration_error_by_plain_code(strength):
    y, p = softmax(300, 60, strength, seed=2)
    edges = np.arange(16) / 15
    errors = []
    for j in range(60):
        # (a, b] with 0 in the first bin; float32 entries next to an edge are what the edge is for float32 data.
        at = np.clip(np.searchsorted(edges.astype(np.float32), p[:, j], side="left") - 1, 0, 14)
        gaps = [abs((y[at == b] == j).sum() - p[at == b, j].sum(dtype=np.float64)) for b in range(15)]
        errors.append(sum(gaps) / 300)
    found = veracity.assess(y, p, labels=range(60)).calibration_error.classwise.value
    assert found == pytest.approx(np.mean(errors), rel=1e-12)


def test_parts_measure_the_same():
    y, p = softmax(500, 200, 2.0, seed=3)
    whole = Tally.of(y, p, labels=range(200))
    cuts = [0, 3, 64, 65, 200, 431, 500]
    parts = [Tally.of(y[a:b], p[a:b], labels=range(200)) for a, b in itertools.pairwise(cuts)]
    one, other = (veracity.assess(t) for t in (whole, total(parts[::-1])))
    assert {n: float(r) for n, r in one.measured.readings().items()} == pytest.approx(
        {n: float(r) for n, r in other.measured.readings().items()}, rel=1e-12
    )  # maps are fitted to sums in another order
    assert [b.count for b in one.bins] == [b.count for b in other.bins]


@pytest.mark.parametrize(("k", "strength", "sharper"), [(1000, 3.0, 2.0), (1000, 8.0, 3.0), (100, 5.0, 3.0)])
def test_wide_cells_of_tiny_entries_hardly_move_measured_means(k, strength, sharper):
    """Of over-confident models much depends on entries below 2^-14, which have few cells beyond 128 classes."""
    rng = np.random.default_rng(5)
    z = strength * rng.standard_normal((3000, k))
    said, true = (np.exp(s - s.max(axis=1, keepdims=True)) for s in (sharper * z, z))
    said /= said.sum(axis=1, keepdims=True)
    y = (np.cumsum(true / true.sum(axis=1, keepdims=True), axis=1) < rng.random((len(z), 1))).sum(axis=1)
    assert np.mean(said[np.arange(len(y)), y] < 2.0**-14) > 0.005
    plan = Plan()
    bins = {"bins": number_of_bins(len(y)), "end_width": plan.end_width}
    accuracy = []
    for coarse in (False, True):
        cells = grid(plan.cuts, coarse)
        curve = equal_true_bins(scan(said, y, cells).pooled, cells, **bins)[1]
        accuracy.append(float(curve.corrected(np.zeros(1))[0]))
    assert accuracy[1] == pytest.approx(accuracy[0], rel=0.03)


def test_the_bins_of_calibrated_models_hardly_reach_the_wide_cells():
    """Measured robustness is decided by the lowest bin: wide cells up to 2^-14 made it 30 % too low."""
    rng = np.random.default_rng(7)
    z = np.exp(1.8 + 0.5 * rng.standard_normal((10_000, 1))) * rng.standard_normal((10_000, 1000))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p = (p / p.sum(axis=1, keepdims=True)).astype(np.float32)
    y = np.minimum((np.cumsum(p, axis=1) < rng.random((len(p), 1))).sum(axis=1), 999)
    found = veracity.assess(y, p, labels=range(1000)).measured
    with patch("veracity.state.tally.VERY_MANY_CLASSES", 1000):
        full = veracity.assess(y, p, labels=range(1000)).measured
    for name, value in full.readings().items():
        assert float(found.readings()[name]) == pytest.approx(float(value), rel=0.005), (
            name
        )  # a quarter of its standard error


def test_a_hundred_classes_have_the_full_grid():
    y, p = softmax(300, 100, 3.0, seed=2)
    assert not Tally.of(y, p, labels=range(100)).grid.coarse


@pytest.mark.parametrize("change", [np.nan, 0.5, "order", "outcomes"])
@pytest.mark.parametrize("k", [2, 30, 300])
def test_an_array_changed_afterwards_changes_no_result(change, k):
    """Everything asked for later comes from what the pass copied."""
    y, p = softmax(500, k, 3.0, seed=23)
    untouched = veracity.assess(y.copy(), p.copy(), labels=range(k))
    a = veracity.assess(y, p, labels=range(k))
    if change == "order":
        p[:] = np.roll(p, 1, axis=0)
    elif change == "outcomes":
        y[:] = (y + 1) % k
    else:
        p[7, p[7].argmax()] = change
    assert a == untouched
    assert a.tally.to_bytes() == untouched.tally.to_bytes()


def test_no_more_loss_remains_than_there_is():
    """Cells of many classes charge every difference inside a cell; recalibrations judged by other rows do not."""
    y, p = softmax(2000, 300, 2.5, seed=3)
    a = veracity.assess(y, p, labels=range(300))
    found = a.losses("log")
    assert 0.0 < found.RL <= found.L
    assert pytest.approx(found.L, rel=1e-12) == found.CL + found.RL
    assert found.CL.low == 0.0
    assert a.verdict == "calibrated"
    assert veracity.assess(y, p, labels=range(300), map="bins").losses("log").RL > found.L
    rng = np.random.default_rng(3)
    p = rng.beta(0.7, 1.3, 40_000)
    a = veracity.assess(rng.random(40_000) < p, p)
    assert a.verdict == "calibrated"
    assert a.verdict_detail.gain.high < 0.01
    assert "would save at most" in str(sentences(a.verdict_detail)[0])
