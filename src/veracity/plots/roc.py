"""Hits against false alarms over all thresholds; two classes."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style

OF, ORDER = "assessment", 70
CAPTION = "How well the forecasts put events before non-events. A perfect ranking can still have wrong probabilities."
COLUMNS = {
    "threshold": ("threshold", ".4~g"),
    "false_positive_rate": ("false alarms", ".4~g"),
    "true_positive_rate": ("hits", ".4~g"),
}


def rows(result: Any) -> style.Rows:
    """The corners of the curve; an infinite threshold (nothing called) is written as such."""
    curve = (style.document(result).get("curves") or {}).get("roc") or []
    return [{**row, "threshold": style.finite(row.get("threshold")), "place": i} for i, row in enumerate(curve)]


def chart(result: Any) -> style.Chart:
    """ROC curve: the share of events called against the share of non-events called."""
    found = style.document(result)
    points = style.present(rows(result), "roc", "ROC curve (it needs two classes)")
    area = style.finite((found.get("scores") or {}).get("auc"))
    event = str((found.get("classes") or ["", "the event"])[-1])
    curve = (
        alt.Chart(style.data(points))
        .mark_line(strokeWidth=2, point={"size": 18, "filled": True})
        .encode(
            x=alt.X(
                "false_positive_rate:Q", scale=style.PROBABILITY, title="Share of the others called (false alarms)"
            ),
            y=alt.Y("true_positive_rate:Q", scale=style.PROBABILITY, title=f"Share of {event} called (hits)"),
            order=alt.Order("place:Q"),
            tooltip=style.tips(COLUMNS),
        )
    )
    said = f"Area {area:.3f}. " if area is not None else ""
    note = f"{said}Above the line: better than a coin. Says nothing about whether the probabilities are right."
    return alt.layer(style.diagonal(), curve).properties(
        width=style.WIDTH, height=style.HEIGHT, title=style.title("Ranking (ROC)", note)
    )
