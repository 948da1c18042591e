"""The pass against plain code, the C kernel against NumPy, and the law that parts add up to the whole."""

import itertools
from dataclasses import fields

import numpy as np
import pytest

from veracity import kernels
from veracity.kernels import Histogram, scan
from veracity.kernels.grid import grid
from veracity.state.plan import Plan

KERNELS = ["numpy"] + ["native"] * (kernels.native is not None)
SHAPES = [None, 2, 3, 10, 60, 200]  # None: one column of two classes
CUTS = Plan().cuts


def same_histogram(tools, a: Histogram, b: Histogram, nested=False):
    assert np.array_equal(a.cells, b.cells)
    assert a.cells.dtype == np.int32
    assert a.all.dtype == a.true.dtype == np.int64
    assert np.array_equal(a.all, b.all)
    assert np.array_equal(a.true, b.true)
    for field in fields(Histogram)[3:]:
        one, other = getattr(a, field.name), getattr(b, field.name)
        assert (one is None) == (other is None), field.name
        if one is not None:
            if nested and field.name.startswith("all") and len(one):  # the lowest cell is what is left of the total
                one, other = np.append(one[1:], one.sum()), np.append(other[1:], other.sum())
            tools.close(one, other)


def same(tools, a, b, k):
    assert a.rows == b.rows
    assert a.problems == b.problems
    assert (a.low, a.high) == (b.low, b.high)
    for name in ("weight", "weight2", "class_sums", "column_sums", "powers", "lowest_realised"):
        tools.close(getattr(a, name), getattr(b, name))
    tools.close(a.score_sums, b.score_sums)
    assert np.array_equal(a.tiny, b.tiny)
    assert np.array_equal(a.lowest, b.lowest)
    same_histogram(tools, a.pooled, b.pooled)
    same_histogram(tools, a.top, b.top)
    assert len(a.classwise) == len(b.classwise) == (k or 2)
    for one, other in zip(a.classwise, b.classwise, strict=True):
        same_histogram(tools, one, other, nested=len(a.classwise) > 50)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("k", SHAPES)
def test_passes_over_parts_add_up_to_the_whole(tools, kernel, k):
    n = 3000
    p, y = tools.example(k, n, seed=3)
    cells = tools.cells_for(k)
    mass = tools.masses(n, True, True)
    whole = scan(p, y, cells, **mass, kernel=kernel)
    bounds = [0, 0, 1, 700, 701, 2500, n]
    parts = [
        scan(p[a:b], y[a:b], cells, weights=mass["weights"][a:b], counts=mass["counts"][a:b], kernel=kernel)
        for a, b in itertools.pairwise(bounds)
    ]
    assert sum(part.rows for part in parts) == whole.rows
    for name in ("weight", "weight2", "score_sums", "class_sums", "column_sums", "powers"):
        tools.close(sum(getattr(part, name) for part in parts), getattr(whole, name))
    assert np.array_equal(np.concatenate([part.tiny + a for part, a in zip(parts, bounds, strict=False)]), whole.tiny)
    same_histogram(tools, Histogram.merge([part.pooled for part in parts]), whole.pooled)
    same_histogram(tools, Histogram.merge([part.top for part in parts]), whole.top)
    for j in range(k or 2):
        merged = Histogram.merge([part.classwise[j] for part in parts])
        same_histogram(tools, merged, whole.classwise[j], nested=(k or 2) > 50)


