"""What a reproduction consists of: rows that put the paper beside the program, in sections, with figures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

AGREES, DOCUMENTED, SHOWN, DIFFERS = "agrees", "documented", "shown", "differs"


@dataclass(frozen=True)
class Row:
    """One number or claim of a paper.

    verdict  agrees · documented (differs, and `note` says why) · shown (the paper prints no number) · differs
    """

    item: str
    paper: str
    computed: str
    verdict: str
    note: str = ""
    value: float = math.nan


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
    """A printed number: it agrees when the exact value is within half a unit of the last printed digit.

    >>> printed("PSEP", "0.454", 0.454265).verdict, printed("slope", "1.791", 1.791759).verdict
    ('agrees', 'differs')
    """
    number, half_unit = _parse(paper)
    digits = max(0, round(-math.log10(2 * half_unit)))
    # A value that ends in 5 (0.0625) may be printed either way; 1e-9 also covers its float error.
    agrees = abs(value - number) <= half_unit * (1 + 1e-9) + 1e-12
    return Row(item, paper, f"{value:.{digits + 3}f}", _verdict(agrees, reason), reason, float(value))


def claim(item: str, paper: str, holds: bool, computed: str, reason: str = "", value: float = math.nan) -> Row:
    """A statement: the paper's words, what was found, and whether it holds."""
    return Row(item, paper, computed, _verdict(bool(holds), reason), reason, value)


def identity(item: str, left: float, right: float, tolerance: float = 1e-12, note: str = "") -> Row:
    """An equation of a paper, checked on numbers: both sides agree relative to their size."""
    gap = abs(left - right) / max(1.0, abs(right))
    return Row(item, f"{right:.9g}", f"{left:.9g}", AGREES if gap <= tolerance else DIFFERS, note, float(left))


def shown(item: str, computed: str, note: str = "", value: float = math.nan, paper: str = "–") -> Row:
    """A number that the paper does not print, or that cannot be compared."""
    return Row(item, paper, computed, SHOWN, note, value)


def drawn(item: str, paper: str, draws: Any, reason: str = "", digits: int = 3) -> Row:
    """One random draw quoted in a paper, against many: it agrees when it lies within the central 99 % of them."""
    draws = np.asarray(draws, dtype=np.float64)
    number, half_unit = _parse(paper)
    below, above = (draws < number - half_unit).mean(), (draws > number + half_unit).mean()
    agrees = below < 0.995 and above < 0.995
    rank = 100 * ((draws < number).mean() + (draws == number).mean() / 2)
    text = f"{draws.mean():.{digits}f} (sd {draws.std(ddof=1):.{digits}f})"
    note = reason or f"the paper's draw is at percentile {rank:.0f} of {len(draws)}"
    return Row(item, paper, text, _verdict(bool(agrees), reason), note, float(draws.mean()))


def tally(sections: Iterable[Section]) -> dict[str, int]:
    """How many rows have each verdict."""
    counts = dict.fromkeys((AGREES, DOCUMENTED, SHOWN, DIFFERS), 0)
    for section in sections:
        for row in section.rows:
            counts[row.verdict] += 1
    return counts


def _verdict(agrees: bool, reason: str) -> str:
    if agrees:
        return AGREES
    return DOCUMENTED if reason else DIFFERS


def _parse(paper: str) -> tuple[float, float]:
    """A printed number and half a unit of its last digit; a percentage is a share."""
    match = re.search(r"[-−]?\d*\.?\d+", paper)
    if match is None:
        raise ValueError(f"paper: no number in {paper!r}")
    text = match.group().replace("−", "-")
    decimals = len(text.split(".")[1]) if "." in text else 0
    scale = 100.0 if paper.rstrip().endswith("%") else 1.0
    return float(text) / scale, 0.5 * 10.0**-decimals / scale
