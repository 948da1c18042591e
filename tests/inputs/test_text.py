"""Text tables as people have them: encodings, delimiters, decimal commas, per cent signs, empty rows, compression."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity.inputs import Forecasts
from veracity.options import canonical
from veracity.read import ReadOptions, read, recognise
from veracity.read import open as open_source
from veracity.read.patterns import matching


def in_batches(source: Any, rows: int) -> list[Any]:
    """All forecasts of a source, at most so many rows at a time."""
    return [f for part in source.parts() for batch in source.batches(part, rows=rows) for f in batch.forecasts]


N = 40
P = [round(0.1 + 0.02 * i, 2) for i in range(N)]
Y = ["Yes" if i % 3 == 0 else "No" for i in range(N)]
WANT = np.array([1 if y == "Yes" else 0 for y in Y])


def text(delimiter: str = ",", decimal: str = ".", tail: str = "") -> str:
    rows = [
        f"{i + 1}{delimiter}{y}{delimiter}{str(p).replace('.', decimal)}"
        for i, (p, y) in enumerate(zip(P, Y, strict=True))
    ]
    return delimiter.join(["Größe", "Outcome", "Predicted risk"]) + "\n" + "\n".join(rows) + "\n" + tail


def same(path: Path) -> Forecasts:
    (f,) = read(path).values()
    assert f.probabilities is not None
    np.testing.assert_array_equal(f.probabilities, P)
    np.testing.assert_array_equal(f.outcomes, WANT)
    assert f.classes == ("No", "Yes")
    return f


FORMS = {
    "comma": (text(",").encode(), 'delimiter ","'),
    "tab": (text("\t").encode(), "delimiter tab"),
    "semicolon and decimal comma": (text(";", ",").encode(), 'delimiter ";", decimal comma'),
    "bar": (text("|").encode(), 'delimiter "|"'),
    "byte order mark": (text(";", ",").encode("utf-8-sig"), 'delimiter ";", decimal comma'),
    "UTF-16": (text(";", ",").encode("utf-16"), 'delimiter ";", UTF-16, decimal comma'),
    "Windows-1252": (text(";", ",").encode("cp1252"), 'delimiter ";", Windows-1252, decimal comma'),
    "sep=": (("sep=;\n" + text(";", ",")).encode(), 'delimiter ";", decimal comma'),
    "empty rows": (text(";", ",", ";;\n\n;;\n").encode(), 'delimiter ";", decimal comma'),
    "empty columns": (
        "\n".join(line + ";;" for line in text(";", ",").splitlines()).encode(),
        'delimiter ";", decimal comma',
    ),
    "carriage returns": (text(",").replace("\n", "\r\n").encode(), 'delimiter ","'),
    "quotes": (
        "\n".join('"' + line.replace(",", '","') + '"' for line in text(",").splitlines()).encode(),
        'delimiter ","',
    ),
    "gzip": (gzip.compress(text(",").encode()), 'delimiter ","'),
    "gzip of Windows-1252": (
        gzip.compress(text(";", ",").encode("cp1252")),
        'delimiter ";", Windows-1252, decimal comma',
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_numbers(form: str, tmp_path: Path) -> None:
    content, facts = FORMS[form]
    path = tmp_path / ("risk.csv.gz" if form.startswith("gzip") else "risk.csv")
    path.write_bytes(content)
    same(path)
    assert recognise(path).describe().splitlines()[0] == f"read {path.name}: {N} rows, {facts}"


def test_runs_of_blanks_are_one_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("Observed   risk\n" + "".join(f" {y}   {p}\n" for y, p in zip(Y, P, strict=True)))
    same(path)


def test_zstandard_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.zst"
    pl.DataFrame({"Outcome": Y, "risk": P}).write_csv(path, compression="zstd")
    same(path)


def test_printed_block_of_a_clinic(tmp_path: Path) -> None:
    header = "Patient ID;Age;Weight;Outcome;Predicted risk;Site\n"
    rows = "".join(
        f"{i};{40 + i};{60 + i},5;{y};{str(p).replace('.', ',')};A\n" for i, (p, y) in enumerate(zip(P, Y, strict=True))
    )
    path = tmp_path / "risk.csv"
    path.write_text(header + rows + ";;;;;\n" * 3)
    assert recognise(path).describe() == (
        'read risk.csv: 40 rows, delimiter ";", decimal comma\n'
        "  outcome  Outcome        event = Yes (14 of 40)\n"
        "  forecast Predicted risk\n"
        "  not used Patient ID, Age, Weight, Site        Weight is not used as case weights (--weight Weight would)"
    )
    (f,) = read(path).values()
    assert f.weights is None


@pytest.mark.parametrize("sign", ["%", " %"])
def test_a_written_per_cent_sign_is_a_unit(sign: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = [
        f"{i};{'ja' if y == 'Yes' else 'nein'};{round(100 * p)}{sign}"
        for i, (p, y) in enumerate(zip(P, Y, strict=True))
    ]
    path.write_text("id;Ergebnis;Risiko\n" + "\n".join(rows))
    (f,) = read(path).values()
    np.testing.assert_allclose(f.positive, P, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(f.outcomes, WANT)
    assert [x.code for x in f.findings] == ["percent_signs"]
    with pytest.raises(ValueError, match="divide by 100 again"):  # not silently, a hundred times too small
        read(path, ReadOptions(scale="percent"))


@pytest.mark.parametrize("word", ["", "NA", "N/A", "#N/A", "NaN", "null", "None", ".", "-", "#DIV/0!", "#VALUE!"])
def test_usual_words_for_missing_values_are_missing(word: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"y,p\n0,0.5\n1,{word}\n0,0.3\n1,0.9\n")
    (f,) = read(path, ReadOptions(missing="drop")).values()
    np.testing.assert_array_equal(f.positive, [0.5, 0.3, 0.9])
    assert [f.row(i) for i in range(3)] == [1, 3, 4]
    assert f.findings[0].message == "1 of 4 rows have missing values and are left out"


def test_rows_keep_their_numbers(tmp_path: Path) -> None:
    """Empty rows and rows left out by a condition do not shift the numbers of the others."""
    path = tmp_path / "x.csv"
    path.write_text("y,p,site\n0,0.5,a\n,,\n1,0.2,b\n1,0,a\n0,0.7,a\n")
    (f,) = read(path, ReadOptions(where="site=a")).values()
    assert [f.row(i) for i in range(len(f))] == [1, 4, 5]
    assert next(x for x in f.findings if x.code == "zero_probability").rows == (4,)


def test_large_files_are_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from veracity.read import table
    from veracity.read import text as module

    rng = np.random.default_rng(0)
    p = rng.random(5000).round(6)
    y = (rng.random(5000) < p).astype(int)
    path = tmp_path / "x.csv"
    pl.DataFrame({"y": y, "p": p}).write_csv(path)
    (whole,) = read(path).values()
    monkeypatch.setattr(module, "IN_MEMORY", 10)
    monkeypatch.setattr(module, "SAMPLE", 500)
    monkeypatch.setattr(table, "SLICE", 100)
    parts = in_batches(open_source(path), 512)
    assert len(parts) > 5
    np.testing.assert_array_equal(np.concatenate([f.positive for f in parts]), whole.positive)
    np.testing.assert_array_equal(np.concatenate([np.asarray(f.outcomes) for f in parts]), whole.outcomes)
    assert [f.row(0) for f in parts][1] == len(parts[0]) + 1


def test_a_word_far_down_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from veracity.read import text as module

    path = tmp_path / "x.csv"
    path.write_text("y,p\n" + "0,0.5\n1,0.2\n1,0.7\n" * 100 + "1,high\n")
    monkeypatch.setattr(module, "IN_MEMORY", 10)
    monkeypatch.setattr(module, "SAMPLE", 30)
    with pytest.raises(ValueError, match=r"^x\.csv: row 301, `p` = 'high': not a number\.\n  correct the value"):
        read(path)


def test_standard_input_is_read_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys
    from types import SimpleNamespace

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"y,p\n0,0.5\n1,0.2\n0,0.3\n")))
    assert len(read("-")["stdin"]) == 3


@pytest.mark.parametrize(
    ("value", "label"), [(1, "1"), (1.0, "1"), ("1", "1"), ("1.0", "1"), (True, "True"), (" a ", "a"), (0.5, "0.5")]
)
def test_labels_are_the_same_however_written(value: object, label: str) -> None:
    assert canonical(value) == label


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("p[0-9]", ["p0", "p1"]),
        ("p?", ["p0", "p1"]),
        ("A,p0", ["A", "p0"]),
        ("{model}_cat*", ["x_cat0", "y_cat0"]),
        ("*_cat0", ["x_cat0", "y_cat0"]),
        ("q*", []),
    ],
)
def test_patterns_match_columns(pattern: str, found: list[str]) -> None:
    assert [c for _, _, c in matching(pattern, ["p0", "p1", "p10", "A", "x_cat0", "y_cat0"])] == found


def test_a_number_that_is_none_deep_in_a_long_text_is_named_with_its_row(tmp_path: Path, monkeypatch: Any) -> None:
    """A long text is read as numbers, and as text from the first value on that is none."""
    monkeypatch.setattr("veracity.read.text.IN_MEMORY", 1000)
    drop = ReadOptions(missing="drop")

    def written(changed: dict[int, str]) -> Path:
        lines = [changed.get(i, f"{i % 2},0.{1 + i % 8}") for i in range(40_000)]
        path = tmp_path / "long.csv"
        path.write_text("y,p\n" + "\n".join(lines) + "\n")
        return path

    (plain,) = read(written({})).values()
    assert len(plain) == 40_000
    assert plain.positive[39_999] == 0.8
    blanks = {35_000: "1, 0.3", 35_001: "1,NA"}  # neither is a fault
    (kept,) = read(written(blanks), drop).values()
    assert len(kept) == 39_999
    assert kept.positive[35_000] == 0.3
    with pytest.raises(ValueError, match=r"row 38001, `p` = 'O\.3': not a number"):
        read(written({**blanks, 38_000: "1,O.3"}), drop)


@pytest.mark.parametrize("word", ["NA", "NaN", "", "#VALUE!"])
def test_words_for_missing_deep_in_a_long_text_are_those_of_a_short_one(
    word: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """The first rows of a long text hold none of them, so they are not looked for at first."""
    lines = [f"{i % 2},0.{1 + i % 8},{'ab'[i % 3 == 0]}" for i in range(20_000)]
    lines[15_000:15_003] = [f"1,{word},a", f"{word},0.3,{word}", f"{word},{word},{word}"]
    lines[15_010] = f"1,0.7,{word}"
    path = tmp_path / "rows.csv"
    path.write_text("y,p,site\n" + "\n".join(lines) + "\n")
    options = ReadOptions(missing="drop", group=("site",))
    (short,) = read(path, options).values()
    monkeypatch.setattr("veracity.read.text.IN_MEMORY", 1000)
    monkeypatch.setattr("veracity.read.text.SAMPLE", 500)
    monkeypatch.setattr("veracity.read.text.SLICE", 100)
    (long,) = read(path, options).values()
    assert long.numbers.tolist() == short.numbers.tolist()
    assert long.positive.tolist() == short.positive.tolist()
    assert long.groups["site"].tolist() == short.groups["site"].tolist()
