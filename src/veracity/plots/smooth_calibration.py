"""The cross-fitted recalibration as a smooth curve, in the band that holds for the whole reliability curve at once."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import decisions

OF, ORDER, TITLE = "assessment", 16, "Smooth calibration curve"
COLUMNS = {
    "forecast": ("predicted", ".4~g"),
    "calibrated": ("recalibrated", ".4~g"),
    "low": ("band, low", ".4~g"),
    "high": ("band, high", ".4~g"),
}


def rows(result: Assessment) -> style.Rows:
    """Return the points of the curve, then those of the band."""
    clinical = result.decisions.clinical
    if clinical is None:
        return []
    curve = [{"forecast": p.forecast, "calibrated": p.calibrated, "low": None, "high": None} for p in clinical.curve]
    return curve + [{**style.fields(point), "calibrated": None} for point in clinical.band]


def caption(result: Assessment) -> str:
    clinical = result.decisions.clinical
    return "" if clinical is None else decisions.smooth(clinical)


def chart(result: Assessment) -> style.Chart:
    """Recalibrated against predicted probability of the event; the diagonal is perfect."""
    points = style.present(rows(result), "smooth_calibration", "smooth calibration curve (it needs two classes)")
    name = style.event_name(result)
    axis = alt.Axis(format=".0%")
    x = alt.X("forecast:Q", scale=style.PROBABILITY, axis=axis, title=f"Predicted probability of {name}")
    y = alt.Y("calibrated:Q", scale=style.PROBABILITY, axis=axis, title="Recalibrated")
    curve = style.points([row for row in points if row["calibrated"] is not None])
    band = style.points([row for row in points if row["low"] is not None])
    return style.layered(
        TITLE,
        "Grey band: simultaneous, for frequencies that rise with the forecast. Dashed diagonal: perfect.",
        band.mark_area(style="band").encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        style.diagonal(),
        curve.mark_line(strokeWidth=2).encode(x=x, y=y),
        curve.mark_point(opacity=0, size=60).encode(x=x, y=y, tooltip=style.tips(COLUMNS)),
    )