def arrangements(p):
    """The same values in other memory: Fortran order, strided, reversed, read-only, unaligned strides."""
    yield "fortran", np.asfortranarray(p)
    wide = np.zeros((2 * len(p), *(2 * np.array(p.shape[1:], dtype=int))), dtype=p.dtype)
    view = wide[(slice(None, None, 2),) * p.ndim]
    view[...] = p
    yield "strided", view
    yield "reversed", np.ascontiguousarray(p[::-1])[::-1]
    frozen = p.copy()
    frozen.setflags(write=False)
    yield "read-only", frozen
    record = np.zeros(len(p), dtype=[("tag", "i1"), ("p", p.dtype, p.shape[1:])])
    record["p"] = p
    yield "packed", record["p"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", SHAPES)
def test_memory_does_not_matter(tools, kernel, k, dtype):
    p, y = tools.example(k, 700, seed=8, dtype=dtype)
    cells = tools.cells_for(k)
    want = scan(p, y, cells, kernel="numpy")
    for _, arranged in arrangements(p):
        same(tools, scan(arranged, y, cells, kernel=kernel), want, k)
    double = scan(p.astype(np.float64), y, cells, kernel=kernel)
    same(tools, double, want, k)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u4", "?"])
def test_labels_of_every_type(tools, kernel, dtype):
    for k in (None, 2):
        p, y = tools.example(k, 500, seed=9)
        want = scan(p, y, tools.cells_for(k), kernel="numpy")
        same(tools, scan(p, y.astype(dtype), tools.cells_for(k), kernel=kernel), want, k)
        same(tools, scan(p, np.repeat(y.astype(dtype), 2)[::2], tools.cells_for(k), kernel=kernel), want, k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", SHAPES)
@pytest.mark.parametrize("cuts", [CUTS, (), (1e-6, 3e-5, 0.25), (1e-4, 0.02)], ids=["plan", "none", "tiny", "small"])
def test_c_and_numpy_agree_on_every_sum(tools, compiled, k, dtype, cuts):
    n = 20_000 if (k or 2) <= 10 else 1500
    p, y = tools.example(k, n, seed=11, dtype=dtype)
    cells = tools.cells_for(k, cuts)
    for mass in (tools.masses(n, False, False), tools.masses(n, True, True)):
        want = scan(p, y, cells, **mass, kernel="numpy")
        for threads in (1, 3):
            same(tools, scan(p, y, cells, **mass, kernel="native", threads=threads), want, k)


@pytest.mark.parametrize("k", [60, 200, 1000])
def test_every_vector_width_counts_the_same(tools, vectors, k):
    """Float32 rows of many classes have a path of their own for each width of vectors; all must agree."""
    p, y = tools.example(k, 2500, seed=12, dtype=np.float32)
    cells = tools.cells_for(k)
    p[5] = -p[5]  # a problem
    p[6, p[6] == 0.0] = -0.0  # none
    want = scan(p, y, cells, kernel="numpy")
    for part in (p, np.asfortranarray(p)):
        same(tools, scan(part, y, cells, kernel="native"), want, k)


@pytest.mark.parametrize("far", [0, 2**23 + 500])
def test_packed_cells_of_few_classes_are_emptied_before_they_are_full(tools, compiled, far):
    """Equal rows all go to the same cells, whose counts would run into the flags of others after 2^23 rows."""
    p = np.tile(np.array([[0.3, 0.45, 0.25]], dtype=np.float32), (far + 20_000, 1))
    p[far:], y = tools.example(3, 20_000, seed=13, dtype=np.float32)
    y = np.concatenate([np.ones(far, dtype=y.dtype), y])
    got = scan(p, y, tools.cells_for(3), kernel="native", threads=1)
    rest = scan(p[far:], y[far:], tools.cells_for(3), kernel="numpy")
    assert got.rows == rest.rows + far
    place = tools.cells_for(3).locate(p[0])
    for cell, ours, theirs, u in zip(place, got.classwise, rest.classwise, p[0], strict=True):
        count, before = (h.all[h.cells == cell].sum() for h in (ours, theirs))
        assert count == before + far
        total, earlier = (h.all_sum[h.cells == cell].sum() for h in (ours, theirs))
        tools.close(total, earlier + far * np.float64(u))
        others = ours.cells != cell
        assert np.array_equal(ours.cells[others], theirs.cells[theirs.cells != cell])
        assert np.array_equal(ours.all[others], theirs.all[theirs.cells != cell])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("k", SHAPES)
def test_empty_and_one_row(tools, kernel, k):
    p, y = tools.example(k, 1, seed=2)
    cells = tools.cells_for(k)
    none = scan(p[:0], y[:0], cells, kernel=kernel)
    assert (none.rows, none.weight, none.low, none.high) == (0, 0.0, np.inf, -np.inf)
    assert len(none.pooled.cells) == len(none.top.cells) == len(none.tiny) == len(none.lowest) == 0
    assert len(none.classwise) == (k or 2)
    assert all(len(one.cells) == 0 for one in none.classwise)
    assert not none.powers.any()
    assert not none.score_sums.any()
    one = scan(p, y, cells, kernel=kernel)
    assert one.rows == one.top.all.sum() == 1
    assert one.pooled.all.sum() == (k or 2)
    same(tools, one, scan(p, y, cells, kernel="numpy"), k)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 10, 200])
