"""Forecasts in use: predicted and observed window by window, and the evidence of a change below."""

from __future__ import annotations

import altair as alt

from veracity import words
from veracity.plots import _style as style
from veracity.results.monitor import Monitor
from veracity.words import monitoring

OF, ORDER, TITLE = "monitor", 1, "Expected, observed, and the evidence"
OBSERVED, EXPECTED = "observed", "expected"
LARGEST = 1e9  # of evidence that is drawn
LEAST = 1e-3
COLUMNS = {
    "window": ("window", ""),
    "n": ("cases", ",.6~g"),
    "expected": ("expected", ".3~f"),
    "observed": ("observed", ".3~f"),
    "low": ("low", ".3~f"),
    "high": ("high", ".3~f"),
    "evidence": ("evidence", ".4~g"),
}


def rows(result: Monitor) -> style.Rows:
    names = ("n", "expected", "observed", "low", "high")
    windows = []
    for window in result.record.windows:
        shown = min(max(window.evidence, LEAST), LARGEST)
        windows.append({"window": window.start, **{name: getattr(window, name) for name in names}, "evidence": shown})
    return windows


def caption(result: Monitor) -> str:
    return monitoring.caption(result.record)


def chart(result: Monitor) -> style.Chart:
    """One point per window above, one line of evidence with its threshold below."""
    points = style.present(rows(result), "monitor", "windows")
    record = result.record
    dates = "-" in record.start[1:]
    kind = "window:T" if dates else "window:Q"
    x = alt.X(kind, title=None)
    two = len(record.classes) == 2
    y_title = f"Share of {words.event_name(record.classes[1])}" if two else "Typical probability of the outcome"
    base = style.points(points).encode(x=x)
    long = style.points(
        [{"window": row["window"], "side": side, "value": row[side]} for row in points for side in (EXPECTED, OBSERVED)]
    ).encode(x=x, **style.by("side", (EXPECTED, OBSERVED), "color"))
    scale = alt.Scale(zero=False)
    band = base.mark_area(style="band").encode(y=alt.Y("low:Q", scale=scale, title=y_title), y2=alt.Y2("high:Q"))
    line = long.transform_filter(f"datum.side == '{EXPECTED}'").mark_line(strokeWidth=2).encode(y=alt.Y("value:Q"))
    dots = style.dots(
        long.transform_filter(f"datum.side == '{OBSERVED}'"),
        36,
        y=alt.Y("value:Q"),
        **style.by("side", (EXPECTED, OBSERVED), "shape"),
    )
    tips = base.mark_point(opacity=0, size=200).encode(y=alt.Y("observed:Q"), tooltip=style.tips(COLUMNS))
    above = alt.layer(band, line, dots, tips).properties(width=style.WIDTH, height=200)
    axis = alt.Axis(format="~s", tickCount=5)
    evidence = base.mark_line(strokeWidth=2, interpolate="step-after").encode(
        x=alt.X(kind, title=f"{'Window from' if dates else 'Time'}"),
        y=alt.Y("evidence:Q", scale=alt.Scale(type="log"), title="Evidence (log scale)", axis=axis),
        tooltip=style.tips(COLUMNS),
    )
    limit = style.rule("y", record.threshold)
    name = (
        style.points([{"y": record.threshold, "text": f"alarm at {record.threshold:,.0f}"}])
        .mark_text(style="note", align="left", baseline="bottom", dx=4, dy=-2)
        .encode(x=alt.XValue(0), y=alt.Y("y:Q"), text=alt.Text("text:N"))  # type: ignore[no-untyped-call]
    )
    layers = [evidence, limit, name]
    if record.change is not None:
        since = style.points([{"window": record.change.since}]).mark_rule(style="guide", strokeDash=[2, 2])
        layers.append(since.encode(x=x))
    below = alt.layer(*layers).properties(width=style.WIDTH, height=130)
    note = "Band: where 95 % of windows of calibrated forecasts lie."
    return alt.vconcat(above, below).resolve_scale(x="shared").properties(title=style.title(TITLE, note))
