"""Coupled distributions with their weighted generalized mean: the density at one scale from the centre (RP Fig 2)."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from veracity.formulas.distributions import CoupledExponential, CoupledNormal
from veracity.plots import _style as style

OF, ORDER, TITLE = "distribution", 0, "Coupled distributions"
COLUMNS = {"name": ("distribution", ""), "x": ("x", ".4~g"), "density": ("density", ".4~g")}
POINTS = 161


Coupled = CoupledNormal | CoupledExponential


def _all(result: Coupled | Sequence[Coupled]) -> list[Coupled]:
    return [result] if isinstance(result, Coupled) else list(result)


def _name(distribution: Coupled) -> str:
    return f"κ = {float(distribution.kappa):.3g}".replace("-", "−")


def rows(result: Coupled | Sequence[Coupled]) -> style.Rows:
    """Densities four scales to either side of the centre."""
    points = []
    for distribution in _all(result):
        centre, scale = float(np.ravel(distribution.loc)[0]), float(np.sqrt(np.ravel(_matrix(distribution))[0]))
        for x in np.linspace(centre - 4 * scale, centre + 4 * scale, POINTS):
            density = float(np.ravel(distribution.pdf(x))[0])
            points.append({"name": _name(distribution), "x": float(x), "density": density})
    return points


def _matrix(distribution: Coupled) -> NDArray[np.float64]:
    scale = distribution.scale
    return np.asarray(np.square(scale) if np.ndim(scale) == 0 else scale, dtype=np.float64)


def chart(result: Coupled | Sequence[Coupled]) -> style.Chart:
    """Densities of one or several one-dimensional distributions; rules: their generalized means."""
    curves = rows(result)
    means = [{"name": _name(d), "density": float(d.generalized_mean())} for d in _all(result)]
    names = [_name(d) for d in _all(result)]
    drawn = {"y": alt.Y("density:Q", title="Density"), **style.by("name", names, "color", "strokeDash")}
    tips = style.tips({k: COLUMNS[k] for k in ("name", "density")})
    lines, rules = style.points(curves), style.points(means)
    return style.layered(
        TITLE,
        "Level lines: the weighted generalized mean, the density one scale from the centre.",
        lines.mark_line(strokeWidth=2).encode(x=alt.X("x:Q", title="x"), **drawn, tooltip=style.tips(COLUMNS)),
        rules.mark_rule(strokeWidth=1.2).encode(**drawn, tooltip=tips),
    )
