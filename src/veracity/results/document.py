"""The JSON document of an assessment: readings as objects, infinities as words, nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from veracity.data.reading import Reading

WORDS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


class Readings(Mapping[str, Reading]):
    """Named readings: `a.reported.accuracy` or `a.reported["accuracy"]`."""

    def __init__(self, readings: Mapping[str, Reading], name: str = "readings") -> None:
        self._readings, self._name = dict(readings), name

    def __getitem__(self, key: str) -> Reading:
        return self._readings[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._readings)

    def __len__(self) -> int:
        return len(self._readings)

    def __getattr__(self, key: str) -> Reading:
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self._readings[key]
        except KeyError:
            raise AttributeError(f"{self._name} has no {key!r} here; there are {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        return f"{self._name}(" + ", ".join(f"{key}={value!r}" for key, value in self.items()) + ")"


def plain(value: Any) -> Any:
    """Python values all the way down: readings become dicts, arrays lists."""
    if isinstance(value, Reading):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def encode(document: Any, indent: int | None = None) -> str:
    """JSON text; infinities and NaN become the words "inf", "-inf", "nan"."""
    return json.dumps(_words(document), ensure_ascii=False, allow_nan=False, indent=indent)


def _words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _words(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_words(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "nan" if np.isnan(value) else "inf" if value > 0 else "-inf"
    return value


# What data may spell "inf" or "nan" themselves: names of classes, messages.
_TEXT = ("classes", "findings", "provenance", "model", "schema", "verdict")


def decode(text: str) -> dict[str, Any]:
    """The document with real infinities."""
    document: dict[str, Any] = json.loads(text)
    return {key: value if key in _TEXT else _numbers(value) for key, value in document.items()}


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: item if key in ("reason", "sentences", "outcome") else _numbers(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return WORDS.get(value, value) if isinstance(value, str) else value


def readings(value: Any) -> Any:
    """Objects with a value and an interval become readings again."""
    if isinstance(value, dict):
        if {"value", "low", "high", "method"} <= set(value) and "bins" not in value:
            return Reading.from_dict(value)
        return {key: readings(item) for key, item in value.items()}
    return value
