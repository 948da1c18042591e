"""One picture per file: `chart(result)`, `rows(result)` for the table under it, `caption(result)` from its numbers.

A file names the kind of result it shows (OF), its place on a page (ORDER), its TITLE, the COLUMNS of its table, and
the options of the VARIANTS that are written as files, if there are several.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from veracity import words
from veracity.files.whole_files import write_whole

if TYPE_CHECKING:
    from altair.typing import ChartType

    from veracity.plots._style import Models
    from veracity.plots.coupled import Coupled
    from veracity.results.estimate import Estimate
    from veracity.results.monitor import Monitor
    from veracity.table import TableAssessment

    Result: TypeAlias = Models | Monitor | Estimate | TableAssessment | Coupled | Sequence[Coupled]

FIRST = "reliability"
FORMATS = ("html", "png", "svg", "pdf", "json")


def names(of: str | None = None) -> list[str]:
    """Return the names of all pictures, the files of this folder; or of those of "assessment", "models" or "table"."""
    all_names = _names(tuple(__path__))
    return list(all_names) if of is None else [name for name in all_names if of == module(name).OF]


@cache
def _names(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(name for _, name, _ in pkgutil.iter_modules(folders) if not name.startswith("_")))


@dataclass(frozen=True)
class Picture:
    """A picture of one result, as its file describes it, with the table of its numbers."""

    name: str
    result: Result
    title: str
    order: int  # its place on a page
    is_folded: bool  # whether a page shows it to specialists only
    columns: dict[str, tuple[str, str]]  # {field: (title, d3 format; "" for text)} of the table
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, name: str, result: Result) -> Picture:
        file = module(name)
        folded = getattr(file, "FOLDED", False)
        return cls(name, result, file.TITLE, file.ORDER, folded, file.COLUMNS, list(file.rows(result)))

    @property
    def caption(self) -> str:
        return str(module(self.name).caption(self.result)) if hasattr(module(self.name), "caption") else ""

    def spec(self) -> dict[str, Any]:
        """Return the chart in Vega-Lite, without a theme; ValueError where the result has nothing to draw."""
        spec: dict[str, Any] = _drawn(self.name, self.result).to_dict(validate=False)
        return {name: part for name, part in spec.items() if name not in ("config", "$schema")}


def pictures(of: str, result: Result) -> list[Picture]:
    """Return the pictures of a kind of result that it has numbers for, in the order of a page."""
    gallery = [picture for name in names(of) if (picture := Picture.of(name, result)).rows]
    return sorted(gallery, key=lambda picture: (picture.order, picture.name))


def _drawn(name: str, result: Result, **options: object) -> ChartType:
    """Return a chart; its parts are not validated each by itself while it is put together."""
    from altair.utils.schemapi import debug_mode

    drawing = module(name)
    with debug_mode(False):
        chart: ChartType = drawing.chart(result, **options)
    return chart


def module(name: str) -> ModuleType:
    if name not in (known := _names(tuple(__path__))):
        raise ValueError(f"plot: no picture {name!r}; there are {', '.join(known)}")
    return importlib.import_module(f"{__name__}.{name}")


def chart(name: str | None, result: Result, *, theme: str = "light", **options: object) -> ChartType:
    """Return the picture `name` of a result, an Altair chart that opens offline, saved or in a notebook.

    Without a name it is the reliability chart, and the names of all pictures are printed.
    """
    from veracity.plots._offline import offline
    from veracity.plots._style import THEMES

    if theme not in THEMES:
        raise ValueError(f"theme: {theme!r} is not one of {', '.join(THEMES)}")
    if name is None:
        name = FIRST
        print(f"pictures: {', '.join(names('assessment'))}")
    picture = _drawn(name, result, **options)
    picture.config = {**THEMES[theme], "background": "#ffffff" if theme == "light" else "#16181c"}
    return offline(picture)


def save(chart: ChartType, path: str | Path, *, scale: float = 2.0) -> None:
    """Write a chart as html (whole, no network), png, svg, pdf or json, by the ending of the name."""
    write_whole(path, rendered(chart, Path(path).suffix.lstrip("."), scale=scale))


def _clean(spec: object) -> object:
    """Return a picture without control characters, which would crash the renderer."""
    if isinstance(spec, dict):
        return {name: _clean(part) for name, part in spec.items()}
    if isinstance(spec, list):
        return [_clean(part) for part in spec]
    return words.clean(spec) if isinstance(spec, str) else spec


def rendered(chart: ChartType, form: str, *, scale: float = 2.0) -> bytes:
    """Return the chart in one of FORMATS."""
    import json

    import vl_convert

    if form not in FORMATS:
        raise ValueError(f"save: {form!r} is not one of the endings {', '.join(FORMATS)}")
    spec = _clean(chart.to_dict())
    if form == "json":
        return json.dumps(spec, ensure_ascii=False, indent=1).encode()
    how: dict[str, dict[str, object]] = {"png": {"scale": scale}, "html": {"bundle": True}}
    content: str | bytes = getattr(vl_convert, f"vegalite_to_{form}")(spec, **how.get(form, {}))
    return content.encode() if isinstance(content, str) else content
