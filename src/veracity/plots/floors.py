"""The three means when no probability may fall below a floor: how much is due to a few surprises (CQ Table 2)."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.words import MEANS, SHORT

OF, ORDER = "assessment", 60
CAPTION = (
    "The three means when no probability may fall below a floor. Where a small floor changes a mean much, "
    "a few rows decide it."
)
COLUMNS = {"floor": ("floor", "~g"), **{name: (SHORT[name].full, ".4~g") for name in MEANS}}


def rows(result: Any) -> style.Rows:
    sweep = style.document(result).get("floors") or []
    return [{name: style.finite(row.get(name)) for name in COLUMNS} for row in sweep]


def chart(result: Any) -> style.Chart:
    """Floor sweep; a mean that jumps with a small floor is decided by few rows."""
    sweep = style.present(rows(result), "floors", "floor sweep")
    order = [f"{row['floor']:g}" for row in sorted(sweep, key=lambda row: row["floor"])]
    names = [SHORT[name].full for name in MEANS]
    long = [
        {"floor": f"{row['floor']:g}", "mean": SHORT[name].full, "value": row[name]}
        for row in sweep
        for name in MEANS
        if row[name] is not None
    ]
    tooltips = style.tips({"mean": ("mean", ""), "floor": ("floor", ""), "value": ("probability", ".4~g")})
    legend = alt.Legend(columns=1, symbolStrokeWidth=0)
    return (
        alt.Chart(style.data(long))
        .mark_line(strokeWidth=2, point={"size": 60, "filled": True})
        .encode(
            x=alt.X("floor:O", sort=order, title="Floor: smallest probability allowed", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", scale=style.PROBABILITY, title="Mean probability of what happened"),
            color=alt.Color("mean:N", scale=style.categories(names), title=None, legend=legend),
            strokeDash=alt.StrokeDash("mean:N", scale=style.dashes(names), title=None, legend=legend),
            shape=alt.Shape("mean:N", scale=style.shapes(names), title=None, legend=legend),
            tooltip=tooltips,
        )
        .properties(
            width=style.WIDTH,
            height=260,
            title=style.title("With a floor", "A mean that rises fast with a small floor is decided by a few rows."),
        )
    )
