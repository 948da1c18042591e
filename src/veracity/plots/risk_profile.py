"""The mean probability of what happened for every attitude to risk, stated and borne out, one or several models."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style

OF, ORDER = "assessment", 10
CAPTION = (
    "The mean probability of what happened for every attitude to risk: on the right surprises are "
    "forgiven, on the left they decide. The three marked places are the three means above."
)
COLUMNS = {
    "model": ("model", ""),
    "side": ("which", ""),
    "r": ("risk parameter r", ".3~f"),
    "mean": ("mean probability", ".4~g"),
    "low": ("low", ".4~g"),
    "high": ("high", ".4~g"),
}
MARKED = {-2 / 3: "worst-leaning", 0.0: "typical", 1.0: "average"}


def rows(result: Any) -> style.Rows:
    found = []
    for model, one in style.documents(result).items():
        profile = one.get("risk_profile") or {}
        for side, key in ((style.STATED, "reported"), (style.BORNE_OUT, "measured")):
            values = profile.get(key)
            if not values:
                continue
            nothing = [None] * len(values)
            ends = zip(profile.get(f"{key}_low") or nothing, profile.get(f"{key}_high") or nothing, strict=True)
            found += [
                {
                    "model": model,
                    "side": side,
                    "r": r,
                    "mean": style.finite(m),
                    "low": style.finite(a),
                    "high": style.finite(b),
                }
                for r, m, (a, b) in zip(profile["r"], values, ends, strict=True)
            ]
    return found


def chart(result: Any) -> style.Chart:
    """Risk profile P_r over r in [-2, 2]; r = 1, 0, -2/3 are the three means (RP section 3)."""
    points = [row for row in style.present(rows(result), "risk_profile", "risk profile") if row["mean"] is not None]
    models = list(dict.fromkeys(row["model"] for row in points))
    sides = [side for side in style.SIDES if any(row["side"] == side for row in points)]
    several = len(models) > 1
    solid = alt.Legend(symbolStrokeWidth=0, orient="top" if several else "bottom")
    colour: dict[str, Any] = (
        {
            "color": alt.Color(
                "model:N",
                scale=style.categories(models),
                title=None,
                legend=alt.Legend(columns=style.legend_columns(models)),
            )
        }
        if several
        else {"color": alt.Color("side:N", scale=style.categories(sides), title=None, legend=solid)}
    )
    base = alt.Chart(style.data(points))
    x = alt.X("r:Q", title=style.RISK_AXIS, scale=alt.Scale(domain=[-2, 2]))
    room = alt.Scale(domain=[0, 1.09], nice=False)  # for the names above the curves
    ticks = alt.Axis(values=[i / 5 for i in range(6)])
    y = alt.Y("mean:Q", scale=room, axis=ticks, title="Mean probability of what happened")
    marks = [{"r": r, "name": name} for r, name in MARKED.items()]
    guides = alt.Chart(style.data(marks))

    def named(some: style.Rows, align: Any, dx: int) -> style.Chart:
        text = alt.Chart(style.data(some)).mark_text(
            style="note", align=align, dx=dx, dy=2, baseline="top", fontSize=11
        )
        return text.encode(x=alt.X("r:Q"), y=alt.value(0), text="name:N")

    marked = [row for row in points if any(abs(row["r"] - r) < 1e-6 for r in MARKED)]
    detail = alt.Detail("model:N")
    layers = [
        guides.mark_rule(style="guide", opacity=0.5).encode(x=alt.X("r:Q")),
        named(marks[:1], "right", -4),
        named(marks[1:], "left", 4),
        base.mark_line(strokeWidth=2).encode(
            x=x,
            y=y,
            strokeDash=alt.StrokeDash("side:N", scale=style.dashes(sides), title=None, legend=solid),
            detail=detail,
            **colour,
        ),
        alt.Chart(style.data(marked))
        .mark_point(filled=True, size=55, opacity=1)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("side:N", scale=style.shapes(sides), title=None, legend=solid),
            tooltip=style.tips(COLUMNS),
            **colour,
        ),
    ]
    if not several:
        band = base.mark_area(opacity=0.18).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", detail="side:N", **colour)
        layers.insert(0, band)
    return alt.layer(*layers).properties(
        width=style.WIDTH,
        height=style.HEIGHT,
        title=style.title(
            "Risk profile", "A steep fall to the left: a few bad surprises. Stated far above borne out: too sure."
        ),
    )
