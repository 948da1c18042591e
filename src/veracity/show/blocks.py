"""What an answer is made of. A block holds readings, not strings: the medium decides on digits, width and colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veracity import words
from veracity.data import Finding
from veracity.measures import Quantity


@dataclass(frozen=True)
class Value:
    """A number in a table: a reading or a float, shown as a percentage or with given decimals where asked."""

    reading: Any
    percent: bool = False
    digits: int | None = None

    @property
    def text(self) -> str:
        return (words.percent if self.percent else words.number)(self.reading, self.digits)


@dataclass(frozen=True)
class Interval(Value):
    """The interval of a reading; empty for a reading without one."""

    @property
    def text(self) -> str:
        return words.interval(self.reading, self.percent, self.digits)


@dataclass(frozen=True)
class Label:
    """The name of a row, with the sentence that explains it and which way is better."""

    name: str
    gloss: str = ""
    arrow: str = ""

    @property
    def text(self) -> str:
        return self.name


Cell = str | Value | Label


@dataclass(frozen=True)
class Column:
    """A column of a table; the least important ones give way on a narrow screen, the highest rank first."""

    title: str
    number: bool = True
    rank: int = 0


@dataclass(frozen=True)
class Heading:
    """The title of an answer, with its subject in small print and the day it was made where a page shows it."""

    text: str
    note: str = ""
    date: str = ""


@dataclass(frozen=True)
class Sentence:
    """A conclusion: mark ✓ ✗ → or !, a short title, the sentence, and the command that does what it proposes.

    `lead` sentences are the headline.
    """

    mark: str
    title: str
    text: str
    command: str = ""
    lead: bool = False

    @property
    def opening(self) -> str:
        """Return the title as a sentence."""
        return words.sentence(self.title) if self.title else ""


@dataclass(frozen=True)
class Card:
    """One question and its answer at a glance."""

    question: str
    answer: str
    detail: str
    mark: str = ""


@dataclass(frozen=True)
class Cards:
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Table:
    """Rows of readings under named columns; `notes` are sentences below."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A picture by name, and the result that it draws."""

    name: str
    result: Any


@dataclass(frozen=True)
class Contents:
    """The end of the first page, where a page lists what follows; short media leave it out."""


@dataclass(frozen=True)
class FindingBlock:
    finding: Finding


@dataclass(frozen=True)
class Details:
    """A titled part that short media leave out; `folded` ones open on request."""

    title: str
    blocks: tuple[Any, ...]
    folded: bool = False


Block = Heading | Sentence | Cards | Table | Chart | Contents | FindingBlock | Details


def shown(quantity: Quantity, reading: Any) -> Value:
    """Return a reading as its quantity wants to be shown."""
    return Value(reading, quantity.percent, quantity.digits)


def interval(quantity: Quantity, reading: Any) -> Interval:
    return Interval(reading, quantity.percent, quantity.digits)


def fewest(readings: Sequence[Any], percent: bool = False) -> int:
    """Return the decimals that every reading of a column supports."""
    known = [words.decimals(one) for one in readings if words.finite(one) is not None]
    return max(min(known, default=3) - (2 if percent else 0), 0)


def label(quantity: Quantity) -> Label:
    return Label(quantity.titled, quantity.gloss, quantity.arrow)


def without_empty(table: Table) -> Table:
    """Return the table without columns that have nothing to show."""
    kept = [
        i for i in range(len(table.columns)) if any((c if isinstance(c, str) else c.text) for c in _column(table, i))
    ]
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[i] for i in kept), rows=rows)


def _column(table: Table, i: int) -> list[Cell]:
    return [row[i] for row in table.rows]


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield every block, those inside details too."""
    for block in blocks:
        yield block
        if isinstance(block, Details):
            yield from walk(block.blocks)
