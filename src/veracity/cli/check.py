"""`veracity check`: requirements that forecasts must meet; exit code 1 when one fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import ASSESS, FILES, FORCE, OUTPUT, Command, Option, Request
from veracity.cli._output_files import OutputFiles, check_files, files_read, tell

if TYPE_CHECKING:
    from veracity.results.check import Outcome

REQUIRE = Option(
    OUTPUT,
    "--require NAME>=NUMBER",
    "Name in the JSON document, comparison and number; MODEL: in front names one model; with --against also "
    '"log_loss not worse by 0.01"; repeatable.',
    name="wanted",
    multiple=True,
)
REQUIREMENTS = Option(OUTPUT, "--requirements FILE.toml", "File with a list of requirements, and possibly a baseline.")
AGAINST = Option(OUTPUT, "--against BASELINE", "Forecasts of the same cases that may not be better by a margin.")
MARKDOWN = Option(OUTPUT, "--markdown OUT|-", "Write the outcomes as a table for a pull request.")
JUNIT = Option(OUTPUT, "--junit OUT.xml", "Write the outcomes as JUnit XML for a CI system.")
QUIET = Option(OUTPUT, "--quiet", "Print only what failed.", is_flag=True)


@click.command(cls=Command, params=[FILES, REQUIRE, REQUIREMENTS, AGAINST, *ASSESS, MARKDOWN, JUNIT, FORCE, QUIET])
def command(
    files: tuple[str, ...],
    wanted: tuple[str, ...],
    requirements: str | None,
    against: str | None,
    markdown: str | None,
    junit: str | None,
    force: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Check requirements: exit 0 when all are met, 1 when one fails.

    Names are paths in the JSON document of `assess`. Without a model's name a requirement holds for every model. A
    number that is not known fails, and so does a verdict that cannot tell; "verdict!=biased" fails for every verdict
    that names it, "verdict!=miscalibrated" for every fault. With --against, "NAME not worse by MARGIN" is met when the
    interval of the paired difference from the baseline excludes a loss above the margin.

    \b
    Examples:
      veracity check forecasts.csv --require "reported.geometric_accuracy>=0.6"
      veracity check forecasts.csv --require "scores.log_loss.high<=0.7" --require "verdict!=miscalibrated"
      veracity check forecasts.csv --require "n>=100" --checkpoint state
      veracity check models.csv --require "gam:losses.log.CL.high<=0.2"
      veracity check second.csv --against first.csv --require "log_loss not worse by 0.01"
    """
    from veracity.progress import ProgressBar
    from veracity.results import check as gate

    lines = list(wanted)
    if requirements is not None:
        more, named = gate.from_file(requirements)
        lines, against = [*lines, *more], against or named
    if not lines:
        raise ValueError('nothing is required\n  add --require "scores.log_loss<=0.4", or --requirements FILE.toml')
    parsed = [gate.parse(text) for text in lines]
    if against is None and any(isinstance(one, gate.NotWorse) for one in parsed):
        raise ValueError(f"--require {str(lines[0])!r}: worse than what?\n  name the baseline:  --against BASELINE")
    if against is not None and not any(isinstance(one, gate.NotWorse) for one in parsed):
        raise ValueError(
            f"--against {against} has no effect: nothing is compared with it\n"
            '  leave it out, or add --require "log_loss not worse by 0.01"'
        )
    if junit == "-":
        raise ValueError("--junit -: give the name of a file, such as check.xml")
    request = Request.taken_from(files, options, quiet)
    read = files_read(request, against, requirements)
    check_files({"--markdown": markdown, "--junit": junit}, read, force, request.checkpoint)
    with ProgressBar("reading", quiet=quiet) as working:
        outcomes = _outcomes(request, working, parsed, against)
    reports = [(markdown, gate.to_markdown), (junit, gate.to_junit)]
    with OutputFiles(read) as together:
        for path, render in reports:
            if path is not None:
                together.add(path, render(outcomes, files))
    for outcome in outcomes:
        if markdown != "-" and not (quiet and outcome.met):
            tell(str(outcome), err=False)
    return 0 if all(outcome.met for outcome in outcomes) else 1


def _outcomes(request: Request, working: Any, parsed: list[Any], against: str | None) -> list[Outcome]:
    """Return how every requirement came out, in their order."""
    from veracity.cli._assessments import assessed, compared_with
    from veracity.results.check import NotWorse, check, lazy_document

    comparison = None if against is None else compared_with(request, working, against)
    models = assessed(request, working) if comparison is None else dict(list(comparison.models.items())[:1])
    document = lazy_document(models)
    outcomes: list[Outcome] = []
    try:
        for one in parsed:
            if isinstance(one, NotWorse):
                assert comparison is not None
                outcomes.append(one.judged(comparison))
            else:
                outcomes += check(document, [one])
    except ValueError as error:
        raise ValueError(f"check: {error}") from None
    return outcomes
