"""Half precision: rows as they are rounded are accepted, by the precision in which they were given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import veracity as vc
from veracity import kernels
from veracity.inputs import Forecasts
from veracity.kernels.grid import grid
from veracity.kernels.result import tolerance
from veracity.read import ReadOptions, read

HALF = np.dtype(np.float16)
RNG = np.random.default_rng(4)
EXACT = RNG.dirichlet(np.ones(6), 400)
P = EXACT.astype(np.float16)
Y = np.array([RNG.choice(6, p=row) for row in EXACT])
TABLE = pa.table({"label": Y, **{f"p{j}": pa.array(P[:, j]) for j in range(6)}})


@pytest.mark.parametrize("k", [2, 6, 100, 1000])
def test_the_bound_is_twice_what_rounding_does(k: int) -> None:
    """Rows that sum to one, rounded entry by entry: uniform ones, spiked ones, and such with entries near 0."""
    rng = np.random.default_rng(k)
    for sharpness in (1.0, 0.05, 50.0):
        rows = rng.dirichlet(np.full(k, sharpness), 2000)
        rows = rows / rows.sum(axis=1, keepdims=True)
        off = np.abs(rows.astype(np.float16).astype(np.float64).sum(axis=1) - 1.0).max()
        assert off <= tolerance(HALF, k) / 2
    assert tolerance(HALF, k) == 2.0**-10 + k * 2.0**-24


def given(kind: str, folder: Path) -> Any:
    frame = pl.DataFrame(TABLE)
    if kind == "parquet":
        parquet.write_table(TABLE, folder / "x.parquet")
        return folder / "x.parquet"
    if kind == "feather":
        feather.write_feather(TABLE, folder / "x.feather", compression="uncompressed")
        return folder / "x.feather"
    if kind == "npz":
        np.savez(folder / "x.npz", y=Y, p=P)
        return folder / "x.npz"
    return {
        "polars": frame,
        "pyarrow": TABLE,
        "pandas": pd.DataFrame({"label": Y, **{f"p{j}": P[:, j] for j in range(6)}}),
    }[kind]


@pytest.mark.parametrize("kind", ["parquet", "feather", "npz", "polars", "pyarrow", "pandas"])
def test_files_and_frames_of_half_precision_equal_arrays(kind: str, tmp_path: Path) -> None:
    source = given(kind, tmp_path)
    if isinstance(source, Path):
        (f,) = read(source).values()
        found = vc.assess(f)
    else:
        found = vc.assess(source)
    exact = P.astype(np.float64)[np.arange(len(Y)), Y]
    assert float(found.scores.log_loss) == pytest.approx(-np.log(exact).mean(), rel=1e-12)


@pytest.mark.parametrize("rows", [P, P.astype(">f2"), [list(row) for row in P], pd.DataFrame(P), np.ma.masked_array(P)])
def test_half_precision_arrays_are_read_as_float32(rows: Any) -> None:
    f = Forecasts.of(Y, rows)
    assert f.half
    assert f.probabilities is not None
    assert f.probabilities.dtype == np.float32
    np.testing.assert_array_equal(f.matrix, P.astype(np.float64))
    assert vc.assess(Y, rows).n == len(Y)


def test_the_same_numbers_in_other_precisions_are_refused() -> None:
    """float32 and float64 rows that are a thousandth off were not rounded: something is wrong with them."""
    for kind in (np.float32, np.float64):
        with pytest.raises(ValueError, match="rows do not sum to one"):
            vc.assess(Y, P.astype(kind))


def test_rows_that_are_further_off_are_refused() -> None:
    wrong = P.copy()
    wrong[7] = (EXACT[7] * 1.003).astype(np.float16)
    with pytest.raises(ValueError, match=r"^1 of 400 rows do not sum to one \(first: row 7, sum 1.00"):
        vc.assess(Y, wrong)
    f = Forecasts.of(Y, wrong, normalise=True)
    (told,) = f.findings
    assert told.code == "rescaled_rows"
    assert told.rows == (7,)


def test_ideal_probabilities_may_have_half_precision() -> None:
    assert vc.assess(Y, P, ideal=P).n == len(Y)


def test_some_classes_against_the_rest(tmp_path: Path) -> None:
    """Five of six classes may sum to a little more than one."""
    rows = np.tile(np.array([0.2, 0.2, 0.2, 0.2, 0.2003, 0.0]).astype(np.float16), (60, 1))
    frame = pl.DataFrame({"label": np.arange(60) % 5, **{f"p{j}": rows[:, j] for j in range(6)}})
    frame.write_parquet(tmp_path / "x.parquet")
    (f,) = read(tmp_path / "x.parquet", ReadOptions(versus_rest=("0,1,2,3,4",))).values()
    assert float(f.positive.max()) == 1.0


@pytest.mark.parametrize("kernel", ["numpy", "native"] if kernels.native else ["numpy"])
def test_the_pass_takes_the_bound(kernel: str) -> None:
    rows, outcomes = P.astype(np.float32), Y
    strict = kernels.scan(rows, outcomes, grid(), kernel=kernel)
    assert strict.problems["row_sum"].rows > 300
    wide = kernels.scan(rows, outcomes, grid(), kernel=kernel, allowed=tolerance(HALF, 6))
    assert wide.problems["row_sum"].rows == 0
    assert wide.rows == len(rows)
    assert kernels.scan(P, outcomes, grid(), kernel=kernel).rows == len(rows)


def test_maps_of_half_precision() -> None:
    """Matching frequencies is solved in double precision."""
    target = np.full(6, 1 / 6)
    adjusted = vc.adjust(P, target)(P)
    np.testing.assert_allclose(np.asarray(adjusted).mean(axis=0), target, atol=1e-9)
