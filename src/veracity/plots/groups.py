"""The typical probability of the outcome, group by group: given and expected."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.plots import compare
from veracity.results.assessment import Assessment
from veracity.words import percent, stability

OF, ORDER, TITLE = "assessment", 10, "Given and expected by group"
COLUMNS = {
    "column": ("column", ""),
    "group": ("group", ""),
    "n": ("cases", ",.6~g"),
    **compare.TYPICAL,
    "verdict": ("verdict", ""),
}
MOST = 24  # groups of one column that are drawn, the largest first


def rows(result: Assessment) -> style.Rows:
    by_group: style.Rows = []
    for column, group in result.groups.items():
        for level, part in sorted(group.levels.items(), key=lambda item: -item[1].n)[:MOST]:
            whole = {"column": column, "group": level, "n": part.n, "verdict": part.verdict}
            by_group += compare.typical_rows(part, **whole)
    return by_group


def caption(result: Assessment) -> str:
    """Return the worst group of each column, and whether its groups differ."""
    sentences = []
    for column, group in result.groups.items():
        if group.worst is None or group.worst not in group.levels:
            continue
        worst = group.levels[group.worst]
        sentences.append(
            f"By {column}: worst is {group.worst} ({stability.loss_of_worst(group)}; "
            f"gave {percent(worst.reported.geometric_accuracy, 0)} typically)."
            + "".join(f" {note}" for note in stability.group_notes(str(column), group))
        )
    return " ".join(sentences)


def chart(result: Assessment) -> style.Chart:
    """One panel per column; the 24 largest groups of each."""
    by_group = style.present(rows(result), "groups", "groups (give --group)")

    def panel(column: str, part: style.Rows) -> style.Chart:
        order = sorted(dict.fromkeys(row["group"] for row in part))
        y = alt.Y("group:N", sort=order, title=column, axis=alt.Axis(labelLimit=110, labelOverlap=False))
        layers = compare.typical_layers(part, y, COLUMNS)
        return alt.layer(*layers).properties(width=style.WIDTH - 60, height=34 * len(order))

    note = "Given below expected: the group was forecast worse than the model expected. Lines: intervals."
    return style.panels(TITLE, note, by_group, panel)
