"""A table as areas: the width of a column is the share of its forecast, its parts are the outcomes."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.table import TableAssessment
from veracity.words import event_name, percent

OF, ORDER, TITLE = "table", 10, "Outcomes after each forecast"
COLUMNS = {
    "category": ("forecast", ""),
    "outcome": ("outcome", ""),
    "cases": ("cases", ",.6~g"),
    "share": ("of this forecast", ".3f"),
}


def rows(result: TableAssessment) -> style.Rows:
    """Return one rectangle per cell of the table."""
    return result.curves.mosaic


def caption(result: TableAssessment) -> str:
    """Return the share of the event after the best and the worst forecast."""
    event, shares = event_name(result.columns[-1]), [values[-1] for values in result.predictive_values]
    return (
        f"Share of {event}: {percent(shares[0], 0)} after “{result.rows[0]}”, {percent(shares[-1], 0)} after "
        f"“{result.rows[-1]}”, {percent(result.prior[-1], 0)} overall (dashed)."
    )


def chart(result: TableAssessment) -> style.Chart:
    """Mosaic of the table: without association the boundaries would lie on the dashed lines."""
    cells = style.present(rows(result), "table_mosaic", "table of forecasts against outcomes")
    outcomes = list(result.columns)
    x = alt.X("left:Q", scale=alt.Scale(domain=[0, 1], nice=False), title="Share of all forecasts")
    y = alt.Y("low:Q", scale=style.PROBABILITY, title="Share of the outcomes")
    areas = style.points(cells).mark_rect(stroke="white", strokeWidth=2, fillOpacity=0.8)
    colour = style.by("outcome", outcomes, "color")
    areas = areas.encode(x=x, x2=alt.X2("right:Q"), y=y, y2=alt.Y2("high:Q"), **colour, tooltip=style.tips(COLUMNS))
    labelled = style.points([cell for cell in cells if cell["low"] == 0 and cell["labelled"]])
    names = labelled.mark_text(style="note", dy=-8, baseline="bottom")
    names = names.encode(x=alt.X("middle:Q"), y=alt.YDatum(1), text=alt.Text("category:N"))
    borders = style.points([{"y": share} for share in result.curves.mosaic_prior])
    expected = borders.mark_rule(stroke="black", strokeDash=[5, 4], strokeWidth=1.5).encode(y=alt.Y("y:Q"))
    return style.layered(TITLE, "Width: how often it was forecast. Dashed: without a forecast.", areas, expected, names)
