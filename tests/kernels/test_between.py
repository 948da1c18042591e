"""Very many classes with pooled entries counted only between the bins, against the pass that counts every cell."""

from dataclasses import fields, replace

import numpy as np
import pytest

from veracity.kernels import Histogram, scan
from veracity.kernels.cuts import bin_starts, binned
from veracity.kernels.grid import grid
from veracity.state.plan import Plan

CUTS = Plan().cuts
GRID = grid(CUTS, coarse=True)
BINS = (50, 0.005)


@pytest.fixture(params=[64, 32])
def native(request, compiled):
    """The pass in C, with vectors for which entries are counted between bins."""
    if compiled.use_vectors(request.param) != request.param:
        compiled.use_vectors(64)
        pytest.skip(f"this processor has no vectors of {request.param} bytes")
    yield lambda *args, **options: scan(*args, kernel="native", **options)
    compiled.use_vectors(64)


def calibrated(n, k, strength, seed):
    """Softmax rows of about the given sharpness, with outcomes drawn from them."""
    rng = np.random.default_rng(seed)
    z = strength * np.exp(0.5 * rng.standard_normal((n, 1))) * rng.standard_normal((n, k))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p = (p / p.sum(axis=1, keepdims=True)).astype(np.float32)
    y = (p.cumsum(axis=1) < rng.random((n, 1)) * p.sum(axis=1, keepdims=True)).sum(axis=1)
    return p, np.minimum(y, k - 1)


def agree(tools, fast, whole, bins=BINS):
    """Starts and counts are equal, and so is all that does not hang on the pooled cells."""
    assert fast.rows == whole.rows
    assert not any(problem.rows for problem in fast.problems.values())
    assert np.array_equal(fast.lowest, whole.lowest)
    assert np.array_equal(fast.tiny, whole.tiny)
    for name in ("score_sums", "class_sums", "column_sums", "powers", "lowest_realised"):
        tools.close(getattr(fast, name), getattr(whole, name))
    for one, other in zip(bin_starts(whole.pooled, GRID, *bins), fast.starts, strict=True):
        assert np.array_equal(one, other)
        counts, sums = binned(whole.pooled, GRID, one)
        found, others = binned(fast.pooled, GRID, one)
        assert np.array_equal(counts, found)
        for i in (0, 1, 2, 3, 4, 6, 7):  # all but mean forecasts
            tools.close(sums[i], others[i])
    tools.close(fast.pooled.all_sum.sum(), whole.pooled.all_sum.sum())
    for low in (2.0**-8, 0.005, 1 / 15, 0.5):  # from 2^-8 up every cell is there
        a, b = (h.cells >= np.searchsorted(GRID.edges, low) for h in (fast.pooled, whole.pooled))
        assert np.array_equal(fast.pooled.all[a], whole.pooled.all[b])
        tools.close(fast.pooled.all_sum[a], whole.pooled.all_sum[b])
    true = whole.pooled.true > 0
    kept = fast.pooled.true > 0
    for name in ("cells", "true", "true_sum", "true_log", "true_power"):
        tools.close(getattr(fast.pooled, name)[kept], getattr(whole.pooled, name)[true])
    for field in fields(Histogram)[:3]:
        assert np.array_equal(getattr(fast.top, field.name), getattr(whole.top, field.name))
    tools.close(fast.top.all_sum, whole.top.all_sum)
    nested = replace(GRID, edges=GRID.nested_edges)
    starts = np.searchsorted(GRID.nested_edges, GRID.of_cuts.nested_edges)
    for x, y in zip(fast.classwise, whole.classwise, strict=True):  # between cuts, that is all
        assert set(x.cells) <= set(starts)
        assert (x.all > 0).all()
        (counts, sums), (found, others) = (binned(h, nested, starts) for h in (y, x))
        assert np.array_equal(counts, found)
        total, rest = y.all_sum.sum(), slice(int(counts[0, 0] == 0), None)  # the lowest is what is left
        tools.close(sums[5][rest], others[5][rest])
        tools.close(x.all_sum.sum(), total)


def equal(a, b):
    """Two complete passes that found the same."""
    assert a.rows == b.rows
    assert str(a.problems) == str(b.problems)  # NaN is not itself
    assert np.array_equal(a.score_sums, b.score_sums)
    assert np.array_equal(a.column_sums, b.column_sums)
    for one, other in zip((a.pooled, a.top, *a.classwise), (b.pooled, b.top, *b.classwise), strict=True):
        for field in fields(Histogram)[:4]:
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name))


@pytest.mark.parametrize("k", [129, 160, 1000, 1003, 5000])
@pytest.mark.parametrize("strength", [0.01, 1.0, 3.0, 10.0])
def test_sharp_and_near_uniform_rows(tools, native, k, strength):
    for n in (1, 2, 63, 64, 65, 1500):
        p, y = calibrated(n, k, strength, seed=k + n)
        fast, whole = native(p, y, GRID, bins=BINS), native(p, y, GRID)
        if (k, strength) == (1000, 0.01) and fast.starts is None:  # a bin begins at the cut 0.001, beside all entries
            equal(fast, whole)
            continue
        assert fast.starts is not None
        agree(tools, fast, whole)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_threads_and_row_steps(tools, native, threads):
    p, y = calibrated(701, 300, 3.0, seed=4)
    wide = np.zeros((701, 320), dtype=np.float32)
    wide[:, :300] = p
    same = np.broadcast_to(p[0], p.shape)
    for rows, labels in ((p, y), (wide[:, :300], y), (wide[:, :300][::-1], y[::-1]), (same, y)):
        fast = native(rows, labels, GRID, bins=BINS, threads=threads)
        assert fast.starts is not None
        agree(tools, fast, native(rows, labels, GRID))


