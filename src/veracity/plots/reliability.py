"""How often it happened against what was stated, with the band that true forecasts would stay in, and sharpness."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style

OF, ORDER = "assessment", 0
CAPTION = "On the line: what it says is what happens. Below: too sure of it; above: not sure enough."
COLUMNS = {
    "forecast": ("stated on average", ".4~g"),
    "observed": ("happened", ".4~g"),
    "observed_low": ("happened, low", ".4~g"),
    "observed_high": ("happened, high", ".4~g"),
    "band_low": ("band, low", ".4~g"),
    "band_high": ("band, high", ".4~g"),
    "count": ("forecasts", ","),
    "true": ("of them happened", ",.6~g"),
}


def _curve(found: dict[str, Any]) -> tuple[style.Rows, str]:
    """The curve of the event for two classes, of the pick for more, and what its probability is called."""
    curves, classes = found.get("curves") or {}, found.get("classes") or []
    if len(classes) == 2:
        event = str(classes[1])
        rows = (curves.get("classwise") or {}).get(event) or curves.get("pooled") or []
        return list(rows), f"Stated probability of {event}"
    return list(curves.get("top_label") or []), "Stated probability of the pick"


def rows(result: Any) -> style.Rows:
    return _curve(style.document(result))[0]


def chart(result: Any) -> style.Chart:
    """Reliability diagram above the number of forecasts (band: outcomes redrawn from the forecasts)."""
    found = style.document(result)
    points, said = _curve(found)
    style.present(points, "reliability", "reliability curve")
    pick = len(found.get("classes") or []) != 2
    x = alt.X("forecast:Q", scale=style.PROBABILITY, title=said)
    y = alt.Y(
        "observed:Q", scale=style.PROBABILITY, title="Share that happened" if not pick else "Share of picks right"
    )
    base = alt.Chart(style.data(points))
    layers: list[style.Chart] = []
    if any(row.get("band_low") is not None for row in points):
        layers.append(base.mark_area(style="band").encode(x=x, y=alt.Y("band_low:Q"), y2="band_high:Q"))
    layers += [
        style.diagonal(),
        base.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("observed_low:Q"), y2="observed_high:Q"),
        base.mark_line(strokeWidth=1.5).encode(x=x, y=y),
        base.mark_point(filled=True, opacity=1).encode(
            x=x,
            y=y,
            size=alt.Size("count:Q", scale=alt.Scale(type="sqrt", zero=True, range=[12, 130]), legend=None),
            tooltip=style.tips(COLUMNS),
        ),
    ]
    curve = alt.layer(*layers).properties(
        width=style.WIDTH,
        height=style.HEIGHT,
        title=style.title(
            "Reliability", "Grey band: where true probabilities would stay. Dots: larger for more forecasts."
        ),
    )
    sharp = (found.get("curves") or {}).get("sharpness") or []
    if not sharp:
        return alt.vconcat(curve)
    tooltips = style.tips({"low": ("from", ".3~g"), "high": ("to", ".3~g"), "count": ("forecasts", ",.6~g")})
    bars = (
        alt.Chart(style.data(sharp))
        .mark_rect(style="quiet")
        .encode(
            x=alt.X("low:Q", scale=style.PROBABILITY, title=said),
            x2="high:Q",
            y=alt.Y("count:Q", title="Forecasts", axis=alt.Axis(tickCount=3, format="~s")),
            y2=alt.datum(0),
            tooltip=tooltips,
        )
        .properties(width=style.WIDTH, height=70)
    )
    return alt.vconcat(curve, bars, spacing=12)
