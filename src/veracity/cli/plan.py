"""`veracity plan`: how many cases are needed to see an error."""

from __future__ import annotations

from typing import Any

import click

from veracity.cli._click import ESTIMATION, OUTPUT, Command, Option
from veracity.cli._output_files import to_stdout

BASELINE = Option(ESTIMATION, "--baseline P", "Base rate of the event.", required=True, type=float)
AUC = Option(ESTIMATION, "--auc A", "How well the forecasts rank the cases.", type=float, default=0.75)
DETECT = Option(
    ESTIMATION,
    '--detect "level 0.2"',
    "The error to be seen: level (log-odds), or slope (below 1: too extreme).",
    required=True,
)
POWER = Option(ESTIMATION, "--power", "Chance of seeing it.", type=float, default=0.8)
PER_DAY = Option(ESTIMATION, "--per-day N", "Cases a day, for the monitor.", type=click.IntRange(1), default=100)
JSON = Option(OUTPUT, "--json OUT|-", "Write the numbers as a JSON document; - is standard output.")
KINDS = ("level", "slope")


@click.command(cls=Command, params=[BASELINE, AUC, DETECT, POWER, PER_DAY, JSON])
def command(baseline: float, auc: float, detect: str, power: float, per_day: int, json: str | None, **_: Any) -> None:
    """Say how many cases, and events, are needed to see an error of the forecasts.

    By the same tests that judge: a verdict, a paired comparison with the corrected forecasts, and a monitor, on
    simulated forecasts of two classes with this base rate and AUC.

    \b
    Examples:
      veracity plan --baseline 0.1 --auc 0.75 --detect "level 0.2"
      veracity plan --baseline 0.3 --detect "slope 0.8" --power 0.9 --per-day 250
    """
    what, size = _error(detect)
    for name, value, low in (("baseline", baseline, 0.0), ("power", power, 0.05), ("auc", auc, 0.5)):
        if not low < value < 1.0:
            raise ValueError(f"--{name} {value:g} is not between {low:g} and 1")
    from veracity.results.plan_ahead import plan_ahead
    from veracity.words import monitoring

    plan = plan_ahead(baseline, what, size, auc=auc, power=power, per_update=per_day)
    if json is not None:
        from veracity.cli._output_files import OutputFiles

        with OutputFiles() as files:
            files.add(json, plan.to_json(1) + "\n")
    if json != "-":
        to_stdout(monitoring.plan(plan.record))


def _error(text: str) -> tuple[str, float]:
    """Return kind and size of an error."""
    words = text.split()
    try:
        kind, size = words[0], float(words[1])
    except (IndexError, ValueError):
        kind, size = "", 0.0
    usual = {"level": 0.0, "slope": 1.0}
    known = len(words) == 2 and kind in KINDS and size != usual[kind] and abs(size) <= 10.0
    if not known or (kind == "slope" and size <= 0.0):
        raise ValueError(
            f"--detect {text!r}: not an error that can be planned for\n"
            '  write "level 0.2" (log-odds, not 0) or "slope 0.8" (above 0, not 1)'
        )
    return kind, size
