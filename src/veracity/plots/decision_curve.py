"""What acting on the forecasts is worth at every threshold, beside acting in all cases and in none.

The Murphy curve of the same forecasts, mean elementary losses, is its other view; a strip below shows which thresholds
a score of the power family weighs most.
"""

from __future__ import annotations

from itertools import pairwise

import altair as alt

from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import decisions, finite

OF, ORDER, TITLE = "assessment", 22, "Decisions"
VARIANTS: dict[str, dict[str, str]] = {"": {}, "_murphy": {"view": "Murphy curve"}}
NET, MURPHY = "Net benefit", "Murphy curve"
FORECASTS, ALL, NONE = "by the forecasts", "in all cases", "in none"
COLUMNS = {
    "view": ("view", ""),
    "act": ("act", ""),
    "threshold": ("threshold", ".3~g"),
    "value": ("value", ".4~g"),
    **style.INTERVAL,
}
STEEPEST = 2.0  # times the frequency of the event, below 0: where curves leave the picture


def rows(result: Assessment) -> style.Rows:
    """Return both views of the three ways to act, at every threshold."""
    d = result.decisions
    if not d.thresholds or d.prevalence is None or d.reason is not None:
        return []
    nothing = (None,) * len(d.thresholds)
    low, high = d.net_benefit_low or nothing, d.net_benefit_high or nothing
    points: style.Rows = []
    for c, benefit, a, b, every, loss in zip(
        d.thresholds, d.net_benefit, low, high, d.treat_all, d.murphy, strict=True
    ):
        band = (None, None) if d.band is None else (max(loss - d.band, 0.0), loss + d.band)
        views = {
            (NET, FORECASTS): (benefit, a, b),
            (NET, ALL): (every, None, None),
            (NET, NONE): (0.0, None, None),
            (MURPHY, FORECASTS): (loss, *band),
            (MURPHY, ALL): (c * (1.0 - d.prevalence), None, None),
            (MURPHY, NONE): ((1.0 - c) * d.prevalence, None, None),
        }
        for (view, act), (value, least, most) in views.items():
            own = {"value": finite(value), "low": finite(least), "high": finite(most)}
            points.append({"view": view, "act": act, "threshold": c, **own})
    return sorted(points, key=lambda row: (row["view"] != NET, row["act"] != FORECASTS, row["threshold"]))


def caption(result: Assessment) -> str:
    return decisions.caption(result.decisions)


def chart(result: Assessment, view: str = NET) -> style.Chart:
    """Decision curve with its intervals, or the Murphy curve with its band for all thresholds at once."""
    points = style.present(rows(result), "decision_curve", "decision curve (it needs two classes, or --positive)")
    least = -(result.decisions.prevalence or 0.0) / STEEPEST / 2.0
    drawn = [row for row in points if row["value"] is not None and row["value"] >= least]
    chosen = alt.param(name="view", value=view, bind=alt.binding_radio(options=[NET, MURPHY], name="Show "))
    x = alt.X("threshold:Q", scale=style.PROBABILITY, axis=alt.Axis(format=".0%"), title="Act from this probability on")
    y = alt.Y("value:Q", title="Net benefit, or mean loss", scale=alt.Scale(nice=True))
    domain = [FORECASTS, ALL, NONE]
    cues = style.by("act", domain, "color", "strokeDash", legend=alt.Legend(columns=3, symbolType="stroke"))
    base = style.points(drawn).transform_filter("datum.view == view")
    limits = {"y": alt.Y("low:Q"), "y2": alt.Y2("high:Q"), "color": cues["color"]}
    band = base.transform_filter("datum.low != null").transform_calculate(low=f"max(datum.low, {least})")
    curve = style.layered(
        TITLE,
        "Band of net benefit: intervals at each threshold; of the Murphy curve: for all thresholds at once.",
        band.mark_area(opacity=0.18).encode(x=x, **limits),
        base.mark_line(strokeWidth=2).encode(x=x, y=y, **cues),
        base.mark_point(opacity=0, size=60).encode(x=x, y=y, tooltip=style.tips(COLUMNS)),
    ).add_params(chosen)
    return alt.vconcat(curve, _weights(sorted({row["threshold"] for row in points})), spacing=8)


def _weights(thresholds: list[float]) -> alt.Chart:
    """Return a strip: how much a score with the chosen r weighs each threshold, as the share of the darkest."""
    slider = alt.binding_range(min=-0.5, max=2.0, step=0.25, name="Weight of thresholds in the event half at r = ")
    r = alt.param(name="r", value=0.0, bind=slider)
    step = [{"threshold": a, "to": b} for a, b in pairwise(thresholds)]
    title = "Shade: weight in the event half of a score at r (0: log loss)"
    x = alt.X("threshold:Q", scale=style.PROBABILITY, axis=alt.Axis(labels=False, ticks=False, grid=False), title=title)
    weight = "pow((datum.threshold + datum.to) / 2, r - 1)"
    largest = f"max(pow({thresholds[0]:.4g}, r - 1), pow({thresholds[-1]:.4g}, r - 1))"
    strip = style.points(step).transform_calculate(weight=f"{weight} / {largest}").add_params(r)
    opacity = alt.Opacity("weight:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.04, 1]))
    tips = style.tips({"threshold": ("threshold", ".3~g"), "weight": ("weight, relative", ".2~g")})
    marks = strip.mark_rect(style="quiet").encode(x=x, x2=alt.X2("to:Q"), opacity=opacity, tooltip=tips)
    return marks.properties(width=style.WIDTH, height=14)
