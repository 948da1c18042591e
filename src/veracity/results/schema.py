"""The sections of the document with their types, and the JSON schema that follows from them."""

from __future__ import annotations

import types
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from veracity.records.findings import SEVERITIES, Finding
from veracity.records.reading import Reading
from veracity.records.sections import Scores, Section, document_fields
from veracity.results.document import WORDS, hints, is_required

SCHEMA, COMPARISON = "veracity/assessment/2", "veracity/comparison/2"
MONITOR, ESTIMATE = "veracity/monitor/1", "veracity/estimate/1"
NUMBER: dict[str, Any] = {"$ref": "#/$defs/number"}
READING: dict[str, Any] = {"$ref": "#/$defs/reading"}

# Names of the document, in its order, and the attributes that hold them.
OPTIONAL = ("model",)  # sections that a document may lack
SECTIONS = {
    name: {"decomposition": "_decompositions", "losses": "_losses_by_rule", "fix": "advice"}.get(name, name)
    for name in (
        "model", "n", "classes", "floor", "level", "scores", "skill", "baseline", "reported", "expected",
        "measured", "divergence", "papers", "source", "source_divergence", "calibration_slope", "spread_ratio",
        "verdict", "verdict_detail", "risk_profile", "means_at", "floors", "decomposition", "losses",
        "decomposed_profile", "corp",
        "calibration_error", "curves", "bins", "adjustment", "remedies", "fix", "groups", "windows", "drift",
        "decisions", "surprises", "findings", "provenance",
    )
}  # fmt: skip


def section_types() -> dict[str, Any]:
    """Return the type of every section by its name in the document."""
    from veracity.results.assessment import Assessment

    of_fields = get_type_hints(Assessment)
    return {
        name: of_fields[attribute]
        if attribute in of_fields
        else get_type_hints(getattr(Assessment, attribute).func)["return"]
        for name, attribute in SECTIONS.items()
    }


def schema() -> dict[str, Any]:
    """Return the JSON schema of the document, from the types of its sections."""
    kinds = section_types()
    sections = {name: schema_of(kind) for name, kind in kinds.items()}
    whole = _document(SCHEMA, "An assessment of probabilistic forecasts", sections, definitions(list(kinds.values())))
    return whole | {"required": [name for name in whole["required"] if name not in OPTIONAL]}


def _document(name: str, title: str, properties: dict[str, Any], defined: dict[str, Any]) -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": name,
        "title": title,
        "type": "object",
        "properties": {"schema": {"const": name}, **properties},
        "required": ["schema", *properties],
        "additionalProperties": False,
        "$defs": defined,
    }


def comparison_schema() -> dict[str, Any]:
    """Return the JSON schema of the document of a comparison."""
    from veracity.records.comparison import ComparisonRecord

    whole = schema()
    own = record_schema(ComparisonRecord)
    own["properties"]["findings"] = {"type": "array", "items": {"$ref": "#/$defs/finding"}}
    own["required"].append("findings")
    models = {"type": "object", "additionalProperties": {"$ref": "#/$defs/assessment"}}
    defined = whole.pop("$defs") | definitions([ComparisonRecord])
    one = {name: value for name, value in whole.items() if name not in ("$schema", "$id")}
    title = "A comparison of probabilistic forecasts on the same cases"
    return _document(COMPARISON, title, {"models": models, "comparison": own}, {**defined, "assessment": one})


def record_document_schema(name: str, title: str, key: str, record: type) -> dict[str, Any]:
    """Return the JSON schema of a document that is one record, its findings among its fields."""
    own = record_schema(record)
    own["properties"]["findings"] = {"type": "array", "items": {"$ref": "#/$defs/finding"}}
    own["required"].append("findings")
    text = {"type": "string"}
    optional = {"anyOf": [text, {"type": "null"}]}
    properties = {"model": optional, key: own, "version": text}
    return _document(name, title, properties, definitions([record]))


def monitor_schema() -> dict[str, Any]:
    """Return the JSON schema of the document of a monitor."""
    from veracity.records.monitoring import MonitorRecord

    return record_document_schema(MONITOR, "Forecasts in use, judged update by update", "monitor", MonitorRecord)


def estimate_schema() -> dict[str, Any]:
    """Return the JSON schema of the document of an estimate without outcomes."""
    from veracity.records.monitoring import EstimateRecord

    return record_document_schema(ESTIMATE, "What forecasts without outcomes would score", "estimate", EstimateRecord)


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a type."""
    origin, options = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if origin in (Union, types.UnionType):
        others = [option for option in options if option is not type(None)]
        return {"anyOf": [*(schema_of(option) for option in others), {"type": "null"}]}
    simple = {float: NUMBER, int: {"type": "integer"}, str: {"type": "string"}, bool: {"type": "boolean"}}
    if kind in simple:
        return dict(simple[kind])
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        return {"enum": list(options or kind)}
    if kind is Reading:
        return dict(READING)
    if kind is Finding:
        return {"$ref": "#/$defs/finding"}
    if origin is tuple:
        return {"type": "array", "items": schema_of(options[0])}
    if is_dataclass(kind):
        return {"$ref": f"#/$defs/{kind.__name__}"}  # type: ignore[union-attr]
    return {"type": "object", "additionalProperties": schema_of(options[1]) if options else {}}


def record_schema(kind: type) -> dict[str, Any]:
    """Return the JSON schema of a record by its fields."""
    shown = [f for f in document_fields(kind) if f.name != "others"]
    return {
        "type": "object",
        "description": (kind.__doc__ or "").strip().splitlines()[0],
        "properties": {f.name: schema_of(hints(kind)[f.name]) for f in shown},
        "required": [f.name for f in shown if is_required(f)],
        "additionalProperties": READING if kind is Scores else False,
    }


def definitions(kinds: list[Any]) -> dict[str, Any]:
    """Return the schemas of all records that these types lead to."""
    schemas: dict[str, Any] = {}

    def visit(kind: Any) -> None:
        for option in get_args(kind):
            visit(option)
        if isinstance(kind, type) and issubclass(kind, Section) and kind.__name__ not in schemas:
            schemas[kind.__name__] = record_schema(kind)
            for f in document_fields(kind):
                visit(hints(kind)[f.name])

    for kind in kinds:
        visit(kind)
    limit = {"anyOf": [NUMBER, {"type": "null"}]}
    text = {"type": "string"}
    schemas["number"] = {"anyOf": [{"type": "number"}, {"enum": list(WORDS)}]}
    schemas["reading"] = {
        "type": "object",
        "description": "A number with its interval; value null: not identifiable, with the reason.",
        "properties": {
            "value": limit,
            "low": limit,
            "high": limit,
            "method": {"type": ["string", "null"]},
            "reason": text,
        },
        "required": ["value", "low", "high", "method"],
        "if": {"properties": {"value": {"enum": [None, "nan"]}}},
        "then": {"required": ["reason"]},
        "additionalProperties": False,
    }
    schemas["finding"] = {
        "type": "object",
        "properties": {
            "code": text,
            "severity": {"enum": list(SEVERITIES)},
            "message": text,
            "count": {"type": "integer"},
            "rows": {"type": "array", "items": {"type": "integer"}},
            "files": {"type": "array", "items": text},
            "fields": {"type": "object"},
        },
        "required": ["code", "severity", "message", "count", "rows", "fields"],
        "additionalProperties": False,
    }
    return dict(sorted(schemas.items()))
