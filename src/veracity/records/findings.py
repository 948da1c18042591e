"""Findings: facts that a reader must know about the data or a number; `words/findings.py` has their sentences.

A kind of finding is a subclass, declared in one place: its name gives the code, its fields hold the facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, get_args

from numpy.typing import NDArray

Severity = Literal["critical", "warning", "note"]  # critical: it changes the meaning of the numbers
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
FIRST = 20  # rows named in a finding: a screenful
KINDS: dict[str, type[Finding]] = {}  # every kind by its code


@dataclass(frozen=True)
class Finding:
    """A fact that a reader must know about the data or a number; each kind is a subclass with fields of its own.

    count  how many rows, cases or values it is about, of `total`; 0 where nothing is counted
    rows   the first of them

    >>> import veracity as vc
    >>> first = vc.assess([1, 0], [0.0, 0.3]).findings[0]
    >>> first.code, first.severity, first.count, first.rows
    ('zero_probability', 'critical', 1, (0,))
    """

    count: int = 0
    total: int = 0
    rows: tuple[int, ...] = ()
    code: ClassVar[str] = ""
    severity: ClassVar[Severity] = "note"

    def __init_subclass__(cls, severity: Severity | None = None) -> None:
        """Register the kind under its name; without a severity it is the common base of several kinds."""
        super().__init_subclass__()
        if severity is not None:
            cls.code, cls.severity = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower(), severity
            KINDS[cls.code] = cls

    @property
    def message(self) -> str:
        """The finding in words, made when it is asked for."""
        from veracity.words.findings import sentence_of

        return sentence_of(self)

    @property
    def own_fields(self) -> dict[str, Any]:
        """What it holds beside its count and rows."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("count", "rows")}


def kind_of(code: Any) -> type[Finding]:
    """Return the kind of finding that has this code."""
    if code not in KINDS:
        raise LookupError(f"there is no kind of finding {code!r}")
    return KINDS[code]


def first_rows(rows: Sequence[Any] | NDArray[Any]) -> tuple[int, ...]:
    """Return the first of these rows, as many as a finding names; those of several files keep their file."""
    return tuple(row if isinstance(row, int) else int(row) for row in rows[:FIRST])


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings of several parts, one of each kind with the same fields, with the counts of all parts."""
    parts: dict[Finding, list[Finding]] = {}
    for finding in findings:
        parts.setdefault(replace(finding, count=0, total=0, rows=()), []).append(finding)
    return tuple(_sum(same) for same in parts.values())


def _sum(same: list[Finding]) -> Finding:
    if len(same) == 1:
        return same[0]
    rows = first_rows(sorted({row for finding in same for row in finding.rows}))
    return replace(same[0], count=sum(f.count for f in same), total=sum(f.total for f in same), rows=rows)


def unique(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings without repetitions, in their order."""
    return tuple(dict.fromkeys(findings))
