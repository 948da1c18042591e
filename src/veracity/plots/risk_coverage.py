"""Accuracy of the surest picks, by the share of the cases that they are."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import decisions

OF, ORDER, TITLE = "assessment", 24, "Leaving out the least sure"
COLUMNS = {"coverage": ("share of the cases", ".3~g"), "accuracy": ("right", ".4~g")}


def rows(result: Assessment) -> style.Rows:
    picks = result.decisions.picks
    return [] if picks is None else [style.fields(point) for point in picks.curve]


def caption(result: Assessment) -> str:
    picks = result.decisions.picks
    return "" if picks is None else decisions.picks(picks)


def chart(result: Assessment) -> style.Chart:
    """Accuracy against coverage; the share wrong is the risk of selective classification."""
    curve = style.present(rows(result), "risk_coverage", "picks by coverage (they need more than two classes)")
    x = alt.X("coverage:Q", scale=style.PROBABILITY, axis=alt.Axis(format=".0%"), title="Surest share of the cases")
    y = alt.Y("accuracy:Q", axis=alt.Axis(format=".0%"), scale=alt.Scale(zero=False), title="Right among them")
    base = style.points(curve).encode(x=x, y=y)
    return style.layered(
        TITLE,
        "To the left only the surest picks are kept; a curve that rises there says that confidence tells right from "
        "wrong.",
        base.mark_line(strokeWidth=2),
        base.mark_point(opacity=0, size=60).encode(tooltip=style.tips(COLUMNS)),
        height=240,
    )
