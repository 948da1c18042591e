"""From files to assessments: what `assess`, `compare` and `check` share. Importing waits until a command runs."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._engine import Counting
from veracity.cli._progress import Working

if TYPE_CHECKING:
    from veracity.assessment import Assessment
    from veracity.forecasts import Forecasts
    from veracity.plan import Plan
    from veracity.read import Reading

HASHED = 1 << 30  # bytes of a file up to which its hash is part of the provenance
MANY = 10  # models up to which a report tries the remedies of each
FEWEST = 20  # cases below which there is nothing to fit a remedy on


@dataclass(frozen=True)
class Asked:
    """What a command was asked to do with the files."""

    files: tuple[str, ...]
    reading: Reading
    plan: Plan
    remedies: str = ""  # "all": of every model; "few": unless there are many; "": none
    quiet: bool = False
    counting: Counting = field(default_factory=Counting)


def assessed(asked: Asked) -> dict[str, Any]:
    """FILEs are parts of one set: the document of its model, or of its models."""
    from veracity.read.files import expanded

    started = time.perf_counter()
    paths = expanded(list(asked.files))
    with Working("reading", quiet=asked.quiet) as working:
        if asked.counting.in_parts(paths):
            found = _streamed(asked, paths, working)
        else:
            found = _held(asked, paths, working, started)
        documents = _documents(found, asked, working, started)
    return next(iter(documents["models"].values())) if len(found) == 1 else documents


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
        made = _provenance(paths, reading)
        return _documents(_counted(models, asked.plan, made, working, started), asked, working, started)


def _held(asked: Asked, paths: list[Path], working: Working, started: float) -> dict[str, Assessment]:
    """All rows in memory."""
    from veracity.read import source

    opened = source(paths, asked.reading)
    _say(opened.layout.one_line(), asked.quiet)
    made = _provenance(paths, opened.layout.describe())
    return _counted(opened.read(), asked.plan, made, working, started)


def _counted(
    models: Mapping[str, Forecasts], plan: Plan, made: Mapping[str, Any], working: Working, started: float
) -> dict[str, Assessment]:
    from veracity.assessment import of_tally
    from veracity.tally import Tally

    working.now("counting")
    return {
        name: of_tally(Tally.count(forecasts, plan), model=name, provenance=made, started=started)
        for name, forecasts in models.items()
    }


def _streamed(asked: Asked, paths: list[Path], working: Working) -> dict[str, Assessment]:
    """In batches, or on a cluster: the numbers are the same."""
    opened = asked.counting.opened(paths, asked.reading, working)
    _say(opened.layout.one_line(), asked.quiet)
    made = _provenance(paths, opened.layout.describe())
    return opened.assess(asked.plan, checkpoint=asked.counting.checkpoint, provenance=made)


def _documents(found: Mapping[str, Assessment], asked: Asked, working: Working, started: float) -> dict[str, Any]:
    from veracity.assessment import SEVERAL

    documents = {}
    for i, (name, assessment) in enumerate(found.items(), 1):
        working.now("assessing" if len(found) == 1 else f"assessing {name} ({i} of {len(found)})")
        if asked.remedies and assessment.n >= FEWEST and (len(found) <= MANY or asked.remedies == "all"):
            assessment.remedies()
        documents[name] = assessment.document()
        documents[name]["provenance"]["seconds"] = round(time.perf_counter() - started, 3)
    return {"schema": SEVERAL, "models": documents}


def _provenance(paths: Iterable[Path], reading: str) -> dict[str, Any]:
    """The command, how the columns were understood, and name, size and hash of every file."""
    said = click.get_current_context().find_root().obj or {}
    inputs = [{"path": path.name, **_facts(path)} for path in paths]
    return {"command": said.get("command"), "reading": reading, "inputs": inputs}


def _facts(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    size = os.path.getsize(path)
    if size > HASHED:
        return {"bytes": size}
    import hashlib

    with path.open("rb") as stream:
        return {"bytes": size, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        click.echo(line, err=True)
