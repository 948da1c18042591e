"""`veracity estimate`: what forecasts without outcomes would score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import ESTIMATION, FILES, OUTPUTS, READ, Command, Option, Outputs, Request, read_options_from
from veracity.cli._output_files import check_outputs, files_read, tell, to_stdout
from veracity.progress import ProgressBar

if TYPE_CHECKING:
    from veracity.inputs import Forecasts
    from veracity.read import Layout

REFERENCE = Option(
    ESTIMATION, "--reference REF", "Labelled forecasts of the same model, read by the same options.", required=True
)
R = Option(
    ESTIMATION, "--r R", "Further risk parameter (1: Brier score, 0: log loss); repeatable.", multiple=True, type=float
)
HINTS = ("More: --json out.json (every number)",)


@click.command(cls=Command, params=[FILES, REFERENCE, R, *READ, *OUTPUTS])
def command(files: tuple[str, ...], reference: str, r: tuple[float, ...], **options: Any) -> None:
    """Estimate what the forecasts in FILE, whose outcomes are not known yet, will score.

    The expectation of each score under the recalibration of the reference: other cases are allowed for, a changed
    relation between forecasts and outcomes is not seen. Outcomes in FILE are not used.

    \b
    Examples:
      veracity estimate new.csv --reference validation.csv
      veracity estimate new.csv --reference validation.csv --json -
    """
    outputs = Outputs.taken_from(options)
    request = Request(files, read_options_from(options), quiet=outputs.quiet)
    read = files_read(request, reference)
    check_outputs(outputs, read)
    for value in r:
        if not value > -1.0:
            raise ValueError(f"--r {value:g}: scores are proper for r > -1")

    from veracity.cli._deliver import deliver
    from veracity.cli.monitor import labelled_reference, single_model
    from veracity.results.estimate import estimate

    with ProgressBar("reading", quiet=outputs.quiet) as working:
        with labelled_reference(reference):
            layout, labelled = single_model(replace(request, files=(reference,)), (reference,))
        new = _new(request, layout)
        working.begin("estimating")
        expectation = estimate(labelled, new, r=r, model=Path(files[0]).name)
        printed = deliver(expectation, outputs, read, hints=HINTS)
    to_stdout(printed)


def _new(request: Request, layout: Layout) -> Forecasts:
    """Return the forecasts of the files, in the columns that the reference has them in."""
    from veracity import read
    from veracity.read.paths import listed
    from veracity.read.unlabelled import options_of_forecasts

    reading = options_of_forecasts(request.reading, layout)
    if reading is None:
        raise ValueError(
            "the rows of the reference are not one forecast each\n  give a column for each class, or one of two"
        )
    source = read.open(listed(list(request.files)), reading)
    if not request.quiet:
        tell(source.layout.one_line())
    return next(iter(source.read().values()))
