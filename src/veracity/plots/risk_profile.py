"""The mean probability of the outcome for every risk parameter: given, expected and recalibrated."""

from __future__ import annotations

import math

import altair as alt

from veracity.measures import SHORT_MEANS
from veracity.plots import _style as style
from veracity.words import count, finite, percent

OF, ORDER, TITLE = "assessment", 30, "Risk profile"
COLUMNS = {
    "model": ("model", ""),
    "side": ("which", ""),
    "r": ("risk parameter r", ".3~f"),
    "mean": ("mean probability", ".4~g"),
    **style.INTERVAL,
}
LONG = {
    style.GAVE: "Given",
    style.EXPECTED: "expected by the model itself",
    style.RECALIBRATED: "after recalibration",
}
PLACES = {-2 / 3: "robustness", 0.0: "geometric_accuracy", 1.0: "decisiveness"}


def rows(result: style.Models) -> style.Rows:
    points = []
    models = style.models(result)
    sides = style.SIDES[: 2 if len(models) > 1 else 3]  # recalibrated, several models hardly differ
    for model, one in models.items():
        profile = one.risk_profile
        unknown = (math.nan,) * len(profile.r)
        curves = {
            style.GAVE: (profile.reported, profile.reported_low, profile.reported_high),
            style.EXPECTED: (profile.expected, profile.expected_low, profile.expected_high),
            style.RECALIBRATED: (profile.measured, profile.measured_low, profile.measured_high),
        }
        for side in sides:
            values, low, high = curves[side]
            points += [
                {"model": model, "side": side, "r": r, "mean": finite(m), "low": finite(a), "high": finite(b)}
                for r, m, a, b in zip(profile.r, values or unknown, low or unknown, high or unknown, strict=True)
                if finite(m) is not None
            ]
    return points


def caption(result: style.Models) -> str:
    """Return how far the typical probability is from the expected one."""
    typical_means = []
    for model, one in style.models(result).items():
        gave, expected = finite(one.reported.geometric_accuracy), finite(one.expected.geometric_accuracy)
        if gave is not None and expected is not None:
            name = "it" if len(style.models(result)) == 1 else model
            verdict = one.verdict_detail
            deviates = verdict.state in ("found", "slight")
            typical_means.append(f"{name} gave {_given_and_expected(gave, expected, deviates, verdict.zero_rows)}")
    typical = f" At r = 0 (typical) {'; '.join(typical_means[:3])}." if typical_means else ""
    return f"To the right misses are forgiven, to the left they decide.{typical}"


def _given_and_expected(gave: float, expected: float, deviates: bool, zeros: int) -> str:
    """Return both shares; which is larger is said only where the verdict found a difference beyond chance."""
    digits = int(max(gave, expected) < 0.1)
    shown, other = percent(gave, digits), percent(expected, digits)
    if zeros and gave == 0.0:
        return f"{shown}, as {count(zeros, 'outcome')} had probability 0, where {other} was expected"
    if shown == other:
        return f"{shown}, as expected"
    beside = "about" if not deviates else "less than" if gave < expected else "more than"
    return f"{shown}, {beside} the {other} expected"


def chart(result: style.Models) -> style.Chart:
    """Risk profile P_r over r in [-2, 2]; r = 1, 0, -2/3 are the three means (RP section 3)."""
    points = style.present(rows(result), "risk_profile", "risk profile")
    names = list(dict.fromkeys(row["model"] for row in points))
    sides = [side for side in style.SIDES if any(row["side"] == side for row in points)]
    several = len(names) > 1
    solid = alt.Legend(symbolStrokeWidth=0, orient="top" if several else "bottom")
    field, domain = ("model", names) if several else ("side", sides)
    legend = alt.Legend(columns=style.legend_columns(names)) if several else solid
    x = alt.X("r:Q", title=style.RISK_AXIS, scale=alt.Scale(domain=[-2, 2]))
    room = alt.Scale(domain=[0, 1.09], nice=False)  # for the names above the curves
    ticks = alt.Axis(values=[i / 5 for i in range(6)], format=".0%")
    y = alt.Y("mean:Q", scale=room, axis=ticks, title="Mean probability of the outcome")
    marks = [{"r": r, "name": SHORT_MEANS[name]} for r, name in PLACES.items()]
    drawn = {"x": x, "y": y, **style.by(field, domain, "color", legend=legend)}
    dash, shape = (style.by("side", sides, channel, legend=solid) for channel in ("strokeDash", "shape"))
    base = style.points(points)
    marked = [row for row in points if any(abs(row["r"] - r) < 1e-6 for r in PLACES)]
    layers = [
        style.points(marks).mark_rule(style="guide", opacity=0.5).encode(x=alt.X("r:Q")),
        style.names_above(style.points(marks[:1]), "right", -4),
        style.names_above(style.points(marks[1:])),
        base.mark_line(strokeWidth=2, interpolate="monotone").encode(**drawn, **dash, detail=alt.Detail("model:N")),
        style.dots(style.points(marked), 55, **drawn, **shape, tooltip=style.tips(COLUMNS)),
    ]
    if not several:
        band = {**drawn, "y": alt.Y("low:Q"), "y2": alt.Y2("high:Q"), "detail": alt.Detail("side:N")}
        layers.insert(0, base.mark_area(opacity=0.18).encode(**band))
    return style.layered(TITLE, f"{', '.join(LONG[side] for side in sides)}.", *layers)
