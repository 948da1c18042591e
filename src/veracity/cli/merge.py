"""`veracity merge`: tallies of parts, days or sites become one."""

from __future__ import annotations

import glob
from typing import Any

import click

from veracity.cli._click import ESTIMATION, FORCE, OUTPUT, Command, Option
from veracity.cli._output_files import OutputFiles, check_files, tell

TALLIES = click.Argument(["tallies"], nargs=-1, required=True, metavar="TALLY…")
OUT = Option(OUTPUT, "-o --output OUT", "The merged tally.", required=True)
WITHOUT_ROWS = Option(
    ESTIMATION,
    "--without-rows N",
    "Leave rows, groups and lowest probabilities out, and join cells of fewer than N cases (two classes).",
    type=click.IntRange(1),
)


@click.command(cls=Command, params=[TALLIES, WITHOUT_ROWS, OUT, FORCE])
def command(tallies: tuple[str, ...], without_rows: int | None, output: str, force: bool, **_: Any) -> None:
    """Merge tallies of parts, days or sites, which `veracity assess … --tally OUT` writes.

    The merged tally is that of all cases together: `veracity assess OUT` says the same as of the cases themselves.

    \b
    Examples:
      veracity merge days/*.tally -o month.tally
      veracity merge site.tally --without-rows 10 -o shareable.tally
      veracity assess month.tally --report month.html
    """
    from veracity.files.files_read import FilesRead
    from veracity.results.tallies import merged

    paths = [path for name in tallies for path in (sorted(glob.glob(name)) or [name])]
    read = FilesRead(list(paths))
    check_files({"-o": output}, read, force)
    whole = merged(paths)
    whole = whole if without_rows is None else whole.without_rows(without_rows)
    with OutputFiles(read) as files:
        files.add(output, whole.to_bytes())
    tell(f"{len(paths)} {'tally' if len(paths) == 1 else 'tallies'}, {whole.cases:,} cases → {output}")
