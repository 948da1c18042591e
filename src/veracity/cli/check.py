"""`veracity check`: requirements that forecasts must meet; exit code 1 when one fails."""

from __future__ import annotations

from typing import Any

import click

from veracity.cli._engine import Counting, checkpoint_option, engine_options
from veracity.cli._input import files_argument, input_options, reading_taken_from
from veracity.cli._plan import plan_options, plan_taken_from


@click.command()
@files_argument
@click.option(
    "--require",
    "wanted",
    metavar="NAME>=NUMBER",
    multiple=True,
    required=True,
    help="A name of the JSON document, a comparison and a number; MODEL: in front names one model; repeatable.",
)
@input_options
@plan_options
@engine_options
@checkpoint_option
@click.option("--quiet", is_flag=True, help="Print only what failed.")
def command(files: tuple[str, ...], wanted: tuple[str, ...], quiet: bool, **options: Any) -> int:
    """Check requirements: exit 0 when all are met, 1 when one fails.

    Names are paths in the JSON document of `assess`. Without a model's name a requirement holds for every model. A
    number that is not known fails.

    \b
    Examples:
      veracity check forecasts.csv --require "reported.accuracy>=0.6"
      veracity check forecasts.csv --require "scores.log_loss.high<=0.7" --require "verdict!=over-confident"
      veracity check forecasts.csv --require "n>=100" --engine local --checkpoint state
      veracity check models.csv --require "gam:losses.log.CL.high<=0.2"
    """
    from veracity.cli._work import Asked, assessed
    from veracity.results.requirements import Requirement, check

    requirements = [Requirement.parse(text) for text in wanted]
    reading, plan = reading_taken_from(options), plan_taken_from(options)
    document = assessed(Asked(files, reading, plan, quiet=quiet, counting=Counting.taken_from(options)))
    try:
        outcomes = check(document, requirements)
    except ValueError as error:
        raise ValueError(f"veracity check: {error}") from None
    for outcome in outcomes:
        if not (quiet and outcome.met):
            click.echo(str(outcome))
    return 0 if all(outcome.met for outcome in outcomes) else 1
