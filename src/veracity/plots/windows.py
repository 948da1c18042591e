"""Log loss window by window: observed, and expected by the forecasts themselves."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import finite, number, stability

OF, ORDER, TITLE = "assessment", 11, "Observed and expected in time"
OBSERVED, EXPECTED = "observed", "expected by the forecasts"
COLUMNS = {
    "window": ("window", ""),
    "n": ("cases", ",.6~g"),
    "side": ("which", ""),
    "value": ("log loss", ".4~g"),
    **style.INTERVAL,
}


def rows(result: Assessment) -> style.Rows:
    by_window = []
    for window in result.windows:
        own = {"window": window.start, "n": window.n}
        loss = style.reading(window.log_loss)
        if loss["value"] is not None:
            by_window.append({**own, "side": OBSERVED, **loss})
            excess = finite(window.excess)
            if excess is not None:
                by_window.append({**own, "side": EXPECTED, "value": loss["value"] - excess, "low": None, "high": None})
    return by_window


def caption(result: Assessment) -> str:
    """Return the windows with the lowest and the highest log loss, and whether calibration changes."""
    known = [w for w in result.windows if finite(w.log_loss) is not None]
    if len(known) < 2:
        return ""
    best, worst = (pick(known, key=lambda w: float(w.log_loss)) for pick in (min, max))
    sentence = f"Lowest log loss from {best.start} on ({number(best.log_loss)}), highest from {worst.start} on "
    sentence += f"({number(worst.log_loss)})."
    return f"{sentence} {stability.drift_note(result.drift)}".strip()


def chart(result: Assessment) -> style.Chart:
    """One point per window, in the order of time."""
    by_window = style.present(rows(result), "windows", "windows (give --time and --window)")
    order = list(dict.fromkeys(row["window"] for row in by_window))
    domain = [side for side in (OBSERVED, EXPECTED) if any(row["side"] == side for row in by_window)]
    x = alt.X("window:O", sort=order, title="Window from", axis=alt.Axis(labelAngle=-40, labelOverlap=True))
    y = alt.Y("value:Q", title="Log loss", scale=alt.Scale(zero=False))
    colour, dash, shape = (style.by("side", domain, channel) for channel in ("color", "strokeDash", "shape"))
    base = style.points(by_window).encode(x=x, **colour)
    bars = base.transform_filter("datum.low != null").mark_rule(strokeWidth=2)
    return style.layered(
        TITLE,
        "Observed above expected: worse than the forecasts expected.",
        base.mark_line(strokeWidth=1.5).encode(y=y, **dash),
        bars.encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        style.dots(base, 60, y=alt.Y("value:Q"), **shape, tooltip=style.tips(COLUMNS)),
        height=220,
    )
