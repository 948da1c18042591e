"""Tables of counts come in through the common reader: what it reads, `veracity table` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import polars as pl
import pytest

from veracity import PredictionTable, plots
from veracity.cli import run
from veracity.table import TableAssessment

TIDY = pl.DataFrame(
    {
        "forecast": ["low", "low", "high", "high"],
        "observed": ["no", "yes", "no", "yes"],
        "n": [83, 56, 2, 12],
    }
)


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.jsonl", "t.csv"])
def test_every_kind_of_file_gives_the_same_table(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    {
        "t.parquet": TIDY.write_parquet,
        "t.arrow": TIDY.write_ipc,
        "t.jsonl": TIDY.write_ndjson,
        "t.csv": TIDY.write_csv,
    }[name](path)
    table = PredictionTable.read(path)
    assert (table.rows, table.columns) == (("low", "high"), ("no", "yes"))
    assert table.counts.tolist() == [[83, 56], [2, 12]]


def test_numbers_of_a_parquet_file_are_probabilities(tmp_path: Path) -> None:
    pl.DataFrame({"p": [0.1, 0.8], "n": [50, 20], "events": [4, 17]}).write_parquet(tmp_path / "p.parquet")
    table = PredictionTable.read(tmp_path / "p.parquet")
    assert table.rows == ("0.1", "0.8")
    assert table.half_brier == pytest.approx(0.09, abs=1e-12)


def test_names_of_rows_that_r_writes_without_a_title_are_the_categories(written) -> None:
    table = PredictionTable.read(written("no yes\nlow 83 56\nhigh 2 12\n"))
    assert (table.rows, table.columns) == (("low", "high"), ("no", "yes"))


@pytest.mark.parametrize(
    "text",
    [
        ";+;-\n+;12;2\n-;56;83\n",
        "test;disease;n\n+;+;12\n-;+;56\n+;-;2\n-;-;83\n",
    ],
)
def test_a_minus_sign_is_a_category_and_not_a_missing_value(written, text: str) -> None:
    table = PredictionTable.read(written(text))
    assert (table.rows, table.columns) == (("-", "+"), ("-", "+"))
    assert table.counts.tolist() == [[83, 56], [2, 12]]


def test_categories_keep_the_letters_of_the_file(written) -> None:
    table = PredictionTable.read(written("forecast,observed,n\n01,0,83\n01,1,56\n02,0,2\n02,1,12\n"))
    assert table.rows == ("01", "02")
    assert table.columns == ("0", "1")


def test_a_file_of_bare_counts_and_the_same_counts_have_one_document(written, capsys) -> None:
    from veracity.cli import run

    path = written("83,56,9\n2,12,31\n")
    documents = []
    for given in ([str(path)], ["--counts", "83,56,9;2,12,31"]):
        assert run(["table", *given, "--json", "-"]) == 0
        documents.append(capsys.readouterr().out)
    assert documents[0] == documents[1]
    assert json.loads(documents[0])["n"] == 193


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("forecast,no,no\nlow,83,56\nhigh,2,12\n", "the name 'no' occurs twice; give each its own"),
        ("forecast,no,yes\nlow,83,56\nhigh,2\n", "the lines have different numbers of cells"),
        (
            "forecast,no,yes\nlow,,5\nhigh,,6\n",
            r"forecast, yes; `no` is empty: write 0 where nothing happened",
        ),
        ("forecast,no,yes\nlow,NA,56\nhigh,2,12\n", "row 1, column `no`: 'NA' is not a number"),
        ("forecast,observed,n\nlow,no,83\n\n,yes,2\n", "row 3: forecast or outcome is empty"),
        ("# by hand\nforecast,observed,n\nlow,no,83\n\nlow,yes,x\n", "row 3, column `n`: 'x' is not a number"),
    ],
)
def test_cells_that_are_no_counts_are_refused_with_their_place(written, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=rf"^t\.csv: .*{said}"):
        PredictionTable.read(written(text))


def test_a_column_that_is_not_there_is_refused_with_the_nearest(written) -> None:
    path = written("forecast,observed,n\nlow,no,83\nlow,yes,56\nhigh,no,2\nhigh,yes,12\n")
    with pytest.raises(ValueError, match=r"no column `observd`; did you mean `observed`\?"):
        PredictionTable.read(path, label="observd")


def test_pictures_of_tables_are_typed_on_the_assessment_of_a_table() -> None:
    for name in plots.names("table"):
        module = plots.module(name)
        for function in (module.rows, module.caption, module.chart):
            assert get_type_hints(function)["result"] is TableAssessment, f"{name}.{function.__name__}"


PAIRS = "forecast,outcome,fields\nspray,blight,34\nspray,no blight,21\nno spray,blight,9\nno spray,no blight,88\n"


def test_numbers_of_cases_of_distinct_pairs_are_recognised_whatever_they_are_called(written) -> None:
    table = PredictionTable.read(written(PAIRS))
    assert table.counts.tolist() == [[88, 9], [21, 34]]
    assert (table.rows, table.columns) == (("no spray", "spray"), ("no blight", "blight"))
    assert "`fields` counts the cases" in table.notes[0]


def test_two_columns_that_may_count_the_cases_are_a_question(written) -> None:
    two = written("forecast,outcome,a,b\nyes,yes,34,1\nyes,no,21,7\nno,yes,9,1\nno,no,88,2\n")
    with pytest.raises(ValueError, match="which column counts the cases\\?\n  choose:  --count a   or   --count b"):
        PredictionTable.read(two)
    assert PredictionTable.read(two, count="a").counts.sum() == 152


def test_numbers_beside_repeated_pairs_are_no_counts(written) -> None:
    cases = written("forecast,outcome,age\nyes,yes,34\nyes,no,21\nno,no,9\nno,no,88\nyes,yes,50\n")
    table = PredictionTable.read(cases)
    assert table.counts.sum() == 5
    assert "Each line is one case." in table.notes[0]


def test_assess_names_the_table_command_for_counted_pairs(written, capsys) -> None:
    assert run(["assess", str(written(PAIRS, "blight.csv"))]) == 2
    assert "blight.csv --count fields" in capsys.readouterr().err
