"""An option that was given and has no effect is refused, with a remedy that works; nothing is ignored."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import veracity as vc
from veracity import cli
from veracity.cli import run
from veracity.cli._click import Command
from veracity.state.plan import MOST_DRAWS

N = 60
P = [round(0.05 + 0.9 * ((7 * i) % N) / N, 3) for i in range(N)]
Y = [int(((13 * i) % N) / N < p) for i, p in enumerate(P)]
LABELS = ["abc"[(i + Y[i]) % 3] for i in range(N)]
CLASSES = [(round(0.1 + 0.3 * p, 4), 0.3, round(0.6 - 0.3 * p, 4)) for p in P]
SIDE = [f"{'ab'[i % 2]},{i},{i // 4},{1 + i % 3},{'no' if i % 4 else 'yes'}" for i in range(N)]
AFTER = ",site,day,unit,many,said\n"


def text(header: str, rows: list[str]) -> str:
    return header + AFTER + "".join(f"{row},{side}\n" for row, side in zip(rows, SIDE, strict=True))


FILES = {
    "event.csv": text("y,p,q", [f"{y},{p},{p}" for y, p in zip(Y, P, strict=True)]),
    "words.csv": text("y,p", [f"{('no', 'yes')[y]},{p}" for y, p in zip(Y, P, strict=True)]),
    "wide.csv": text("y,p_a,p_b,p_c", [f"{c},{a},{b},{d}" for c, (a, b, d) in zip(LABELS, CLASSES, strict=True)]),
    "pairs.csv": text("A,B,A_outcome,B_outcome", [f"{p},{p},{y},{1 - y}" for y, p in zip(Y, P, strict=True)]),
    "top.csv": text(
        "label,pred,confidence", [f"{c},{'abc'[i % 3]},{p}" for i, (c, p) in enumerate(zip(LABELS, P, strict=True))]
    ),
    "tokens.csv": text("logprob", [f"{math.log(p):.4f}" for p in P]),
    "counts.csv": "p,n,events,other,who\n0.2,100,20,7,a\n0.4,139,56,8,b\n0.8,20,15,9,a\n",
    "members.csv": "obs,m0,m1,m2\n" + "".join(f"{p - 0.5:.2f},{p - 0.4:.2f},{p - 0.6:.2f},{p:.2f}\n" for p in P),
    "options.jsonl": "".join(
        json.dumps({"target": "abc".index(c), "resps": [math.log(x) for x in row]}) + "\n"
        for c, row in zip(LABELS, CLASSES, strict=True)
    ),
    "truth.csv": "truth\n" + "".join(f"{y}\n" for y in Y),
    "cells.csv": "forecast,no,yes\nlow,83,56\nhigh,2,12\n",
}
EVENT, BOTH, MEMBERS = "event.csv --positive-proba p", "event.csv --positive-proba p,q", "--members m? --exceeds 0"

# the command, and its message after "veracity: "
LAYOUTS = {
    f"{EVENT} --pick said": "event.csv: no single column holds the labels that `said` picks.\n  name it:  --label COL",
    f"{EVENT} --label y --pick said": "event.csv: the outcome `y` and the pick `said` have no value in common: no pick "
    "could be right.\n  name another:  --label COL   or   --pick COL",
    f"{EVENT} --label y --label-file truth.csv": "event.csv: --label-file truth.csv has no effect: "
    "the outcome is y.\n  leave --label-file truth.csv out",
    "words.csv --order yes,no": "words.csv: --order yes,no has no effect: the event is yes.\n"
    "  choose the event:  --positive no",
    f"{EVENT} --normalise": "event.csv: --normalise has no effect: each row has one probability.\n"
    "  leave --normalise out",
    f"{EVENT} --absent nan": "event.csv: --absent nan has no effect: each row has one probability.\n"
    "  leave --absent nan out",
    f"{BOTH} --model site": "event.csv: --model site has no effect: one model per column.\n  leave --model site out",
    "wide.csv --positive z": "wide.csv: --positive z has no effect: there are 3 classes.\n"
    "  decide about one class:  --positive a",
    "wide.csv --versus-rest b --positive b": "wide.csv: --positive b has no effect: classes are put together as the "
    "event.\n  leave --positive b out",
    "wide.csv --versus-rest b --order c,b,a": "wide.csv: --order c,b,a has no effect: classes are put together as the "
    "event.\n  leave --order c,b,a out",
    "wide.csv --layout wide --members p_? --exceeds 0.1": "wide.csv: --members 'p_?' --exceeds 0.1 has no effect: the "
    "forecast is p_a p_b p_c.\n  leave --members 'p_?' --exceeds 0.1 out",
    "pairs.csv --cut 0.5": "pairs.csv: --cut 0.5 has no effect: the outcome is A_outcome B_outcome; limits do not make "
    "it.\n  leave --cut 0.5 out",
    "pairs.csv --model site": "pairs.csv: --model site has no effect: the layout pairs has no column of models.\n"
    "  leave --model site out",
    "pairs.csv --positive 0": "pairs.csv: --positive 0 has no effect: the event is 1.\n  leave --positive 0 out",
    "top.csv --versus-rest b": "top.csv: --versus-rest b has no effect: the event is that the pick was right.\n"
    "  leave --versus-rest b out",
    "tokens.csv --layout realised --label said": "tokens.csv: --label said has no effect: no outcome is read.\n"
    "  leave --label said out",
    "tokens.csv --positive 1": "tokens.csv: --positive 1 has no effect: no classes are read.\n  leave --positive 1 out",
    "counts.csv --count other": "counts.csv: --count other has no effect: `n` is the number of cases.\n"
    "  leave --count other out",
    f"members.csv {MEMBERS} --scale percent": "members.csv: --scale percent has no effect: the probabilities are "
    "computed.\n  leave --scale percent out",
    f"members.csv {MEMBERS} --proba m0": "members.csv: --proba m0 has no effect: the forecast is m0 m1 m2.\n"
    "  leave --proba m0 out",
    "options.jsonl --positive-proba x": "options.jsonl: --positive-proba x has no effect: the forecast is resps.0 "
    "resps.1 resps.2.\n  leave --positive-proba x out",
    "options.jsonl --no-header": "options.jsonl: --no-header has no effect: the columns have names.\n"
    "  leave --no-header out",
}
ESTIMATION = {
    f"assess {EVENT} --lags 2": "--lags 2 has no effect without time\n  add --time COL, or leave it out",
    f"assess {EVENT} --window 30": "--window 30 has no effect without time\n  add --time COL, or leave it out",
    f"assess {EVENT} --lags 2 --cluster unit": "--lags 2 has no effect without time\n"
    "  add --time COL instead of --cluster, or leave it out",
    f"assess {EVENT} --time day --lags 5000 --quiet": "--lags 5000: there are only 60 times\n  give a smaller number",
    f"compare {BOTH} --horizon 2": "--horizon 2 has no effect without time\n  add --time COL, or leave it out",
    f"assess {EVENT} --shrink none --quiet": "--shrink none has no effect without groups\n"
    "  add --group COL, or leave it out",
    "assess tokens.csv --bins 4 --quiet": "--bins 4 has no effect without classes\n  leave it out",
    "assess tokens.csv --end-width 0.1 --quiet": "--end-width 0.1 has no effect without classes\n  leave it out",
    f"assess {EVENT} --preset N17 --bins 4": "--bins 4 with preset N17, which has its own bins; leave one of them out",
    f"assess {EVENT} --bootstrap 99999999999": f"--bootstrap 99999999999 draws; give 2 to {MOST_DRAWS:,}, or leave it "
    "out",
    f"check {EVENT} --require n>=1 --against words.csv": "--against words.csv has no effect: nothing is compared with "
    'it\n  leave it out, or add --require "log_loss not worse by 0.01"',
}
OUTPUTS = {
    "--report x.txt": "--report x.txt: give a file that ends in .html or .pdf",
    "--report x": "--report x: give a file that ends in .html or .pdf",
    "--plots -": "--plots -: pictures go into a folder; give its name, such as plots",
    "--details --quiet": "--details has no effect beside --quiet; leave one of them out",
    "--details --csv -": "--details has no effect beside --csv -; leave one of them out",
    "--order ,": "order: nothing is named in ','\n  give names, or leave it out",
    "--group ,": "group: nothing is named in ','\n  give names, or leave it out",
    "--cut ,": "cut: ',' is no list of numbers\n  write limits such as 0.2,4.4",
    "--engine-option on_error=skip --engine-option on_error=raise": "--engine-option on_error is given 2 times; give "
    "it once",
}
TABLES = {
    "--counts 83,56;2,12 --category x": "--category x has no effect: it names a column of a file; leave it out",
    "--counts 83,56;2,12 --weight w": "--weight w has no effect: it names a column of a file; leave it out",
    "--sens .8 --spec .8 --prior .3 --group g": "--group g has no effect: it names a column of a file; leave it out",
    "--sens .8 --spec .8 --prior .3 --shares": "--shares has no effect beside --sens …; leave one of them out",
    "counts.csv --weight n --count other": "--count has no effect beside --weight; leave one of them out",
    "counts.csv --rows a,b,c": "counts.csv: --rows has no effect on one line per probability; leave it out",
    "counts.csv --group who": "counts.csv: --group has no effect on one line per probability; leave it out",
    "/dev/zero": "/dev/zero: not a file\n  what a program writes is read from -:  PROGRAM | veracity assess -",
}
REFUSED = {f"assess {words}": message for words, message in LAYOUTS.items()} | ESTIMATION
REFUSED |= {f"assess {EVENT} {words}": message for words, message in OUTPUTS.items()}
REFUSED |= {f"table {words}": message for words, message in TABLES.items()}
REFUSED |= {"assess /dev/zero": TABLES["/dev/zero"]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)
    return tmp_path


@pytest.mark.parametrize("words", REFUSED)
def test_option_without_effect_is_refused(here: Path, capsys: pytest.CaptureFixture[str], words: str) -> None:
    before = sorted(here.iterdir())
    assert run(words.split()) == 2
    out, err = capsys.readouterr()
    said = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("read "))
    assert (out, said) == ("", f"veracity: {REFUSED[words]}\n")
    assert sorted(here.iterdir()) == before


REMEDIES = (
    *(
        "event.csv --positive-proba p",
        "words.csv --positive no",
        "words.csv --order no,yes",
        "wide.csv --versus-rest b",
    ),
    *(
        "wide.csv --order c,b,a --normalise --absent nan",
        "pairs.csv",
        "top.csv --label label --pick pred",
        "tokens.csv",
    ),
    *("counts.csv", f"members.csv {MEMBERS}", "options.jsonl --order 2,0,1", f"{EVENT} --label-file truth.csv"),
    *(f"{EVENT} --time day --lags 2 --window 30", f"{EVENT} --group site --shrink none", "pairs.csv --shrink none"),
    *(f"{EVENT} --preset CQ --bins 4 --floor 0.01", f"{EVENT} --bootstrap 2", "event.csv --proba p --label y"),
)


def test_options_of_language_models_have_the_order_asked_for(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, order in (("first", "xyz"), ("second", "zxy")):
        rows = [
            {
                "doc_id": i,
                "target": "xyz"["abc".index(label)],
                "logprobs": {c: math.log(row["xyz".index(c)]) for c in order},
            }
            for i, (label, row) in enumerate(zip(LABELS, CLASSES, strict=True))
        ]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["compare", "first.jsonl", "second.jsonl", "--quiet"]) == 2
    assert "different orders\n  give one order:  --order x,y,z" in capsys.readouterr().err
    assert run(["compare", "first.jsonl", "second.jsonl", "--quiet", "--order", "x,y,z"]) == 0
    assert "the same log loss" in capsys.readouterr().out


@pytest.mark.parametrize("words", REMEDIES)
def test_option_with_an_effect_is_taken(here: Path, capsys: pytest.CaptureFixture[str], words: str) -> None:
    assert run(["assess", *words.split(), "--quiet"]) == 0, capsys.readouterr().err


def commands() -> dict[str, click.Command]:
    root = click.Context(cli.veracity)
    held = {name: cli.veracity.get_command(root, name) for name in cli.veracity.list_commands(root)}
    inner = {f"{name} {own}": one for name, c in held.items() for own, one in getattr(c, "commands", {}).items()}
    return inner | {name: c for name, c in held.items() if c is not None and not isinstance(c, click.Group)}


@pytest.mark.parametrize("name", commands())
def test_single_option_given_twice_or_empty_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = commands()[name]
    assert isinstance(command, Command)
    for option in command.params:
        if not isinstance(option, click.Option) or option.is_flag:
            continue
        shown, value = option.opts[0], "1"
        if not option.multiple:
            assert run([*name.split(), "x", "y", shown, value, shown, value]) == 2
            listed = ", its values separated by commas" if "," in (option.metavar or "") else ""
            message = f"veracity: {shown} is given 2 times; give it once{listed}\n  help:  veracity {name} --help\n"
            assert capsys.readouterr().err == message
        assert run([*name.split(), "x", "y", shown, ""]) == 2
        assert capsys.readouterr().err.startswith(f"veracity: {shown} is empty; give ")


def test_a_flag_given_twice_is_taken(here: Path) -> None:
    assert run(["assess", *EVENT.split(), "--quiet", "--quiet"]) == 0


ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "lags": ({"lags": 2}, "lags 2 has no effect without time\n  add time=, or leave it out"),
    "window": ({"window": 30}, "window 30 has no effect without time\n  add time=, or leave it out"),
    "lags of clusters": (
        {"lags": 2, "clusters": np.arange(N) // 4},
        "lags 2 has no effect without time\n  add time= instead of cluster, or leave it out",
    ),
    "shrink": ({"shrink": "none"}, "shrink none has no effect without groups\n  add groups=, or leave it out"),
    "bins": (
        {"preset": "N17", "bins": 4},
        "bins: 4 with preset N17, which has its own bins; leave one of them out",
    ),
    "more lags than times": (
        {"lags": 5000, "time": np.arange(N)},
        "lags 5000: there are only 60 times\n  give a smaller number",
    ),
    "part of a draw": ({"bootstrap": 20.5}, "bootstrap: 20.5 draws; give 2 to 100,000, or leave it out"),
    "draws": ({"bootstrap": MOST_DRAWS + 1}, "bootstrap: 100001 draws; give 2 to 100,000, or leave it out"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_argument_without_effect_is_refused(case: str) -> None:
    given, message = ARRAYS[case]
    with pytest.raises(ValueError) as caught:
        vc.assess(Y, P, **given)
    assert str(caught.value) == message


def test_column_of_a_frame_without_effect_is_refused() -> None:
    import polars as pl

    frame = pl.DataFrame({"y": Y, "p": P, "said": ["no", "yes"] * (N // 2)})
    with pytest.raises(ValueError) as caught:
        vc.assess(frame, label="y", positive_proba="p", pick="said")
    assert str(caught.value).startswith("the outcome `y` and the pick `said` have no value in common")


def test_one_probability_per_row_is_not_rescaled() -> None:
    with pytest.raises(ValueError, match=r"^normalise has no effect: each row has one probability\.\n  leave it out$"):
        vc.Forecasts.of(Y, P, normalise=True)


def test_report_by_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"page.txt: give a file that ends in .html or .pdf"):
        vc.assess(Y, P).report(tmp_path / "page.txt")
    assert not [*tmp_path.iterdir()]
