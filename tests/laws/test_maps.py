"""Laws that every map obeys, by discovery, and the definitions of the maps of stage C."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from veracity import calibrators
from veracity.calibrators.bins import equal_population_edges
from veracity.estimate.loss.ideal import ideal
from veracity.inputs import Forecasts

NAMES = calibrators.names()
ON_ROWS = [name for name in NAMES if name != "grouped"]  # `grouped` knows the fitted rows only


def sample(k: int, n: int = 400, seed: int = 0, **options) -> Forecasts:
    rng = np.random.default_rng([seed, k])
    truth = rng.dirichlet(np.full(k, 0.8), n)
    scores = truth**1.7
    scores /= scores.sum(axis=1, keepdims=True)
    outcomes = (rng.random(n)[:, None] > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Forecasts(scores, outcomes, tuple("abcdefgh"[:k]), **options)


def test_the_maps_of_this_version():
    assert set(NAMES) >= {
        *("identity", "grouped", "bins", "isotonic", "additive", "multiplicative", "coherent"),
        *("temperature", "vector", "matrix", "platt", "beta", "prior", "confusion", "tempered_confusion"),
        *("smoothed_isotonic", "smoothed_bins", "smoothed_grouped"),
    }


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_rows_sum_to_one_and_json_goes_both_ways(name, k):
    f = sample(k)
    fitted = calibrators.fit(name, f)
    rows = fitted(f.probabilities)
    assert rows.shape == (400, k)
    assert rows.sum(axis=1) == pytest.approx(np.ones(400), abs=1e-12)
    text = fitted.to_json()
    json.loads(text, parse_constant=pytest.fail)  # standard JSON: no bare NaN or Infinity
    again = calibrators.from_json(text)
    assert type(again) is type(fitted)
    assert again.classes == fitted.classes == f.classes
    np.testing.assert_array_equal(again(f.probabilities), rows)
    assert again.text == fitted.text
    assert fitted.name == name


@pytest.mark.parametrize("sure", [0.9, 0.999, 1.0 - 1e-12])
@pytest.mark.parametrize("name", ON_ROWS)
def test_forecasts_that_are_all_right_can_be_fitted(name, sure):
    outcomes = np.arange(300) % 3
    spread = np.linspace(0.0, 1.0 - sure, 300)[:, None]
    f = Forecasts((1.0 - 1.5 * spread) * np.eye(3)[outcomes] + 0.5 * spread, outcomes, ("a", "b", "c"))
    rows = calibrators.fit(name, f)(f.probabilities)
    assert np.isfinite(rows).all()
    assert (rows.argmax(axis=1) == outcomes).all() or name == "prior"


def test_bins_say_how_many_cells_they_have():
    assert calibrators.fit("bins", sample(4, n=30)).text == "bins (1 cell)"  # a cell has at least ten rows a class
    assert calibrators.fit("bins", sample(4)).text.endswith(" cells)")


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_needed_exactly_where_it_says_so(name):
    f = sample(3)
    without = Forecasts(f.probabilities, None, f.classes)
    if calibrators.fit(name, f).needs_labels:
        with pytest.raises((AssertionError, TypeError, ValueError)):
            calibrators.fit(name, without)
    else:
        target = {} if name in ("identity", "floor") else {"target": f.prior}
        rows = calibrators.fit(name, f)(f.probabilities)
        np.testing.assert_allclose(calibrators.fit(name, without, **target)(f.probabilities), rows, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_one_column_is_the_second_of_two_classes(name):
    f = sample(2)
    p = f.probabilities[:, 1]
    f = Forecasts(np.column_stack([1 - p, p]), f.outcomes, f.classes)
    column = Forecasts(p, f.outcomes, f.classes)
    rows = calibrators.fit(name, f)(f.probabilities)
    np.testing.assert_array_equal(calibrators.fit(name, column)(p), rows)
    np.testing.assert_array_equal(calibrators.fit(name, column)(f.probabilities), rows)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_count_is_so_many_rows_and_weights_have_no_scale(name, k):
    f = sample(k, 200)
    counts = np.random.default_rng(1).integers(1, 4, 200)
    many = Forecasts(np.repeat(f.probabilities, counts, axis=0), np.repeat(f.outcomes, counts), f.classes)
    few = Forecasts(f.probabilities, f.outcomes, f.classes, counts=counts)
    rows = calibrators.fit(name, many)(f.probabilities)
    tolerance = 1e-5 if name == "vector" else 1e-9  # of the optimisers
    np.testing.assert_allclose(calibrators.fit(name, few)(f.probabilities), rows, atol=tolerance)
    weights = np.random.default_rng(2).random(200) + 0.1
    one, seven = (
        calibrators.fit(name, Forecasts(f.probabilities, f.outcomes, f.classes, weights=w))(f.probabilities)
        for w in (weights, 7 * weights)
    )
    np.testing.assert_allclose(one, seven, atol=tolerance)


@pytest.mark.parametrize("name", ON_ROWS)
def test_rows_of_other_shapes_are_refused(name):
    fitted = calibrators.fit(name, sample(3))
    with pytest.raises(ValueError, match=r"fitted on 3 classes.*\(n, 3\)"):
        fitted(np.full((2, 4), 0.25))
    with pytest.raises(ValueError, match="row 1 holds nan"):
        fitted([[0.2, 0.3, 0.5], [0.2, np.nan, 0.8]])


def test_unknown_maps_and_files_are_refused():
    with pytest.raises(ValueError, match="not one of additive, beta"):
        calibrators.fit("histogram", sample(2))
    with pytest.raises(ValueError, match="not a map in JSON"):
        calibrators.from_json("{}")
    with pytest.raises(ValueError, match="not a map in JSON"):
        calibrators.from_json("not JSON")
    text = calibrators.fit("temperature", sample(2)).to_json()
    with pytest.raises(ValueError, match="schema"):
        calibrators.from_json(text.replace("veracity/map/1", "veracity/map/9"))
    with pytest.raises(ValueError, match="parameters"):
        calibrators.from_json(text.replace('"temperature":', '"heat":'))


def test_grouped_is_by_exact_equality_and_minus_zero_is_zero():
    scores = np.array([[0.0, 1.0], [-0.0, 1.0], [1e-300, 1.0], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    f = Forecasts(scores, np.array([0, 1, 1, 0, 1, 1]), (0, 1))
    rows = calibrators.fit("grouped", f)(scores)
    assert rows[:, 1] == pytest.approx([0.5, 0.5, 1, 2 / 3, 2 / 3, 2 / 3], abs=1e-15)
    with pytest.raises(ValueError, match=r"row 0 \[0.4, 0.6\] equals none"):
        calibrators.fit("grouped", f)([[0.4, 0.6]])


@given(
    arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(2, 4)), elements=st.sampled_from([0.0, -0.0, 0.5, 1]))
)
def test_equal_rows_are_found_as_by_comparing_all(p):
    from veracity.calibrators._grouping import equal_rows

    label, first = equal_rows(p)
    assert ((label[:, None] == label) == (p[:, None] == p[None]).all(axis=2)).all()
    assert (np.sort(label[first]) == np.arange(len(first))).all()


@given(
    arrays(np.float64, st.integers(1, 60), elements=st.integers(0, 9).map(lambda i: i / 10)),
    st.integers(1, 12),
    st.integers(0, 3),
)
def test_edges_never_cut_ties_and_fill_bins_evenly(values, bins, seed):
    bins = min(bins, len(values))
    edges = equal_population_edges(values, None, bins)
    assert len(edges) <= bins - 1
    sizes = np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
    assert (sizes > 0).all()
    counts = np.random.default_rng(seed).integers(1, 4, len(values))
    expanded = equal_population_edges(np.repeat(values, counts), None, bins)
    np.testing.assert_array_equal(equal_population_edges(values, counts, bins), expanded)
    distinct = np.unique(values)
    if len(distinct) == len(values):
        assert sizes.max() - sizes.min() <= 1


def test_bins_of_two_classes_have_equal_populations_whatever_the_weights():
    f = sample(2, 1000, weights=np.random.default_rng(0).random(1000))
    fitted = calibrators.fit("bins", f, bins=20)
    cell = fitted.cells(f.probabilities)
    assert (np.bincount(cell) == 50).all()
    for number in range(20):
        inside = cell == number
        expected = f.mass[inside] @ (f.outcomes[inside] == 1) / f.mass[inside].sum()
        assert fitted.means[number, 1] == pytest.approx(expected, abs=1e-12)
    auto = calibrators.fit("bins", sample(2, 300))
    assert len(auto.means) == 30  # one for every ten rows, 5 to 50
    assert len(calibrators.fit("bins", sample(2, 20)).means) == 5
    assert len(calibrators.fit("bins", sample(2, 3000)).means) == 50


@pytest.mark.parametrize("n", [50, 400, 3000])
def test_bins_beyond_two_classes_split_picks_and_merge_small_cells(n):
    f = sample(4, n)
    fitted = calibrators.fit("bins", f)
    cell = fitted.cells(f.probabilities)
    sizes = np.bincount(cell, minlength=len(fitted.means))
    assert sizes.min() >= min(40, n)  # ten rows a class and cell
    pick, top = f.probabilities.argmax(axis=1), f.probabilities.max(axis=1)
    if n == 3000:
        for number in range(len(sizes)):
            inside = cell == number
            assert len(np.unique(pick[inside])) == 1
            others = (pick == pick[inside][0]) & ~inside
            # bins of the pick's probability do not overlap
            assert not ((top[others] > top[inside].min()) & (top[others] < top[inside].max())).any()
    for number in range(len(sizes)):
        frequencies = np.bincount(f.outcomes[cell == number], minlength=4) / sizes[number]
        assert fitted.means[number] == pytest.approx(frequencies, abs=1e-12)


def test_classes_picked_too_seldom_share_a_cell():
    rng = np.random.default_rng(0)
    pick = np.concatenate([np.zeros(300, int), np.full(25, 1), np.full(20, 2)])
    scores = np.full((345, 3), 0.2)
    scores[np.arange(345), pick] = 0.6
    f = Forecasts(scores, rng.integers(0, 3, 345), (0, 1, 2))
    cell = calibrators.fit("bins", f).cells(scores)
    assert len(set(cell[300:])) == 1
    assert not set(cell[300:]) & set(cell[:300])
    alone = Forecasts(scores[:310], f.outcomes[:310], (0, 1, 2))
    assert len(set(calibrators.fit("bins", alone).cells(scores[:310]))) == 1  # ten rows are no cell: they join another


def test_many_classes_share_cells_in_their_order():
    rng = np.random.default_rng(1)
    scores = rng.dirichlet(np.full(20, 0.1), 1000)
    f = Forecasts(scores, rng.integers(0, 20, 1000), tuple(range(20)))
    cell = calibrators.fit("bins", f).cells(scores)
    assert np.bincount(cell).min() >= 200
    assert len(np.unique(cell)) >= 3
    pick = scores.argmax(axis=1)
    for group in range(20):
        assert len(set(cell[pick == group])) == 1


def test_grouped_can_round():
    p = np.array([0.101, 0.099, 0.31, 0.29])
    f = Forecasts(p, np.array([0, 1, 1, 1]), (0, 1))
    fitted = calibrators.fit("grouped", f, decimals=1)
    assert len(fitted.seen) == 2
    assert fitted(p)[:, 1].tolist() == [0.5, 0.5, 1, 1]
    assert calibrators.from_json(fitted.to_json())([0.1])[0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("rule", ["log", "brier", -0.5, 2])
def test_isotonic_beats_every_other_monotone_map_under_every_score(rule):
    from veracity.formulas.rules import rule as rule_of

    rng = np.random.default_rng(3)
    p = rng.random(300).round(2)
    y = (rng.random(300) < 0.2 + 0.5 * p).astype(int)
    f = Forecasts(p, y, (0, 1))
    score = rule_of(rule).score
    best = score(calibrators.fit("isotonic", f)(p), y).mean()
    for other in (p**0.5, p**2, 0.2 + 0.5 * p, np.full(300, y.mean()), 0.25 + 0.4 * p):
        q = other.clip(1e-9, 1 - 1e-9)
        assert best <= score(np.column_stack([1 - q, q]), y).mean() + 1e-12


def test_isotonic_ignores_rows_without_weight():
    f = Forecasts(np.array([0.1, 0.5, 0.9]), np.array([0, 1, 0]), (0, 1), weights=np.array([1.0, 1.0, 0.0]))
    assert calibrators.fit("isotonic", f)([0.1, 0.5, 0.9])[:, 1].tolist() == [0, 1, 1]


def test_ideal_comes_from_given_probabilities():
    f = sample(3, 60)
    given_q = np.tile([0.2, 0.3, 0.5], (60, 1))
    assert (given_q == ideal(Forecasts(f.probabilities, f.outcomes, f.classes, ideal=given_q)).Q).all()
    nothing = ideal(f)
    assert nothing.Q is None
    assert nothing.finding.message == "refinement = grouping + irreducible; not separable from these inputs"
    named = np.array(["x", "y", "x"] * 20, dtype=object)
    found = ideal(Forecasts(f.probabilities, f.outcomes, f.classes, features=named))
    expected = np.bincount(f.outcomes[named == "x"], minlength=3) / 40
    assert found.Q[0] == pytest.approx(expected, abs=1e-14)
    assert "2 distinct feature rows of 60" in found.finding.message
    cases = Forecasts(f.probabilities, f.outcomes, f.classes, case=np.arange(60) // 6)
    assert ideal(cases).Q[0] == pytest.approx(np.bincount(f.outcomes[:6], minlength=3) / 6, abs=1e-14)
    single = Forecasts(f.probabilities, f.outcomes, f.classes, case=np.arange(60))
    assert ideal(single).Q is None


@pytest.mark.parametrize("sharpen", [1.0, 1.7])
def test_the_bound_of_the_grouping_loss(sharpen):
    """A model that sees one of two features: the bound finds most of what it misses, and nothing where nothing is."""
    rng = np.random.default_rng(4)
    x, noise = rng.standard_normal((12_000, 3)), rng.standard_normal(300)
    expit = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    q = expit(1.2 * x[:, 0] + x[:, 1])
    c = expit(1.2 * x[:, :1] + noise).mean(axis=1)
    s = expit(sharpen * np.log(c / (1 - c)))
    y = (rng.random(12_000) < q).astype(int)
    found = ideal(Forecasts(s, y, (0, 1), features=x))
    assert found.Q is None
    assert found.finding.code == "grouping_bound"
    true = {"brier": 2 * ((c - q) ** 2).mean(), "log": (q * np.log(q / c) + (1 - q) * np.log((1 - q) / (1 - c))).mean()}
    for rule, value in true.items():
        assert 0.6 * value < found.grouping[rule] < value
    q = expit(1.2 * x[:, 0])
    s = expit(sharpen * 1.2 * x[:, 0])
    y = (rng.random(12_000) < q).astype(int)
    for bound in ideal(Forecasts(s, y, (0, 1), features=x)).grouping.values():
        assert bound < 0.003  # chance in 15 level sets


def test_the_bound_works_beyond_two_classes():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((6000, 2))
    z = np.column_stack([x[:, 0], x[:, 1], np.zeros(6000)]) * 2
    q = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (rng.random(6000)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    blind = np.tile(q.mean(axis=0), (6000, 1))
    found = ideal(Forecasts(blind, y, (0, 1, 2), features=x)).grouping
    true = (q * np.log(q / q.mean(axis=0))).sum(axis=1).mean()
    assert 0.6 * true < found["log"] < true
