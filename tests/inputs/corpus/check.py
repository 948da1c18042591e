"""What a shape promises: the right reading, or a message whose commands run and one of which is right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from veracity.cli import assess, run
from veracity.cli._click import Request
from veracity.inputs import Forecasts
from veracity.read import open as open_source

from .shapes import Shape

PLACEHOLDER = re.compile(r"\b(COL|FILE|PATTERN|LABEL|LOW|HIGH|LIMIT\d*|VALUE)\b|…")


def write(shape: Shape, folder: Path) -> None:
    """Write the files of a shape."""
    for name, content in shape.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def remedies(message: str, filled: tuple[str, str] = ("", "")) -> list[str]:
    """Return the commands and options that a message prints, apart from those with a placeholder that is not filled."""
    said = re.split(r"\n|[:?]  |   or   | {3,}", message.replace(*filled) if filled[0] else message)
    found = [part.strip() for part in said if part.strip().startswith(("veracity ", "--"))]
    return [part for part in found if not PLACEHOLDER.search(part)]


def completed(typed: str, remedy: str) -> str:
    """Return the command that a remedy asks for: itself, or what was typed with its options."""
    return remedy.removeprefix("veracity ") if remedy.startswith("veracity ") else f"{typed} {remedy}"


def log_loss(f: Forecasts) -> float:
    logs = f.log_realised if f.log_realised is not None else np.log(f.realised)
    return float(-np.average(logs, weights=f.mass))


def read_by(command: str) -> tuple[list[Any], list[float]]:
    """Return how each set of files is read by a command, and the log loss of each model."""
    verb, *words = shlex.split(command)
    context = assess.command.make_context(verb, words)
    files, options = context.params.pop("files"), context.params
    for output in ("report", "json", "csv", "markdown", "plots", "details", "force", "quiet"):
        options.pop(output)
    reading = Request.taken_from(files, options).reading
    sets = [files] if verb == "assess" else [(file,) for file in files]
    sources = [open_source(list(one), reading) for one in sets]
    return [s.layout for s in sources], [log_loss(f) for s in sources for f in s.read().values()]


def problems(shape: Shape) -> list[str]:
    """Return what differs from the promise; the files are in the working directory."""
    try:
        layouts, losses = read_by(shape.typed)
    except ValueError as error:
        said = str(error)
    else:
        said = ""
    if said:
        return _refused(shape, said)
    return ["not refused"] * bool(shape.says) + _differs(shape, layouts, losses)


def _refused(shape: Shape, said: str) -> list[str]:
    found = [] if said == shape.says else [f"says: {said}"]
    printed = remedies(said, shape.filled)
    if shape.remedy and shape.remedy not in printed:
        found.append(f"no such remedy, but {printed}")
    for remedy in printed:
        if remedy.startswith(("veracity table ", "veracity compare ")):
            found += [] if run([*shlex.split(remedy)[1:], "--quiet"]) == 0 else [f"{remedy} fails"]
        if remedy.startswith("veracity table "):
            continue
        try:
            layouts, losses = read_by(completed(shape.typed, remedy))
        except (ValueError, SystemExit) as error:
            found.append(f"{remedy} fails: {error}")
            continue
        if remedy == shape.remedy:
            found += _differs(shape, layouts, losses)
    return found


def _differs(shape: Shape, layouts: list[Any], losses: list[float]) -> list[str]:
    layout = layouts[0]
    outcome = layout.outcome or " ".join(layout.outcomes)
    read = (layout.layout, outcome, " ".join(layout.forecasts))
    wanted = (shape.layout, shape.outcome, shape.forecasts)
    found = [] if read == wanted else [f"read as {read}"]
    if len(losses) != len(shape.losses) or not np.allclose(losses, shape.losses, rtol=0, atol=1e-9):
        found.append(f"log losses {losses}, not {list(shape.losses)}")
    return found
