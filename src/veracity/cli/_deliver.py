"""A finished result to where it was asked: files together, then standard output."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veracity.cli._options import Outputs, Request
from veracity.cli._output import Together, check_outputs, to_stdout
from veracity.cli._progress import Working

if TYPE_CHECKING:
    from veracity.results.assessment import Assessment

Answer = Callable[[Request, Working], Mapping[str, "Assessment"]]

HINTS = ("More: --report out.html (charts, groups, risk profile)", "--details (every measure)")


def answer(request: Request, outputs: Outputs, made_by: Answer, *, several: bool) -> None:
    """Make the assessments, write what was asked for, and print the summary unless standard output has a document."""
    from veracity.results.assess import Assessments

    check_outputs(outputs, request.files)
    with Working("reading", quiet=request.quiet) as working:
        found = made_by(request, working)
        working.now("assessing")
        result = Assessments(found) if several or len(found) > 1 else next(iter(found.values()))
        printed_text = deliver(result, outputs)
    to_stdout(printed_text)


def deliver(result: Any, outputs: Outputs) -> str | bytes:
    """Write the files that were asked for; return the text for standard output."""
    from veracity import show

    makers: dict[str, Callable[[str], bytes]] = {
        "report": lambda path: show.report(result, Path(path).suffix.lstrip(".")),
        "json": lambda _: f"{result.to_json(1)}\n".encode(),
        "csv": lambda _: show.to_csv(result).encode(),
        "markdown": lambda _: show.to_markdown(result).encode(),
    }
    made = {path: makers[option](path) for option, path in outputs.files.items()}
    text = made["-"] if "-" in made else _summary(result, outputs)
    with Together() as files:
        for path, content in made.items():
            if path != "-":
                files.add(path, content)
        if outputs.plots is not None:
            folder = files.folder(outputs.plots)
            for name, picture in show.pictures(result):
                files.folder((folder / name).parent)
                files.add(folder / name, picture)
    return text


def _summary(result: Any, outputs: Outputs) -> str:
    from veracity import show

    if outputs.quiet:
        return f"{show.headline(result)}\n"
    hint = "" if outputs.details else _hint() if outputs.report is None else f"\nreport: {outputs.report}\n"
    return printed(result, details=outputs.details) + hint


def _hint() -> str:
    """Return what else there is, on one line if it fits the terminal."""
    line = "   ".join(HINTS)
    return f"\n{line}\n" if len(line) <= _width() else f"\n{HINTS[0]}\n      {HINTS[1]}\n"


def _width() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def printed(result: Any, *, details: bool = False) -> str:
    """Return the answer for this terminal: its width, its colours, its characters."""
    from veracity import show

    terminal = sys.stdout.isatty()
    unicode = not terminal or "utf" in (sys.stdout.encoding or "utf-8").lower()
    return show.to_terminal(result, _width(), details=details, colour=terminal, unicode=unicode)
