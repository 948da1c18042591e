"""`veracity assess`: how far can these probabilities be trusted?"""

from __future__ import annotations

from typing import Any

import click

from veracity.cli._input import files_argument, input_options, reading_taken_from
from veracity.cli._output import Outputs, output_options
from veracity.cli._plan import plan_options, plan_taken_from
from veracity.engines import names


@click.command()
@files_argument
@input_options
@plan_options
@click.option(
    "--remedies", is_flag=True, help="Try every recalibration, cross-fitted; --report does it for up to 10 models."
)
@click.option("--engine", type=click.Choice(names()), help="Where the rows are counted; local by itself.")
@click.option("--engine-option", metavar="K=V", multiple=True, help="An option of the engine; repeatable.")
@click.option("--checkpoint", metavar="FILE", help="Keep the state here, and go on from it after an interruption.")
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
        engine=options["engine"],
        engine_options=_pairs(options["engine_option"]),
        checkpoint=options["checkpoint"],
    )
    deliver(assessed(asked), outputs)


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    for text in given:
        if "=" not in text:
            raise ValueError(f"--engine-option: {text!r} is no option of an engine\n  write NAME=VALUE")
    return {text.partition("=")[0]: text.partition("=")[2] for text in given}
