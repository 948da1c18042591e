"""One picture per file: `chart(result)`, `rows(result)` for the table under it, `caption(result)` from its numbers.

A file names the kind of result it shows (OF), its place on a page (ORDER), its TITLE, the COLUMNS of its table, and
the options of the VARIANTS that are written as files, if there are several.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from veracity import words
from veracity.data.whole_files import write_whole

if TYPE_CHECKING:
    from altair.typing import ChartType

    from veracity.plots._style import Models
    from veracity.plots.coupled import Coupled
    from veracity.table import TableAssessment

    Result: TypeAlias = Models | TableAssessment | Coupled | Sequence[Coupled]

FIRST = "reliability"
FORMATS = ("html", "png", "svg", "pdf", "json")


def names(of: str | None = None) -> list[str]:
    """Return the names of all pictures, the files of this folder; or of those of "assessment", "models" or "table"."""
    found = sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_"))
    return found if of is None else [name for name in found if of == module(name).OF]


def ordered(of: str) -> list[ModuleType]:
    """Return the pictures of a kind of result, in the order of a page."""
    return sorted(map(module, names(of)), key=lambda one: (one.ORDER, one.__name__))


def name_of(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def module(name: str) -> ModuleType:
    if name not in (known := names()):
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
    made = module(name).chart(result, **options)
    made.config = {**THEMES[theme], "background": "#ffffff" if theme == "light" else "#16181c"}
    return offline(made)


def save(chart: ChartType, path: str | Path, *, scale: float = 2.0) -> None:
    """Write a chart as html (whole, no network), png, svg, pdf or json, by the ending of the name."""
    write_whole(path, rendered(chart, Path(path).suffix.lstrip("."), scale=scale))


def _clean(spec: object) -> object:
    """Return a picture without control characters, which would crash the renderer."""
    if isinstance(spec, dict):
        return {name: _clean(held) for name, held in spec.items()}
    if isinstance(spec, list):
        return [_clean(held) for held in spec]
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
    made: str | bytes = getattr(vl_convert, f"vegalite_to_{form}")(spec, **how.get(form, {}))
    return made.encode() if isinstance(made, str) else made
