"""Input that somebody would have to think of: rows that cannot be used in awkward places, values at every edge, memory
that lies anywhere. The C kernel must say what NumPy says, and write nowhere else."""

from __future__ import annotations

from dataclasses import fields, replace
from unittest.mock import patch

import numpy as np
import pytest

from veracity import kernels
from veracity.kernels import Histogram, scan
from veracity.kernels.grid import WIDE, grid
from veracity.kernels.result import tolerance
from veracity.state.plan import Plan
from veracity.state.tally import Tally

CUTS = Plan().cuts
PLANS = [CUTS, Plan(preset="N17").cuts, (), (1e-6, 3e-5, 0.25), (1e-300, 2.0**-149, 0.5, 1 - 2.0**-24, 1 - 2.0**-53)]
PLACES = [b + d for b in (8, 16, 64, 80, 512) for d in (-1, 0, 1)]  # around the ends of blocks and vectors


def edges(cuts, dtype):
    """Values at which something changes, with their neighbours."""
    lines = [0.5, 0.25, 2.0**-5, 2.0**-10, 2.0**-14, 2.0**-40, 2.0**-126, 2.0**-149, 1e-80, *WIDE, *cuts]
    at = np.array([*lines, *(1.0 - np.array(lines)), 0.0, 1.0], dtype)
    near = np.concatenate([at, np.nextafter(at, dtype(-1)), np.nextafter(at, dtype(2)), [dtype(-0.0)]])
    return near[(near >= 0) & (near <= 1)]


def impossible(dtype):
    """NaNs of both signs, quiet and signalling, infinities, and what lies outside [0, 1] by much and by little."""
    whole, mantissa = (np.uint32, 23) if dtype == np.float32 else (np.uint64, 52)
    infinity = int(np.array(np.inf, dtype).view(whole))
    nans = [infinity + 1, infinity + (1 << mantissa - 1), infinity + (1 << mantissa) - 1]
    sign = 1 << (8 * np.dtype(dtype).itemsize - 1)
    limits = np.finfo(dtype)
    outside = [np.inf, -np.inf, limits.max, limits.min, -limits.smallest_subnormal, -0.5, -2.0, 1.5, 2.0, 100.0]
    above = np.nextafter(dtype(1), dtype(2))
    return np.concatenate(
        [np.array(nans + [n | sign for n in nans], whole).view(dtype), np.array(outside, dtype), [above]]
    )


def forecasts(rng, n, k, dtype, cuts):
    """Rows that can be used: from flat to certain, and rows made of edges; k = 0 is one column of two classes."""
    at = edges(cuts, dtype)
    if k == 0:
        return np.where(rng.random(n) < 0.5, rng.choice(at, n), rng.random(n)).astype(dtype)
    z = rng.normal(size=(n, k)) * rng.choice([0.0, 1.0, 5.0, 300.0], (n, 1))
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    for i in np.flatnonzero(rng.random(n) < 0.5):
        row = p[i]
        row[:] = rng.choice([0.0, -0.0, 1e-320, 1e-45, 1e-12], p=[0.6, 0.1, 0.1, 0.1, 0.1])
        columns, left = rng.permutation(k), 1.0
        for column in columns[: rng.integers(0, min(k, 50))]:
            value = rng.choice(at)
            row[column], left = (value, left - value) if value <= left else (row[column], left)
        row[columns[-1]] = max(0.0, 1.0 - np.delete(row, columns[-1]).sum())
    p = p.astype(dtype)
    off = abs(p.sum(axis=1, dtype=np.float64) - 1.0) > 0.9 * tolerance(p.dtype, k)
    p[off] = np.eye(k, dtype=dtype)[0]
    return p


