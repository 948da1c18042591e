"""Which files are read, whatever they are called: no output may take the place of one of them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

Place = tuple[int, int] | str  # device and number of a file, or the path of one that does not exist yet


def place_of(path: str | Path) -> Place:
    """Return the same for all names of a file: relative, linked, or linked hard."""
    try:
        facts = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return facts.st_dev, facts.st_ino


class FilesRead:
    """Files that are read; "-" is standard input, which may come from a file."""

    def __init__(self, paths: Iterable[str | Path] = ()) -> None:
        self._places: set[Place] = set()
        for path in paths:
            with suppress(OSError, ValueError):  # what is no file cannot be lost
                facts = os.fstat(sys.stdin.fileno()) if str(path) == "-" else os.stat(path)
                if stat.S_ISREG(facts.st_mode):
                    self._places.add((facts.st_dev, facts.st_ino))

    def refuse(self, path: str | Path, called: str = "") -> None:
        """Refuse to write a file that is read; `called`: the option that names it."""
        if place_of(path) in self._places:
            which = "the file that is read" if len(self._places) == 1 else "one of the files that are read"
            raise ValueError(f"{called} {path} is {which}; give another name".lstrip())
