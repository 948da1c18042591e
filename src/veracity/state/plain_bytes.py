"""Nested plain values with arrays as bytes that hold no code, and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

KINDS = "biufU"
DAMAGED = "data: the state is damaged ({}); make it again"


def packed(value: Any) -> bytes:
    """Return bytes of dicts, lists, numbers, texts and arrays of numbers or texts."""
    arrays: list[bytes] = []

    def put(held: Any) -> Any:
        if isinstance(held, np.ndarray):
            array = np.ascontiguousarray(held)
            arrays.append(array.tobytes())
            return {"array": [array.dtype.str, list(array.shape)]}
        if isinstance(held, dict):
            return {"dict": [[key, put(one)] for key, one in held.items()]}
        if isinstance(held, (list, tuple)):
            return [put(one) for one in held]
        return held.item() if isinstance(held, np.generic) else held

    head = json.dumps(put(value)).encode()
    return b"".join([len(head).to_bytes(8, "little"), head, *arrays])


def unpacked(data: bytes) -> Any:
    """Return the value given to `packed`; tuples come back as lists."""
    at = 8 + int.from_bytes(data[:8], "little")

    def get(held: Any) -> Any:
        nonlocal at
        if isinstance(held, list):
            return [get(one) for one in held]
        if not isinstance(held, dict):
            return held
        if "dict" in held:
            return {key: get(one) for key, one in held["dict"]}
        dtype, shape = np.dtype(held["array"][0]), held["array"][1]
        size = int(np.prod(shape))
        if dtype.kind not in KINDS or size < 0:
            raise ValueError(DAMAGED.format(f"an array of {dtype}"))
        array = np.frombuffer(data, dtype, size, at).reshape(shape)
        at += size * dtype.itemsize
        return array if array.flags.aligned else array.copy()

    try:
        return get(json.loads(data[8:at]))
    except (KeyError, TypeError, IndexError) as problem:
        raise ValueError(DAMAGED.format(f"{type(problem).__name__} {problem}")) from None
