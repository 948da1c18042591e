"""The rows with the lowest probability for what happened."""

from __future__ import annotations

from typing import Any

import altair as alt

from veracity.plots import _style as style

OF, ORDER = "assessment", 90
CAPTION = "The rows whose outcome was given the least probability. Look at them: they may be errors in the data."
COLUMNS = {"row": ("row", ""), "outcome": ("what happened", ""), "probability": ("probability it was given", ".4~g")}


def rows(result: Any) -> style.Rows:
    found = style.document(result).get("surprises") or []
    return [
        {"row": _place(row), "outcome": str(row.get("outcome", "")), "probability": row["probability"]} for row in found
    ]


def _place(row: dict[str, Any]) -> str:
    return f"{row['row']} of {row['file']}" if "file" in row else str(row["row"])


def chart(result: Any) -> style.Chart:
    """Up to 20 rows on a logarithmic scale; a probability of 0 stands at the left edge and is named."""
    found = style.present(rows(result), "surprises", "surprises")
    positive = [row["probability"] for row in found if row["probability"] > 0]
    edge = min(positive, default=1e-3) / 10
    drawn = [
        {
            **row,
            "at": row["probability"] if row["probability"] > 0 else edge,
            "kind": "stated" if row["probability"] > 0 else "ruled out (probability 0)",
            "name": f"{row['row']}: {row['outcome'][:18]}",
        }
        for row in found
    ]
    kinds = ["stated", "ruled out (probability 0)"]
    zeros = len(positive) < len(drawn)
    order = [row["name"] for row in drawn]
    y = alt.Y("name:N", sort=order, title="Row: what happened", axis=alt.Axis(labelLimit=200, labelOverlap=False))
    x = alt.X(
        "at:Q",
        scale=alt.Scale(type="log", domain=[edge if zeros else min(positive) / 1.5, 1]),
        title="Probability given to what happened (log scale)",
        axis=alt.Axis(format="~g", tickCount=5),
    )
    legend = alt.Legend() if zeros else None
    base = alt.Chart(style.data(drawn))
    return alt.layer(
        base.mark_rule(opacity=0.35).encode(x=x, x2=alt.datum(1), y=y),
        base.mark_point(filled=True, size=70, opacity=1).encode(
            x=x,
            y=y,
            color=alt.Color("kind:N", scale=style.categories(kinds), title=None, legend=legend),
            shape=alt.Shape("kind:N", scale=style.shapes(kinds), title=None, legend=legend),
            tooltip=style.tips(COLUMNS),
        ),
    ).properties(
        width=style.WIDTH,
        height=max(60, 17 * len(drawn)),
        title=style.title("Largest surprises", "Rows whose outcome had been given the least probability."),
    )
