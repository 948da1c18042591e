"""From files to assessments: what `assess`, `compare` and `check` share. Importing waits until a command runs."""

from __future__ import annotations

import hashlib
import logging
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import Request, typed_input_options
from veracity.cli._database import counted_in_database
from veracity.cli._output_files import tell
from veracity.progress import ProgressBar

if TYPE_CHECKING:
    from veracity.engines import Engine
    from veracity.read.pairing import Paired
    from veracity.read.paths import File
    from veracity.results.assessment import Assessment
    from veracity.results.comparison import Comparison
    from veracity.state.tally import Tally

TALLY = b"veracity tally "  # the beginning of one
HASHED = 1 << 30  # bytes of a file up to which its hash is part of the provenance


def assessed(request: Request, working: ProgressBar) -> dict[str, Assessment]:
    """Return the assessment of each model in FILEs, which are parts of one set."""
    from veracity.engines import assessments

    started = time.perf_counter()
    if any(is_tally(name) for name in request.files):
        return {"": _of_tallies(request, started)}
    in_database = counted_in_database(request) if request.engine == "local" else None
    if in_database is not None:
        return {"": _of_database(request, *in_database, started)}
    engine, data = engine_of(request, working), _data(request)
    source = engine.open(data, request.reading)
    say(source.layout.one_line(), request)
    counted = engine.count(source, request.plan, checkpoint=request.checkpoint)
    provenance = _provenance(request, engine, data)
    return assessments(source, counted, provenance, started)


def _of_database(request: Request, tally: Tally, reading: str, started: float) -> Assessment:
    """Return the assessment of cells that a database counted."""
    from veracity.results.assess import assessment

    say(reading, request)
    inputs = [{"path": Path(request.files[0]).name}]
    origin: dict[str, Any] = {"command": command_typed(), "engine": "local", "inputs": inputs}
    return assessment(
        tally, model=Path(request.files[0]).name, provenance={**origin, "reading": reading}, started=started
    )


def _of_tallies(request: Request, started: float) -> Assessment:
    """Return the assessment of tallies, merged; options that were counted already are refused."""
    from veracity.read.paths import listed, model_name
    from veracity.results.assess import assessment, counted
    from veracity.results.tallies import merged

    _refuse_input_options(request)
    tally = merged(request.files)
    tally = tally if request.plan is None else counted(tally, request.plan, [], [])
    origin = {
        "command": command_typed(),
        "engine": "local",
        "inputs": [_facts(file, request.hashed) for file in listed(list(request.files))],
    }
    name = model_name(request.files[0]) if len(request.files) == 1 else None
    return assessment(tally, model=name, provenance=origin, started=started)


def compared(request: Request, working: ProgressBar, reference: str | None = None) -> Comparison:
    """Return the comparison on the cases that all models have: each FILE is a model, or one holds several."""
    if any(is_tally(name) for name in request.files):
        return _compared_tallies(request, reference)
    engine, inputs = engine_of(request, working), _inputs(request)
    paired = _paired(request, engine, inputs)
    if len(paired.models) < 2:
        raise ValueError(
            f"{', '.join(request.files)}: one model, `{next(iter(paired.models))}`; a comparison needs two\n"
            f"  assess it alone:  veracity assess {shlex.join(request.files)}"
        )
    return _comparison(request, engine, paired, inputs, reference)


def _compared_tallies(request: Request, reference: str | None) -> Comparison:
    """Return the comparison of tallies, each of them a model, on the cases that all of them hold."""
    from veracity.results.compare import compared_tallies
    from veracity.results.tallies import read_tally

    _refuse_input_options(request)
    if len(request.files) < 2:
        raise ValueError(f"a comparison needs two tallies\n  assess one:  veracity assess {request.files[0]}")
    comparison: Comparison = compared_tallies(
        {model: read_tally(files[0].path) for model, files in _inputs(request).items()},
        request.plan,
        dashes="--",
        reference=reference,
    )
    say(f"{comparison.record.cases:,} cases are in all {len(comparison)} tallies", request)
    return comparison


def _refuse_input_options(request: Request) -> None:
    from veracity.options import ReadOptions

    if request.reading != ReadOptions():
        raise ValueError("a tally holds counted cases: options of input have no effect\n  leave them out")


def compared_with(request: Request, working: ProgressBar, baseline: str) -> Comparison:
    """Return the comparison of FILEs, the parts of one model, with a baseline."""
    from veracity.files.files_read import place_of
    from veracity.read.paths import listed

    engine = engine_of(request, working)
    inputs = {"new": listed(list(request.files)), "baseline": listed([baseline])}
    same = {place_of(file.path) for file in inputs["baseline"]}
    if twice := next((file.name for file in inputs["new"] if place_of(file.path) in same), None):
        raise ValueError(
            f"--against {baseline}: {twice} would be compared with itself\n"
            "  name other forecasts of its cases, such as those in use before"
        )
    paired = _paired(request, engine, inputs)
    for name, source in paired.sources.items():
        models = source.layout.named_models
        if len(models) > 1:
            file = baseline if name == "baseline" else ", ".join(request.files)
            raise ValueError(
                f"{file}: {len(models)} models ({', '.join(models[:4])}); one is checked against one\n"
                "  compare several:  veracity compare"
            )
    return _comparison(request, engine, paired, inputs, "baseline")


