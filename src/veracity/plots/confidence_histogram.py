"""CQ's histogram of variable width: how often each range of stated probabilities came true, with the slope line."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.plots import model_versus_source

OF, ORDER = "assessment", 40
CAPTION = (
    "The same turned round: across what was stated, up how often it came true. Bars that end below the "
    "dashed line were stated too high."
)
COLUMNS = model_versus_source.COLUMNS
rows = model_versus_source.rows


def chart(result: Any) -> style.Chart:
    """Bars: bins with equal numbers of what happened; line: the three means, stated across, borne out up (CQ Fig 1)."""
    found = style.document(result)
    bins = style.present(rows(result), "confidence_histogram", "bins")
    x = alt.X("low:Q", scale=style.PROBABILITY, title="Probability stated")
    y = alt.Y("source:Q", scale=style.PROBABILITY, title="How often such forecasts came true")
    layers: list[style.Chart] = [
        alt.Chart(style.data(bins))
        .mark_rect(opacity=0.45, stroke="white", strokeWidth=0.5)
        .encode(x=x, x2="high:Q", y=y, y2=alt.datum(0), tooltip=style.tips(COLUMNS)),
        style.diagonal(),
    ]
    means = model_versus_source._means(found)
    slope = style.finite(found.get("slope"))
    if len(means) > 1:
        tooltips = style.tips({"mean": ("mean", ""), "model": ("stated", ".4~g"), "source": ("borne out", ".4~g")})
        across, up = alt.X("model:Q", scale=style.PROBABILITY), alt.Y("source:Q", scale=style.PROBABILITY)
        line = alt.Chart(style.data(means))
        layers += [
            line.mark_line(strokeWidth=2.5, style="mean-line").encode(x=across, y=up),
            line.mark_point(filled=True, size=110, shape="cross", style="mean-line", opacity=1).encode(
                x=across, y=up, tooltip=tooltips
            ),
            *model_versus_source.named(means, across, up, "model"),
        ]
    said = f"Slope {slope:.2f} (below 1 is over-confident). " if slope is not None else ""
    return alt.layer(*layers).properties(
        width=style.WIDTH,
        height=style.HEIGHT,
        title=style.title("Confidence histogram", f"{said}Each bar holds about as many cases that happened."),
    )
