"""What an answer is made of: headings, sentences, cards, tables, pictures and parts that hold others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from veracity import words
from veracity.records.findings import Finding
from veracity.show.cells import Table

if TYPE_CHECKING:
    from veracity.results.assess import Assessments
    from veracity.results.assessment import Assessment
    from veracity.results.comparison import Comparison
    from veracity.results.estimate import Estimate
    from veracity.results.monitor import Monitor
    from veracity.table import TableAssessment

Result: TypeAlias = "Assessment | Assessments | Comparison | Estimate | Monitor | TableAssessment"


@dataclass(frozen=True)
class Heading:
    """The title of an answer, with its subject in small print and the day it was made where a page shows it."""

    text: str
    note: str = ""
    date: str = ""


@dataclass(frozen=True)
class Sentence:
    """A conclusion: mark ✓ ✗ → or !, a short title, the sentence, and what does what it proposes: command and Python.

    `lead` sentences are the headline.
    """

    mark: str
    title: str
    text: str
    command: str = ""
    python: str = ""
    lead: bool = False

    @property
    def opening(self) -> str:
        """Return the title as a sentence."""
        return words.sentence(self.title) if self.title else ""

    @property
    def proposed(self) -> list[str]:
        """Return the lines that do what it proposes, for a text."""
        return (self.command or self.python).splitlines()


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
class Chart:
    """A picture by name, and the result that it draws."""

    name: str
    result: Result


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
    blocks: tuple[Block, ...]
    folded: bool = False


Block = Heading | Sentence | Cards | Table | Chart | Contents | FindingBlock | Details


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield every block, those inside details too."""
    for block in blocks:
        yield block
        if isinstance(block, Details):
            yield from walk(block.blocks)