def spoil(rng, p, y, k):
    """Rows that cannot be used, where blocks begin and end; or a whole block of them."""
    n, allowed = len(p), tolerance(p.dtype, k)
    places = [0, n // 2, n - 1, *(i for i in PLACES if i < n)]
    kind = rng.choice(["none", "values", "block", "sums", "labels"])
    if kind == "block":
        start = rng.integers(n)
        p[start : start + rng.choice([8, 16, 64, 512])] = rng.choice(impossible(p.dtype.type))
    for i in rng.choice(places, 3) if kind in ("values", "sums", "labels") else ():
        if kind == "labels":
            limits = np.iinfo(y.dtype)
            y[i] = rng.choice([limits.max, limits.min, min(k, limits.max)])
        elif kind == "values":
            p[(i, rng.integers(k))[: p.ndim]] = rng.choice(impossible(p.dtype.type))
        elif p.ndim == 2:
            p[i] = 0.0
            p[i, 0] = 1.0 - 0.3
            p[i, -1] += 0.3 + allowed * rng.choice([0.99, 1.01, -0.99, -1.01, 50.0])


def lying(rng, values):
    """The same values in other memory."""
    how = rng.integers(6)
    if how == 1:
        return np.asfortranarray(values)
    if how == 2:
        return np.ascontiguousarray(values[::-1])[::-1]
    if how == 3:
        return np.repeat(values, 2, axis=0)[::2]
    if how == 4:
        return unaligned(values)
    if how == 5 and values.ndim == 2:
        return np.ascontiguousarray(values[:, ::-1])[:, ::-1]
    return values


def unaligned(values):
    """A read-only array that begins at an odd address."""
    return np.frombuffer(b"x" + values.tobytes(), values.dtype, values.size, 1).reshape(values.shape)


def close(a, b, scale, name):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14 * scale, err_msg=name)


def same_histogram(a, b, scale):
    for field in fields(Histogram):
        x, y = getattr(a, field.name), getattr(b, field.name)
        assert (x is None) == (y is None), field.name
        if x is not None and x.dtype.kind == "i":
            assert np.array_equal(x, y), field.name
        elif x is not None:
            close(x, y, 10.0 * scale, field.name)


def same(a, b):
    """Problems and counts are equal, sums to 1e-12 of themselves or of the whole."""
    scale = max(b.weight, b.weight2, 1.0)
    assert a.rows == b.rows
    for name, problem in b.problems.items():
        found = a.problems[name]
        assert (found.rows, found.first, found.column) == (problem.rows, problem.first, problem.column), name
        if problem.rows:
            np.testing.assert_allclose(found.value, problem.value, rtol=1e-12, err_msg=name)
    assert (a.low, a.high) == (b.low, b.high)
    for name in ("weight", "weight2", "score_sums", "class_sums", "column_sums", "powers", "lowest_realised"):
        close(getattr(a, name), getattr(b, name), scale, name)
    assert np.array_equal(a.tiny, b.tiny)
    assert np.array_equal(a.lowest, b.lowest)
    for x, y in zip((a.pooled, a.top, *a.classwise), (b.pooled, b.top, *b.classwise), strict=True):
        same_histogram(x, y, scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 10, 50, 51, 60, 300, 1003])
def test_whatever_comes_both_kernels_say_the_same(vectors, k, dtype):
    rng = np.random.default_rng([k, np.dtype(dtype).itemsize])
    for n in (1, 2, 7, 8, 9, 81, 513) if k <= 50 else (1, 8, 65) if k <= 300 else (1, 9):
        cuts = PLANS[rng.integers(len(PLANS))]
        p = forecasts(rng, n, k, dtype, cuts)
        y = rng.integers(0, min(k or 2, 127), n).astype(rng.choice(["i1", "i2", "i4", "i8", "u1", "u2", "u4"]))
        spoil(rng, p, y, k or 2)
        weights = rng.choice([0.0, 0.3, 2.0], n) if rng.random() < 0.3 else None
        counts = rng.integers(1, 1000, n) if rng.random() < 0.3 else None
        p, y, cells = lying(rng, p), lying(rng, y), grid(cuts, coarse=k > 50)
        want = scan(p, y, cells, weights=weights, counts=counts, kernel="numpy")
        for held in (n, 0):  # few rows are held and counted class by class
            with patch.object(kernels.native, "PAIRED", 1), patch.object(kernels.native, "HELD", held):
                same(scan(p, y, cells, weights=weights, counts=counts, kernel="native", threads=2), want)


