"""How many draws a table takes, numbered from where, and how long at most: the options of the tables of conclusions."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Draws:
    """The numbers of the draws of one row; the draws end when `seconds` of CPU time are over."""

    number: int
    first: int = 0
    seconds: float = float("inf")

    def __iter__(self) -> Iterator[int]:
        started = time.process_time()
        for draw in range(self.first, self.first + self.number):
            if time.process_time() - started > self.seconds:
                return
            yield draw


def options(docstring: str | None, draws: int, parts: Sequence[str] = ()) -> tuple[Draws, list[str]]:
    """Return the draws and the parts of the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=docstring, formatter_class=argparse.RawDescriptionHelpFormatter)
    if parts:
        parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(parts)}; all by default")
    parser.add_argument("--draws", type=int, default=draws, help="of each row (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first draw, its seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of CPU time at most for a row")
    given = parser.parse_args()
    chosen = list(getattr(given, "parts", [])) or list(parts)
    if unknown := set(chosen) - set(parts):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    return Draws(given.draws, given.first, given.seconds), chosen


def of_draws(found: Sequence[bool]) -> str:
    """Return the share of the draws that count, and their number."""
    return f"{100 * sum(found) / len(found):6.1f} % of {len(found):,}"
