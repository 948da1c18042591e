"""A table as areas: the width of a column is how often it was forecast, its parts are what followed."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style

OF, ORDER = "table", 10
CAPTION = (
    "Each column is a forecast, as wide as it was frequent; its parts are what followed. Dashed: what "
    "happens without a forecast."
)
COLUMNS = {
    "category": ("forecast", ""),
    "outcome": ("what happened", ""),
    "cases": ("cases", ",.6~g"),
    "share": ("of this forecast", ".3f"),
}


def rows(result: Any) -> style.Rows:
    """One rectangle per cell of the table."""
    return list((style.document(result).get("curves") or {}).get("mosaic") or [])


def chart(result: Any) -> style.Chart:
    """Mosaic of the table: without association the boundaries would lie on the dashed lines."""
    found, cells = (
        style.document(result),
        style.present(rows(result), "table_mosaic", "table of forecasts against outcomes"),
    )
    outcomes = [str(name) for name in found["columns"]]
    x = alt.X("left:Q", scale=alt.Scale(domain=[0, 1], nice=False), title="Share of all forecasts")
    y = alt.Y("low:Q", scale=style.PROBABILITY, title="Share of what followed")
    base = alt.Chart(style.data(cells))
    areas = base.mark_rect(stroke="white", strokeWidth=2, fillOpacity=0.8).encode(
        x=x,
        x2="right:Q",
        y=y,
        y2="high:Q",
        color=alt.Color("outcome:N", scale=style.categories(outcomes), title=None),
        tooltip=style.tips(COLUMNS),
    )
    names = (
        alt.Chart(style.data([cell for cell in cells if cell["low"] == 0 and cell["labelled"]]))
        .mark_text(style="note", dy=-8, baseline="bottom")
        .encode(x="middle:Q", y=alt.datum(1), text="category:N")
    )
    borders = style.data([{"y": share} for share in found["curves"]["mosaic_prior"]])
    expected = alt.Chart(borders).mark_rule(stroke="black", strokeDash=[5, 4], strokeWidth=1.5).encode(y="y:Q")
    return alt.layer(areas, expected, names).properties(
        width=style.WIDTH,
        height=style.HEIGHT,
        title=style.title(
            "What followed each forecast", "Width: how often it was forecast. Dashed: without a forecast."
        ),
    )
