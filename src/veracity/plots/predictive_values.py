"""What a forecast means where the event is more or less common: predictive values against prevalence."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.table import TableAssessment
from veracity.words import event_name, percent

MOST_NAMED = 4  # forecasts in a caption; of more, the best and the worst
OF, ORDER, TITLE = "table", 20, "Predictive values at other prevalences"
COLUMNS = {
    "prevalence": ("prevalence", ".2f"),
    "category": ("forecast", ""),
    "predictive_value": ("probability of the event", ".3f"),
}


def rows(result: TableAssessment) -> style.Rows:
    return result.curves.updating or []


def caption(result: TableAssessment) -> str:
    """Return the predictive values at the table's own prevalence."""
    if len(result.columns) != 2:
        return ""
    pairs = zip(result.rows, result.predictive_values, strict=True)
    own = [f"{percent(values[-1], 0)} after “{row}”" for row, values in pairs]
    shown = own if len(own) <= MOST_NAMED else [own[0], own[-1]]
    event = event_name(result.columns[-1])
    return f"At the prevalence of this table, {percent(result.prior[-1], 0)}, {event} has {', '.join(shown)}."


def chart(result: TableAssessment) -> style.Chart:
    """Bayes' rule at every prevalence (HB17, after Madden 2006); dots: the table's own prevalence."""
    lines = style.present(rows(result), "predictive_values", "two outcomes")
    categories, event = list(result.rows), result.columns[-1]
    x = alt.X("prevalence:Q", scale=style.PROBABILITY, title=f"Prevalence of {event}")
    y = alt.Y("predictive_value:Q", scale=style.PROBABILITY, title=f"Probability of {event} after the forecast")
    named = {"x": x, "y": y, **style.categories(categories), "tooltip": style.tips(COLUMNS)}
    own = [
        {"prevalence": float(result.prior[-1]), "category": row, "predictive_value": float(values[-1])}
        for row, values in zip(categories, result.predictive_values, strict=True)
    ]
    dots = {name: channel for name, channel in named.items() if name != "strokeDash"}
    return style.layered(
        TITLE,
        "Dots: at the table's own prevalence. Dashed: a forecast that tells nothing.",
        style.diagonal(),
        style.points(lines).mark_line(strokeWidth=2).encode(**named),
        style.dots(style.points(own), 70, **dots),
    )
