"""The typical probability of the outcome, given and expected, of several models or groups."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style

COLUMNS = {
    "side": ("which", ""),
    "value": ("typical probability", ".4~g"),
    "low": ("low", ".4~g"),
    "high": ("high", ".4~g"),
}
DRAWN = [style.GAVE, style.EXPECTED]


def rows(result: Any, **fields: Any) -> style.Rows:
    """Return the known typical probabilities of one result, each with these fields."""
    found = []
    for side in DRAWN:
        means = getattr(result, style.SIDES[side])
        typical = style.reading(means and means.geometric_accuracy)
        if typical["value"] is not None:
            found.append({**fields, "side": side, **typical})
    return found


def layers(found: style.Rows, y: alt.Y, columns: style.Columns) -> list[style.Chart]:
    """Return dots with intervals, a line of the picture for each value of y."""
    x = alt.X("value:Q", scale=style.PROBABILITY, title="Typical probability of the outcome")
    colour = alt.Color("side:N", scale=style.categories(DRAWN), title=None)
    shape = alt.Shape("side:N", scale=style.shapes(DRAWN), title=None)
    base = alt.Chart(style.data(found)).encode(y=y, color=colour, yOffset=alt.YOffset("side:N", sort=DRAWN))
    dots = base.mark_point(filled=True, size=70, opacity=1)
    return [
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q"),
        dots.encode(x=x, shape=shape, tooltip=style.tips(columns)),
    ]
