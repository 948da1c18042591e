"""Tallies as files: parts, days and sites that are merged later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veracity.state.packing import KIND
from veracity.state.tally import Tally, total


def is_tally(path: str | Path) -> bool:
    """Return whether a file holds a tally of this or another version."""
    start = b"veracity tally "
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(len(start)) == start


def read_tally(path: str | Path) -> Tally:
    """Return the tally in a file."""
    data = Path(path).read_bytes()
    if not data.startswith(KIND):
        kind = "a tally of another version of veracity: make it again" if is_tally(path) else "no tally"
        raise ValueError(f"{path}: this is {kind}\n  write one:  veracity assess FILE --tally OUT")
    try:
        return Tally.from_bytes(data)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def merged(paths: Sequence[str | Path]) -> Tally:
    """Return the sum of the tallies in several files."""
    tallies = [read_tally(path) for path in paths]
    for path, tally in zip(paths[1:], tallies[1:], strict=True):
        try:
            total((tallies[0], tally))
        except ValueError as problem:
            raise ValueError(f"{paths[0]} and {path}: {problem}") from None
    return total(tallies)
