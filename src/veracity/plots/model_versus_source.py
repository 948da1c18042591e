"""Model probability against source probability: predicted over observed (N17's orientation)."""

from __future__ import annotations

import math

import altair as alt

from veracity.measures import SHORT_MEANS
from veracity.plots import _style as style
from veracity.records.papers import CurveMeans
from veracity.records.sections import Bin
from veracity.results.assessment import Assessment
from veracity.words import finite

OF, ORDER, TITLE, FOLDED = "assessment", 60, "Model versus source", True
COLUMNS = {
    "source": ("source", ".4~g"),
    "model": ("model: predicted", ".4~g"),
    "model_decisiveness": ("model, average", ".4~g"),
    "model_robustness": ("model, pessimistic", ".4~g"),
    "source_decisiveness": ("source, average", ".4~g"),
    "source_robustness": ("source, pessimistic", ".4~g"),
    "low": ("bin from", ".4~g"),
    "high": ("bin to", ".4~g"),
    "count": ("probabilities", ",.6~g"),
    "true": ("happened", ",.6~g"),
    "contribution": ("contribution to log loss", ".4~g"),
    "contribution_eq17": ("size by N17 eq 17", ".4~g"),
}
BY_CLASS = {
    "class": ("class", ""),
    "source": ("observed", ".4~g"),
    "model": ("predicted", ".4~g"),
    "count": ("forecasts", ","),
}
OF_CLASS = {"class": ("class", ""), "mean": ("mean", ""), "source": ("source", ".4~g"), "model": ("model", ".4~g")}
MOST_CLASSES = 6


def rows(result: Assessment) -> style.Rows:
    """Return the bins; where source probabilities are given, their mean in a bin is its source."""
    bins = []
    for one in result.bins:
        source = one.source if one.ideal is None else one.ideal
        if finite(one.model) is not None and finite(source) is not None:
            bins.append(style.fields(one) | {"contribution": finite(one.contribution)} | _source(one, source))
    return bins


def _source(one: Bin, source: float) -> dict[str, float]:
    """Return the three source means of a bin; a frequency is all three."""
    low, high = one.source_robustness, one.source_decisiveness
    middle = source if one.source_geometric_accuracy is None or one.ideal is not None else one.source_geometric_accuracy
    ends = {
        "source_robustness": source if low is None else low,
        "source_decisiveness": source if high is None else high,
    }
    return {"source": middle, **ends}


def of_classes(result: Assessment) -> style.Rows:
    """Return the three means of both sides of each class (N17 Figure 5)."""
    if len(result.papers.classes) > MOST_CLASSES:
        return []
    return [
        {
            "class": name,
            "mean": label,
            "source": finite(one.source.number(mean)),
            "model": finite(one.model.number(mean)),
        }
        for name, one in result.papers.classes.items()
        for mean, label in SHORT_MEANS.items()
        if finite(one.source.number(mean)) is not None and finite(one.model.number(mean)) is not None
    ]


def _given(result: Assessment) -> bool:
    return any(one.ideal is not None for one in result.bins)


def measured_of(result: Assessment) -> Assessment | CurveMeans:
    """Return what holds measured means and spread ratio: the procedure of the preset, whose bins are drawn, or all."""
    return result if result.papers.asked is None else result.papers.asked[1]


def means(result: Assessment) -> style.Rows:
    """Return the three means that are known on both sides, model and source."""
    model, source = result.reported, result.source if _given(result) else measured_of(result).measured
    marks = [
        {"mean": label, "source": finite(source.reading(name)), "model": finite(model.reading(name))}
        for name, label in SHORT_MEANS.items()
    ]
    return sorted((row for row in marks if None not in row.values()), key=lambda row: -row["model"])


def caption(result: Assessment) -> str:
    """Return how many bins were predicted too high."""
    bins = rows(result)
    if not bins:
        return ""
    high = sum(row["model"] > row["source"] for row in bins)
    against = "the given source probability" if _given(result) else "observed"
    return f"{high} of {len(bins)} bins lie above the dashed line: predicted higher than {against}."


def _by_class(result: Assessment) -> style.Rows:
    curves = result.curves.classwise
    if len(curves) > MOST_CLASSES:
        return []
    return [
        {"class": str(name), "source": point.observed, "model": point.forecast, "count": point.count}
        for name, curve in curves.items()
        for point in curve
    ]


