"""CQ's histogram of variable width: observed frequency of each range of probabilities, with the spread line."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.plots import model_versus_source
from veracity.results.assessment import Assessment
from veracity.words import finite

OF, ORDER, TITLE, FOLDED = "assessment", 70, "Confidence histogram", True
COLUMNS = model_versus_source.COLUMNS
rows = model_versus_source.rows


def caption(result: Assessment) -> str:
    """Return how many bars end below the line."""
    bins = rows(result)
    if not bins:
        return ""
    below = sum(row["source"] < row["model"] for row in bins)
    return f"{below} of {len(bins)} bars end below the predicted probability."


def chart(result: Assessment) -> style.Chart:
    """Bars: bins with equal numbers of outcomes; line: the three means, predicted across, observed up (CQ Fig 1)."""
    bins = style.present(rows(result), "confidence_histogram", "bins")
    x = alt.X("low:Q", scale=style.PROBABILITY, title="Predicted probability")
    y = alt.Y("source:Q", scale=style.PROBABILITY, title="Observed frequency")
    layers: list[alt.Chart] = [
        style.points(bins)
        .mark_rect(opacity=0.45, stroke="white", strokeWidth=0.5)
        .encode(x=x, x2=alt.X2("high:Q"), y=y, y2=alt.Y2Datum(0), tooltip=style.tips(COLUMNS)),
        style.diagonal(),
    ]
    across, up = alt.X("model:Q", scale=style.PROBABILITY), alt.Y("source:Q", scale=style.PROBABILITY)
    layers += model_versus_source.line_of_means(model_versus_source.means(result), across, up, ("model", "source"))
    ratio = finite(model_versus_source.measured_of(result).spread_ratio)
    sentence = f"Spread ratio {ratio:.2f} (N17, CQ). " if ratio is not None else ""
    return style.layered(TITLE, f"{sentence}All bars hold about the same number of outcomes.", *layers)