def _paired(request: Request, engine: Engine, inputs: Mapping[str, list[File]]) -> Paired:
    """Return the models of all inputs, to be counted on the same cases; print how each was read."""
    from veracity.read.pairing import Paired

    sources = {name: engine.open(files, request.reading) for name, files in inputs.items()}
    for name, source in sources.items():
        prefix = "" if len(source.layout.files) == 1 else f"{name}: "  # files in folders may have the same names
        say(prefix + source.layout.one_line(), request)
    return Paired(sources)


def _comparison(
    request: Request, engine: Engine, paired: Paired, inputs: Mapping[str, list[File]], reference: str | None
) -> Comparison:
    """Return the comparison of paired models."""
    from veracity.engines import assessments
    from veracity.engines._compare import count_paired
    from veracity.estimate.comparison.compare import Dependence
    from veracity.results.compare import comparison
    from veracity.state.plan import Plan

    started = time.perf_counter()
    counted, sentence = count_paired(engine, paired, request.plan, checkpoint=request.checkpoint)
    say(sentence, request)
    described = [source.layout.describe() for source in paired.sources.values()]
    every = [file for files in inputs.values() for file in files]
    provenance = {**_provenance(request, engine, every), "reading": "\n".join([*described, sentence])}
    models = assessments(paired, counted, provenance, started)
    cluster, moment, plan = request.reading.cluster, request.reading.time, request.plan or Plan()
    kind = "cluster" if cluster else "time" if moment else None
    dependence = Dependence(kind, plan.lags, plan.horizon, cluster or moment or "", "--")
    first = next(iter(paired.models))
    paired_by = f"id {', '.join(paired.layout_of(first).case)}" if paired.by_id else "row"
    options: dict[str, Any] = {"reference": reference, "paired_by": paired_by, "files": paired.files}
    return comparison({name: models[name] for name in paired.models}, counted.pairs, dependence, **options)


def is_tally(name: str) -> bool:
    """Return whether a file is a tally of this or another version."""
    if not os.path.isfile(name):
        return False
    with open(name, "rb") as file:
        return file.read(len(TALLY)) == TALLY


def engine_of(request: Request, working: ProgressBar) -> Engine:
    """Return the engine, which tells `working` how far it is."""
    from veracity.engines import Engine

    engine = Engine(request.engine, request.engine_options, working.watch)
    if request.engine == "dask":  # what goes wrong is reported once, without tracebacks
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return engine


def say(line: str, request: Request) -> None:
    if not request.quiet:
        tell(line)


def _data(request: Request) -> list[File] | str:
    """Return the files, or an address that Spark opens."""
    from veracity.read.paths import is_address, listed

    if request.engine == "spark" and len(request.files) == 1 and is_address(request.files[0]):
        return request.files[0]
    return listed(list(request.files))


def _inputs(request: Request) -> dict[str, list[File]]:
    """Return the files of each input. Of several FILEs, a folder is one input in parts; a folder alone holds a file
    for each model, or parts that all hold several.
    """
    from veracity.read import recognise
    from veracity.read.paths import listed, model_name

    given = [(Path(name), listed([name])) for name in request.files]
    path, inside = given[0]
    if len(given) == 1 and path.is_dir() and len(inside) > 1:
        if len(recognise(inside[:1], request.reading).named_models) > 1:
            return {path.resolve().name: inside}
        given = [(one.path, [one]) for one in inside]  # named with their folders where their names are the same
    inputs: dict[str, list[File]] = {}
    for path, files in given:
        folder = path.is_dir()
        named = [(path.resolve().name, files)] if folder else [(model_name(one.name), [one]) for one in files]
        for name, own in named:
            if name in inputs:
                raise ValueError(f"two models are called {name}\n  give the files different names")
            inputs[name] = own
    return inputs


def _provenance(request: Request, engine: Engine, data: Sequence[File] | str) -> Mapping[str, Any]:
    """Return the command, its files and input options, and name, size and, where asked for, hash of every file."""
    from veracity.records.sections import Given

    inputs = [{"path": data}] if isinstance(data, str) else [_facts(file, request.hashed) for file in data]
    given = Given(request.files, typed_input_options())
    return {"command": command_typed(), "engine": engine.name, "inputs": inputs, "given": given}


def command_typed() -> str | None:
    """Return the running command as it was typed."""
    typed = click.get_current_context().find_root().obj or {}
    command: str | None = typed.get("command")
    return command


def _facts(file: File, hashed: bool) -> dict[str, Any]:
    size = os.path.getsize(file.path)
    facts = {"path": Path(file.name).name, "bytes": size}
    if size > HASHED or not hashed:
        return facts
    with file.path.open("rb") as stream:
        return {**facts, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
