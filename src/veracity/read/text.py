"""Text files: encoding, delimiter, quotes, decimal comma, percent signs, missing values.

`opened` gives columns of any length for forecasts, `cells` the cells of a small table of counts.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..data.names import many

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
DELIMITERS = ("\t", ";", ",", "|")
MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", ".", "-", "#DIV/0!", "#VALUE!"]
LINES = 200  # the delimiter is judged on so many lines
AGREE = 0.99
IN_MEMORY = 1 << 24  # text files up to so many bytes are read whole, so that every value is known to the rules
SAMPLE = 20_000  # rows of a larger one that the rules look at


@dataclass(frozen=True)
class Text:
    """A text table as columns of strings: where it lies, how it was written."""

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    facts: tuple[str, ...]
    kinds: dict[str, str]  # column -> "text", "whole", "number", "comma", "percent", "comma percent"
    whole: pl.DataFrame | None  # all rows as strings, when the file is small
    empty: tuple[str, ...]  # columns without a value, left out of the others
    written: Callable[[], pl.DataFrame]  # reads all rows again, every letter as it is in the file
    keep: Scratch | None = None  # a rewritten copy lives as long as this


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    encoding: str
    delimiter: str | None
    skip: int  # lines before the header
    facts: tuple[str, ...]
    rewrite: bool  # polars cannot read it as it is


def _dialect(path: Path, shown: str, kinds: str) -> Dialect:
    head = _head(path)
    encoding, facts = _encoding(head)
    if head[:4] == b"PAR1" or (b"\0" in head and not encoding.startswith(("utf-16", "utf-32"))):
        raise ValueError(f"{shown}: not a text file\n  give {kinds}")
    lines = head.decode(encoding, errors="ignore").lstrip("\ufeff").splitlines()
    given = re.fullmatch(r'"?sep=(.)"?', lines[0].strip("\r\n")) if lines else None
    skip = 1 if given else 0
    body = [line for line in lines[skip:] if line.strip()][: LINES + 1]
    if len(head) >= _HEAD and not head.endswith((b"\n", b"\r", b"\n\0")) and len(lines) > 2 and len(body) <= LINES:
        body = body[:-1]  # cut in the middle
    if not body:
        raise ValueError(f"{shown}: the file is empty\n  it needs a line of column names and at least one row")
    delimiter = given[1] if given else _delimiter(body, shown)
    if delimiter:
        facts = ("delimiter " + {"\t": "tab", " ": "blanks"}.get(delimiter, f'"{delimiter}"'), *facts)
    old_macintosh = b"\r" in head and b"\n" not in head
    rewrite = old_macintosh or delimiter == " " or encoding not in ("utf-8", "utf-8-sig")
    return Dialect(encoding, delimiter, skip, facts, rewrite)


def cells(path: Path, shown: str) -> tuple[list[list[str]], bool]:
    """Return the cells of a small text file, without blanks around, and whether commas are decimal commas."""
    dialect = _dialect(path, shown, "CSV (any delimiter)")
    given = list(lines(path, dialect.encoding, shown))[dialect.skip :]
    given = [line.lstrip("\ufeff") for line in given if line.strip(" \t\r\n;,|")]
    delimiter = dialect.delimiter or next((d for d in DELIMITERS if d in given[0]), ",")
    rows = [line.split() for line in given] if delimiter == " " else csv.reader(given, delimiter=delimiter)
    return [[cell.strip().replace("−", "-") for cell in row] for row in rows], delimiter != ","


def opened(path: Path, shown: str) -> Text:
    """Return a text file as columns of strings, with the kind of each column."""
    dialect = _dialect(path, shown, "a CSV, Parquet, Arrow, JSON lines or npz file with the ending of its kind")
    delimiter, skip, facts, keep = dialect.delimiter, dialect.skip, dialect.facts, None
    if dialect.rewrite:
        keep = _rewritten(path, shown, dialect)
        path, skip = keep.path, 0
        delimiter = "\t" if delimiter == " " else delimiter
    lazy = _scan(path, delimiter or "\x1f", skip)
    try:
        columns = tuple(lazy.collect_schema().names())
        small = path.stat().st_size <= IN_MEMORY
        raw = lazy.collect() if small else lazy.head(SAMPLE).collect()
    except pl.exceptions.PolarsError:
        raise _ragged(path, delimiter or "\x1f", skip, shown) from None
    # an empty column is dropped; of a file that was not read whole, only one that has no name either
    full = [c for c in columns if raw[c].null_count() < raw.height or (c and not c.startswith("_dupl") and not small)]
    full = full or [c for c in columns if c]
    empty = [c for c in columns if c not in full and c.strip() and "_duplicated_" not in c]
    facts = (*facts, f"empty: {', '.join(empty[:6])}") if empty else facts
    names = {name: name.strip() or f"column {columns.index(name) + 1}" for name in columns}
    if all(number(re.sub(r"_duplicated_\d+$", "", name)) is not None for name in full) and raw.height:
        raise ValueError(
            f"{shown}: the first line holds numbers ({', '.join(full[:4])}), not the names of columns\n"
            "  put a line of names above it, such as  y,p"
        )
    twice = [name for name in full if (m := re.fullmatch(r"(.+)_duplicated_\d+", name)) and m[1] in columns]
    if twice or len(set(names.values())) < len(names):
        name = re.sub(r"_duplicated_\d+$", "", twice[0]) if twice else "the same name"
        raise ValueError(f"{shown}: two columns are called `{name}`\n  give every column a name of its own")
    blanks = bool(raw.head(1000).select(pl.any_horizontal(pl.all().str.contains(r"^\s|\s$")).any()).item())
    clean = [(bare(pl.col(c)) if blanks else pl.col(c)).alias(names[c]) for c in full]
    raw = raw.select(clean)
    kinds = {c: kind_of(raw[c], delimiter != ",") for c in raw.columns}
    if any("comma" in kind for kind in kinds.values()):
        facts = (*facts, "decimal comma")
    lazy, whole = (raw.lazy(), raw) if small else (lazy.select(clean), None)

    def written() -> pl.DataFrame:
        return _scan(path, delimiter or "\x1f", skip, ()).select(pl.col(c).alias(names[c]) for c in full).collect()

    return Text(lazy, tuple(raw.columns), facts, kinds, whole, tuple(names[c] for c in empty), written, keep)


_HEAD = 1 << 18


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        start = file.read(_HEAD)
    if start[:2] == GZIP:
        with gzip.open(path, "rb") as file:
            return file.read(_HEAD)
    if start[:4] == ZSTD:
        lines = pl.scan_lines(path).head(LINES * 2).collect().to_series().to_list()
        return ("\n".join(lines) + "\n").encode()
    return start


def first_byte(path: Path) -> bytes:
    """Return the first byte of a text that is no blank."""
    return _head(path).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]


def _encoding(head: bytes) -> tuple[str, tuple[str, ...]]:
    if head[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "utf-32", ("UTF-32",)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16", ("UTF-16",)
    if len(head) > 8 and set(head[1:16:2]) == {0} and 0 not in head[:16:2]:
        return "utf-16-le", ("UTF-16",)
    if len(head) > 8 and set(head[:16:2]) == {0} and 0 not in head[1:16:2]:
        return "utf-16-be", ("UTF-16",)
    if head[:3] == b"\xef\xbb\xbf":
        return "utf-8-sig", ()
    try:
        head[: _HEAD - 4 if len(head) >= _HEAD else None].decode("utf-8")
        return "utf-8", ()
    except UnicodeDecodeError as problem:
        if len(head) >= _HEAD and problem.start > len(head) - 8:
            return "utf-8", ()
        return "cp1252", ("Windows-1252",)


def _widths(rows: Iterable[str], delimiter: str) -> list[int]:
    """Return the number of fields of each record; a value in quotes may go on in the next line."""
    if delimiter == " ":
        return [len(row.split()) for row in rows]
    return [len(record) for record in csv.reader((row.rstrip("\r\n") + "\n" for row in rows), delimiter=delimiter)]


def _delimiter(body: list[str], shown: str) -> str | None:
    """Return the first of tab ; , | and runs of blanks that gives the same number of fields on nearly all lines."""
    for delimiter in (*DELIMITERS, " "):
        fields = _widths(body, delimiter)
        most = max(set(fields), key=fields.count)
        if most >= 2 and fields.count(most) >= AGREE * len(fields) - 1e-9:
            return delimiter
    for delimiter in DELIMITERS:  # nearly all lines agree with the header: the others are named
        fields = _widths(body, delimiter)
        width = fields[0]
        odd = [i for i, found in enumerate(fields) if found != width]
        if width >= 2 and len(odd) <= 0.2 * len(fields):
            raise ValueError(
                f"{shown}: row {odd[0]} has {fields[odd[0]]} fields, the header {width}\n"
                "  a value that contains the delimiter needs quotes"
            )
        rows = set(fields[1:])
        if len(rows) == 1 and width == max(rows) + 1 > 2 and body[0].rstrip().endswith(delimiter):
            return delimiter  # at the end of the names only
        if len(rows) == 1 and 2 <= width < max(rows):
            raise ValueError(
                f"{shown}: the rows have {max(rows)} fields, the line of names {width}\n"
                "  name every column (numbers of rows too); a delimiter at the end of a line counts"
            )
        most = max(fields[1:], default=1)
        names = fields.index(most) if most >= 2 else 0
        if width == 1 and 0 < names <= 10 and set(fields[names:]) == {most}:
            raise ValueError(
                f"{shown}: {many(names, 'line')} above the column names ({body[0].strip()[:40]!r})\n"
                "  the first line of a table names its columns: delete what is above it"
            )
    return None


def _scan(path: Path, delimiter: str, skip: int, missing: Sequence[str] = MISSING) -> pl.LazyFrame:
    return pl.scan_csv(
        path, separator=delimiter, infer_schema=False, skip_lines=skip, null_values=list(missing), glob=False
    )


def lines(path: Path, encoding: str, shown: str) -> Iterator[str]:
    """Yield the lines of a text file, compressed or not."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == ZSTD:
        yield from pl.read_lines(path).to_series()
        return
    try:
        compressed = magic[:2] == GZIP
        with gzip.open(path, "rt", encoding=encoding) if compressed else path.open(encoding=encoding) as text:
            yield from text
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"{shown}: byte {problem.start:,} is no text in any known encoding\n  save it as UTF-8"
        ) from None