def test_problems_in_a_matrix(tools, kernel, dtype, k):
    p, y = tools.example(k, 5000, seed=4, dtype=dtype)
    p[7, 1] = p[3000, 0] = np.nan
    p[8, 0], p[9, 1] = np.inf, -np.inf
    p[10, 1] = -0.25
    p[11, 0] = 1.5
    p[12:4900:700] *= 0.5
    y[[20, 21, 4000]] = [k, -1, 99 + k]
    p[20, 0] = np.nan
    got = scan(p, y, tools.cells_for(k), kernel=kernel)
    problems = got.problems
    assert problems["nan"].rows == 3
    assert problems["nan"].first == (7, 20, 3000)
    assert problems["nan"].column == 1
    assert np.isnan(problems["nan"].value)
    assert (problems["infinite"].first, problems["infinite"].column) == ((8, 9), 0)
    assert problems["infinite"].value == np.inf
    assert (problems["negative"].first, problems["negative"].column, problems["negative"].value) == ((10,), 1, -0.25)
    assert (problems["above_one"].first, problems["above_one"].column) == ((11,), 0)
    assert problems["above_one"].value == 1.5
    assert problems["row_sum"].rows == 7
    assert problems["row_sum"].first == (12, 712, 1412, 2112, 2812)
    tools.close(problems["row_sum"].value, 0.5, 1e-6)
    assert (problems["label"].rows, problems["label"].first, problems["label"].value) == (3, (20, 21, 4000), k)
    assert (got.low, got.high) == (-np.inf, np.inf)
    bad = [7, 8, 9, 10, 11, *range(12, 4900, 700), 20, 21, 3000, 4000]
    assert got.rows == 5000 - len(bad)
    keep = np.setdiff1d(np.arange(5000), bad)
    clean = scan(p[keep], y[keep], tools.cells_for(k), kernel="numpy")
    assert got.rows == clean.rows == 5000 - len(bad)
    tools.close(got.score_sums, clean.score_sums)
    tools.close(got.powers, clean.powers)
    same_histogram(tools, got.pooled, clean.pooled)
    same_histogram(tools, got.top, clean.top)
    assert keep[clean.lowest].tolist() == got.lowest.tolist()
    assert keep[clean.tiny].tolist() == got.tiny.tolist()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_problems_in_one_column(tools, kernel, dtype):
    p, y = tools.example(None, 50_000, seed=6, dtype=dtype)
    p[[5, 49_999]], p[6], p[7], p[8] = np.nan, np.inf, -1e-3, 1.0625
    y[[30, 31]] = 2, -1
    got = scan(p, y, tools.cells_for(None), kernel=kernel)
    first = {name: problem.first for name, problem in got.problems.items()}
    assert first == {
        "nan": (5, 49_999),
        "infinite": (6,),
        "negative": (7,),
        "above_one": (8,),
        "row_sum": (),
        "label": (30, 31),
    }
    assert got.problems["negative"].value == dtype(-1e-3)
    assert got.problems["negative"].column == 0
    assert got.rows == got.top.all.sum() == 50_000 - 7


@pytest.mark.parametrize("kernel", KERNELS)
def test_float32_rows_may_miss_one_by_rounding(tools, kernel):
    rng = np.random.default_rng(3)
    z = np.exp(rng.normal(size=(200, 1000)).astype(np.float32))
    p = z / np.cumsum(z, axis=1, dtype=np.float32)[:, -1:]
    y = rng.integers(0, 1000, 200)
    assert scan(p, y, tools.cells_for(1000), kernel=kernel).problems["row_sum"].rows == 0
    assert scan(p.astype(np.float64) * (1 + 2e-6), y, tools.cells_for(1000), kernel=kernel).problems["row_sum"].rows > 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_class_and_other_types(kernel):
    one = scan(np.ones((20_000, 1)), np.zeros(20_000, np.int64), grid(), kernel=kernel)
    assert one.rows == one.pooled.true.sum() == one.top.true.sum() == 20_000
    assert one.score_sums[3, 0] == 20_000
    whole = scan(np.array([0, 1, 1]), np.array([0, 1, 0], dtype=">i4"), grid(), kernel=kernel)
    assert whole.score_sums[3, 0] == 2


@pytest.mark.parametrize("kernel", KERNELS)
def test_class_wise_histograms_do_not_follow_the_input(tools, kernel):
    p, y = tools.example(3, 100, seed=13)
    want = scan(p.copy(), y.copy(), grid(), kernel="numpy")
    got = scan(p, y, grid(), kernel=kernel)
    p[:], y[:] = 0.0, 0
    same(tools, got, want, 3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_arrays_of_wrong_shape_are_refused(kernel):
    p, y = np.full((3, 2), 0.5), np.zeros(3, np.int64)
    for change in (
        {"y": y[:2]},
        {"p": p[:, :0]},
        {"p": p[None]},
        {"y": y + 0.5},
        {"weights": np.ones(2)},
        {"counts": y[1:]},
    ):
        with pytest.raises(ValueError):
            scan(**{"p": p, "y": y, "grid": grid(), "kernel": kernel} | change)


def test_unknown_kernel_is_refused():
    with pytest.raises(ValueError, match="kernel"):
        scan(np.array([0.5]), np.array([1]), grid(), kernel="fortran")
