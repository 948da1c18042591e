"""Tables of readings. A cell holds a reading, not a string: the medium decides on digits, width and colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veracity import words
from veracity.measures import HIGHER, LOWER, NEITHER, Quantity

ARROWS = {LOWER: "↓", HIGHER: "↑", NEITHER: ""}  # which way is better


@dataclass(frozen=True)
class Value:
    """A number in a table: a reading or a float, shown as a percentage or with given decimals where asked."""

    reading: float | None
    percent: bool = False
    digits: int | None = None

    @property
    def text(self) -> str:
        return (words.percent if self.percent else words.number)(self.reading, self.digits)


@dataclass(frozen=True)
class Statistic(Value):
    """A test statistic, with one decimal.

    >>> Statistic(-0.0007).text, Statistic(-2.34).text
    ('0.0', '−2.3')
    """

    @property
    def text(self) -> str:
        x = words.finite(self.reading)
        return words.number(self.reading) if x is None else words.rounded(x, 1)


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
    """A column of numbers or texts; the least important ones give way on a narrow screen, the highest rank first.

    `gloss` is a sentence below the table, where the column is shown.
    """

    title: str
    number: bool = True
    rank: int = 0
    gloss: str = ""


Title = str | tuple[str, int] | Column  # of a column of numbers, with its rank, or of any other


@dataclass(frozen=True)
class Table:
    """Rows of readings under named columns; `notes` are sentences below."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def below(self) -> list[str]:
        """Return the sentences below the table with all its columns."""
        return [*self.notes, *(column.gloss for column in self.columns if column.gloss)]


def described(quantity: Quantity, reading: float | None) -> tuple[Label, Value, Interval]:
    """Return the name of a quantity, with a reading and its interval as the quantity wants to be shown."""
    how = (reading, quantity.percent, quantity.digits)
    return Label(quantity.titled, quantity.gloss, ARROWS[quantity.better]), Value(*how), Interval(*how)


def named_in_papers(quantity: Quantity) -> str:
    """Return the label of a quantity with the papers' name in brackets."""
    return f"{quantity.label} ({quantity.paper})" if quantity.paper else quantity.label


def fewest(readings: Sequence[float | None], percent: bool = False) -> int:
    """Return the decimals that every reading of a column supports."""
    known = [words.decimals(one) for one in readings if words.finite(one) is not None]
    return max(min(known, default=3) - (2 if percent else 0), 0)


def telling(cells: Sequence[Value]) -> Sequence[Value]:
    """Return the cells of a column, or none where all say the same.

    >>> telling([Value(0.0), Value(0.0)]), len(telling([Value(0.0), Value(0.5)]))
    ((), 2)
    """
    return cells if len({cell.text for cell in cells}) > 1 else ()


def table(
    title: str,
    columns: Iterable[Title],
    rows: Iterable[Sequence[Cell]],
    notes: Iterable[str] = (),
    *,
    first: str | None = None,
    empty: bool = True,
) -> Table:
    """Return a table: first a column of names, under `first` or the title, then columns of numbers.

    A column is a title, (title, rank), or a Column for texts. Without `empty`, columns with nothing to show are left
    out; empty notes always are.
    """
    heads = [Column(title if first is None else first, number=False)]
    heads += [
        one if isinstance(one, Column) else Column(one) if isinstance(one, str) else Column(one[0], rank=one[1])
        for one in columns
    ]
    lines = list(rows)
    texts = [[cell if isinstance(cell, str) else cell.text for cell in row] for row in ([] if empty else lines)]
    kept = [i for i in range(len(heads)) if empty or any(row[i] for row in texts)]
    shown = tuple(tuple(row[i] for i in kept) for row in lines)
    return Table(title, tuple(heads[i] for i in kept), shown, tuple(note for note in notes if note))
