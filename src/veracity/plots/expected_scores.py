"""Observed minus expected score for every risk parameter, and the range of chance."""

from __future__ import annotations

import altair as alt

from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import expectation, finite

OF, ORDER, TITLE, FOLDED = "assessment", 75, "Observed minus expected score", True
COLUMNS = {
    "r": ("risk parameter r", ".3~f"),
    "excess": ("observed − expected score", ".4~g"),
    "chance": ("by chance, either side", ".4~g"),
    "ratio": ("times what chance explains", ".3~g"),
}


def rows(result: Assessment) -> style.Rows:
    profile = result.risk_profile
    if not profile.score_excess or not profile.score_excess_by_chance:
        return []
    excesses = zip(profile.r, profile.score_excess, profile.score_excess_by_chance, strict=True)
    return [
        {"r": r, "excess": excess, "chance": chance, "ratio": excess / chance}
        for r, excess, chance in excesses
        if finite(excess) is not None and finite(chance)
    ]


def caption(result: Assessment) -> str:
    """Return whether the log loss was worse or better than expected, where chance does not explain it."""
    return expectation(result.scores, result.expected.scores, result.verdict_detail)


def chart(result: Assessment) -> style.Chart:
    """Observed minus expected score over r in [-1/2, 2], divided by the reach of calibrated forecasts."""
    points = style.present(rows(result), "expected_scores", "expected scores")
    x = alt.X("r:Q", title=style.RISK_AXIS, scale=alt.Scale(domain=[-0.5, 2], nice=False))
    most = max(1.5, *(1.1 * abs(row["ratio"]) for row in points))
    title = ["Times what chance explains", "← better · worse than expected →"]
    y = alt.Y("ratio:Q", title=title, scale=alt.Scale(domain=[-most, most], nice=False))
    band = style.points([{"low": -1.0, "high": 1.0}]).mark_rect(style="band")
    base = style.points(points)
    return style.layered(
        TITLE,
        "Grey: where 95 % of calibrated forecasts would lie. Above: worse than expected.",
        band.encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        style.rule("y", 0.0),
        *style.risk_marks(),
        base.mark_line(strokeWidth=2).encode(x=x, y=y),
        style.dots(base, 40, x=x, y=y, tooltip=style.tips(COLUMNS)),
    )
