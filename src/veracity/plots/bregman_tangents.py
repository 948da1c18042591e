"""Scores as gaps between a convex curve and its tangents (HB17 Figs 1–4)."""

from __future__ import annotations

import math

import altair as alt
import numpy as np

from veracity.plots import _style as style
from veracity.table import TableAssessment
from veracity.words import number

OF, ORDER, TITLE = "table", 40, "Scores as gaps"
ROOM, LINE = 0.12, 0.045  # of the height: below the curve, of a line of text
BESIDE = 56  # px between the picture and its axis, for the heights of the tangents
VARIANTS = {"_log": {"rule": "log"}, "_half_brier": {"rule": "half_brier"}, "_prior": {"rule": "log", "at": "prior"}}
RULES = {"log": "log loss", "half_brier": "half Brier score", "brier": "Brier score"}
COLUMNS = {
    "category": ("forecast", ""),
    "p": ("probability", ".4~f"),
    "outcome": ("outcome", ""),
    "gap": ("score", ".4~f"),
    "slope": ("slope of the tangent", ".4~f"),
}


def rows(result: TableAssessment, *, rule: str | float = "log") -> style.Rows:
    """Return the gaps at 0 and 1: the score of each forecast for each outcome."""
    return result.tangents(rule).gaps if result.binary else []


def caption(result: TableAssessment) -> str:
    """Return the forecast with the largest score for one outcome."""
    gaps = [gap for gap in rows(result) if math.isfinite(gap["gap"])]
    if not gaps:
        return ""
    largest = max(gaps, key=lambda gap: gap["gap"])
    return (
        "The curve of the log loss and its tangents at the forecasts: the gaps at 0 and 1 are the scores of the two "
        f"outcomes (HB17 Figs 1 to 4). The largest: {number(largest['gap'])} for “{largest['outcome']}” after "
        f"“{largest['category']}”."
    )


def _psep(result: TableAssessment, feet: style.Rows, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return lines from the curve down to the outer shares, and PSEP between these."""
    best, worst = (float(result.predictive_values[i, -1]) for i in (0, -1))
    label = f"PSEP {number(result.psep)}"
    segment = [{"p": best, "end": worst, "middle": (best + worst) / 2, "g": feet[0]["bottom"], "text": label}]
    base = style.points(segment)
    return [
        style.points(feet).mark_rule(style="guide", strokeDash=[2, 3]).encode(x=x, y=y, y2=alt.Y2("bottom:Q")),
        base.mark_rule(style="mean-line", strokeWidth=4).encode(x=x, x2=alt.X2("end:Q"), y=y),
        base.mark_text(style="note", dy=-9).encode(x=alt.X("middle:Q"), y=y, text=alt.Text("text:N")),
    ]


def _intercepts(ends: style.Rows, line: float, x: alt.X) -> list[alt.Chart]:
    """Return the values of the tangents at 0 and 1 beside the picture, a line of text apart."""
    layers = []
    for at in (0, 1):
        heights = sorted((end["g"] for end in ends if end["p"] == at), reverse=True)
        rises = np.minimum.accumulate([g + i * line for i, g in enumerate(heights)])  # each at least a line below
        some = [
            {"p": at, "at": float(top - i * line), "text": number(g)}
            for i, (top, g) in enumerate(zip(rises, heights, strict=True))
        ]
        text = style.points(some).mark_text(style="note", align="left" if at else "right", dx=10 if at else -10)
        layers += [text.encode(x=x, y=alt.Y("at:Q"), text=alt.Text("text:N"))] if some else []
    return layers


def chart(result: TableAssessment, *, rule: str | float = "log", at: str = "forecasts") -> style.Chart:
    """The curve of a rule and its tangents, at the forecasts (HB17 Figs 1, 2, 4) or at the prior (Fig 3).

    At the forecasts the marks at 0 and 1 lie below the curve by the scores of the two outcomes, and the bars at the
    observed shares are the miscalibration of each category; at the prior the bars are the gain of each category.
    """
    if at not in ("forecasts", "prior"):
        raise ValueError(f"at: {at!r} is neither 'forecasts' nor 'prior'")
    drawn = result.tangents(rule)
    tangents: style.Rows = drawn.forecasts if at == "forecasts" else [{"category": "prior", **drawn.prior}]
    ends = [
        {"category": t["category"], "p": p, "g": t[end]}
        for t in tangents
        for p, end in ((0, "at_0"), (1, "at_1"))
        if math.isfinite(t["slope"])
    ]
    reach = "on_forecast" if at == "forecasts" else "on_prior"
    bars = [point for point in drawn.observed if math.isfinite(point[reach])]
    if at == "forecasts" and result.forecasts is None:
        bars = []
    heights = [point["g"] for point in (*drawn.curve, *ends)]
    height = max(heights) - min(heights)
    x = alt.X("p:Q", scale=style.PROBABILITY, title=f"Probability of {result.columns[-1]}")
    bottom = min(heights) - ROOM * height  # room for PSEP below the curve
    y = alt.Y(
        "g:Q",
        scale=alt.Scale(domain=[bottom, max(heights)], nice=False),
        axis=alt.Axis(offset=BESIDE),
        title="Curve of the rule and its tangents",
    )
    named = style.categories(list(result.rows))
    colour = named["color"]
    shown = style.tips({key: COLUMNS[key] for key in ("category", "p", "slope")})
    lines = style.points(ends).mark_line(strokeWidth=1.5)
    dots = style.points(tangents)
    outer = (drawn.observed[0], drawn.observed[-1])
    feet = [{"p": share["p"], "g": share["g"], "bottom": bottom} for share in outer]
    layers = [style.points(drawn.curve).mark_line(style="guide", strokeWidth=2).encode(x=x, y=y)]
    layers += [*_psep(result, feet, x, y), *_intercepts(ends, LINE * height, x)]
    if at == "prior":
        layers.append(style.points(ends).mark_line(style="reference").encode(x=x, y=y))
        layers.append(dots.mark_point(style="quiet", filled=True, size=70).encode(x=x, y=y, tooltip=shown))
    else:
        gaps = [gap for gap in drawn.gaps if math.isfinite(gap["gap"])]
        marks = style.points(gaps).mark_point(shape="square", size=70, strokeWidth=2, opacity=1)
        layers.append(lines.encode(x=x, y=y, **named))
        layers.append(marks.encode(x=alt.X("p:Q"), y=alt.Y("tangent:Q"), color=colour, tooltip=style.tips(COLUMNS)))
        layers.append(style.dots(dots, 70, x=x, y=y, color=colour, tooltip=shown))
    if bars:
        upright = style.points(bars).mark_rule(strokeWidth=4)
        layers.append(upright.encode(x=alt.X("p:Q"), y=alt.Y("g:Q"), y2=alt.Y2(f"{reach}:Q"), **named))
    name = RULES.get(drawn.rule, drawn.rule)
    what = {
        "forecasts": "How far the marks at 0 and 1 lie below the curve is the score of that outcome. PSEP: the "
        "difference of the observed shares." + " Bars: miscalibration at the observed share." * bool(bars),
        "prior": "Tangent at the prevalence. Bars at the observed shares: the gain of each forecast. PSEP: the "
        "difference of these shares.",
    }
    return style.layered(
        f"The {name} as gaps" if at == "forecasts" else f"Gain in {name} as gaps",
        what[at],
        *layers,
        width=style.WIDTH - 2 * BESIDE,
    )
