"""Hits against false alarms over all thresholds; two classes."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import finite, number

OF, ORDER, TITLE = "assessment", 50, "Ranking (ROC)"
COLUMNS = {
    "curve": ("curve", ""),
    "threshold": ("threshold", ".4~g"),
    "false_positive_rate": ("false alarms", ".4~g"),
    "true_positive_rate": ("hits", ".4~g"),
}
OBSERVED, PREDICTED = "observed", "predicted by the forecasts"


def rows(result: Assessment) -> style.Rows:
    """Return the corners of the curves; an infinite threshold (nothing called) is left empty."""
    curves = {OBSERVED: result.curves.roc, PREDICTED: result.curves.roc_predicted}
    return [
        style.fields(point) | {"threshold": finite(point.threshold), "curve": name, "place": i}
        for name, curve in curves.items()
        for i, point in enumerate(curve)
    ]


def caption(result: Assessment) -> str:
    if finite(result.scores.auc) is None:
        return ""
    return (
        f"The area under the observed curve is {number(result.scores.auc)}: the share of pairs in which the case with "
        "the event had the higher probability. It does not say whether the probabilities are right."
    )


def chart(result: Assessment) -> style.Chart:
    """ROC curve: the share of events called against the share of non-events called."""
    points = style.present(rows(result), "roc", "ROC curve (it needs two classes)")
    names = [name for name in (OBSERVED, PREDICTED) if any(row["curve"] == name for row in points)]
    event = style.event_name(result)
    legend = None if len(names) == 1 else alt.Legend()
    curve = style.points(points).mark_line(strokeWidth=2)
    drawn = curve.encode(
        x=alt.X("false_positive_rate:Q", scale=style.PROBABILITY, title="False alarms (share of the other cases)"),
        y=alt.Y("true_positive_rate:Q", scale=style.PROBABILITY, title=f"Hits (share of the cases of {event})"),
        order=alt.Order("place:Q"),
        **style.by("curve", names, "color", "strokeDash", legend=legend),
        tooltip=style.tips(COLUMNS),
    )
    return style.layered(TITLE, "Dashed diagonal: a coin.", style.diagonal(), drawn)
