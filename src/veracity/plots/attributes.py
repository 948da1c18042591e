"""Observed share against stated probability, with the lines of no resolution and no skill."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style

OF, ORDER = "table", 30
CAPTION = (
    "On the dashed line: what it says is what happens. In the grey part forecasts improve on always "
    "saying the base rate."
)
COLUMNS = {
    "category": ("forecast", ""),
    "stated": ("stated", ".3~f"),
    "observed": ("happened", ".3f"),
    "low": ("happened, low", ".3f"),
    "high": ("happened, high", ".3f"),
    "cases": ("cases", ",.6~g"),
}


def rows(result: Any) -> style.Rows:
    return list((style.document(result).get("curves") or {}).get("attributes") or [])


def chart(result: Any) -> style.Chart:
    """Attributes diagram (Hsu & Murphy 1986): in the grey part a forecast adds skill to the Brier score."""
    found = style.document(result)
    points = style.present(rows(result), "attributes", "stated probabilities of two outcomes")
    event, base = found["columns"][-1], found["prior"][-1]
    x = alt.X("stated:Q", scale=style.PROBABILITY, title=f"Stated probability of {event}")
    y = alt.Y("observed:Q", scale=style.PROBABILITY, title=f"Share of {event} that followed")
    dots = alt.Chart(style.data(points))
    layers: list[alt.Chart] = [
        alt.Chart(style.data(found["curves"]["attributes_skill"]))
        .mark_area(style="band", clip=True)
        .encode(x=alt.X("stated:Q"), y=alt.Y("low:Q"), y2="high:Q"),
        alt.Chart(style.data([{"y": base}])).mark_rule(style="guide").encode(y="y:Q"),
        alt.Chart(style.data([{"x": base}])).mark_rule(style="guide").encode(x="x:Q"),
        style.diagonal(),
    ]
    if all(point.get("low") is not None for point in points):
        layers.append(dots.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"))
    layers += [
        dots.mark_line(strokeWidth=1.5).encode(x=x, y=y),
        dots.mark_point(filled=True, opacity=1).encode(
            x=x,
            y=y,
            size=alt.Size("cases:Q", scale=alt.Scale(type="sqrt", range=[25, 260]), legend=None),
            tooltip=style.tips(COLUMNS),
        ),
    ]
    return alt.layer(*layers).properties(
        width=style.WIDTH,
        height=style.HEIGHT,
        title=style.title(
            "Attributes", "Grey: forecasts there improve on the base rate (grey lines). Dots: larger for more cases."
        ),
    )
