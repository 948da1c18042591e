"""Several models side by side: the typical probability of the outcome, given and expected."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style
from veracity.plots import _typical
from veracity.words import finite, percent

OF, ORDER, TITLE = "models", 0, "Models side by side"
COLUMNS = {"model": ("model", ""), **_typical.COLUMNS}
MOST = 20  # models that are drawn: the ten best and the ten worst
LEAST_ROOM, MOST_ROOM, LETTER = 120, 220, 7  # pixels for names of models, and for a letter of them


def _ranked(result: Any) -> list[tuple[str, Any]]:
    """Return the models by typical probability, best first; the best and worst of many."""
    ranked = sorted(
        style.models(result).items(), key=lambda item: -(finite(item[1].reported.geometric_accuracy) or 0.0)
    )
    return ranked if len(ranked) <= MOST else ranked[: MOST // 2] + ranked[-MOST // 2 :]


def rows(result: Any) -> style.Rows:
    return [row for model, one in _ranked(result) for row in _typical.rows(one, model=model)]


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
    return style.layered(
        TITLE,
        "Best first. Given far below expected: over-confident.",
        *_typical.layers(found, y, COLUMNS),
        width=style.WIDTH - 60 - (room - LEAST_ROOM),
        height=max(80, 34 * len(order)),
    )
