"""The three means with a minimum probability: how much is due to a few misses (CQ Table 2)."""

from __future__ import annotations

import altair as alt

from veracity.measures import MEANS, SHORT_MEANS
from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import finite, percent

OF, ORDER, TITLE, FOLDED = "assessment", 90, "With a minimum probability", True
COLUMNS = {"floor": ("minimum probability", "~g"), **{name: (label, ".4~g") for name, label in MEANS.items()}}


def rows(result: Assessment) -> style.Rows:
    """Return the means at each minimum; nothing where there are no cases."""
    return [
        {"floor": one.floor, "decisiveness": finite(one.decisiveness)}
        | {"geometric_accuracy": finite(one.geometric_accuracy), "robustness": finite(one.robustness)}
        for one in result.floors
        if finite(one.decisiveness) is not None
    ]


def caption(result: Assessment) -> str:
    """Return the mean that a minimum probability changes most."""
    sweep = sorted(rows(result), key=lambda row: row["floor"])
    if len(sweep) < 2:
        return ""
    first, last = sweep[0], sweep[-1]
    change = {name: (last[name] or 0.0) - (first[name] or 0.0) for name in MEANS}
    name = max(change, key=lambda mean: change[mean])
    least, was, would_be = (percent(share, 0) for share in (last["floor"], first[name], last[name]))
    if was == would_be:
        return f"A minimum probability of {least} would hardly change the three means."
    return (
        f"A minimum probability of {least} would raise the {SHORT_MEANS[name]} probability from {was} to {would_be}: "
        f"the difference is due to cases that gave their outcome less than {least}."
    )


def chart(result: Assessment) -> style.Chart:
    """Sweep of the minimum; a mean that jumps with a small one is decided by few rows."""
    sweep = style.present(rows(result), "floors", "sweep of the minimum probability")
    order = [f"{row['floor']:g}" for row in sorted(sweep, key=lambda row: row["floor"])]
    names = list(MEANS.values())
    long = [
        {"floor": f"{row['floor']:g}", "mean": label, "value": row[name]}
        for row in sweep
        for name, label in MEANS.items()
        if row[name] is not None
    ]
    tooltips = style.tips({"mean": ("mean", ""), "floor": ("minimum", ""), "value": ("probability", ".4~g")})
    lines = style.points(long).mark_line(strokeWidth=2, point={"size": 60, "filled": True})
    drawn = lines.encode(
        x=alt.X("floor:O", sort=order, title="Smallest probability allowed", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", scale=style.PROBABILITY, title="Mean probability of the outcome"),
        **style.by("mean", names, "color", "strokeDash", "shape", legend=alt.Legend(columns=1, symbolStrokeWidth=0)),
        tooltip=tooltips,
    )
    title = style.title(TITLE, "A mean that rises fast with a small minimum is decided by a few rows.")
    return drawn.properties(width=style.WIDTH, height=260, title=title)
