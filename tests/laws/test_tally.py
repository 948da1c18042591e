"""Tallies add: associative, commutative, with a zero, and the same for any partition of the rows."""

from __future__ import annotations

import copy
import itertools
import pickle
from dataclasses import asdict, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veracity import Plan, Tally, assess, read
from veracity.inputs import Forecasts
from veracity.kernels import Histogram
from veracity.state.tally import total

EXACT = ("cells", "all", "true")


def task(seed: int, n: int, k: int, extra: str, dtype: str = "f8") -> Forecasts:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.4), n).astype(dtype)
    p[rng.random(n) < 0.2] = np.eye(k)[0]  # atoms at 0 and 1
    p[rng.random(n) < 0.1] = 1.0 / k
    y = np.array([rng.choice(k, p=row / row.sum()) for row in p.astype("f8")], dtype=np.int64)
    y[rng.random(n) < 0.05] = k - 1  # some outcomes that had been ruled out
    if k == 2 and seed % 2:
        p = p[:, 1].copy()
    weights = rng.gamma(2.0, size=n) if "weights" in extra else None
    counts = rng.integers(1, 4, n) if "counts" in extra else None
    return Forecasts(p, y, tuple(range(k)), weights, counts)


def part(f: Forecasts, rows: np.ndarray) -> Forecasts:
    def cut(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[rows]

    return Forecasts(
        cut(f.probabilities), cut(f.outcomes), f.classes, cut(f.weights), cut(f.counts), rows=np.asarray(rows)
    )


def same(a: Tally, b: Tally, tolerance: float = 1e-12) -> None:
    for mine, yours in zip((a.pooled, a.top, *a.classwise), (b.pooled, b.top, *b.classwise), strict=True):
        for name in Histogram.__dataclass_fields__:
            x, y = getattr(mine, name), getattr(yours, name)
            if x is None:
                assert y is None
            elif name in EXACT:
                np.testing.assert_array_equal(x, y, err_msg=name)
            else:
                # The lowest cell of many classes is a total less the other cells: exact relative to the total.
                np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * np.abs(x).sum(), err_msg=name)
    assert (a.sums.rows, a.sums.zeros, a.cases) == (b.sums.rows, b.sums.zeros, b.cases)
    for name in ("weight", "weight2", "score", "by_class", "column", "powers", "log_tiny"):
        np.testing.assert_allclose(
            getattr(a.sums, name), getattr(b.sums, name), rtol=tolerance, atol=1e-12, err_msg=name
        )
    assert a.lowest == b.lowest
    one, other = a.analysis, b.analysis
    assert one.complete == other.complete
    np.testing.assert_array_equal(one.rows.counts, other.rows.counts)
    np.testing.assert_array_equal(one.rows.probabilities, other.rows.probabilities)
    np.testing.assert_array_equal(one.rows.outcomes, other.rows.outcomes)


KINDS = [(2, ""), (2, "weights"), (2, "counts"), (3, ""), (3, "weights counts"), (10, "counts"), (60, "")]


@pytest.mark.parametrize(("k", "extra"), KINDS)
@settings(max_examples=8)
@given(seed=st.integers(0, 1000), n=st.integers(1, 300), parts=st.integers(1, 9))
def test_any_partition_gives_the_same(k: int, extra: str, seed: int, n: int, parts: int) -> None:
    f = task(seed, n, k, extra)
    rng = np.random.default_rng(seed)
    place = rng.integers(0, parts, n)
    pieces = [Tally.of(part(f, np.flatnonzero(place == i)), plan=Plan()) for i in range(parts)]  # some may be empty
    whole = Tally.of(part(f, np.arange(n)), plan=Plan())
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged + piece
    if parts == 1:
        merged = merged + Tally.zero(f.classes)
    same(whole, merged)
    order = rng.permutation(parts)
    shuffled = Tally.zero(f.classes)
    for i in order:
        shuffled = shuffled + pieces[i]
    same(whole, shuffled)


@pytest.mark.parametrize(("k", "extra"), KINDS)
def test_addition_is_associative_and_commutative(k: int, extra: str) -> None:
    a, b, c = (Tally.of(part(task(seed, 150, k, extra), np.arange(150)), plan=Plan()) for seed in (2, 4, 6))
    same((a + b) + c, a + (b + c))
    same(a + b, b + a)


