"""`veracity merge`: tallies of parts, days or sites become one."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import ESTIMATION, FORCE, OUTPUT, Command, Option
from veracity.cli._output_files import OutputFiles, check_files, tell

if TYPE_CHECKING:
    from veracity.files.files_read import FilesRead

TALLIES = click.Argument(["tallies"], nargs=-1, required=True, metavar="TALLY…")
OUT = Option(OUTPUT, "-o --output OUT", "The merged tally.", required=True)
WITHOUT_ROWS = Option(
    ESTIMATION,
    "--without-rows N",
    "Leave rows, groups and lowest probabilities out, and join cells of fewer than N cases (two classes).",
    type=click.IntRange(1),
)
RING = Option(
    ESTIMATION,
    "--ring FILE",
    "Put each TALLY into a slot of this file, written again, and merge its last slots: a sliding window.",
)
LAST = Option(ESTIMATION, "--last N", "Slots of the ring: the oldest beyond them are dropped.", type=click.IntRange(1))


@click.command(cls=Command, params=[TALLIES, RING, LAST, WITHOUT_ROWS, OUT, FORCE])
def command(
    tallies: tuple[str, ...],
    ring: str | None,
    last: int | None,
    without_rows: int | None,
    output: str,
    force: bool,
    **_: Any,
) -> None:
    """Merge tallies of parts, days or sites, which `veracity assess … --tally OUT` writes.

    The merged tally is that of all cases together: `veracity assess OUT` says the same as of the cases themselves.

    \b
    Examples:
      veracity merge days/*.tally -o month.tally
      veracity merge today.tally --ring month.ring --last 30 -o month.tally --force
      veracity merge site.tally --without-rows 10 -o shareable.tally
      veracity assess month.tally --report month.html
    """
    from veracity.files.files_read import FilesRead
    from veracity.results.tallies import merged, ring_total

    paths = [path for name in tallies for path in (sorted(glob.glob(name)) or [name])]
    read = FilesRead(list(paths))
    check_files({"-o": output}, read, force)
    slots = _ring(ring, last, paths, read)
    whole = merged(paths) if slots is None else ring_total(slots)
    whole = whole if without_rows is None else whole.without_rows(without_rows)
    with OutputFiles(read) as files:
        files.add(output, whole.to_bytes())
        if ring is not None and slots is not None:
            files.add(ring, slots)
    tell(f"{len(paths)} {'tally' if len(paths) == 1 else 'tallies'}, {whole.cases:,} cases → {output}")


def _ring(ring: str | None, last: int | None, paths: list[str], read: FilesRead) -> bytes | None:
    """Return the ring after the tallies; None without one."""
    from veracity.results.tallies import read_tally, ring_after

    if (ring is None) != (last is None):
        raise ValueError("--ring FILE and --last N go together: a file with N slots\n  give both, or none")
    if ring is None or last is None:
        return None
    read.refuse(ring, "--ring")
    ring_file = Path(ring)
    before = ring_file.read_bytes() if ring_file.exists() else None
    try:
        return ring_after(before, [read_tally(path).to_bytes() for path in paths], last)
    except ValueError as problem:
        raise ValueError(f"--ring {ring}: {problem}") from None
