"""`veracity calibrate`: fit a map on labelled forecasts, and apply it to others."""

from __future__ import annotations

import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._input import files_argument, input_options, reading_taken_from
from veracity.cli._output import Together, check_file
from veracity.cli._rows import check_rows_file, checked_probabilities, content, one_model

if TYPE_CHECKING:
    from veracity.forecasts import Forecasts
    from veracity.maps import Fitted

_FOLDER = str(Path(__file__).parents[1] / "maps")
MAPS = sorted(name for _, name, _ in pkgutil.iter_modules([_FOLDER]) if not name.startswith("_"))


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
@input_options
def fit(files: tuple[str, ...], name: str, output: str, force: bool, **options: Any) -> None:
    """Fit a map on the labelled forecasts in FILE."""
    if output != "-":
        check_file(output, force)
    from veracity import maps

    forecasts = one_model(files, reading_taken_from(options))
    fitted = best(forecasts) if name == "best" else maps.fit(name, forecasts)
    with Together() as together:
        together.add(output, fitted.to_json() + "\n")
    where = "" if output == "-" else f" → {output}"
    click.echo(f"{fitted.text}, fitted on {len(forecasts):,} rows{where}", err=True)


def best(forecasts: Forecasts) -> Fitted:
    from veracity import maps

    found = maps.winner(forecasts, maps.remedies(forecasts))
    if found is None:
        raise ValueError("no map lowers the log loss of rows it was not fitted on; nothing was written")
    return found


@command.command()
@click.argument("map_file", metavar="map.json")
@files_argument
@click.option("-o", "--output", required=True, metavar="OUT", help="Mapped rows, .csv or .parquet; - is CSV.")
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
@input_options
def apply(map_file: str, files: tuple[str, ...], output: str, force: bool, **options: Any) -> None:
    """Apply a fitted map to the forecasts in FILE."""
    check_rows_file(output, force)
    from veracity import maps

    try:
        fitted = maps.from_json(Path(map_file).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{map_file}: this is no map in JSON; `veracity calibrate fit` writes one") from None
    except ValueError as error:
        raise ValueError(f"{map_file}: {error}") from None
    forecasts = one_model(files, reading_taken_from(options))
    rows = in_their_order(fitted, forecasts)
    checked_probabilities(rows, forecasts)
    with Together() as together:
        together.add(output, content(forecasts, rows, output))
    if output != "-":
        click.echo(f"{fitted.text}, applied to {len(forecasts):,} rows → {output}", err=True)


def in_their_order(fitted: Fitted, forecasts: Forecasts) -> Any:
    """Mapped rows with the file's order of classes, whatever the map's."""
    theirs, ours = [str(c) for c in forecasts.classes], [str(c) for c in fitted.classes]
    if sorted(theirs) != sorted(ours):
        raise ValueError(f"the map is for classes {', '.join(ours)}, the forecasts are for {', '.join(theirs)}")
    order = [theirs.index(name) for name in ours]
    return fitted(forecasts.matrix[:, order])[:, [ours.index(name) for name in theirs]]
