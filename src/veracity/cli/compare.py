"""`veracity compare`: several models on the same cases, side by side."""

from __future__ import annotations

from typing import Any

import click

from veracity.cli._engine import Counting, checkpoint_option, engine_options
from veracity.cli._input import files_argument, input_options, reading_taken_from
from veracity.cli._output import Outputs, output_options
from veracity.cli._plan import plan_options, plan_taken_from


@click.command()
@files_argument
@input_options
@plan_options
@click.option(
    "--remedies", is_flag=True, help="Try every recalibration, cross-fitted; --report does it for up to 10 models."
)
@engine_options
@checkpoint_option
@output_options
def command(files: tuple[str, ...], **options: Any) -> None:
    """Assess several models on the same cases, side by side.

    Each FILE is a model named by its stem; one FILE may hold several, in columns or by a column that names the model.
    Of several FILEs a folder is one model in parts. Cases are paired by --id, else by row; only cases that all models
    have are used, and their number is printed.

    \b
    Examples:
      veracity compare first.csv second.csv
      veracity compare models.csv --positive-proba 'gam,forest' --report out.html
      veracity compare first.csv second.csv --engine local --checkpoint state
      veracity compare long.csv --model forecaster --id question --csv -
    """
    outputs = Outputs.taken_from(options)
    outputs.check(files)
    reading, plan = reading_taken_from(options), plan_taken_from(options)
    from veracity.cli._deliver import deliver
    from veracity.cli._work import Asked, compared

    wanted = "all" if options["remedies"] else "few" if outputs.report else ""
    counting = Counting.taken_from(options)
    asked = Asked(files, reading, plan, remedies=wanted, quiet=outputs.quiet, counting=counting)
    deliver(compared(asked), outputs)
