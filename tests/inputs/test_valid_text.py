"""Text that is valid and was refused, or read as something else: quotes, separators inside values, odd characters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity.read import ReadOptions, read, recognise

N = 60
RNG = np.random.default_rng(3)
P = np.round(RNG.random(N), 3)
Y = (RNG.random(N) < P).astype(int)
Q = RNG.dirichlet([1.0, 1.0, 1.0], N)
K = np.array([RNG.choice(3, p=q) for q in Q])


def table(header: str, *columns: Any, sep: str = ",", end: str = "\n") -> str:
    return end.join([header, *(sep.join(map(str, row)) for row in zip(*columns, strict=True))]) + end


@pytest.mark.parametrize("word", ["NA", "None", "-", "nan", "NULL", "N/A", "n/a"])
@pytest.mark.parametrize("stem", ["p_", "prob_", ".pred_", ""])
def test_classes_called_like_missing_values_are_classes(word: str, stem: str, tmp_path: Path) -> None:
    names = np.array(["EU", "US", word])
    frame = pl.DataFrame({stem + name: Q[:, j] for j, name in enumerate(names)} | {"region": names[K]})
    frame.write_csv(tmp_path / "x.csv")
    (found,) = read(tmp_path / "x.csv").values()
    assert set(found.classes) == set(names)
    np.testing.assert_array_equal(np.array(found.classes)[found.outcomes], names[K])


def test_an_option_makes_a_word_for_missing_a_class(tmp_path: Path) -> None:
    names = np.array(["Some", "None"])
    (tmp_path / "x.csv").write_text(table("damage,p", names[1 - Y], P))
    (found,) = read(tmp_path / "x.csv", ReadOptions(positive="Some", order=("None", "Some"), label="damage")).values()
    np.testing.assert_array_equal(found.outcomes, Y)


def test_numbers_stay_missing_despite_a_class_of_that_name(tmp_path: Path) -> None:
    names = np.array(["EU", "US", "NA"])
    columns = {f"p_{name}": Q[:, j].tolist() for j, name in enumerate(names)}
    columns["p_US"][4] = "NA"
    frame = pl.DataFrame({name: list(map(str, held)) for name, held in columns.items()} | {"region": names[K]})
    frame.write_csv(tmp_path / "x.csv")
    with pytest.raises(ValueError, match=r"^x.csv: `p_US` 1 of 60 values are missing \(first: row 5\)"):
        read(tmp_path / "x.csv")


@pytest.mark.parametrize("blank", ["", " ", "  "])
def test_a_blank_outcome_is_missing(blank: str, tmp_path: Path) -> None:
    words = [("yes" if y else "no") if i else blank for i, y in enumerate(Y)]
    rows = [json.dumps({"outcome": w, "p": p}) for w, p in zip(words, P, strict=True)]
    (tmp_path / "x.jsonl").write_text("\n".join(rows))
    with pytest.raises(ValueError) as error:
        read(tmp_path / "x.jsonl")
    assert str(error.value) == (
        "x.jsonl: 1 of 60 outcomes in `outcome` are missing (first: row 1).\n  leave these rows out:  --missing drop"
    )
    (found,) = read(tmp_path / "x.jsonl", ReadOptions(missing="drop")).values()
    np.testing.assert_array_equal(found.outcomes, Y[1:])


def test_a_file_without_names_is_read_with_no_header(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("".join(f"{p},{y}\n" for p, y in zip(P, Y, strict=True)))
    (found,) = read(tmp_path / "x.csv", ReadOptions(no_header=True)).values()
    np.testing.assert_array_equal(found.positive, P)
    assert recognise(tmp_path / "x.csv", ReadOptions(no_header=True)).outcome == "column 2"


def test_columns_of_json_lines_keep_the_order_of_the_first_record(tmp_path: Path) -> None:
    names = [f"p_c{(7 * i) % 60}" for i in range(60)]
    q = RNG.dirichlet(np.ones(60), 5)
    rows = [dict(zip(names, map(float, row), strict=True)) | {"label": names[i][2:]} for i, row in enumerate(q)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for _ in range(3):
        assert recognise(tmp_path / "x.jsonl").classes == tuple(name[2:] for name in names)


def test_two_files_of_the_same_cases_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(table("id,y,p", range(N), Y, P))
    (tmp_path / "b.csv").write_text(table("id,y,p", range(N), Y, P[::-1]))
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with pytest.raises(ValueError) as error:
        read(files)
    assert str(error.value).replace(f"{tmp_path}/", "") == (
        "a.csv and b.csv hold the same cases: parts of one set, or models?\n"
        "  as models:  veracity compare a.csv b.csv      as parts, each case counted again:  --model none"
    )
    (pooled,) = read(files, ReadOptions(model="none")).values()
    assert len(pooled) == 2 * N
    (tmp_path / "b.csv").write_text(table("id,y,p", range(N, 2 * N), Y, P[::-1]))
    (parts,) = read(files).values()
    assert len(parts) == 2 * N


def test_an_id_never_removes_the_model_column(tmp_path: Path) -> None:
    rows = [f"{i},{m},{Y[i]},{P[i]}\n" for m in ("a", "b") for i in range(N)]
    for extra in ("", rows[0]):
        (tmp_path / "x.csv").write_text("id,model,y,p\n" + "".join(rows) + extra)
        for given in ("id", "id,model"):
            layout = recognise(tmp_path / "x.csv", ReadOptions(id=given))
            assert layout.model_column == "model"
            assert layout.case == ("id",)


@pytest.mark.parametrize("word", ["", "NA", "None", "."])
def test_rows_without_a_model_are_refused_and_not_lost(word: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(table("model,case,y,p", ["a", "b", word] * (N // 3), np.repeat(range(N // 3), 3), Y, P))
    with pytest.raises(ValueError, match=r"^x.csv: `model` names no model in 20 rows\.\n  .+:  --where 'model!='$"):
        read(path, ReadOptions(model="model", id=("case",)))
    found = read(path, ReadOptions(model="model", id=("case",), where=("model!=",)))
    assert {name: len(f.outcomes) for name, f in found.items()} == {"a": 20, "b": 20}


@pytest.mark.parametrize(
    "written",
    ["\ufeff{0}\n{1}\n", "{0}\r{1}\r", "{0}\n{2}\n", "{0}\n{1}\n{3}\n"],
)
def test_json_lines_that_only_python_reads_are_read(written: str, tmp_path: Path) -> None:
    rows = ['{"y": 1, "p": 0.5, "z": 1}', '{"y": 0, "p": 0.5, "z": 0.5}']
    rows += ['{"y": 0, "p": 0.25, "z": Infinity}', '{"y": 0, "p": 0.25, "z": true}']
    (tmp_path / "x.jsonl").write_text(written.format(*rows), newline="")
    assert recognise(tmp_path / "x.jsonl", ReadOptions(label="y", positive_proba=("p",))).outcome == "y"


@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
def test_one_name_with_two_values_is_refused_in_every_kind_of_json(name: str, tmp_path: Path) -> None:
    rows = '{"y": 1, "p": 0.5, "y": 0}', '{"y": 0, "p": 0.5}'
    (tmp_path / name).write_text("\n".join(rows) if name == "x.jsonl" else f"[{','.join(rows)}]")
    with pytest.raises(ValueError, match=rf"{name}.* cannot be read \(two values are called y\)"):
        read(tmp_path / name)


def test_a_number_of_many_digits_is_a_class_or_refused_with_the_place(tmp_path: Path) -> None:
    for digits in (23, 5000):
        (tmp_path / "x.jsonl").write_text(f'{{"y": {"9" * digits}, "p": 0.5}}\n{{"y": 0, "p": 0.5}}\n')
        with pytest.raises(ValueError, match=r"^x.jsonl: (outcome `y` holds 0 and 1e[+]23;|row 1 cannot be read)"):
            read(tmp_path / "x.jsonl")


def test_rows_without_any_value_are_left_out_and_said(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("y,p\n1,0.5\nNA,NA\n0,0.25\n")
    assert "left out: 1 without any value" in recognise(tmp_path / "x.csv").describe()


@pytest.mark.parametrize("options", [{"versus_rest": ("7",)}, {"cut": "nan"}])
def test_an_event_that_cannot_happen_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(table("y,p", Y, P))
    with pytest.raises(ValueError, match=r"outcome `y` holds 0 1, not 7|cut: 'nan' is no list of numbers"):
        read(tmp_path / "x.csv", ReadOptions(**options))
