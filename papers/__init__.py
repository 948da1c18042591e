"""The five papers reproduced: every table, figure and quoted number with the computed one, `make papers`.

A paper is a file of this folder; its name is the paper's key in small letters. It defines `TITLE`, `sections(options)`,
`NUMBERED` (all numbered tables, figures, equations and theorems) and `NOT_REPRODUCED` ({numbered items: reason}).
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers._rows import Section

KEYS = ("N17", "RP", "CQ", "HB17", "KF15")  # order of reading; other files follow in alphabetical order


@dataclass(frozen=True)
class Options:
    """`quick` uses fewer draws; `data` and `outputs` are folders of real networks' forecasts."""

    quick: bool = False
    data: Path | None = None
    outputs: Path | None = None
    seed: int = 0


@dataclass(frozen=True)
class Paper:
    """A paper with its computed sections."""

    key: str
    title: str
    sections: list[Section]
    not_reproduced: dict[str, str]


def keys() -> list[str]:
    """Return the keys of all reproduced papers."""
    found = {name.upper() for _, name, package in pkgutil.iter_modules(__path__) if not (package or name[0] == "_")}
    return [key for key in KEYS if key in found] + sorted(found - set(KEYS))


def module(key: str) -> Any:
    """Return the module of one paper."""
    if key.upper() not in keys():
        raise ValueError(f"no paper {key!r}; there are {', '.join(keys())}")
    return importlib.import_module(f"{__name__}.{key.lower()}")


def reproduce(key: str, options: Options) -> Paper:
    """Return one paper with all its sections computed."""
    found = module(key)
    return Paper(key.upper(), found.TITLE, list(found.sections(options)), found.NOT_REPRODUCED)
