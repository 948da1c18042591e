"""Every reading as CSV, inert in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from veracity.results.assessment import Assessment
from veracity.results.comparison import Comparison
from veracity.words import inert

if TYPE_CHECKING:
    from veracity.results.assess import Assessments
    from veracity.results.estimate import Estimate
    from veracity.results.monitor import Monitor
    from veracity.table import TableAssessment

COLUMNS = ("model", "name", "value", "low", "high", "method", "reason")
LEFT_OUT = ("provenance", "curves", "adjustment")
OF_TABLES = ("name", "value", "low", "high", "method")
METHODS = {"exact": "Clopper-Pearson", "log": "normal, of the logarithm", "newcombe": "Newcombe"}


def of_table(result: TableAssessment) -> str:
    """Return every number and word of a prediction table by its JSON path, with its interval; no pictures' data."""
    document = result.document()
    limits, last = document["intervals"] or {}, len(result.columns) - 1
    paths = {"predictive_values": f"predictive_values.{{}}.{last}", "likelihood_ratios": "likelihood_ratios.{}"}
    ends = {f"prior.{last}" if name == "prior" else name: limit for name, limit in limits.items()}
    ends |= {path.format(i): limit for name, path in paths.items() for i, limit in enumerate(limits.get(name) or ())}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(OF_TABLES)
    for name, value in _leaves({key: limit for key, limit in document.items() if key not in ("curves", "intervals")}):
        limit = ends.get(name)
        known = next((kind for kind in METHODS if isinstance(limit, dict) and kind in limit), None)
        interval = [*limit[known], METHODS[known]] if limit and known else [None] * 3
        writer.writerow([name, *map(_cell, [value, *interval])])
    return text.getvalue()


def of_monitor(result: Monitor) -> str:
    """Return every window of a monitor, one line each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    rows = result.rows()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in names])
    return text.getvalue()


def of_estimate(result: Estimate) -> str:
    """Return every reading of an estimate: name, value, low, high, method, reason."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS[1:])
    for name, reading in readings(result.document()["estimate"]):
        writer.writerow([inert(name), *map(_cell, [reading.get(column) for column in COLUMNS[2:]])])
    return text.getvalue()


def _leaves(node: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield (path, value) of everything in a document that is known."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else None
    if pairs is not None:
        for key, value in pairs:
            yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif node is not None:
        yield path, node


def render(result: Assessment | Assessments | Comparison) -> str:
    """Return model, name, value, low, high, method, reason of every reading of one or several assessments."""
    models = {result.model or "": result} if isinstance(result, Assessment) else result.models
    documents = {name: a.document() for name, a in models.items()}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for model, document in documents.items():
        for name, reading in readings(document):
            cells = [reading.get(column) for column in COLUMNS[2:]]
            writer.writerow([inert(str(model)), inert(name), *map(_cell, cells)])
    if isinstance(result, Comparison):
        for pair, name, cells in differences(result):
            writer.writerow([inert(pair), inert(name), *map(_cell, cells)])
    return text.getvalue()


def differences(comparison: Comparison) -> Iterator[tuple[str, str, list[object]]]:
    """Yield pair, name and value, low, high, method, reason of every difference of a comparison, and its p-values."""
    method = comparison.record.method
    for row in comparison.rows():
        pair, name = f"{row['a']} − {row['b']}", f"comparison.{row['name']}"
        yield pair, name, [row["value"], row["low"], row["high"], method, row["reason"]]
        if row["p"] is not None:
            yield pair, f"{name}.p", [row["p"], None, None, method, None]
            yield pair, f"{name}.p_adjusted", [row["p_adjusted"], None, None, "Holm", None]


def readings(node: object, path: str = "") -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield (name, reading) of everything in a document that has a value."""
    if isinstance(node, Mapping) and "value" in node:
        yield path, node
    elif isinstance(node, Mapping):
        for key, value in node.items():
            if path or key not in LEFT_OUT:
                yield from readings(value, f"{path}.{key}" if path else str(key))


def _cell(value: object) -> str:
    return "" if value is None else repr(float(value)) if isinstance(value, float) else inert(str(value))
