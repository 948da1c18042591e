"""Observed frequency against predicted probability, with a histogram of the forecasts below."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from veracity.plots import _style as style
from veracity.records.sections import CurvePoint
from veracity.results.assessment import Assessment
from veracity.words import count, share

OF, ORDER, TITLE = "assessment", 0, "Reliability"
SEVERAL = 3  # points outside the band: fewer show no side
MANY = 20_000  # forecasts in a bar from which on the axis counts in thousands
COLUMNS = {
    "forecast": ("predicted on average", ".4~g"),
    "observed": ("observed", ".4~g"),
    "observed_low": ("observed, low", ".4~g"),
    "observed_high": ("observed, high", ".4~g"),
    "band_low": ("by chance, low", ".4~g"),
    "band_high": ("by chance, high", ".4~g"),
    "count": ("forecasts", ",.6~g"),
    "true": ("happened", ",.6~g"),
}


def _points(result: Assessment) -> tuple[CurvePoint, ...]:
    """Return the curve of the event for two classes, of the pick for more."""
    curves = result.curves
    event = style.event(result)
    if event is None:
        return curves.top_label
    return curves.classwise.get(event) or curves.pooled


def rows(result: Assessment) -> style.Rows:
    return [style.fields(point) for point in _points(result)]


def caption(result: Assessment) -> str:
    """Return predicted against observed as the picture shows it, and whether chance explains the difference."""
    points = [point for point in _points(result) if point.count]
    if not points:
        return ""
    picks = style.event(result) is None
    if picks:
        sentence = f"Picks: {_means(points, 'right')}."
    else:
        halves = {"below 50 %": [p for p in points if p.forecast < 0.5]}
        halves["of 50 % or more"] = [p for p in points if p.forecast >= 0.5]
        parts = [f"{name}: {_means(half, 'happened')}" for name, half in halves.items() if half]
        sentence = f"Points {'; '.join(parts)}."
    return f"{sentence} {_outside(points, picks, result.verdict_detail.state)}"


def _means(points: Sequence[CurvePoint], verb: str) -> str:
    """Return the mean forecast and the share of outcomes of some points."""
    n = sum(point.count for point in points)
    predicted = sum(point.count * point.forecast for point in points) / n
    observed = sum(point.count * point.observed for point in points) / n
    return f"{share(predicted)} predicted on average, {share(observed)} {verb}"


def _outside(points: Sequence[CurvePoint], picks: bool, state: str) -> str:
    """Return how many points are outside the band, on which side, and the largest gap, as far as the tests agree."""
    outside = [point for point in points if not point.band_low <= point.observed <= point.band_high]
    deviates = state in ("found", "slight")
    if not outside:
        every = "The point lies" if len(points) == 1 else f"All {len(points)} points lie"
        part = f"{every} inside the grey band of chance"
        return f"{part}; the tests, which use all cases together, see more." if deviates else f"{part}."
    part = f"{len(outside)} of {count(len(points), 'point')} {'lies' if len(outside) == 1 else 'lie'} outside the band"
    if not deviates:
        tests = "the tests, which take all cases together, with clusters or times where given"
        return f"{part}; {tests}, find no deviation beyond chance."
    below = sum(point.observed < point.forecast for point in outside)
    verb, where = "right" if picks else "happened", ""
    if len(outside) >= SEVERAL:
        where = f", {below} of them below the line"
        if below in (0, len(outside)):
            side, amount = ("below", "less") if below else ("above", "more")
            where = f", all {side} the line ({verb} {amount} often than predicted)"
    largest = max(outside, key=lambda point: abs(point.forecast - point.observed))
    gap = f"{share(largest.forecast)} predicted, {share(largest.observed)} {verb}"
    return f"{part}{where}. The largest gap: {gap} in {count(largest.count, 'forecast')}."


def chart(result: Assessment) -> style.Chart:
    """Reliability diagram above the number of forecasts (band: outcomes redrawn from the forecasts)."""
    points = style.present(rows(result), "reliability", "reliability curve")
    event = style.event(result)
    title = f"Predicted probability of {'the pick' if event is None else style.event_name(result)}"
    happened = "Share of picks that were right" if event is None else f"Observed share of {style.event_name(result)}"
    above, below = ("too cautious", "too sure") if event is None else ("predicted too low", "predicted too high")
    bars = [style.fields(bar) for bar in result.curves.sharpness]
    above_bars = None if bars else title  # the bars have the same axis with its title
    x = alt.X("forecast:Q", scale=style.PROBABILITY, title=above_bars, axis=alt.Axis(format=".0%"))
    y = alt.Y("observed:Q", scale=style.PROBABILITY, title=happened, axis=alt.Axis(format=".0%"))
    base = style.points(points)
    size = alt.Size("count:Q", scale=alt.Scale(type="sqrt", zero=True, range=[12, 130]), legend=None)
    curve = style.layered(
        TITLE,
        "Grey band: where calibrated forecasts would be. Lines at dots: intervals. Larger dots: more forecasts.",
        base.mark_area(style="band").encode(x=x, y=alt.Y("band_low:Q"), y2=alt.Y2("band_high:Q")),
        style.diagonal(),
        style.note(0.04, 0.93, above, align="left"),
        style.note(0.97, 0.06, below, align="right"),
        base.mark_rule(opacity=0.6).encode(x=x, y=alt.Y("observed_low:Q"), y2=alt.Y2("observed_high:Q")),
        base.mark_line(strokeWidth=1.5).encode(x=x, y=y),
        base.mark_point(filled=True, opacity=1).encode(x=x, y=y, size=size, tooltip=style.tips(COLUMNS)),
    )
    if not bars:
        return alt.vconcat(curve)
    thousands = max(bar["count"] for bar in bars) >= MANY
    axis = alt.Axis(tickCount=3, format="~s" if thousands else ",.0f")
    tooltips = style.tips({"low": ("from", ".3~g"), "high": ("to", ".3~g"), "count": ("forecasts", ",.6~g")})
    x = alt.X("low:Q", scale=style.PROBABILITY, title=title, axis=alt.Axis(format=".0%"))
    y = alt.Y("count:Q", title="Forecasts", axis=axis)
    histogram = style.points(bars).mark_rect(style="quiet")
    histogram = histogram.encode(x=x, x2=alt.X2("high:Q"), y=y, y2=alt.Y2Datum(0), tooltip=tooltips)
    return alt.vconcat(curve, histogram.properties(width=style.WIDTH, height=70), spacing=12)
