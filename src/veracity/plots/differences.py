"""How far each model is from the best, or from the reference, on the same cases."""

from __future__ import annotations

import altair as alt

from veracity import words
from veracity.plots import _style as style
from veracity.plots.compare import named_models
from veracity.results.comparison import Comparison
from veracity.words import RULES, capital, finite

OF, ORDER, TITLE = "comparison", 0, "Differences on the same cases"
COLUMNS = {
    "model": ("model", ""),
    "value": ("difference", ".4~g"),
    **style.INTERVAL,
    "p": ("p (Holm)", ".3~g"),
    "clear": ("which", ""),
}
CLEAR, CHANCE = "clear", "may be chance"
MOST = 20  # models that are drawn, the best first


def rows(result: Comparison) -> style.Rows:
    record = result.record
    rule, name = words.comparison.judged_by(record), words.comparison.anchor(record)
    differences = []
    for other in words.comparison.others(record)[:MOST]:
        d = words.comparison.difference(record, other, name, rule)
        if d is not None and finite(d.value) is not None and d.low is not None:
            level = next(iter(result.models.values())).level
            clear = CLEAR if d.p_adjusted is not None and d.p_adjusted < 1.0 - level else CHANCE
            limits = {"value": d.value, "low": d.low, "high": d.high}
            differences.append({"model": other, **limits, "p": d.p_adjusted, "clear": clear})
    return differences


def intervals(
    points: alt.Chart, x: alt.X, y: alt.Y, size: int, columns: style.Columns, **shape: style.Channel
) -> list[alt.Chart]:
    """Return differences with their intervals on both sides of the line of no difference."""
    limits = points.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y)
    dots = style.dots(points, size, x=x, y=y, **shape, tooltip=style.tips(columns))
    return [style.rule("x", 0), limits, dots]


def caption(result: Comparison) -> str:
    """Return how many models are clearly worse and which tie."""
    differences, record = rows(result), result.record
    name, rule = words.comparison.anchor(record), words.comparison.judged_by(record)
    some: dict[str, list[str]] = {"worse than": [], "better than": [], "not clearly different from": []}
    for row in differences:
        which = (
            "not clearly different from"
            if row["clear"] == CHANCE
            else "worse than"
            if row["value"] > 0.0
            else "better than"
        )
        some[which].append(row["model"])
    text = "; ".join(f"{which} {name}: {words.listing(names)}" for which, names in some.items() if names)
    return f"{capital(text)} ({RULES[rule]})." if text else ""


def chart(result: Comparison) -> style.Chart:
    """Difference with interval for each model; right of the line is worse."""
    differences = style.present(rows(result), "differences", "differences that could be tested")
    record = result.record
    name, rule = words.comparison.anchor(record), words.comparison.judged_by(record)
    y, size = named_models([row["model"] for row in differences])
    x = alt.X("value:Q", title=f"{capital(RULES[rule])} minus that of {name}", scale=alt.Scale(zero=True))
    domain = [which for which in (CLEAR, CHANCE) if any(row["clear"] == which for row in differences)]
    points = style.points(differences).encode(**style.by("clear", domain, "color"))
    drawn = intervals(points, x, y, 80, COLUMNS, **style.by("clear", domain, "shape"))
    return style.layered(TITLE, f"Right of the line: worse than {name}. Left: better.", *drawn, **size)
