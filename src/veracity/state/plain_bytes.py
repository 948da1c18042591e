"""Nested plain values, records and arrays as bytes that hold no code, and back."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any
from zlib import crc32

import numpy as np

KINDS = re.compile(r"\|[biu]1|<[iuf][248]|<U\d{1,9}")  # of numbers and texts; NumPy would evaluate other descriptions


class Damaged(ValueError):
    """Why nothing of ours can have written these bytes."""


def dumps(value: Any) -> bytes:
    """Return bytes of dicts by text, records, lists, numbers, texts, bytes, and arrays of numbers or texts."""
    bodies: list[bytes] = []

    def put(node: Any) -> Any:
        if isinstance(node, np.ndarray):
            bodies.append(node.tobytes())
            return ["array", node.dtype.str, list(node.shape)]
        if isinstance(node, bytes):
            bodies.append(node)
            return ["bytes", "|u1", [len(node)]]
        if isinstance(node, (list, tuple)):
            return ["list", *map(put, node)]
        if is_dataclass(node):
            return {f.name: put(getattr(node, f.name)) for f in fields(node)}
        if isinstance(node, dict):
            return {key: put(one) for key, one in node.items()}
        return node.item() if isinstance(node, np.generic) else node

    head = json.dumps(put(value)).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *bodies])


def loads(data: bytes) -> Any:
    """Return the value given to `dumps`, records as dicts and tuples as lists; other bytes are `Damaged`."""
    at = 8 + int.from_bytes(data[:8], "little")

    def get(node: Any) -> Any:
        nonlocal at
        if isinstance(node, dict):
            return {key: get(one) for key, one in node.items()}
        if not isinstance(node, list):
            return node
        if node[0] == "list":
            return [get(one) for one in node[1:]]
        kind, name, shape = node
        if not KINDS.fullmatch(name) or len(shape) > 3 or not all(type(n) is int and n >= 0 for n in shape):
            raise Damaged(f"an array of {name!r} with shape {shape!r}")
        dtype, start, size = np.dtype(name), at, prod(shape)
        at += size * dtype.itemsize
        if at > len(data):
            raise Damaged("cut short")
        if kind == "bytes":
            return data[start:at]
        array = np.frombuffer(data, dtype, size, start).reshape(shape)
        return array if array.flags.aligned else array.copy()  # C needs aligned numbers

    try:
        return get(json.loads(data[8:at]))
    except Damaged:
        raise
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as problem:
        raise Damaged(f"{type(problem).__name__} {problem}") from None


def dumps_checked(kind: bytes, value: Any) -> bytes:
    """Return the packed value behind the name of its kind and a checksum."""
    body = dumps(value)
    return kind + crc32(body).to_bytes(4, "little") + body


def loads_checked(kind: bytes, data: bytes) -> Any:
    """Return the value in sealed bytes of this kind."""
    at = len(kind) + 4
    body = data[at:]
    if crc32(body) != int.from_bytes(data[at - 4 : at], "little"):
        raise Damaged("checksum differs")
    return loads(body)
