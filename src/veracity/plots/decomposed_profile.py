"""The parts of the loss for every risk parameter r, as shares of the baseline's loss."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise

import altair as alt

from veracity.measures import quantity
from veracity.plots import _style as style
from veracity.results.assessment import Assessment
from veracity.words import finite, percent

OF, ORDER, TITLE, FOLDED = "assessment", 80, "Parts of the loss along the risk axis", True
PARTS = {
    "adjustment": quantity("losses.AL").within(quantity("losses.CL")),
    "post_calibration": quantity("losses.PCL").within(quantity("losses.CL")),
    "refinement": quantity("losses.RL").label,
}
CUT = 3.0  # times the loss of the baseline, the top of the axis: higher losses would flatten the rest
COLUMNS = {
    "r": ("risk parameter r", ".3~f"),
    **{name: (label, ".4~g") for name, label in PARTS.items()},
    "remainder": (quantity("losses.remainder").label, ".4~g"),
    "resolution": (quantity("decomposition.resolution").label, ".4~g"),
    "reliability": (quantity("decomposition.reliability").label, ".4~g"),
    "within": (quantity("decomposition.within").label, ".4~g"),
}


def rows(result: Assessment) -> style.Rows:
    p = result.decomposed_profile
    losses = {"adjustment": p.adjustment, "post_calibration": p.post_calibration, "refinement": p.refinement}
    terms = {"resolution": p.resolution, "reliability": p.reliability, "within": p.within}
    curves = {"r": p.r, **losses, "remainder": p.remainder, **terms}
    return [{name: finite(values[i]) for name, values in curves.items() if values} for i in range(len(p.r))]


def caption(result: Assessment) -> str:
    """Return the share of the log loss that is miscalibration, and where it is largest."""
    by_r = {round(row["r"], 6): row for row in _whole(rows(result))}
    name, terms = ("log loss", by_r[0.0]) if 0.0 in by_r else ("Brier score", by_r.get(1.0))  # it is infinite
    if terms is None:
        return ""
    part, total = terms["adjustment"] + terms["post_calibration"], sum(terms[name] for name in PARTS)
    if total <= 0.0:
        return ""
    return (
        f"r = 0 is the log loss, r = 1 the Brier score. The {name} is {percent(total, 0)} of the baseline's, and "
        f"{percent(max(part, 0.0) / total, 0)} of it is miscalibration."
    )


def _whole(profile: style.Rows) -> style.Rows:
    return [row for row in profile if all(row.get(name) is not None for name in PARTS)]


def _near(whole: style.Rows) -> style.Rows:
    """Return the stacked lines up to a reach outside the picture: far ones make printed files of many megabytes.

    Where a line crosses the reach a row is put in, so that nothing changes below.
    """
    reach, names = 2 * CUT, list(reversed(PARTS))  # from the bottom

    def heights(row: Mapping[str, float]) -> list[float]:
        return list(accumulate(max(row[name], 0.0) for name in names))

    kept = whole[:1]
    for before, row in pairwise(whole):
        pairs = zip(heights(before), heights(row), strict=True)
        crossing = [(low, high) for low, high in pairs if (low > reach) != (high > reach)]
        for share in sorted((reach - low) / (high - low) for low, high in crossing):
            kept.append({name: before[name] + share * (row[name] - before[name]) for name in ("r", *PARTS)})
        kept.append(row)
    limited = []
    for row in kept:
        tops = [0.0, *(min(height, reach) for height in heights(row))]
        steps = dict(zip(names, (high - low for low, high in pairwise(tops)), strict=True))
        limited.append(row | {name: steps[name] if row[name] > 0 else max(row[name], -reach) for name in names})
    return limited


def chart(result: Assessment) -> style.Chart:
    """Stacked shares of the baseline's loss over r in [-2/3, 2]; shares of different r can be compared."""
    wide = style.present(rows(result), "decomposed_profile", "decomposed risk profile")
    order = list(PARTS.values())
    whole = style.present(_whole(wide), "decomposed_profile", "finite parts of the loss")
    tallest = max(sum(max(row[name], 0.0) for name in PARTS) for row in whole)
    long = [
        {"r": row["r"], "part": label, "share": row[name], "order": i}
        for row in _near(whole)
        for i, (name, label) in enumerate(PARTS.items())
    ]
    top = max(1.05, min(1.05 * tallest, CUT))
    cut = f" Cut at {CUT:.0f} times the baseline: misses make the loss much larger on the left." * (tallest > CUT)
    x = alt.X("r:Q", title=style.RISK_AXIS, scale=alt.Scale(domain=[-2 / 3, 2], nice=False))
    y = alt.Y("share:Q", stack="zero", title="Share of the baseline's loss")
    y = y.axis(format=".0%").scale(domain=[0, top], nice=False)
    how = {"sort": order, "legend": alt.Legend(columns=1, symbolType="square", symbolStrokeWidth=0)}
    colour, dash = (style.by("part", order, channel, **how) for channel in ("color", "strokeDash"))
    base = style.points(long).encode(x=x, y=y, **colour, order=alt.Order("order:Q", sort="descending"))
    columns = {name: COLUMNS[name] for name in wide[0]}
    return style.layered(
        TITLE,
        f"Dashed line: the baseline. Lower is better.{cut}",
        base.mark_area(opacity=0.55, clip=True),
        base.mark_line(strokeWidth=1.5, clip=True).encode(**dash),
        style.rule("y", 1.0),
        *style.risk_marks(),
        style.points(wide).mark_rule(opacity=0, strokeWidth=9).encode(x=x, tooltip=style.tips(columns)),
    )
