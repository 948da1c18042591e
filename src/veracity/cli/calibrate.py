"""`veracity calibrate`: fit a map on labelled forecasts, and apply it to others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._engine import Counting, engine_options
from veracity.cli._input import files_argument, input_options, reading_taken_from
from veracity.cli._output import Together, check_file
from veracity.cli._plan import MAPS
from veracity.cli._progress import Working
from veracity.cli._rows import check_rows_file, one_model, say_what_changed, write
from veracity.words import count

if TYPE_CHECKING:
    from veracity.data import Forecasts
    from veracity.maps import Fitted

FEW = 50  # cases, of which a map says little


@click.group()
def command() -> None:
    """Fit a map from stated to better probabilities, or apply one.

    \b
    Examples:
      veracity calibrate fit validation.csv --map temperature -o map.json
      veracity calibrate apply map.json test.csv -o calibrated.csv
    """


@command.command()
@files_argument
@click.option(
    "--map",
    "name",
    required=True,
    type=click.Choice([*MAPS, "best"]),
    help="Which map; best is the one with the largest cross-fitted gain in log loss.",
)
@click.option(
    "-o", "--output", required=True, metavar="map.json", help="Where the fitted map goes; - is standard output."
)
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@engine_options
@input_options
def fit(files: tuple[str, ...], name: str, output: str, force: bool, **options: Any) -> None:
    """Fit a map on the labelled forecasts in FILE.

    With --engine, or from 256 MB, the rows are counted in parts. Maps that match class frequencies are then fitted by
    passes over all rows; the others on all distinct rows where they are few, on the cells of the grid for two classes,
    or on a sample, and the last line says which.
    """
    if output != "-":
        check_file(output, force)
    counting, reading = Counting.taken_from(options), reading_taken_from(options)
    with Working("reading") as working:
        rows = one_model(files, reading, counting, working, "-")
        say_what_changed(rows)
        fitted = best(rows.rows) if name == "best" else rows.fit(name)
    with Together() as together:
        together.add(output, fitted.to_json() + "\n")
    where = "" if output == "-" else f" → {output}"
    click.echo(f"{fitted.text}, fitted on {rows.basis(fitted)}{where}", err=True)
    if fitted.needs_labels and rows.cases < FEW:
        click.echo(f"  {count(rows.cases, 'case')}: another sample of so few would give quite another map", err=True)


def best(forecasts: Forecasts) -> Fitted:
    from veracity.estimate.remedies import best_map

    found = best_map(forecasts)
    if found is None:
        raise ValueError("no map lowers the log loss of rows it was not fitted on; nothing was written")
    return found


@command.command()
@click.argument("map_file", metavar="map.json")
@files_argument
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="Mapped rows, .csv or .parquet; folder/ takes a file per part; - is CSV.",
)
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@engine_options
@input_options
def apply(map_file: str, files: tuple[str, ...], output: str, force: bool, **options: Any) -> None:
    """Apply a fitted map to the forecasts in FILE.

    Other columns are kept beside the mapped ones. Files without outcomes will do.

    With --engine, or from 256 MB, the rows are read in parts and never held; a file OUT is written by this machine, in
    order, and into OUT/ each part where it is read.
    """
    check_rows_file(output, force)
    from veracity import maps

    try:
        fitted = maps.from_json(Path(map_file).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{map_file}: this is no map in JSON; `veracity calibrate fit` writes one") from None
    except ValueError as error:
        raise ValueError(f"{map_file}: {error}") from None
    counting, reading = Counting.taken_from(options), reading_taken_from(options)
    with Working("reading") as working, Together() as together:
        rows = one_model(files, reading, counting, working, output, outcomes="unused", classes=fitted.classes)
        say_what_changed(rows)
        number = write(rows, fitted, output, together)
    if output != "-":
        click.echo(f"{fitted.text}, applied to {number:,} rows → {output}", err=True)
