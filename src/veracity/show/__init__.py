"""A result as people read it: in a terminal, as Markdown, as a page, in a notebook; from the result alone."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

from veracity import plots
from veracity.files.whole_files import write_whole
from veracity.results.assess import Assessments
from veracity.results.assessment import Assessment
from veracity.results.comparison import Comparison
from veracity.results.estimate import Estimate
from veracity.results.monitor import Monitor
from veracity.show import answer, comparison, models, monitoring, tables
from veracity.show.blocks import Block, Result
from veracity.table import TableAssessment
from veracity.words import clean

PAGES = ("jinja2", "markupsafe", "altair", "vl_convert")  # libraries of pages and pictures


Answer = Callable[[Any], list[Block]]

ANSWERS: dict[type, tuple[Answer, Answer]] = {  # of each kind of result: its first screen, and all of it
    Assessment: (answer.summary, answer.answer),
    Assessments: (models.summary, models.answer),
    Comparison: (comparison.summary, comparison.answer),
    Monitor: (monitoring.summary, monitoring.answer),
    Estimate: (monitoring.estimate, monitoring.estimate),
    TableAssessment: (tables.summary, tables.answer),
}


def _answers(result: Result) -> tuple[Answer, Answer]:
    return next(ANSWERS[kind] for kind in type(result).__mro__ if kind in ANSWERS)


def first_screen(result: Result) -> list[Block]:
    """Return the blocks of the first screen; it computes no more than it shows."""
    return _answers(result)[0](result)


def blocks(result: Result) -> list[Block]:
    """Return all blocks of an assessment, of several models, of a comparison, a monitor or a prediction table."""
    return _answers(result)[1](result)


def to_terminal(
    result: Result, width: int = 80, *, details: bool = False, colour: bool = False, unicode: bool = True
) -> str:
    """Return the answer as text of at most `width` columns, as Markdown where rich is not installed."""
    from veracity.show import markdown, terminal

    shown = blocks(result) if details else first_screen(result)
    try:
        return terminal.render(shown, width, details=details, colour=colour, unicode=unicode)
    except ModuleNotFoundError as missing:
        if _library(missing) != "rich":
            raise
        return markdown.render(shown)


def _library(missing: ModuleNotFoundError) -> str:
    return (missing.name or "").partition(".")[0]


def headline(result: Result) -> str:
    """Return the verdict on one line, several models on one line each."""
    from veracity.show import terminal

    if isinstance(result, Assessments):
        return "\n".join(f"{clean(str(name))}: {headline(a)}" for name, a in result.models.items())
    return terminal.headline(answer.lead(result) if isinstance(result, Assessment) else first_screen(result))


def to_markdown(result: Result) -> str:
    """Return the first screen as Markdown, with the recalibrations that help."""
    from veracity.show import markdown, specialists

    remedies = specialists.remedy_table(result) if isinstance(result, Assessment) else None
    return markdown.render([*first_screen(result), *([] if remedies is None else [remedies])])


def to_csv(result: Result) -> str:
    """Return every reading as CSV: model, name, value, low, high, method, reason."""
    from veracity.show import spreadsheet

    if isinstance(result, Monitor):
        return spreadsheet.of_monitor(result)
    if isinstance(result, Estimate):
        return spreadsheet.of_estimate(result)
    return spreadsheet.of_table(result) if isinstance(result, TableAssessment) else spreadsheet.render(result)


def to_openmetrics(result: Assessment | Assessments | Monitor) -> str:
    """Return the main numbers as gauges for Prometheus."""
    from veracity.show import openmetrics

    return openmetrics.render(result)


def to_html(result: Result) -> str:
    """Return the page: one file that opens offline."""
    from veracity.show import html, specialists

    alone = isinstance(result, (TableAssessment, Monitor, Estimate))
    return html.page([*blocks(result), *([] if alone else [specialists.definitions()])])


def to_notebook(result: Result) -> str:
    """Return the first screen with its chart as a piece of HTML; plain text where no page can be made."""
    try:
        from veracity.show import html

        return html.fragment(first_screen(result))
    except ModuleNotFoundError as missing:
        if _library(missing) not in PAGES:
            raise
        return f"<pre>{escape(to_terminal(result))}</pre>"


def report(result: Result, form: str = "html") -> bytes:
    """Return the page as HTML, or printed as PDF."""
    page = to_html(result)
    if form.lower() != "pdf":
        return page.encode()
    from veracity.show.pdf import printed

    return printed(page)


def write(result: Result, path: str | Path) -> None:
    """Write the page whole or not at all, as PDF where the name ends so."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent.name}; make it first")
    if target.suffix.lower() not in (".html", ".htm", ".pdf"):
        raise ValueError(f"{path}: give a file that ends in .html or .pdf")
    write_whole(target, report(result, target.suffix.lstrip(".")))


def pictures(result: Result) -> Iterator[tuple[str, bytes]]:
    """Yield (file name, content) of every picture that the result has numbers for; models have a folder each."""
    kinds: dict[type, list[str]] = {Assessment: ["assessment"], Assessments: ["models"]}
    kinds |= {Comparison: ["models", "comparison"], Monitor: ["monitor"], Estimate: []}
    drawn = next((names for kind, names in kinds.items() if isinstance(result, kind)), ["table"])
    wanted: list[tuple[str, Result, str]] = [("", result, name) for of in drawn for name in plots.names(of)]
    if isinstance(result, (Assessments, Comparison)):
        wanted.append(("", result, "risk_profile"))
        folders = safe_names(result.models, taken={name for _, _, name in wanted})
        own = plots.names("assessment")
        wanted += [(f"{folders[model]}/", a, name) for model, a in result.models.items() for name in own]
    for folder, one, name in wanted:
        for suffix, options in getattr(plots.module(name), "VARIANTS", {"": {}}).items():
            try:
                chart = plots.chart(name, one, **options)
            except ValueError:  # nothing to draw, such as a ROC curve of three classes
                continue
            for form in ("png", "svg"):
                yield f"{folder}{name}{suffix}.{form}", plots.rendered(chart, form)


def safe_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return models' names as names of folders: each its own, none hidden or outside the folder they are in.

    >>> safe_names(["gam", "..", "a b", "a/b", "A_B"])
    {'gam': 'gam', '..': 'model', 'a b': 'a_b', 'a/b': 'a_b_2', 'A_B': 'A_B_3'}
    """
    safe: dict[str, str] = {}
    used = {name.casefold() for name in taken}  # some file systems know no capitals
    for name in names:
        plain = re.sub(r"[^\w.+-]", "_", unicodedata.normalize("NFC", name))[:60].strip("._-") or "model"
        number = next(i for i in count(1) if (plain if i == 1 else f"{plain}_{i}").casefold() not in used)
        safe[name] = plain if number == 1 else f"{plain}_{number}"
        used.add(safe[name].casefold())
    return safe
