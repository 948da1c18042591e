"""A finished result to where it was asked: files together, then standard output."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from veracity.cli._options import Outputs, Request
from veracity.cli._output import Together, check_outputs, to_stdout
from veracity.cli._progress import Working
from veracity.results.assessment import _ALL, SEVERAL, Assessment
from veracity.results.assessment import _finding_dict as finding_dict
from veracity.results.document import plain

Answer = Callable[[Request, Working], dict[str, Assessment]]

NAMES = ("schema", "model", *_ALL, "remedies")
MANY = 10  # models up to which a report tries the remedies of each
FEWEST = 20  # cases below which there is nothing to fit a remedy on


def answer(request: Request, outputs: Outputs, made_by: Answer, *, remedies: bool, several: bool) -> None:
    """Make the assessments, write what was asked for, and print the summary unless standard output has a document."""
    check_outputs(outputs, request.files)
    with Working("reading", quiet=request.quiet) as working:
        found = made_by(request, working)
        working.now("assessing")
        if remedies or (outputs.report and len(found) <= MANY):
            for assessment in found.values():
                if assessment.n >= FEWEST:
                    assessment.remedies()
        document = document_of(found, several=several)
        content = {path: MAKERS[option](document) for option, path in outputs.files.items()}
        lines = [] if outputs.to_stdout else _summary(document, outputs)
        with Together() as files:
            for path, made in content.items():
                if path != "-":
                    files.add(path, made)
            if outputs.plots is not None:
                folder = files.folder(outputs.plots)
                for name, picture in _pictures(document):
                    files.folder((folder / name).parent)
                    files.add(folder / name, picture)
    to_stdout(content["-"] if outputs.to_stdout else "".join(f"{line}\n" for line in lines))


class Document(Mapping[str, Any]):
    """The document of an assessment, each section computed when it is asked for."""

    def __init__(self, assessment: Assessment) -> None:
        self._assessment = assessment

    def __getitem__(self, name: str) -> Any:
        if name not in NAMES:
            raise KeyError(name)
        a = self._assessment
        if name in ("schema", "model", "remedies"):
            return plain(a._sections.get(name))
        if name == "findings":
            a._section("losses")  # which may add some
            return plain([finding_dict(finding) for finding in a.findings])
        return list(a.classes) if name == "classes" else plain(a._section(name))

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


def document_of(found: Mapping[str, Assessment], *, several: bool = False) -> Mapping[str, Any]:
    """Return the document of one model, or of several."""
    documents = {name: Document(assessment) for name, assessment in found.items()}
    if len(documents) == 1 and not several:
        return next(iter(documents.values()))
    return {"schema": SEVERAL, "models": documents}


def _summary(document: Mapping[str, Any], outputs: Outputs) -> list[str]:
    from veracity.cli import _terminal

    if outputs.quiet:
        lines = _terminal.verdict_only(document)
    else:
        lines = _terminal.summary(document, _terminal.width(), outputs.report)
    colour = sys.stdout.isatty()
    return [_terminal.styled(line, colour) for line in lines]


def _report(document: Mapping[str, Any]) -> str:
    from veracity.show import render

    return render(plain(document))


def _json(document: Mapping[str, Any]) -> str:
    from veracity.results.document import encode

    return encode(plain(document), 1) + "\n"


def _csv(document: Mapping[str, Any]) -> str:
    from veracity.cli._markdown import table

    return table(plain(document))


def _markdown(document: Mapping[str, Any]) -> str:
    from veracity.cli._markdown import markdown

    return markdown(document)


MAKERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "report": _report,
    "json": _json,
    "csv": _csv,
    "markdown": _markdown,
}


def _pictures(document: Mapping[str, Any]) -> Iterator[tuple[Path, bytes]]:
    """Yield every figure that the document holds the numbers for; several models have a folder each."""
    from veracity import plots

    document = plain(document)
    models = document.get("models")
    parts = {safe_name(name): one for name, one in models.items()} if models else {"": document}
    wanted = [("", document, name) for name in ("compare", "risk_profile")] if models else []
    names = [name for name in plots.names() if getattr(plots.module(name), "OF", None) == "assessment"]
    wanted += [(folder, one, name) for folder, one in parts.items() for name in names]
    for folder, one, name in wanted:
        try:
            chart = plots.chart(name, one)
        except ValueError:  # the document has nothing for this figure, such as a ROC curve of three classes
            continue
        for form in ("png", "svg"):
            yield Path(folder, f"{name}.{form}"), plots.rendered(chart, form)


def safe_name(name: str) -> str:
    """Return a model's name as the name of a folder.

    >>> safe_name("../a b:c")
    '.._a_b_c'
    """
    return re.sub(r"[^\w.+-]", "_", name)[:80] or "model"