@pytest.mark.parametrize(("k", "extra"), KINDS)
def test_published_metrics_are_the_same_to_the_last_bit(k: int, extra: str) -> None:
    """In memory, in seven uneven parts, and merged in random order."""
    n = 3000
    f = task(8, n, k, extra)
    cuts = [0, 10, 11, 700, 701, 1500, 2999, n]
    pieces = [Tally.of(part(f, np.arange(a, b)), plan=Plan()) for a, b in itertools.pairwise(cuts)]
    order = np.random.default_rng(1).permutation(7)
    merged = pieces[order[0]]
    for i in order[1:]:
        merged = merged + pieces[i]
    one, many = assess(f), assess(merged)
    for name in ("decisiveness", "geometric_accuracy", "robustness"):
        # Maps are fitted to sums whose order differs, so the last bits of what they leave do too.
        assert many.measured.reading(name) == pytest.approx(one.measured.reading(name), rel=1e-12)
        if "weights" not in extra:
            assert float(many.papers.published.measured.reading(name)) == float(
                one.papers.published.measured.reading(name)
            )
        assert many.reported.reading(name) == pytest.approx(one.reported.reading(name), rel=1e-12)
    for name in ("low", "high", "count", "true"):
        assert [getattr(b, name) for b in many.bins] == [getattr(b, name) for b in one.bins]


@pytest.mark.parametrize(("k", "extra"), KINDS)
def test_a_tally_is_equal_after_bytes_and_back(k: int, extra: str) -> None:
    tally = Tally.of(part(task(3, 400, k, extra), np.arange(400)), plan=Plan(bins=7, floor=0.01))
    back = Tally.from_bytes(tally.to_bytes())
    same(tally, back, 0.0)
    assert back.plan == tally.plan
    assert back.to_bytes() == tally.to_bytes()


@pytest.mark.parametrize("k", [2, 3, 60])
def test_a_tally_of_float32_rows_is_equal_after_bytes_and_back(k: int) -> None:
    rng = np.random.default_rng(k)
    p, y = rng.dirichlet(np.ones(k), 300).astype(np.float32), rng.integers(0, k, 300)
    tally = Tally.of(y, p)
    assert tally.analysis.rows.probabilities is not None
    assert tally.analysis.rows.probabilities.dtype == np.float32
    assert Tally.from_bytes(tally.to_bytes()) == tally


@pytest.mark.parametrize("weighted", [False, True])
def test_a_tally_of_realised_probabilities_is_equal_after_bytes_and_back(weighted: bool) -> None:
    """Its histograms of picks are empty, and empty sums are sums of floats all the same."""
    frame = pl.DataFrame({"logprob": np.log(np.random.default_rng(4).random(50)), "w": np.arange(50) + 0.5})
    (forecasts,) = read.frame(frame, read.ReadOptions(weight="w" if weighted else None)).values()
    tally = Tally.of(forecasts)
    assert Tally.from_bytes(tally.to_bytes()) == tally


def test_parts_leave_out_the_same_forecasts_with_all_their_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veracity.state.analysis_rows.MOST_ROWS", 5)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p, y = rng.dirichlet(np.ones(3), 30)[rng.integers(0, 30, 60)], rng.integers(0, 3, 60)
        wanted = Tally.of(y, p).analysis
        parts = [Tally.of(y[i : i + 15], p[i : i + 15], labels=[0, 1, 2]) for i in range(0, 60, 15)]
        found = total(Tally.from_bytes(part.to_bytes()) for part in parts).analysis
        assert (found.complete, found.hash_limit) == (wanted.complete, wanted.hash_limit), seed
        for name in ("probabilities", "outcomes", "counts"):
            assert np.array_equal(getattr(found.rows, name), getattr(wanted.rows, name)), (seed, name)


def test_bytes_that_are_no_tally() -> None:
    data = Tally.of([0, 1], [0.2, 0.7]).to_bytes()
    with pytest.raises(ValueError, match="not a tally"):
        Tally.from_bytes(b"PK" + data)
    with pytest.raises(ValueError, match="damaged"):
        Tally.from_bytes(data[:-3] + b"abc")


def test_bytes_of_another_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Tally.of([0, 1], [0.2, 0.7]).to_bytes()
    monkeypatch.setattr("veracity.state.packing.fingerprint", lambda grid: 0)
    with pytest.raises(ValueError, match="another grid"):
        Tally.from_bytes(data)


def test_bytes_that_no_pass_can_have_written_are_refused() -> None:
    tally = Tally.of(part(task(3, 400, 3, "counts"), np.arange(400)), plan=Plan())
    h = tally.pooled
    crafted = {
        "cells out of order or range": replace(tally, pooled=replace(h, cells=h.cells[::-1].copy())),
        "cells beyond the grid": replace(tally, pooled=replace(h, cells=h.cells + np.int32(1 << 20))),
        "negative counts": replace(tally, top=replace(tally.top, all=-tally.top.all)),
        "rows of several lengths": replace(
            tally, analysis=replace(tally.analysis, rows=replace(tally.analysis.rows, counts=np.ones(3, np.int64)))
        ),
        "outcomes that are not classes": replace(
            tally, analysis=replace(tally.analysis, rows=replace(tally.analysis.rows, outcomes=tally.rows.outcomes + 3))
        ),
    }
    for wrong in crafted.values():
        with pytest.raises(ValueError, match="damaged"):
            Tally.from_bytes(wrong.to_bytes())


