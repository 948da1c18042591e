"""Where bins begin, and what they hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from veracity.estimate.means.binning import EqualCountBinner, bin_starts, binned
from veracity.state.plan import Plan
from veracity.state.tally import Tally


def drawn(rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Few or many rows and classes, sharp or flat, half of them rounded so that cells are too full to share."""
    n, k = int(rng.choice([1, 2, 9, 30, 400])), int(rng.choice([2, 3, 10]))
    p = np.exp(rng.normal(size=(n, k)) * rng.choice([0.3, 1.0, 3.0, 10.0]))
    p /= p.sum(axis=1, keepdims=True)
    if rng.random() < 0.5:
        p = np.round(p, 1) + 1e-3
        p /= p.sum(axis=1, keepdims=True)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1), p


@pytest.mark.parametrize("bins", [1, 5, 50, 10**6])
@pytest.mark.parametrize("end_width", [0.0, 0.005, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_bins_have_equal_true_counts_except_full_cells(bins: int, end_width: float, weighted: bool) -> None:
    rng = np.random.default_rng(bins)
    for _ in range(25):
        y, p = drawn(rng)
        weights = rng.gamma(1.0, size=len(y)) if weighted else None
        t = Tally.of(y, p, labels=range(p.shape[1]), sample_weight=weights, plan=Plan(end_width=end_width))
        h = t.pooled
        plain, halved = bin_starts(h, t.grid, bins, end_width)
        assert set(plain) <= set(halved)
        for start in (plain, halved):
            assert start[0] == 0
            assert np.all(np.diff(start) > 0)
            assert start[-1] < len(t.grid)
        total = int(h.true.sum())
        ends = {t.grid.atom(end_width), t.grid.atom(1.0 - end_width)} if end_width else {0}
        assert ends <= set(plain)
        most = int(h.true.max())
        for stop, lower in zip([*plain[1:], len(t.grid)], plain, strict=True):
            inside = (h.cells >= lower) & (h.cells < stop)
            in_the_middle = not end_width or t.grid.atom(end_width) <= lower < t.grid.atom(1.0 - end_width)
            if in_the_middle and inside.sum() > 1:  # sizes differ by rounding of shares and by tied entries
                assert h.true[inside].sum() <= 2 * total / bins + most + 1


def test_a_cut_parts_two_neighbouring_entries() -> None:
    t = Tally.of([1, 1, 1, 1], [0.2, 0.4, 0.6, 0.8])
    binner = EqualCountBinner(t.classwise[1], t.grid)
    edges = t.grid.edges[binner.cut(np.array([1, 2, 3]))]
    assert edges == pytest.approx([0.3, 0.5, 0.7], rel=1e-3)


@pytest.mark.parametrize("weighted", [False, True])
def test_bins_hold_the_sums_of_their_cells(weighted: bool) -> None:
    rng = np.random.default_rng(4)
    y, p = rng.integers(0, 3, 60), rng.dirichlet(np.ones(3), 60)
    p[0], y[0] = (0.0, 0.4, 0.6), 0  # ruled out, and it happened
    t = Tally.of(y, p, sample_weight=rng.gamma(1.0, size=60) if weighted else None)
    h, start = t.pooled, np.array([0, 1, *t.grid.locate(np.array([0.2, 0.2001, 0.9]))]).astype(np.int64)
    counts, others = binned(h, t.grid, start)
    place = start.searchsorted(h.cells, side="right") - 1
    bins = np.unique(place)
    every, true, true2 = (h.all_weight, h.true_weight, h.true_weight2) if weighted else (h.all, h.true, h.true)
    sums = {
        i: [np.sum(x[place == i]) for x in (h.all, h.true, every, true, true2, h.all_sum, h.true_log)] for i in bins
    }
    edges = np.append(t.grid.edges[start], 1.0)
    for j, i in enumerate(bins):
        count, yes, w, w_true, w2, total, log = sums[i]
        assert counts[:, j].tolist() == [start[i], count, yes]
        model = 0.0 if i == 0 else np.exp(log / w_true) if yes else np.nan
        expected = [edges[i], edges[i + 1], w, w_true, w2, total / w, model, w_true / w]
        assert others[:, j] == pytest.approx(expected, rel=1e-13, nan_ok=True)
    assert others.shape[1] == len(bins)
