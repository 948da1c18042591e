"""`veracity calibrate`: fit a map on labelled forecasts, and apply it to others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import ENGINES, ESTIMATION, FILES, FORCE, MAPS, OUTPUT, READ, Command, Option, Request
from veracity.cli._mapped_rows import ROWS, SUFFIX, check_rows_file, one_model, warn_of_changes, write
from veracity.cli._output_files import OutputFiles, check_files, files_read, tell
from veracity.progress import ProgressBar

if TYPE_CHECKING:
    from veracity.calibrators import Fitted
    from veracity.state.tally import Tally

NAME = Option(
    ESTIMATION,
    "--map",
    "Kind of map; advised is the one that assess advises, best the one with the largest cross-validated gain.",
    name="name",
    required=True,
    type=click.Choice(["advised", "best", *MAPS]),
)
MAP_FILE = click.Argument(["map_file"], metavar="map.json")
OUT = Option(OUTPUT, "-o --output map.json", "Fitted map; - is standard output.", required=True)


@click.group()
def command() -> None:
    """Fit a map from stated to better probabilities, or apply one.

    \b
    Examples:
      veracity calibrate fit validation.csv --map temperature -o map.json
      veracity calibrate apply map.json test.csv -o calibrated.csv
    """


@command.command(cls=Command, params=[FILES, *READ, NAME, OUT, FORCE, *ENGINES])
def fit(files: tuple[str, ...], name: str, output: str, force: bool, **options: Any) -> None:
    """Fit a map on the labelled forecasts in FILE.

    Maps that match class frequencies are fitted on all rows; the others on all distinct rows where they are few, else
    on the cells of a grid for two classes, or on a sample. The last line says which.
    """
    request = Request.taken_from(files, options)
    read = files_read(request)
    check_files({"-o": output}, read, force)
    with ProgressBar("reading") as working:
        model = one_model(request, working, judged=name in CHOSEN)
        warn_of_changes(model)
        fitted = CHOSEN[name](model.tally) if name in CHOSEN else model.fit(name)
    with OutputFiles(read) as outputs:
        outputs.add(output, fitted.to_json() + "\n")
    where = "" if output == "-" else f" → {output}"
    tell(f"{fitted.text}, fitted on {model.basis(fitted)}{where}")
    from veracity.results.calibrator import warnings

    for text in warnings(fitted, model.tally):
        tell(f"  {text}")


def advised(tally: Tally) -> Fitted:
    """Return the map that the assessment of these forecasts advises."""
    from veracity.results.assess import assessment
    from veracity.words import advised_nothing

    fixed = assessment(tally)
    if fixed.advised_map is None:
        raise ValueError(f"{advised_nothing(fixed.advice, fixed.verdict)}; nothing was written\n  fit one:  --map best")
    return fixed.fix().fitted


def best(tally: Tally) -> Fitted:
    """Return the map with the largest cross-validated gain, fitted on all rows."""
    from veracity.results.calibrator import named

    return named("best", tally)


CHOSEN = {"advised": advised, "best": best}


@command.command(cls=Command, params=[MAP_FILE, FILES, *READ, ROWS, SUFFIX, FORCE, *ENGINES])
def apply(map_file: str, files: tuple[str, ...], output: str, suffix: str | None, force: bool, **options: Any) -> None:
    """Apply a fitted map to the forecasts in FILE.

    All columns stay as they are, and mapped probabilities replace the forecasts, on their scale; where rows are no
    forecasts, such as one line per class, they get columns p_CLASS. Files without outcomes will do. A file OUT is
    written by this machine, in order; into OUT/ each part is written where it is read.
    """
    request = Request.taken_from(files, options)
    read = files_read(request, map_file)
    check_rows_file(output, force, read)
    from veracity import calibrators

    try:
        fitted = calibrators.from_json(Path(map_file).read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{map_file}: this is not a map in JSON; `veracity calibrate fit` writes one") from None
    except ValueError as error:
        raise ValueError(f"{map_file}: {error}") from None
    with ProgressBar("reading") as working, OutputFiles(read) as outputs:
        model = one_model(request, working, outcomes="unused", classes=fitted.classes, suffix=suffix)
        warn_of_changes(model)
        number = write(model, fitted, output, outputs, suffix)
    if output != "-":
        tell(f"{fitted.text}, applied to {number:,} rows → {output}")