@pytest.mark.parametrize("bins", [(1, 0.005), (5, 0.005), (20, 0.005), (5, 0.0), (1000, 0.005)])
def test_other_bins(tools, native, bins):
    p, y = calibrated(900, 400, 3.0, seed=8)
    fast = native(p, y, GRID, bins=bins)
    assert fast.starts is not None
    agree(tools, fast, native(p, y, GRID), bins)


def test_too_many_edges(native):
    p, y = calibrated(900, 400, 0.3, seed=8)
    fast, whole = native(p, y, GRID, bins=(50, 0.0)), native(p, y, GRID)
    starts = bin_starts(whole.pooled, GRID, 50, 0.0)[1]
    assert (GRID.edges[starts] < 2.0**-8).sum() > 33
    assert fast.starts is None
    equal(fast, whole)


def test_entries_on_the_edges(tools, native):
    """Edges are at codes of true entries: what lies at one and just below belongs to different bins."""
    p, y = calibrated(3000, 200, 4.0, seed=5)
    starts = native(p, y, GRID, bins=BINS).starts[1]
    edges = GRID.edges[starts]
    edges = edges[(edges > 2.0**-30) & (edges < 2.0**-8)].astype(np.float32)
    assert len(edges) > 5
    near = np.concatenate([edges, np.nextafter(edges, 0, dtype=np.float32), np.nextafter(edges, 1, dtype=np.float32)])
    changed = p.copy()
    other = (np.argmax(p, axis=1) + 7) % 200
    rows = np.flatnonzero(other != y)
    changed[rows, other[rows]] = np.resize(near, len(rows))  # of no outcome, so that edges stay
    fast = native(changed, y, GRID, bins=BINS, allowed=2.0)
    assert np.array_equal(fast.starts[1], starts)
    agree(tools, fast, native(changed, y, GRID, allowed=2.0))


def test_zeros_ones_and_ties(tools, native):
    p, y = calibrated(2000, 150, 4.0, seed=6)
    p[::10] = np.eye(150, dtype=np.float32)[y[::10]]
    p[5::10] = 0.0
    p[5::10, 3], p[5::10, 90] = 0.5, 0.5
    y[5::10] = np.where(np.arange(len(y[5::10])) % 2, 3, 90)
    p[7::10] = 0.0
    p[7::10, 100], p[7::10, 101], p[7::10, 149] = 0.25, 0.375, 0.375
    y[7::10] = 149
    fast = native(p, y, GRID, bins=BINS)
    assert fast.starts is not None
    agree(tools, fast, native(p, y, GRID))


VALUES = {"nan": np.nan, "infinite": np.inf, "negative": -0.25, "above one": 2.0, "large": 1e30, "minus zero": -0.0}


@pytest.mark.parametrize("change", [*VALUES, "nothing but nan", "sum", "label", "weights", "float64", "fortran"])
@pytest.mark.parametrize("row", [0, 401, 500])
def test_what_is_left_to_the_other_pass(tools, native, change, row):
    """And what comes after it, in the memory that it used."""
    p, y = calibrated(501, 200, 3.0, seed=7)
    whole, good = native(p, y, GRID, threads=3), p.copy()
    options = {"weights": np.ones(501)} if change == "weights" else {}
    if change in VALUES:
        p[row, 11] = VALUES[change]
    elif change == "nothing but nan":
        p[row] = np.nan
    elif change == "sum":
        p[row] *= 1.01
    elif change == "label":
        y = np.where(np.arange(501) == row, 200, y)
    elif change == "float64":
        p = p.astype(np.float64)
    elif change == "fortran":
        p = np.asfortranarray(p)
    left = native(p, y, GRID, bins=BINS, threads=3, **options)
    assert left.starts is None
    equal(left, native(p, y, GRID, threads=3, **options))
    if change != "label":
        agree(tools, native(good, y, GRID, bins=BINS, threads=3), whole)


def test_a_sum_that_floats_cannot_tell(tools, native):
    """Just allowed: the sweep's own sum is not sure, a closer look is."""
    p, y = calibrated(300, 200, 3.0, seed=9)
    p[150] *= np.float32(1.0 + 0.9e-5)
    fast = native(p, y, GRID, bins=BINS, allowed=1e-5)
    assert fast.starts is not None
    agree(tools, fast, native(p, y, GRID, allowed=1e-5))
    assert native(p, y, GRID, bins=BINS, allowed=0.8e-5).problems["row_sum"].first == (150,)


def test_cells_between_cuts_are_emptied_before_they_overflow(tools, native):
    """A wide cell holds 2^17 entries at its upper end; more rows than that in one thread."""
    p = np.zeros((300_000, 129), dtype=np.float32)
    p[:, 5] = np.nextafter(np.float32(0.25), np.float32(0))
    p[:, 7] = 1.0 - p[:, 5]
    y = np.full(300_000, 5)
    y[:1000] = 7
    fast = native(p, y, GRID, bins=BINS, threads=1)
    assert fast.starts is not None
    assert [(h.all[-1], h.true[-1]) for h in (fast.classwise[5], fast.classwise[7])] == [
        (300_000, 299_000),
        (300_000, 1000),
    ]
    tools.close([fast.classwise[j].all_sum[-1] for j in (5, 7)], 300_000 * p[0, [5, 7]].astype(np.float64))
