"""Every table and figure of the five papers, paper value beside computed value. One file per paper.

A paper is a file here that defines `TITLE` and `sections(options)`; its name is the paper's key in small letters.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEYS = ("N17", "RP", "CQ", "HB17", "KF15")  # order of reading; other files follow in alphabetical order


@dataclass(frozen=True)
class Options:
    """How far to go: quick uses fewer draws; data and outputs are folders of real networks' forecasts."""

    quick: bool = False
    data: Path | None = None
    outputs: Path | None = None
    seed: int = 0


def papers() -> list[str]:
    """Keys of all reproduced papers."""
    found = {name.upper() for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_")}
    return [key for key in KEYS if key in found] + sorted(found - set(KEYS))


def paper(key: str) -> Any:
    """The module of one paper."""
    if key.upper() not in papers():
        raise ValueError(f"no paper {key!r}; there are {', '.join(papers())}")
    return importlib.import_module(f"{__name__}.{key.lower()}")


def sections(key: str, options: Options) -> Iterator[Any]:
    """The sections of one paper, computed as they are asked for."""
    yield from paper(key).sections(options)
