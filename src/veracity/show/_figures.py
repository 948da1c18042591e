"""Pictures on a page: what Vega draws, a caption, and the data table under it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from veracity import plots, words

MOST_ROWS = 120  # of a data table under a figure; the JSON holds them all

View = dict[str, Any]


def modules(of: str) -> list[Any]:
    """The pictures of an assessment, of several models, or of a table, in the order of the page."""
    found = [module for module in map(plots.module, plots.names()) if getattr(module, "OF", None) == of]
    return sorted(found, key=lambda module: (getattr(module, "ORDER", 1000), module.__name__))


def figure(module: Any, found: Any, key: str) -> View | None:
    """A picture with its data table; None where the document does not hold what it shows."""
    try:
        chart = module.chart(found)
        rows = module.rows(found) if hasattr(module, "rows") else []
    except ValueError:
        return None
    name = name_of_picture(module)
    spec = chart.to_dict(validate=False)
    spec.pop("config", None)
    spec.pop("$schema", None)
    columns = getattr(module, "COLUMNS", {})
    return {
        "id": f"{key}-{name}",
        "name": name,
        "spec": spec,
        "caption": caption(module, found),
        "title": _title(spec, name),
        "columns": [{"field": field, "title": title, "number": bool(form)} for field, (title, form) in columns.items()],
        "rows": rows[:MOST_ROWS],
        "left_out": max(0, len(rows) - MOST_ROWS),
    }


def name_of_picture(module: Any) -> str:
    return str(module.__name__.rpartition(".")[2])


def caption(module: Any, found: Mapping[str, Any]) -> str:
    if module.__name__.endswith(".reliability") and len(found.get("classes") or []) > 2:
        return words.CAPTION_TOP
    return str(getattr(module, "CAPTION", ""))


def _title(spec: Mapping[str, Any], name: str) -> str:
    held = spec.get("title") or (spec.get("vconcat") or [{}])[0].get("title") or {}
    text = held.get("text", name) if isinstance(held, Mapping) else held
    return " ".join(text) if isinstance(text, list) else str(text)


def figures_of(view: Mapping[str, Any]) -> Iterator[View]:
    """Every figure on the page."""
    yield from (view.get("side") or {}).get("figures") or []
    yield from view.get("figures") or []
    for one in view.get("models") or []:
        if one["picture"]:
            yield one["picture"]
        yield from one["figures"]
