"""Several models side by side: the three means, stated and borne out."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.words import MEANS, SHORT

OF, ORDER = "models", 0
CAPTION = (
    "Each model’s three means, stated and borne out by the outcomes. Typical: further right is better; the other two "
    "describe."
)
COLUMNS = {
    "model": ("model", ""),
    "mean": ("mean", ""),
    "side": ("which", ""),
    "value": ("probability", ".4~g"),
    "low": ("low", ".4~g"),
    "high": ("high", ".4~g"),
}
MOST = 20  # models that are drawn: the ten best and the ten worst by their typical probability
LEAST_ROOM, MOST_ROOM, LETTER = 120, 220, 7  # pixels for names of models, and for a letter of them


def rows(result: Any) -> style.Rows:
    found = []
    for model, one in style.documents(result).items():
        for side, key in ((style.STATED, "reported"), (style.BORNE_OUT, "measured")):
            for name in MEANS:
                reading = (one.get(key) or {}).get(name)
                if (value := style.finite(reading)) is not None:
                    ends = {"low": style.end(reading, "low"), "high": style.end(reading, "high")}
                    found.append({"model": model, "mean": SHORT[name].label, "side": side, "value": value, **ends})
    return found


def chart(result: Any) -> style.Chart:
    """Each model's worst-leaning, typical and average probability; best typical probability first."""
    found = style.present(rows(result), "compare", "means")
    typical = {
        row["model"]: row["value"]
        for row in found
        if row["mean"] == SHORT["accuracy"].label and row["side"] == style.STATED
    }
    order = sorted(dict.fromkeys(row["model"] for row in found), key=lambda model: -typical.get(model, 0.0))
    if len(order) > MOST:
        order = order[: MOST // 2] + order[-MOST // 2 :]
    drawn = [row for row in found if row["model"] in order]
    names = [SHORT[name].label for name in MEANS]
    room = min(MOST_ROOM, max(LEAST_ROOM, LETTER * max(len(model) for model in order)))
    y = alt.Y("model:N", sort=order, title=None, axis=alt.Axis(labelLimit=room, labelOverlap=False))
    x = alt.X("value:Q", scale=style.PROBABILITY, title="Probability given to what happened")
    shape = alt.Scale(domain=names, range=["triangle-up", "circle", "square"])
    side = {"yOffset": alt.YOffset("side:N", sort=style.SIDES)}
    colour = alt.Color("side:N", scale=style.categories(style.SIDES), title=None)
    base = alt.Chart(style.data(drawn))
    return alt.layer(
        base.mark_line(strokeWidth=1.5, opacity=0.6).encode(x=x, y=y, color=colour, detail="model:N", **side),
        base.mark_point(filled=True, size=75, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.Shape("mean:N", scale=shape, title=None, legend=alt.Legend(orient="top")),
            tooltip=style.tips(COLUMNS),
            **side,
        ),
    ).properties(
        width=style.WIDTH - 60 - (room - LEAST_ROOM),
        height=max(90, 42 * len(order)),
        title=style.title("Models side by side", "Best typical probability first; the other two means describe."),
    )
