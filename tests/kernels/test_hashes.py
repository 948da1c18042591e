"""Hashes of forecasts: the same in C and NumPy, whatever the layout, precision and order of classes."""

import numpy as np
import pytest

from veracity import kernels
from veracity.inputs import Forecasts
from veracity.kernels import forecast_hashes, scan
from veracity.kernels.grid import grid
from veracity.state.analysis_rows import _order, analysis_rows

KERNELS = ["numpy"] + ["native"] * (kernels.native is not None)


def forecasts(rng, n, k, dtype=np.float64):
    """Sharp and flat rows with zeros of both signs; k = 0 is one column of two classes."""
    if k == 0:
        p = np.where(rng.random(n) < 0.8, rng.beta(0.3, 0.3, n), rng.choice([0.0, -0.0, 1.0, 0.5], n))
        return p.astype(dtype)
    z = rng.normal(size=(n, k)) * rng.choice([0.1, 3.0, 60.0], (n, 1))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p = (p / p.sum(axis=1, keepdims=True)).astype(dtype)
    p[::5][p[::5] < 1e-9] = -0.0
    return p


def arrangements(p):
    yield p
    yield np.asfortranarray(p)
    yield np.repeat(p, 2, axis=0)[::2]
    yield p[::-1].copy()[::-1]
    if p.ndim == 2:
        yield np.repeat(p, 3, axis=1)[:, ::3]
    frozen = p.copy()
    frozen.flags.writeable = False
    yield frozen
    yield np.frombuffer(b"x" + p.tobytes(), p.dtype, p.size, 1).reshape(p.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [0, 1, 2, 7, 50, 300])
def test_c_and_numpy_give_the_same_bits_in_any_memory(vectors, k, dtype):
    p = forecasts(np.random.default_rng(k), 200, k, dtype)
    want = forecast_hashes(p, kernel="numpy")
    assert want.dtype == np.uint64
    for arranged in arrangements(p):
        assert np.array_equal(forecast_hashes(arranged, kernel="native"), want)
        assert np.array_equal(forecast_hashes(arranged, kernel="numpy"), want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [0, 2, 7, 50, 60, 300, 1003])
@pytest.mark.parametrize("coarse", [False, True])
def test_the_pass_hashes_the_same_bits_in_any_memory(vectors, k, dtype, coarse):
    """Few classes, many, and those of the packed pass; more rows than a block, in one thread and in three."""
    p = forecasts(np.random.default_rng(k), 700, k, dtype)
    want, y = forecast_hashes(p, kernel="numpy"), np.zeros(len(p), int)
    for arranged in arrangements(p):
        for threads in (1, 3):
            seen = scan(arranged, y, grid(coarse=coarse), allowed=1e-3, threads=threads, kernel="native")
            assert np.array_equal(seen.hashes, want)


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_forecasts_have_equal_hashes_in_any_precision(kernel):
    rng = np.random.default_rng(0)
    for k in (0, 5, 200):
        p = forecasts(rng, 300, k, np.float32)
        assert np.array_equal(forecast_hashes(p, kernel), forecast_hashes(p.astype(np.float64), kernel))
        assert np.array_equal(forecast_hashes(p, kernel), forecast_hashes(np.abs(p), kernel))  # −0 is 0
    half = forecasts(rng, 300, 5, np.float16)
    assert np.array_equal(forecast_hashes(half, kernel), forecast_hashes(half.astype(np.float64), kernel))
    foreign = forecasts(rng, 300, 5).astype(">f8")
    assert np.array_equal(forecast_hashes(foreign, kernel), forecast_hashes(foreign.astype(np.float64), kernel))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("k", [2, 10, 200])
def test_the_order_of_classes_does_not_matter(kernel, k):
    rng = np.random.default_rng(1)
    p = forecasts(rng, 500, k)
    assert np.array_equal(forecast_hashes(p, kernel), forecast_hashes(rng.permuted(p, axis=1), kernel))


@pytest.mark.parametrize("k", [0, 2, 3, 10, 1000])
@pytest.mark.parametrize("kind", ["smooth", "sharp", "rounded"])
def test_different_forecasts_rarely_collide_and_hashes_are_spread_evenly(k, kind):
    rng = np.random.default_rng(k)
    n = 100_000 if k <= 10 else 3000
    z = rng.normal(size=(n, max(k, 2))).astype(np.float32) * np.float32(30 if kind == "sharp" else 1)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p = np.round(p, 3) if kind == "rounded" else p
    p = p[:, 1] if k == 0 else np.sort(p, axis=1)
    distinct = np.unique(p, axis=0)
    h = forecast_hashes(distinct)
    assert len(np.unique(h)) == len(h)
    if len(h) > 1000:
        shares = np.bincount((h >> np.uint64(60)).astype(int), minlength=16) / len(h)
        # Four standard deviations of a share of 1/16.
        assert np.abs(shares - 1 / 16).max() < 4 * np.sqrt(1 / 16 * 15 / 16 / len(h))


@pytest.mark.parametrize("most", [1, 2**16 - 1, 2**16, 2**40, 2**64 - 1])
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_rows_are_ordered_by_their_whole_hashes(most, n):
    h = np.random.default_rng(n).integers(0, most, n, dtype=np.uint64, endpoint=True)
    assert np.array_equal(_order(h), np.argsort(h, kind="stable"))


def test_arrays_that_do_not_fit_are_refused(compiled):
    p = np.full((3, 2), 0.5)
    for given, out in ((p, np.empty(2, np.uint64)), (p[None], np.empty(1, np.uint64)), (p.astype("f2"), np.empty(3))):
        with pytest.raises(ValueError, match="room for a hash of each row"):
            compiled.forecast_hashes(given, out)


@pytest.fixture
def few(monkeypatch):
    """The analysis rows, at most so many."""

    def chosen(f, most):
        monkeypatch.setattr("veracity.state.analysis_rows.MOST_ROWS", most)
        return analysis_rows(f).rows

    return chosen


def test_rows_with_the_same_first_and_last_entries_have_different_hashes(few):
    """Rounded forecasts of many classes are 0 in most columns: chosen by two of them, all rows of an outcome went
    together, and a sample held but a few outcomes."""
    rng = np.random.default_rng(1)
    n, k = 20_000, 50
    p = np.zeros((n, k))
    y = rng.integers(1, k - 1, n)
    p[np.arange(n), y] = rng.uniform(0.3, 1.0, n)
    p[np.arange(n), 1 + y % (k - 2)] += 1.0 - p[np.arange(n), y]
    chosen = few(Forecasts.of(y, p), 1000)
    assert 900 < len(chosen) <= 1000
    assert len(np.unique(chosen.outcomes)) == k - 2


@pytest.mark.parametrize("rows", [500, 2000, 20_000])
def test_sharp_rows_have_different_hashes(few, rows):
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
def test_few_of_rows_that_repeat(few, values):
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), values)[rng.integers(0, values, 10_000)]
    f = Forecasts.of(rng.integers(0, 3, 10_000), p)
    chosen = few(f, 500)
    assert len(chosen) <= 500
    held = {(y, *row) for y, row in zip(f.outcomes.tolist(), f.probabilities.tolist(), strict=True)}
    found = {(y, *row) for y, row in zip(chosen.outcomes.tolist(), chosen.probabilities.tolist(), strict=True)}
    assert found <= held
    assert len(found) >= min(250, len(held) // 4)
