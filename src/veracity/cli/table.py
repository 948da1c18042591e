"""`veracity table`: forecast categories against outcomes, from counts alone."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import CASES, ESTIMATION, INPUT, OUTPUTS, PLAN, READ, Command, Option, Outputs
from veracity.cli._output_files import check_outputs, files_read, to_stdout

if TYPE_CHECKING:
    from veracity.table import PredictionTable
    from veracity.table.files import FileOptions

HINTS = ("More: --report out.html (charts, predictive values at other prevalences)", "--details (every measure)")

TABLES = click.Argument(["files"], nargs=-1, metavar="[COUNTS.csv]...")
OWN = (
    Option(INPUT, '--counts "83,56;2,12"', "The table itself: rows by ; and cells by comma."),
    Option(INPUT, "--tp N", "True positives; with --fp, --fn and --tn instead of counts.", type=int),
    Option(INPUT, "--fp N", "False positives.", type=int),
    Option(INPUT, "--fn N", "False negatives.", type=int),
    Option(INPUT, "--tn N", "True negatives.", type=int),
    Option(INPUT, "--sens S", "Sensitivity; with --spec and --prior instead of counts.", type=float),
    Option(INPUT, "--spec S", "Specificity.", type=float),
    Option(INPUT, "--prior P", "Prior probability (prevalence) of the event.", type=float),
    Option(INPUT, "--n N", "Number of cases behind rates or shares: gives p and intervals.", name="cases", type=float),
    Option(INPUT, "--shares", "The numbers are shares or weights, not whole cases.", is_flag=True),
    Option(INPUT, "--rows NAMES", "Names of the forecast categories, best to worst: low,high."),
    Option(INPUT, "--columns NAMES", "Names of the outcomes, no event to event: no,yes."),
    Option(INPUT, "--category COL", "Column of the forecast category (tidy and case-by-case files)."),
    Option(CASES, "--weight COL", "Column of the share of cases, instead of counts."),
    Option(CASES, "--group COL", "One table per value of this column, and all together."),
    Option(ESTIMATION, "--train TABLE", "A file, or counts: its observed shares are the forecasts to be scored."),
    Option(
        ESTIMATION, "--prevalence P", "Predictive values at this prevalence; repeatable.", multiple=True, type=float
    ),
    *(option for option in (*READ, *PLAN) if option.name in ("label", "count", "level", "costs")),
)
CELLS, RATES = ("tp", "fp", "fn", "tn"), ("sens", "spec", "prior")
COLUMNS = ("category", "label", "count", "weight", "group")
TEST = {"rows": ("negative", "positive"), "columns": ("no event", "event")}  # names of the four cells
FOUR = "a 2 × 2 table needs all of --tp, --fp, --fn and --tn, and no --counts"
EXAMPLES = (
    "give one:\n  a file:  veracity table counts.csv\n"
    '  counts:  veracity table --counts "83,56;2,12"      cells:  --tp 12 --fp 2 --fn 56 --tn 83\n'
    "  rates:   veracity table --sens .83 --spec .84 --prior .36"
)


@click.command(cls=Command, params=[TABLES, *OWN, *OUTPUTS])
def command(**options: Any) -> None:
    """Evaluate a table of forecasts against outcomes.

    Rows are forecast categories from best to worst, columns outcomes from no event to event. Several files are
    evaluated one by one and together.

    \b
    Examples:
      veracity table --counts "83,56;2,12" --rows "not at risk,at risk" --columns "no disease,disease"
      veracity table --tp 12 --fp 2 --fn 56 --tn 83
      veracity table counts.csv --report out.html
      veracity table --sens .83 --spec .84 --prior .36 --prevalence .05 --prevalence .85
      veracity table --counts "9,3;3,14" --train "98,6;18,28"

    \b
    Files (text with any delimiter, Parquet, Arrow, JSON lines):
      forecast,no,yes      one line per category:   low,83,56
      forecast,observed,n  one line per pair:       low,yes,56
      p,n,events           one line per forecast:   0.4,139,56
      forecast,observed    one line per case:       low,yes
    """
    outputs = Outputs.taken_from(options)
    read = files_read(None, *options["files"], options["train"])
    check_outputs(outputs, read)
    table = _table(options)
    from veracity.cli._deliver import deliver

    to_stdout(deliver(table, outputs, read, HINTS))


def _table(options: dict[str, Any]) -> PredictionTable:
    """Return the table of a command's options."""
    from veracity.options.deciding import costs_of, take_costs
    from veracity.state.plan import PLANNED
    from veracity.table import PredictionTable
    from veracity.table.files import FileOptions, parse_counts

    given = {name: value for name, value in options.items() if value is not None and value is not False and value != ()}
    way = _way(given)
    _require_effect(given, way)
    names: dict[str, Any] = {name: _split(given[name]) for name in ("rows", "columns") if name in given}
    more: dict[str, Any] = {"level": given["level"], "prevalences": given.get("prevalence", ())}
    if "costs" in given:
        more["errors"] = costs_of(take_costs(PLANNED["costs"], given["costs"]))
    cases, train = given.get("cases"), given.get("train")
    if way == "cells":
        given["counts"], names = "{tn},{fn};{fp},{tp}".format(**given), TEST | names
    columns = {name: given[name] for name in COLUMNS if name in given}
    asked = FileOptions(n=cases, shares="shares" in given, options=more, **names, **columns)
    if way == "rates":
        sens, spec, prior = (given[name] for name in RATES)
        table = PredictionTable.from_rates(sens, spec, prior, cases, **names, **more)
    else:
        table = _from_files(given["files"], asked) if way == "files" else parse_counts(given["counts"], asked)
    return table if train is None else _scored_with(train, table, asked)


