"""Shared parts of all pictures: themes, titles, tooltips. Colours are Okabe and Ito's, each with a second cue."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from veracity import words
from veracity.words import ends, finite

WIDTH, HEIGHT = 420, 320
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
DASHES: list[list[int]] = [[], [6, 3], [2, 2], [8, 3, 2, 3], [10, 2], [1, 3]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]

Rows = list[dict[str, Any]]
Chart = Any  # altair has a type for each kind of layer; all of them will do
Columns = Mapping[str, tuple[str, str]]  # {field: (title, d3 format; "" for text)}


def _theme(ink: str, soft: str, grid: str, line: str, categories: Sequence[str]) -> dict[str, Any]:
    return {
        "background": None,  # transparent: the page decides
        "font": FONT,
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "range": {"category": list(categories)},
        "mark": {"color": categories[0]},
        "rule": {"color": categories[0]},
        "axis": {
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridColor": grid,
            "domainColor": soft,
            "tickColor": soft,
            "labelOverlap": True,
            "labelFlush": False,
            "titlePadding": 8,
        },
        "axisX": {"tickCount": 8},
        "legend": {
            "orient": "bottom",
            "direction": "horizontal",
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "labelLimit": 300,
            "symbolStrokeWidth": 2,
            "symbolSize": 80,
            "symbolOpacity": 1,
            "symbolBaseFillColor": ink,
            "symbolBaseStrokeColor": ink,
        },
        "header": {"labelColor": ink, "titleColor": ink, "labelFontSize": 12},
        "title": {
            "anchor": "start",
            "color": ink,
            "subtitleColor": soft,
            "fontSize": 15,
            "subtitleFontSize": 12,
            "fontWeight": 600,
            "offset": 12,
        },
        "style": {
            "reference": {"color": soft, "strokeWidth": 1.5, "strokeDash": [5, 4]},
            "guide": {"color": soft, "strokeWidth": 1},
            "band": {"color": soft, "opacity": 0.22},
            "quiet": {"color": soft, "opacity": 0.6},
            "note": {"color": ink, "fontSize": 12},
            "half": {"color": soft, "fontSize": 14, "fontStyle": "italic"},
            "mean-line": {"color": line},
        },
    }


LIGHT = _theme(
    "#222222", "#6b6b6b", "#e4e4e4", "#222222", ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
)
# the line of the means is orange in the dark, so that it is seen on paper too when a dark page is printed
DARK = _theme(
    "#e8e8e8", "#a8a8a8", "#3a3d42", "#ff8f4d", ["#56B4E9", "#E69F00", "#3fc79a", "#e39ac4", "#F0E442", "#ff8f4d"]
)
THEMES = {"light": LIGHT, "dark": DARK}

RISK_AXIS = ["Risk parameter r", "← punishes misses · forgives them →"]
PROBABILITY = alt.Scale(domain=[0, 1], nice=False)
GAVE, EXPECTED, RECALIBRATED = "gave", "expected", "recalibrated"  # the three sides of every mean
SIDES = {GAVE: "reported", EXPECTED: "expected", RECALIBRATED: "measured"}


def models(result: Any) -> dict[str, Any]:
    """Return {name: assessment} of one or several assessments."""
    if isinstance(result, (list, tuple)):
        return {name_of(one, i): one for i, one in enumerate(result)}
    held: dict[str, Any] | None = getattr(result, "models", None)
    return dict(held) if held is not None else {name_of(result): result}


def name_of(result: Any, i: int = 0) -> str:
    return str(getattr(result, "model", None) or ("forecasts" if i == 0 else f"forecasts {i + 1}"))


def present(rows: Rows, name: str, what: str) -> Rows:
    """Return the rows, at least one, or raise ValueError."""
    if not rows:
        raise ValueError(f"{name}: this assessment holds no {what}, so there is nothing to draw")
    return rows


def event(result: Any) -> str | None:
    """Return the name of the event where there are two classes, else None."""
    return str(result.classes[1]) if result.classes and len(result.classes) == 2 else None


def event_name(result: Any) -> str:
    """Return the name of the event of two classes, for titles."""
    return words.event_name(event(result))


def reading(found: Any) -> dict[str, float | None]:
    """Return value and ends of a reading as fields of a row, None where unknown."""
    limits = ends(found)
    low, high = (None, None) if limits is None else (finite(limits[0]), finite(limits[1]))
    return {"value": finite(found), "low": low, "high": high}


def data(rows: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in rows])


def tips(columns: Columns) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(field=field, title=title, type="quantitative", format=form)
        if form
        else alt.Tooltip(field=field, title=title, type="nominal")
        for field, (title, form) in columns.items()
    ]


def title(text: str, subtitle: str = "") -> alt.TitleParams:
    """Return a title in lines short enough for 400 px."""
    return alt.TitleParams(text=textwrap.wrap(text, 44), subtitle=textwrap.wrap(subtitle, 56) or alt.Undefined)


def layered(heading: str, note: str, *layers: Chart, width: int = WIDTH, height: int = HEIGHT) -> Chart:
    """Return the layers as one picture with a heading and a note below it."""
    return alt.layer(*layers).properties(width=width, height=height, title=title(heading, note))


def diagonal() -> Chart:
    corners = data([{"x": 0, "y": 0}, {"x": 1, "y": 1}])
    return alt.Chart(corners).mark_line(style="reference", clip=True).encode(x="x:Q", y="y:Q")


def note(x: float, y: float, text: str, **mark: Any) -> Chart:
    """Return a note inside a picture of the unit square."""
    return (
        alt.Chart(data([{"x": x, "y": y, "text": text}]))
        .mark_text(style="half", **mark)
        .encode(x="x:Q", y="y:Q", text="text:N")
    )


def risk_marks() -> list[Chart]:
    """Return the named places of the log loss and the Brier score on the risk axis."""
    named = alt.Chart(data([{"r": r, "name": name} for r, name in ((0, "log"), (1, "Brier"))])).encode(x="r:Q")
    text = named.mark_text(style="note", align="left", dx=4, dy=2, baseline="top", fontSize=11)
    return [named.mark_rule(style="guide", opacity=0.6), text.encode(y=alt.value(0), text="name:N")]


def legend_columns(names: Sequence[str]) -> int:
    """Return two columns for short names, one for long ones, so that a legend fits 400 px."""
    return 1 if max(map(len, names), default=0) > 18 else 2


def categories(domain: Sequence[str]) -> alt.Scale:
    """Return colours in the order of the domain, taken from the theme."""
    return alt.Scale(domain=list(domain))


def dashes(domain: Sequence[str]) -> alt.Scale:
    """Return dashes in the order of the domain; the first is solid and has no pattern, which would print slowly."""
    return alt.Scale(domain=list(domain), range=[DASHES[i % len(DASHES)] for i in range(len(domain))])


def shapes(domain: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=list(domain), range=[SHAPES[i % len(SHAPES)] for i in range(len(domain))])
