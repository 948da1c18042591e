"""Commands that can be copied: what a sentence proposes, for the input that the typed command read."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

KEPT = (  # options that say how the input is read, with a value each
    *("--label", "--proba", "--positive-proba", "--positive", "--layout", "--scale", "--order", "--cut"),
    *("--versus-rest", "--absent", "--weight", "--count", "--model", "--id", "--where", "--missing", "--soft"),
)
FLAGS = ("--normalise", "--details", "--force", "--quiet", "--shares", "--list", "--no-header")  # without a value
KEPT_FLAGS = ("--normalise", "--no-header")
OUTPUT = " -o OUT"


def ready(proposed: str, typed: str | None, reading: str = "", model: str | None = None) -> str:
    """Return a proposed command with the files and input options of the typed one in place of FILE.

    `reading` says how the columns were understood; where they hold several models, only `model` is read.

    >>> typed = "veracity assess a/rain.csv --cut 0.2,4.4 --report x.html --normalise"
    >>> ready("veracity calibrate fit FILE --map beta -o map.json", typed)
    'veracity calibrate fit a/rain.csv --cut 0.2,4.4 --normalise --map beta -o map.json'
    """
    files, options = _typed(typed) if typed else ([], [])
    named = [file for file in files if model is not None and PurePath(file).name.partition(".")[0] == model]
    inside = None if named else _one_model(reading, options, model)
    read = shlex.join([*(named or files), *(options if inside is None else inside)])
    ending = next((PurePath(file).suffix for file in named or files if PurePath(file).suffix == ".parquet"), ".csv")
    return proposed.replace(" FILE ", f" {read or 'FILE'} ").replace(OUTPUT, f" -o adjusted{ending}")


def _typed(command: str) -> tuple[list[str], list[str]]:
    """Return the files and the input options of a command as typed."""
    words = iter(shlex.split(command)[2:])
    files: list[str] = []
    options: list[str] = []
    for word in words:
        name, given, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            files.append(word)
        elif name in FLAGS:
            options += [word] if name in KEPT_FLAGS else []
        else:
            value = value if given else next(words, "")
            options += [name, value] if name in KEPT else []
    return files, options


def _one_model(reading: str, options: list[str], model: str | None) -> list[str] | None:
    """Return the options that read this model alone from a file that holds several; None where it holds one."""
    held = re.search(r"^  models +(\S.*?)  +", reading, re.MULTILINE)
    if held is None or model is None:
        return None
    if not held[1].isdigit():  # a column of names
        return [*_without(options, "--model"), "--where", f"{held[1]}={model}", "--model", "none"]
    patterns = [value for name, value in zip(options[::2], options[1::2], strict=False) if name == "--proba"]
    if patterns:
        return [*_without(options, "--proba"), "--proba", patterns[0].replace("{model}", model)]
    return [*_without(options, "--positive-proba"), "--positive-proba", model]


def _without(options: list[str], name: str) -> list[str]:
    at = options.index(name) if name in options else len(options)
    return options[:at] + options[at + 2 :]
