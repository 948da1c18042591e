"""Charts that are whole in themselves: drawn in files, pages and notebooks without asking the network for anything."""

from __future__ import annotations

import base64
import json
import math
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import altair as alt
from altair.typing import ChartType

from veracity import plots, words

PLAIN_TEXT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
EMBEDDED = {"renderer": "svg", "actions": {"export": True, "source": False, "compiled": False, "editor": False}}


class Offline:
    """An Altair chart that brings its own runtime where Altair's links to a content network.

    What Altair makes of it, such as `chart.properties(width=300)`, is one too.
    """

    def save(self, path: str | Path, *, scale: float = 2.0) -> None:
        """Write the chart as html (whole, no network), png, svg, pdf or json, by the ending of the name."""
        plots.save(cast(ChartType, self), path, scale=scale)

    def _repr_mimebundle_(self, *args: object, **options: object) -> object:
        """Return the chart for a notebook; as a renderer wants it that was chosen by `altair.renderers.enable`."""
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **options)  # type: ignore[misc]
        chart = cast(ChartType, self)
        still = base64.b64encode(plots.rendered(chart, "png")).decode()
        return {"text/html": notebook_html(chart), "image/png": still}

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self).__bases__[1], dict(self.__dict__))


def offline(chart: ChartType) -> ChartType:
    """Return the chart as one that is whole in itself."""
    object.__setattr__(
        chart, "__class__", _offline_class(cast(type, chart.__class__))
    )  # altair's own setter writes into the picture
    return chart


@cache
def _offline_class(kind: type) -> type:
    return kind if issubclass(kind, Offline) else type(kind.__name__, (Offline, kind), {})


def _restored(kind: type[ChartType], attributes: dict[str, Any]) -> ChartType:
    chart: ChartType = object.__new__(_offline_class(cast(type, kind)))
    chart.__dict__.update(attributes)
    return chart


def notebook_html(chart: ChartType) -> str:
    """Return the chart as a piece of HTML: a still picture, which the script in it replaces by one that can be asked.

    The script has a scope of its own, so that a notebook can hold several.
    """
    place = f"veracity-{uuid4().hex}"
    drawn = base64.b64encode(plots.rendered(chart, "svg")).decode()
    spec, how = inline_json(chart.to_dict()), inline_json(EMBEDDED)
    return (
        f'<div id="{place}"><img alt="" style="max-width: 100%" src="data:image/svg+xml;base64,{drawn}"></div>\n'
        f"<script>(function () {{ {runtime()}\n"
        f'window.vegaEmbed(document.getElementById("{place}"), {spec}, {how});\n'
        "})();</script>"
    )


def inline_json(value: object) -> str:
    """Return JSON that cannot end the script element it is in, whatever the data are called.

    >>> inline_json({"name": "</script><b>"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e"}'
    """
    text = json.dumps(_drawable(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, code in PLAIN_TEXT.items():
        text = text.replace(character, code)
    return text


def _drawable(value: object) -> object:
    """Return a value with the digits a picture can show, without infinities, undefined numbers and controls."""
    if isinstance(value, str):
        return words.clean(value)
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _drawable(entry) for name, entry in value.items()}
    return [_drawable(entry) for entry in value] if isinstance(value, (list, tuple)) else value


@cache
def runtime() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script: that of the installed vl-convert.

    Making it takes as long as the rest of a report, so the package holds it (`setup.py`); where it was built with
    another version of vl-convert, or without it, the script is made here.
    """
    bundle = packaged_runtime()
    if bundle is None:
        import vl_convert

        bundle = str(vl_convert.javascript_bundle())  # type: ignore[call-arg]
    return bundle.replace("</script", "<\\/script")


def packaged_runtime() -> str | None:
    """Return the script that the package was built with, if it is that of the installed vl-convert; else None."""
    try:
        script = files("veracity.plots").joinpath(f"runtime-{version('vl-convert-python')}.js")
    except PackageNotFoundError:
        return None
    return script.read_text(encoding="utf-8") if script.is_file() else None