class Scratch:
    """A temporary file that is deleted with this object."""

    def __init__(self, suffix: str = "") -> None:
        handle, name = tempfile.mkstemp(suffix=suffix)
        os.close(handle)
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)


def _rewritten(path: Path, shown: str, dialect: Dialect) -> Scratch:
    """Return a copy in UTF-8, runs of blanks as tabs, made line by line: memory does not grow with the file."""
    copy = Scratch(".csv")
    with copy.path.open("w", encoding="utf-8", newline="") as file:
        for number, line in enumerate(lines(path, dialect.encoding, shown)):
            if number >= dialect.skip:
                bare = line.lstrip("\ufeff").rstrip("\r\n") if number == 0 else line.rstrip("\r\n")
                file.write(("\t".join(bare.split()) if dialect.delimiter == " " else bare) + "\n")
    return copy


def _ragged(path: Path, delimiter: str, skip: int, shown: str) -> ValueError:
    header, *widths = _widths(list(lines(path, "utf-8", shown))[skip:], delimiter)
    for row, width in enumerate(widths, start=1):
        if width > header:
            return ValueError(
                f"{shown}: row {row} has {width} fields, the header {header}\n"
                "  a value that contains the delimiter needs quotes"
            )
    return ValueError(
        f"{shown}: the rows cannot be told apart\n  is a quote left open? Values with quotes need them doubled"
    )


