"""Rows that compare a number or statement of a paper with the computed one, in sections with figures."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

AGREES, FITTED, IDENTITY = "agrees", "fitted", "identity"
DOCUMENTED, SHOWN, DIFFERS = "documented", "shown", "differs"
VERDICTS = {
    AGREES: "the paper's number or statement is reproduced",
    FITTED: "the same, with a setting that the paper leaves open and that was chosen to match: no test of the paper",
    IDENTITY: "an equation of the paper holds; both sides are computed here, the paper prints no number",
    DOCUMENTED: "the paper differs, and the note says why",
    SHOWN: "computed, without a number of the paper to compare with",
    DIFFERS: "differs without a known reason",
}
EVIDENCE = {
    "paper's number": "a number or statement of the paper, reproduced without a choice of ours",
    "identity": "an equation of the paper; both sides are computed here",
    "fitted": "reproduced with a setting that was chosen to match; the literal reading stands beside it",
    "misprint": "the paper is corrected, or a statement of it is refuted; the note says how",
    "ours": "computed here; the paper has no number, or one that cannot be recomputed",
    "open": "differs without a known reason",
}
UNPUBLISHED = "not published"  # in the note of a number whose data are lost
KINDS = {
    "number": "a printed number against the computed one; they agree within half a unit of the last printed digit",
    "draw": "the paper's one random draw against many; it agrees within the central 99 % of the draws",
    "statement": "a statement of the paper against the computation; a numerical bound where one is needed",
    "identity": "both sides of an equation; the difference over max(1, |right side|) is at most the tolerance",
}
SHARE_BELOW = 0.995  # of the draws on either side of a printed value: the central 99 %


@dataclass(frozen=True)
class Row:
    """One number, statement or equation of a paper. `tolerance` is the bound really applied, as text."""

    kind: str
    item: str
    paper: str
    computed: str
    verdict: str
    note: str = ""
    tolerance: str = ""
    value: float = math.nan

    @property
    def evidence(self) -> str:
        """What this row is evidence of, by the words of EVIDENCE."""
        if self.verdict == DOCUMENTED:
            return "ours" if UNPUBLISHED in self.note else "misprint"
        return {AGREES: "paper's number", FITTED: "fitted", IDENTITY: "identity", SHOWN: "ours", DIFFERS: "open"}[
            self.verdict
        ]


@dataclass(frozen=True)
class Figure:
    """A redrawn figure: an Altair chart and its caption."""

    caption: str
    chart: Any


@dataclass(frozen=True)
class Section:
    """A numbered table or figure, or a group of quoted numbers."""

    title: str
    about: str = ""
    rows: list[Row] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


def printed(item: str, paper: str, value: float, reason: str = "") -> Row:
    """Compare a printed number with a value; a value that ends in 5 may have been rounded either way."""
    number, half_unit = _parse(paper)
    digits = max(0, round(-math.log10(2 * half_unit)))
    agrees = abs(value - number) <= half_unit * (1 + 1e-9) + 1e-12  # float error of a tie such as 0.0625
    verdict, tolerance = _verdict(agrees, reason), f"±{half_unit:g}"
    return Row("number", item, paper, f"{value:.{digits + 3}f}", verdict, reason, tolerance, float(value))


def claim(
    item: str,
    paper: str,
    holds: bool,
    computed: str,
    reason: str = "",
    *,
    value: float = math.nan,
    tolerance: str = "",
    note: str = "",
) -> Row:
    """Compare a statement with the computation; `reason` explains a refuted one, `note` is always printed."""
    return Row("statement", item, paper, computed, _verdict(bool(holds), reason), note or reason, tolerance, value)


def identity(item: str, left: float, right: float, tolerance: float = 1e-12, note: str = "") -> Row:
    """Check an equation of a paper on numbers; both sides are ours."""
    gap = abs(left - right) / max(1.0, abs(right))
    verdict = IDENTITY if gap <= tolerance else DIFFERS
    return Row("identity", item, "–", f"{left:.9g} = {right:.9g}", verdict, note, f"{tolerance:.0e}", float(left))


def shown(item: str, computed: str, note: str = "", value: float = math.nan, paper: str = "–") -> Row:
    """Show a number that the paper does not print, or that cannot be compared."""
    return Row("shown", item, paper, computed, SHOWN, note, "", value)


def value_shown(item: str, value: float, digits: int = 6, note: str = "") -> Row:
    """Show one value that the paper does not print."""
    return shown(item, f"{value:.{digits}f}", note, float(value))


def drawn(item: str, paper: str, draws: Any, digits: int = 3) -> Row:
    """Compare one random draw quoted in a paper with many."""
    draws = np.asarray(draws, dtype=np.float64)
    number, half_unit = _parse(paper)
    agrees = (draws < number - half_unit).mean() < SHARE_BELOW and (draws > number + half_unit).mean() < SHARE_BELOW
    rank = 100 * ((draws < number).mean() + (draws == number).mean() / 2)
    text = f"{draws.mean():.{digits}f} (sd {draws.std(ddof=1):.{digits}f})"
    note = f"the paper's draw is at percentile {rank:.0f} of {len(draws)}"
    tolerance = f"central 99 % of {len(draws)} draws"
    return Row("draw", item, paper, text, AGREES if agrees else DIFFERS, note, tolerance, float(draws.mean()))


def fitted(row: Row, setting: str) -> Row:
    """Mark a row that agrees by a setting which the paper leaves open and which was chosen to match."""
    verdict = FITTED if row.verdict == AGREES else row.verdict
    return replace(row, verdict=verdict, note="; ".join(part for part in (f"fitted: {setting}", row.note) if part))


def tally(sections: Iterable[Section]) -> dict[str, int]:
    """Return the number of rows of each verdict."""
    counts = Counter(row.verdict for section in sections for row in section.rows)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def tolerances(sections: Iterable[Section]) -> dict[str, dict[str, int]]:
    """Return {kind: {tolerance applied: number of rows}}, most frequent first, without empty kinds."""
    rows = [row for section in sections for row in section.rows]
    counts = {kind: Counter(row.tolerance or "none" for row in rows if row.kind == kind) for kind in KINDS}
    return {kind: dict(count.most_common()) for kind, count in counts.items() if count}


def uncovered(numbered: Iterable[str], sections: Iterable[Section]) -> list[str]:
    """Return numbered items of a paper without a row; tables and figures are sections, equations and theorems rows."""
    sections = list(sections)
    titles = [section.title for section in sections]
    items = [row.item for section in sections for row in section.rows]

    def covered(label: str) -> bool:
        places = titles if label.startswith(("Table", "Figure")) else items
        return any(re.search(re.escape(label) + r"(?!\d)", place) for place in places)

    return [label for label in numbered if not covered(label)]


def slashed(values: Iterable[float]) -> str:
    """Return values with three decimals and slashes between them."""
    return " / ".join(f"{value:.3f}" for value in values)


def _verdict(agrees: bool, reason: str) -> str:
    return AGREES if agrees else DOCUMENTED if reason else DIFFERS


def _parse(paper: str) -> tuple[float, float]:
    """Return a printed number and half a unit of its last digit; a percentage as a share."""
    match = re.search(r"[-−]?\d*\.?\d+", paper)
    if match is None:
        raise ValueError(f"paper: no number in {paper!r}")
    text = match.group().replace("−", "-")
    decimals = len(text.split(".")[1]) if "." in text else 0
    scale = 100.0 if paper.rstrip().endswith("%") else 1.0
    return float(text) / scale, 0.5 * 10.0**-decimals / scale
