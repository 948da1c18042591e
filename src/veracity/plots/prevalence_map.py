"""Which of two models is better at each prevalence of the event and each threshold."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.records.decisions import Dominance
from veracity.results.comparison import Comparison
from veracity.words import decisions

OF, ORDER, TITLE = "comparison", 6, "At other prevalences"
OPEN = "not proven"
COLUMNS = {
    "prevalence": ("prevalence", ".3~g"),
    "threshold": ("threshold", ".3~g"),
    "difference": ("difference", ".4~g"),
    "better": ("better", ""),
}


def _first(result: Comparison) -> Dominance | None:
    return next((d for d in result.record.dominance if d.prevalences), None)


def rows(result: Comparison) -> style.Rows:
    d = _first(result)
    return [] if d is None else [{**dict(w.stated()), "better": w.better or OPEN} for w in d.prevalences]


def caption(result: Comparison) -> str:
    d = _first(result)
    return "" if d is None else decisions.prevalences(d)


def chart(result: Comparison) -> style.Chart:
    """A mark for each combination, coloured and shaped by the model that is better."""
    cells = style.present(rows(result), "prevalence_map", "prevalences (they need two classes, or an event)")
    d = _first(result)
    assert d is not None
    order = [f"{100.0 * x:g} %" for x in sorted({row["prevalence"] for row in cells}, reverse=True)]
    data = [{**row, "shown": f"{100.0 * row['prevalence']:g} %"} for row in cells]
    x = alt.X("threshold:Q", scale=style.PROBABILITY, axis=alt.Axis(format=".0%"), title="Act from this probability on")
    y = alt.Y("shown:O", sort=order, title="Prevalence of the event")
    names = [name for name in (d.a, d.b) if any(row["better"] == name for row in cells)]
    cues = style.by("better", names, "color", "shape", legend=alt.Legend(columns=style.legend_columns(names)))
    base = style.points([row for row in data if row["better"] == OPEN])
    quiet = base.mark_point(style="quiet", filled=True, size=14).encode(x=x, y=y, tooltip=style.tips(COLUMNS))
    won = style.points([row for row in data if row["better"] != OPEN])
    marks = style.dots(won, 80, x=x, y=y, **cues, tooltip=style.tips(COLUMNS))
    note = "Large marks: who is better; small ones: not proven. Forecasts as they are; one band for all combinations."
    return style.layered(TITLE, note, quiet, marks, height=240)
