"""A prediction–realization table arranged for the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veracity import words
from veracity.plots._style import document
from veracity.show import _figures as figures
from veracity.table import page as table_page

View = dict[str, Any]

TABLE_NUMBERS = (
    ("psep", "Separation of best and worst forecast (PSEP)", "Share of events in the worst category minus the best."),
    ("half_brier", "Brier score, one component (0 to 1)", words.WORDS["scores.half_brier"].gloss),
    ("divergence_score", "Log loss (nats)", words.WORDS["scores.log_loss"].gloss),
    ("entropy", "Uncertainty before the forecast (entropy, nats)", "The log loss of always saying the base rate."),
    ("conditional_entropy", "Uncertainty after the forecast (nats)", "What is left when the forecast is known."),
    ("mutual_information", "Information the forecast gives (nats)", "The difference of the two above."),
    ("normalized_mutual_information", "Share of the uncertainty removed", "The same as a share; McFadden's R²."),
    ("g2", "Test of independence (G²)", "2 n times the information; large: the forecast tells something."),
    ("g2_p", "Its p value", "Chance of a G² this large if the forecast told nothing."),
    ("x2", "Pearson's X²", "The older test of the same."),
    ("sensitivity", "Sensitivity", "Share of events that were forecast."),
    ("specificity", "Specificity", "Share of non-events that were not forecast."),
)


def table_numbers(found: Mapping[str, Any]) -> list[View]:
    return [
        {"name": name, "label": label, "gloss": gloss, "value": found[name]}
        for name, label, gloss in TABLE_NUMBERS
        if words.value(found.get(name)) is not None
    ]


def is_table(result: Any) -> bool:
    return str(document(result).get("schema", "")).startswith("veracity/table")


def table(result: Any) -> View:
    """A prediction–realization table: the counts first, then what they say."""
    found = document(result)
    pictures = [
        made for module in figures.modules("table") if (made := figures.figure(module, result, "t")) is not None
    ]
    return {
        "kind": "table",
        "title": "Prediction–realization table",
        "found": found,
        "numbers": table_numbers(found),
        "blocks": table_page.blocks(found),
        "said": table_page.summary(found),
        "figures": pictures,
        "findings": found.get("findings") or [],
        "papers": {"HB17": words.PAPERS["HB17"]},
    }
