"""Two classes counted by place and moments, against the pass over rows."""

import numpy as np
import pytest

from veracity import assess, kernels
from veracity.inputs import prepare
from veracity.kernels import native
from veracity.kernels.grid import grid
from veracity.kernels.result import R
from veracity.state.plan import Plan
from veracity.state.tally import RunningTally, Tally

if kernels.native is None:
    pytest.skip("the C kernel is not compiled", allow_module_level=True)

from veracity.kernels.binary_moments import BinaryMomentCounter

GRID = grid(Plan().cuts)
N = 40_000


def smooth():
    p = np.random.default_rng(1).beta(0.6, 0.6, N)
    return p, np.random.default_rng(2).random(N) < p


def edges():
    """Every edge of the grid, its mirror, and their neighbours."""
    known = np.concatenate([GRID.edges, 1.0 - GRID.edges])
    p = np.unique(np.clip([np.nextafter(known, -1), known, np.nextafter(known, 2)], 0.0, 1.0))
    p = np.concatenate([p, p])
    return p, np.arange(len(p)) % 2 == 0


def kinds():
    p, y = smooth()
    extreme = 1.0 / (1.0 + np.exp(-np.random.default_rng(3).normal(0.0, 20.0, N)))
    return {
        "smooth": (p, y),
        "float32": (p.astype(np.float32), y.astype(np.int64)),
        "rounded": (np.round(p, 2), y.astype(np.int16)),
        "saturated": (np.round(p), y.astype(np.uint8)),
        "dyadic": (np.round(p * 64) / 64, y.astype(np.int32)),
        "extreme": (extreme, np.random.default_rng(4).random(N) < extreme),
        "edges": edges(),
        "strided": (np.repeat(p, 3)[::3], np.repeat(y, 2)[::2]),
        "backwards": (p[::-1], y[::-1]),
        "few": (p[:5], y[:5]),
        "half": (p.astype(np.float16), y),
        "foreign": (p.astype(">f8"), y.astype(">i4")),
    }


@pytest.mark.parametrize("kind", [kind for kind in kinds() if kind not in ("half", "foreign")])
def test_places_and_moments_give_what_the_rows_give(tools, kind, vectors):
    p, y = kinds()[kind]
    pair = BinaryMomentCounter(GRID)
    rest = pair.add(p, y)
    realised = np.where(y == 1, p, 1.0 - p.astype(np.float64))
    below = p.astype(np.float64)
    assert np.array_equal(rest.others, np.flatnonzero((realised <= 2.0**-14) | ((below < 2.0**-40) & (below > 0))))
    kept = np.setdiff1d(np.arange(len(p)), rest.others)
    one, other = pair.result(), native.scan(p[kept], y[kept], GRID, None, None, 1)
    assert one.rows == other.rows
    assert (rest.low, rest.high) == (p.min(), p.max())
    assert np.array_equal(rest.lowest, kept[other.lowest])
    assert np.array_equal(rest.lowest_realised, other.lowest_realised)
    for name in ("score_sums", "class_sums", "column_sums", "powers"):
        tools.close(getattr(one, name), getattr(other, name))
    for a, b in zip((one.pooled, one.top, *one.classwise), (other.pooled, other.top, *other.classwise), strict=True):
        assert np.array_equal(a.cells, b.cells)
        assert np.array_equal(a.all, b.all)
        assert np.array_equal(a.true, b.true)
        for name in ("all_sum", "true_sum", "true_log", "true_power"):
            # a row's own 1 - p is rounded, that of a place is not: 1e-16 of each row
            near = 1e-12 * np.abs(getattr(b, name)) + 2e-16 * b.all
            assert np.all(np.abs(getattr(a, name) - getattr(b, name)) <= near), name


def test_powers_hold_where_a_cell_is_widest(tools):
    """At the lower end of a power of two, and with every row at the edge of its cell, the series is at its worst."""
    p = np.repeat([2.0**-13 * (1 + 2.0**-30), 0.25 * (1 + 2.0**-40), 0.25 + 2.0**-13], 1000)
    y = np.ones(len(p), dtype=np.int8)
    pair = BinaryMomentCounter(grid())
    assert len(pair.add(p, y).others) == 0
    direct = np.array([np.sum(p**r) for r in R])
    assert np.max(np.abs(pair.result().powers / direct - 1.0)) < 3e-13


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e-300, 1.0 + 1e-12])
def test_bad_values_are_left_to_the_pass_that_names_them(bad, vectors):
    p, y = smooth()
    p[777] = bad
    assert BinaryMomentCounter(GRID).add(p, y) is None


