"""For whom one of two models is better: the difference of their Murphy curves, with a band for all thresholds."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.records.decisions import Dominance
from veracity.results.comparison import Comparison
from veracity.words import decisions

OF, ORDER, TITLE = "comparison", 5, "For whom is it better?"
COLUMNS = {"threshold": ("threshold", ".3~g"), "value": ("difference", ".4~g"), **style.INTERVAL}


def _first(result: Comparison) -> Dominance | None:
    return next((d for d in result.record.dominance if d.thresholds), None)


def rows(result: Comparison) -> style.Rows:
    d = _first(result)
    if d is None:
        return []
    reach = d.band or 0.0
    return [
        {"threshold": c, "value": x, "low": x - reach, "high": x + reach}
        for c, x in zip(d.thresholds, d.difference, strict=True)
    ]


def caption(result: Comparison) -> str:
    d = _first(result)
    sentence = None if d is None else decisions.dominance(d)
    return "" if sentence is None else f"{sentence.text} {decisions.MODEST}"


def chart(result: Comparison) -> style.Chart:
    """Mean elementary loss of one model less that of the other, by threshold; below 0 the first is better."""
    curve = style.present(rows(result), "dominance", "thresholds (they need two classes, or an event)")
    d = _first(result)
    assert d is not None
    x = alt.X("threshold:Q", scale=style.PROBABILITY, axis=alt.Axis(format=".0%"), title="Act from this probability on")
    y = alt.Y("value:Q", title=f"Mean loss, {d.a} minus {d.b}")
    base = style.points(curve)
    return style.layered(
        TITLE,
        f"Below the line {d.a} is better, above it {d.b}. The band holds for all thresholds at once.",
        base.mark_area(style="band").encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        style.rule("y", 0),
        base.mark_line(strokeWidth=2).encode(x=x, y=y),
        base.mark_point(opacity=0, size=60).encode(x=x, y=y, tooltip=style.tips(COLUMNS)),
        height=240,
    )