def line_of_means(marks: style.Rows, x: alt.X, y: alt.Y, fields: tuple[str, str]) -> list[alt.Chart]:
    """Return a line through marks of the means, with names to their left, or to their right near the axis.

    `fields` are those of x and y. A single mean has no line.
    """
    if len(marks) < 2:
        return []
    titles = {"source": ("observed", ".4~g"), "model": ("predicted", ".4~g")}
    tooltips = style.tips({"mean": ("mean", ""), **{field: titles[field] for field in fields}})
    line = style.points(marks).encode(x=x, y=y)
    crosses = line.mark_point(filled=True, size=110, shape="cross", style="mean-line", opacity=1)
    layers = [line.mark_line(strokeWidth=2.5, style="mean-line"), crosses.encode(tooltip=tooltips)]
    sides: list[tuple[style.Align, int, style.Rows]] = [
        ("right", -9, [mean for mean in marks if mean[fields[0]] >= 0.3]),
        ("left", 9, [mean for mean in marks if mean[fields[0]] < 0.3]),
    ]
    for align, dx, some in sides:
        text = style.points(some).mark_text(style="note", align=align, dx=dx, dy=-8, fontWeight="bold")
        layers += [text.encode(x=x, y=y, text=alt.Text("mean:N"))] if some else []
    return layers


def chart(result: Assessment) -> style.Chart:
    """Bubbles: bins, larger where they cost more log loss; marks: the means, their line against 45° (N17 Fig 3)."""
    bins = style.present(rows(result), "model_versus_source", "bins")
    source = "given probability, mean of the bin" if _given(result) else "observed frequency of such forecasts"
    x = alt.X("source:Q", scale=style.PROBABILITY, title=f"Source: {source}")
    y = alt.Y("model:Q", scale=style.PROBABILITY, title="Model: predicted probability")
    size = alt.Size("contribution:Q", scale=alt.Scale(type="sqrt", range=[15, 900]), legend=None)
    bubbles = style.points(bins).mark_circle(style="quiet", opacity=0.45)
    spans = style.points(bins)  # from the pessimistic to the average mean of either side
    up = spans.mark_rule(style="quiet", opacity=0.5).encode(
        x=x, y=alt.Y("model_robustness:Q"), y2=alt.Y2("model_decisiveness:Q")
    )
    across = spans.mark_rule(style="quiet", opacity=0.5).encode(
        y=y, x=alt.X("source_robustness:Q"), x2=alt.X2("source_decisiveness:Q")
    )
    layers: list[alt.Chart] = [style.diagonal(), up, across]
    layers.append(bubbles.encode(x=x, y=y, size=size, tooltip=style.tips(COLUMNS)))
    by_class = _by_class(result)
    if by_class:
        names = list(dict.fromkeys(row["class"] for row in by_class))
        points = style.points(by_class).mark_point(size=45, strokeWidth=1.8, opacity=0.9)
        classes = style.by("class", names, "color", "shape", title="Class")
        layers.append(points.encode(x=x, y=y, **classes, tooltip=style.tips(BY_CLASS)))
        lines = style.points(of_classes(result))
        colour = {"color": classes["color"], "detail": alt.Detail("class:N")}
        layers.append(
            lines.mark_line(strokeWidth=1.6, opacity=0.8).encode(x=x, y=y, order=alt.Order("model:Q"), **colour)
        )
        marks_of_class = lines.mark_point(filled=True, size=55, shape="diamond", opacity=1)
        layers.append(marks_of_class.encode(x=x, y=y, color=classes["color"], tooltip=style.tips(OF_CLASS)))
    marks = means(result)
    angle = ""
    if len(marks) > 1:
        rise, run = marks[0]["model"] - marks[-1]["model"], marks[0]["source"] - marks[-1]["source"]
        degrees = math.degrees(math.atan2(rise, run))
        angle = f"Line of the three means at {degrees:.0f}° (45° is right, steeper is over-confident). "
    layers += line_of_means(marks, x, y, ("source", "model"))
    diamonds = " Diamonds: the three means of each class." if by_class else ""
    note = f"{angle}Grey bubbles: bins, larger where they cost more log loss.{diamonds}"
    return style.layered(TITLE, note, *layers, height=style.WIDTH)
