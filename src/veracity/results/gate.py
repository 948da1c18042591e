"""The gate of `veracity check`: requirements against a baseline or from a file, and reports for CI systems."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from xml.etree import ElementTree

from veracity.estimate.comparison.paired import NAMES, comparable
from veracity.measures import HIGHER
from veracity.records.comparison import PairDifference
from veracity.records.reading import Reading
from veracity.results.comparison import Comparison
from veracity.results.requirements import Outcome, Requirement
from veracity.words import interval, number

_SHAPE = re.compile(r"^\s*(?:scores\.)?(?P<name>\w+)\s+not\s+worse(?:\s+by\s+(?P<margin>\S+))?\s*$")
KEYS = ("require", "against")


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
        match = _SHAPE.match(text)
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
    held = Reading(d.value, d.low, d.high)
    return f"{'+' if d.value > 0.0 else ''}{number(held)} ({interval(held)}) from the baseline"


def parse(text: str) -> Requirement | NotWorse:
    """Return the requirement of a line: a number in the document, or a score against the baseline."""
    return NotWorse.parse(text) if re.search(r"\bnot\s+worse\b", text) else Requirement.parse(text)


def from_file(path: str) -> tuple[list[str], str | None]:
    """Return the requirements of a TOML file and the baseline that it names, whose path is relative to the file.

    require = ["scores.log_loss<=0.4", "log_loss not worse by 0.01"]
    against = "baseline.csv"
    """
    try:
        held = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"--requirements {path}: no TOML ({problem})") from None
    unknown = [key for key in held if key not in KEYS]
    if unknown:
        raise ValueError(f"--requirements {path}: no key `{unknown[0]}`; there are {', '.join(KEYS)}")
    lines = held.get("require", [])
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines) or not lines:
        raise ValueError(
            f'--requirements {path}: `require` must be a list of texts\n  require = ["scores.log_loss<=0.4"]'
        )
    against = held.get("against")
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
