"""`veracity monitor`: forecasts in use, judged day by day; the state continues tomorrow where today ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import (
    ENGINE,
    ESTIMATION,
    FILES,
    METRICS,
    OUTPUT,
    OUTPUTS,
    READ,
    Command,
    Option,
    Outputs,
    Request,
    read_options_from,
)
from veracity.cli._output_files import check_outputs, files_read, tell, to_stdout
from veracity.progress import ProgressBar

if TYPE_CHECKING:
    from veracity.files.files_read import FilesRead
    from veracity.inputs import Forecasts
    from veracity.read import Layout
    from veracity.results.monitor import Monitor

REFERENCE = Option(
    ESTIMATION,
    "--reference REF",
    "Labelled forecasts of the same model, or a tally of them: what its recalibration says counts as calibrated.",
)
WINDOW = Option(ESTIMATION, "--window 1d|1m|N", "Length of the windows shown: days, months or updates.", default="1d")
UPDATES = Option(
    ESTIMATION, "--updates", "How often the evidence is looked at.", type=click.Choice(["day", "week"]), default="day"
)
STATE = Option(ENGINE, "--state FILE", "Continue from this file, and write it again; made by the first run.")
FAIL = Option(OUTPUT, "--fail-on-alarm", "Exit with 1 while an alarm stands.", is_flag=True)
UNUSED = ("weight", "cluster", "group", "feature", "ideal", "soft")


@click.command(cls=Command, params=[FILES, REFERENCE, WINDOW, UPDATES, *READ, *OUTPUTS, *METRICS, STATE, FAIL])
def command(
    files: tuple[str, ...],
    reference: str | None,
    window: str,
    updates: str,
    state: str | None,
    fail_on_alarm: bool,
    **options: Any,
) -> int:
    """Watch the forecasts in FILE: are they still calibrated, and since when not?

    May be run every day: while forecasts stay calibrated, at most about 5 % of years have a false alarm. Several FILEs
    are parts of one set. With --state give each day once, whole.

    \b
    Examples:
      veracity monitor log.csv --time date --reference validation.csv --report monitor.html
      veracity monitor today.csv --time date --reference validation.csv --state monitor.state --fail-on-alarm
      veracity monitor log.csv --time date --window 7d --updates week
    """
    outputs = Outputs.taken_from(options)
    reading = read_options_from(options)
    request = Request(files, reading, quiet=outputs.quiet)
    if reading.time is None:
        raise ValueError("a monitor needs the time of each case\n  name its column:  --time COL")
    for name in UNUSED:
        value = getattr(reading, name)
        if value and not (name == "soft" and value in ("split", "omit", "refuse")):
            raise ValueError(f"--{name} has no effect in a monitor, which counts the cases of a day\n  leave it out")
    read = files_read(request, reference)
    check_outputs(outputs, read)
    earlier = _state(state, read)

    from veracity.cli._deliver import deliver
    from veracity.files.whole_files import write_whole
    from veracity.results.monitor import monitored

    with ProgressBar("reading", quiet=outputs.quiet) as working:
        layout, forecasts = single_model(request, files)
        labelled = None if reference is None else reference_forecasts(request, reference, layout)
        working.begin("assessing")
        how: dict[str, Any] = {"window": window, "updates": updates, "state": earlier, "dashes": "--"}
        name = Path(files[0]).name if state is None else Path(state).stem  # files change from day to day
        monitor: Monitor = monitored(forecasts, labelled, model=name, **how)
        printed = deliver(monitor, outputs, read, hints=HINTS)
    if state is not None:
        write_whole(state, monitor.to_bytes(), safely=True)
    to_stdout(printed)
    return 1 if fail_on_alarm and monitor.alarm else 0


HINTS = ("More: --report out.html (chart, every window)", "--state FILE (continue tomorrow)")


def _state(path: str | None, read: FilesRead) -> bytes | None:
    """Return what an earlier run wrote; None where this is the first one."""
    if path is None:
        return None
    from veracity.estimate.monitoring.watch import loads

    target = Path(path)
    read.refuse(path, "--state")
    if not target.absolute().parent.is_dir():
        raise ValueError(f"--state {path}: no folder {target.absolute().parent}; make it first")
    if target.is_dir():
        raise ValueError(f"--state {path} is a folder; give a file name")
    if not target.exists():
        return None
    data = target.read_bytes()
    try:
        loads(data)
    except ValueError as problem:
        raise ValueError(f"--state {path}: {problem}") from None
    return data


def single_model(request: Request, files: tuple[str, ...]) -> tuple[Layout, Forecasts]:
    """Return layout and forecasts of the only model in the files, every value checked."""
    from veracity import read
    from veracity.read.paths import listed

    source = read.open(listed(list(files)), request.reading)
    if not request.quiet:
        tell(source.layout.one_line())
    models = source.read()
    if len(models) > 1:
        raise ValueError(
            f"{', '.join(files)}: {len(models)} models ({', '.join(list(models)[:4])}); one is watched at a time\n"
            "  choose its forecasts:  --positive-proba COL, --proba PATTERN, or --where MODEL_COLUMN=NAME"
        )
    return source.layout, next(iter(models.values()))


@contextmanager
def labelled_reference(reference: str) -> Iterator[None]:
    """Say of what cannot be read that a reference is labelled."""
    from veracity.inputs.names import first_line

    try:
        yield
    except ValueError as problem:
        raise ValueError(
            f"--reference {reference}: {first_line(problem)}\n"
            "  a reference is labelled: the same columns as the new file, forecasts and their outcomes"
        ) from None


def reference_forecasts(request: Request, reference: str, layout: Layout) -> Any:
    """Return the labelled forecasts of a reference, or its tally; refuse those of another model."""
    from dataclasses import replace

    from veracity import read
    from veracity.cli._assessments import is_tally
    from veracity.read.paths import listed
    from veracity.results.tallies import read_tally

    if is_tally(reference):
        return read_tally(reference)
    reading = request.reading
    with labelled_reference(reference):
        source = read.open(listed([reference]), replace(reading, time=None))
    if reading.time is not None and reading.time in source.columns:
        source = read.open(listed([reference]), reading)
    elif not request.quiet:
        tell(f"warning: {reference} has no column `{reading.time}`: how much its days differ is not known")
    if not request.quiet:
        tell(f"reference: {source.layout.one_line()}")
    models = source.read()
    own, new = source.layout, layout
    if len(models) > 1:
        raise ValueError(f"--reference {reference}: {len(models)} models; give the labelled forecasts of one")
    if own.model_column and new.model_column and own.named_models != new.named_models:
        both = own.named_models[0], new.named_models[0]
        raise ValueError(
            "--reference {} is of the model {}, the forecasts are of {}\n".format(reference, *both)
            + "  give the labelled forecasts of the same model"
        )
    if set(own.forecasts) != set(new.forecasts):
        both = ", ".join(own.forecasts), ", ".join(new.forecasts)
        raise ValueError(
            "--reference {} forecasts in {}, the new file in {}: another model?".format(reference, *both)
            + "\n  give the labelled forecasts of the same model, in columns of the same names"
        )
    return next(iter(models.values()))
