"""From files to assessments: what `assess`, `compare` and `check` share. Importing waits until a command runs."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._engine import Counting
from veracity.cli._progress import Working

if TYPE_CHECKING:
    from veracity.data import Forecasts
    from veracity.read import Match, ReadOptions, Source
    from veracity.results.assessment import Assessment
    from veracity.state.plan import Plan

HASHED = 1 << 30  # bytes of a file up to which its hash is part of the provenance
MANY = 10  # models up to which a report tries the remedies of each
FEWEST = 20  # cases below which there is nothing to fit a remedy on


@dataclass(frozen=True)
class Asked:
    """What a command was asked to do with the files."""

    files: tuple[str, ...]
    reading: ReadOptions
    plan: Plan
    remedies: str = ""  # "all": of every model; "few": unless there are many; "": none
    quiet: bool = False
    counting: Counting = field(default_factory=Counting)


def assessed(asked: Asked) -> dict[str, Any]:
    """FILEs are parts of one set: the document of its model, or of its models."""
    from veracity.read.files import expanded, is_address

    started = time.perf_counter()
    remote = asked.counting.engine == "spark" and len(asked.files) == 1 and is_address(asked.files[0])
    paths: list[Path] = [] if remote else expanded(list(asked.files))
    with Working("reading", quiet=asked.quiet) as working:
        if asked.counting.in_parts(paths):
            found = _streamed(asked, asked.files[0] if remote else paths, working)
        else:
            found = _held(asked, paths, working, started)
        documents = _documents(found, asked, working, started)
    return next(iter(documents["models"].values())) if len(found) == 1 else documents


def compared(asked: Asked) -> dict[str, Any]:
    """Each FILE is a model, or one FILE holds several: the document of all, on the cases that all have."""
    started = time.perf_counter()
    with Working("reading", quiet=asked.quiet) as working:
        inputs = _inputs(asked)
        paths = [path for parts in inputs.values() for path in parts]
        if asked.counting.in_parts(paths):
            found = _streamed_comparison(asked, inputs, working)
        else:
            found = _held_comparison(asked, inputs, working, started)
        return _documents(found, asked, working, started)


def _inputs(asked: Asked) -> dict[str, list[Path]]:
    """The files of each input. Of several FILEs, a folder is one input in parts; a folder alone holds a file for each
    model, or parts that all hold several.
    """
    from veracity.read import source
    from veracity.read.files import expanded, stem

    given = [(Path(name), expanded([name])) for name in asked.files]
    path, inside = given[0]
    if len(given) == 1 and path.is_dir() and len(inside) > 1:
        if len(source([inside[0]], asked.reading).layout.named_models) > 1:
            return {path.resolve().name: inside}
        given = [(one, [one]) for one in inside]
    inputs: dict[str, list[Path]] = {}
    for path, found in given:
        folder = path.is_dir()
        for name, parts in [(path.resolve().name, found)] if folder else [(stem(one), [one]) for one in found]:
            if name in inputs:
                raise ValueError(f"two models are called {name}\n  give the files different names")
            inputs[name] = parts
    return inputs


def _held_comparison(
    asked: Asked, inputs: Mapping[str, list[Path]], working: Working, started: float
) -> dict[str, Assessment]:
    from veracity.read import paired, source

    opened = {name: source(paths, asked.reading) for name, paths in inputs.items()}
    models: dict[str, Forecasts] = {}
    sources: dict[str, Source] = {}
    for given, one in opened.items():
        _say(_read_as(given, one.layout), asked.quiet)
        held = one.read()
        for name, forecasts in held.items():
            own = name if len(inputs) == 1 else given if len(held) == 1 else f"{given} {name}"
            if own in models:
                raise ValueError(f"two models are called {own}\n  give the files different names")
            # Rows of different inputs are not the same rows, even where their files have the same name.
            several = len(inputs) > 1 and len(inputs[given]) > 1
            models[own] = replace(forecasts, names=replace(forecasts.names, file=given)) if several else forecasts
            sources[own] = one
    _several(models, asked)
    models, said = paired(models)
    _say(said, asked.quiet)
    reading = "\n".join([*(one.layout.describe() for one in opened.values()), said])
    made = _provenance([path for paths in inputs.values() for path in paths], reading)
    return _counted(models, sources, asked.plan, made, working, started)


def _streamed_comparison(asked: Asked, inputs: Mapping[str, list[Path]], working: Working) -> dict[str, Assessment]:
    from veracity.engines._models import Comparison

    opened = asked.counting.opened(inputs, asked.reading, working, Comparison)
    assert isinstance(opened, Comparison)
    for name, layout in opened.layouts.items():
        _say(_read_as(name, layout), asked.quiet)
    _several(opened.models, asked)

    def made(said: str) -> dict[str, Any]:
        _say(said, asked.quiet)
        reading = "\n".join([*(layout.describe() for layout in opened.layouts.values()), said])
        return _provenance([path for paths in inputs.values() for path in paths], reading)

    return opened.compare(asked.plan, checkpoint=asked.counting.checkpoint, provenance=made)[0]


def _read_as(name: str, layout: Match) -> str:
    """How one of several inputs was read; files in folders may have the same names."""
    return layout.one_line() if len(layout.files) == 1 else f"{name}: {layout.one_line()}"


def _several(models: Iterable[str], asked: Asked) -> None:
    names = list(models)
    if len(names) < 2:
        raise ValueError(
            f"{', '.join(asked.files)}: one model, `{names[0]}`; a comparison needs two\n"
            f"  assess it alone:  veracity assess {shlex.join(asked.files)}"
        )


def _held(asked: Asked, paths: list[Path], working: Working, started: float) -> dict[str, Assessment]:
    """All rows in memory."""
    from veracity.read import source

    opened = source(paths, asked.reading)
    _say(opened.layout.one_line(), asked.quiet)
    made = _provenance(paths, opened.layout.describe())
    return _counted(
        opened.read(), dict.fromkeys(opened.layout.named_models, opened), asked.plan, made, working, started
    )


def _counted(
    models: Mapping[str, Forecasts],
    sources: Mapping[str, Source],
    plan: Plan,
    made: Mapping[str, Any],
    working: Working,
    started: float,
) -> dict[str, Assessment]:
    from veracity.engines._files import with_files
    from veracity.results.assessment import of_tally
    from veracity.state.tally import Tally

    working.now("counting")
    found: dict[str, Assessment] = {}
    for name, forecasts in models.items():
        files = sources[name].layout.files
        tally = with_files(Tally.count(forecasts, plan), files if len(files) > 1 else ())
        found[name] = of_tally(tally, model=name, provenance=made, started=started)
    return found


def _streamed(asked: Asked, data: list[Path] | str, working: Working) -> dict[str, Assessment]:
    """In batches, or on a cluster: the numbers are the same. A text is an address that the cluster opens."""
    opened = asked.counting.opened(data, asked.reading, working)
    _say(opened.layout.one_line(), asked.quiet)
    made = _provenance([] if isinstance(data, str) else data, opened.layout.describe())
    made["inputs"] = [{"path": data}] if isinstance(data, str) else made["inputs"]
    return opened.assess(asked.plan, checkpoint=asked.counting.checkpoint, provenance=made)


def _documents(found: Mapping[str, Assessment], asked: Asked, working: Working, started: float) -> dict[str, Any]:
    from veracity.results.assessment import SEVERAL

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