def _way(given: Mapping[str, Any]) -> str:
    """Return the way in which the table is given; none, several, or half of one are refused."""
    ways = {"files": ("files",), "counts": ("counts",), "cells": CELLS, "rates": RATES}
    used = [way for way, names in ways.items() if any(name in given for name in names)]
    if used == ["counts", "cells"]:
        raise ValueError(FOUR)
    if len(used) != 1:
        raise ValueError(f"{'several ways of giving a table at once' if used else 'no table given'}; {EXAMPLES}")
    missing = [f"--{name}" for name in ways[used[0]] if name not in given]
    if missing:
        rates = f"a table needs sensitivity, specificity and prior; give {', '.join(missing)} too"
        raise ValueError(FOUR if used == ["cells"] else rates)
    return used[0]


def _require_effect(given: Mapping[str, Any], way: str) -> None:
    """Refuse options that would change nothing."""
    trained = ("category", "label", "count") if os.path.exists(given.get("train", "")) else ()
    for name in COLUMNS:
        if name in given and way != "files" and name not in trained:
            raise ValueError(f"--{name} {given[name]} has no effect: it names a column of a file; leave it out")
    for name, other, used in (("shares", "--sens …", way == "rates"), ("count", "--weight", "weight" in given)):
        if used and name in given:
            raise ValueError(f"--{name} has no effect beside {other}; leave one of them out")
    if "cases" in given and way != "rates" and not {"shares", "weight"} & set(given):
        raise ValueError(
            "--n: the number of cases follows from the counts; "
            "--n belongs to rates (--sens …) and to shares (--shares, --weight)"
        )


def _scored_with(train: str, table: PredictionTable, asked: FileOptions) -> PredictionTable:
    """Return the table with the observed shares of another one, a file or counts, as forecasts."""
    from veracity.table.files import parse_counts

    asked = replace(asked, n=None, shares=False, group=None, weight=None, options={"level": table.level})
    if os.path.exists(train) or not re.fullmatch(r"[\d\s.,;−+-]+", train):
        return table.scored_with(_from_files((train,), asked))
    training = parse_counts(train, replace(asked, rows=None, columns=None))
    if training.counts.shape != table.counts.shape:
        sizes = [" × ".join(map(str, t.counts.shape)) for t in (training, table)]
        raise ValueError(f"--train: a table of {sizes[0]}, but the table to be scored is {sizes[1]}")
    return table.scored_with(replace(training, rows=table.rows, columns=table.columns))


def _from_files(files: tuple[str, ...], asked: FileOptions) -> PredictionTable:
    from veracity.table import PredictionTable
    from veracity.table.files import read

    if len(files) == 1:
        return read(files[0], asked)
    stems = [Path(file).stem for file in files]
    names = stems if len(set(stems)) == len(stems) else list(files)
    part = replace(asked, partial=True)
    return PredictionTable.pooled({name: read(file, part) for name, file in zip(names, files, strict=True)})


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(","))
