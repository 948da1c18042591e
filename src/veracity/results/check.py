"""The gate of `veracity check`: requirements, the baseline that scores may not be worse than, and reports for CI.

A requirement is `[MODEL:]path OP value`, where path is a name in the JSON document.
"""

from __future__ import annotations

import math
import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol
from xml.etree import ElementTree

from veracity.estimate.comparison.paired import NAMES, comparable
from veracity.measures import HIGHER
from veracity.records.comparison import PairDifference
from veracity.records.reading import Reading
from veracity.results.assessment import Assessment
from veracity.results.comparison import Comparison
from veracity.results.document import plain
from veracity.results.schema import SECTIONS
from veracity.words import interval, number
from veracity.words.verdict import VERDICTS, shows

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_SHAPE = re.compile(r"^\s*(?P<path>[^<>=!]+?)\s*(?P<sign>>=|<=|==|!=|>|<|=)\s*(?P<limit>\S.*?)\s*$")
_NOT_WORSE = re.compile(r"^\s*(?:scores\.)?(?P<name>\w+)\s+not\s+worse(?:\s+by\s+(?P<margin>\S+))?\s*$")
KEYS = ("require", "against")


@dataclass(frozen=True)
class Requirement:
    """One line of --require.

    >>> Requirement.parse("losses.log.CL.high<=0.02")
    Requirement(path='losses.log.CL.high', sign='<=', limit=0.02)
    """

    path: str
    sign: str
    limit: float | str

    @classmethod
    def parse(cls, text: str) -> Requirement:
        match = _SHAPE.match(text)
        if match is None:
            raise ValueError(
                f"--require: {text!r} is not a requirement\n  write NAME>=NUMBER, such as "
                '--require "reported.geometric_accuracy>=0.6"   comparisons: >= <= > < == !='
            )
        path, sign = match["path"], match["sign"].replace("=", "==") if match["sign"] == "=" else match["sign"]
        if path.rpartition(":")[2].rpartition(".")[2] == "verdict":
            if sign not in ("==", "!="):
                raise ValueError(f'--require: {text!r}: a verdict is a word; write "verdict!=miscalibrated"')
            if match["limit"] not in VERDICTS:
                named = ", ".join(VERDICTS)
                raise ValueError(
                    f"--require: {text!r}: no such verdict; miscalibrated is any fault\n  there are {named}"
                )
            return cls(path, sign, match["limit"])
        try:
            limit = float(match["limit"])
        except ValueError:
            what = f"{text!r}: {match['limit']!r} is not a number; words are those of the verdict"
            raise ValueError(f'--require: {what}, as in "verdict!=miscalibrated"') from None
        if math.isnan(limit):
            raise ValueError(f"--require: {text!r}: nothing can be compared with nan")
        return cls(path, sign, limit)

    def __str__(self) -> str:
        return f"{self.path}{self.sign}{self.limit if isinstance(self.limit, str) else f'{self.limit:g}'}"


class Required(Protocol):
    """What an outcome is about."""

    @property
    def path(self) -> str: ...


@dataclass(frozen=True)
class Outcome:
    """How one requirement came out for one model."""

    requirement: Required
    model: str | None
    value: float | str | None
    met: bool
    reason: str = ""

    @property
    def found(self) -> str:
        """The value that was found, with the reason where there is one."""
        counted = isinstance(self.value, int)
        shown = f"{self.value:,}" if counted else self.value if isinstance(self.value, str) else number(self.value, 4)
        return f"{shown} ({self.reason})" if self.reason else shown

    def __str__(self) -> str:
        where = f"{self.model}: " if self.model and not self.requirement.path.startswith(f"{self.model}:") else ""
        return f"{'met   ' if self.met else 'FAILED'}  {where}{self.requirement}   is {self.found}"


