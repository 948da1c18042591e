"""Shared parts of all pictures: themes, titles, tooltips; colours are in `_colours.py`, each has a second cue here."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import altair as alt
from altair.typing import ChartType

from veracity import words
from veracity.plots._colours import COLOURS, Colours
from veracity.records.sections import Section
from veracity.results.assess import Assessments
from veracity.results.assessment import Assessment
from veracity.results.comparison import Comparison
from veracity.words import ends, finite

WIDTH, HEIGHT = 420, 320
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
DASHES: list[list[int]] = [[], [6, 3], [2, 2], [8, 3, 2, 3], [10, 2], [1, 3]]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]

Rows = list[dict[str, Any]]  # the data of a picture, one dict per mark
Chart = ChartType
Models = Assessment | Assessments | Comparison | Sequence[Assessment]
Align = Literal["left", "center", "right"]
Channel = Any  # of a mark: altair has a type for each channel
Columns = Mapping[str, tuple[str, str]]  # {field: (title, d3 format; "" for text)}


def _theme(colours: Colours) -> dict[str, Any]:
    ink, soft, categories = colours.ink, colours.soft, colours.categories
    text = {"labelColor": ink, "titleColor": ink, "labelFontSize": 12}
    return {
        "background": None,  # transparent: the page decides
        "font": FONT,
        "view": {"stroke": None, "continuousWidth": WIDTH, "continuousHeight": HEIGHT},
        "range": {"category": list(categories)},
        "mark": {"color": categories[0]},
        "rule": {"color": categories[0]},
        "axis": {
            **text,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridColor": colours.grid,
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
            **text,
            "titleFontSize": 12,
            "labelLimit": 300,
            "symbolStrokeWidth": 2,
            "symbolSize": 80,
            "symbolOpacity": 1,
            "symbolBaseFillColor": ink,
            "symbolBaseStrokeColor": ink,
        },
        "header": text,
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
            "mean-line": {"color": colours.line},
        },
    }


THEMES = {name: _theme(colours) for name, colours in COLOURS.items()}

RISK_AXIS = ["Risk parameter r", "← punishes misses · forgives them →"]
PROBABILITY = alt.Scale(domain=[0, 1], nice=False)
GAVE, EXPECTED, RECALIBRATED = "gave", "expected", "recalibrated"  # the three sides of every mean
SIDES = (GAVE, EXPECTED, RECALIBRATED)
INTERVAL = {"low": ("low", ".4~g"), "high": ("high", ".4~g")}  # columns


def models(result: Models) -> dict[str, Assessment]:
    """Return {name: assessment} of one or several assessments."""
    if isinstance(result, (Assessments, Comparison)):
        return dict(result.models)
    assessments = [result] if isinstance(result, Assessment) else result
    return {name_of(one, i): one for i, one in enumerate(assessments)}


def name_of(result: Assessment, i: int = 0) -> str:
    return str(result.model or ("forecasts" if i == 0 else f"forecasts {i + 1}"))


def present(rows: Rows, name: str, what: str) -> Rows:
    """Return the rows, at least one, or raise ValueError."""
    if not rows:
        raise ValueError(f"{name}: this assessment holds no {what}, so there is nothing to draw")
    return rows


def event(result: Assessment) -> str | None:
    """Return the name of the event where there are two classes, else None."""
    return str(result.classes[1]) if result.classes and len(result.classes) == 2 else None


def event_name(result: Assessment) -> str:
    """Return the name of the event of two classes, for titles."""
    return words.event_name(event(result))


def reading(number: float | None) -> dict[str, float | None]:
    """Return value and ends of a reading as fields of a row, None where unknown."""
    limits = ends(number)
    low, high = (None, None) if limits is None else (finite(limits[0]), finite(limits[1]))
    return {"value": finite(number), "low": low, "high": high}


def fields(record: Section) -> dict[str, Any]:
    """Return the fields of a record that have a value, as a row."""
    return {name: value for name, value in vars(record).items() if value is not None}


class _Rows(alt.InlineData):
    """Rows that the copies of a chart share: altair copies a chart, with all its data, at every step."""

    def __deepcopy__(self, _: object) -> _Rows:
        return self


def points(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Return the chart of some rows, to be marked and encoded."""
    return alt.Chart(_Rows(values=[dict(row) for row in rows]))


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


