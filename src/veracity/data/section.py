"""The base of all records of a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

FINDINGS = "findings"  # not part of a section's document: listed once for all sections


@dataclass(frozen=True)
class Section(Mapping[str, Any]):
    """A record and a mapping of its fields by name, without optional fields of None."""

    def __getitem__(self, name: str) -> Any:
        if name in tuple(self):
            return getattr(self, name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        for f in fields(self):
            if f.name != FINDINGS and not (f.default is None and getattr(self, f.name) is None):
                yield f.name

    def __len__(self) -> int:
        return sum(1 for _ in self)
