"""One HTML file from a document alone: opens from disk, asks the network for nothing, computes nothing."""

from __future__ import annotations

import json
import math
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from veracity import words
from veracity.show import _figures, _table, _view

PLAIN_TEXT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(result: Any) -> str:
    """The page of one assessment, or of several."""
    return _page("page.html", _view.page(result))


def render_table(table: Any) -> str:
    """The page of a prediction–realization table."""
    return _page("table.html", _table.table(table))


def _page(template: str, view: dict[str, Any]) -> str:
    from veracity.plots._style import THEMES

    charts = {figure["id"]: figure["spec"] for figure in _figures.figures_of(view)}
    page = _environment().get_template(template)
    return page.render(
        view=view,
        style=Markup(_file("style.css")),
        script=Markup(_file("page.js")),
        runtime=Markup(runtime()) if charts else "",
        charts=Markup(inline_json(charts)),
        themes=Markup(inline_json(THEMES)),
    )


def write(result: Any, path: str | Path) -> None:
    """Write the page whole or not at all."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent.name}; make it first")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_text(render_table(result) if _table.is_table(result) else render(result), encoding="utf-8")
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def fragment(result: Any) -> str:
    """The verdict and the main numbers as a piece of HTML, for a notebook cell."""
    view = _view.summary(result)
    return _environment().get_template("notebook.html").render(view=view)


def inline_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever the data are called.

    >>> inline_json({"name": "</script><b>"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e"}'
    """
    text = json.dumps(_drawable(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, code in PLAIN_TEXT.items():
        text = text.replace(character, code)
    return text


def _drawable(value: Any) -> Any:
    """With the digits a picture can show, and without infinities and undefined numbers, which none can."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _drawable(held) for name, held in value.items()}
    return [_drawable(held) for held in value] if isinstance(value, (list, tuple)) else value


@cache
def runtime() -> str:
    """Vega, Vega-Lite and vega-embed as one script, as shipped inside vl-convert."""
    import vl_convert

    bundle = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]
    return bundle.replace("</script", "<\\/script")


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(
        number=_number, percent=_percent, interval=_interval, emphasis=_emphasis, why=words.why, digits=_digits
    )
    return environment


def _number(x: Any, digits: int = 3) -> Markup:
    return _data(x, words.number(x, digits))


def _interval(reading: Any, as_percent: bool = False) -> str:
    return words.interval(reading, words.percent if as_percent else words.number)


def _digits(x: Any) -> str:
    """Five digits, as in the tooltips and one more."""
    held = words.value(x)
    return "" if held is None else f"{held:.5g}" if abs(held) < 1e5 else f"{held:,.0f}"


def _percent(x: Any) -> Markup:
    return _data(x, words.percent(x))


def _data(x: Any, text: str) -> Markup:
    """The number as shown, with all its digits for whoever copies it."""
    held = words.value(x)
    return Markup('<data value="{}">{}</data>').format(repr(held), text) if held is not None else escape(text)


def _emphasis(text: str) -> Markup:
    """**bold** and `code` of a sentence; everything else is escaped."""
    out = Markup("")
    for i, part in enumerate(str(text).split("**")):
        inner = Markup("").join(
            Markup("<code>{}</code>").format(piece) if j % 2 else escape(piece)
            for j, piece in enumerate(part.split("`"))
        )
        out += Markup("<strong>{}</strong>").format(inner) if i % 2 else inner
    return out