@pytest.mark.parametrize("bad", [-1, 2])
@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_bad_labels_leave_the_rows_to_the_scan(bad, kind, vectors):
    p, y = smooth()
    y = y.astype(kind)
    y[N - 1] = bad
    assert BinaryMomentCounter(GRID).add(p, y) is None


def test_a_large_scan_is_the_same(tools, monkeypatch):
    p, y = smooth()
    p[5], p[6], y[5], y[6] = 0.0, 1e-90, True, True
    direct = native.scan(p, y, GRID, None, None, 2)
    monkeypatch.setattr(native, "PAIRED", 1)
    paired = native.scan(p, y, GRID, None, None, 3)
    assert np.array_equal(paired.lowest, direct.lowest)
    assert np.array_equal(paired.tiny, direct.tiny)
    assert (paired.rows, paired.low, paired.high) == (direct.rows, direct.low, direct.high)
    for name in ("score_sums", "class_sums", "column_sums", "powers"):
        tools.close(getattr(paired, name), getattr(direct, name))
    for a, b in zip((paired.pooled, *paired.classwise), (direct.pooled, *direct.classwise), strict=True):
        assert np.array_equal(a.cells, b.cells)
        assert np.array_equal(a.all, b.all)
        assert np.array_equal(a.true, b.true)
    p[7] = 2.0
    assert native.scan(p, y, GRID, None, None, 3).problems["above_one"].first == (7,)


@pytest.mark.parametrize("kind", ["smooth", "rounded", "extreme", "edges", "half", "foreign"])
def test_a_stream_counted_by_place_is_the_stream_counted_by_row(tools, monkeypatch, kind):
    p, y = kinds()[kind]
    plan = Plan()
    whole = prepare(y, p)
    at = np.sort(np.random.default_rng(5).choice(len(p), 6))
    monkeypatch.setattr(native, "PAIRED", 1)
    running = RunningTally()
    for start, end in zip([0, *at], [*at, len(p)], strict=True):
        if end > start:
            running.count(prepare(y[start:end], p[start:end], first_row=int(start)), plan)
        if start == at[2]:
            running.tally()  # looking at the sum changes nothing
    monkeypatch.setattr(native, "PAIRED", 1 << 60)
    one, other = running.tally(), Tally.of(whole, plan=plan)
    assert (one.cases, one.lowest, one.sums.zeros) == (other.cases, other.lowest, other.sums.zeros)
    for name in ("score", "by_class", "column", "powers"):
        tools.close(getattr(one.sums, name), getattr(other.sums, name))
    for a, b in zip((one.pooled, one.top, *one.classwise), (other.pooled, other.top, *other.classwise), strict=True):
        assert np.array_equal(a.cells, b.cells)
        assert np.array_equal(a.all, b.all)
        assert np.array_equal(a.true, b.true)
    assert one.analysis.complete == other.analysis.complete
    assert np.array_equal(one.analysis.rows.probabilities, other.analysis.rows.probabilities)
    assert np.array_equal(one.analysis.rows.counts, other.analysis.rows.counts)


def test_rows_of_two_classes_are_kept_while_they_fit_and_are_cells_beyond(monkeypatch):
    p, y = smooth()
    monkeypatch.setattr(native, "PAIRED", 1)
    monkeypatch.setattr("veracity.state.analysis_rows.MOST_ROWS", 1000)

    def streamed(rows):
        running = RunningTally()
        for start in range(0, rows, 700):
            part = slice(start, min(start + 700, rows))
            running.count(prepare(y[part], p[part], first_row=start), Plan())
        return running.tally()

    small, large = streamed(900), streamed(9000)
    assert (small.complete, small.on_cells, len(small.rows)) == (True, False, 900)
    assert (large.complete, large.on_cells, len(large.analysis.rows)) == (False, True, 0)
    both = large + small
    assert not both.complete
    assert both.sums.rows == both.rows.counts.sum() == 9900
    assert assess(Tally.from_bytes(both.to_bytes())).losses("log").readings()["AL"] >= 0.0


def test_a_row_that_must_be_refused_is_named_in_a_stream(monkeypatch):
    p, y = smooth()
    monkeypatch.setattr(native, "PAIRED", 1)
    running = RunningTally()
    running.count(prepare(y, p), Plan())
    p = p.copy()
    p[3] = 1.5
    with pytest.raises(ValueError, match=r"y_proba\[40003\] = 1.5: above 1"):
        running.count(prepare(y, p, first_row=N), Plan())
