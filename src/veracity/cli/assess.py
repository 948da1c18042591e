"""`veracity assess`: how far can these probabilities be trusted?"""

from __future__ import annotations

from typing import Any

import click

from veracity.cli._click import ASSESS, FILES, METRICS, OUTPUT, OUTPUTS, Command, Option, Outputs, Request

TALLY = Option(
    OUTPUT, "--tally OUT", "Write the tally, which `veracity merge` adds and `veracity assess OUT` reads again."
)


@click.command(cls=Command, params=[FILES, *ASSESS, *OUTPUTS, *METRICS, TALLY])
def command(files: tuple[str, ...], tally: str | None, **options: Any) -> None:
    """Say how far the probabilities in FILE can be trusted.

    Several FILEs are parts of one set, or tallies that are merged. The columns are recognised and printed; where two
    readings are possible, the command stops and names the option that decides. FILE::TABLE is a table of a database.

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
    request = Request.taken_from(files, options, outputs.quiet, outputs.tell_hashes)

    from veracity.cli._assessments import assessed
    from veracity.cli._deliver import answer

    answer(request, outputs, assessed, tally)
