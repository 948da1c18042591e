"""`veracity adjust`: match the class frequencies, and nothing else."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click

from veracity.cli._engine import Counting, engine_options
from veracity.cli._input import files_argument, input_options, reading_taken_from
from veracity.cli._output import Together, check_file
from veracity.cli._progress import Working
from veracity.cli._rows import Rows, check_rows_file, map_beside, one_model, say_what_changed, write


@click.command()
@files_argument
@click.option(
    "--to",
    required=True,
    metavar="sample|uniform|em|PRIOR.csv",
    help="The class frequencies to match: those of the outcomes, equal ones, an estimate from the scores alone under "
    "label shift, or a file of class,probability.",
)
@click.option(
    "--rule",
    default="log",
    show_default=True,
    metavar="log|brier|R",
    help="The score whose loss it lowers: log multiplies, brier adds, a number r above -1 lies between and beyond.",
)
@click.option(
    "--trained-on",
    metavar="sample|uniform|PRIOR.csv",
    help="For --to em: class frequencies that the model was trained on; those of the outcomes when left out.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="Adjusted rows, .csv or .parquet; folder/ takes a file per part; - is CSV.",
)
@click.option("--force", is_flag=True, help="Overwrite outputs that exist.")
@engine_options
@input_options
def command(
    files: tuple[str, ...], to: str, rule: str, trained_on: str | None, output: str, force: bool, **options: Any
) -> None:
    """Adjust forecasts to class frequencies (Kull & Flach 2015); labels are not used case by case.

    Other columns are kept beside the adjusted ones. Files without outcomes will do, but for --to sample.

    The fitted map goes beside OUT as OUT's stem with .map.json; `veracity calibrate apply` applies it to other files.

    With --engine, or from 256 MB, the rows are read in parts and never held: each step of the fit is a pass over them,
    done by the engine. A file OUT is then written by this machine, in order; into OUT/ each part is written where it
    is read, so the workers of a cluster must share that folder. Either appears whole or not at all.

    \b
    Examples:
      veracity adjust forecasts.csv --to sample -o adjusted.csv
      veracity adjust forecasts.csv --to prior.csv --rule brier -o adjusted.parquet
      veracity adjust forecasts.csv --to em --trained-on uniform -o adjusted.csv
      veracity adjust year/*.parquet --to sample --engine dask -o adjusted/
    """
    check_rows_file(output, force)
    beside = None if output == "-" else map_beside(output)
    if beside is not None:
        check_file(str(beside), force)
    if trained_on is not None and to != "em":
        raise ValueError("--trained-on: only the estimate of --to em needs it")
    wanted_rule = number_or_name(rule)
    counting, reading = Counting.taken_from(options), reading_taken_from(options)

    from veracity import maps

    maps.adjustment(wanted_rule)  # refuses a rule that has none
    with Working("reading") as working, Together() as together:
        asked = to == "sample" or (to == "em" and trained_on in (None, "sample"))
        rows = one_model(files, reading, counting, working, output, outcomes="asked" if asked else "unused")
        if to == "em":
            target, finding = rows.label_shift(frequencies(trained_on or "sample", rows, "--trained-on"))
            click.echo(f"warning: {finding.message}", err=True)
        else:
            target = frequencies(to, rows, "--to")
        fitted = rows.adjustment(target, rule=wanted_rule)
        if beside is not None:
            together.add(beside, fitted.to_json())
        write(rows, fitted, output, together)
        say_what_changed(rows)
        told = summary(rows, target, fitted)
    click.echo(told, err=output == "-", nl=False)


def number_or_name(rule: str) -> str | float:
    try:
        return float(rule)
    except ValueError:
        return rule


def frequencies(which: str, rows: Rows, option: str) -> Any:
    """Class frequencies by word or from a file of class and probability."""
    import numpy as np

    if which == "sample":
        return rows.prior
    if which == "uniform":
        return np.full(len(rows.classes), 1.0 / len(rows.classes))
    path = Path(which)
    if not path.is_file():
        words = "sample, uniform" + (", em" if option == "--to" else "")
        raise ValueError(f"{option} {which}: no such file; give {words} or a file of class,probability")
    given = prior_from(path)
    names = [str(c) for c in rows.classes]
    if set(given) != set(names):
        raise ValueError(
            f"{which}: classes {', '.join(given)}, but the forecasts are for {', '.join(names)}\n"
            "  give one line per class:  class,probability"
        )
    return np.array([given[name] for name in names])


def prior_from(path: Path) -> dict[str, float]:
    """{class: probability} from lines of both, or from a line of probabilities under the names; a header may stand."""
    from veracity.read.text import number

    text = path.read_text(encoding="utf-8-sig")
    dialect = ";" if ";" in text else "\t" if "\t" in text else ","
    lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), delimiter=dialect) if any(line)]
    if len(lines) == 2 and len(lines[0]) > 2:
        lines = [list(pair) for pair in zip(*lines, strict=False)]
    found: dict[str, float] = {}
    for at, line in enumerate(lines):
        probability = number(line[1], comma=dialect != ",") if len(line) == 2 else None
        if probability is None:
            if at == 0 and len(line) == 2:  # the header
                continue
            raise ValueError(f"{path}: line {at + 1}, {dialect.join(line)!r} is not class{dialect}probability")
        name = line[0]
        if name in found:
            raise ValueError(f"{path}: class {name} stands twice")
        found[name] = probability
    if not found:
        raise ValueError(f"{path}: no class in it\n  give one line per class:  class,probability")
    return found


def summary(rows: Rows, target: Any, fitted: Any) -> str:
    """Class by class: mean score, target, and the weight or shift that leads from one to the other."""
    weights = getattr(fitted, "weights", None)
    moved, word = (weights, "weight") if weights is not None else (fitted.shift, "shift")
    names = [str(c) for c in rows.classes]
    wide = max(5, *map(len, names))
    lines = [f"{'class':<{wide}}  mean score      target  {word:>10}"]
    for row in zip(names, rows.mean, target, moved, strict=True):
        lines.append("{:<{wide}}  {:>10.6f}  {:>10.6f}  {:>10.6g}".format(*row, wide=wide))
    return "".join(f"{line}\n" for line in lines)
