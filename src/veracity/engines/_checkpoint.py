"""A file from which an interrupted run continues: the state, and the position in the input."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from veracity.files.whole_files import write_whole
from veracity.inputs.names import first_line
from veracity.read import Part, ReadOptions
from veracity.state.accumulator import Accumulator
from veracity.state.plain_bytes import dumps_checked, loads_checked
from veracity.state.plan import Plan

KIND = b"veracity checkpoint 2\n"


class Checkpoint:
    """The state of a run, with digests of its files (size and time of change), plan and reading options."""

    def __init__(self, path: str | Path, parts: Sequence[Part], reading: ReadOptions, plan: Plan | None) -> None:
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"checkpoint: no folder {self.path.absolute().parent}\n  make it first")
        if self.path.is_dir():
            raise ValueError(f"checkpoint: {path} is a folder\n  give a file name")
        self._of = {
            "files": _digest([_facts(part) for part in (*parts, *_weights(reading))]),
            "plan": _digest(None if plan is None else asdict(plan)),
            "reading options": _digest(asdict(reading)),
        }

    def resume(self, total: Accumulator) -> tuple[int, int, int]:
        """Add the saved state to `total`; return the part, the rows of it and all rows that are done."""
        if not self._exists():
            return 0, 0, 0
        try:
            snapshot = loads_checked(KIND, self.path.read_bytes())
            differing = [what for what, digest in self._of.items() if snapshot["of"][what] != digest]
            if not differing:
                total.merge(snapshot["state"])
            done = snapshot["part"], snapshot["skip"], snapshot["rows"]
            if not all(type(number) is int and number >= 0 for number in done):
                raise ValueError("no number of rows")
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as problem:
            raise ValueError(
                f"checkpoint: {self.path} is damaged ({first_line(problem)})\n  delete it to begin again"
            ) from None
        if differing:
            raise ValueError(
                f"checkpoint: {self.path} is of another run: the {differing[0]} differ\n"
                "  give the same files and options, or delete it to begin again"
            )
        return done

    def _exists(self) -> bool:
        """Return whether there is a checkpoint; refuse a file of another kind, which must not be lost."""
        if not self.path.exists():
            return False
        begin = b""
        if self.path.is_file():  # a device may have no end
            with self.path.open("rb") as file:
                begin = file.read(len(KIND))
        if begin != KIND:
            raise ValueError(f"checkpoint: {self.path} is a file of another kind\n  give another name")
        return True

    def write(self, total: Accumulator, part: int, skip: int, rows: int) -> None:
        """Replace the file at once, so that it is whole whenever the run is killed."""
        self._exists()  # nobody else's file lies there by now
        snapshot = {"of": self._of, "part": part, "skip": skip, "rows": rows, "state": total.state()}
        write_whole(self.path, dumps_checked(KIND, snapshot), safely=True)

    def remove(self) -> None:
        """Delete the file after a complete run."""
        if self._exists():
            self.path.unlink()


def _weights(reading: ReadOptions) -> list[Part]:
    """Return the file of weights, if any: it belongs to the data."""
    return [Part(reading.weight)] if reading.weight and os.path.isfile(reading.weight) else []


def _facts(part: Part) -> list[Any]:
    try:
        facts = os.stat(part.path)
    except OSError:
        return [part.path, part.first, part.rows]
    return [os.path.abspath(part.path), part.first, part.rows, facts.st_size, facts.st_mtime_ns]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
