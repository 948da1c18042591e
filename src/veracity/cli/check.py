"""`veracity check`: requirements that forecasts must meet; exit code 1 when one fails."""

from __future__ import annotations

from typing import Any

import click

from veracity.cli._options import ASSESS, FILES, OUTPUT, Command, Option, Request
from veracity.cli._output import tell

REQUIRE = Option(
    OUTPUT,
    "--require NAME>=NUMBER",
    "Name in the JSON document, comparison and number; MODEL: in front names one model; repeatable.",
    name="wanted",
    multiple=True,
    required=True,
)
QUIET = Option(OUTPUT, "--quiet", "Print only what failed.", is_flag=True)


@click.command(cls=Command, params=[FILES, REQUIRE, *ASSESS, QUIET])
def command(files: tuple[str, ...], wanted: tuple[str, ...], quiet: bool, **options: Any) -> int:
    """Check requirements: exit 0 when all are met, 1 when one fails.

    Names are paths in the JSON document of `assess`. Without a model's name a requirement holds for every model. A
    number that is not known fails.

    \b
    Examples:
      veracity check forecasts.csv --require "reported.geometric_accuracy>=0.6"
      veracity check forecasts.csv --require "scores.log_loss.high<=0.7" --require "verdict!=over-confident"
      veracity check forecasts.csv --require "n>=100" --checkpoint state
      veracity check models.csv --require "gam:losses.log.CL.high<=0.2"
    """
    from veracity.cli._progress import Working
    from veracity.cli._work import assessed
    from veracity.results.requirements import Requirement, check, lazy_document

    requirements = [Requirement.parse(text) for text in wanted]
    request = Request.taken_from(files, options, quiet)
    with Working("reading", quiet=quiet) as working:
        document = lazy_document(assessed(request, working))
        try:
            outcomes = check(document, requirements)
        except ValueError as error:
            raise ValueError(f"veracity check: {error}") from None
    for outcome in outcomes:
        if not (quiet and outcome.met):
            tell(str(outcome), err=False)
    return 0 if all(outcome.met for outcome in outcomes) else 1
