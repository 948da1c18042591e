"""Every sentence of the first screen about calibrated forecasts: `python -m bench.terminal [--draws N] [--first S]`.

Twelve sources whose forecasts are right. False is any statement of a fault, of a change over time or between groups, or
of a remedy, and any note that is not a plain fact about the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bench import row
from bench._draws import of_draws, options
from bench._truth import draw, truth
from bench.verdict import Given, by_cluster, few_levels, series
from veracity import assess
from veracity.show import first_screen
from veracity.show.blocks import Sentence

DRAWS, MOST_FALSE = 150, 0.07
HARMLESS = {"No miscalibration found", "Calibrated", "Too few cases to judge", "Useful", "Not clearly useful"}
HARMLESS |= {"Nothing to fix"}
PLAIN = re.compile(r"^(Only \d+ outcomes? |Every (forecast|outcome) is |Row \d+ gave|\d+ more note|.*fewer than)", re.I)
Make = Callable[[np.random.Generator], Given]


def alone(kind: str, n: int) -> Make:
    def make(rng: np.random.Generator) -> Given:
        q = truth(kind, n, rng)
        return {"p": q, "y": draw(q, rng)}

    return make


def in_groups(rng: np.random.Generator) -> Given:
    return {**alone("bin", 900)(rng), "groups": rng.integers(0, 6, 900)}


SOURCES: dict[str, Make] = {f"{kind} n={n}": alone(kind, n) for kind, n in (
    ("bin", 100), ("bin", 1000), ("rare", 300), ("rare", 1000), ("k3", 300), ("k10", 300), ("sat10", 300)
)}  # fmt: skip
SOURCES |= {"clusters": by_cluster("bin"), "clusters of rare events": by_cluster("rare", 50)}
SOURCES |= {"series": series("bin", 300), "groups": in_groups, "11 forecasts": few_levels}


def false_sentences(given: Given) -> list[str]:
    """Return the sentences of the first screen that calibrated forecasts do not deserve."""
    options = {name: given[name] for name in ("clusters", "time", "groups") if name in given}
    a = assess(given["y"], given["p"], labels=list(range(given["p"].shape[1])), **options)
    said = [block for block in first_screen(a) if isinstance(block, Sentence) and block.title not in HARMLESS]
    return [f"{s.title}: {s.text}" for s in said if not (s.title == "Note" and PLAIN.match(s.text))]


def hits(make: Make, draws: Iterable[int]) -> list[bool]:
    """Return of each draw whether it has a false sentence."""
    return [bool(false_sentences(make(np.random.default_rng([88, draw])))) for draw in draws]


def run(quick: bool = False) -> dict[str, Any]:
    """Return the mean share of screens with a false sentence."""
    shares = [np.mean(hits(make, range(2 if quick else 30))) for make in SOURCES.values()]
    return {"table": [row("calibrated sources: screens with a false sentence", float(np.mean(shares)), MOST_FALSE)]}


def main() -> None:
    """Print the share of each source."""
    draws, parts = options(__doc__, DRAWS, tuple(SOURCES))
    for name in parts:
        print(f"{name:<30} {of_draws(hits(SOURCES[name], draws))}", flush=True)


if __name__ == "__main__":
    main()
