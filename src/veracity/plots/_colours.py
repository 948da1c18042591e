"""The colours of all pictures, in the light and in the dark: those of Okabe and Ito, for colour-blind people too."""

from __future__ import annotations

from typing import NamedTuple


class Colours(NamedTuple):
    """Colours of text and marks on one background."""

    ink: str
    soft: str  # of references, bands and axes
    grid: str
    line: str  # of means
    categories: list[str]  # of models, classes and groups, in their order


COLOURS = {
    "light": Colours(
        ink="#222222",
        soft="#6b6b6b",
        grid="#e4e4e4",
        line="#222222",
        categories=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"],
    ),
    # the line of the means is orange in the dark, so that it is seen on paper too when a dark page is printed
    "dark": Colours(
        ink="#e8e8e8",
        soft="#a8a8a8",
        grid="#3a3d42",
        line="#ff8f4d",
        categories=["#56B4E9", "#E69F00", "#3fc79a", "#e39ac4", "#F0E442", "#ff8f4d"],
    ),
}
