"""Scores as gaps between a convex curve and its tangents (HB17 Figs 1–4)."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.plots._table import category_colour, category_dash
from veracity.words import number

OF, ORDER, TITLE = "table", 40, "Scores as gaps"
RULES = {"log": "log loss", "half_brier": "half Brier score", "brier": "Brier score"}
COLUMNS = {
    "category": ("forecast", ""),
    "p": ("probability", ".4~f"),
    "outcome": ("outcome", ""),
    "gap": ("score", ".4~f"),
    "slope": ("slope of the tangent", ".4~f"),
}


def rows(result: Any, *, rule: str | float = "log") -> style.Rows:
    """The gaps at 0 and 1: the score of each forecast for each outcome."""
    return list(result.tangents(rule)["gaps"])


def caption(result: Any) -> str:
    """Return the forecast with the largest score for one outcome."""
    gaps = [gap for gap in rows(result) if math.isfinite(gap["gap"])]
    if not gaps:
        return ""
    largest = max(gaps, key=lambda gap: gap["gap"])
    return (
        f"The curve of the log loss and its tangents at the forecasts: the gaps at 0 and 1 are the scores of the two "
        f"outcomes (HB17 Figs 1 to 4). The largest: {number(largest['gap'])} for {largest['outcome']} after "
        f"{largest['category']}."
    )


def chart(result: Any, *, rule: str | float = "log", at: str = "forecasts") -> style.Chart:
    """The curve of a rule and its tangents, at the forecasts (HB17 Figs 1, 2, 4) or at the prior (Fig 3).

    At the forecasts the marks at 0 and 1 lie below the curve by the scores of the two outcomes, and the bars at the
    observed shares are the miscalibration of each category; at the prior the bars are what each category gains.
    """
    if at not in ("forecasts", "prior"):
        raise ValueError(f"at: {at!r} is neither 'forecasts' nor 'prior'")
    drawn = result.tangents(rule)
    tangents = drawn["forecasts"] if at == "forecasts" else [{"category": "prior", **drawn["prior"]}]
    ends = [
        {"category": t["category"], "p": p, "g": t[end]}
        for t in tangents
        for p, end in ((0, "at_0"), (1, "at_1"))
        if math.isfinite(t["slope"])
    ]
    reach = "on_forecast" if at == "forecasts" else "on_prior"
    bars = [point for point in drawn["observed"] if math.isfinite(point[reach])]
    if at == "forecasts" and result.forecasts is None:
        bars = []
    heights = [point["g"] for point in (*drawn["curve"], *ends)]
    x = alt.X("p:Q", scale=style.PROBABILITY, title=f"Probability of {result.columns[-1]}")
    y = alt.Y("g:Q", scale=alt.Scale(domain=[min(heights), max(heights)]), title="Curve of the rule and its tangents")
    names = [str(row) for row in result.rows]
    colour, dash = category_colour(names), category_dash(names)
    shown = style.tips({key: COLUMNS[key] for key in ("category", "p", "slope")})
    lines = alt.Chart(style.data(ends)).mark_line(strokeWidth=1.5)
    dots = alt.Chart(style.data(tangents)).mark_point(filled=True, opacity=1, size=70)
    layers = [alt.Chart(style.data(drawn["curve"])).mark_line(style="guide", strokeWidth=2).encode(x=x, y=y)]
    if at == "prior":
        layers.append(alt.Chart(style.data(ends)).mark_line(style="reference").encode(x=x, y=y))
        layers.append(dots.mark_point(style="quiet", filled=True, size=70).encode(x=x, y=y, tooltip=shown))
    else:
        gaps = [gap for gap in drawn["gaps"] if math.isfinite(gap["gap"])]
        marks = alt.Chart(style.data(gaps)).mark_point(shape="square", size=70, strokeWidth=2, opacity=1)
        layers.append(lines.encode(x=x, y=y, color=colour, strokeDash=dash))
        layers.append(marks.encode(x="p:Q", y="tangent:Q", color=colour, tooltip=style.tips(COLUMNS)))
        layers.append(dots.encode(x=x, y=y, color=colour, tooltip=shown))
    if bars:
        upright = alt.Chart(style.data(bars)).mark_rule(strokeWidth=4)
        layers.append(upright.encode(x="p:Q", y="g:Q", y2=f"{reach}:Q", color=colour, strokeDash=dash))
    name = RULES.get(drawn["rule"], drawn["rule"])
    what = {
        "forecasts": "How far the marks at 0 and 1 lie below the curve is the score of that outcome."
        + " Bars: miscalibration at the observed share." * bool(bars),
        "prior": "Tangent at the prevalence. Bars at the observed shares: the gain of each forecast.",
    }
    title = style.title(f"The {name} as gaps" if at == "forecasts" else f"Gain in {name} as gaps", what[at])
    return alt.layer(*layers).properties(width=style.WIDTH, height=style.HEIGHT, title=title)
