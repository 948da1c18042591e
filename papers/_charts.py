"""Shapes of the papers' figures as Altair charts; they take numbers and compute none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt

GREEN, ORANGE, BROWN, BLUE, RED, MAGENTA = "#009e73", "#e69f00", "#7a4a21", "#0072b2", "#d55e00", "#cc79a7"
PALETTE = (BLUE, RED, GREEN, MAGENTA, ORANGE, BROWN, "#56b4e9", "#595959")
UNIT = alt.Scale(domain=(0, 1), nice=False)


def data(**columns: Any) -> Any:
    """Return rows for a chart from columns of equal length."""
    names = list(columns)
    cells = ([v.item() if hasattr(v, "item") else v for v in column] for column in columns.values())
    return alt.InlineData(values=[dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)])


def curves(parts: Iterable[tuple[Mapping[str, str], Any, Any]], x: str, y: str, **style: Any) -> Any:
    """Return rows of several curves, each given as ({column: label}, x values, y values)."""
    values = [
        {x: float(a), y: float(b), "order": order, **labels}
        for labels, xs, ys in parts
        for order, (a, b) in enumerate(zip(xs, ys, strict=True))
    ]
    return lines(alt.InlineData(values=values), x, y, **style)


def lines(
    rows: Any,
    x: str,
    y: str,
    *,
    colour: str | None = None,
    dash: str | None = None,
    y_domain: tuple[float, float] | None = None,
    colours: dict[str, str] | None = None,
    dashes: list[str] | None = None,
    width: int = 260,
    height: int = 200,
    title: str = "",
    legend_columns: int | None = None,
) -> Any:
    """Return lines over x in the order of the column `order`; colour and dash name columns."""
    legend = alt.Legend(columns=legend_columns, labelLimit=0, columnPadding=28) if legend_columns else alt.Undefined
    encoding: dict[str, Any] = {
        "x": alt.X(f"{x}:Q", title=x),
        "y": alt.Y(f"{y}:Q", title=y, scale=alt.Scale(domain=y_domain, nice=False) if y_domain else alt.Undefined),
        "order": alt.Order("order:Q"),
    }
    if colour and colour == dash:  # one legend needs one domain
        if dashes is not None and len(dashes) > len(PALETTE):
            raise ValueError(f"{len(dashes)} lines: a picture has colours for {len(PALETTE)}; draw several")
        colours = colours or dict(zip(dashes or [], PALETTE, strict=False))
        dashes = list(colours)
    if colour:
        scale = alt.Scale(
            domain=list(colours) if colours else alt.Undefined,
            range=list(colours.values()) if colours else list(PALETTE),
        )
        encoding["color"] = alt.Color(f"{colour}:N", scale=scale, title=None, sort=None, legend=legend)
    if dash:
        patterns = alt.Scale(domain=dashes) if dashes else alt.Undefined
        encoding["strokeDash"] = alt.StrokeDash(f"{dash}:N", title=None, sort=None, scale=patterns, legend=legend)
    chart = alt.Chart(rows, title=title, width=width, height=height)
    return chart.mark_line(clip=True, strokeWidth=1.8).encode(**encoding)


def diagonal(colour: str = "#888") -> Any:
    """Return the line of equality on the unit square."""
    rows = data(x=[0.0, 1.0], y=[0.0, 1.0])
    return alt.Chart(rows).mark_line(color=colour, strokeDash=[4, 3]).encode(x="x:Q", y="y:Q")


def points(rows: Any, x: str, y: str, *, colour: str, shape: str = "circle", size: int = 70) -> Any:
    """Return filled marks of one colour."""
    marks = alt.Chart(rows).mark_point(color=colour, fill=colour, shape=shape, size=size, opacity=1, clip=True)
    return marks.encode(x=f"{x}:Q", y=f"{y}:Q")


def labels(rows: Any, x: str, y: str, text: str) -> Any:
    """Return text to the right of points, a little below."""
    marks = alt.Chart(rows).mark_text(align="left", dx=8, dy=12, fontSize=11)
    return marks.encode(x=f"{x}:Q", y=f"{y}:Q", text=f"{text}:N")


def shares_and_means(
    x: Sequence[Any], shares: Sequence[float], means: Mapping[str, Sequence[float]], title: str, x_title: str
) -> Any:
    """Return bars of shares with marks for several means, joined from the first mean to the last."""
    names = list(means)
    across = alt.X(f"{x_title}:O", axis=alt.Axis(labelAngle=0))
    up: dict[str, Any] = {"scale": UNIT, "title": "share of correct picks, probability"}
    wide = alt.Chart(data(**{x_title: x, "share": shares, "first": means[names[0]], "last": means[names[-1]]}))
    long = data(
        **{x_title: [v for _ in names for v in x], "mean": [name for name in names for _ in x]},
        value=[v for values in means.values() for v in values],
    )
    shapes = alt.Scale(domain=names, range=["triangle-up", "square", "triangle-down"])
    shape = alt.Shape("mean:N", sort=None, title=None, scale=shapes, legend=alt.Legend(columns=1))
    marks = alt.Chart(long).mark_point(filled=True, size=60, color="#444", opacity=1)
    return alt.layer(
        wide.mark_bar(color="#e3d2bd").encode(x=across, y=alt.Y("share:Q", **up)),
        wide.mark_rule(color="#666", strokeWidth=2).encode(x=across, y="last:Q", y2="first:Q"),
        marks.encode(x=across, y=alt.Y("value:Q", **up), shape=shape),
        title=title,
    ).properties(width=220, height=200)


def model_versus_source(bins: Sequence[Mapping[str, Any]], source: Any, model: Any) -> Any:
    """N17 Figs 3, 5, 6: bins of each class as bubbles, the three overall means as brown marks, the middle one large."""
    names, colours = ["green", "orange"], [GREEN, ORANGE]
    axes = {
        "x": alt.X("source:Q", title="source probability", scale=UNIT),
        "y": alt.Y("model:Q", title="model probability", scale=UNIT),
    }
    cloud = alt.Chart(alt.InlineData(values=[dict(b) for b in bins]))
    bubbles = cloud.mark_point(filled=True, opacity=0.55, clip=True).encode(
        **axes,
        size=alt.Size("true events:Q", legend=None, scale=alt.Scale(range=(4, 260))),
        color=alt.Color("class:N", title=None, scale=alt.Scale(domain=names, range=colours), sort=None),
        shape=alt.Shape("class:N", scale=alt.Scale(domain=names, range=["circle", "triangle-up"])),
    )
    means = alt.Chart(data(source=source, model=model, weight=[0.2, 1.0, 0.2]))
    size = alt.Size("weight:Q", legend=None, scale=alt.Scale(domain=(0, 1), range=(60, 240)))
    marks = means.mark_point(filled=True, color=BROWN, opacity=1, shape="diamond").encode(**axes, size=size)
    joined = means.mark_line(color=BROWN, strokeWidth=1).encode(**axes)
    layers = alt.layer(diagonal(), bubbles, joined, marks).resolve_scale(size="independent")
    return layers.properties(width=250, height=250)


def side_by_side(*charts: Any, columns: int = 3) -> Any:
    """Return charts in rows of `columns`, each with its own legends."""
    return alt.concat(*charts, columns=columns).resolve_scale(
        color="independent", size="independent", shape="independent", strokeDash="independent"
    )
