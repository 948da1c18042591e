"""Sums for intervals are what their definitions say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, foldnorm

from veracity.estimate.means.binning import bin_sums, binned_calibration_errors
from veracity.estimate.means.row_sums import power_moments, true_cells
from veracity.state.tally import Tally


@pytest.mark.parametrize("n", [1, 7, 8, 1001])
def test_moments_of_powers_are_means_of_powers(n: int) -> None:
    rng = np.random.default_rng(n)
    t, share = rng.random(n), rng.dirichlet(np.ones(n))
    mean, square, cube = power_moments(t, share, 18)
    for e in range(18):
        x = t ** (e + 1)
        assert mean[e] == pytest.approx(share @ x, rel=1e-13)
        distance = x - share @ x
        assert square[e] == pytest.approx(share @ distance**2, rel=1e-12, abs=1e-30)
        assert cube[e] == pytest.approx(share @ distance**3, rel=1e-12, abs=1e-16)


def test_moments_of_infinite_values_are_undefined() -> None:
    mean, square, _ = power_moments(np.array([-np.inf, -1.0]), np.array([0.5, 0.5]), 1)
    assert mean[0] == -np.inf
    assert np.isnan(square[0])


@pytest.mark.parametrize("whole", [True, False])
def test_gaps_are_those_of_the_bins(whole: bool) -> None:
    rng = np.random.default_rng(5)
    sizes = (40, 3, 1, 200)  # cells of each histogram
    parts = [np.sort(rng.choice(1000, size, replace=False)) for size in sizes]
    cells, offsets = np.concatenate(parts).astype(np.int32), np.cumsum([3, *sizes])
    cells = np.concatenate([[7, 8, 9], cells]).astype(np.int32)  # what comes before the first histogram
    start = np.array([0, 1, 500, 501, 990])
    every = rng.integers(1, 9, len(cells)) if whole else rng.random(len(cells))
    true = rng.integers(0, every + 1) if whole else every * rng.random(len(cells))
    columns = every, true, every * rng.random(len(cells))
    found = binned_calibration_errors(*bin_sums(cells, offsets, start, columns), len(sizes), 3.0)
    for h, (a, b) in enumerate(pairwise(offsets)):
        bins = np.searchsorted(start, cells[a:b], side="right") - 1
        weight, yes, total = (np.bincount(bins, values[a:b], 5) for values in columns)
        some = weight > 0.0
        weight, c, forecast = weight[some], (yes / weight.clip(1e-9))[some], (total / weight.clip(1e-9))[some]
        gap, error, share = np.abs(c - forecast), np.sqrt(c * (1.0 - c) / (3.0 * weight)), weight / weight.sum()
        noisy = [foldnorm.mean(g / e, scale=e) if e > 0.0 else g for g, e in zip(gap, error, strict=True)]
        debiased = max(share @ (2.0 * gap - noisy), 0.0)
        trials = np.maximum(np.rint(3.0 * weight), 1)
        chance = [binom(n, p).expect(lambda x, n=n, p=p: abs(x / n - p)) for n, p in zip(trials, forecast, strict=True)]
        expected = [share @ gap, debiased, np.sqrt(((share * error) ** 2).sum()), gap.max(), share @ chance]
        assert found[:, h] == pytest.approx(expected, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_with_true_entries(weighted: bool) -> None:
    rng = np.random.default_rng(2)
    weights = rng.gamma(1.0, size=40) if weighted else None
    h = Tally.of(rng.integers(0, 4, 40), rng.dirichlet(np.ones(4), 40), labels=range(4), sample_weight=weights).pooled
    some = h.true > 0
    assert 0 < some.sum() < len(some)
    counts, sums = true_cells(h)
    assert np.array_equal(counts, [h.cells[some], h.true[some]])
    weight = h.true_weight if weighted else h.true
    assert np.array_equal(sums, [x[some] for x in (weight, h.true_sum, h.true_log, h.true_power)])


EDGES = {
    "one": [0.0],
    "close together": [0.0, 1e-300, 1e-9, 2e-9, 0.25, np.nextafter(0.25, 1.0), 0.9999],
    "not from zero": [0.01, 0.5, 0.99],
    "many": np.linspace(0.0, 1.0, 300)[:-1].tolist(),
}
