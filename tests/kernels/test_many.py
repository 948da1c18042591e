"""Rows of more than 50 classes, where entries are counted many at a time: every seam of that against NumPy."""

from dataclasses import fields, replace

import numpy as np
import pytest

from veracity.kernels import Histogram, scan
from veracity.kernels.grid import grid
from veracity.kernels.result import tolerance
from veracity.state.plan import Plan

CUTS = Plan().cuts
EDGES = [2.0**-e for e in (149, 140, 127, 126, 125, 30, 22, 17, 14, 10, 7, 5, 2, 1)] + list(CUTS)


@pytest.fixture
def native(vectors):
    """The pass in C."""
    return lambda *args, **options: scan(*args, kernel="native", **options)


def rows(k, n, seed, dtype=np.float32):
    """Forecasts that are anything from sharp to near-uniform, with outcomes."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * rng.choice([0.1, 1.0, 3.0, 8.0, 30.0], size=(n, 1))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return (p / p.sum(axis=1, keepdims=True)).astype(dtype), rng.integers(0, k, n)


def agree(tools, a, b):
    """Counts are equal and sums agree to rounding; the lowest class-wise cell is what is left of the total."""
    assert (a.rows, a.low, a.high) == (b.rows, b.low, b.high)
    for name, problem in a.problems.items():
        assert replace(problem, value=None) == replace(b.problems[name], value=None)
        tools.close(problem.value or 0.0, b.problems[name].value or 0.0)
    for name in ("score_sums", "class_sums", "column_sums", "powers", "lowest_realised"):
        tools.close(getattr(a, name), getattr(b, name))
    for one, other, nested in [
        (a.pooled, b.pooled, False),
        (a.top, b.top, False),
        *((x, y, True) for x, y in zip(a.classwise, b.classwise, strict=True)),
    ]:
        for name in ("cells", "all", "true"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        for field in fields(Histogram)[3:]:
            x, y = getattr(one, field.name), getattr(other, field.name)
            assert (x is None) == (y is None)
            if x is not None:
                lowest = nested and field.name.startswith("all")
                tools.close(*((np.append(v[1:], v.sum()) for v in (x, y)) if lowest else (x, y)))


def both(tools, native, p, y, cuts=CUTS, **options):
    """The same from both passes, on the coarse grid and on the full one."""
    for coarse in (True, False):
        cells = grid(cuts, coarse)
        agree(tools, native(p, y, cells, **options), scan(p, y, cells, kernel="numpy", **options))


def test_cuts_between_the_wide_cells_and_the_fine_ones(tools, native):
    cuts = (1.1e-5, 2.0**-16, 3.3e-5, 2.0**-14)
    p, y = rows(300, 100, seed=4)
    p.flat[::7] = np.resize([*cuts, *np.nextafter(cuts, 0.0), *np.nextafter(cuts, 1.0)], p.flat[::7].shape)
    both(tools, native, p, y, cuts, allowed=1.0)


@pytest.mark.parametrize("k", [51, 63, 64, 65, 79, 80, 100, 1000, 1001, 5000])
def test_any_number_of_columns(tools, native, k):
    p, y = rows(k, 150, seed=k)
    both(tools, native, p, y)
    both(tools, native, np.asfortranarray(p), y)
    both(tools, native, np.repeat(p, 2, axis=0)[::2], y)


@pytest.mark.parametrize("cuts", [(), CUTS, Plan(preset="N17").cuts, (1e-3, 0.0015, 0.005, 0.03, 0.3)])
def test_any_cuts_are_counted_as_in_numpy(tools, native, cuts):
    p, y = rows(70, 400, seed=2)
    at = np.array([u for u in (0.25, *cuts) if 2.0**-13 < u < 0.5])
    for i, u in enumerate(at):  # each cut, its float32 neighbours, and the rest of the row in one column
        for step, v in enumerate(np.nextafter(np.float32(u), np.float32([0, u, 1]))):
            p[3 * i + step] = 0.0
            p[3 * i + step, [69, 33]] = v, 1.0 - v
    both(tools, native, p, y, cuts)


def test_cuts_too_many_to_look_for(tools, native):
    p, y = rows(70, 100, seed=3)
    both(tools, native, p, y, tuple(np.linspace(1e-4, 7e-3, 100)))


def test_entries_on_edges_are_counted_as_in_numpy(tools, native):
    k, edges = 60, np.float32(EDGES)
    values = np.concatenate([np.nextafter(edges, np.float32(0)), edges, np.nextafter(edges, np.float32(1))])
    p = np.zeros((len(values), k), np.float32)
    for i, u in enumerate(values):
        p[i, i % k], p[i, (i + 7) % k] = u, np.float32(1.0 - float(u))
    y = (np.arange(len(values)) + 7 * (np.arange(len(values)) % 2)) % k
    both(tools, native, p, y)


def test_more_than_one_entry_from_a_half_up(tools, native):
    p = np.zeros((6, 60), np.float32)
    above = np.nextafter(np.float32(0.5), np.float32(1))
    for row, pair in zip(
        p, [(0.5, 0.5), (0.5, above), (above, 0.5), (above, above), (0.6, 0.4), (1.0, 0.0)], strict=True
    ):
        row[[40, 3]] = pair
    both(tools, native, p, np.array([3, 3, 3, 40, 40, 40]))


def test_minus_zero_is_zero(tools, native):
    p, y = rows(100, 200, seed=4)
    p[p < 1e-6] = 0.0
    p[50:60][p[50:60] == 0.0] = -0.0
    for cells in (grid(CUTS, True), grid(CUTS)):
        agree(tools, native(p, y, cells), scan(np.abs(p), y, cells, kernel="numpy"))


@pytest.mark.parametrize("column", [0, 8, 15, 16, 37, 95, 96, 99])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.5, 1.5, -1e-30])
def test_a_row_with_a_problem_leaves_no_trace(tools, native, column, value):
    p, y = rows(100, 200, seed=5)
    p[[0, 63, 64, 130], column] = value
    y[[1, 150]] = 100, -1
    p[70:73] *= np.float32([[0.5], [1 + 2e-5], [1.0]])
    both(tools, native, p, y)
    assert native(p, y, grid(CUTS)).rows == 200 - 8


def test_sums_of_rows_at_the_tolerance(tools, native):
    """A row is refused by its sum in float64, whatever was added up in float32 on the way."""
    p, y = rows(1000, 400, seed=6)
    p[:, 0] = 0.0
    short = 1.0 - p.sum(axis=1, dtype=np.float64)
    p[:, 0] = np.maximum(short + np.linspace(1.1e-4, 1.3e-4, 400), 0.0)
    cells = tools.cells_for(1000)
    got = native(p, y, cells)
    assert 0 < got.problems["row_sum"].rows < 400
    agree(tools, got, scan(p, y, cells, kernel="numpy"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_and_counts_are_summed_as_in_numpy(tools, native, dtype):
    p, y = rows(120, 300, seed=7, dtype=dtype)
    for weighted, counted in [(True, False), (False, True), (True, True)]:
        both(tools, native, p, y, **tools.masses(300, weighted, counted))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads_gives_the_same_sums(tools, native, threads):
    p, y = rows(200, 1000, seed=8)
    both(tools, lambda *args: native(*args, threads=threads), p, y)


def test_the_smallest_floats_are_counted_as_in_numpy(tools, native):
    """Below 2^-126 a float has its exponent no longer in its bits, and zeros lie among them."""
    p, y = rows(80, 300, seed=9)
    rng = np.random.default_rng(10)
    tiny = rng.random(p.shape) < 0.3
    p[tiny] = np.float32(2.0) ** rng.integers(-150, -120, tiny.sum()) * rng.choice(
        np.float32([1.0, 1.9, 0.0]), tiny.sum()
    )
    y[::3] = tiny.argmax(axis=1)[::3]
    both(tools, native, p, y, allowed=1.0)


def test_cuts_among_the_smallest_floats(tools, native):
    p, y = rows(80, 100, seed=11)
    cuts = (1e-45, 1e-42, 1.2e-38, 1e-37, 1e-20)
    p.flat[::5] = np.resize(np.float32([*cuts, 3e-42]), p.flat[::5].shape)
    both(tools, native, p, y, cuts, allowed=1.0)


@pytest.mark.parametrize("near", [2.0**-15, 1e-3])
def test_a_cell_that_holds_millions_of_entries(native, near):
    """Counts and sums share eight bytes, which are emptied before one could reach the other."""
    value = (np.float32(near).view(np.uint32) | np.uint32(0x1FFFF if near < 2.0**-14 else 0x1FFF)).view(np.float32)
    p, y = np.broadcast_to(value, (9000, 1000)), np.zeros(9000, dtype=np.int64)
    for coarse in (True, False):
        pooled = native(p, y, grid((), coarse), allowed=1.0, threads=1).pooled
        assert (pooled.all.tolist(), pooled.true.tolist()) == ([9_000_000], [9000])
        assert pooled.all_sum == pytest.approx([9e6 * float(value)], rel=1e-12)


def test_a_sum_that_floats_round_away_is_seen(native):
    """Entries just below half a unit of what stands before them, in each of eight sums of floats side by side."""
    k = 1 << 20
    p = np.empty((k // 8, 8), dtype=np.float32)
    p[0] = np.nextafter(np.float32([0.5, 0.5, 2**-4, 2**-5, 2**-6, 2**-8, 2**-9, 0.0017]), np.float32(1.0))
    p[1:] = np.spacing(p[0]) / 2 * np.float32(0.9999)
    p, y, allowed = p.reshape(1, k), np.array([0]), tolerance(np.dtype(np.float32), k)
    assert p.sum(dtype=np.float64) - 1.0 > allowed
    for scanned in (native, scan):
        assert scanned(p, y, grid((), coarse=True), allowed=allowed).problems["row_sum"].rows == 1
