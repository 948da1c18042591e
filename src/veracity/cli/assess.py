"""`veracity assess`: how far can these probabilities be trusted?"""

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
    """Say how far the probabilities in FILE can be trusted.

    Several FILEs are parts of one set. The columns are recognised and printed; where two readings are possible, the
    command stops and names the option that decides.

    \b
    Examples:
      veracity assess forecasts.csv
      veracity assess forecasts.csv --report out.html
      veracity assess forecasts.csv --label truth --proba 'p_*' --json -
      veracity assess forecasts.csv --group site --markdown summary.md
      veracity assess forecasts.csv --preset CQ --plots pictures
      veracity assess forecasts.csv --checkpoint state --json -
    """
    outputs = Outputs.taken_from(options)
    outputs.check(files)
    reading, plan = reading_taken_from(options), plan_taken_from(options)
    from veracity.cli._deliver import deliver
    from veracity.cli._work import Asked, assessed

    asked = Asked(
        files,
        reading,
        plan,
        remedies="all" if options["remedies"] else "few" if outputs.report else "",
        quiet=outputs.quiet,
        counting=Counting.taken_from(options),
    )
    deliver(assessed(asked), outputs)
