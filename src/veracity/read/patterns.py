"""Patterns that name columns, and names that are nearly those of columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from ..options import NAMES


def labels_of(texts: Sequence[str]) -> tuple[Any, ...]:
    """Return class names as integers or truth values where all of them are, otherwise as text."""
    if set(texts) == {"False", "True"}:
        return tuple(text == "True" for text in texts)
    return tuple(int(t) for t in texts) if all(re.fullmatch(r"-?\d+", t) for t in texts) else tuple(texts)


def matching(pattern: str, columns: Sequence[str]) -> list[tuple[str | None, str | None, str]]:
    """Return (model, class, column) for each column that a comma list of names and globs matches, in the list's order.

    >>> matching("{model}_cat*", ["obs", "p24_cat0", "p24_cat1"])
    [('p24', '0', 'p24_cat0'), ('p24', '1', 'p24_cat1')]
    """
    matches: dict[str, tuple[str | None, str | None, str]] = {}
    for item in items_of(pattern, columns):
        if item in columns:
            matches.setdefault(item, (None, None, item))
            continue
        regex = _regex(item)
        for column in columns:
            match = re.fullmatch(regex, column)
            if match:
                parts = match.groupdict()
                matches.setdefault(column, (parts.get("model"), parts.get("cls"), column))
    return list(matches.values())


def items_of(pattern: str, columns: Sequence[str]) -> list[str]:
    """Return the names and globs of a comma list; a name may itself contain a comma."""
    if pattern in columns:
        return [pattern]
    if NAMES in pattern:
        return [part for part in pattern.split(NAMES) if part]
    return [part.strip() for part in pattern.split(",")]


def _regex(glob: str) -> str:
    """Return a glob as a regular expression; the first `*` is the class, `{model}` the model."""
    tokens = re.findall(r"\{model\}|\[[^\]]+\]|.", glob, flags=re.DOTALL)
    known = {"{model}": "(?P<model>.+?)", "?": "."}
    stars = iter(["(?P<cls>.*)"])
    parts = []
    for token in tokens:
        if token == "*":
            parts.append(next(stars, ".*"))
        elif len(token) > 2 and token[0] == "[":
            parts.append(token.replace("[!", "[^", 1))
        else:
            parts.append(known.get(token) or re.escape(token))
    return "".join(parts)


def nearest(name: str, columns: Sequence[str]) -> str:
    """Return a "did you mean" for a column that does not exist."""
    same = [c for c in columns if c.lower() == name.lower()]
    close = same or difflib.get_close_matches(name, columns, 1, 0.6)
    return f"; did you mean `{close[0]}`?" if close else "."
