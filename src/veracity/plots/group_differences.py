"""The difference in loss between the two models that matter most, group by group."""

from __future__ import annotations

import altair as alt

from veracity import words
from veracity.plots import _style as style
from veracity.plots.differences import intervals
from veracity.results.comparison import Comparison
from veracity.words import finite

OF, ORDER, TITLE = "comparison", 1, "Differences by group"
COLUMNS = {"column": ("column", ""), "group": ("group", ""), "value": ("difference", ".4~g"), **style.INTERVAL}
MOST = 24  # groups of one column that are drawn


def pair(result: Comparison) -> tuple[str, str] | None:
    """Return the best or the reference, and the next model of the ranking."""
    other = next(iter(words.comparison.others(result.record)), None)
    return None if other is None else (other, words.comparison.anchor(result.record))


def rows(result: Comparison) -> style.Rows:
    by_group = []
    shown = pair(result)
    for column, levels in result.record.groups.items() if shown else ():
        for level, differences in list(levels.items())[:MOST]:
            d = words.comparison.among(differences, *shown) if shown else None
            if d is not None and finite(d.value) is not None:
                limits = {"value": d.value, "low": d.low, "high": d.high}
                by_group.append({"column": column, "group": level, **limits})
    return by_group


def caption(result: Comparison) -> str:
    """Return where which of the two is better."""
    level = next(iter(result.models.values())).level
    return " ".join(
        f"By {column}: {sentence}"
        for column in result.record.groups
        if (sentence := words.comparison.groups(result.record, column, level))
    )


def chart(result: Comparison) -> style.Chart:
    """One panel per column."""
    by_group = style.present(rows(result), "group_differences", "groups (give --group)")
    other, name = pair(result) or ("", "")
    rule = words.RULES[result.record.group_rule]
    x = alt.X("value:Q", title=f"{words.capital(rule)} of {other} minus that of {name}", scale=alt.Scale(zero=True))

    def panel(column: str, part: style.Rows) -> style.Chart:
        y = alt.Y("group:N", title=column, axis=alt.Axis(labelLimit=110, labelOverlap=False))
        drawn = intervals(style.points(part), x, y, 70, COLUMNS)
        return alt.layer(*drawn).properties(width=style.WIDTH - 60, height=max(60, 30 * len(part)))

    note = f"Right of the line: {other} is worse than {name} in this group."
    return style.panels(TITLE, note, by_group, panel)
