"""How a file was understood: its format, the roles of its columns; `words/layout.py` has the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from .findings import Finding


@dataclass(frozen=True)
class Format:
    """How a text file is written."""

    delimiter: str | None = None
    encoding: str = ""  # where it is not UTF-8
    comment_lines: int = 0  # above the names of the columns
    empty: tuple[str, ...] = ()  # columns without a value
    decimal_comma: bool = False
    blank_rows: int = 0  # left out: without any value
    held_in: str = ""  # the list of a JSON object that holds the rows
    split: tuple[str, ...] = ()  # columns of text whose cells are lists of numbers, read as a column for each number


@dataclass(frozen=True)
class Event:
    """One value, or several, of the outcome is the event."""

    labels: tuple[str, ...] = ()
    above: float | None = None  # a measured outcome above this limit
    of: str = ""  # the measured column, where its name is told
    count: int | None = None  # of `total` cases, where every row was seen
    total: int = 0
    obvious: bool = False  # a short line need not tell it
    other: str = ""  # the option that makes the other class the event
    against_rest: bool = False


@dataclass(frozen=True)
class Classes:
    """The outcome is one of these classes; some may never occur."""

    names: tuple[str, ...]
    never: tuple[str, ...] = ()
    event: Event | None = None


@dataclass(frozen=True)
class Cuts:
    """A measured outcome is cut at limits into classes."""

    limits: tuple[float, ...]
    classes: tuple[str, ...]


class Rejection(Enum):
    """Why a column is not used."""

    PICK = "predicted label"
    PERCENT = "percentages of a forecast"
    REPEATED = "rows of one model repeat a case"


class Unused(NamedTuple):
    """A column that has no role, and why if that is not plain; `twin`: the forecast of which it holds percentages."""

    column: str
    reason: Rejection | None = None
    twin: str = ""


class Remark(NamedTuple):
    """A column that could have had a role: that of the outcome, or with an option that of the weights."""

    column: str
    option: str = ""


class Companion(NamedTuple):
    """Outcomes or weights in a file of their own, paired with the rows by ids or else by position."""

    held: str  # "outcome" or "weight"
    file: str
    on: tuple[str, ...] = ()
    only: str = ""  # the only file with ids, where that is why they are paired by position


@dataclass(frozen=True)
class Layout:
    """The columns of a table in the roles that a kind of file gives them.

    models    one entry per model: its name and its forecast columns, in the order of `classes`
              (one column: the probability of classes[1])
    classes   empty where only the probability of the outcome is known
    outcome   the column of the outcome; `outcomes`: one column per class
    """

    models: tuple[tuple[str, tuple[str, ...]], ...]
    classes: tuple[Any, ...] = ()
    outcome: str | None = None
    outcomes: tuple[str, ...] = ()
    scale: str = "probability"
    model_column: str | None = None
    case: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # how the classes are written in the outcome column
    roles: dict[str, str] = field(default_factory=dict)  # further columns by role: n, events, pick, class, value, …
    ideal: tuple[str, ...] = ()
    layout: str = ""  # public name of its kind, set by `recognise`
    findings: tuple[Finding, ...] = ()
    labelled: bool = True  # False: outcomes are not known
    picks_only: bool = False  # the event is "the pick was right"
    shares_only: bool = False  # weights are shares of an unknown number of cases
    half: bool = False  # probabilities were computed in half precision and stored in a higher one
    derived: bool = False  # probabilities are computed from the columns, which hold something else
    in_logs: bool = False  # logarithms in columns made of nested values: no name would say so in a file
    stacked: bool = False  # each row holds several separate yes/no events
    undivided: bool = False  # rows belong together: a batch must not part them
    certain: bool = False  # columns with names of this layout only: no other layout is looked for
    may_have_models: bool = True  # a column may name the model of each row
    no_answers: tuple[int, ...] = ()  # rows that are left out because they answer nothing
    basis: str = ""  # what the kind of file says of its forecasts: a label, printed and nothing else
    meaning: Event | Classes | Cuts | str = ""  # of the outcome; a label where the kind of file has one of its own
    unused: tuple[Unused, ...] = ()
    remark: Remark | None = None
    companions: tuple[Companion, ...] = ()  # how outcomes and weights in files of their own are paired with the rows
    joined_on: tuple[str, ...] = ()  # the id columns by which they are
    files: tuple[str, ...] = ()
    format: Format = Format()
    rows: int = 0
    class_counts: tuple[tuple[str, int], ...] = ()  # number of cases of each class, where every row was seen

    @property
    def named_models(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.models)

    @property
    def forecasts(self) -> tuple[str, ...]:
        """Forecast columns of all models."""
        return tuple(dict.fromkeys(c for _, columns in self.models for c in columns))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that must be read."""
        wanted = [*self.forecasts, *(c for c in (self.outcome, self.model_column) if c)]
        wanted += [*self.outcomes, *self.case, *self.roles.values(), *self.ideal]
        return tuple(dict.fromkeys(wanted))

    @property
    def row_is_forecast(self) -> bool:
        """Whether each row is one forecast of one model, whatever its outcome."""
        special = self.roles or self.outcomes or self.undivided or self.picks_only or self.model_column or self.derived
        return not special and bool(self.classes) and len(self.models) == 1

    @property
    def holds_its_forecasts(self) -> bool:
        """Whether each row holds one forecast as it is, in a column for each class or in one of two."""
        special = self.stacked or self.undivided or self.derived or self.in_logs
        columns = len(self.forecasts)
        whole = columns == len(self.classes) or (columns == 1 and len(self.classes) == 2)
        return not special and len(self.models) == 1 and whole

    def describe(self) -> str:
        """Return the block that is printed: files, roles of the columns, remarks."""
        from veracity.words.layout import block

        return block(self)

    def one_line(self, unused: str = "not used") -> str:
        """Return the same parts on one line; `unused`: a word for the other columns."""
        from veracity.words.layout import line

        return line(self, unused)
