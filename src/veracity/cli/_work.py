"""From files to assessments: what `assess`, `compare` and `check` share. Importing waits until a command runs."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._progress import Working

if TYPE_CHECKING:
    from veracity.forecasts import Forecasts
    from veracity.plan import Plan
    from veracity.read import Reading, Source

HASHED = 1 << 30  # bytes of input up to which its hash is part of the provenance


@dataclass(frozen=True)
class Asked:
    """What a command was asked to do with the files."""

    files: tuple[str, ...]
    reading: Reading
    plan: Plan
    remedies: bool = False
    quiet: bool = False


def assessed(asked: Asked) -> dict[str, Any]:
    """FILEs are parts of one set: the document of its model, or of its models."""
    from veracity.read import source

    started = time.perf_counter()
    with Working("reading", quiet=asked.quiet) as working:
        opened = source(list(asked.files), asked.reading)
        _say(opened.layout.one_line(), asked.quiet)
        models = opened.read()
        made = {"reading": opened.layout.describe(), "inputs": _inputs([opened])}
        return _documents(models, asked, made, working, started)


def compared(asked: Asked) -> dict[str, Any]:
    """Each FILE is a model, or one FILE holds several: the document of all, on the cases that all have."""
    from veracity.read import paired, source
    from veracity.read.files import expanded, stem

    started = time.perf_counter()
    with Working("reading", quiet=asked.quiet) as working:
        paths = expanded(list(asked.files))
        opened = [source([path], asked.reading) for path in paths]
        models: dict[str, Forecasts] = {}
        for path, one in zip(paths, opened, strict=True):
            _say(one.layout.one_line(), asked.quiet)
            held = one.read()
            for name, forecasts in held.items():
                own = name if len(paths) == 1 else stem(path) if len(held) == 1 else f"{stem(path)} {name}"
                if own in models:
                    raise ValueError(f"two models are called {own}\n  give the files different names")
                models[own] = forecasts
        if len(models) < 2:
            raise ValueError(
                f"{', '.join(asked.files)}: one model, `{next(iter(models))}`; a comparison needs two\n"
                f"  assess it alone:  veracity assess {shlex.join(asked.files)}"
            )
        models, said = paired(models)
        _say(said, asked.quiet)
        reading = "\n".join([*(one.layout.describe() for one in opened), said])
        return _documents(
            models, asked, {"reading": reading, "inputs": _inputs(opened)}, working, started, several=True
        )


def _documents(
    models: Mapping[str, Forecasts],
    asked: Asked,
    made: Mapping[str, Any],
    working: Working,
    started: float,
    several: bool = False,
) -> dict[str, Any]:
    from veracity.assessment import SEVERAL, of_tally
    from veracity.tally import Tally

    command = click.get_current_context().find_root().obj or {}
    made = {**made, "command": command.get("command")}
    found = {}
    for i, (name, forecasts) in enumerate(models.items(), 1):
        working.now("assessing" if len(models) == 1 else f"assessing {name} ({i} of {len(models)})")
        assessment = of_tally(Tally.count(forecasts, asked.plan), model=name, provenance=made, started=started)
        if asked.remedies:
            assessment.remedies()
        document = assessment.document()
        document["provenance"]["seconds"] = round(time.perf_counter() - started, 3)
        found[name] = document
    if len(found) == 1 and not several:
        return next(iter(found.values()))
    return {"schema": SEVERAL, "models": found}


def _inputs(opened: Iterable[Source]) -> list[dict[str, Any]]:
    """Name, size, rows and hash of every file that was read."""
    return [{"path": table.name, "rows": table.rows, **_facts(table.path)} for one in opened for table in one.tables]


def _facts(path: Path | None) -> dict[str, Any]:
    if path is None or not path.is_file():
        return {}
    size = path.stat().st_size
    if size > HASHED:
        return {"bytes": size}
    import hashlib

    with path.open("rb") as stream:
        return {"bytes": size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        click.echo(line, err=True)
