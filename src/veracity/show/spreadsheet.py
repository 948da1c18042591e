"""Every reading as CSV, inert in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from veracity.words import inert

COLUMNS = ("model", "name", "value", "low", "high", "method", "reason")
LEFT_OUT = ("provenance", "curves", "adjustment")


def render(result: Any) -> str:
    """Return model, name, value, low, high, method, reason of every reading of one or several assessments."""
    models = getattr(result, "models", None)
    documents = (
        {name: a.document() for name, a in models.items()}
        if models is not None
        else {result.model or "": result.document()}
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for model, document in documents.items():
        for name, reading in readings(document):
            cells = [reading.get(column) for column in COLUMNS[2:]]
            writer.writerow([inert(str(model)), inert(name), *map(_cell, cells)])
    if hasattr(result, "cases_needed"):
        for pair, name, cells in differences(result):
            writer.writerow([inert(pair), inert(name), *map(_cell, cells)])
    return text.getvalue()


def differences(comparison: Any) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield pair, name and value, low, high, method, reason of every difference of a comparison, and its p-values."""
    method = comparison.record.method
    for row in comparison.rows():
        pair, name = f"{row['a']} − {row['b']}", f"comparison.{row['name']}"
        yield pair, name, [row["value"], row["low"], row["high"], method, row["reason"]]
        if row["p"] is not None:
            yield pair, f"{name}.p", [row["p"], None, None, method, None]
            yield pair, f"{name}.p_adjusted", [row["p_adjusted"], None, None, "Holm", None]


def readings(held: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (name, reading) of everything in a document that has a value."""
    if isinstance(held, Mapping) and "value" in held:
        yield path, held
    elif isinstance(held, Mapping):
        for key, value in held.items():
            if path or key not in LEFT_OUT:
                yield from readings(value, f"{path}.{key}" if path else str(key))


def _cell(value: Any) -> str:
    return "" if value is None else repr(float(value)) if isinstance(value, float) else inert(str(value))
