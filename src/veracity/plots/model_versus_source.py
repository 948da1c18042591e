"""Model probability against source probability: what was stated over what the outcomes bear out (N17's orientation)."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.words import MEANS, SHORT

OF, ORDER = "assessment", 30
CAPTION = (
    "Each bubble is a range of stated probabilities: across how often it came true, up what was stated. "
    "Bubbles above the dashed line were stated too high."
)
COLUMNS = {
    "source": ("source: happened", ".4~g"),
    "model": ("model: stated", ".4~g"),
    "low": ("bin from", ".4~g"),
    "high": ("bin to", ".4~g"),
    "count": ("probabilities", ",.6~g"),
    "true": ("of what happened", ",.6~g"),
    "contribution": ("contribution to log loss", ".4~g"),
    "contribution_eq17": ("size by N17 eq 17", ".4~g"),
}
MOST_CLASSES = 6


def rows(result: Any) -> style.Rows:
    return [
        {**row, "contribution": style.finite(row.get("contribution"))}
        for row in style.document(result).get("bins") or []
        if style.finite(row.get("model")) is not None and style.finite(row.get("source")) is not None
    ]


def _means(found: dict[str, Any]) -> style.Rows:
    stated, borne = found.get("reported") or {}, found.get("measured") or {}
    marks = [
        {"mean": SHORT[name].label, "source": style.finite(borne.get(name)), "model": style.finite(stated.get(name))}
        for name in MEANS
    ]
    return [row for row in marks if None not in row.values()]


def _by_class(found: dict[str, Any]) -> style.Rows:
    curves = (found.get("curves") or {}).get("classwise") or {}
    if len(curves) > MOST_CLASSES:
        return []
    return [
        {"class": str(name), "source": row["observed"], "model": row["forecast"], "count": row["count"]}
        for name, curve in curves.items()
        for row in curve
    ]


def named(means: style.Rows, x: alt.X, y: alt.Y, across: str = "source") -> list[style.Chart]:
    """The names of the marks, to their left, or to their right where the axis is near."""
    sides: list[tuple[Any, int, style.Rows]] = [
        ("right", -9, [mean for mean in means if mean[across] >= 0.3]),
        ("left", 9, [mean for mean in means if mean[across] < 0.3]),
    ]
    return [
        alt.Chart(style.data(some))
        .mark_text(style="note", align=align, dx=dx, dy=-8, fontWeight="bold")
        .encode(x=x, y=y, text="mean:N")
        for align, dx, some in sides
        if some
    ]


def chart(result: Any) -> style.Chart:
    """Bubbles: bins, larger where they cost more log loss; marks: the means, their line against 45° (N17 Fig 3)."""
    found = style.document(result)
    bins = style.present(rows(result), "model_versus_source", "bins")
    x = alt.X("source:Q", scale=style.PROBABILITY, title="Source: how often such forecasts came true")
    y = alt.Y("model:Q", scale=style.PROBABILITY, title="Model: probability stated")
    layers: list[style.Chart] = [
        style.diagonal(),
        alt.Chart(style.data(bins))
        .mark_circle(style="quiet", opacity=0.45)
        .encode(
            x=x,
            y=y,
            size=alt.Size("contribution:Q", scale=alt.Scale(type="sqrt", range=[15, 900]), legend=None),
            tooltip=style.tips(COLUMNS),
        ),
    ]
    by_class = _by_class(found)
    if by_class:
        names = list(dict.fromkeys(row["class"] for row in by_class))
        layers.append(
            alt.Chart(style.data(by_class))
            .mark_point(size=45, strokeWidth=1.8, opacity=0.9)
            .encode(
                x=x,
                y=y,
                color=alt.Color("class:N", scale=style.categories(names), title="Class"),
                shape=alt.Shape("class:N", scale=style.shapes(names), title="Class"),
                tooltip=style.tips(
                    {
                        "class": ("class", ""),
                        "source": ("happened", ".4~g"),
                        "model": ("stated", ".4~g"),
                        "count": ("forecasts", ","),
                    }
                ),
            )
        )
    means = _means(found)
    angle = ""
    if len(means) > 1:
        rise, run = means[0]["model"] - means[-1]["model"], means[0]["source"] - means[-1]["source"]
        degrees = math.degrees(math.atan2(rise, run))
        angle = f"Line of the three means at {degrees:.0f}° (45° is right, steeper is too sure). "
        tooltips = style.tips({"mean": ("mean", ""), "source": ("borne out", ".4~g"), "model": ("stated", ".4~g")})
        line = alt.Chart(style.data(means))
        layers += [
            line.mark_line(strokeWidth=2.5, style="mean-line").encode(x=x, y=y),
            line.mark_point(filled=True, size=110, shape="cross", style="mean-line", opacity=1).encode(
                x=x, y=y, tooltip=tooltips
            ),
            *named(means, x, y),
        ]
    note = f"{angle}Grey bubbles: bins, larger where they cost more log loss."
    return alt.layer(*layers).properties(
        width=style.WIDTH, height=style.WIDTH, title=style.title("Model versus source", note)
    )
