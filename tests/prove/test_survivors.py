"""What mutants of the sample changed and no test noticed: one small test each."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import digamma, gammaln

import veracity as vc
from veracity import maps
from veracity.data import Forecasts
from veracity.estimate.cases import Many, prepared
from veracity.estimate.compare import Dependence, findings_of_time
from veracity.estimate.components import slope_values
from veracity.estimate.folds import blocks
from veracity.estimate.ideal import _excess, grow
from veracity.estimate.influences import SPARSE, BinMoves
from veracity.estimate.ladder import losses
from veracity.estimate.measured import curves_of
from veracity.estimate.slope import removable_share
from veracity.estimate.verdict import run_tests, spread_zeros
from veracity.formulas.distributions import _digamma_step, _log_gamma_excess
from veracity.formulas.rules import rule as rule_of
from veracity.maps._grouping import row_mass
from veracity.maps._support import levels
from veracity.read import ReadOptions, build, read, recognise
from veracity.read.layouts import lm_eval
from veracity.read.pairing import keys_of_ids
from veracity.read.suggest import Proposal, Refusal, completed
from veracity.state.keyed import KeyedSums
from veracity.state.plan import Plan
from veracity.state.rows import RunningRows
from veracity.state.tally import Tally


def test_ids_are_the_same_as_whole_and_as_decimal_numbers_up_to_the_largest() -> None:
    whole = np.array([0, 5, -7, 2**53])
    np.testing.assert_array_equal(keys_of_ids(whole), keys_of_ids(whole.astype(float)))
    beyond = np.array([2.0**63, -(2.0**63), 2.0**64, 0.5])  # no whole numbers of 64 bits: kept apart by their bits
    assert len(np.unique(keys_of_ids(beyond))) == 4


def test_levels_are_longest_paths_whichever_end_has_the_larger_numbers() -> None:
    np.testing.assert_array_equal(levels(np.array([2, 1, 2]), np.array([1, 0, 0])), [0, 1, 2])
    np.testing.assert_array_equal(levels(np.array([0, 1]), np.array([1, 2])), [2, 1, 0])


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_excess_of_leaves_without_structure_is_zero_on_average(rule: str) -> None:
    """Frequencies of leaves are calibrated to the whole: what chance adds to leaves, less what it adds to all rows."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(400):
        observed = np.eye(2)[(rng.random(60) < 0.4).astype(int)]
        expected = np.broadcast_to(observed.mean(axis=0), observed.shape)
        found.append(_excess(rule, np.arange(60) % 4, observed, expected, np.ones(60)))
    assert abs(np.mean(found)) < 4 * np.std(found) / 20


def test_a_share_of_a_small_loss_is_given() -> None:
    p = np.repeat([0.01, 0.02, 0.97], 200)
    y = (np.arange(600) >= 400).astype(int)
    a = vc.assess(y, p)
    assert a.scores.log_loss < 0.1
    gains = [remedy.log for remedy in a.remedies if remedy.log.gain is not None]
    assert gains
    assert all(gain.share == pytest.approx(gain.gain / float(a.scores.log_loss)) for gain in gains)


def test_a_two_valued_pick_is_not_the_outcome(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    p = rng.random(50).round(3)
    frame = {"p": p, "predicted": (p > 0.5).astype(int), "rained": (rng.random(50) < p).astype(int)}
    pl.DataFrame(frame).write_csv(tmp_path / "x.csv")
    assert recognise(tmp_path / "x.csv").outcome == "rained"


@pytest.mark.parametrize(("value", "wanted"), [("2", "c"), (2, "c"), ("3", None), (3, None), ("B", None), ("b", "b")])
def test_the_right_option_is_counted_from_zero_and_no_further_than_there_are(value: Any, wanted: str | None) -> None:
    assert lm_eval._right(value, ["a", "b", "c"], {}) == wanted


@pytest.mark.parametrize("p", [[[0.0, 0.5, 0.5]], [[0.0, 0.0, 1.0]], [[0.2, 0.3, 0.5]]])
def test_rows_whose_zeros_are_spread_still_sum_to_one(p: Any) -> None:
    spread = spread_zeros(np.array(p), 10)
    np.testing.assert_allclose(spread.sum(axis=1), 1.0, rtol=1e-15)
    assert spread.min() > 0.0


@pytest.mark.parametrize("k", [2, 3])
def test_values_of_the_slope_are_those_of_repeated_rows(k: int) -> None:
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.ones(k), 60)
    y, counts = rng.integers(0, k, 60), rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), counts)
    found, wanted = slope_values(Forecasts.of(y, p, counts=counts)), slope_values(Forecasts.of(y[rows], p[rows]))
    assert not isinstance(found, str)
    assert not isinstance(wanted, str)
    np.testing.assert_allclose(found[rows], wanted, rtol=1e-12)


