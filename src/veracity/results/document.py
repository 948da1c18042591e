"""Documents from the types: plain values, JSON text, and the way back.

Readings are objects, infinities the words "inf", "-inf" and "nan"; everything follows from the annotations of records.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from veracity.inputs.row_numbers import Row
from veracity.records.findings import Finding, kind_of
from veracity.records.reading import Reading
from veracity.records.sections import Scores, Section

# what JSON may hold as it is and a terminal would obey, and half a character, which cannot be written as such
_CONTROLS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
LARGEST = 2**63 - 1  # of whole numbers in a document
WORDS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def plain(value: Any) -> Any:
    """Return Python values all the way down: records and readings become dicts, arrays lists."""
    if isinstance(value, Reading):
        return value.to_dict()
    if isinstance(value, Finding):
        return _plain_finding(value)
    if isinstance(value, Section):
        return {name: plain(entry) for name, entry in value.stated()}
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in value}
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _plain_finding(finding: Finding) -> dict[str, Any]:
    files = [row.file for row in finding.rows if isinstance(row, Row)]
    fields = {name: getattr(finding, name) for name in ("code", "severity", "message", "count")}
    fields |= {"rows": [int(row) for row in finding.rows]} | ({"files": files} if files else {})
    return fields | {"fields": plain(finding.own_fields)}


def encode(document: Any, indent: int | None = None) -> str:
    """Return JSON text; infinities and NaN become the words "inf", "-inf", "nan"."""
    text = json.dumps(_words(document), ensure_ascii=False, allow_nan=False, indent=indent)
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(f"text: a {type(text).__name__}, not JSON; give what to_json() returned")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"text: this is no JSON ({error}); give what to_json() returned") from None


def expect_schema(document: Any, wanted: str, what: str) -> None:
    """Refuse anything but a document of this schema; one of another version by its name and who wrote it."""
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema == wanted:
        return
    kind = wanted.rpartition("/")[0]
    if isinstance(schema, str) and schema.rpartition("/")[0] == kind:
        models = document.get("models")
        one = next(iter(models.values()), {}) if isinstance(models, dict) else document
        source = one.get("provenance") if isinstance(one, dict) else None
        version = source.get("version") if isinstance(source, dict) else None
        writer = f"written by veracity {version}" if version else "written by another version"
        raise ValueError(f"text: this document is schema {schema}, {writer}; make it again")
    raise ValueError(f"text: schema {schema!r} is not {wanted!r}; give the document of {what}")


def readings(section: Any, path: str) -> Iterator[dict[str, Any]]:
    """Yield every reading of a section as a flat row: name, value, low, high, method, reason."""
    if isinstance(section, Reading):
        yield {"name": path, "reason": None, **section.to_dict()}
    elif isinstance(section, (Section, Mapping)):
        for key, entry in section.stated() if isinstance(section, Section) else section.items():
            yield from readings(entry, f"{path}.{key}")


# -- back to records ------------------------------------------------------------------------------------------------


def hints(kind: type) -> dict[str, Any]:
    """Return the types of a record's fields."""
    return _hints(kind)


@cache
def _hints(kind: type) -> dict[str, Any]:
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
        return _simple(kind, value, where)
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        if value not in (options or list(kind)):
            raise ValueError(f"{where}: {value!r} is not one of {', '.join(options or kind)}")
        return value if options else kind(value)
    if kind is Finding:
        return _finding(value, where)
    if origin is tuple:
        _expect(value, list, where)
        return tuple(build(options[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    _expect(value, dict, where)
    if is_dataclass(kind):
        return _record(kind, value, where)  # type: ignore[arg-type]
    return {key: build(options[1], item, f"{where}.{key}") for key, item in value.items()}


def _simple(kind: type[int | str], value: Any, where: str) -> int | str:
    """Return a whole number, a text or a truth value."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{where}: {value!r} is no {kind.__name__}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"{where}: a number beyond {LARGEST:,}")
    return value


def _expect(value: Any, kind: type, where: str) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{where}: {type(value).__name__}, not the {'list' if kind is list else 'object'} it must be")


def _float(value: Any, where: str) -> float:
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{where}: {value!r} is not a number")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"{where}: a number beyond {LARGEST:,}")
    return float(value)


def _reading(value: Any, where: str) -> Reading:
    _expect(value, dict, where)
    missing = {"value", "low", "high", "method"} - set(value)
    if missing:
        raise ValueError(f"{where}: a reading without {', '.join(sorted(missing))}")
    number, low, high = (None if value[k] is None else _float(value[k], where) for k in ("value", "low", "high"))
    known = number is not None
    method, reason = (build(str | None, value.get(k), f"{where}.{k}") for k in ("method", "reason"))
    return Reading(np.nan if number is None else number, low, high, method, reason, known)


def _finding(value: Any, where: str) -> Finding:
    _expect(value, dict, where)
    try:
        rows, files = build(tuple[int, ...], value["rows"], f"{where}.rows"), value.get("files")
        placed = tuple(rows) if files is None else tuple(map(Row, rows, files))
        finding: Finding = _record(kind_of(value["code"]), {"count": value["count"], **value["fields"]}, where)
        return replace(finding, rows=placed)
    except (LookupError, TypeError) as problem:
        raise ValueError(f"{where}: no finding ({type(problem).__name__} {problem})") from None


def _record(kind: type, value: dict[str, Any], where: str) -> Any:
    known = {name: hint for name, hint in hints(kind).items() if not name.startswith("_")}
    lacking = [f.name for f in fields(kind) if is_required(f) and f.name not in value]
    unknown = [name for name in value if name not in known]
    if lacking or (unknown and kind is not Scores):
        raise ValueError(f"{where}: {'without ' + lacking[0] if lacking else 'has no ' + unknown[0]}")
    arguments = {name: build(known[name], item, f"{where}.{name}") for name, item in value.items() if name in known}
    if unknown:
        arguments["others"] = {name: _reading(value[name], f"{where}.{name}") for name in unknown}
    return kind(**arguments)


def is_required(f: Any) -> bool:
    """Return whether a field has no default."""
    return bool(f.default is MISSING and f.default_factory is MISSING)
