"""Colours and dashes of forecast categories in pictures of tables, ordered from best to worst."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from veracity.plots import _style as style

FEW = 6  # colours that are easy to distinguish; more categories are shades from best to worst


def category_colour(categories: Sequence[str]) -> alt.Color:
    many = len(categories) > FEW
    scale = alt.Scale(domain=list(categories), scheme="viridis") if many else style.categories(categories)
    return alt.Color("category:N", scale=scale, sort=list(categories), legend=_legend())


def category_dash(categories: Sequence[str]) -> alt.StrokeDash:
    return alt.StrokeDash("category:N", scale=style.dashes(categories), sort=list(categories), legend=_legend())


def _legend() -> alt.Legend:
    return alt.Legend(title=None, symbolType="stroke", symbolSize=240, columns=FEW)
