"""Options for reading: one record for the command line and for frames in Python."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

from . import layouts

NAMES = "\x1f"  # between names that were given as a list
SCALES = ("probability", "logit", "log", "percent")


@dataclass(frozen=True)
class ReadOptions:
    """How the columns are to be understood; None and empty mean: recognise it."""

    label: str | None = None
    proba: str | None = None
    positive_proba: str | None = None
    positive: str | None = None
    layout: str = "auto"
    scale: str | None = None
    weight: str | None = None
    count: str | None = None
    model: str | None = None  # "none" pools all models
    id: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    missing: str = "error"
    soft: str = "split"
    normalise: bool = False
    cut: tuple[float, ...] = ()
    versus_rest: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    absent: str | None = None  # "nan": a missing value in a class column means that the option was not offered
    group: tuple[str, ...] = ()
    ideal: str | None = None
    feature: tuple[str, ...] = ()
    cluster: str | None = None
    time: str | None = None
    pick: str | None = None  # column of the picked label: the probability is the confidence in it
    label_file: str | None = None  # outcomes in a file of their own, joined on ids, or by position where there are none
    no_header: bool = False  # the first line of a text file is a row
    members: str | None = None  # columns of the members of an ensemble
    exceeds: tuple[Any, ...] = ()  # limits that turn members into probabilities; a last "raw": their plain share
    labelled: bool = True  # False: forecasts without outcomes, to be mapped and not to be assessed

    def __post_init__(self) -> None:
        for name in ("id", "where", "versus_rest", "order", "group", "feature"):
            given = getattr(self, name)
            object.__setattr__(self, name, _texts(given, split=name != "where"))
            if isinstance(given, str | list | tuple) and len(given) and not getattr(self, name):
                raise ValueError(f"{name}: nothing is named in {''.join(given)!r}\n  give names, or leave it out")
        for name in ("proba", "positive_proba", "ideal", "members"):  # Python may give lists of names
            given = getattr(self, name)
            if given is not None and not isinstance(given, str):
                object.__setattr__(self, name, NAMES.join([*_texts(given, split=False), ""]))
        for name in ("label", "weight", "count", "model", "cluster", "time", "pick"):
            given = getattr(self, name)
            if isinstance(given, int) and not isinstance(given, bool):
                object.__setattr__(self, name, str(given))
            elif given is not None and not isinstance(given, str):
                raise ValueError(f"{name}: {given!r:.80} is not the name of a column\n  give one name, such as 'y'")
        object.__setattr__(self, "cut", _limits("cut", self.cut))
        words = _texts(self.exceeds, split=True)
        limits = _limits("exceeds", tuple(word for word in words if word != "raw"))
        object.__setattr__(self, "exceeds", (*limits, "raw") if "raw" in words else limits)
        if bool(self.members) != bool(self.exceeds[:1] != ("raw",) and self.exceeds):
            raise ValueError("members and exceeds belong together\n  write --members PATTERN --exceeds X")
        if self.positive is not None:
            object.__setattr__(self, "positive", canonical(self.positive))
        for name, choices in (
            ("layout", ("auto", *layouts.names())),
            ("scale", (None, *SCALES)),
            ("missing", ("error", "drop")),
            ("soft", ("split", "omit", "refuse")),
            ("absent", (None, "nan")),
        ):
            if getattr(self, name) not in choices:
                known = ", ".join(repr(c) for c in choices if c)
                raise ValueError(f"{name}: {getattr(self, name)!r} is not one of {known}")
        for condition in self.where:
            if "=" not in condition:
                raise ValueError(f"where: {condition!r} is no condition\n  write COL=VALUE or COL!=VALUE")
        if self.proba and self.positive_proba:
            raise ValueError(
                "proba and positive_proba exclude one another\n  classes: proba; one probability: positive_proba"
            )
        if self.cluster and self.time:
            raise ValueError("cluster and time exclude one another\n  units with many cases: cluster; a series: time")

    @property
    def given(self) -> tuple[str, ...]:
        """Columns with a role by option; no layout takes them."""
        model = None if self.model == "none" else self.model
        names = (self.label, self.count, model, self.weight, self.cluster, self.time, self.pick)
        return tuple(n for n in names if n) + self.id + self.group + self.feature


def _texts(value: Any, split: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    items: Iterable[Any] = [value] if isinstance(value, (str, int, float)) else value
    split = split and not isinstance(value, list)  # names in a Python list are whole
    parts = [str(item).split(",") if split else [str(item)] for item in items]
    return tuple(part.strip() for item in parts for part in item if part.strip())


def _limits(name: str, value: Any) -> tuple[float, ...]:
    try:
        limits = tuple(float(x) for x in ([value] if isinstance(value, (int, float)) else _texts(value, split=True)))
    except (ValueError, ArithmeticError):
        raise ValueError(f"{name}: {value!r:.80} is no list of numbers\n  write limits such as 0.2,4.4") from None
    if any(x != x for x in limits) or (isinstance(value, str) and not limits):
        raise ValueError(f"{name}: {value!r} is no list of numbers\n  write limits such as 0.2,4.4")
    if list(limits) != sorted(set(limits)):
        shown = ", ".join(f"{x:g}" for x in limits)
        raise ValueError(f"{name}: {shown} must rise\n  write the limits from low to high")
    return limits


def canonical(value: Any) -> str:
    """Return a label as text, the same for 1, 1.0, "1" and "1.0", and for é in one letter or in two."""
    text = normalize("NFC", str(value).strip())
    if isinstance(value, bool):
        return text
    try:
        as_float = float(text)
    except ValueError:
        return text
    return str(int(as_float)) if as_float.is_integer() and abs(as_float) < 1e15 else text


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
    found: dict[str, tuple[str | None, str | None, str]] = {}
    for item in items_of(pattern, columns):
        if item in columns:
            found.setdefault(item, (None, None, item))
            continue
        regex = _regex(item)
        for column in columns:
            match = re.fullmatch(regex, column)
            if match:
                parts = match.groupdict()
                found.setdefault(column, (parts.get("model"), parts.get("cls"), column))
    return list(found.values())


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
