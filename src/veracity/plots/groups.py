"""The typical probability of the outcome, group by group: given and expected."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.words import SIGNIFICANT, number, p_equals, percent

OF, ORDER, TITLE = "assessment", 10, "Groups"
COLUMNS = {
    "column": ("column", ""),
    "group": ("group", ""),
    "n": ("cases", ",.6~g"),
    "side": ("which", ""),
    "value": ("typical probability", ".4~g"),
    "low": ("low", ".4~g"),
    "high": ("high", ".4~g"),
    "verdict": ("verdict", ""),
}
MOST = 24  # groups of one column that are drawn, the largest first
DRAWN = [style.GAVE, style.EXPECTED]


def rows(result: Any) -> style.Rows:
    found = []
    for column, group in (result.groups or {}).items():
        for level, part in sorted(group.levels.items(), key=lambda item: -item[1].n)[:MOST]:
            whole = {"column": str(column), "group": str(level), "n": part.n, "verdict": part.verdict or ""}
            for side in DRAWN:
                held = getattr(part, style.SIDES[side])
                typical = style.reading(held and held.geometric_accuracy)
                if typical["value"] is not None:
                    found.append({**whole, "side": side, **typical})
    return found


def caption(result: Any) -> str:
    """Return the worst group of each column, and whether its groups differ."""
    said = []
    for column, group in (result.groups or {}).items():
        if group.worst not in group.levels:
            continue
        worst = group.levels[group.worst]
        p = group.differ.p if group.differ is not None else None
        differ = (
            " The groups differ" if p is not None and p < SIGNIFICANT else " The groups do not differ significantly"
        )
        said.append(
            f"By {column}: the highest log loss is that of {group.worst} ({number(worst.scores.log_loss)}; "
            f"gave {percent(worst.reported.geometric_accuracy, 0)} typically)."
            + (f"{differ} ({p_equals(p)})." if p is not None else "")
        )
    return " ".join(said)


def chart(result: Any) -> style.Chart:
    """One panel per column; the 24 largest groups of each."""
    found = style.present(rows(result), "groups", "groups (give --group)")
    x = alt.X("value:Q", scale=style.PROBABILITY, title="Typical probability of the outcome")
    panels = []
    for column in dict.fromkeys(row["column"] for row in found):
        part = [row for row in found if row["column"] == column]
        order = sorted(dict.fromkeys(row["group"] for row in part))
        y = alt.Y("group:N", sort=order, title=column, axis=alt.Axis(labelLimit=110, labelOverlap=False))
        side = {"yOffset": alt.YOffset("side:N", sort=DRAWN)}
        colour = alt.Color("side:N", scale=style.categories(DRAWN), title=None)
        base = alt.Chart(style.data(part))
        panels.append(
            alt.layer(
                base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour, **side),
                base.mark_point(filled=True, size=60, opacity=1).encode(
                    x=x,
                    y=y,
                    color=colour,
                    shape=alt.Shape("side:N", scale=style.shapes(DRAWN), title=None),
                    tooltip=style.tips(COLUMNS),
                    **side,
                ),
            ).properties(width=style.WIDTH - 60, height=34 * len(order))
        )
    note = "Given below expected: the group was forecast worse than the model expected. Lines: intervals."
    return alt.vconcat(*panels).properties(title=style.title(TITLE, note))
