"""How tables of forecasts are laid out: one file per layout, found by listing this folder.

A layout is a module with

    RULE                        its place in the order of precedence; `recognition` asks lower numbers first
    match(columns)              a `Layout` if the columns have this layout, else None; raises ValueError with a ready
                                command if they nearly have it
    build(rows)                 the `Forecasts` of the rows of one model
    OPTION                      (optional) the option that only this layout takes: given, no other layout is asked
    flatten(rows, name, first, label)  (optional) nested JSON lines of this layout as a flat table, else None;
                                label: the outcome that is given

Precedence: 0 ensemble, 1 lm-eval, 2 counts, 3 long, 4 pairs, 5 wide, 6 top, 7 binary, 8 realised.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def names() -> list[str]:
    """Return the public names of all layouts."""
    return sorted(name.replace("_", "-") for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_"))


def load(name: str) -> Any:
    """Return the module of a layout by its public name."""
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def by_precedence() -> dict[str, Any]:
    """Return all layouts by name, in the order in which they are asked."""
    return dict(sorted(((name, load(name)) for name in names()), key=lambda item: item[1].RULE))