@pytest.mark.parametrize("k", [0, 2, 3, 50])
def test_a_row_left_out_is_in_no_sum(compiled, k):
    """Its NaN once came through a mass of 0."""
    p = np.full(9, 0.25) if k == 0 else np.full((9, k), 1.0 / k)
    p[8] = np.nan
    found = scan(p, np.zeros(9, int), grid(CUTS), kernel="native")
    assert found.problems["nan"].first == (8,)
    assert np.array_equal(found.column_sums, [6.0, 2.0] if k == 0 else np.full(k, 8.0 / k))


@pytest.mark.parametrize("k", [51, 100])
def test_one_row_of_many_classes_stays_in_its_room(vectors, k):
    """Every entry in a cell of its own, the last class in one of the nested grid: as much as there can be to write."""
    cells = grid(CUTS, coarse=True)
    free = cells.edges[(cells.edges > 2.0**-14) & (cells.edges < 2.0**-10)]
    p = free[np.linspace(0, len(free) - 1, k).astype(int)].astype(np.float32)
    p[-1] = 1.0 - p[:-1].sum(dtype=np.float64)
    assert len(np.unique(cells.locate(p))) == k
    asked = []

    def guarded(shape, dtype):
        *before, last = np.atleast_1d(shape)
        asked.append(np.full((*before, last + 64), 77, dtype))
        return asked[-1][..., :-64]

    with patch.object(kernels.native.np, "empty", guarded):
        found = scan(p[None], np.array([k - 1]), cells, kernel="native")
    held, _ = asked  # columns of histograms, hashes
    assert all((room[..., -64:] == 77).all() for room in asked)
    assert (held[0, (held.shape[1] - 63) // 2 :] == 77).all()  # cells are half as long
    same(found, scan(p[None], np.array([k - 1]), cells, kernel="numpy"))


def test_larger_sums_have_room_too(vectors):
    """What is kept of an earlier pass may be too small for rows with more entries from 2^-5 up."""
    cells, y = grid(CUTS, coarse=True), np.arange(64)
    scan(np.full((64, 128), 1 / 128, np.float32), y, cells, kernel="native")
    for allowed in (4.0, np.inf):
        p = np.full((64, 128), 1 / 32, np.float32)
        want = scan(p, y, cells, allowed=allowed, kernel="numpy")
        same(scan(p, y, cells, allowed=allowed, kernel="native"), want)


@pytest.mark.parametrize("kernel", ["numpy", "native"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_kind_of_nan_hides_the_smallest_and_largest_value(compiled, kernel, dtype):
    for nan in impossible(dtype)[:6]:
        for p in ([nan, 0.25, 0.75], [0.75, nan, 0.25], [0.25, 0.75, nan]):
            found = scan(np.array(p, dtype), np.zeros(3, int), grid(CUTS), kernel=kernel)
            assert (found.low, found.high) == (0.25, 0.75)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1.0 - 2.0**-14, 2.0**-14, 1.0 - 2.0**-40, 2.0**-40, 0.5])
def test_powers_of_rows_at_the_edge_of_wide_cells(vectors, p, dtype):
    """1 - 2^-14 has the wide cell below 2^-14 for its other class: the series of p^-2 was off by 6e-12 there."""
    rows = np.full(1000, p, dtype)
    for y in (np.zeros(1000, int), np.ones(1000, int)):
        with patch.object(kernels.native, "PAIRED", 1):
            found = scan(rows, y, grid(CUTS), kernel="native")
        want = scan(rows, y, grid(CUTS), kernel="numpy")
        np.testing.assert_allclose(found.powers, want.powers, rtol=1e-12)
        np.testing.assert_allclose(found.score_sums, want.score_sums, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("k", [2, 60])
@pytest.mark.parametrize("name", ["cell_of_code", "nested", "edges", "nested_edges"])
def test_numbers_of_cells_that_are_none_are_refused(vectors, name, k):
    """The pass looks cells up by these numbers: crafted ones must not lead elsewhere."""
    p, y = np.full((3, k), 1 / k, np.float32), np.zeros(3, int)
    for damage in (lambda a: a[:-1], lambda a: np.where(np.arange(len(a)) == 7, len(a), a), lambda a: a - len(a) - 9):
        cells = replace(grid(CUTS, coarse=k > 50))
        scan(p, y, cells, kernel="native")
        damaged = damage(getattr(cells, name)).astype(getattr(cells, name).dtype)
        if "edges" in name and len(damaged) == len(getattr(cells, name)):
            continue  # numbers in other places, but no places elsewhere
        cells.__dict__[name] = damaged
        with pytest.raises(ValueError, match="fit one another and the grid"):
            scan(p, y, cells, kernel="native")


@pytest.mark.parametrize("damage", [lambda a: a[:-1], lambda a: a + 10**6, lambda a: a - 1])
def test_numbers_of_parts_that_are_none_are_refused(vectors, damage):
    from veracity.kernels.binary_moments import BinaryMomentCounter

    pair = BinaryMomentCounter(grid(CUTS))
    known = pair._places
    pair._places = replace(known, first_part=damage(known.first_part).astype(np.int32))
    with pytest.raises(ValueError, match="fit one another and the grid"):
        pair.add(np.array([0.2, 0.7]), np.array([0, 1]))


def test_arrays_of_different_lengths_are_refused(compiled):
    """Python checks these too."""
    p, y, cells = np.full((3, 2), 0.5), np.zeros(3, int), grid(CUTS)
    for change in ({"y": y[:2]}, {"weights": np.ones(2)}, {"counts": np.ones(4, int)}, {"p": np.full((4, 2), 0.5)}):
        given = {"p": p, "y": y, "weights": None, "counts": None} | change
        with pytest.raises(ValueError, match="fit one another and the grid"):
            kernels.native.by_row(grid=cells, threads=1, allowed=1e-6, **given)
    made, short = np.empty, lambda shape, dtype: made(shape if np.ndim(shape) else shape - 1, dtype)
    with patch.object(kernels.native.np, "empty", short), pytest.raises(ValueError, match="fit one another"):
        scan(p, y, cells, kernel="native")


def test_arrays_of_a_stored_tally_are_aligned():
    rng = np.random.default_rng(4)
    p, y = rng.dirichlet(np.ones(3), 50), rng.integers(0, 3, 50)
    for name in ("c", "cc", "ccc"):  # longer heads move what follows
        labels = ["a", "b", name]
        stored = Tally.from_bytes(Tally.of(np.array(labels)[y], p, labels=labels).to_bytes())
        for histogram in (stored.pooled, stored.top, *stored.classwise):
            assert all(a.flags.aligned for a in vars(histogram).values() if a is not None)


@pytest.mark.parametrize("kernel", ["numpy", "native"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rounding_leaves_no_less_than_nothing_in_the_lowest_cell(compiled, kernel, weighted):
    """Of many classes it is what the other cells leave of the total, which once made a band of NaN."""
    rng = np.random.default_rng(6)
    p = np.zeros((40, 60))
    for row in p:
        row[rng.permutation(60)[:9]] = rng.dirichlet(np.ones(9))
    p[p < 2.0**-5] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    weights = rng.gamma(1.0, 1.0, 40) if weighted else None
    found = scan(p, p.argmax(axis=1), grid(CUTS, coarse=True), weights=weights, counts=np.full(40, 7), kernel=kernel)
    for histogram in found.classwise:
        assert (histogram.all_sum >= 0.0).all()
        assert not weighted or (histogram.all_weight >= 0.0).all()


@pytest.mark.parametrize("k", [0, 3, 51])
def test_more_cells_than_sixteen_bits_can_number(vectors, k):
    rng = np.random.default_rng(7)
    cells = grid(tuple(np.linspace(0.04, 0.5, 40_000).tolist()), coarse=k > 50)
    assert len(cells.nested_edges if k > 50 else cells) > 1 << 16
    p = rng.random(50) if k == 0 else rng.dirichlet(np.full(k, 0.1), 50).astype(np.float32)
    y = rng.integers(0, k or 2, 50)
    same(scan(p, y, cells, kernel="native"), scan(p, y, cells, kernel="numpy"))
