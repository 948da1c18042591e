"""What mutants of the sample changed and no test noticed: one small test each."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity.data import Forecasts
from veracity.estimate.components import slope_values
from veracity.estimate.ideal import _excess
from veracity.estimate.verdict import spread_zeros
from veracity.maps._support import levels
from veracity.read import ReadOptions, build, read, recognise
from veracity.read.layouts import lm_eval
from veracity.read.pairing import keys_of_ids


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
    np.testing.assert_allclose(found[rows], wanted, rtol=1e-12)  # type: ignore[index]


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
