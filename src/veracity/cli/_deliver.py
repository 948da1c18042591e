"""Delivery of a finished result: all files together, then standard output."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from veracity.cli._click import Outputs, Request
from veracity.cli._output_files import OutputFiles, check_files, check_outputs, files_read, to_stdout
from veracity.progress import ProgressBar

if TYPE_CHECKING:
    from veracity.files.files_read import FilesRead
    from veracity.results.assessment import Assessment
    from veracity.results.comparison import Comparison

Answer = Callable[[Request, ProgressBar], "Mapping[str, Assessment] | Comparison"]

LOCALES = ("LC_ALL", "LC_CTYPE", "LANG")  # the first that is set decides
HINTS = ("More: --report out.html (charts, groups, risk profile)", "--details (every measure)")


def answer(request: Request, outputs: Outputs, made_by: Answer, tally: str | None = None) -> None:
    """Make the result, write the requested files, and print the summary unless standard output has a document.

    tally  file for the tally of the only model
    """
    from veracity.files.whole_files import write_whole
    from veracity.results.assess import Assessments

    read = files_read(request)
    check_outputs(outputs, read, request.checkpoint)
    check_files({"--tally": tally}, read, outputs.force)
    with ProgressBar("reading", quiet=request.quiet) as working:
        judgement = made_by(request, working)
        state = None if tally is None else tally_bytes(judgement, tally)
        working.begin("assessing")
        result: Any = judgement
        if isinstance(judgement, Mapping):
            result = Assessments(judgement) if len(judgement) > 1 else next(iter(judgement.values()))
        printed = deliver(result, outputs, read)
        if tally is not None and state is not None:
            write_whole(tally, state)
    to_stdout(printed)


def tally_bytes(judgement: Mapping[str, Assessment] | Comparison, path: str) -> bytes:
    """Return the bytes of the tally of the only model."""
    models = judgement if isinstance(judgement, Mapping) else judgement.models
    if len(models) > 1:
        raise ValueError(
            f"--tally {path}: a tally is of one model, and there are {len(models)} ({', '.join(list(models)[:4])})\n"
            "  choose one:  --positive-proba COL, --proba PATTERN, or --where MODEL_COLUMN=NAME"
        )
    state = next(iter(models.values())).tally
    assert state is not None
    return state.to_bytes()


def deliver(result: Any, outputs: Outputs, read: FilesRead, hints: Sequence[str] = HINTS) -> str | bytes:
    """Write the requested files, none of them one that was `read`; return the text for standard output.

    That is a document, or the answer.
    """
    from veracity import show

    makers: dict[str, Callable[[], str]] = {"openmetrics": lambda: show.to_openmetrics(result)}
    makers |= {"json": lambda: f"{result.to_json(1)}\n", "csv": result.to_csv, "markdown": result.to_markdown}
    contents: dict[str, str | bytes] = {
        path: makers[option]() if option in makers else show.report(result, Path(path).suffix.lstrip("."))
        for option, path in outputs.files.items()
    }
    printed = contents.pop("-", None)
    if printed is None:
        printed = _headline(result) if outputs.quiet else _answer(result, outputs.details) + _last(outputs, hints)
    with OutputFiles(read) as files:
        for path, content in contents.items():
            files.add(path, content)
        if outputs.plots is not None:
            folder = files.folder(outputs.plots)
            for name, picture in show.pictures(result):
                if not (folder / name).resolve().is_relative_to(folder.resolve()):
                    raise ValueError(f"--plots {folder}: {name} leads out of the folder; give another one")
                files.folder((folder / name).parent)
                files.add(folder / name, picture)
    return printed


def _last(outputs: Outputs, hints: Sequence[str]) -> str:
    """Return where the report is, or the hints at further options, on one line if they fit the terminal."""
    if outputs.report is not None:
        return f"\nreport: {outputs.report}\n"
    line = "   ".join(hints)
    return "" if outputs.details else f"\n{line if len(line) <= _width() else f'{chr(10)}      '.join(hints)}\n"


def _width() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def _answer(result: Any, details: bool) -> str:
    """Return the answer for this terminal: its width, its colours, its characters."""
    from veracity import show

    terminal = sys.stdout.isatty()
    return show.to_terminal(result, _width(), details=details, colour=terminal, unicode=_unicode(sys.stdout))


def _headline(result: Any) -> str:
    from veracity import show
    from veracity.show.terminal import to_ascii

    text = f"{show.headline(result)}\n"
    return text if _unicode(sys.stdout) else to_ascii(text)


def _unicode(stream: TextIO) -> bool:
    """Return whether the stream takes more than ASCII: a file does, a terminal as its encoding and locale say."""
    named = next((value for name in LOCALES if (value := os.environ.get(name))), "")
    if named in ("C", "POSIX"):  # Python writes UTF-8 there all the same
        return False
    return not stream.isatty() or "utf" in (stream.encoding or "utf-8").lower()
