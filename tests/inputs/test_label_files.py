"""Outcomes and weights in files of their own: joined on ids, aligned by row only where ids are lacking, and said so."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import engines
from veracity.cli import run
from veracity.read import ReadOptions, read, recognise

N = 120
RNG = np.random.default_rng(33)
P = RNG.uniform(0.05, 0.95, N)
Y = (RNG.random(N) < P).astype(int)
ORDER = RNG.permutation(N)
WEIGHT = RNG.uniform(0.5, 2.0, N).round(3)
LOSS = float(-np.mean(np.log(np.where(Y == 1, P, 1 - P))))


def write(path: Path, frame: pl.DataFrame) -> None:
    {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}[path.suffix](path)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def forecasts(ids: Any = None, name: str = "f.csv", **more: Any) -> None:
    write(Path(name), pl.DataFrame({"id": np.arange(N) + 1 if ids is None else ids, **more, "probability": P}))


def outcomes(ids: Any = None, order: Any = ORDER, name: str = "labels.csv", **more: Any) -> None:
    ids = np.asarray(np.arange(N) + 1 if ids is None else ids)
    write(Path(name), pl.DataFrame({"id": ids[order], **{c: v[order] for c, v in more.items()}, "label": Y[order]}))


def refusal(data: str = "f.csv", labels: str = "labels.csv", **options: Any) -> str:
    with pytest.raises(ValueError) as error:
        read(data, ReadOptions(label_file=labels, **options))
    return str(error.value)


def log_loss(capsys: pytest.CaptureFixture[str], *words: str, command: str = "assess") -> tuple[float, str, str]:
    """The log loss of the JSON document, how the files were read, and what was printed."""
    assert run([command, *words, "--json", "a.json", "--force"]) == 0
    held, printed = json.loads(Path("a.json").read_text()), capsys.readouterr()
    return held["scores"]["log_loss"]["value"], held["provenance"]["reading"], printed.out + printed.err


@pytest.mark.parametrize("option", [[], ["--id", "id"]])
@pytest.mark.parametrize("kinds", ["csv csv", "parquet csv", "csv parquet", "jsonl parquet"])
def test_outcomes_in_another_order_are_joined_on_the_id(
    kinds: str, option: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    data, labels = (f"{name}.{kind}" for name, kind in zip(("f", "labels"), kinds.split(), strict=True))
    forecasts(name=data)
    outcomes(name=labels)
    loss, reading, printed = log_loss(capsys, data, "--label-file", labels, *option)
    assert math.isclose(loss, LOSS, rel_tol=1e-12)
    assert f"outcomes of {labels}, joined on id" in reading
    assert f"outcomes of {labels}, joined on id" in printed.replace("\n", " ")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (np.arange(N), [str(i) for i in range(N)]),
        ([f"{i:04d}" for i in range(N)], np.arange(N)),
        (np.arange(N), np.arange(N, dtype=float)),
        (np.arange(N) + 2**60, [str(i + 2**60) for i in range(N)]),
        ([f"caf\u00e9 {i}" for i in range(N)], [f"cafe\u0301 {i}" for i in range(N)]),
        ([f"{i:03d}" for i in range(N)], [f" {i:03d} " for i in range(N)]),
    ],
)
def test_ids_of_different_types_are_one_id(ours: Any, theirs: Any) -> None:
    forecasts(ours, "f.parquet")
    outcomes(theirs, name="labels.parquet")
    (found,) = read("f.parquet", ReadOptions(label_file="labels.parquet")).values()
    np.testing.assert_array_equal(found.outcomes, Y)


def test_texts_with_and_without_leading_zeros_are_two_ids() -> None:
    ids = ["7", "007"] * (N // 2)
    forecasts(ids, "f.parquet", row_id=np.arange(N) // 2)
    outcomes(ids, name="labels.parquet", row_id=np.arange(N) // 2)
    (found,) = read("f.parquet", ReadOptions(label_file="labels.parquet")).values()
    np.testing.assert_array_equal(found.outcomes, Y)


def test_ids_in_several_columns_are_joined_together() -> None:
    site, visit = np.arange(N) // 10, np.arange(N) % 10
    forecasts(site, visit_id=visit)
    outcomes(site, visit_id=visit)
    (found,) = read("f.csv", ReadOptions(label_file="labels.csv")).values()
    np.testing.assert_array_equal(found.outcomes, Y)
    described = recognise("f.csv", ReadOptions(label_file="labels.csv")).describe()
    assert "  paired   outcomes of labels.csv, joined on id, visit_id" in described


def test_columns_that_no_name_marks_as_ids_are_joined_when_they_are_named() -> None:
    place = np.array([f"place {i}" for i in range(N)])
    write(Path("f.csv"), pl.DataFrame({"place": place, "p": P}))
    write(Path("labels.csv"), pl.DataFrame({"place": place[ORDER], "label": Y[ORDER]}))
    first = ORDER[0]
    assert refusal() == (
        f"labels.csv: its rows are not those of f.csv: row 1, `place` = place {first}, there place 0.\n"
        "  join them:  --id place"
    )
    (found,) = read("f.csv", ReadOptions(label_file="labels.csv", id="place")).values()
    np.testing.assert_array_equal(found.outcomes, Y)


def test_an_id_without_an_outcome_is_refused_by_name_or_left_out() -> None:
    forecasts()
    outcomes(order=ORDER[(ORDER != 6) & (ORDER != 11)])
    assert refusal() == (
        "f.csv: 2 of 120 rows have no outcome in labels.csv (id 7, id 12).\n"
        "  add them to labels.csv, or leave these rows out:  --missing drop"
    )
    (found,) = read("f.csv", ReadOptions(label_file="labels.csv", missing="drop")).values()
    np.testing.assert_array_equal(found.outcomes, np.delete(Y, [6, 11]))
    assert [(f.code, f.count, f.rows) for f in found.findings] == [("missing_rows", 2, (7, 12))]


def test_a_foreign_id_is_refused_by_name_or_left_out_with_a_finding() -> None:
    outcomes()
    write(Path("f.csv"), pl.DataFrame({"id": np.arange(2, N) + 1, "probability": P[2:]}))
    gone = ", ".join(f"id {i + 1}" for i in ORDER if i < 2)
    assert refusal() == (
        f"labels.csv: 2 of 120 outcomes belong to no row of f.csv ({gone}).\n"
        "  correct the ids, or leave these outcomes out:  --missing drop"
    )
    (found,) = read("f.csv", ReadOptions(label_file="labels.csv", missing="drop")).values()
    np.testing.assert_array_equal(found.outcomes, Y[2:])
    assert [f.message for f in found.findings if f.code == "foreign_ids"] == [
        "2 of 120 outcomes in labels.csv belong to no row of the data and are left out"
    ]


def test_disjoint_ids_are_refused_with_examples_of_both() -> None:
    forecasts()
    outcomes(np.arange(N) + 901)
    for missing in ("error", "drop"):
        assert refusal(missing=missing) == (
            f"f.csv: none of its ids is in labels.csv (id 1; there id {901 + ORDER[0]}).\n"
            "  name the columns that identify a row in both files:  --id COL"
        )


def test_a_doubled_id_of_the_outcomes_is_refused_by_name() -> None:
    forecasts()
    ids = np.arange(N) + 1
    ids[7] = 7
    outcomes(ids)
    assert refusal() == (
        "labels.csv: id 7 is given more than once (2 rows share their ids).\n  give one outcome for each id"
    )


def test_a_doubled_id_is_refused_with_the_columns_that_tell_the_rows_apart() -> None:
    patient, visit = np.arange(N) // 2, np.array(["first", "second"] * (N // 2))
    write(Path("f.csv"), pl.DataFrame({"patient_id": patient, "visit": visit, "p": P}))
    write(Path("labels.csv"), pl.DataFrame({"patient_id": patient, "visit": visit, "y": Y})[ORDER])
    assert refusal().endswith("or name what identifies a row:  --id patient_id,visit")
    (found,) = read("f.csv", ReadOptions(label_file="labels.csv", id="patient_id,visit")).values()
    np.testing.assert_array_equal(found.outcomes, Y)


def test_a_doubled_id_of_the_forecasts_is_refused_unless_several_forecasts_of_a_case_are_meant() -> None:
    forecasts(np.arange(N) // 2)
    write(Path("labels.csv"), pl.DataFrame({"id": np.arange(N // 2), "label": Y[: N // 2]})[::-1])
    assert refusal() == (
        "f.csv: id 0 is given more than once, and labels.csv has one outcome for it.\n"
        "  give each row an id of its own; if several forecasts of one case are meant:  --id id"
    )
    (found,) = read("f.csv", ReadOptions(label_file="labels.csv", id="id")).values()
    np.testing.assert_array_equal(found.outcomes, np.repeat(Y[: N // 2], 2))
    assert "repeated_cases" in [f.code for f in found.findings]


def test_models_in_rows_share_the_outcomes_of_their_ids() -> None:
    both = pl.DataFrame({"id": [*range(N), *range(N)], "model": ["a"] * N + ["b"] * N, "p": [*P, *P[::-1]]})
    write(Path("f.csv"), both)
    outcomes(np.arange(N))
    found = read("f.csv", ReadOptions(label_file="labels.csv"))
    assert set(found) == {"a", "b"}
    for one in found.values():
        np.testing.assert_array_equal(one.outcomes, Y)


@pytest.mark.parametrize("which", ["f.csv", "labels.csv"])
def test_a_row_without_an_id_is_refused_with_its_place(which: str) -> None:
    holed = [None if i == 4 else i for i in range(N)]
    forecasts(holed if which == "f.csv" else range(N))
    write(Path("labels.csv"), pl.DataFrame({"id": holed if which != "f.csv" else range(N), "label": Y}))
    assert refusal() == (
        f"{which}: 1 row without an id in `id` (first: row 5).\n  fill them in, or take these rows out of the file"
    )


def test_ids_of_two_names_are_refused() -> None:
    forecasts()
    write(Path("labels.csv"), pl.DataFrame({"case_id": np.arange(N), "label": Y}))
    assert refusal() == (
        "labels.csv: its ids are in `case_id`, those of f.csv in `id`.\n  give the column of ids one name in both files"
    )


def test_rows_are_aligned_without_ids_and_the_reading_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    write(Path("f.csv"), pl.DataFrame({"probability": P}))
    write(Path("labels.csv"), pl.DataFrame({"label": Y}))
    loss, reading, printed = log_loss(capsys, "f.csv", "--label-file", "labels.csv")
    assert math.isclose(loss, LOSS, rel_tol=1e-12)
    assert "outcomes of labels.csv, aligned by row" in reading
    assert "outcomes of labels.csv, aligned by row" in printed.replace("\n", " ")


@pytest.mark.parametrize("only", ["f.csv", "labels.csv"])
def test_ids_in_one_file_alone_are_no_join_and_the_reading_names_that_file(only: str) -> None:
    ids = {"id": np.arange(N)}
    write(Path("f.csv"), pl.DataFrame({**(ids if only == "f.csv" else {}), "probability": P}))
    write(Path("labels.csv"), pl.DataFrame({**(ids if only != "f.csv" else {}), "label": Y}))
    options = ReadOptions(label_file="labels.csv")
    assert (
        f"  paired   outcomes of labels.csv, aligned by row (only {only} has ids)"
        in recognise("f.csv", options).describe()
    )
    (found,) = read("f.csv", options).values()
    np.testing.assert_array_equal(found.outcomes, Y)


def test_conditions_choose_rows_after_the_join() -> None:
    forecasts(site=np.where(np.arange(N) % 3 == 0, "a", "b"))
    outcomes()
    (found,) = read("f.csv", ReadOptions(label_file="labels.csv", where="site=a")).values()
    np.testing.assert_array_equal(found.outcomes, Y[::3])


def test_the_column_of_outcomes_may_be_named() -> None:
    forecasts()
    write(Path("labels.csv"), pl.DataFrame({"id": np.arange(N) + 1, "first": 1 - Y, "second": Y})[ORDER])
    assert "2 columns; outcomes are one column" in refusal()
    (found,) = read("f.csv", ReadOptions(label_file="labels.csv", label="second")).values()
    np.testing.assert_array_equal(found.outcomes, Y)


# -- parts, and the other commands ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_parts_are_joined_with_one_file_of_outcomes(kind: str) -> None:
    for i, rows in enumerate((slice(0, 50), slice(50, N))):
        write(Path(f"f{i}.{kind}"), pl.DataFrame({"id": np.arange(N)[rows], "p": P[rows]}))
    outcomes(np.arange(N))
    options = ReadOptions(label_file="labels.csv")
    (found,) = read([f"f0.{kind}", f"f1.{kind}"], options).values()
    np.testing.assert_array_equal(found.outcomes, Y)
    (one,) = engines.assess([f"f0.{kind}", f"f1.{kind}"], options).values()
    assert math.isclose(one.scores.log_loss, LOSS, rel_tol=1e-12)
    with pytest.raises(ValueError, match=r"^labels.csv: 70 of 120 outcomes belong to no row of f0.\w+ \(id "):
        read(f"f0.{kind}", options)


def test_an_id_in_two_parts_is_refused() -> None:
    for i, rows in enumerate((slice(0, 50), slice(49, N))):
        write(Path(f"f{i}.csv"), pl.DataFrame({"id": np.arange(N)[rows], "p": P[rows]}))
    outcomes(np.arange(N))
    with pytest.raises(ValueError, match=r"^f0.csv: id 49 is given more than once"):
        read(["f0.csv", "f1.csv"], ReadOptions(label_file="labels.csv"))


def test_models_in_two_files_are_compared_on_the_ids_of_the_outcomes(capsys: pytest.CaptureFixture[str]) -> None:
    forecasts(name="a.csv")
    write(Path("b.csv"), pl.DataFrame({"id": np.arange(N) + 1, "probability": P})[::-1])
    outcomes()
    assert run(["compare", "a.csv", "b.csv", "--label-file", "labels.csv", "--json", "c.json"]) == 0
    held = json.loads(Path("c.json").read_text())
    assert held["comparison"]["paired_by"] == "id id"
    assert [m["scores"]["log_loss"]["value"] for m in held["models"].values()] == pytest.approx([LOSS, LOSS], rel=1e-12)
    assert "120 of 120 cases are in all 2 models" in capsys.readouterr().err


def test_check_and_calibrate_join_the_outcomes_too() -> None:
    forecasts()
    outcomes()
    files = ["f.csv", "--label-file", "labels.csv"]
    for bound in (f"<={LOSS + 1e-9}", f">={LOSS - 1e-9}"):
        assert run(["check", *files, "--require", f"scores.log_loss{bound}"]) == 0
    assert run(["calibrate", "fit", *files, "--map", "temperature", "-o", "joined.json"]) == 0
    write(Path("whole.csv"), pl.DataFrame({"probability": P, "label": Y}))
    assert run(["calibrate", "fit", "whole.csv", "--map", "temperature", "-o", "whole.json"]) == 0
    joined, whole = (json.loads(Path(f"{name}.json").read_text()) for name in ("joined", "whole"))
    assert joined["parameters"] == whole["parameters"]


# -- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [np.arange(N), np.array([f"case {i}" for i in range(N)])])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_weights_in_another_order_are_joined_on_the_id(ids: Any, kind: str) -> None:
    write(Path("f.csv"), pl.DataFrame({"id": ids, "p": P, "y": Y}))
    write(Path(f"w.{kind}"), pl.DataFrame({"id": ids, "weight": WEIGHT})[ORDER])
    options = ReadOptions(weight=f"w.{kind}")
    (found,) = read("f.csv", options).values()
    np.testing.assert_array_equal(found.weights, WEIGHT)
    assert f"  paired   weights of w.{kind}, joined on id" in recognise("f.csv", options).describe()
    (some,) = read("f.csv", ReadOptions(weight=f"w.{kind}", where="y=1")).values()
    np.testing.assert_array_equal(some.weights, WEIGHT[Y == 1])


def test_weights_of_parts_are_joined_and_gaps_are_refused() -> None:
    for i, rows in enumerate((slice(0, 50), slice(50, N))):
        write(Path(f"f{i}.csv"), pl.DataFrame({"id": np.arange(N)[rows], "p": P[rows], "y": Y[rows]}))
    write(Path("w.csv"), pl.DataFrame({"id": np.arange(N), "weight": WEIGHT})[ORDER])
    (found,) = read(["f0.csv", "f1.csv"], ReadOptions(weight="w.csv")).values()
    np.testing.assert_array_equal(found.weights, WEIGHT)
    write(Path("few.csv"), pl.DataFrame({"id": np.arange(1, N), "weight": WEIGHT[1:]}))
    with pytest.raises(ValueError, match=r"^f0.csv: 1 of 50 rows have no weight in few.csv \(id 0\)."):
        read(["f0.csv", "f1.csv"], ReadOptions(weight="few.csv"))
    with pytest.raises(ValueError, match=r"^w.csv: 70 of 120 weights belong to no row of f0.csv"):
        read("f0.csv", ReadOptions(weight="w.csv"))


def test_weights_without_ids_are_aligned_by_row_and_the_reading_says_so() -> None:
    write(Path("f.csv"), pl.DataFrame({"p": P, "y": Y}))
    write(Path("w.csv"), pl.DataFrame({"weight": WEIGHT}))
    options = ReadOptions(weight="w.csv")
    (found,) = read("f.csv", options).values()
    np.testing.assert_array_equal(found.weights, WEIGHT)
    assert "  paired   weights of w.csv, aligned by row" in recognise("f.csv", options).describe()
