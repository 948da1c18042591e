"""A finished result to where it was asked: files together, then standard output."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veracity.cli._output import Outputs, Together, to_stdout

HINT = "\nMore: --report out.html (charts, groups, risk profile)   --details (every measure)\n"


def deliver(result: Any, outputs: Outputs, *, details: bool = False) -> None:
    """Write what was asked for, and print the summary unless standard output carries a document."""
    from veracity import show

    makers: dict[str, Callable[[str], bytes]] = {
        "report": lambda path: show.report(result, Path(path).suffix.lstrip(".")),
        "json": lambda _: f"{result.to_json(1)}\n".encode(),
        "csv": lambda _: show.to_csv(result).encode(),
        "markdown": lambda _: show.to_markdown(result).encode(),
    }
    made = {path: makers[option](path) for option, path in outputs.files.items()}
    with Together() as files:
        for path, content in made.items():
            if path != "-":
                files.add(path, content)
        if outputs.plots is not None:
            folder = files.folder(outputs.plots)
            for name, picture in show.pictures(result):
                files.folder((folder / name).parent)
                files.add(folder / name, picture)
    if "-" in made:
        to_stdout(made["-"])
    elif outputs.quiet:
        to_stdout(f"{show.headline(result)}\n")
    else:
        hint = "" if details else HINT if outputs.report is None else f"\nreport: {outputs.report}\n"
        to_stdout(printed(result, details=details) + hint)


def printed(result: Any, *, details: bool = False) -> str:
    """Return the answer for this terminal: its width, its colours, its characters."""
    from veracity import show

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((100, 24)).columns
    unicode = not terminal or "utf" in (sys.stdout.encoding or "utf-8").lower()
    return show.to_terminal(result, width, details=details, colour=terminal, unicode=unicode)
