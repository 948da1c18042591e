"""One model's forecasts, mapped and written: shared by `adjust` and `calibrate`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veracity.cli._assessments import engine_of
from veracity.cli._click import OUTPUT, Option, Request
from veracity.cli._output_files import OutputFiles, check_file, check_files, tell, to_stdout
from veracity.options import DEPENDENCE, READING
from veracity.progress import ProgressBar

if TYPE_CHECKING:
    from veracity.calibrators import Fitted
    from veracity.files.files_read import FilesRead
    from veracity.read import Source
    from veracity.results.recalibration_job import RecalibrationJob

ENDINGS = (".csv", ".parquet")

ROWS = Option(
    OUTPUT,
    "-o --output OUT",
    "Mapped rows, .csv or .parquet; folder/ takes a file per part; - is CSV on standard output.",
    required=True,
)

SUFFIX = Option(
    OUTPUT,
    "--suffix TEXT",
    "Keep the forecasts, and write mapped ones beside them into columns whose names end so: _calibrated.",
)


def is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def map_file_of(output: str) -> Path:
    """Return the path for the map of these rows."""
    path = Path(output)
    return path.with_name(f"{path.name}.map.json") if is_folder(output) else path.with_suffix(".map.json")


def check_rows_file(output: str, force: bool, read: FilesRead, map_file: Path | None = None) -> None:
    """Refuse an output, or a map beside it, that could not be written after the work or would destroy an input."""
    rows: str | None = output
    if output != "-" and is_folder(output):
        if Path(output).is_dir() and any(Path(output).iterdir()):
            raise ValueError(f"-o {output}: the folder is not empty; give a new one")
        check_file(str(map_file_of(output)), True)  # in the same folder, which must be there
        rows = None
    elif output != "-" and not output.lower().endswith(ENDINGS):
        raise ValueError(f"-o {output}: give a file that ends in {' or '.join(ENDINGS)}, a folder/, or -")
    check_files({"-o": rows, "the map": map_file}, read, force)


def one_model(
    request: Request,
    working: ProgressBar,
    *,
    outcomes: str = "needed",
    classes: Sequence[Any] | None = None,
    suffix: str | None = None,
    judged: bool = False,
) -> RecalibrationJob:
    """Return the forecasts of the only model in the files, counted.

    outcomes  "needed"; "asked": forecasts without outcomes will do; "unused": and invalid outcomes are ignored
    classes   of the map that will be applied
    suffix    of the columns that mapped rows will get
    judged    whether the map follows the verdict, so that it matters which cases depend on each other
    """
    for name, option in READING.items():
        if not (option.kept and (judged or name not in DEPENDENCE)) and getattr(request.reading, name):
            raise ValueError(
                f"{option.typed_as} has no effect: a map is one for all rows\n"
                "  leave it out; for rows of one kind, a map of their own:  --where COL=VALUE"
            )
    from veracity.read.paths import listed
    from veracity.read.unlabelled import NoForecasts, options_of_forecasts, options_without_outcomes
    from veracity.records.findings_of_input import DependentRows
    from veracity.results.recalibration_job import RecalibrationJob

    engine, files, reading = engine_of(request, working), listed(list(request.files)), request.reading

    def counted(source: Source) -> RecalibrationJob:
        findings = source.layout.findings
        notes = tuple(note for note in findings if not isinstance(note, DependentRows))  # a map has no interval
        tell(replace(source.layout, findings=notes).one_line("not used" if outcomes == "needed" else "kept"))
        model = RecalibrationJob(engine, source)
        if suffix is not None:
            model.check_suffix(suffix)
        _ = model.tally  # checks every value
        return model

    source: Source | None = None
    try:
        source = engine.open(files, reading)
    except ValueError:
        other = None if outcomes == "needed" else options_without_outcomes(reading, classes)
        if other is not None:
            with suppress(NoForecasts):
                source = engine.open(files, other)
        if source is None or (outcomes != "unused" and source.may_hold_outcomes):
            raise
    try:
        return counted(source)
    except ValueError:
        other = options_of_forecasts(reading, source.layout) if outcomes == "unused" else None
        if other is None:
            raise
        return counted(engine.open(files, other))


def write(model: RecalibrationJob, fitted: Fitted, output: str, files: OutputFiles, suffix: str | None) -> int:
    """Write mapped rows into a file, a folder or standard output, whole or not at all; return their number."""
    from veracity.results.mapped_files import not_for_csv

    text = not is_folder(output) and not output.lower().endswith(".parquet")
    if model.source.unread:
        tell(f"warning: lists and objects are left out: {', '.join(model.source.unread)}")
    lost = not_for_csv(model.source.passthrough) if text else []
    if lost:
        tell(f"warning: CSV cannot hold {', '.join(lost)}: left out; write .parquet to keep them")
    if output == "-":
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "rows.csv")
            number = model.write(fitted, path, ".csv", suffix or "")
            with path.open("rb") as stream:
                while chunk := stream.read(1 << 20):
                    to_stdout(chunk)
        return number
    numbers: list[int] = []
    put = files.write_folder if is_folder(output) else files.write_file
    ending = Path(output).suffix.lower()
    put(output, lambda path: numbers.append(model.write(fitted, path, ending, suffix or "")))
    return numbers[0]


def warn_of_changes(model: RecalibrationJob) -> None:
    """Warn of rows that are missing or changed in the output, and of replaced columns."""
    from veracity.records.findings_of_input import RescaledRows, RowsLeftOut, SkippedFiles, SoftOutcomes

    tally = model.tally
    names = {*(["label"] * model.source.layout.labelled), *model.numbered, *(f"p_{name}" for name in tally.classes)}
    taken = [] if model.source.in_place else [name for name in model.source.passthrough if name in names]
    if taken:
        tell(f"warning: columns of the file give way to new ones of the same name: {', '.join(taken)}")
    for finding in tally.findings:
        if isinstance(finding, (RowsLeftOut, SkippedFiles, SoftOutcomes, RescaledRows)):
            tell(f"warning: {finding.message}")
