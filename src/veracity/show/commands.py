"""Commands that can be copied: what a sentence proposes, for the input that was read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from veracity.records.sections import Given

OUTPUT = " -o OUT"

Options = Sequence[tuple[str, ...]]


def ready(proposed: str, given: Given | None, model: str | None = None, inputs: Sequence[str] = ()) -> str:
    """Return a proposed command with the files and input options that were given in place of FILE.

    `inputs` names the files in a folder that was given; where the files hold several models, only `model` is read.

    >>> given = Given(("a/rain.csv",), (("--cut", "0.2,4.4"), ("--normalise",)))
    >>> ready("veracity calibrate fit FILE --map beta -o map.json", given)
    'veracity calibrate fit a/rain.csv --cut 0.2,4.4 --normalise --map beta -o map.json'
    """
    files: Sequence[str] = () if given is None else given.files
    options: Options = () if given is None else given.options
    own, of_input = named_after(model, files), named_after(model, inputs)
    if own is None and of_input is not None and len(files) == 1 and PurePath(files[0]).name not in inputs:
        folder = PurePath(files[0])
        own = str((folder.parent if "*" in folder.name else folder) / of_input)
    if own is None and given is not None and model is not None:
        options = _of_one_model(given, model)
    files = [own] if own else files
    read = shlex.join([*files, *(word for option in options for word in option)])
    ending = next((PurePath(file).suffix for file in files if PurePath(file).suffix == ".parquet"), ".csv")
    return proposed.replace(" FILE ", f" {read or 'FILE'} ").replace(OUTPUT, f" -o adjusted{ending}")


def named_after(model: str | None, files: Sequence[str]) -> str | None:
    """Return the file or folder that a model is called after, whatever its endings; None where there is none.

    >>> named_after("v1", ["runs/v1.1.csv", "runs/v1.csv.gz"]), named_after("gam", ["models.csv"])
    ('runs/v1.csv.gz', None)
    """
    name = re.compile(re.escape(model or "") + r"(\.[a-z]\w*)*", re.IGNORECASE)
    matching = [file for file in files if model and name.fullmatch(PurePath(file).name)]
    return min(matching, key=len, default=None)


def _of_one_model(given: Given, model: str) -> Options:
    """Return the options that read this model alone, also from files that hold several.

    >>> _of_one_model(Given(("a.csv",), (("--model", "7"),), column="7"), "gam")
    [('--where', '7=gam'), ('--model', 'none')]
    >>> _of_one_model(Given(("a.csv",), (), forecasts=("p_gam",)), "gam")
    [('--positive-proba', 'p_gam')]
    """
    if given.column is not None:
        return [*_without(given, "--model"), ("--where", f"{given.column}={model}"), ("--model", "none")]
    if not given.forecasts:
        return given.options
    pattern = next((option[1] for option in given.options if option[0] == "--proba"), None)
    if pattern is not None:
        return [*_without(given, "--proba"), ("--proba", pattern.replace("{model}", model))]
    if len(given.forecasts) > 1:
        return [*given.options, ("--proba", ",".join(given.forecasts))]
    return [*_without(given, "--positive-proba"), ("--positive-proba", *given.forecasts)]


def _without(given: Given, name: str) -> Options:
    return [option for option in given.options if option[0] != name]
