"""Commands that can be copied: what a sentence proposes, for the input that the typed command read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath

KEPT = (  # options that say how the input is read, with a value each
    *("--label", "--proba", "--positive-proba", "--positive", "--layout", "--scale", "--order", "--cut"),
    *("--versus-rest", "--absent", "--weight", "--count", "--model", "--id", "--where", "--missing", "--soft"),
    *("--pick", "--label-file", "--members", "--exceeds"),
)
FLAGS = ("--normalise", "--details", "--force", "--quiet", "--shares", "--list", "--no-header")  # without a value
KEPT_FLAGS = ("--normalise", "--no-header")
OUTPUT = " -o OUT"


def ready(
    proposed: str, typed: str | None, reading: str = "", model: str | None = None, inputs: Sequence[str] = ()
) -> str:
    """Return a proposed command with the files and input options of the typed one in place of FILE.

    `reading` says how the columns were understood, `inputs` names the files in a folder that was typed; where they hold
    several models, only `model` is read.

    >>> typed = "veracity assess a/rain.csv --cut 0.2,4.4 --report x.html --normalise"
    >>> ready("veracity calibrate fit FILE --map beta -o map.json", typed)
    'veracity calibrate fit a/rain.csv --cut 0.2,4.4 --normalise --map beta -o map.json'
    """
    files, options = _typed(typed) if typed else ([], [])  # an option is its name and, unless it is a flag, its value
    own, held = named_after(model, files), named_after(model, inputs)
    if own is None and held is not None and len(files) == 1 and PurePath(files[0]).name not in inputs:
        folder = PurePath(files[0])
        own = str((folder.parent if "*" in folder.name else folder) / held)
    inside = None if own else _one_model(reading, options, model)
    kept = [word for option in (options if inside is None else inside) for word in option]
    files = [own] if own else files
    read = shlex.join([*files, *kept])
    ending = next((PurePath(file).suffix for file in files if PurePath(file).suffix == ".parquet"), ".csv")
    return proposed.replace(" FILE ", f" {read or 'FILE'} ").replace(OUTPUT, f" -o adjusted{ending}")


def named_after(model: str | None, files: Sequence[str]) -> str | None:
    """Return the file or folder that a model is called after, whatever its endings; None where there is none.

    >>> named_after("v1", ["runs/v1.1.csv", "runs/v1.csv.gz"]), named_after("gam", ["models.csv"])
    ('runs/v1.csv.gz', None)
    """
    name = re.compile(re.escape(model or "") + r"(\.[a-z]\w*)*", re.IGNORECASE)
    found = [file for file in files if model and name.fullmatch(PurePath(file).name)]
    return min(found, key=len, default=None)


def _typed(command: str) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the files and the input options of a command as typed."""
    words = iter(shlex.split(command)[2:])
    files: list[str] = []
    options: list[tuple[str, ...]] = []
    for word in words:
        name, given, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            files.append(word)
        elif name in FLAGS:
            options += [(word,)] if name in KEPT_FLAGS else []
        else:
            value = value if given else next(words, "")
            options += [(name, value)] if name in KEPT else []
    return files, options


def _one_model(reading: str, options: list[tuple[str, ...]], model: str | None) -> list[tuple[str, ...]] | None:
    """Return the options that read this model alone from a file that holds several; None where it holds one."""
    held = re.search(r"^  models +(\S.*?)  +", reading, re.MULTILINE)
    if held is None or model is None:
        return None
    if not held[1].isdigit():  # a column of names
        return [*_without(options, "--model"), ("--where", f"{held[1]}={model}"), ("--model", "none")]
    pattern = next((option[1] for option in options if option[0] == "--proba"), None)
    if pattern is not None:
        return [*_without(options, "--proba"), ("--proba", pattern.replace("{model}", model))]
    return [*_without(options, "--positive-proba"), ("--positive-proba", model)]


def _without(options: list[tuple[str, ...]], name: str) -> list[tuple[str, ...]]:
    return [option for option in options if option[0] != name]
