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


def within(character: str) -> list[str]:
    return [f"a{character}{i}" for i in range(N)]


LONG = ['"' + "line\n" * 20 + f'{i}, and more"' for i in range(N)]

VALID: dict[str, str] = {
    "semicolon in every text": table("note,y,p", within(";"), Y, P),
    "semicolon in every text and in a name": table("no;te,y,p", within(";"), Y, P),
    "tab in every text": table("note,y,p", within("\t"), Y, P),
    "tab in quotes": table('"no\tte",y,p', [f'"a\t{i}"' for i in range(N)], Y, P),
    "comma in texts of a file with semicolons": table("note;y;p", within(","), Y, P, sep=";"),
    "line separator": table("note,y,p", within("\u2028"), Y, P),
    "paragraph separator": table("note,y,p", within("\u2029"), Y, P),
    "next line": table("note,y,p", within("\x85"), Y, P),
    "form feed": table("note,y,p", within("\x0c"), Y, P),
    "file separator": table("note,y,p", within("\x1c"), Y, P),
    "vertical tab": table("note,y,p", within("\x0b"), Y, P),
    "trailing Ctrl-Z": table("y,p", Y, P) + "\x1a",
    "trailing Ctrl-Z and a new line": table("y,p", Y, P, end="\r\n") + "\x1a\r\n",
    "doubled quotes in a name": table('"the ""note""",y,p', range(N), Y, P),
    "comment line": "# written by a script\n" + table("id,y,p", range(N), Y, P),
    "comment with commas": "# a, b, c\n# d\n" + table("id,y,p", range(N), Y, P),
    "names after a number sign": table("#id,y,p", range(N), Y, P),
    "values over many lines": table("note,y,p", LONG, Y, P),
    "one value over very many lines": table("note,y,p", ['"' + "x\n" * 5000 + '"', *["b"] * (N - 1)], Y, P),
    "blanks in place of an outcome's name": table(" y , p ", Y, P),
    "a copy of a column": table("y,p,p", Y, P, P),
    "two other columns of one name": table("y,p,site,site", Y, P, range(N), within("s")),
    "columns without names": table(",y,p,", range(N), Y, P, within("s")),
}


@pytest.mark.parametrize("kind", VALID)
def test_valid_text_is_read(kind: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(VALID[kind], newline="")
    (found,) = read(tmp_path / "x.csv").values()
    np.testing.assert_array_equal(found.positive, P)
    np.testing.assert_array_equal(found.outcomes, Y)


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
    (found,) = read(tmp_path / "x.csv", ReadOptions(positive="Some", order=("None",), label="damage")).values()
    np.testing.assert_array_equal(found.outcomes, Y)


def test_numbers_stay_missing_beside_a_class_of_that_name(tmp_path: Path) -> None:
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


# text, options, message
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "code for missing among probabilities": (
        table("y,p", Y, [p if i % 9 else -999 for i, p in enumerate(P)]),
        {},
        "`p` = -999 in 7 of 60 rows: no probability, and the only such value: a code for missing?\n"
        "  without these rows:  --where 'p!=-999'",
    ),
    "a small code": (
        table("y,p", Y, [p if i % 9 else -0.01 for i, p in enumerate(P)]),
        {},
        "`p` = -0.01 in 7 of 60 rows: no probability, and the only such value: a code for missing?\n"
        "  without these rows:  --where 'p!=-0.01'",
    ),
    "column that is empty": (
        table("y,p,outcome", Y, P, [""] * N),
        {"label": "outcome"},
        "column `outcome` is empty.\n  fill it, or choose another column",
    ),
    "annulled is not no": (
        table("resolution,p", [("yes" if y else "no") if i % 10 else "annulled" for i, y in enumerate(Y)], P),
        {"versus_rest": "yes"},
        "outcome `resolution` also holds annulled (6 of 60 rows): neither the event nor its absence.\n"
        "  without these rows:  --where 'resolution!=annulled'",
    ),
    "annulled beside yes and no": (
        table("resolution,p", [("yes" if y else "no") if i % 10 else "annulled" for i, y in enumerate(Y)], P),
        {},
        "one probability column `p`, but `resolution` has three values (annulled, no, yes). An outcome for one "
        "probability has two values.\n"
        "  without these rows:  --label resolution --where 'resolution!=annulled'      if one value is the event:  "
        "--label resolution --where 'resolution!=annulled' --versus-rest yes",
    ),
    "no confidence": (
        table("correct,confidence", Y, [f"{100 * p:.0f}%" if i != 4 else "rather sure" for i, p in enumerate(P)]),
        {},
        "1 of 60 values of `confidence` state no confidence (first: row 5, 'rather sure').\n"
        "  leave these rows out:  --missing drop",
    ),
    "missing values of two models": (
        table("y,a,b", Y, ["", *P[1:]], ["", "", *P[2:]]),
        {"positive_proba": "a,b"},
        "`a` 1, `b` 2 of 60 values are missing (first: row 1).\n"
        "  leave these rows out, each model its own:  --missing drop",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_with_a_remedy_that_works(kind: str, tmp_path: Path) -> None:
    text, options, message = REFUSED[kind]
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError) as error:
        read(tmp_path / "x.csv", ReadOptions(**options))
    assert str(error.value) == f"x.csv: {message}"


def test_two_files_of_the_same_cases_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(table("id,y,p", range(N), Y, P))
    (tmp_path / "b.csv").write_text(table("id,y,p", range(N), Y, P[::-1]))
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    with pytest.raises(ValueError) as error:
        read(files)
    assert str(error.value) == (
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
