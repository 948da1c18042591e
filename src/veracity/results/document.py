"""Documents from the types: plain values, JSON text, the JSON schema, and the way back.

Readings are objects, infinities the words "inf", "-inf" and "nan"; everything follows from the annotations of records.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from veracity.data.findings import Finding
from veracity.data.places import Row
from veracity.data.reading import Reading
from veracity.data.records import FINDINGS, Scores, Section

WORDS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
NUMBER: dict[str, Any] = {"$ref": "#/$defs/number"}
READING: dict[str, Any] = {"$ref": "#/$defs/reading"}


def plain(value: Any) -> Any:
    """Return Python values all the way down: records and readings become dicts, arrays lists."""
    if isinstance(value, Reading):
        return value.to_dict()
    if isinstance(value, Finding):
        return _plain_finding(value)
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in value}
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _plain_finding(finding: Finding) -> dict[str, Any]:
    held = {name: getattr(finding, name) for name in ("code", "severity", "message", "count")}
    files = [row.file for row in finding.rows if isinstance(row, Row)]
    return held | {"rows": [int(row) for row in finding.rows]} | ({"files": files} if files else {})


def encode(document: Any, indent: int | None = None) -> str:
    """Return JSON text; infinities and NaN become the words "inf", "-inf", "nan"."""
    return json.dumps(_words(document), ensure_ascii=False, allow_nan=False, indent=indent)


def _words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _words(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_words(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "nan" if np.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def parse(text: str) -> Any:
    """Return the values of JSON text, with a ValueError that names the argument otherwise."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"text: this is no JSON ({error}); give what to_json() returned") from None


# -- back to records ------------------------------------------------------------------------------------------------


@cache
def hints(kind: type) -> dict[str, Any]:
    """Return the types of a record's fields."""
    return get_type_hints(kind)


def build(kind: Any, value: Any, where: str) -> Any:
    """Return the value of that type that `plain` wrote; `where` names the place in messages."""
    origin, options = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        if value is None and type(None) in options:
            return None
        return build(next(option for option in options if option is not type(None)), value, where)
    if kind is Reading:
        return _reading(value, where)
    if kind is float:
        return _float(value, where)
    if kind in (int, str, bool):
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{where}: {value!r} is no {kind.__name__}")
        return value
    if kind is Finding:
        return _finding(value, where)
    if origin is tuple:
        _expect(value, list, where)
        return tuple(build(options[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    _expect(value, dict, where)
    if is_dataclass(kind):
        return _record(kind, value, where)  # type: ignore[arg-type]
    return {key: build(options[1], item, f"{where}.{key}") for key, item in value.items()}


def _expect(value: Any, kind: type, where: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{where}: {type(value).__name__}, not the {'list' if kind is list else 'object'} it must be")


def _float(value: Any, where: str) -> float:
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{where}: {value!r} is no number")
    return float(value)


def _reading(value: Any, where: str) -> Reading:
    _expect(value, dict, where)
    missing = {"value", "low", "high", "method"} - set(value)
    if missing:
        raise ValueError(f"{where}: a reading without {', '.join(sorted(missing))}")
    number, low, high = (None if value[k] is None else _float(value[k], where) for k in ("value", "low", "high"))
    known = number is not None
    return Reading(np.nan if number is None else number, low, high, value["method"], value.get("reason"), known)


def _finding(value: Any, where: str) -> Finding:
    _expect(value, dict, where)
    try:
        rows, files = value["rows"], value.get("files")
        placed = tuple(rows) if files is None else tuple(map(Row, rows, files))
        return Finding(value["code"], value["severity"], value["message"], value["count"], placed)
    except (KeyError, TypeError) as problem:
        raise ValueError(f"{where}: no finding ({type(problem).__name__} {problem})") from None


def _record(kind: type, value: dict[str, Any], where: str) -> Any:
    known = hints(kind)
    lacking = [f.name for f in fields(kind) if _is_required(f) and f.name not in value]
    unknown = [name for name in value if name not in known]
    if lacking or (unknown and kind is not Scores):
        raise ValueError(f"{where}: {'without ' + lacking[0] if lacking else 'has no ' + unknown[0]}")
    made = {name: build(known[name], item, f"{where}.{name}") for name, item in value.items() if name in known}
    if unknown:
        made["others"] = {name: _reading(value[name], f"{where}.{name}") for name in unknown}
    return kind(**made)


def _is_required(f: Any) -> bool:
    return bool(f.default is MISSING and f.default_factory is MISSING)


# -- the schema -----------------------------------------------------------------------------------------------------


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
    shown = [f for f in fields(kind) if f.name not in (FINDINGS, "others")]
    return {
        "type": "object",
        "description": (kind.__doc__ or "").strip().splitlines()[0],
        "properties": {f.name: schema_of(hints(kind)[f.name]) for f in shown},
        "required": [f.name for f in shown if _is_required(f)],
        "additionalProperties": READING if kind is Scores else False,
    }


def definitions(kinds: list[Any]) -> dict[str, Any]:
    """Return the schemas of all records that these types lead to."""
    found: dict[str, Any] = {}

    def visit(kind: Any) -> None:
        for option in get_args(kind):
            visit(option)
        if isinstance(kind, type) and issubclass(kind, Section) and kind.__name__ not in found:
            found[kind.__name__] = record_schema(kind)
            for hint in hints(kind).values():
                visit(hint)

    for kind in kinds:
        visit(kind)
    limit = {"anyOf": [NUMBER, {"type": "null"}]}
    text = {"type": "string"}
    found["number"] = {"anyOf": [{"type": "number"}, {"enum": list(WORDS)}]}
    found["reading"] = {
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
    found["finding"] = {
        "type": "object",
        "properties": {
            "code": text,
            "severity": {"enum": ["changes the meaning", "warning", "note"]},
            "message": text,
            "count": {"type": "integer"},
            "rows": {"type": "array", "items": {"type": "integer"}},
            "files": {"type": "array", "items": text},
        },
        "required": ["code", "severity", "message", "count", "rows"],
        "additionalProperties": False,
    }
    return dict(sorted(found.items()))
