"""A finished document to where it was asked: files together, then standard output."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from veracity.cli._output import Outputs, Together, to_stdout


def deliver(document: Mapping[str, Any], outputs: Outputs) -> None:
    """Write what was asked for, and print the summary unless standard output carries a document."""
    makers = {"report": _report, "json": _json, "csv": _csv, "markdown": _markdown}
    made = {path: makers[option](document) for option, path in outputs.files.items()}
    with Together() as files:
        for path, content in made.items():
            if path != "-":
                files.add(path, content)
        if outputs.plots is not None:
            folder = files.folder(outputs.plots)
            for name, picture in _pictures(document):
                files.folder((folder / name).parent)
                files.add(folder / name, picture)
    if "-" in made:
        to_stdout(made["-"])
        return
    from veracity.cli import _terminal

    lines = (
        _terminal.verdict_only(document)
        if outputs.quiet
        else _terminal.summary(document, _terminal.width(), outputs.report)
    )
    colour = sys.stdout.isatty()
    to_stdout("".join(f"{_terminal.styled(line, colour)}\n" for line in lines))


def _report(document: Mapping[str, Any]) -> str:
    from veracity.show import render

    return render(document)


def _json(document: Mapping[str, Any]) -> str:
    from veracity.results.document import encode

    return encode(dict(document), 1) + "\n"


def _csv(document: Mapping[str, Any]) -> str:
    from veracity.cli._markdown import table

    return table(document)


def _markdown(document: Mapping[str, Any]) -> str:
    from veracity.cli._markdown import markdown

    return markdown(document)


def _pictures(document: Mapping[str, Any]) -> Iterator[tuple[Path, bytes]]:
    """Every picture that the document holds the numbers for; several models have a folder each."""
    from veracity import plots

    several = document.get("models")
    parts = {safe_name(name): one for name, one in several.items()} if several else {"": document}
    wanted = [("", document, name) for name in ("compare", "risk_profile")] if several else []
    names = [name for name in plots.names() if getattr(plots.module(name), "OF", None) == "assessment"]
    wanted += [(folder, one, name) for folder, one in parts.items() for name in names]
    for folder, one, name in wanted:
        try:
            chart = plots.chart(name, one)
        except ValueError:  # this document has nothing for this picture, such as a ROC curve of three classes
            continue
        for form in ("png", "svg"):
            yield Path(folder, f"{name}.{form}"), plots.rendered(chart, form)


def safe_name(name: str) -> str:
    """A model's name as the name of a folder.

    >>> safe_name("../a b:c")
    '.._a_b_c'
    """
    return re.sub(r"[^\w.+-]", "_", name)[:80] or "model"
