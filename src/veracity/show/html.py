"""Blocks as one HTML page that opens from disk and asks the network for nothing, and as a piece for a notebook."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape

from veracity import plots, words
from veracity.show.blocks import Block, Cards, Chart, Contents, Details, Heading, Sentence
from veracity.show.cells import Cell, Column, Interval, Label, Table, Value

MOST_ROWS = 120  # of a data table under a figure; the JSON holds them all
NO_TITLE = "Forecast quality"

View = dict[str, Any]  # what a template is given


def page(blocks: Sequence[Block]) -> str:
    """Return the whole page."""
    from veracity.plots._offline import inline_json, runtime
    from veracity.plots._style import THEMES

    end = next((i for i, block in enumerate(blocks) if isinstance(block, Contents)), len(blocks))
    first, sections = _views(blocks[:end], 2, "f"), _views(blocks[end + 1 :], 2)
    charts = {item["id"]: item["spec"] for item in _figures([*first, *sections])}
    heading = next((block for block in blocks if isinstance(block, Heading)), Heading(NO_TITLE))
    scripts = [runtime() if charts else "", _file("page.js")]
    whole = _template("page.html").render(
        policy=Markup(content_policy(scripts)),
        title=heading.text,
        first=first,
        sections=sections,
        contents=[item for item in sections if item["kind"] in ("table", "details")],
        style=Markup(_file("style.css")),
        scripts=[Markup(script) for script in scripts],
        charts=Markup(inline_json(charts)),
        themes=Markup(inline_json(THEMES)),
    )
    shown, close, rest = whole.partition("</main>")
    return f"{words.clean_lines(shown)}{close}{rest}"


def content_policy(scripts: Sequence[str]) -> str:
    """Return the content security policy of a page: these scripts and no others, no network, no evaluated text."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def fragment(blocks: Sequence[Block]) -> str:
    """Return headline, cards, chart and tables as a piece of HTML without scripts."""
    view = _views(blocks, 4, still=True)
    return words.clean_lines(_template("notebook.html").render(view=view))


def _views(blocks: Sequence[Block], level: int, key: str = "s", parent: str = "", still: bool = False) -> list[View]:
    """Return the views of the templates; a picture without anything to draw has none."""
    return [view for view in _all_views(blocks, level, key, parent, still) if view is not None]


def _all_views(blocks: Sequence[Block], level: int, key: str, parent: str, still: bool) -> Iterator[View | None]:
    """Yield lead sentences together, other sentences together, and every other block alone."""
    sentences: list[Sentence] = []
    for i, block in enumerate(blocks):
        if sentences and not (isinstance(block, Sentence) and block.lead == sentences[0].lead):
            yield _sentences(sentences, still)
            sentences = []
        at = f"{key}{i}"
        if isinstance(block, Sentence):
            sentences.append(block)
        elif isinstance(block, Table):
            place = {"id": at, "title": block.title, "level": level}
            yield {"kind": "table", **place, "table": block, "titled": block.title not in ("", parent)}
        elif isinstance(block, Chart):
            yield _image(block) if still else _figure(block, at, level, parent)
        elif isinstance(block, Details):
            inner = _views(block.blocks, level + 1, f"{at}-", block.title, still)
            place = {"id": at, "title": block.title, "level": level}
            yield {"kind": "details", **place, "folded": block.folded, "view": inner} if inner else None
        elif not isinstance(block, Contents):
            kind = "heading" if isinstance(block, Heading) else "cards" if isinstance(block, Cards) else "finding"
            yield {"kind": kind, "block": block, "level": level, "nested": bool(parent)}
    if sentences:
        yield _sentences(sentences, still)


def _sentences(sentences: list[Sentence], still: bool) -> View:
    """Return the view of sentences; a notebook, which is `still`, proposes Python, a page the command."""
    return {"kind": "lead" if sentences[0].lead else "sentences", "sentences": sentences, "python": still}


