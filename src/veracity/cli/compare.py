"""`veracity compare`: which of several models is better on the same cases, and by how much?"""

from __future__ import annotations

from typing import Any

import click

from veracity.cli._click import ASSESS, ESTIMATION, FILES, OUTPUTS, Command, Option, Outputs, Request, options_for
from veracity.state.plan import PLANNED

REFERENCE = Option(ESTIMATION, "--reference MODEL", "Compare every model with this one only.")


@click.command(cls=Command, params=[FILES, *ASSESS, REFERENCE, *options_for(PLANNED, "compare"), *OUTPUTS])
def command(files: tuple[str, ...], reference: str | None, **options: Any) -> None:
    """Say which model is better on the same cases, and by how much.

    Each FILE is a model named by its stem; one FILE may hold several, in columns or by a column that names the model.
    Of several FILEs a folder is one model in parts. Cases are paired by --id, else by row; only cases that all models
    have are used, and their number is printed.

    \b
    Examples:
      veracity compare first.csv second.csv
      veracity compare models.csv --positive-proba 'gam,forest' --report out.html
      veracity compare models.csv --positive-proba 'gam,forest' --time date --reference gam
      veracity compare first.csv second.csv --cluster patient --group site
      veracity compare first.csv second.csv --checkpoint state
      veracity compare long.csv --model forecaster --id question --csv -
    """
    outputs = Outputs.taken_from(options)
    request = Request.taken_from(files, options, outputs.quiet, outputs.tell_hashes)

    from veracity.cli._assessments import compared
    from veracity.cli._deliver import answer

    answer(request, outputs, lambda asked, working: compared(asked, working, reference))
