"""Observed share against predicted probability, with the lines of no resolution and no skill."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.table import TableAssessment
from veracity.words import percent

OF, ORDER, TITLE = "table", 30, "Attributes"
COLUMNS = {
    "category": ("forecast", ""),
    "stated": ("predicted", ".3~f"),
    "observed": ("observed", ".3f"),
    "low": ("observed, low", ".3f"),
    "high": ("observed, high", ".3f"),
    "cases": ("cases", ",.6~g"),
}


def rows(result: TableAssessment) -> style.Rows:
    return result.curves.attributes


def caption(result: TableAssessment) -> str:
    """Return how many forecasts improve on the prevalence, and how many were predicted too high."""
    points = rows(result)
    if not points:
        return ""
    base = float(result.prior[-1])
    better = sum(abs(point["observed"] - point["stated"]) < abs(point["observed"] - base) for point in points)
    high = sum(point["stated"] > point["observed"] for point in points)
    return (
        f"{better} of {len(points)} forecasts are nearer to the observed share than the prevalence "
        f"({percent(base, 0)}) is; {high} {'was' if high == 1 else 'were'} predicted higher than observed."
    )


def chart(result: TableAssessment) -> style.Chart:
    """Attributes diagram (Hsu & Murphy 1986): in the grey part a forecast adds skill to the Brier score."""
    points = style.present(rows(result), "attributes", "stated probabilities of two outcomes")
    event, base = result.columns[-1], float(result.prior[-1])
    x = alt.X("stated:Q", scale=style.PROBABILITY, title=f"Predicted probability of {event}")
    y = alt.Y("observed:Q", scale=style.PROBABILITY, title=f"Observed share of {event}")
    dots = style.points(points)
    skill = style.points(result.curves.attributes_skill).mark_area(style="band", clip=True)
    layers: list[alt.Chart] = [
        skill.encode(x=alt.X("stated:Q"), y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        *(style.rule(axis, base, "guide") for axis in ("y", "x")),
        style.diagonal(),
    ]
    if all(point.get("low") is not None for point in points):
        layers.append(dots.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q")))
    size = alt.Size("cases:Q", scale=alt.Scale(type="sqrt", range=[25, 260]), legend=None)
    layers += [
        dots.mark_line(strokeWidth=1.5).encode(x=x, y=y),
        dots.mark_point(filled=True, opacity=1).encode(x=x, y=y, size=size, tooltip=style.tips(COLUMNS)),
    ]
    note = "Grey: forecasts there improve on the prevalence (grey lines). Dots: larger for more cases."
    return style.layered(TITLE, note, *layers)
