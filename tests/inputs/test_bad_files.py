"""Bad files: every kind is refused with one message that names the file, the row, and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veracity.read import ReadOptions, read

ROWS = "".join(f"{i % 2},{i / 40}\n" for i in range(1, 40))
RISK = "Patient ID;Outcome;Predicted risk\n" + "".join(
    f"{i};{'No' if i % 3 else 'Yes'};0,{10 + i}\n" for i in range(1, 40)
)
WIDE = "label,p_a,p_b,p_c\n" + "a,0.2,0.3,0.5\nb,0.1,0.8,0.1\nc,0.3,0.3,0.4\n" * 7
ABSENT = "a,0.2,0.3,0.5\nb,0.1,0.8,0.1\nc,0.5,0.5,\n" * 5
TOKENS = json.dumps({"id": 1, "token_logprobs": [None, None]})

# name of the file, its text, options if any, message
BAD: dict[str, tuple[Any, ...]] = {
    "empty file": ("x.csv", "", "x.csv: the file is empty\n  it needs a line of column names and at least one row"),
    "numbers for named columns": (
        "x.csv",
        "y,prob_pos,prob_neg\n0,0.2,0.8\n1,0.6,0.4\n1,0.3,0.7\n",
        "x.csv: outcome `y` holds 0, 1, the classes are pos, neg.\n"
        "  name the probability of 1:  --positive-proba prob_pos   or   --positive-proba prob_neg",
    ),
    "only a header": ("x.csv", "y,p\n", "x.csv: no rows below the column names\n  there is nothing to assess"),
    "workbook": (
        "x.xlsx",
        "PK\x03\x04",
        "x.xlsx: damaged, cut short, encrypted, or no workbook\n  save it again, or its sheet as CSV",
    ),
    "zip archive": (
        "x.dat",
        "PK\x03\x04",
        "x.dat: a zip archive\n  unpack it, or save the sheet of a workbook as CSV",
    ),
    "not Parquet": (
        "x.parquet",
        "hello",
        "x.parquet: damaged, cut short, or not what its name says\n  write it again, or give it the ending of its kind",
    ),
    "not arrays": ("x.npz", "hello", "x.npz: no plain arrays in it\n  save them with numpy.save or numpy.savez"),
    "one column": (
        "x.csv",
        "p\n0.5\n0.2\n",
        "nothing to assess in x.csv: one column `p`, no outcome.\n"
        "  if it is the probability of what happened:  --layout realised",
    ),
    "ragged row": (
        "x.csv",
        "y,p\n" + "0,0.5\n1,0.4\n" * 10 + "1,2,3\n",
        "x.csv: row 21 has 3 fields, the header 2\n  a value that contains the delimiter needs quotes",
    ),
    "word among probabilities": (
        "x.csv",
        "y,p\n0,0.5\n1,high\n0,0.2\n",
        "x.csv: row 2, `p` = 'high': not a number.\n  correct the value, or leave it empty",
    ),
    "percentages": (
        "x.csv",
        RISK.replace(";0,", ";"),
        "x.csv: row 1, `Predicted risk` = 11: above 1 (all 39 values lie between 11 and 49).\n"
        "  if these are percentages:  --scale percent",
    ),
    "logits": (
        "x.csv",
        "y,p\n0,-2\n1,0.3\n1,4.5\n",
        "x.csv: row 1, `p` = -2: below 0 (all 3 values lie between -2 and 4.5).\n  if these are logits:  --scale logit",
    ),
    "missing probability": (
        "x.csv",
        "y,p\n0,0.5\n1,NA\n0,0.3\n1,0.2\n",
        "x.csv: `p` 1 of 4 values are missing (first: row 2).\n  leave these rows out:  --missing drop",
    ),
    "missing outcome": (
        "x.csv",
        "y,p\n0,0.5\n,0.1\n0,0.3\n1,0.2\n",
        "x.csv: 1 of 4 outcomes in `y` are missing (first: row 2).\n  leave these rows out:  --missing drop",
    ),
    "unknown pair of labels": (
        "x.csv",
        "dead,risk\n1,0.2\n2,0.7\n1,0.4\n",
        "x.csv: outcome `dead` holds 1 and 2; which one does `risk` forecast?   --positive 1   or   --positive 2",
    ),
    "words for the event unknown": (
        "x.csv",
        "y,p\ngood,0.2\npoor,0.7\ngood,0.4\n",
        "x.csv: outcome `y` holds good and poor; which one does `p` forecast?   --positive good   or   --positive poor",
    ),
    "event that does not occur": (
        "x.csv",
        "y,p\ngood,0.2\npoor,0.7\ngood,0.4\n",
        {"positive": "bad"},
        "x.csv: outcome `y` holds good poor, not bad.\n  name the value that is the event",
    ),
    "three outcomes": (
        "x.csv",
        "y,p\na,0.2\nb,0.7\nc,0.4\n",
        "x.csv: one probability column `p`, but `y` has three values (a, b, c). "
        "An outcome for one probability has two values.\n"
        "  if one value is the event:  --label y --versus-rest b",
    ),
    "two outcomes": (
        "x.csv",
        "won,lost,p\n1,0,0.2\n0,1,0.7\n1,0,0.4\n",
        "x.csv: two columns could be the outcome: `won`, `lost` (they differ in 3 of 3 rows).\n"
        "  choose:  --label lost   or   --label won",
    ),
    "two known outcomes": (
        "x.csv",
        "truth,label,p\n1,0,0.2\n0,1,0.7\n1,0,0.4\n",
        "x.csv: two columns could be the outcome: `truth`, `label` (they differ in 3 of 3 rows).\n"
        "  choose:  --label truth   or   --label label",
    ),
    "two sets of classes": (
        "x.csv",
        "y,a_1,a_2,b_1,b_2\n" + "1,0.2,0.8,0.3,0.7\n2,0.5,0.5,0.6,0.4\n" * 3,
        "x.csv: two sets of class columns: a_1…a_2 and b_1…b_2.\n"
        "  as two models:  veracity assess x.csv --proba '{model}_*'      one of them:  --proba 'a_*'",
    ),
    "row sums": (
        "x.csv",
        WIDE + "a,0.2,0.3,0.4\n" + "a,0.2,0.3,0.5\n" * 100,
        "x.csv: 1 of 122 rows do not sum to one (first: row 22, sum 0.9).\n"
        "  fix the file, or rescale these rows:  --normalise",
    ),
    "all row sums": (
        "x.csv",
        WIDE.replace("0.5", "0.4").replace("0.8", "0.7").replace("0.4", "0.2"),
        "x.csv: class columns p_a p_b p_c, but 21 of 21 rows do not sum to one (first: row 1, sum 0.7).\n"
        "  fix the file, or rescale these rows:  --normalise",
    ),
    "label outside the classes": (
        "x.csv",
        WIDE + "d,0.2,0.3,0.5\n",
        {"proba": "p_*", "label": "label"},
        "x.csv: row 22, `label` = d: none of the classes a, b, c (1 of 22 rows).\n"
        "  correct the outcome, or choose the columns of all classes:  --proba PATTERN",
    ),
    "class without a column": (
        "x.csv",
        WIDE + "d,0.2,0.3,0.5\n",
        "x.csv: row 22, `label` = d: none of the classes a, b, c (1 of 22 rows).\n"
        "  correct the outcome, or choose the columns of all classes:  --proba PATTERN",
    ),
    "measured outcome": (
        "x.csv",
        "obs,p_0,p_1\n0.3,0.2,0.8\n1.7,0.4,0.6\n2.2,0.5,0.5\n9.5,0.9,0.1\n",
        "x.csv: outcome `obs` is a number (0.3 to 9.5, 4 values), the classes are 0, 1.\n"
        "  which limits are between the classes?  --cut LIMIT        (≤ LIMIT → 0, above → 1)",
    ),
    "wrong number of limits": (
        "x.csv",
        "obs,p_0,p_1\n0.3,0.2,0.8\n1.7,0.4,0.6\n",
        {"cut": "1,2"},
        "x.csv: 2 limits cut 3 classes, the forecast has 2: 0 1.\n  give 1 limit, from low to high",
    ),
    "limits that fall": (
        "x.csv",
        "y,p\n" + ROWS,
        {"cut": "2,1"},
        "cut: 2, 1 must rise\n  write the limits from low to high",
    ),
    "limits that are words": (
        "x.csv",
        "y,p\n" + ROWS,
        {"cut": "low"},
        "cut: 'low' is no list of numbers\n  write limits such as 0.2,4.4",
    ),
    "no such column": (
        "x.csv",
        "obs,p\n" + ROWS,
        {"label": "Obs"},
        "x.csv: no column `Obs`; did you mean `obs`?   columns: obs, p",
    ),
    "no such pattern": (
        "x.csv",
        WIDE,
        {"proba": "q_*"},
        "x.csv: no column fits --proba 'q_*'.\n  columns: label p_a p_b p_c",
    ),
    "pattern of text": (
        "x.csv",
        WIDE,
        {"proba": "label,p_a"},
        "x.csv: `label` holds text ('a'), not probabilities.\n  choose columns of numbers",
    ),
    "weights of text": (
        "x.csv",
        WIDE,
        {"weight": "label"},
        "x.csv: `label` holds text ('a'), not weights.\n  choose a column of numbers",
    ),
    "percentages of answer options": (
        "x.jsonl",
        '{"answer": "A", "options": {"A": 70.0, "B": 30.0}}\n{"answer": "B", "options": {"A": 35.0, "B": 65.0}}\n',
        "x.jsonl: row 1, `options.A` = 70: above 1 (all 4 values lie between 30 and 70).\n"
        "  if these are percentages:  --scale percent",
    ),
    "answer options beyond one": (
        "x.jsonl",
        '{"answer": "A", "options": {"A": 1.1, "B": 0.2}}\n{"answer": "B", "options": {"A": 0.5, "B": 0.8}}\n',
        "x.jsonl: row 1, `options.A` = 1.1: above 1 (all 4 values lie between 0.2 and 1.1).\n"
        "  correct the value; probabilities lie between 0 and 1      or rescale the rows:  --normalise",
    ),
    "names that say the opposite": (
        "x.csv",
        "y,p\n0.2,0\n0.7,1\n0.6,1\n0.1,0\n",
        "x.csv: `y` holds probabilities and `p` 0 and 1: their names say the opposite.\n"
        "  if the names are wrong:  veracity assess x.csv --label p --positive-proba y",
    ),
    "codes for named columns": (
        "x.csv",
        "target,setosa,versicolor,virginica\n0,0.7,0.2,0.1\n1,0.3,0.55,0.15\n2,0.25,0.35,0.4\n",
        "x.csv: outcome `target` holds 0, 1, 2, the columns are called setosa versicolor virginica.\n"
        "  give both the same names: columns 0 1 2, or the names of the columns in `target`",
    ),
    "codes for columns that are given": (
        "x.csv",
        "kind,setosa,versicolor,virginica\n0,0.7,0.2,0.1\n1,0.3,0.55,0.15\n2,0.25,0.35,0.4\n",
        {"label": "kind", "proba": "setosa,versicolor,virginica"},
        "x.csv: outcome `kind` holds 0, 1, 2, the columns are called setosa versicolor virginica.\n"
        "  give both the same names: columns 0 1 2, or the names of the columns in `kind`",
    ),
    "no outcome": (
        "x.csv",
        "id,p\n1,0.25\n2,0.5\n3,0.75\n",
        "x.csv: `p` could be the forecast, but no column holds outcomes.\n"
        "  columns:  probabilities `p`; numbers `id`\n"
        "  add a column of what happened, such as 0 and 1, or give the file that holds it:  --label-file FILE",
    ),
    "the forecast in another role": (
        "x.csv",
        "y,p\n" + ROWS,
        {"group": "p"},
        "x.csv: not clear which column is the outcome and which the forecast.\n"
        "  columns:  probabilities `p`; two values `y`\n"
        "  `p` was given another role, and no other column holds probabilities",
    ),
    "pattern without an outcome": (
        "x.csv",
        "id,p_a,p_b\nu,0.5,0.5\nv,0.1,0.9\n",
        {"proba": "p_*"},
        "x.csv: class columns p_a p_b, but no column holds only a b.\n"
        "  name the outcome:  --label COL   columns: id p_a p_b",
    ),
    "no such group": ("x.csv", "y,p\n" + ROWS, {"group": "site"}, "x.csv: no column `site`.   columns: y, p"),
    "no such class": (
        "x.csv",
        WIDE,
        {"versus_rest": "d"},
        "x.csv: no class d: the classes are a b c.\n  name some of them",
    ),
    "order of other classes": (
        "x.csv",
        WIDE,
        {"order": "a,b"},
        "x.csv: the order a,b does not name each class once: the classes are a b c.\n  --order a,b,c",
    ),
    "weights neither column nor file": (
        "x.csv",
        "y,p\n" + ROWS,
        {"weight": "w.csv"},
        "x.csv: --weight w.csv: neither a column nor a file.\n  columns: y, p",
    ),
    "negative weight": (
        "x.csv",
        "y,p,w\n0,0.5,1\n1,0.2,-1\n0,0.3,2\n",
        {"weight": "w"},
        "x.csv: row 2, `w` = -1: negative (1 of 3 values).\n  correct the value, or leave the row out",
    ),
    "half counts": (
        "x.csv",
        "y,p,k\n0,0.5,1\n1,0.2,2.5\n0,0.3,2\n",
        {"count": "k"},
        "x.csv: row 2, `k` = 2.5: a count is a whole number.\n  importance that is not a number of cases:  --weight …",
    ),
    "more events than cases": (
        "x.csv",
        "p,n,events\n0.1,10,2\n0.5,4,5\n0.9,10,9\n",
        "x.csv: row 2: 5 `events` of 4 `n`.\n  there cannot be more events than cases",
    ),
    "frequency without shares": (
        "x.csv",
        "p,obs_freq\n0.1,0.2\n0.5,0.4\n0.9,0.95\n",
        "x.csv: `obs_freq` is a frequency: the share of cases of each row is needed.\n  give it with --weight COL",
    ),
    "table of counts": (
        "x.csv",
        "forecast,observed,n\nyes,yes,28\nyes,no,72\nno,yes,23\n",
        "x.csv: forecast categories by outcomes with their number `n`: a table, not single forecasts.\n"
        "  veracity table x.csv",
    ),
    "no row left": (
        "x.csv",
        "y,p,site\n0,0.5,a\n1,0.2,b\n0,0.3,a\n",
        {"where": "site=c"},
        "x.csv: no row has site=c.\n  look at the values of the column",
    ),
    "condition without =": (
        "x.csv",
        "y,p\n" + ROWS,
        {"where": "site"},
        "where: 'site' is no condition\n  write COL=VALUE or COL!=VALUE",
    ),
    "condition on no column": (
        "x.csv",
        "y,p\n" + ROWS,
        {"where": "site=a"},
        "x.csv: no column `site`.   columns: y, p",
    ),
    "wrong layout": (
        "x.csv",
        "y,p\n" + ROWS,
        {"layout": "long"},
        "x.csv: the columns do not fit the layout long.\n"
        "  columns:  probabilities `p`; two values `y`\n"
        "  name the columns with --label and --proba, or leave --layout out",
    ),
    "lm-eval without options": (
        "x.csv",
        "y,p\n" + ROWS,
        {"layout": "lm-eval"},
        "x.csv: no log-probabilities of answer options here.\n  lm-eval is a layout of JSON lines (resps and target)",
    ),
    "unknown layout": (
        "x.csv",
        "y,p\n" + ROWS,
        {"layout": "tall"},
        "layout: 'tall' is not one of 'auto', 'binary', 'counts', 'ensemble', 'lm-eval', 'long', 'pairs', 'realised', "
        "'top', 'wide'",
    ),
    "class twice in a case": (
        "x.csv",
        "case,observed,predicted_label,predicted\n1,a,a,0.5\n1,a,a,0.5\n",
        "x.csv: row 1: class a occurs twice in one case.\n  name the columns of a case:  --id COL,COL",
    ),
    "class missing in a case": (
        "x.csv",
        "case,observed,predicted_label,predicted\n1,a,a,0.5\n1,a,b,0.5\n2,a,a,1\n",
        "x.csv: row 3: a case with 1 of 2 classes (1 of 2 cases).\n"
        "  leave these cases out:  --missing drop      or, if an option was not offered:  --absent nan",
    ),
    "case with two outcomes": (
        "x.csv",
        "case,observed,predicted_label,predicted\n1,a,a,0.5\n1,b,b,0.5\n",
        "x.csv: row 1: one case has several outcomes in `observed`.\n  name the columns of a case:  --id COL,COL",
    ),
    "line that is no JSON": (
        "x.jsonl",
        '{"y": 1, "p": 0.5}\n{oops\n',
        "x.jsonl: row 2 is no JSON (Expecting property name enclosed in double quotes)\n  one object per line",
    ),
    "JSON array": (
        "x.jsonl",
        '[{"y": 1, "p": 0.5}, 2]',
        "x.jsonl: entry 2 of the JSON array is no object\n  write one object for each case",
    ),
    "answer that is no option": (
        "x.jsonl",
        '{"options": {"A": -1.0, "B": -0.5}, "answer": "C"}',
        "x.jsonl: row 1: `answer` = 'C' is not one of the options A, B\n"
        "  the right answer is the number (from 0), the letter or the name of an option",
    ),
    "options that are words": (
        "x.jsonl",
        '{"options": {"A": -1.0, "B": -0.5}, "answer": "A"}\n{"options": ["x", "y"], "answer": 0}',
        "x.jsonl: row 2: `options` holds no numbers for at least two options\n  each option needs its log-probability",
    ),
    "tokens without log-probabilities": (
        "x.jsonl",
        TOKENS,
        "x.jsonl: no log-probability in `token_logprobs`\n  there is nothing to assess",
    ),
    "proba twice": (
        "x.csv",
        WIDE,
        {"proba": "p_*", "positive_proba": "p_a"},
        "proba and positive_proba exclude one another\n  classes: proba; one probability: positive_proba",
    ),
    "pattern that misses a class": (
        "x.csv",
        WIDE,
        {"proba": "p_a,p_[ab]*"},
        "x.csv: outcome `label` holds a, b, c, the classes are a, b.\n"
        "  name the columns like the outcomes, or the outcome column:  --label COL",
    ),
    "not offered but happened": (
        "x.csv",
        "label,p_a,p_b,p_c\n" + ABSENT,
        {"absent": "nan"},
        "x.csv: row 3: the outcome (`p_c`) was not offered there.\n  correct the outcome, or leave the row out",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_refused_with_the_exact_message(kind: str, tmp_path: Path) -> None:
    name, content, *given, message = BAD[kind]
    (options,) = given or [{}]
    (tmp_path / name).write_text(content, newline="")
    with pytest.raises(ValueError) as error:
        read(tmp_path / name, ReadOptions(**options))
    assert str(error.value).replace(f"{tmp_path}/", "") == message  # commands name the file as it was given
