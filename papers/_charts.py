"""The shapes of the papers' figures as Altair charts; numbers come in, nothing is computed here."""

from __future__ import annotations

from typing import Any

import altair as alt

GREEN, ORANGE, BROWN, BLUE, RED, MAGENTA = "#009e73", "#e69f00", "#7a4a21", "#0072b2", "#d55e00", "#cc79a7"
PALETTE = (BLUE, RED, GREEN, MAGENTA, ORANGE, BROWN)


def data(**columns: Any) -> Any:
    """Rows for a chart, from columns of equal length."""
    names = list(columns)
    cells = ([v.item() if hasattr(v, "item") else v for v in column] for column in columns.values())
    return alt.InlineData(values=[dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)])


def lines(
    rows: Any,
    x: str,
    y: str,
    *,
    colour: str | None = None,
    dash: str | None = None,
    x_domain: tuple[float, float] | None = None,
    y_domain: tuple[float, float] | None = None,
    colours: dict[str, str] | None = None,
    dashes: list[str] | None = None,
    width: int = 260,
    height: int = 200,
    title: str = "",
) -> Any:
    """Curves over x; colour and dash name columns."""
    encoding: dict[str, Any] = {
        "x": alt.X(f"{x}:Q", title=x, scale=alt.Scale(domain=x_domain, nice=False) if x_domain else alt.Undefined),
        "y": alt.Y(f"{y}:Q", title=y, scale=alt.Scale(domain=y_domain, nice=False) if y_domain else alt.Undefined),
        "order": alt.Order("order:Q"),
    }
    if colour and colour == dash:  # one legend needs one domain
        colours = colours or dict(zip(dashes or [], PALETTE, strict=False))
        dashes = list(colours)
    if colour:
        scale = alt.Scale(
            domain=list(colours) if colours else alt.Undefined,
            range=list(colours.values()) if colours else list(PALETTE),
        )
        encoding["color"] = alt.Color(f"{colour}:N", scale=scale, title=None, sort=None)
    if dash:
        encoding["strokeDash"] = alt.StrokeDash(
            f"{dash}:N", title=None, sort=None, scale=alt.Scale(domain=dashes) if dashes else alt.Undefined
        )
    return (
        alt.Chart(rows, title=title, width=width, height=height)
        .mark_line(clip=True, strokeWidth=1.8)
        .encode(**encoding)
    )


def diagonal(low: float = 0.0, high: float = 1.0, colour: str = "#888") -> Any:
    rows = data(x=[low, high], y=[low, high])
    return alt.Chart(rows).mark_line(color=colour, strokeDash=[4, 3]).encode(x="x:Q", y="y:Q")


def points(
    rows: Any, x: str, y: str, *, colour: str, shape: str = "circle", size: int = 70, filled: bool = True
) -> Any:
    return (
        alt.Chart(rows)
        .mark_point(color=colour, fill=colour if filled else None, shape=shape, size=size, opacity=1, clip=True)
        .encode(x=f"{x}:Q", y=f"{y}:Q")
    )


def words(rows: Any, x: str, y: str, text: str, *, dx: int = 8, dy: int = 0, align: str = "left") -> Any:
    return (
        alt.Chart(rows)
        .mark_text(align=align, dx=dx, dy=dy, fontSize=11, clip=False)  # type: ignore[arg-type]
        .encode(x=f"{x}:Q", y=f"{y}:Q", text=f"{text}:N")
    )


def model_versus_source(bubbles: Any, means: Any, title: str = "") -> Any:
    """N17 Figs 3, 5, 6: bins of each class as bubbles, the three overall means as brown marks."""
    unit = alt.Scale(domain=(0, 1), nice=False)
    cloud = (
        alt.Chart(bubbles)
        .mark_point(filled=True, opacity=0.55, clip=True)
        .encode(
            x=alt.X("source:Q", title="source probability", scale=unit),
            y=alt.Y("model:Q", title="model probability", scale=unit),
            size=alt.Size("true events:Q", legend=None, scale=alt.Scale(range=(4, 260))),
            color=alt.Color(
                "class:N", title=None, scale=alt.Scale(domain=["green", "orange"], range=[GREEN, ORANGE]), sort=None
            ),
            shape=alt.Shape("class:N", scale=alt.Scale(domain=["green", "orange"], range=["circle", "triangle-up"])),
        )
    )
    marks = (
        alt.Chart(means)
        .mark_point(filled=True, color=BROWN, opacity=1, shape="diamond")
        .encode(
            x="source:Q",
            y="model:Q",
            size=alt.Size("weight:Q", legend=None, scale=alt.Scale(domain=(0, 1), range=(60, 240))),
        )
    )
    joined = alt.Chart(means).mark_line(color=BROWN, strokeWidth=1).encode(x="source:Q", y="model:Q")
    return (
        alt.layer(diagonal(), cloud, joined, marks, title=title)
        .resolve_scale(size="independent")
        .properties(width=250, height=250)
    )


def beside(*charts: Any, columns: int = 3) -> Any:
    return alt.concat(*charts, columns=columns).resolve_scale(
        color="independent", size="independent", shape="independent", strokeDash="independent"
    )