def bare(column: Any) -> Any:
    """Return strings, or an expression of them, without blanks around; the words for missing are missing."""
    return column.str.strip_chars().replace(MISSING, [None] * len(MISSING))


def kind_of(column: pl.Series, comma: bool) -> str:
    """Return what the strings of a column are; `comma`: decimal commas are possible."""
    present = column.drop_nulls()
    if not present.len():
        return "number"
    percent = bool(present.str.ends_with("%").all())
    if percent:
        present = present.str.strip_suffix("%").str.strip_chars()
    few = present.head(100)
    decimal = bool(few.str.contains(r"^[+-]?\d+,\d").any())
    if few.cast(pl.Float64, strict=False).null_count() == few.len() and not decimal:
        return "text"
    if present.cast(pl.Int64, strict=False).null_count() == 0:
        return "percent" if percent else "whole"
    if bool(present.str.contains(r"^[+-]?\d{16,}$").all()):
        return "text"  # a number of a case that no float holds exactly
    if present.cast(pl.Float64, strict=False).null_count() == 0:
        return "percent" if percent else "number"
    if comma and bool(present.str.contains(r"^[+-]?\d+(,\d+)?(?:[eE][+-]?\d+)?$").all()):
        return "comma percent" if percent else "comma"
    return "text"


def parsed(column: pl.Series, kind: str) -> pl.Series:
    """Return strings of a kind as numbers, null where they are none."""
    if "percent" in kind:
        column = column.str.strip_suffix("%").str.strip_chars()
    if "comma" in kind:
        column = column.str.replace(",", ".", literal=True)
    if kind == "whole":
        whole = column.cast(pl.Int64, strict=False)
        if whole.null_count() == column.null_count():
            return whole
    numbers = column.cast(pl.Float64, strict=False)
    return numbers / 100.0 if "percent" in kind else numbers


def number(cell: str, comma: bool = False) -> float | None:
    """Return the number in a cell, else None; `comma`: a decimal comma is one."""
    column = pl.Series([cell.strip()])
    value = parsed(column, kind_of(column, comma)).item()
    return None if value is None else float(value)