class LazyDocument(Mapping[str, Any]):
    """The document of an assessment, each section computed on access."""

    def __init__(self, assessment: Assessment) -> None:
        self._assessment = assessment

    def __getitem__(self, name: str) -> Any:
        return plain(getattr(self._assessment, SECTIONS[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(SECTIONS)

    def __len__(self) -> int:
        return len(SECTIONS)


def lazy_document(models: Mapping[str, Assessment]) -> Mapping[str, Any]:
    """Return the document of one model, or of several."""
    documents = {name: LazyDocument(assessment) for name, assessment in models.items()}
    return next(iter(documents.values())) if len(documents) == 1 else {"models": documents}


def check(document: Mapping[str, Any], requirements: list[Requirement]) -> list[Outcome]:
    """Return the outcome of every requirement for the document of one assessment or of several."""
    models: dict[str | None, Mapping[str, Any]] = dict(document.get("models") or {None: document})
    outcomes = []
    for requirement in requirements:
        wanted, path = _model_of(requirement.path, models)
        for model, one in models.items():
            if wanted is None or model == wanted:
                outcomes.append(_outcome(requirement, model if "models" in document else None, one, path))
    return outcomes


def _model_of(path: str, models: Mapping[str | None, Any]) -> tuple[str | None, str]:
    """Return the model at the start of a path, longest name first, or None for all, and the rest of the path."""
    names = sorted((name for name in models if name is not None), key=len, reverse=True)
    names += [name for one in models.values() if (name := one.get("model")) and name not in names]
    for name in names:
        if path.startswith(f"{name}:"):
            return (name if name in models else None), path[len(name) + 1 :].strip()
    if ":" in path:
        asked = path.partition(":")[0]
        raise ValueError(f"--require {path}: no model `{asked}`{_near(asked, names)}")
    return None, path


def _outcome(requirement: Requirement, model: str | None, document: Mapping[str, Any], path: str) -> Outcome:
    entry = lookup(document, path)
    reason = str(entry.get("reason") or "") if isinstance(entry, Mapping) else ""
    value = entry.get("value") if isinstance(entry, Mapping) else entry
    if isinstance(requirement.limit, str):
        shown = shows(value, requirement.limit) if value in VERDICTS else None
        met = shown is not None and shown == (requirement.sign == "==")
        return Outcome(requirement, model, str(value), met, "" if shown is not None else "so it cannot be met")
    if value is None or isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        return Outcome(requirement, model, None, False, reason or "not known, so it cannot be met")
    return Outcome(requirement, model, value, COMPARISONS[requirement.sign](value, requirement.limit), reason)


def lookup(document: Mapping[str, Any], path: str) -> Any:
    """Return the value of the document at a path; a class or group whose name has dots is found too.

    >>> lookup({"scores": {"accuracy": {"value": 0.7, "low": 0.6}}}, "scores.accuracy.low")
    0.6
    """
    if path in ("decisiveness", "geometric_accuracy", "robustness"):
        paths = ", ".join(f"{section}.{path}" for section in ("reported", "expected", "measured"))
        raise ValueError(f"`{path}` is several things here: {paths}. Name one.")
    entry = _walk(document, path)
    if entry is _MISSING or (isinstance(entry, (Mapping, list)) and not _is_reading(entry)):
        raise ValueError(f"--require: no number `{path}` in the document{_near(path, list(numbers(document)))}")
    return entry


_MISSING = object()


def _walk(node: Any, path: str) -> Any:
    if not path:
        return node
    for key in range(len(node)) if isinstance(node, list) else node if isinstance(node, Mapping) else ():
        if path == str(key) or path.startswith(f"{key}."):
            entry = _walk(node[key], path[len(str(key)) + 1 :])
            if entry is not _MISSING:
                return entry
    return _MISSING


def _is_reading(node: Any) -> bool:
    return isinstance(node, Mapping) and "value" in node


def numbers(node: Any, path: str = "") -> Iterator[str]:
    """Yield the names of all numbers and readings in a document."""
    if _is_reading(node):
        yield path
        node = {name: x for name, x in node.items() if name != "value"}
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from numbers(value, f"{path}.{key}" if path else str(key))
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield path


COMMON = {  # other usual names of our numbers
    "ece": ("calibration_error.top_label", "calibration_error.classwise"),
    "mce": ("calibration_error.top_label.max",),
    "accuracy": ("scores.accuracy",),
    "logloss": ("scores.log_loss",),
    "nll": ("scores.log_loss",),
    "cross_entropy": ("scores.log_loss",),
    "brier_score": ("scores.brier",),
    "roc_auc": ("scores.auc",),
    "auroc": ("scores.auc",),
    "slope": ("calibration_slope", "spread_ratio"),
}


def _near(name: str, names: list[str]) -> str:
    usual, dot, end = name.lower().partition(".")
    meant = [f"{one}{dot}{end}" for one in COMMON.get(usual, ())]
    known = [one for one in (*meant, name) if one in names]
    by_end = [full for full in names if full == name or full.rpartition(".")[2] == name.rpartition(".")[2]]
    near = known or get_close_matches(name, names, n=3, cutoff=0.5) or by_end[:3]
    asked = " or ".join(f"`{one}`" for one in near)
    return f"; did you mean {asked}?" if near else f"; there are {', '.join(names[:8])}"


@dataclass(frozen=True)
class NotWorse:
    """A score that may not be worse than the baseline's by more than a margin.

    >>> NotWorse.parse("log_loss not worse by 0.01")
    NotWorse(score='log_loss', margin=0.01)
    """

    score: str
    margin: float

    @classmethod
    def parse(cls, text: str) -> NotWorse:
        match = _NOT_WORSE.match(text)
        if match is None:
            raise ValueError(
                f"--require: {text!r} is not a requirement\n  write NAME not worse by MARGIN, such as "
                '"log_loss not worse by 0.01"'
            )
        known = {m.name: m for m in comparable(2, True).values()}
        if match["name"] not in known:
            near = get_close_matches(match["name"], known, n=1, cutoff=0.4)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
            raise ValueError(f"--require: {text!r}: no score `{match['name']}`; {hint}")
        try:
            margin = float(match["margin"] or 0.0)
        except ValueError:
            raise ValueError(f"--require: {text!r}: {match['margin']!r} is not a number") from None
        if not (math.isfinite(margin) and margin >= 0.0):
            raise ValueError(f"--require: {text!r}: the margin must be 0 or more")
        return cls(match["name"], margin)

    @property
    def path(self) -> str:
        return self.score

    def __str__(self) -> str:
        return f"{self.score} not worse by {self.margin:g}"

    def judged(self, comparison: Comparison) -> Outcome:
        """Return whether the interval of the difference from the baseline excludes a loss above the margin."""
        name = NAMES.get(self.score, self.score)
        if name not in comparison.record.differences:
            return Outcome(self, None, None, False, "not known for these forecasts, so it cannot be met")
        difference = comparison.differences(name)[0]
        higher = comparable(2, True)[name].better == HIGHER
        if difference.low is None or difference.high is None:
            return Outcome(self, None, None, False, difference.reason or "no interval, so it cannot be met")
        worst = -difference.low if higher else difference.high
        return Outcome(self, None, _shown(difference), worst <= self.margin)


def _shown(d: PairDifference) -> str:
    reading = Reading(d.value, d.low, d.high)
    return f"{'+' if d.value > 0.0 else ''}{number(reading)} ({interval(reading)}) from the baseline"


def parse(text: str) -> Requirement | NotWorse:
    """Return the requirement of a line: a number in the document, or a score against the baseline."""
    return NotWorse.parse(text) if re.search(r"\bnot\s+worse\b", text) else Requirement.parse(text)


def from_file(path: str) -> tuple[list[str], str | None]:
    """Return the requirements of a TOML file and the baseline that it names, whose path is relative to the file.

    require = ["scores.log_loss<=0.4", "log_loss not worse by 0.01"]
    against = "baseline.csv"
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"--requirements {path}: no TOML ({problem})") from None
    unknown = [key for key in table if key not in KEYS]
    if unknown:
        raise ValueError(f"--requirements {path}: no key `{unknown[0]}`; there are {', '.join(KEYS)}")
    lines = table.get("require", [])
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines) or not lines:
        raise ValueError(
            f'--requirements {path}: `require` must be a list of texts\n  require = ["scores.log_loss<=0.4"]'
        )
    against = table.get("against")
    if against is not None and not isinstance(against, str):
        raise ValueError(f"--requirements {path}: `against` must be the name of a file")
    return lines, None if against is None else str(Path(path).parent / against)


def to_markdown(outcomes: Sequence[Outcome], files: Sequence[str]) -> str:
    """Return the outcomes as a table for a pull request."""
    failed = sum(not outcome.met for outcome in outcomes)
    total = f"{len(outcomes)} requirements"
    head = f"**{failed} of {total} failed**" if failed else f"**All {total} met**"
    lines = [f"{head} · {', '.join(files)}", "", "| | requirement | found |", "|---|---|---|"]
    for outcome in outcomes:
        where = f"{outcome.model}: " if outcome.model else ""
        cells = (("✓" if outcome.met else "✗ failed"), f"`{where}{outcome.requirement}`", outcome.found)
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def to_junit(outcomes: Sequence[Outcome], files: Sequence[str]) -> str:
    """Return the outcomes as JUnit XML, a test case for each."""
    failed = sum(not outcome.met for outcome in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failed), "errors": "0", "skipped": "0"}
    suite = ElementTree.Element("testsuite", {"name": "veracity check", **counts})
    for outcome in outcomes:
        name = f"{outcome.model}: {outcome.requirement}" if outcome.model else str(outcome.requirement)
        case = ElementTree.SubElement(suite, "testcase", classname=_xml(", ".join(files)), name=_xml(name))
        if not outcome.met:
            ElementTree.SubElement(case, "failure", message=_xml(f"is {outcome.found}"))
        ElementTree.SubElement(case, "system-out").text = _xml(str(outcome))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Return text without characters that XML cannot hold."""
    return "".join(c for c in text if c in "\t\n\r" or ord(c) >= 0x20)