def layered(heading: str, note: str, *layers: alt.Chart, width: int = WIDTH, height: int = HEIGHT) -> Chart:
    """Return the layers as one picture with a heading and a note below it."""
    return alt.layer(*layers).properties(width=width, height=height, title=title(heading, note))


def panels(heading: str, note: str, rows: Rows, draw: Callable[[str, Rows], Chart]) -> Chart:
    """Return a picture for the rows of each column of groups, one below the other."""
    columns = dict.fromkeys(row["column"] for row in rows)
    drawn = [draw(column, [row for row in rows if row["column"] == column]) for column in columns]
    return alt.vconcat(*drawn).properties(title=title(heading, note))


def rule(axis: str, at: float, kind: str = "reference") -> alt.Chart:
    """Return a line across the picture at a place of the axis "x" or "y"."""
    return points([{axis: at}]).mark_rule(style=kind).encode((alt.X if axis == "x" else alt.Y)(f"{axis}:Q"))


def diagonal() -> alt.Chart:
    corners = points([{"x": 0, "y": 0}, {"x": 1, "y": 1}])
    return corners.mark_line(style="reference", clip=True).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))


def note(x: float, y: float, text: str, align: Align) -> alt.Chart:
    """Return a note inside a picture of the unit square."""
    place = points([{"x": x, "y": y, "text": text}])
    return place.mark_text(style="half", align=align).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("text:N"))


def risk_marks() -> list[alt.Chart]:
    """Return the named places of the log loss and the Brier score on the risk axis."""
    named = points([{"r": r, "name": name} for r, name in ((0, "log"), (1, "Brier"))])
    return [named.mark_rule(style="guide", opacity=0.6).encode(x=alt.X("r:Q")), names_above(named)]


def names_above(marks: alt.Chart, align: Align = "left", dx: int = 4) -> alt.Chart:
    """Return the names of places on the risk axis, at the top of the picture."""
    text = marks.mark_text(style="note", align=align, dx=dx, dy=2, baseline="top", fontSize=11)
    return text.encode(x=alt.X("r:Q"), y=alt.YValue(0), text=alt.Text("name:N"))  # type: ignore[no-untyped-call]


def legend_columns(names: Sequence[str]) -> int:
    """Return two columns for short names, one for long ones, so that a legend fits 400 px."""
    return 1 if max(map(len, names), default=0) > 18 else 2


def by(field: str, domain: Sequence[str], *channels: str, **how: object) -> dict[str, Any]:
    """Return the encodings of a field, such as "color" and "shape", in the order of the domain; colours by the theme.

    The first dash is solid and has no pattern, which would print slowly.
    """
    cues: dict[str, list[Any]] = {"shape": SHAPES, "strokeDash": DASHES}
    encoding = {}
    for name in channels:
        cue: dict[str, Any] = (
            {"range": [cues[name][i % len(cues[name])] for i in range(len(domain))]} if name in cues else {}
        )
        channel = getattr(alt, f"{name[0].upper()}{name[1:]}")
        encoding[name] = channel(f"{field}:N", **{"scale": alt.Scale(domain=list(domain), **cue), "title": None, **how})
    return encoding


def dots(points: alt.Chart, size: int, **encoded: Channel) -> alt.Chart:
    return points.mark_point(filled=True, size=size, opacity=1).encode(**encoded)


def categories(names: Sequence[str]) -> dict[str, Any]:
    """Return the encodings of the forecast categories of a table, from best to worst: shades where they are many."""
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=240, columns=len(SHAPES))
    how = {"sort": list(names), "legend": legend, "title": alt.Undefined}
    shades = {"scale": alt.Scale(domain=list(names), scheme="viridis")} if len(names) > len(SHAPES) else {}
    return by("category", names, "color", **how, **shades) | by("category", names, "strokeDash", **how)