def test_tallies_pickle_and_are_equal_when_their_states_are() -> None:
    tally = Tally.of(part(task(3, 400, 3, "weights"), np.arange(400)), plan=Plan())
    assert pickle.loads(pickle.dumps(tally)) == tally
    assert copy.deepcopy(tally) == tally
    assert tally != tally + tally


def test_groups_are_counted_in_every_part() -> None:
    f = replace(task(9, 600, 3, ""), groups={"site": np.array(["north", "south", "west"])[np.arange(600) % 3]})
    whole = Tally.of(f)
    parts = total(Tally.of(f.take(rows)) for rows in (slice(0, 7), slice(7, 8), slice(8, 600)))
    assert list(whole.groups["site"]) == list(parts.groups["site"]) == ["north", "south", "west"]
    for level in whole.groups["site"]:
        same(
            whole.groups["site"][level], replace(parts.groups["site"][level], lowest=whole.groups["site"][level].lowest)
        )


def test_different_plans_refuse_to_add() -> None:
    with pytest.raises(ValueError, match=r"end_width is 0\.005 in one and 0\.01 in the other"):
        Tally.of([0, 1], [0.2, 0.7]) + Tally.of([0, 1], [0.2, 0.7], end_width=0.01)
    with pytest.raises(ValueError, match="different classes"):
        Tally.of([0, 1], [0.2, 0.7]) + Tally.of(["a", "b"], [0.2, 0.7])


@pytest.mark.parametrize("k", [2, 3, 10])
def test_a_count_of_two_is_the_row_twice(k: int) -> None:
    f = task(5, 500, k, "")
    counts = np.random.default_rng(0).integers(1, 4, 500)
    counted = assess(f.outcomes, f.probabilities, counts=counts).document()
    rows = np.repeat(np.arange(500), counts)
    repeated = assess(f.outcomes[rows], f.probabilities[rows]).document()
    for document in (counted, repeated):
        del document["verdict_detail"]["ruled_out"]  # rows, which have other numbers
    for name in counted.keys() - {"provenance", "findings", "surprises"}:
        close(counted[name], repeated[name])
    assert [b["true"] for b in counted["bins"]] == [b["true"] for b in repeated["bins"]]


@pytest.mark.parametrize("k", [2, 3])
def test_a_weight_of_two_is_the_row_twice_for_weighted_means(k: int) -> None:
    f = task(5, 500, k, "")
    weights = np.random.default_rng(0).integers(1, 4, 500)
    weighted = assess(f.outcomes, f.probabilities, sample_weight=weights.astype(float))
    rows = np.repeat(np.arange(500), weights)
    repeated = assess(f.outcomes[rows], f.probabilities[rows])
    for section in ("scores", "reported"):
        for name, reading in getattr(weighted, section).readings().items():
            assert reading == pytest.approx(getattr(repeated, section).readings()[name], rel=1e-12, nan_ok=True)
    scaled = assess(f.outcomes, f.probabilities, sample_weight=weights * 1e3)
    close(scaled.document()["measured"], weighted.document()["measured"])
    close(scaled.document()["scores"], weighted.document()["scores"])


def close(a: object, b: object) -> None:
    if isinstance(a, dict):
        assert isinstance(b, dict)
        assert a.keys() == b.keys()
        for key in a:
            close(a[key], b[key])
    elif isinstance(a, list):
        assert isinstance(b, list)
        for x, y in zip(a, b, strict=True):
            close(x, y)
    elif isinstance(a, float):
        # Intervals are square roots of sums of squares: their rounding is larger than that of the values.
        assert a == pytest.approx(b, rel=1e-9, abs=1e-12, nan_ok=True)
    else:
        assert a == b


def test_a_count_of_two_is_the_row_twice_for_features_and_remedies() -> None:
    f = task(6, 300, 3, "")
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, 300)
    rows = np.repeat(np.arange(300), counts)
    for features in (rng.integers(0, 400, (300, 1)), rng.normal(size=(300, 2))):  # ideal probabilities, or a bound
        counted = assess(f.outcomes, f.probabilities, counts=counts, features=features)
        repeated = assess(f.outcomes[rows], f.probabilities[rows], features=features[rows])
        for rule in ("log", "brier"):
            close(dict(counted.losses(rule).stated()), dict(repeated.losses(rule).stated()))
        close([asdict(r) for r in counted.remedies], [asdict(r) for r in repeated.remedies])
        assert [g.message for g in counted.findings] == [g.message for g in repeated.findings]


def test_a_saved_tally_holds_rows_of_the_data() -> None:
    y, p = np.arange(60) % 2, np.linspace(0.011, 0.989, 60)
    held = Tally.from_bytes(Tally.of(y, p).to_bytes()).analysis.rows
    assert held.probabilities is not None
    assert held.outcomes is not None
    found = zip(held.probabilities.tolist(), held.outcomes.tolist(), strict=True)
    assert sorted(found) == sorted(zip(p.tolist(), y.tolist(), strict=True))
