"""Which rows are in a sample: the same in C and NumPy, whatever the layout and precision."""

import numpy as np
import pytest
from veracity.state.sampling import few

from veracity.data import Forecasts
from veracity.kernels.hashes import column_hashes, true_hashes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["rows", "columns", "strided", "backwards", "read-only"])
def test_true_hashes_are_the_same_in_c(compiled, dtype, layout):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(7), 1000).astype(dtype)
    p[::5, 2] = -0.0
    y = rng.integers(0, 7, 1000)
    y[::10] = 2
    expected = column_hashes(y, [p[np.arange(1000), y], p[np.arange(1000), (y + 1) % 7]])
    if layout == "columns":
        p = np.asfortranarray(p)
    elif layout == "strided":
        p = np.repeat(np.repeat(p, 2, axis=0), 3, axis=1)[::2, ::3]
    elif layout == "backwards":
        p = p[::-1, ::-1].copy()[::-1, ::-1]
    elif layout == "read-only":
        p.flags.writeable = False
    for kernel in ("numpy", "native"):
        for kind in (np.int8, np.int64):
            assert np.array_equal(true_hashes(p, y.astype(kind), kernel=kernel), expected)


def test_what_does_not_fit_is_refused(compiled):
    p, out = np.full((3, 2), 0.5), np.empty(3, np.uint64)
    for y in (np.array([0, 1, 2]), np.array([0, 1, -1]), np.array([0, 1])):
        with pytest.raises(ValueError, match="a column of each row"):
            compiled.true_hashes(p, y, out)
    with pytest.raises(ValueError, match="a column of each row"):
        compiled.true_hashes(p[0], np.zeros(3, np.int64), out)


def test_rows_with_the_same_first_and_last_entries_are_told_apart():
    """Rounded forecasts of many classes are 0 in most columns: chosen by two of them, all rows of an outcome went
    together, and a sample held but a few outcomes."""
    rng = np.random.default_rng(1)
    n, k = 20_000, 50
    p = np.zeros((n, k))
    y = rng.integers(1, k - 1, n)
    p[np.arange(n), y] = rng.uniform(0.3, 1.0, n)
    p[np.arange(n), 1 + y % (k - 2)] += 1.0 - p[np.arange(n), y]
    chosen = few(Forecasts.of(y, p), 1000)
    assert 1000 <= len(chosen) < 1100
    assert len(np.unique(chosen.outcomes)) == k - 2


@pytest.mark.parametrize("rows", [500, 2000, 20_000])
def test_sharp_rows_are_told_apart(rows):
    """Most outcomes had probability 1 in float32: chosen by it alone, they would be in or out class by class."""
    rng = np.random.default_rng(3)
    n, k = 60_000, 10
    z, y = rng.normal(size=(n, k)).astype(np.float32), rng.integers(0, k, n)
    z[np.arange(n), y] += np.where(rng.random(n) < 0.85, 30, 0).astype(np.float32)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    certain = (p[np.arange(n), y] == 1.0).mean()
    chosen = few(Forecasts.of(y, p), rows)
    assert certain > 0.8
    assert len(chosen) == rows
    assert (chosen.realised == 1.0).mean() == pytest.approx(certain, abs=0.05)
    assert np.bincount(chosen.outcomes, minlength=k).min() > 0.6 * rows / k


@pytest.mark.parametrize("values", [1, 7, 5000])
def test_few_of_rows_that_repeat(values):
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), values)[rng.integers(0, values, 10_000)]
    f = Forecasts.of(rng.integers(0, 3, 10_000), p)
    chosen = few(f, 500)
    assert 500 <= len(chosen) <= 2100
    held = {(y, *row) for y, row in zip(f.outcomes.tolist(), f.probabilities.tolist(), strict=True)}
    found = {(y, *row) for y, row in zip(chosen.outcomes.tolist(), chosen.probabilities.tolist(), strict=True)}
    assert found <= held
    assert len(found) >= min(250, len(held) // 4)
