"""How far each model is from the best, or from the reference, on the same cases."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity import words
from veracity.plots import _style as style
from veracity.plots.compare import LEAST_ROOM, LETTER, MOST_ROOM
from veracity.words import RULES, capital, finite

OF, ORDER, TITLE = "comparison", 0, "Differences on the same cases"
COLUMNS = {
    "model": ("model", ""),
    "value": ("difference", ".4~g"),
    "low": ("low", ".4~g"),
    "high": ("high", ".4~g"),
    "p": ("p (Holm)", ".3~g"),
    "clear": ("which", ""),
}
CLEAR, CHANCE = "clear", "may be chance"
MOST = 20  # models that are drawn, the best first


def rows(result: Any) -> style.Rows:
    record = result.record
    rule, name = words.comparison.judged_by(record), words.comparison.anchor(record)
    found = []
    for other in [other for tier in record.ranking[rule] for other in tier if other != name][:MOST]:
        d = words.comparison.difference(record, other, name, rule)
        if d is not None and finite(d.value) is not None and d.low is not None:
            level = next(iter(result.models.values())).level or 0.95
            clear = CLEAR if d.p_adjusted is not None and d.p_adjusted < 1.0 - level else CHANCE
            found.append(
                {"model": other, "value": d.value, "low": d.low, "high": d.high, "p": d.p_adjusted, "clear": clear}
            )
    return found


def caption(result: Any) -> str:
    """Return how many models are clearly worse and which tie."""
    found, record = rows(result), result.record
    name, rule = words.comparison.anchor(record), words.comparison.judged_by(record)
    worse = [row["model"] for row in found if row["clear"] == CLEAR and row["value"] > 0.0]
    better = [row["model"] for row in found if row["clear"] == CLEAR and row["value"] < 0.0]
    rest = [row["model"] for row in found if row["clear"] == CHANCE]
    said = [f"worse than {name}: {words.listing(worse)}"] if worse else []
    said += [f"better than {name}: {words.listing(better)}"] if better else []
    said += [f"not clearly different from {name}: {words.listing(rest)}"] if rest else []
    text = "; ".join(said)
    return f"{capital(text)} ({RULES[rule]})." if said else ""


def chart(result: Any) -> style.Chart:
    """Difference with interval for each model; right of the line is worse."""
    found = style.present(rows(result), "differences", "differences that could be tested")
    record = result.record
    name, rule = words.comparison.anchor(record), words.comparison.judged_by(record)
    order = [row["model"] for row in found]
    room = min(MOST_ROOM, max(LEAST_ROOM, LETTER * max(map(len, order))))
    y = alt.Y("model:N", sort=order, title=None, axis=alt.Axis(labelLimit=room, labelOverlap=False))
    x = alt.X(
        "value:Q", title=f"{RULES[rule][:1].upper()}{RULES[rule][1:]} minus that of {name}", scale=alt.Scale(zero=True)
    )
    domain = [which for which in (CLEAR, CHANCE) if any(row["clear"] == which for row in found)]
    colour = alt.Color("clear:N", scale=style.categories(domain), title=None)
    base = alt.Chart(style.data(found))
    line = alt.Chart(style.data([{"x": 0}])).mark_rule(style="reference").encode(x="x:Q")
    return alt.layer(
        line,
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.Shape("clear:N", scale=style.shapes(domain), title=None),
            tooltip=style.tips(COLUMNS),
        ),
    ).properties(
        width=style.WIDTH - 60 - (room - LEAST_ROOM),
        height=max(80, 34 * len(order)),
        title=style.title(TITLE, f"Right of the line: worse than {name}. Left: better."),
    )
