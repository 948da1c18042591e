"""The cases with the lowest probabilities of their outcomes."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import chance, count, place
from veracity.words.verdict import row_of

OF, ORDER, TITLE = "assessment", 20, "Least expected outcomes"
COLUMNS = {"row": ("row", ""), "outcome": ("outcome", ""), "probability": ("probability of the outcome", ".4~g")}
UNLIKELY = 0.05  # calibrated forecasts would have an outcome so little expected in fewer sets than this
POWER = "abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 1e-9"
MANY = "replace(replace(replace(format(1 / datum.value, '.0s'), 'M', ' million'), 'G', ' billion'), 'T', ' trillion')"
PLAIN = f"(datum.value < 1e-6 ? '1 in ' + {MANY} : format(datum.value, '~f'))"  # never "1e-8"
GIVEN, RULED_OUT = "probability given", "ruled out (probability 0)"


def rows(result: Assessment) -> style.Rows:
    return [
        {"row": row_of(case), "outcome": str(case.outcome or ""), "probability": case.probability}
        for case in result.surprises
    ]


def caption(result: Assessment) -> str:
    """Return the first case and the number of outcomes with probability 0."""
    cases = result.surprises
    if not cases:
        return ""
    zeros = sum(case.probability == 0 for case in cases)
    worst = f"{place(cases[0])} gave its outcome {chance(cases[0].probability)}"
    sentence = f"{zeros} of these outcomes had been ruled out (probability 0)" if zeros else worst
    others = max(len(result.classes) - 1, 1)
    if cases[0].probability * others * result.n < UNLIKELY:
        return f"{sentence}. Look at these cases first: they may be errors in the data."
    return f"{sentence}, the least of {count(result.n, 'case')}."


def chart(result: Assessment) -> style.Chart:
    """Up to 20 cases on a logarithmic scale; a probability of 0 is at the left edge and named."""
    cases = style.present(rows(result), "surprises", "surprises")
    positive = [row["probability"] for row in cases if row["probability"] > 0]
    edge = min(positive, default=1e-3) / 10
    drawn = []
    for row in cases:
        named = {"kind": GIVEN if row["probability"] > 0 else RULED_OUT, "name": f"{row['row']}: {row['outcome'][:18]}"}
        drawn.append({**row, "at": row["probability"] or edge, **named})
    zeros = len(positive) < len(drawn)
    order = [row["name"] for row in drawn]
    y = alt.Y("name:N", sort=order, title="Row and its outcome", axis=alt.Axis(labelLimit=200, labelOverlap=False))
    scale = alt.Scale(type="log", domain=[edge if zeros else min(positive) / 1.5, 1])
    axis = alt.Axis(labelExpr=f"{POWER} ? {PLAIN} : ''", tickCount=5)
    x = alt.X("at:Q", scale=scale, title="Probability of the outcome (log scale)", axis=axis)
    kinds = style.by("kind", [GIVEN, RULED_OUT], "color", "shape", legend=alt.Legend() if zeros else None)
    base = style.points(drawn)
    return style.layered(
        TITLE,
        "Cases that gave least to their outcome.",
        base.mark_rule(opacity=0.35).encode(x=x, x2=alt.X2Datum(1), y=y),
        style.dots(base, 70, x=x, y=y, **kinds, tooltip=style.tips(COLUMNS)),
        height=max(60, 17 * len(drawn)),
    )
