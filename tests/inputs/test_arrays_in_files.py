"""Arrays in files: .npy and .npz, outcomes in a second file, lists in columns, half precision stored as more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity.cli import run
from veracity.read import ReadOptions, read, recognise

N = 300
RNG = np.random.default_rng(5)
Q = RNG.dirichlet([1.0, 1.0, 1.0, 1.0], N)
K = np.array([RNG.choice(4, p=q) for q in Q])


def softmax16(seed: int) -> Any:
    """Softmax computed in half precision: its rows sum to one only to about a thousandth."""
    z = np.random.default_rng(seed).normal(0, 2, (N, 4)).astype(np.float16)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True, dtype=np.float16)).astype(np.float16)


@pytest.fixture
def _arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("p.npy", Q)
    np.save("y.npy", K)
    Path("y.txt").write_text("\n".join(map(str, K)) + "\n")
    Path("y.csv").write_text("label\n" + "\n".join(map(str, K)) + "\n")
    pl.DataFrame({"species": K}).write_parquet("y.parquet")
    Path("id_y.csv").write_text("id,y\n" + "\n".join(f"{i},{k}" for i, k in enumerate(K)))


@pytest.mark.usefixtures("_arrays")
@pytest.mark.parametrize("labels", ["y.npy", "y.txt", "y.csv", "y.parquet", "id_y.csv"])
@pytest.mark.parametrize("kind", ["npy", "parquet", "csv", "jsonl"])
def test_outcomes_in_a_second_file(labels: str, kind: str) -> None:
    frame = pl.DataFrame({f"p{j}": Q[:, j] for j in range(4)})
    {"parquet": frame.write_parquet, "csv": frame.write_csv, "jsonl": frame.write_ndjson}.get(kind, id)(f"p.{kind}")
    (found,) = read(f"p.{kind}", ReadOptions(label_file=labels)).values()
    np.testing.assert_array_equal(found.outcomes, K)
    np.testing.assert_array_equal(found.matrix, Q)


@pytest.mark.usefixtures("_arrays")
def test_models_in_arrays_are_compared_on_one_file_of_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("other.npy", Q[:, ::-1].copy())
    assert run(["compare", "p.npy", "other.npy", "--label-file", "y.npy", "--quiet"]) == 0
    assert run(["assess", "p.npy", "other.npy", "--label-file", "y.npy"]) == 2
    assert "--label-file holds the outcomes of one file; there are 2" in capsys.readouterr().err


@pytest.mark.usefixtures("_arrays")
@pytest.mark.parametrize("where", ["p0!=0", f"p0={Q[7, 0]!r}".replace("np.float64(", "").replace(")", "")])
def test_conditions_keep_outcomes_with_their_rows(where: str) -> None:
    (found,) = read("p.npy", ReadOptions(label_file="y.npy", where=where)).values()
    rows = [found.row(i) - 1 for i in range(len(found))]
    np.testing.assert_array_equal(found.outcomes, K[rows])


REFUSED = {
    "short": ("p.npy", "short.npy", "short.npy: 299 outcomes for 300 rows.\n  one outcome for each row of the data"),
    "absent": (
        "p.npy",
        "none.npy",
        "p.npy: --label-file none.npy: no such file.\n  name the file that holds the outcomes",
    ),
    "two columns": (
        "p.npy",
        "p.npy",
        "p.npy: 4 columns; outcomes are one column.\n  keep only the outcomes in this file",
    ),
    "cube": ("cube.npy", "y.npy", "cube.npy: p has shape (2, 2, 2)\n  an array of forecasts has one row for each case"),
}


@pytest.mark.usefixtures("_arrays")
@pytest.mark.parametrize("kind", REFUSED)
def test_unclear_arrays_in_files_are_refused_with_their_message(kind: str) -> None:
    np.save("short.npy", K[1:])
    np.save("cube.npy", np.zeros((2, 2, 2)))
    data, labels, message = REFUSED[kind]
    with pytest.raises(ValueError) as error:
        read(data, ReadOptions(label_file=labels))
    assert str(error.value) == message


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("shape", ["list", "array"])
def test_lists_in_a_column_are_one_column_per_class(kind: str, shape: str, tmp_path: Path) -> None:
    probs = pl.Series("probs", Q.tolist()) if shape == "list" else pl.Series("probs", Q)
    frame, path = (
        pl.DataFrame([probs, pl.Series("label", K)]),
        tmp_path / f"x.{'parquet' if kind == 'parquet' else 'arrow'}",
    )
    {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "stream": frame.write_ipc_stream}[kind](path)
    (found,) = read(path).values()
    np.testing.assert_array_equal(found.matrix, Q)
    np.testing.assert_array_equal(found.outcomes, K)


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet", "csv"])
@pytest.mark.parametrize("stored", [np.float16, np.float32, np.float64])
def test_half_precision_is_read_however_it_is_stored(kind: str, stored: Any, tmp_path: Path) -> None:
    """A softmax computed in half precision and stored as more keeps the rounding of its sums."""
    p = softmax16(1).astype(stored)
    assert np.abs(p.astype(float).sum(axis=1) - 1).max() > 1e-4
    frame = pl.DataFrame({f"p{j}": p[:, j] for j in range(4)} | {"y": K})
    path = tmp_path / f"x.{kind}"
    if kind == "npy":
        np.save(path, p)
        np.save(tmp_path / "y.npy", K)
    elif kind == "npz":
        np.savez(path, p=p, y=K)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        rows = (",".join(str(np.float16(v)) for v in row) + f",{k}" for row, k in zip(p, K, strict=True))
        path.write_text("p0,p1,p2,p3,y\n" + "\n".join(rows))
    options = ReadOptions(label_file=str(tmp_path / "y.npy")) if kind == "npy" else ReadOptions()
    (found,) = read(path, options).values()
    assert found.half
    np.testing.assert_allclose(
        found.matrix, p.astype(float), atol=0 if kind != "csv" else 5e-4
    )  # its shortest decimals


def test_rounding_by_hand_is_not_half_precision(tmp_path: Path) -> None:
    pl.DataFrame({f"p{j}": np.round(Q[:, j], 3) for j in range(4)} | {"y": K}).write_csv(tmp_path / "x.csv")
    assert not recognise(tmp_path / "x.csv", ReadOptions(normalise=True)).half


def test_a_header_that_promises_too_much_is_refused(tmp_path: Path) -> None:
    """A crafted archive would take all memory before the first value is read."""
    import io
    import zipfile

    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 4)})
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as held:
        held.writestr("p.npy", header.getvalue())
    (tmp_path / "x.npy").write_bytes(header.getvalue())
    for name in ("x.npz", "x.npy"):
        with pytest.raises(ValueError, match=r"^x.np[yz]: no plain arrays in it\n"):
            read(tmp_path / name)