def _figure(block: Chart, key: str, level: int, parent: str) -> View | None:
    """Return a picture with its caption and data table; None where the result has nothing to draw."""
    picture = plots.Picture.of(block.name, block.result)
    try:
        spec = picture.spec()
    except ValueError:
        return None
    columns = [
        {"field": field, "title": title, "number": bool(form)} for field, (title, form) in picture.columns.items()
    ]
    return {
        "kind": "figure",
        "id": f"{key}-{block.name}",
        "name": block.name,
        "title": picture.title,
        "titled": parent != picture.title and bool(parent),
        "level": level,
        "note": _subtitle(spec),
        "caption": picture.caption,
        "spec": spec,
        "columns": columns,
        "rows": picture.rows[:MOST_ROWS],
        "left_out": max(0, len(picture.rows) - MOST_ROWS),
    }


def _subtitle(spec: View) -> str:
    """Take the title out of a picture, which the page has already, and return its subtitle."""
    for part in (spec, *spec.get("vconcat", [])):
        title = part.pop("title", None)
        if isinstance(title, dict):
            text = title.get("subtitle", "")
            return " ".join(text) if isinstance(text, list) else str(text)
    return ""


def _image(block: Chart) -> View | None:
    """Return a picture that needs no script."""
    try:
        drawn = plots.rendered(plots.chart(block.name, block.result), "svg")
    except ValueError:
        return None
    picture = plots.Picture.of(block.name, block.result)
    return {
        "kind": "image",
        "source": f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}",
        "title": picture.title,
        "caption": picture.caption,
    }


def _figures(view: Sequence[View]) -> Iterator[View]:
    for item in view:
        if item["kind"] == "figure":
            yield item
        elif item["kind"] == "details":
            yield from _figures(item["view"])


# -- templates --------------------------------------------------------------------------------------------------------


@cache
def _file(name: str) -> str:
    return files("veracity.show").joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    filters = {"cell": _cell, "emphasis": _emphasis, "digits": _digits, "finding": words.finding}
    environment.filters.update(filters)
    return environment


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)


def _cell(cell: Cell, first: bool, column: Column) -> Markup:
    """Return a cell of a table; numbers keep all their digits for copying."""
    extra = " extra" if column.rank > 1 else ""  # left out on a narrow screen
    if isinstance(cell, Label):
        gloss = Markup('<br><span class="gloss">{}</span>').format(cell.gloss) if cell.gloss else ""
        return Markup('<th scope="row">{}{}{}</th>').format(cell.name, f" {cell.arrow}" if cell.arrow else "", gloss)
    if isinstance(cell, Interval):
        return Markup('<td class="n quiet{}">{}</td>').format(extra, cell.text)
    if isinstance(cell, Value):
        number, why = words.value(cell.reading), words.why(cell.reading)
        if number is None:
            return Markup('<td class="n quiet{}" title="{}">{}</td>').format(extra, why, cell.text)
        return Markup('<td class="n{}"><data value="{}">{}</data></td>').format(extra, repr(number), cell.text)
    if first:
        return Markup('<th scope="row">{}</th>').format(_emphasis(cell))
    classes = f"{'n text' if column.number else ''}{extra}".strip()
    opening = Markup('<td class="{}">').format(classes) if classes else Markup("<td>")
    return opening + _emphasis(cell) + Markup("</td>")


def _digits(x: float | None) -> str:
    """Return five digits, one more than the tooltips have."""
    number = words.value(x)
    return "" if number is None else f"{number:.5g}" if abs(number) < 1e5 else f"{number:,.0f}"


def _emphasis(text: str) -> Markup:
    """Return **bold** and `code` of a sentence; everything else is escaped."""
    out = Markup("")
    tied = re.sub(r" (?=%)|(?<=\bp) (?=[<=])|(?<=\bp =) |(?<=<) (?=\d)", "\N{NO-BREAK SPACE}", str(text))
    for i, part in enumerate(tied.split("**")):
        pieces = part.split("`")
        inner = Markup("").join(
            Markup("<code>{}</code>").format(piece) if j % 2 else escape(piece) for j, piece in enumerate(pieces)
        )
        out += Markup("<strong>{}</strong>").format(inner) if i % 2 else inner
    return out
