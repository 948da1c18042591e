"""The layout that several kinds of file share: a pick, and whether it was right."""

from __future__ import annotations

from typing import Any

from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding
from veracity.records.layout import Event, Layout

PICK_WAS_RIGHT = Event(("the pick was right",), obvious=True)


def of_picks(model: str, confidence: str, right: str, *findings: Finding, **more: Any) -> Layout:
    """Return the layout of the confidence in a pick and of the column that tells whether it was right."""
    stated = (of_input.PickOnly(), *findings)
    labels = ("wrong", "right")
    return Layout(((model, (confidence,)),), labels, right, findings=stated, picks_only=True, certain=True, **more)
