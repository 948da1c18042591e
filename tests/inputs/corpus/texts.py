"""Text in all encodings, delimiters and habits."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

from .shapes import (
    OTHER,
    THREE,
    TWO,
    N,
    P,
    Q,
    Shape,
    Y,
    altered,
    comma,
    csv,
    frame,
    held,
    lines,
    loss,
    named,
    percent,
    records,
    words,
)

PLAIN = lines("y,p", Y, P)
NUMBERS = "".join(f"{p},{y}\n" for p, y in zip(P, Y, strict=True))


ZSTD = held(lambda out: frame(y=Y, p=P).write_csv(out, compression="zstd"))


def plain(name: str, text: str | bytes, file: str = "x.csv", y: str = "y", p: str = "p", **more: Any) -> Shape:
    """A file that holds P and Y, however it is written."""
    return Shape(name, {file: text}, "binary", y, p, (TWO,), **more)


def within(character: str) -> list[str]:
    return [f"a{character}{i}" for i in range(N)]


SHAPES = [
    plain("tabs", lines("y,p", Y, P, sep="\t"), "x.tsv"),
    plain("semicolons with decimal points", lines("y,p", Y, P, sep=";")),
    plain("bars", lines("y,p", Y, P, sep="|")),
    plain("runs of blanks", "\n".join(["y    p", *(f"{y}   {p}" for y, p in zip(Y, P, strict=True))]), "x.txt"),
    plain(
        "runs of blanks, texts in quotes",
        "\n".join(["name   y    p", *(f'"a {i}"  {y}   {p}' for i, (y, p) in enumerate(zip(Y, P, strict=True)))]),
        "x.txt",
    ),
    plain("a byte order mark", b"\xef\xbb\xbf" + PLAIN.encode()),
    plain("UTF-16", PLAIN.encode("utf-16")),
    plain("UTF-16 without a mark", PLAIN.encode("utf-16-le")),
    plain("UTF-32", PLAIN.encode("utf-32")),
    plain("Windows line ends", PLAIN.replace("\n", "\r\n")),
    plain("old Macintosh line ends", PLAIN.replace("\n", "\r")),
    plain("gzip", gzip.compress(PLAIN.encode()), "x.csv.gz"),
    plain("zstandard", ZSTD, "x.csv.zst"),
    plain("gzip without its ending", gzip.compress(PLAIN.encode()), "x.csv"),
    plain("a file without an ending", PLAIN, "forecasts"),
    plain("everything in quotes", lines('"y","p"', [f'"{y}"' for y in Y], [f'"{p}"' for p in P])),
    plain("line breaks within quotes", lines("id,y,p", [f'"a\n{i}, b"' for i in range(N)], Y, P)),
    plain(
        "a text of many lines in each row",
        lines("note,y,p", ['"' + "line\n" * 20 + f'{i}, and more"' for i in range(N)], Y, P),
    ),
    plain("doubled quotes within quotes", lines("note,y,p", [f'"he said ""{i}"", twice"' for i in range(N)], Y, P)),
    plain("semicolons in texts", lines("note,y,p", within(";"), Y, P)),
    plain("tabs in texts", lines("note,y,p", within("\t"), Y, P)),
    plain("commas in texts of a file with semicolons", lines("note;y;p", within(","), Y, P, sep=";")),
    plain("other line separators in texts", lines("note,y,p", within("\u2028"), Y, P)),
    plain("comment lines", "# written by a script\n# a, b\n" + lines("id,y,p", range(N), Y, P)),
    plain("names after a number sign", lines("#id,y,p", range(N), Y, P)),
    plain("Ctrl-Z at the end", PLAIN + "\x1a"),
    plain("empty rows at the end", PLAIN + ",\n\n,\n"),
    plain("empty columns at the end", "\n".join(line + ",," for line in PLAIN.splitlines())),
    plain("a delimiter after the names", lines("y,p,", Y, P)),
    plain("names of rows without a name", lines("y,p", range(N), Y, P)),
    plain("columns without names", lines(",y,p,", range(N), Y, P, within("s"))),
    plain("a column twice", lines("y,p,p", Y, P, P)),
    plain("two columns of one name that are not used", lines("y,p,site,site", Y, P, range(N), within("s"))),
    plain("blanks around the names", lines(" y , p ", Y, P)),
    plain("blanks around the values", lines("y,p", [f" {y} " for y in Y], [f" {p}" for p in P])),
    plain("numbers with exponents", lines("y,p", Y, [f"{p:.3e}" for p in P])),
    plain("numbers without a leading zero", lines("y,p", Y, [f"{p}".lstrip("0") for p in P])),
    plain("upper-case names", lines("Y_TRUE,Y_PROB", Y, P), y="Y_TRUE", p="Y_PROB"),
    plain(
        "names with blanks and dots",
        lines("True Label,Predicted.Probability", Y, P),
        y="True Label",
        p="Predicted.Probability",
    ),
    plain("TRUE and FALSE", lines("outcome,p", words("FALSE", "TRUE"), P), y="outcome"),
    plain("1.0 and 0.0", lines("outcome,p", [float(y) for y in Y], P), y="outcome"),
    plain("−1 and 1", lines("outcome,p", [2 * y - 1 for y in Y], P), y="outcome"),
    plain("event and no event", lines("outcome,p", words("no event", "event"), P), y="outcome"),
    plain("present and absent", lines("status,p", words("absent", "present"), P), y="status"),
    plain("per cent signs in JSON", records(y=Y, p=percent(P)), "x.jsonl"),
    plain("numbers as text in JSON", records(y=Y, p=[str(p) for p in P]), "x.jsonl"),
    plain("decimal commas and per cent signs in JSON", records(y=Y, p=comma(percent(P, " %"))), "x.jsonl"),
    plain(
        "no line of names",
        NUMBERS,
        y="column 2",
        p="column 1",
        says=(
            "x.csv: the first line holds numbers (0.492, 0), not the names of columns.\n"
            "  if it is a row like the others:  veracity assess x.csv --no-header"
        ),
        remedy="veracity assess x.csv --no-header",
    ),
    plain("decimal commas between semicolons, thousands of cases", lines("y,p", Y, comma(P), sep=";")),
    Shape(
        "classes called NA and None",
        {"x.csv": csv(region=named(["EU", "US", "NA"]), p_EU=Q[:, 0], p_US=Q[:, 1], p_NA=Q[:, 2])},
        "wide",
        "region",
        "p_EU p_US p_NA",
        (THREE,),
    ),
    Shape(
        "classes with blanks",
        {
            "x.csv": csv(
                label=named(["red fox", "grey wolf", "brown bear"]),
                **{"p_red fox": Q[:, 0], "p_grey wolf": Q[:, 1], "p_brown bear": Q[:, 2]},
            )
        },
        "wide",
        "label",
        "p_red fox p_grey wolf p_brown bear",
        (THREE,),
    ),
    Shape(
        "a label outside the classes",
        {"x.csv": csv(label=altered(named("abc"), "d", 60), p_a=Q[:, 0], p_b=Q[:, 1], p_c=Q[:, 2])},
        says=(
            "x.csv: row 4, `label` = d: none of the classes a, b, c (2 of 120 rows).\n"
            "  correct the outcome, or choose the columns of all classes:  --proba PATTERN"
        ),
    ),
    Shape(
        "two columns of one name that differ",
        {"x.csv": lines("y,p,p", Y, P, OTHER)},
        "binary",
        "y",
        "p",
        (TWO,),
        says=(
            "x.csv: two columns are called `p`, and they differ.\n"
            "  choose:  --positive-proba p   or   --positive-proba 'p (2)'"
        ),
        remedy="--positive-proba p",
    ),
    Shape(
        "a column of the event beside the probability of what happened",
        {"x.csv": csv(label=Y, p_true=P)},
        "binary",
        "label",
        "p_true",
        (TWO,),
        says=(
            "x.csv: `p_true` beside the outcome `label`: the probability of the event, or of "
            "what happened?\n"
            "  of the event:  --positive-proba p_true      of what happened:  --layout realised"
        ),
        remedy="--positive-proba p_true",
    ),
    Shape(
        "only the probability of what happened",
        {"x.csv": csv(id=range(N), p_true=np.where(Y == 1, P, 1 - P))},
        "realised",
        "",
        "p_true",
        (TWO,),
    ),
    Shape(
        "one column of probabilities",
        {"x.csv": csv(p=np.where(Y == 1, P, 1 - P))},
        "realised",
        "",
        "p",
        (TWO,),
        says=(
            "nothing to assess in x.csv: one column `p`, no outcome.\n"
            "  if it is the probability of what happened:  --layout realised"
        ),
        remedy="--layout realised",
    ),
    Shape(
        "names that say the opposite",
        {"x.csv": csv(y=P, p=Y)},
        "binary",
        "p",
        "y",
        (TWO,),
        says=(
            "x.csv: `y` holds probabilities and `p` 0 and 1: their names say the opposite.\n"
            "  if the names are wrong:  veracity assess x.csv --label p --positive-proba y"
        ),
        remedy="veracity assess x.csv --label p --positive-proba y",
    ),
    Shape(
        "outcomes between 0 and 1",
        {"x.csv": csv(y=np.round(0.9 * P + 0.05, 3), p=P)},
        "binary",
        "y",
        "p",
        (float(-np.mean(np.round(0.9 * P + 0.05, 3) * np.log(P) + (1 - np.round(0.9 * P + 0.05, 3)) * np.log(1 - P))),),
        says=(
            "x.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `y`, `p`\n"
            "  outcomes between 0 and 1:  veracity assess x.csv --label y --positive-proba p"
        ),
        remedy="veracity assess x.csv --label y --positive-proba p",
    ),
    Shape(
        "only one value of the outcome",
        {"x.csv": csv(outcome=["dead"] * N, risk=P)},
        "binary",
        "outcome",
        "risk",
        (loss(P, np.ones(N)),),
        says=(
            "x.csv: outcome `outcome` holds nothing but dead.\n  if this is the event:  --label outcome --positive dead"
        ),
        remedy="--label outcome --positive dead",
    ),
    Shape("only yes", {"x.csv": csv(outcome=["yes"] * N, risk=P)}, "binary", "outcome", "risk", (loss(P, np.ones(N)),)),
    Shape(
        "weights of another file",
        {"weights-a.csv": csv(weight=OTHER), "a.csv": PLAIN},
        "binary",
        "y",
        "p",
        (float(-np.average(np.log(np.where(Y == 1, P, 1 - P)), weights=OTHER)),),
        says=(
            "nothing to assess in weights-a.csv: one column `weight`, no outcome and no "
            "probability.   weights for another file:  veracity assess a.csv --weight "
            "weights-a.csv"
        ),
        remedy="veracity assess a.csv --weight weights-a.csv",
    ),
    Shape(
        "a ragged row",
        {"x.csv": PLAIN + "1,2,3\n"},
        says=("x.csv: row 121 has 3 fields, the header 2\n  a value that contains the delimiter needs quotes"),
    ),
    Shape(
        "a page of HTML",
        {"x.csv": "<!DOCTYPE html>\n<html><head><title>Not found</title></head>\n<body>404, sorry</body></html>\n"},
        says=(
            "x.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  two values `<!DOCTYPE`, `html>`\n"
            "  no column holds probabilities (numbers between 0 and 1); percentages need --scale "
            "percent"
        ),
    ),
    Shape(
        "a picture",
        {"x.csv": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0"},
        says=(
            "x.csv: not a text file\n  give a CSV, Parquet, Arrow, JSON lines or npz file with the ending of its kind"
        ),
    ),
    Shape(
        "an empty file",
        {"x.csv": ""},
        says=("x.csv: the file is empty\n  it needs a line of column names and at least one row"),
    ),
    Shape(
        "only names", {"x.csv": "y,p\n"}, says=("x.csv: no rows below the column names\n  there is nothing to assess")
    ),
    Shape(
        "a folder of parts",
        {"parts/1.csv": lines("y,p", Y[:50], P[:50]), "parts/2.csv": lines("y,p", Y[50:], P[50:])},
        "binary",
        "y",
        "p",
        (TWO,),
        command="assess parts",
    ),
    Shape(
        "a pattern of parts",
        {"1.csv": lines("y,p", Y[:50], P[:50]), "2.csv": lines("y,p", Y[50:], P[50:])},
        "binary",
        "y",
        "p",
        (TWO,),
        command="assess '*.csv'",
    ),
    plain("two columns in quotes with tabs", lines('"no\tte",y,p', [f'"a\t{i}"' for i in range(N)], Y, P)),
    plain("a semicolon in a name and in every text", lines("no;te,y,p", within(";"), Y, P)),
    plain("one value over very many lines", lines("note,y,p", ['"' + "x\n" * 5000 + '"', *["b"] * (N - 1)], Y, P)),
    plain("doubled quotes in a name", lines('"the ""note""",y,p', range(N), Y, P)),
    plain("Ctrl-Z and a new line at the end", lines("y,p", Y, P, end="\r\n") + "\x1a\r\n"),
    *(
        plain(f"the character {ord(odd):x} (hexadecimal) in texts", lines("note,y,p", within(odd), Y, P))
        for odd in "\u2029\x85\x0c\x1c\x0b"
    ),
    Shape(
        "missing values of two models",
        {"x.csv": lines("y,a,b", Y, ["", *P[1:]], ["", "", *OTHER[2:]])},
        "binary",
        "y",
        "a b",
        (loss(P[1:], Y[1:]), loss(OTHER[2:], Y[2:])),
        command="assess x.csv --positive-proba a,b",
        says=(
            "x.csv: `a` 1, `b` 2 of 120 values are missing (first: row 1).\n"
            "  leave these rows out, each model its own:  --missing drop"
        ),
        remedy="--missing drop",
    ),
    Shape(
        "an empty column that is named",
        {"x.csv": lines("y,p,outcome", Y, P, [""] * N)},
        command="assess x.csv --label outcome",
        says=("x.csv: column `outcome` is empty.\n  fill it, or choose another column"),
    ),
    Shape(
        "an empty probability",
        {"x.csv": lines("y,p", Y, [""] * N)},
        says=(
            "nothing to assess in x.csv: one column `y`, no probability (empty: p).\n"
            "  fill the empty column, or give the file that holds its values"
        ),
    ),
    Shape(
        "numbers in single quotes",
        {"x.csv": lines("y,p", Y, [f"'{p}'" for p in P])},
        says=("x.csv: row 1, `p` = \"'0.492'\": not a number.\n  correct the value, or leave it empty"),
    ),
    Shape(
        "outcomes that are very large numbers",
        {"x.csv": lines("y,p", [10**20 + int(y) for y in Y], P)},
        "binary",
        "y",
        "p",
        (TWO,),
        says=(
            "x.csv: outcome `y` holds 100000000000000000000 and 100000000000000000001; which one "
            "does `p` forecast?   --positive 100000000000000000000   or   --positive "
            "100000000000000000001"
        ),
        remedy="--positive 100000000000000000001",
    ),
    Shape(
        "a matrix of counts",
        {"x.csv": "forecast,no,yes\nlow,83,2\nhigh,56,12\n"},
        "table",
        says=(
            "x.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  two values `forecast`, `no`, `yes`\n"
            "  if these are numbers of cases by forecast and outcome:  veracity table x.csv"
        ),
        remedy="veracity table x.csv",
    ),
]
