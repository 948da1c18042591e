"""Several models side by side: the typical probability of the outcome, given and expected."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.words import finite, percent

OF, ORDER, TITLE = "models", 0, "Models side by side"
COLUMNS = {
    "model": ("model", ""),
    "side": ("which", ""),
    "value": ("typical probability", ".4~g"),
    "low": ("low", ".4~g"),
    "high": ("high", ".4~g"),
}
MOST = 20  # models that are drawn: the ten best and the ten worst
LEAST_ROOM, MOST_ROOM, LETTER = 120, 220, 7  # pixels for names of models, and for a letter of them
DRAWN = [style.GAVE, style.EXPECTED]


def _ranked(result: Any) -> list[tuple[str, Any]]:
    """Return the models by typical probability, best first; the best and worst of many."""
    ranked = sorted(
        style.models(result).items(), key=lambda item: -(finite(item[1].reported.geometric_accuracy) or 0.0)
    )
    return ranked if len(ranked) <= MOST else ranked[: MOST // 2] + ranked[-MOST // 2 :]


def rows(result: Any) -> style.Rows:
    found = []
    for model, one in _ranked(result):
        for side in DRAWN:
            held = getattr(one, style.SIDES[side])
            typical = style.reading(held and held.geometric_accuracy)
            if typical["value"] is not None:
                found.append({"model": model, "side": side, **typical})
    return found


def caption(result: Any) -> str:
    """Return the best and the worst model."""
    ranked = _ranked(result)
    if len(ranked) < 2:
        return ""
    (best, first), (worst, last) = ranked[0], ranked[-1]
    return (
        f"{best} gave the outcome {percent(first.reported.geometric_accuracy, 0)} typically, {worst} "
        f"{percent(last.reported.geometric_accuracy, 0)}. Further right is better; given far below expected means "
        "over-confident."
    )


def chart(result: Any) -> style.Chart:
    """Each model's typical probability, best first."""
    found = style.present(rows(result), "compare", "means")
    order = list(dict.fromkeys(row["model"] for row in found))
    room = min(MOST_ROOM, max(LEAST_ROOM, LETTER * max(map(len, order))))
    y = alt.Y("model:N", sort=order, title=None, axis=alt.Axis(labelLimit=room, labelOverlap=False))
    x = alt.X("value:Q", scale=style.PROBABILITY, title="Typical probability of the outcome")
    side = {"yOffset": alt.YOffset("side:N", sort=DRAWN)}
    colour = alt.Color("side:N", scale=style.categories(DRAWN), title=None)
    base = alt.Chart(style.data(found))
    return alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour, **side),
        base.mark_point(filled=True, size=75, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.Shape("side:N", scale=style.shapes(DRAWN), title=None),
            tooltip=style.tips(COLUMNS),
            **side,
        ),
    ).properties(
        width=style.WIDTH - 60 - (room - LEAST_ROOM),
        height=max(80, 34 * len(order)),
        title=style.title(TITLE, "Best first. Given far below expected: over-confident."),
    )