def test_batches_that_are_joined_keep_the_numbers_of_their_rows() -> None:
    first, then = (pl.DataFrame({"a": values}) for values in ([1, 2], [3]))
    start, numbers, frame = build._joined((0, np.array([4, 6]), first), (2, np.array([9]), then))
    assert (start, numbers.tolist(), frame["a"].to_list()) == (0, [4, 6, 9], [1, 2, 3])


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b"y,p\n1,0.5\n" * 99)[:-20], b"\x1f\x8b\x08\0" * 20, b"\x28\xb5\x2f\xfd"],
    ids=["cut gzip", "heads of gzip", "head of zstd"],  # bytes hold the time at which they were made
)
def test_a_damaged_compressed_file_is_refused_by_name(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.csv.gz").write_bytes(data)
    with pytest.raises(ValueError, match=r"^x\.csv\.gz: "):
        read(tmp_path / "x.csv.gz", ReadOptions())


def test_an_archive_of_an_unknown_compression_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, y=np.array([0, 1]), p=np.array([0.2, 0.7]))
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = data.find(magic)
        while start >= 0:
            data[start + at] = 77
            start = data.find(magic, start + 1)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"^x\.npz: "):
        read(path, ReadOptions())


def three(n: int = 400, seed: int = 5) -> tuple[Any, Any, Any]:
    """Overconfident forecasts of three classes, one of them too likely, with outcomes and the truth."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(3), n)
    y = (rng.random(n)[:, None] > q.cumsum(axis=1)).sum(axis=1)
    p = q**1.3 * [1.0, 1.0, 1.3]
    return y, p / p.sum(axis=1, keepdims=True), q


def test_pairs_that_cells_serve_leave_no_analysis_row() -> None:
    running = RunningRows()
    running.add(Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9]), complete=False)
    assert len(running.rows().rows) == 0


def test_times_without_influences_have_no_finding_of_persistence() -> None:
    keyed = KeyedSums.of("time", np.arange(5), np.ones(5), np.ones(5), np.ones((5, 1)))
    for u in (None, np.empty((5, 0))):
        assert findings_of_time(keyed, Dependence("time"), u) == ()


def test_a_grouped_map_with_one_row_that_is_no_number_is_refused() -> None:
    document = json.loads(maps.fit("grouped", Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9])).to_json())
    document["parameters"]["seen"][1][0] = "nan"
    with pytest.raises(ValueError, match="rows that were not seen"):
        maps.from_json(json.dumps(document))


def test_fitted_maps_are_told_apart_by_identity() -> None:
    f = Forecasts.of([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.3])
    for name in ("identity", "temperature", "platt", "beta", "isotonic", "bins", "grouped"):
        one, other = maps.fit(name, f), maps.fit(name, f)
        assert len({one, other}) == 2, name


def test_columns_of_one_name_are_numbered_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("y,p,p,p\n" + "1,0.5,0.6,0.7\n0,0.1,0.2,0.3\n" * 20)
    with pytest.raises(ValueError, match=r"columns: y, p, p \(2\), p \(3\)"):
        read(tmp_path / "x.csv", ReadOptions(proba="q"))


@pytest.mark.parametrize(
    ("listed", "wanted"),
    [
        ({"A": 0.6, "B": 0.3, "x": 0.05}, (0.6, 0.3, 0.05)),  # C holds what is left
        ({"A": 0.6, "B": 0.1, "x": 0.1}, (0.6, 0.1, 0.1)),  # no more than the least likely that is listed
        ({"A": 0.7, "B": 0.35}, (0.7, 0.35, 0.0)),  # rounded numbers that leave nothing
        ({"A": 0.7, "B": 0.2, "C": 0.05}, (0.7, 0.2, 0.05)),
    ],
)
def test_options_that_are_not_listed_share_what_is_left(listed: dict[str, float], wanted: tuple[float, ...]) -> None:
    shares, some_absent = lm_eval._shares([{k: math.log(v) for k, v in listed.items()}], ["A", "B", "C"]) or ({}, None)
    np.testing.assert_allclose(list(shares.values()), np.array(wanted) / sum(wanted), rtol=1e-12)
    assert some_absent == ("C" not in listed)


def test_cases_of_a_test_at_other_forecasts_are_those_made_from_them() -> None:
    y, p, q = three()
    ones = np.ones(len(y))
    _, cases = prepared(p, y, ones, ones, None)
    assert isinstance(cases, Many)
    np.testing.assert_array_equal(cases.for_test(q).x, Many.of(q, cases, cases.ranges, cases.first).x)


def test_confidence_beside_a_level_is_what_regression_on_the_level_leaves() -> None:
    y, p, _ = three()
    ones = np.ones(len(y))
    p, cases = prepared(p, y, ones, ones, None)
    found = run_tests(cases, p, 0, project=True)
    covariance = cases.covariance(p, cases.mass2)[:4, :4]
    direction = np.append(-np.linalg.lstsq(covariance[:3, :3], covariance[:3, 3], rcond=None)[0], 1.0)
    scalar, drawn = found.residuals[:4] @ direction, found.draws[:, :4] @ direction
    wanted = (1 + (np.abs(drawn) >= abs(scalar)).sum()) / (1 + len(drawn))
    assert found.confidence == pytest.approx(wanted, abs=2.1 / (1 + len(drawn)))
    assert found.direction == ("over-confident" if scalar < 0 else "under-confident")


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_the_epistemic_loss_with_known_truth_has_the_error_of_its_rows(rule: str) -> None:
    y, p, q = three()
    f = Forecasts(p, y, (0, 1, 2), ideal=q)
    made = losses(f, rule, None, map="bins")
    values = np.asarray(rule_of(rule).divergence(p, q))
    assert float(made.EL) == pytest.approx(values.mean(), rel=1e-12)
    error = values.std(ddof=1) / math.sqrt(len(y))
    assert made.EL.low is not None
    assert made.EL.high is not None
    assert (made.EL.high - made.EL.low) / 2 / 1.959964 == pytest.approx(error, rel=1e-5)


def test_masses_in_units_of_rows_do_not_depend_on_the_scale_of_weights() -> None:
    for scale in (1e-9, 1e9):
        f = Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9], sample_weight=np.array([1.0, 2.0, 3.0]) * scale)
        np.testing.assert_allclose(row_mass(f), np.array([1.0, 2.0, 3.0]) * (36 / 14 / 6), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("a", [0.6, 5.0, 17.5, 19.99, 20.01, 30.0, 400.0])
def test_steps_of_gamma_functions_are_those_of_scipy(a: float, d: int) -> None:
    excess = gammaln(a + d / 2) - gammaln(a) - d / 2 * math.log(a)
    assert _log_gamma_excess(a, d) == pytest.approx(excess, abs=1e-14 * max(1.0, abs(float(gammaln(a)))))
    assert _digamma_step(a, d) == pytest.approx(digamma(a + d / 2) - digamma(a), abs=1e-14)


def test_columns_that_differ_between_files_are_named(tmp_path: Path) -> None:
    for name, columns in (("a.csv", "y,p,old"), ("b.csv", "y,p,new")):
        (tmp_path / name).write_text(f"{columns}\n" + "1,0.5,3\n0,0.4,4\n" * 10)
    with pytest.raises(ValueError, match=r"have different columns \(old, new\)"):
        read([tmp_path / "a.csv", tmp_path / "b.csv"], ReadOptions())


def test_a_measurement_is_cut_at_its_median(tmp_path: Path) -> None:
    lines = [f"{0.01 * i:.2f},{i * i / 7:.3f}" for i in range(1, 100)]
    (tmp_path / "x.csv").write_text("p,outcome\n" + "\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"--cut 357\.143|cut=357\.143"):
        recognise(tmp_path / "x.csv")


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_a_tree_has_as_many_levels_as_asked(depth: int) -> None:
    x = np.arange(4000) / 4000.0
    tree = grow(x[:, None], np.floor(x * 8)[:, None], depth)

    def levels_of(node: Any) -> int:
        return 0 if node is None else 1 + max(levels_of(node[2]), levels_of(node[3]))

    assert levels_of(tree) == depth
    assert tree is None or (tree[0] == 0 and tree[1] == pytest.approx(0.5, abs=1e-3))


def test_classes_that_were_not_offered_move_nothing() -> None:
    rng = np.random.default_rng(6)
    p, y = rng.dirichlet(np.ones(3), 40), rng.integers(0, 2, 40)
    p[:20, 2] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    offered = np.ones((40, 3), bool)
    offered[:20, 2] = False
    tally = Tally.of(Forecasts(p, y, (0, 1, 2), offered=offered))
    moves, alone = (np.empty((len(SPARSE) + 1, 20)) for _ in range(2))
    bins = BinMoves.of(curves_of(tally)[0], 1e-6)
    bins.fill(moves, Forecasts(p[:20], y[:20], (0, 1, 2), offered=offered[:20]), Plan())
    bins.fill(alone, Forecasts(p[:20, :2], y[:20], (0, 1)), Plan())
    np.testing.assert_allclose(moves, alone, rtol=1e-12)


def test_picks_below_chance_are_told_with_one_digit() -> None:
    y = np.arange(300) % 3
    p = np.where(np.eye(3)[y] == 1, 0.1, 0.45)
    p[:25] = np.where(np.eye(3)[y[:25]] == 1, 0.8, 0.1)
    (told,) = [f for f in vc.assess(y, p).findings if f.code == "picks_below_chance"]
    assert "8.3" in told.message
    assert "33.3" in told.message
    assert not {"8.33", "33.33"} & set(re.findall(r"[\d.]+", told.message))


def test_the_removable_share_is_near_the_truth_and_within_its_ends() -> None:
    rng = np.random.default_rng(8)
    z = rng.normal(0.0, 1.0, 20_000)
    q, p = 1.0 / (1.0 + np.exp(-z)), 1.0 / (1.0 + np.exp(-2.0 * z))
    y, ones = (rng.random(len(z)) < q).astype(int), np.ones(len(z))
    p, cases = prepared(p, y, ones, ones, None)
    loss = -np.log(cases.realised(p)).mean()
    q = 1.0 / (1.0 + np.sqrt((1.0 - p) / p))
    truth = 1.0 + np.log(cases.realised(q)).mean() / loss
    middle, low, high = removable_share(cases.for_fit(p), p, True, None, None)
    assert middle == pytest.approx(truth, abs=0.002)
    assert 0.0 < middle - low == pytest.approx(high - middle, rel=0.5)
    assert high < truth + 0.05


def test_proposals_are_followed_to_a_depth_and_no_further() -> None:
    tried = []

    def attempt(options: ReadOptions) -> None:
        tried.append(options)
        raise Refusal("never", Proposal("always", {"label": "y"}))

    assert completed(ReadOptions(), attempt) is None
    assert len(tried) == 7  # four by proposals, and three without missing rows


@pytest.mark.parametrize("rows", [4, 400])
def test_a_title_above_the_names_is_refused_however_long_the_table_is(rows: int, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("My forecasts\ny,p\n" + "1,0.5\n0,0.25\n" * rows)
    with pytest.raises(ValueError, match="1 line above the column names"):
        read(tmp_path / "x.csv", ReadOptions())


@pytest.mark.parametrize(("rows", "wanted"), [(8, 8), (199, 8), (200, 12), (5000, 12)])
def test_a_series_in_time_has_eight_blocks_and_a_long_one_twelve(rows: int, wanted: int) -> None:
    found = blocks(None, np.arange(rows), np.ones(rows))
    assert found is not None
    sizes = np.bincount(found)
    assert len(sizes) == wanted
    assert sizes.max() - sizes.min() <= 1
