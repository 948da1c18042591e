"""The same data in every format, and rows that count as several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veracity as vc
from veracity.inputs import Forecasts
from veracity.read import ReadOptions, frame, read
from veracity.read import open as open_source


def in_batches(source: Any, rows: int) -> list[Any]:
    """All forecasts of a source, at most so many rows at a time."""
    return [f for part in source.parts() for batch in source.batches(part, rows=rows) for f in batch.forecasts]


N, K = 300, 4
RNG = np.random.default_rng(20)
WIDE = RNG.dirichlet(np.ones(K), N)
LABEL = RNG.integers(0, K, N)
ONE = RNG.random(N)
EVENT = (RNG.random(N) < ONE).astype(int)

FRAMES = {
    "binary": pl.DataFrame({"y": EVENT, "p": ONE}),
    "wide": pl.DataFrame({"label": LABEL} | {f"p{j}": WIDE[:, j] for j in range(K)}),
    "float32": pl.DataFrame({"label": LABEL} | {f"p{j}": WIDE[:, j].astype(np.float32) for j in range(K)}),
    "words": pl.DataFrame({"label": [f"c{y}" for y in LABEL]} | {f"prob_c{j}": WIDE[:, j] for j in range(K)}),
}
WANT = {
    "binary": Forecasts.of(EVENT, ONE),
    "wide": Forecasts.of(LABEL, WIDE),
    "float32": Forecasts.of(LABEL, WIDE.astype(np.float32)),
    "words": Forecasts.of([f"c{y}" for y in LABEL], WIDE),
}


def arrays(f: Forecasts) -> dict[str, Any]:
    return {"p": f.probabilities, "y": f.outcomes, "w": f.weights, "c": f.counts, "log": f.log_realised}


def identical(found: Forecasts, want: Forecasts) -> None:
    assert found.classes == want.classes
    for name, values in arrays(want).items():
        np.testing.assert_array_equal(arrays(found)[name], values, err_msg=name)
    assert [f.code for f in found.findings] == [f.code for f in want.findings]


def written(data: pl.DataFrame, folder: Path, kind: str) -> Path:
    path = folder / f"x.{kind}"
    write: dict[str, Callable[[], Any]] = {
        "csv": lambda: data.write_csv(path),
        "parquet": lambda: data.write_parquet(path),
        "arrow": lambda: data.write_ipc(path),
        "jsonl": lambda: data.write_ndjson(path),
        "csv.zst": lambda: data.write_csv(path, compression="zstd"),
    }
    write[kind]()
    return path


@pytest.mark.parametrize("data", ["binary", "wide", "words"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "jsonl", "csv.zst"])
def test_files_equal_arrays(data: str, kind: str, tmp_path: Path) -> None:
    (found,) = read(written(FRAMES[data], tmp_path, kind)).values()
    identical(found, WANT[data])


def test_float32_stays_float32(tmp_path: Path) -> None:
    for kind in ("parquet", "arrow"):
        (found,) = read(written(FRAMES["float32"], tmp_path, kind)).values()
        assert found.probabilities is not None
        assert found.probabilities.dtype == np.float32
        identical(found, WANT["float32"])


MAKERS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda f: f,
    "polars lazy": lambda f: f.lazy(),
    "pandas": lambda f: pd.DataFrame(f.to_dict(as_series=False)),
    "pandas categories": lambda f: pd.DataFrame(f.to_dict(as_series=False)).astype({f.columns[0]: "category"}),
    "pyarrow": lambda f: pa.table(f.to_dict(as_series=False)),
    "duckdb": lambda f: duckdb.from_arrow(pa.table(f.to_dict(as_series=False))),
}


@pytest.mark.parametrize("data", ["binary", "wide", "words"])
@pytest.mark.parametrize("kind", MAKERS)
def test_frames_equal_arrays(data: str, kind: str) -> None:
    (found,) = frame(MAKERS[kind](FRAMES[data])).values()
    identical(found, WANT[data])


@pytest.mark.parametrize("sign", ["%", " %"])
@pytest.mark.parametrize("kind", MAKERS)
def test_per_cent_signs_in_frames_are_units(kind: str, sign: str) -> None:
    written = [f"{round(100 * p)}{sign}" for p in ONE]
    age = [20 + i % 60 for i in range(len(written))]
    data = MAKERS[kind](pl.DataFrame({"age": age, "y": EVENT, "p": written}))
    (found,) = frame(data).values()
    np.testing.assert_allclose(found.positive, ONE.round(2), rtol=0, atol=1e-15)
    assert [f.code for f in found.findings] == ["percent_signs"]
    with pytest.raises(ValueError, match="`p` is written with % signs"):  # instead of the age as the forecast
        frame(data, ReadOptions(scale="percent"))


@pytest.mark.parametrize("last", ["13", "unsure"])
@pytest.mark.parametrize("name", ["p", "risk in words"])
def test_one_cell_without_its_per_cent_sign_gives_the_forecast_to_no_other_column(name: str, last: str) -> None:
    written = [*(f"{round(100 * p)} %" for p in ONE[:-1]), last]
    data = pl.DataFrame({"age": [20 + i % 60 for i in range(len(written))], "y": EVENT, name: written})
    with pytest.raises(ValueError, match=f"row {len(written) - 1}, `{name}` = '{last}': without the % sign"):
        frame(data, ReadOptions(scale="percent"))


def test_arrays_of_other_libraries() -> None:
    want = Forecasts.of(EVENT, ONE)
    identical(Forecasts.of(pd.Series(EVENT), pd.Series(ONE)), want)
    identical(Forecasts.of(pl.Series(EVENT), pl.Series(ONE)), want)
    identical(Forecasts.of(pa.array(EVENT), pa.array(ONE)), want)
    identical(Forecasts.of(EVENT.tolist(), ONE.tolist()), want)
    identical(Forecasts.of(EVENT.astype(float), ONE), want)
    np.testing.assert_array_equal(Forecasts.of(EVENT.astype(bool), ONE).outcomes, EVENT)


def test_npz_equals_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", ground_truth=LABEL, predictions=WIDE)
    (found,) = read(tmp_path / "x.npz").values()
    identical(found, WANT["wide"])


def test_no_copy_of_a_matrix() -> None:
    p = WIDE.astype(np.float32)
    y = LABEL.astype(np.int16)
    f = Forecasts.of(y, p)
    assert f.probabilities is p
    assert f.outcomes is y


def test_batches_are_the_file(tmp_path: Path) -> None:
    path = written(FRAMES["wide"], tmp_path, "parquet")
    parts = in_batches(open_source(path), 64)
    assert [len(f) for f in parts] == [64, 64, 64, 64, 44]
    assert [f.row(0) for f in parts] == [1, 65, 129, 193, 257]
    np.testing.assert_array_equal(np.concatenate([f.matrix for f in parts]), WIDE)


def test_parts_of_a_folder(tmp_path: Path) -> None:
    whole = FRAMES["wide"]
    for i, part in enumerate((whole[:100], whole[100:250], whole[250:])):
        part.write_parquet(tmp_path / f"part{i}.parquet")
    for paths in (tmp_path, str(tmp_path / "*.parquet"), sorted(tmp_path.iterdir())):
        (found,) = read(paths).values()
        identical(found, WANT["wide"])


def means(f: Forecasts) -> dict[str, float]:
    """Some weighted means of everything that scores use."""
    w = f.mass / f.mass.sum()
    q = f.matrix
    assert f.outcomes is not None
    return {
        "log": float(-w @ np.log(f.realised)),
        "brier": float(w @ ((q - np.eye(f.k)[f.outcomes]) ** 2).sum(axis=1)),
        "mean": float(w @ f.realised),
        "m23": float(w @ f.realised ** (-2 / 3)),
        **{f"prior {j}": float(x) for j, x in enumerate(f.prior)},
    }


@pytest.mark.parametrize("kind", ["counts", "sample_weight"])
def test_two_is_the_row_twice(kind: str) -> None:
    twice = np.where(np.arange(N) % 3 == 0, 2, 1)
    once = Forecasts.of(LABEL, WIDE, **{kind: twice})
    repeated = Forecasts.of(np.repeat(LABEL, twice), np.repeat(WIDE, twice, axis=0))
    assert means(once) == pytest.approx(means(repeated), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", ["counts", "sample_weight"])
def test_zero_is_the_row_left_out(kind: str) -> None:
    some = np.where(np.arange(N) % 4 == 0, 0, 1)
    found = Forecasts.of(LABEL, WIDE, **{kind: some})
    kept = some > 0
    np.testing.assert_array_equal(found.matrix, WIDE[kept])
    np.testing.assert_array_equal(found.outcomes, LABEL[kept])
    assert found.row(0) == 1
    assert found.findings[0].count == 75


def test_weights_counts_and_groups_are_read_by_column_name(tmp_path: Path) -> None:
    data = FRAMES["binary"].with_columns(
        w=pl.Series(np.arange(1, N + 1) / 10),
        n=pl.Series(np.arange(N) % 3 + 1),
        site=pl.Series(["a", "b", "c"] * 100),
        x=pl.Series(RNG.random(N)),
        q=pl.Series(ONE),
    )
    path = written(data, tmp_path, "parquet")
    options = ReadOptions(weight="w", count="n", group="site", feature="x", ideal="q", positive_proba="p", id="site")
    (f,) = read(path, options).values()
    np.testing.assert_array_equal(f.weights, data["w"].to_numpy())
    np.testing.assert_array_equal(f.counts, data["n"].to_numpy())
    np.testing.assert_array_equal(f.groups["site"], data["site"].to_numpy())
    np.testing.assert_array_equal(f.features, data["x"].to_numpy()[:, None])
    np.testing.assert_array_equal(f.ideal, ONE)
    np.testing.assert_array_equal(f.case, data["site"].to_numpy())
    assert "repeated_cases" in {x.code for x in f.findings}


def test_weights_from_a_file(tmp_path: Path) -> None:
    weights = np.arange(1, N + 1) / 7
    path = written(FRAMES["binary"], tmp_path, "csv")
    pl.DataFrame({"weight": weights}).write_csv(tmp_path / "w.csv")
    (f,) = read(path, ReadOptions(weight=str(tmp_path / "w.csv"))).values()
    np.testing.assert_array_equal(f.weights, weights)
    (some,) = read(path, ReadOptions(weight=str(tmp_path / "w.csv"), where="y=1")).values()
    np.testing.assert_array_equal(some.weights, weights[EVENT == 1])


def test_several_conditions_all_hold(tmp_path: Path) -> None:
    path = written(FRAMES["binary"].with_columns(site=pl.Series(["a", "b", "c"] * 100)), tmp_path, "csv")
    (f,) = read(path, ReadOptions(where=("site!=a", "site!=b"))).values()
    np.testing.assert_array_equal(f.positive, ONE[2::3])
    assert [f.row(i) for i in range(3)] == [3, 6, 9]


def test_the_caller_is_named_in_the_callers_words() -> None:
    with pytest.raises(
        ValueError, match=r'^row 0, `p` = \S+: above 1 .*\n  if these are percentages:  scale="percent"$'
    ):
        frame(FRAMES["binary"].with_columns(pl.col("p") * 100))
    with pytest.raises(ValueError, match=r"^no column `Y`; did you mean `y`\?   columns: y, p$"):
        frame(FRAMES["binary"], ReadOptions(label="Y"))
    with pytest.raises(ValueError, match=r"^a list is no frame\n  give outcomes and .* or a pandas, polars, .*"):
        frame([1, 2])


@pytest.mark.parametrize("call", [vc.assess, vc.compare, vc.monitor], ids=["assess", "compare", "monitor"])
@pytest.mark.parametrize(("path", "reader"), [("a.csv", "csv"), (Path("b/c.parquet"), "parquet"), ("d", "csv")])
def test_a_path_leads_to_the_frame_that_it_holds(call: Any, path: Any, reader: str) -> None:
    with pytest.raises(ValueError) as refused:
        call(path)
    assert str(refused.value) == (
        f"'{path}' is a path: what it holds is needed\n"
        f"  read it:  polars.read_{reader}('{path}')   (the command line reads files itself)"
    )
