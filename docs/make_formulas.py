"""Write docs/formulas.md: every number with its meaning, formula and source, from the constants that define them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path

from veracity import formulas
from veracity.formulas.rules import RULES
from veracity.measures import MEASURES, quantities
from veracity.show.cells import named_in_papers
from veracity.words import PAPERS

FILE = Path(__file__).with_name("formulas.md")

HEAD = """# Formulas

Names in `code` are those of Python and JSON. Losses: lower is better; natural logarithms; `brier` is the sum over
classes (0 to 2). pᵢ is the probability of the outcome of case i. Written by `python docs/make_formulas.py`.
"""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def span(bounds: tuple[float, float]) -> str:
    low, high = (f"{bound:.4g}".replace("inf", "∞") for bound in bounds)
    return f"{low} … {high}"


def power_of(key: str | float) -> str:
    return f"`{key}`" if isinstance(key, str) else f"`power({key:.3g})`"


def functions() -> list[tuple[str, str, str, str]]:
    """Return paper, equation, name and first sentence of every function that carries an equation of the papers."""
    papers = list(PAPERS)
    listed = sorted(formulas.CARRIES.items(), key=lambda item: (papers.index(item[1].paper), item[1].equation))
    return [
        (
            one.paper,
            one.equation,
            f"`{name}`",
            " ".join(inspect.getdoc(getattr(formulas, name)).split("\n\n")[0].split()),
        )
        for name, one in listed
    ]


def text() -> str:
    words = (
        (f"`{path}`", named_in_papers(one), one.gloss, one.formula, one.cite)
        for path, one in quantities().items()
        if one.formula
    )
    measures = (
        (f"`{m.name}`", m.label, m.better, span(m.bounds), "yes" if m.proper else "no", m.cite) for m in MEASURES
    )
    rules = ((power_of(rule.key), span(rule.bounds), rule.cite) for rule in RULES)
    parts = (
        HEAD,
        "## What an assessment says\n",
        table(("name", "in words", "meaning", "formula", "source"), words),
        "\n## Measures\n\nFunctions of weighted means of rows. Only a proper one may choose between models.\n",
        table(("measure", "label", "better", "range", "proper", "source"), measures),
        "\n## Scoring rules\n\nEach from a convex generator g: score, entropy, divergence and shift follow from it.\n",
        table(("rule", "range of the score", "source"), rules),
        "\n## Functions\n\nIn `veracity.formulas`, by paper and equation.\n",
        table(("paper", "equation", "function", "what it returns"), functions()),
        "\n## Papers\n",
        table(("key", "paper"), ((key, paper) for key, paper in PAPERS.items())),
    )
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
