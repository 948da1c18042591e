"""The pages of the reproduction: self-contained HTML files in the style of the report, figures as inline SVG."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from papers import Paper
from papers._rows import KINDS, VERDICTS, tally, tolerances
from veracity.plots import _style

TITLE = "The papers, reproduced"
COLUMNS = ("key", "section", "kind", "item", "paper", "computed", "value", "verdict", "tolerance", "note", "evidence")
HERE = Path(__file__).parent


def files(papers: Sequence[Paper], questions: Sequence[tuple[str, str, str]] = ()) -> dict[str, str]:
    """Return {file name: text}: index.html, which lists questions by (file, question, answer), pages and rows.csv."""
    pages = {f"{paper.key.lower()}.html": page([paper], paper) for paper in papers}
    return {"index.html": page(papers, questions=questions), **pages, "rows.csv": rows_csv(papers)}


def page(papers: Sequence[Paper], paper: Paper | None = None, questions: Sequence[tuple[str, str, str]] = ()) -> str:
    """Return the HTML of one paper, or of the index of several."""
    from jinja2 import Environment
    from markupsafe import Markup

    counts = [
        [key if paper else Markup('<a href="{}.html">{}</a>').format(key.lower(), key), *tally(sections).values()]
        for key, sections in ((one.key, one.sections) for one in papers)
    ]
    used = tolerances(section for one in papers for section in one.sections)
    template = Environment(autoescape=True).from_string((HERE / "page.html").read_text(encoding="utf-8"))
    text = template.render(
        title=f"{paper.key}, reproduced" if paper else TITLE,
        style=Markup(style_sheet()),
        paper=paper,
        verdicts=VERDICTS,
        counts=counts,
        legend=[
            [kind, KINDS[kind], ", ".join(f"{bound} ({number})" for bound, number in bounds.items())]
            for kind, bounds in used.items()
        ],
        omitted=[[one.key, items, why] for one in papers for items, why in one.not_reproduced.items()],
        svg=svg,
        questions=questions,
    )
    return renumbered(text)


def svg(chart: Any) -> str:
    """Return the chart as SVG text, in the light theme of the report."""
    import vl_convert

    light = _style.THEMES["light"]
    small = {"axisX": {"tickCount": 5}, "title": light["title"] | {"fontSize": 11}}  # panels are narrow
    spec = chart.to_dict() | {"config": light | {"background": "#ffffff"} | small}
    text: str = vl_convert.vegalite_to_svg(spec)
    return text


def rows_csv(papers: Sequence[Paper]) -> str:
    """Return all rows as CSV, computed values in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for paper in papers:
        for section in paper.sections:
            for row in section.rows:
                value = "" if row.value != row.value else repr(float(row.value))
                cells = (row.item, row.paper, row.computed, value, row.verdict, row.tolerance, row.note, row.evidence)
                writer.writerow([paper.key, section.title, row.kind, *cells])
    return text.getvalue()


def style_sheet() -> str:
    """Return the style of the report and of these pages."""
    report = resources("veracity.show").joinpath("style.css").read_text(encoding="utf-8")
    return report + (HERE / "page.css").read_text(encoding="utf-8")


def renumbered(text: str) -> str:
    """Return the page with clip paths numbered in order of appearance; the converter counts on from page to page."""
    numbers: dict[str, str] = {}
    return re.sub(r"\bclip\d+\b", lambda found: numbers.setdefault(found.group(), f"clip{len(numbers)}"), text)
