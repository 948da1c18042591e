"""One picture per file, each `chart(result) -> altair.Chart`; a picture reads numbers and computes none."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

FORMATS = ("html", "png", "svg", "pdf", "json")


def names() -> list[str]:
    """Every picture there is: the files of this folder."""
    return sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_"))


def module(name: str) -> ModuleType:
    if name not in names():
        raise ValueError(f"plot: no picture {name!r}; there are {', '.join(names())}")
    return importlib.import_module(f"{__name__}.{name}")


def chart(name: str, result: Any, *, theme: str = "light", **options: Any) -> Any:
    """The picture `name` of a result, an Altair chart whose `save` writes pages that open offline."""
    from veracity.plots._style import THEMES

    if theme not in THEMES:
        raise ValueError(f"theme: {theme!r} is none of {', '.join(THEMES)}")
    made = module(name).chart(result, **options)
    made.config = {**THEMES[theme], "background": "#ffffff" if theme == "light" else "#16181c"}
    # altair's own save links to a content network; this one is whole in itself
    object.__setattr__(made, "save", functools.partial(save, made))
    return made


def save(chart: Any, path: str | Path, **options: Any) -> None:
    """Write a chart as html (whole, no network), png, svg, pdf or json, by the ending of the name."""
    Path(path).write_bytes(rendered(chart, Path(path).suffix.lstrip("."), **options))


def rendered(chart: Any, form: str, *, scale: float = 2.0) -> bytes:
    """The chart in one of FORMATS."""
    import json

    import vl_convert

    if form not in FORMATS:
        raise ValueError(f"save: {form!r} is none of the endings {', '.join(FORMATS)}")
    spec = chart.to_dict()
    if form == "json":
        return json.dumps(spec, ensure_ascii=False, indent=1).encode()
    if form == "svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    if form == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=scale))
    if form == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec))
    return str(vl_convert.vegalite_to_html(spec, bundle=True)).encode()
