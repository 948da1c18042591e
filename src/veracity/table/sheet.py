"""Small text files as cells: encoding, delimiter, decimal comma, per cent signs.

The csv module reads them: a table of counts is small, and waiting for a data frame library would cost more.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DELIMITERS = ("\t", ";", ",", "|", " ")
FORMS = (
    "  matrix:       forecast,no,yes  then one line per category:  low,83,56\n"
    "  tidy:         forecast,observed,n  then one line per pair:  low,yes,56\n"
    "  probability:  p,n,events  then one line per forecast:  0.4,139,56\n"
    "  case by case: forecast,observed  then one line per case:  low,yes"
)


@dataclass(frozen=True)
class Sheet:
    """Cells of a text file. Columns are found by name, compared lower-case with blanks, dots and hyphens as _."""

    name: str
    header: list[str]
    cells: list[list[str]]
    comma: bool  # decimal comma

    def column(self, at: int) -> list[str]:
        return [row[at] for row in self.cells]

    def find(self, names: Sequence[str], taken: Sequence[int] = ()) -> int | None:
        titles = [plain(title) for title in self.header]
        return next((titles.index(name) for name in names if name in titles and titles.index(name) not in taken), None)

    def named(self, title: str, option: str) -> int:
        if title in self.header:
            return self.header.index(title)
        raise ValueError(f"{self.name}: no column `{title}` ({option}); columns: {', '.join(self.header)}")

    def numbers(self, at: int) -> list[float]:
        found = [self.number(cell) for cell in self.column(at)]
        for i, value in enumerate(found):
            if value is None:
                cell = self.cells[i][at]
                what = f"{cell!r} is not a number" if cell else "the cell is empty; write 0 where nothing happened"
                raise ValueError(f"{self.name}: row {i + 1}, column `{self.header[at]}`: {what}")
        return [value for value in found if value is not None]

    def probabilities(self, at: int) -> dict[str, float] | None:
        """{as written: value} of a column of probabilities, lowest first; None for labels, 0/1 and other numbers."""
        found = {cell: self.number(cell) for cell in self.column(at)}
        values = [value for value in found.values() if value is not None and 0.0 <= value <= 1.0]
        if len(values) < len(found) or all(value in (0.0, 1.0) for value in values):
            return None
        return dict(sorted(((cell, float(value or 0.0)) for cell, value in found.items()), key=lambda pair: pair[1]))

    def roles(self, used: dict[str, int | None]) -> str:
        """Which column was taken for what, and which were not used."""
        said = ", ".join(f"{role} `{self.header[at]}`" for role, at in used.items() if at is not None)
        rest = [f"`{title}`" for j, title in enumerate(self.header) if j not in used.values()]
        unused = f"; not used: {', '.join(rest)}" if rest else ""
        return f"Read as {said}{unused}."

    def numeric(self, at: int) -> bool:
        return all(self.number(cell) is not None for cell in self.column(at))

    def number(self, cell: str) -> float | None:
        return number(cell, self.comma)


def opened(path: str) -> Sheet:
    name = "standard input" if path == "-" else Path(path).name
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    lines = _decoded(data, name).splitlines()
    delimiter = None
    if lines and (told := re.fullmatch(r'"?sep=(.)"?', lines[0].strip())):
        delimiter, lines = told[1], lines[1:]
    lines = [line for line in lines if line.strip(" \t;,|")]
    if len(lines) < 2:
        what = "one line only" if lines else "empty"
        raise ValueError(f"{name}: {what}; a table needs at least two lines.\n  forms that are read:\n{FORMS}")
    delimiter = delimiter or _delimiter(lines)
    cells = _split(lines, delimiter)
    width = max(len(row) for row in cells)
    cells = [row + [""] * (width - len(row)) for row in cells]
    used = [j for j in range(width) if any(row[j] for row in cells)]
    cells = [[row[j] for j in used] for row in cells]
    return Sheet(name, cells[0], cells[1:], comma=delimiter != ",")


def _decoded(data: bytes, name: str) -> str:
    if data[:4] == b"PK\x03\x04" or data[:4] == b"\xd0\xcf\x11\xe0":
        raise ValueError(f"{name}: an Excel workbook: save the sheet as CSV (any delimiter) and try again")
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[:4] == b"PAR1" or (b"\x00" in data[:200] and data[:2] not in (b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{name}: not a text file; a table is read from CSV (any delimiter)")
    for encoding in ("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def _delimiter(lines: list[str]) -> str:
    """The first that cuts every line into the same number of fields, two at least."""
    for delimiter in DELIMITERS:
        widths = {len(row) for row in _split(lines, delimiter)}
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    return next((d for d in DELIMITERS if d in lines[0]), ",")


def _split(lines: list[str], delimiter: str) -> list[list[str]]:
    if delimiter == " ":
        return [line.split() for line in lines]
    return [[cell.strip() for cell in row] for row in csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter)]


def number(cell: str, comma: bool) -> float | None:
    text = cell.strip().replace("−", "-")
    percent = text.endswith("%")
    text = text.rstrip("% ")
    if comma and re.fullmatch(r"[+-]?\d*,\d+", text):
        text = text.replace(",", ".")
    try:
        value = float(text)
    except ValueError:
        return None
    return value / 100.0 if percent else value


def whole_labels(labels: list[str]) -> list[str]:
    """1.0 and 0.0 as 1 and 0."""
    return [label[:-2] for label in labels] if all(re.fullmatch(r"-?\d+\.0", label) for label in labels) else labels


def plain(title: str) -> str:
    return re.sub(r"[ .\-]", "_", title.strip().lower())
