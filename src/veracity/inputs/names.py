"""Names in messages: arguments in Python, columns of a frame, columns and options of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from veracity.options import READING


@dataclass(frozen=True)
class Names:
    """How messages name the columns and options of one source; `style` is "array", "frame" or "file"."""

    style: str = "array"
    outcome: str = "y_true"
    forecast: str = "y_proba"
    weight: str = "sample_weight"
    count: str = "counts"
    cluster: str = "clusters"
    file: str = ""
    columns: tuple[str, ...] = field(default=())  # of the forecast, in a frame or file
    dates: bool = False  # times are dates, counted in days
    whole: bool = True  # False for one batch of many, whose messages must not speak of "all values"

    def at(self, row: int, column: int | None = None) -> str:
        """Return the place of a forecast: `y_proba[17, 2]`, or "row 17, `Predicted risk`"."""
        if self.style == "array":
            return f"{self.forecast}[{row}]" if column is None else f"{self.forecast}[{row}, {column}]"
        name = self.columns[column or 0] if self.columns else self.forecast
        return f"row {row}, `{name}`"

    def cell(self, name: str, row: int) -> str:
        """Return the place of a value in another column: `sample_weight[3]`, or "row 3, `weight`"."""
        return f"{name}[{row}]" if self.style == "array" else f"row {row}, `{name}`"

    def called(self, name: str) -> str:
        return name if self.style == "array" else f"`{name}`"

    def option(self, name: str, value: Any = True) -> str:
        """Return an option as this caller would write it: --scale percent, or scale="percent"."""
        if self.style == "file":
            return f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
        if self.style == "frame":
            return f"{name}={value!r}".replace("'", '"')
        return f"Forecasts.of(…, {READING[name].argument if name in READING else name}={value!r})".replace("'", '"')

    def error(self, what: str, remedy: str = "") -> ValueError:
        """Return the error: a line with the place and the problem, and a line with the remedy."""
        start = f"{self.file}: " if self.file else ""
        return ValueError(f"{start}{what}" + (f"\n  {remedy}" if remedy else ""))


class FileName(str):
    """The name by which messages call a file; `typed` is its path as it was given, which commands need."""

    typed: str

    @classmethod
    def of(cls, name: str, typed: str) -> FileName:
        file = cls(name)
        file.typed = typed
        return file


def as_typed(name: str) -> str:
    """Return the path of a file as it was given, where only its name is known the name."""
    return name.typed if isinstance(name, FileName) else name


def listed(values: Any, limit: int = 6) -> str:
    """Return a short list for a message."""
    shown = [str(v) for v in list(values)[:limit]]
    return ", ".join(shown) + (", …" if len(values) > limit else "")


def number(x: Any) -> str:
    """Return a value with six digits, or with all where six would show 1: 1.0000002 is not 1."""
    value = float(x) + 0.0  # no negative zero
    return repr(value) if value != 1 and abs(value - 1) < 1e-5 else f"{value:.6g}"


def first_line(problem: BaseException) -> str:
    """Return the first line of what an error says, to be shown in a message of ours; its kind where it says nothing."""
    return next(iter(str(problem).splitlines()), type(problem).__name__)


def many(n: int, what: str) -> str:
    """Return a number with its noun: "1 row", "2,000 rows"."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def run_of(columns: Sequence[str]) -> str:
    """Return names of columns; a long list by its ends: p0…p9."""
    return " ".join(columns) if len(columns) <= 6 else f"{columns[0]}…{columns[-1]}"


def short(values: Sequence[Any], between: str = " ") -> str:
    """Return all values, or the ends of a long list with its length."""
    values = list(values)
    return between.join(map(str, values)) if len(values) <= 12 else f"{values[0]}…{values[-1]} ({len(values)})"
