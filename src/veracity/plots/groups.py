"""The typical probability of what happened, group by group: stated and borne out."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style

OF, ORDER = "assessment", 80
CAPTION = "The typical probability of what happened, group by group; at most the 24 largest groups of a column."
COLUMNS = {
    "column": ("column", ""),
    "group": ("group", ""),
    "n": ("cases", ",.6~g"),
    "side": ("which", ""),
    "mean": ("typical probability", ".4~g"),
    "low": ("low", ".4~g"),
    "high": ("high", ".4~g"),
    "verdict": ("verdict", ""),
}
MOST = 24  # groups of one column that are drawn, the largest first


def rows(result: Any) -> style.Rows:
    found = []
    for column, levels in (style.document(result).get("groups") or {}).items():
        largest = sorted(levels.items(), key=lambda item: -float(item[1].get("n") or 0))[:MOST]
        for level, part in largest:
            for side, key in ((style.STATED, "reported"), (style.BORNE_OUT, "measured")):
                reading = (part.get(key) or {}).get("accuracy")
                if (mean := style.finite(reading)) is not None:
                    ends = {"low": style.end(reading, "low"), "high": style.end(reading, "high")}
                    whole = {"column": str(column), "group": str(level), "n": part.get("n"), "side": side, "mean": mean}
                    found.append({**whole, **ends, "verdict": part.get("verdict") or ""})
    return found


def chart(result: Any) -> style.Chart:
    """One panel per column; the 24 largest groups of each."""
    found = style.present(rows(result), "groups", "groups (give --group)")
    columns = list(dict.fromkeys(row["column"] for row in found))
    x = alt.X("mean:Q", scale=style.PROBABILITY, title="Typical probability of what happened")
    panels = []
    for column in columns:
        part = [row for row in found if row["column"] == column]
        order = sorted(dict.fromkeys(row["group"] for row in part))
        y = alt.Y("group:N", sort=order, title=column, axis=alt.Axis(labelLimit=110, labelOverlap=False))
        side = {"yOffset": alt.YOffset("side:N", sort=style.SIDES)}
        colour = alt.Color("side:N", scale=style.categories(style.SIDES), title=None)
        base = alt.Chart(style.data(part))
        panels.append(
            alt.layer(
                base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour, **side),
                base.mark_point(filled=True, size=60, opacity=1).encode(
                    x=x,
                    y=y,
                    color=colour,
                    shape=alt.Shape("side:N", scale=style.shapes(style.SIDES), title=None),
                    tooltip=style.tips(COLUMNS),
                    **side,
                ),
            ).properties(width=style.WIDTH - 60, height=34 * len(order))
        )
    note = "Stated far above borne out: too sure in this group."
    return alt.vconcat(*panels).properties(title=style.title("Group by group", note))
