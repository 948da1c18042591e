"""Tallies as files: parts, days and sites that are merged later."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veracity.state.packing import KIND
from veracity.state.tally import Tally, total


def read_tally(path: str | Path) -> Tally:
    """Return the tally in a file."""
    data = Path(path).read_bytes()
    if not data.startswith(KIND):
        old = data.startswith(b"veracity tally ")
        kind = "a tally of another version of veracity: make it again" if old else "no tally"
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
