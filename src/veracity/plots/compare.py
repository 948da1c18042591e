"""Several models side by side: the typical probability of the outcome, given and expected."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.records.sections import Level
from veracity.results.assessment import Assessment
from veracity.words import finite, percent

OF, ORDER, TITLE = "models", 0, "Models side by side"
TYPICAL = {"side": ("which", ""), "value": ("typical probability", ".4~g"), **style.INTERVAL}
COLUMNS = {"model": ("model", ""), **TYPICAL}
DRAWN = [style.GAVE, style.EXPECTED]
MOST = 20  # models that are drawn: the ten best and the ten worst
LEAST_ROOM, MOST_ROOM, LETTER = 120, 220, 7  # pixels for names of models, and for a letter of them


def _ranked(result: style.Models) -> list[tuple[str, Assessment]]:
    """Return the models by typical probability, best first; the best and worst of many."""
    models = style.models(result).items()
    ranked = sorted(models, key=lambda item: -(finite(item[1].reported.geometric_accuracy) or 0.0))
    return ranked if len(ranked) <= MOST else ranked[: MOST // 2] + ranked[-MOST // 2 :]


def typical_rows(result: Assessment | Level, **fields: object) -> style.Rows:
    """Return the known typical probabilities of one result, each with these fields."""
    points = []
    for side, means in ((style.GAVE, result.reported), (style.EXPECTED, result.expected)):
        typical = style.reading(means.geometric_accuracy)
        if typical["value"] is not None:
            points.append({**fields, "side": side, **typical})
    return points


def typical_layers(points: style.Rows, y: alt.Y, columns: style.Columns) -> list[alt.Chart]:
    """Return dots with intervals, a line of the picture for each value of y."""
    x = alt.X("value:Q", scale=style.PROBABILITY, title="Typical probability of the outcome")
    colour, shape = style.by("side", DRAWN, "color"), style.by("side", DRAWN, "shape")
    base = style.points(points).encode(y=y, **colour, yOffset=alt.YOffset("side:N", sort=DRAWN))
    intervals = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    return [intervals, style.dots(base, 70, x=x, **shape, tooltip=style.tips(columns))]


def named_models(names: list[str]) -> tuple[alt.Y, dict[str, int]]:
    """Return the axis of models' names, and the size of a picture with room for them."""
    room = min(MOST_ROOM, max(LEAST_ROOM, LETTER * max(map(len, names))))
    y = alt.Y("model:N", sort=names, title=None, axis=alt.Axis(labelLimit=room, labelOverlap=False))
    return y, {"width": style.WIDTH - 60 - (room - LEAST_ROOM), "height": max(80, 34 * len(names))}


def rows(result: style.Models) -> style.Rows:
    return [row for model, one in _ranked(result) for row in typical_rows(one, model=model)]


def caption(result: style.Models) -> str:
    """Return the models that gave the outcome most and least."""
    ranked = _ranked(result)
    if len(ranked) < 2:
        return ""
    (best, first), (worst, last) = ranked[0], ranked[-1]
    return (
        f"{best} gave the outcome {percent(first.reported.geometric_accuracy, 0)} typically, {worst} "
        f"{percent(last.reported.geometric_accuracy, 0)}. Further right is better; given far below expected means "
        "over-confident."
    )


def chart(result: style.Models) -> style.Chart:
    """Each model's typical probability, highest first."""
    points = style.present(rows(result), "compare", "means")
    y, size = named_models(list(dict.fromkeys(row["model"] for row in points)))
    note = "Highest first. Given far below expected: over-confident."
    return style.layered(TITLE, note, *typical_layers(points, y, COLUMNS), **size)
