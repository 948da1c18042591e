"""`veracity table`: forecast categories against outcomes, from counts alone."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from veracity.cli._options import CASES, ESTIMATION, INPUT, OUTPUTS, Command, Option, Outputs
from veracity.cli._output import check_outputs, files_read, to_stdout

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
    Option(ESTIMATION, "--train TABLE", "A file, or counts: its observed shares are the forecasts to be scored."),
    Option(INPUT, "--rows NAMES", "Names of the forecast categories, best to worst: low,high."),
    Option(INPUT, "--columns NAMES", "Names of the outcomes, no event to event: no,yes."),
    Option(INPUT, "--category COL", "Column of the forecast category (tidy and case-by-case files)."),
    Option(INPUT, "--label COL", "Column of the outcome (tidy and case-by-case files)."),
    Option(CASES, "--count COL", "Column of the number of cases."),
    Option(CASES, "--weight COL", "Column of the share of cases, instead of counts."),
    Option(CASES, "--group COL", "One table per value of this column, and all together."),
    Option(
        ESTIMATION,
        "--prevalence P",
        "Predictive values where the event has this prevalence; repeatable.",
        type=float,
        multiple=True,
    ),
    Option(ESTIMATION, "--level", "Level of the intervals.", type=float, default=0.95),
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
    Files (any delimiter):
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


def _table(where: dict[str, Any]) -> Any:
    """Return the table of a command's options."""
    from veracity.table import PredictionTable
    from veracity.table.files import FileOptions, parse_counts

    taken = ("files", "counts", "cases", "shares", "train", "rows", "columns", "prevalence", "level")
    files, counts, cases, shares, train, rows, columns, prevalence, level = (where.pop(name) for name in taken)
    cells = {name: where.pop(name) for name in ("tp", "fp", "fn", "tn")}
    rates = {f"--{name}": where.pop(name) for name in ("sens", "spec", "prior")}
    if any(value is not None for value in cells.values()):
        if None in cells.values() or counts is not None:
            raise ValueError("a 2 × 2 table needs all of --tp, --fp, --fn and --tn, and no --counts")
        counts = "{tn},{fn};{fp},{tp}".format(**cells)
        rows, columns = rows or "negative,positive", columns or "no event,event"
    given = [name for name, value in rates.items() if value is not None]
    ways = [bool(files), counts is not None, bool(given)]
    if sum(ways) != 1:
        said = "several ways of giving a table at once" if sum(ways) else "no table given"
        raise ValueError(
            f"{said}; give one:\n  a file:  veracity table counts.csv\n"
            '  counts:  veracity table --counts "83,56;2,12"      cells:  --tp 12 --fp 2 --fn 56 --tn 83\n'
            "  rates:   veracity table --sens .83 --spec .84 --prior .36"
        )
    if given and len(given) < 3:
        missing = ", ".join(name for name in rates if name not in given)
        raise ValueError(f"a table needs sensitivity, specificity and prior; give {missing} too")
    trained = ("category", "label", "count") if train is not None and os.path.exists(train) else ()
    for name, value in where.items():
        if value is not None and not files and name not in trained:
            raise ValueError(f"--{name} {value} has no effect: it names a column of a file; leave it out")
    for other, name in (("--sens …" if given else "", "shares"), ("--weight" if where["weight"] else "", "count")):
        if other and (shares if name == "shares" else where[name]):
            raise ValueError(f"--{name} has no effect beside {other}; leave one of them out")
    if cases is not None and not (given or shares or where["weight"]):
        raise ValueError(
            "--n: the number of cases follows from the counts; "
            "--n belongs to rates (--sens …) and to shares (--shares, --weight)"
        )
    names: dict[str, Any] = {"rows": _split(rows), "columns": _split(columns)}
    options = {"level": level, "prevalences": prevalence}
    asked = FileOptions(**names, n=cases, shares=shares, options=options, **where)
    if given:
        named = {key: value for key, value in names.items() if value is not None}
        sens, spec, prior = rates.values()
        table = PredictionTable.from_rates(sens, spec, prior, cases, **named, **options)
    elif counts is not None:
        table = parse_counts(counts, asked)
    else:
        table = _from_files(files, asked)
    if train is None:
        return table
    learnt = replace(asked, n=None, shares=False, group=None, weight=None, options={"level": level})
    if os.path.exists(train) or not re.fullmatch(r"[\d\s.,;−+-]+", train):
        return table.scored_with(_from_files((train,), learnt))
    training = parse_counts(train, replace(learnt, rows=None, columns=None))
    if training.counts.shape != table.counts.shape:
        sizes = [" × ".join(map(str, t.counts.shape)) for t in (training, table)]
        raise ValueError(f"--train: a table of {sizes[0]}, but the table to be scored is {sizes[1]}")
    return table.scored_with(replace(training, rows=table.rows, columns=table.columns))


def _from_files(files: tuple[str, ...], asked: Any) -> Any:
    from veracity.table import PredictionTable
    from veracity.table.files import read

    if len(files) == 1:
        return read(files[0], asked)
    stems = [Path(file).stem for file in files]
    names = stems if len(set(stems)) == len(stems) else list(files)
    part = replace(asked, partial=True)
    return PredictionTable.pooled({name: read(file, part) for name, file in zip(names, files, strict=True)})


def _split(names: str | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(name.strip() for name in names.split(","))
