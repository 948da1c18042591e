"""Files as people keep them: read as they would read them, or refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity.read import ReadOptions, read, recognise

N = 60
RNG = np.random.default_rng(1)
P = np.round(RNG.random(N), 3)
Y = (RNG.random(N) < P).astype(int)
Q = RNG.dirichlet([1.0, 1.0, 1.0], N)
K = np.array([RNG.choice(3, p=q) for q in Q])
ANIMALS = np.array(["cat", "dog", "red fox"])
YES = np.where(Y == 1, "Yes", "No")


def lines(header: str, *columns: Any, sep: str = ",") -> str:
    rows = (sep.join(str(value) for value in row) for row in zip(*columns, strict=True))
    return header.replace(",", sep) + "\n" + "\n".join(rows) + "\n"


def classes(names: list[str], label: Any, q: Any = Q) -> str:
    return pl.DataFrame({name: q[:, j] for j, name in enumerate(names)} | {"label": label}).write_csv()


def altered(values: Any, index: int, value: Any) -> list[Any]:
    return [value if i == index else v for i, v in enumerate(values)]


NESTED = "".join(json.dumps({"id": i, "logprobs": {"words": [{"logprob": -0.1}]}}) + "\n" for i in range(3))
COLUMNS = json.dumps({"y": [0, 1], "p": [0.1, 0.2]})
RAIN = [(i * 7 % 60) / 10 for i in range(N)]
PERCENT = [f"{p * 100:.1f}%" for p in P]
NUMBERS = "".join(f"{p},{y}\n" for p, y in zip(P, Y, strict=True))
HUB = lines("location,output_type,output_type_id,value", range(N), ["pmf"] * N, ANIMALS[K], Q[:, 0])
QUANTILES = lines("location,output_type_id,value,observed", range(N), [0.1, 0.5, 0.9] * 20, P, [33] * N)
ABOVE = np.array(Q)
ABOVE[0] = [1.0000001, 0, 0]
STEMS = ["p_cat", "p_dog", "p_red fox"]

# text of the file, options, message (without the name of the file)
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "title": (
        "Study export 2024\n\n" + lines("id,Outcome,risk", range(N), YES, P),
        {},
        "1 line above the column names ('Study export 2024')\n"
        "  the first line of a table names its columns: delete what is above it",
    ),
    "no names": (
        NUMBERS,
        {},
        f"the first line holds numbers ({P[0]}, {Y[0]}), not the names of columns.\n"
        "  if it is a row like the others:  veracity assess x.csv --no-header",
    ),
    "binary": (
        "\x01\0\x02 junk\n",
        {},
        "not a text file\n  give a CSV, Parquet, Arrow, JSON lines or npz file with the ending of its kind",
    ),
    "yes in two spellings": (
        lines("Outcome,risk", altered(YES, 0, "YES"), P),
        {},
        "one probability column `risk`, but `Outcome` has three values (No, YES, Yes). "
        "An outcome for one probability has two values.\n"
        "  if one value is the event:  --label Outcome --versus-rest YES,Yes",
    ),
    "code for missing": (
        lines("fcst,obs", P, altered(Y, 3, -9999)),
        {},
        "one probability column `fcst`, but `obs` has three values (-9999, 0, 1). "
        "An outcome for one probability has two values.\n"
        "  without these rows:  --label obs --where 'obs!=-9999'      "
        "if one value is the event:  --label obs --versus-rest 1",
    ),
    "decimal comma in quotes": (
        lines("dead,risk", Y, [f'"{p}"'.replace(".", ",") for p in P]),
        {},
        f"`risk` has decimal commas ('{P[0]}') and the columns are separated by commas.\n".replace("0.", "0,")
        + "  save the file with another delimiter, such as ;",
    ),
    "one value without %": (
        lines("outcome,risk", Y, altered(PERCENT, 4, "12.5")),
        {},
        "row 5, `risk` = '12.5': without the % sign of the other values.\n  write it like the others",
    ),
    "labels from one": (
        classes(["p0", "p1", "p2"], K + 1),
        {},
        "outcome `label` holds 1, 2, 3, the classes are 0, 1, 2.\n  name each column after its class: p1 p2 p3",
    ),
    "one strange label": (
        classes(STEMS, altered(ANIMALS[K], 4, "wolf")),
        {},
        "row 5, `label` = wolf: none of the classes cat, dog, red fox (1 of 60 rows).\n"
        "  correct the outcome, or choose the columns of all classes:  --proba PATTERN"
        "      without these rows:  --where 'label!=wolf'",
    ),
    "logs without the word": (
        classes(STEMS, ANIMALS[K], np.log(Q)),
        {},
        f"row 1, `p_cat` = {np.log(Q[0, 0]):.6g}: below 0 "
        f"(all 180 values lie between {np.log(Q).min():.6g} and {np.log(Q).max():.6g}).\n"
        "  if these are log-probabilities:  --scale log",
    ),
    "above one by rounding": (
        classes(STEMS, ANIMALS[K], ABOVE),
        {},
        "row 1, `p_cat` = 1.0000001: above 1 (all 180 values lie between 0 and 1.0000001).\n"
        "  if this is rounding, clip it where the forecasts are made, or rescale the rows:  --normalise",
    ),
    "soft outcomes or forecasts": (
        lines("y,p", P[::-1], P),
        {},
        "not clear which column is the outcome and which the forecast.\n"
        "  columns:  probabilities `y`, `p`\n"
        "  outcomes between 0 and 1:  veracity assess x.csv --label y --positive-proba p",
    ),
    "logits of no name": (
        lines("label,score", Y, P * 9 - 3),
        {},
        "not clear which column is the outcome and which the forecast.\n"
        "  columns:  two values `label`; numbers `score`\n"
        "  if `score` holds logits:  veracity assess x.csv --label label --positive-proba score --scale logit",
    ),
    "table of counts": (
        "forecast,no,yes\nlow,83,2\nhigh,56,12\n",
        {},
        "not clear which column is the outcome and which the forecast.\n"
        "  columns:  two values `forecast`, `no`, `yes`\n"
        "  if these are numbers of cases by forecast and outcome:  veracity table x.csv",
    ),
    "hub without outcomes": (
        HUB,
        {},
        "one row per case and class in `output_type_id`, but no column of what happened.\n"
        "  add one called observed, or name it:  --label COL",
    ),
    "hub of quantiles": (
        QUANTILES,
        {},
        "`output_type_id` does not hold the classes of `observed` (fractions).\n"
        "  quantiles and means are no probabilities of classes: give the rows of output_type pmf",
    ),
    "measured outcome": (
        lines("pop,rain_mm", P, RAIN),
        {},
        "one probability column `pop`, but `rain_mm` has 60 values. An outcome for one probability has two values.\n"
        "  if it is a measurement, cut it:  --label rain_mm --cut 2.95",
    ),
    "counts with percentages": (
        lines("p,events,n", range(0, 110, 10), range(11), [10] * 11),
        {},
        "row 2, `p` = 10: above 1 (all 20 values lie between 0 and 100).\n  if these are percentages:  --scale percent",
    ),
    "of the event or of what happened": (
        lines("label,p_true", Y, P),
        {},
        "`p_true` beside the outcome `label`: the probability of the event, or of what happened?\n"
        "  of the event:  --positive-proba p_true      of what happened:  --layout realised",
    ),
    "members of an ensemble": (
        lines("observation," + ",".join(f"member.{i}" for i in range(1, 8)), *[np.array(RAIN) + i for i in range(8)]),
        {},
        "not clear which column is the outcome and which the forecast.\n"
        "  columns:  numbers `observation`, `member.1`…`member.7` (7 columns)\n"
        "  if 7 members forecast `observation`, and the event is above 4:  veracity assess x.csv --label observation "
        "--members 'member.*' --exceeds 4",
    ),
    "numbers in single quotes": (
        lines("y,p", Y, [f"'{p}'" for p in P]),
        {},
        f"row 1, `p` = \"'{P[0]}'\": not a number.\n  correct the value, or leave it empty",
    ),
    "classes before the stem": (
        pl.DataFrame({f"{c}_prob": Q[:, j] for j, c in enumerate(("home", "draw", "away"))})
        .with_columns(pl.Series("result", np.array(["home", "draw", "away"])[K]))
        .write_csv(),
        {},
        "not clear which column is the outcome and which the forecast.\n"
        "  columns:  probabilities `home_prob`, `draw_prob`, `away_prob`; text `result`\n"
        "  for example:  veracity assess x.csv --label result --proba '*_prob'",
    ),
    "two outcomes, one with a known event": (
        lines("sex,died,risk", ["M", "F"] * 30, Y, P),
        {},
        "two columns could be the outcome: `sex`, `died` (they differ in 60 of 60 rows).\n  choose:  --label died",
    ),
    "names of rows without a name": (
        lines("y,p", range(N), Y, P),
        {},
        "the rows have 3 fields, the line of names 2\n"
        "  name every column (numbers of rows too); a delimiter at the end of a line counts",
    ),
    "one outcome that is no known event": (
        lines("outcome,risk", ["dead"] * N, P),
        {},
        "outcome `outcome` holds nothing but dead.\n  if this is the event:  --label outcome --positive dead",
    ),
    "large numbers": (
        lines("y,p", Y + 0, P).replace("\n0,", "\n100000000000000000000,").replace("\n1,", "\n100000000000000000001,"),
        {},
        "outcome `y` holds 100000000000000000000 and 100000000000000000001; which one does `p` forecast?"
        "   --positive 100000000000000000000   or   --positive 100000000000000000001",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_unclear_files_are_refused_with_their_message(kind: str, tmp_path: Path) -> None:
    text, options, message = REFUSED[kind]
    (tmp_path / "x.csv").write_text(text, newline="")
    with pytest.raises(ValueError) as error:
        read(tmp_path / "x.csv", ReadOptions(**options))
    assert str(error.value) == f"x.csv: {message}"


JSON_LINES = {
    "nested log-probabilities": (
        NESTED,
        "one column `id`, no outcome and no probability.\n  nested values are not read (logprobs): options are "
        '"options": {"A": -1.2, …} with "answer", tokens "token_logprobs": [-0.5, …] or "logprobs": {"content": '
        '[{"logprob": -0.5}, …]}',
    ),
    "whole columns": (
        COLUMNS,
        "row 1 holds nothing but lists and objects (y, p)\n"
        "  write one object per line for each case, with numbers and words",
    ),
}


@pytest.mark.parametrize("kind", JSON_LINES)
def test_unclear_json_lines_are_refused_with_their_message(kind: str, tmp_path: Path) -> None:
    text, message = JSON_LINES[kind]
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(ValueError) as error:
        read(tmp_path / "x.jsonl")
    assert str(error.value) == f"x.jsonl: {message}"


@pytest.mark.parametrize("written", [str, lambda p: f"{100 * p:.1f}%", lambda p: f"{100 * p:.1f} %".replace(".", ",")])
def test_numbers_as_text_are_read_in_json_lines_as_in_csv(written: Any, tmp_path: Path) -> None:
    rows = [json.dumps({"y": int(y), "p": written(p)}) + "\n" for y, p in zip(Y, P, strict=True)]
    (tmp_path / "x.jsonl").write_text("".join(rows))
    (found,) = read(tmp_path / "x.jsonl").values()
    assert np.allclose(found.positive, P, atol=1e-15)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_read(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(lines("Tod,Risiko für", Y, P), encoding=encoding)
    (found,) = read(tmp_path / "x.csv").values()
    assert np.array_equal(found.positive, P)


def test_an_empty_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(lines("y,p", Y, [""] * N))
    with pytest.raises(ValueError, match=r"^nothing to assess in x.csv: one column `y`, no probability \(empty: p\)."):
        read(tmp_path / "x.csv")


def test_models_that_repeat_a_case_are_read_together(tmp_path: Path) -> None:
    row = {"question": "q", "answer": "B", "options": {"A": -1.0, "B": -0.2}}
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(row | {"model": f"m{i % 2}"}) + "\n" for i in range(6)))
    (found,) = read(tmp_path / "x.jsonl").values()
    assert len(found) == 6


def test_a_file_needs_a_name() -> None:
    with pytest.raises(ValueError, match=r"^a file without a name\n"):
        read("")


READ: dict[str, tuple[str, dict[str, Any]]] = {
    "line breaks in quotes": (lines("id,dead,risk", [f'"a\n{i}, b"' for i in range(N)], Y, P), {}),
    "delimiter after the names": (lines("dead,risk,", Y, P), {}),
    "predict is a pick": (lines("actual,predict,p0,p1", Y, (P > 0.5).astype(int), 1 - P, P), {}),
    "old line ends": (lines("dead,risk", Y, P).replace("\n", "\r"), {}),
    "logit by name": (lines("label,logit", Y, [f"{np.log(p / (1 - p))!r}" for p in P]).replace("np.float64", ""), {}),
    "cut, as was advised": (lines("pop,rain_mm", P, Y * 3.5), {"label": "rain_mm", "cut": "2.95"}),
    "two spellings together": (
        lines("Outcome,risk", altered(YES, 0, "YES"), P),
        {"label": "Outcome", "versus_rest": "YES,Yes"},
    ),
    "the event's probability": (lines("label,p_true", Y, P), {"positive_proba": "p_true"}),
}


@pytest.mark.parametrize("kind", READ)
def test_unusual_files_are_read_as_meant(kind: str, tmp_path: Path) -> None:
    text, options = READ[kind]
    text = text.replace("(", "").replace(")", "")
    (tmp_path / "x.csv").write_text(text, newline="")
    (found,) = read(tmp_path / "x.csv", ReadOptions(**options)).values()
    assert found.outcomes is not None
    assert found.outcomes.tolist() == Y.tolist()
    assert np.allclose(found.positive, P, atol=1e-12)


def test_a_class_that_never_happened(tmp_path: Path) -> None:
    seen = ANIMALS[np.minimum(K, 1)]
    for names in (STEMS, ["cat", "dog", "red fox"]):
        (tmp_path / "x.csv").write_text(classes(names, seen))
        layout = recognise(tmp_path / "x.csv")
        assert layout.classes == ("cat", "dog", "red fox")
        assert layout.outcome_note == "3 classes: cat dog red fox (never: red fox)"


def test_rounding_above_one_can_be_rescaled(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(classes(STEMS, ANIMALS[K], ABOVE))
    (found,) = read(tmp_path / "x.csv", ReadOptions(normalise=True)).values()
    assert found.matrix[0].tolist() == [1.0, 0.0, 0.0]


def test_counts_layout_takes_percentages(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(lines("p,events,n", range(0, 110, 10), range(11), [10] * 11))
    (found,) = read(tmp_path / "x.csv", ReadOptions(scale="percent")).values()
    assert found.counts is not None
    assert found.counts.sum() == 110
    assert found.positive.max() == 1.0


def test_the_event_is_printed(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(
        pl.DataFrame({"kind": np.where(Y, "spam", "ham"), "p_spam": P, "p_ham": 1 - P}).write_csv()
    )
    assert recognise(tmp_path / "x.csv").one_line().endswith("· event = ham (--positive spam for the other)")


def test_frequencies_with_numbers_of_cases_count_the_cases(tmp_path: Path) -> None:
    header, forecast, cases = "p,event_rate,cases", [0.1, 0.3, 0.7], [11, 30, 17]
    events = [1, 10, 12]
    rates = [f"{e / n:.3f}" for e, n in zip(events, cases, strict=True)]
    (tmp_path / "x.csv").write_text(lines(header, forecast, rates, cases))
    with pytest.raises(ValueError, match=r"the number of cases of each row is needed.\n  choose:  --count cases$"):
        read(tmp_path / "x.csv")
    (found,) = read(tmp_path / "x.csv", ReadOptions(count="cases")).values()
    assert found.weights is None
    assert found.counts is not None
    assert found.counts.tolist() == [1, 10, 10, 20, 12, 5]
    (tmp_path / "x.csv").write_text(lines(header, forecast, rates, [12, 30, 17]))
    with pytest.raises(ValueError, match=r"row 1, `event_rate` of 12 cases is 1.092 events: not a whole number."):
        read(tmp_path / "x.csv", ReadOptions(count="cases"))
