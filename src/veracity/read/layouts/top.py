"""The picked label (or whether it was correct) and the confidence in it: only the pick can be judged."""

from __future__ import annotations

import numpy as np
import polars as pl

from ...data import Finding, Forecasts
from .. import roles
from ..build import ModelRows, prepared
from ..columns import Columns
from ..match import Match

RULE = 6


def match(columns: Columns) -> Match | None:
    """`confidence` with `correct`, or with a label and a predicted label that share values."""
    confidence = columns.first(("confidence",), lambda c: c.numeric)
    if confidence is None:
        return None
    correct = columns.first(roles.RIGHT, lambda c: c.outcome_like)
    pick = columns.first(roles.PICKS, lambda c: bool(c.labels))
    names = (*roles.OUTCOMES, *roles.WEAK_OUTCOMES)
    label = columns.options.label or columns.first(names, lambda c: bool(c.labels))
    labels: tuple[str, ...] = ()
    if correct:
        label, note, found = correct, "event = the pick was right", {}
        labels = roles.event_of(columns.all[correct].labels) or ("0", "1")
    elif pick and label and set(columns.all[pick].labels) & set(columns.all[label].labels):
        note, found = f"event = {label} is {pick}", {"pick": pick}
    else:
        return None
    return Match(
        ((columns.model, (confidence,)),),
        ("wrong", "right"),
        label,
        labels=labels,
        roles=found,
        findings=(Finding.of("pick_only"),),
        picks_only=True,
        certain=True,
        outcome_note=note,
        why="confidence of the pick (rule 6)",
    )


def build(rows: ModelRows) -> Forecasts:
    pick = rows.match.roles.get("pick")
    if pick is None:
        return prepared(rows, rows.outcomes())
    label, said = rows.frame[str(rows.match.outcome)], rows.frame[pick]
    if not (label.dtype.is_numeric() and said.dtype.is_numeric()):
        label, said = label.cast(pl.String), said.cast(pl.String)
    return prepared(rows, (label == said).cast(pl.Float64).fill_null(np.nan).to_numpy())
