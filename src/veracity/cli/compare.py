"""`veracity compare`: several models on the same cases, side by side."""

from __future__ import annotations

from typing import Any

import click

from veracity.cli._options import ASSESS, FILES, OUTPUTS, Command, Outputs, Request


@click.command(cls=Command, params=[FILES, *ASSESS, *OUTPUTS])
def command(files: tuple[str, ...], **options: Any) -> None:
    """Assess several models on the same cases, side by side.

    Each FILE is a model named by its stem; one FILE may hold several, in columns or by a column that names the model.
    Of several FILEs a folder is one model in parts. Cases are paired by --id, else by row; only cases that all models
    have are used, and their number is printed.

    \b
    Examples:
      veracity compare first.csv second.csv
      veracity compare models.csv --positive-proba 'gam,forest' --report out.html
      veracity compare first.csv second.csv --checkpoint state
      veracity compare long.csv --model forecaster --id question --csv -
    """
    outputs = Outputs.taken_from(options)
    request = Request.taken_from(files, options, outputs.quiet)

    from veracity.cli._deliver import answer
    from veracity.cli._work import compared

    answer(request, outputs, compared, several=True)
