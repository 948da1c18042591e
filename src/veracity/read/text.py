"""Text tables: encoding, delimiter, decimal comma, per cent signs, missing values; plain UTF-8 for polars."""

from __future__ import annotations

import csv
import gzip
import os
import re
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

DELIMITERS = ("\t", ";", ",", "|")
MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", ".", "-", "#DIV/0!", "#VALUE!"]
LINES = 200  # the delimiter is judged on so many lines
AGREE = 0.99
IN_MEMORY = 1 << 24  # text files up to so many bytes are read whole, so that every value is known to the rules
SAMPLE = 20_000  # rows of a larger one that the rules look at


@dataclass(frozen=True)
class Text:
    """A text table made plain: where it lies, how it was written, its raw columns as strings."""

    lazy: pl.LazyFrame
    columns: tuple[str, ...]
    facts: tuple[str, ...]
    kinds: dict[str, str]  # column -> "text", "whole", "number", "comma", "percent", "comma percent"
    whole: pl.DataFrame | None  # all rows as strings, when the file is small
    sample: pl.DataFrame
    empty: tuple[str, ...]  # columns without a value, left out of the others
    written: Callable[[], pl.DataFrame]  # all rows again, with every letter that stands there
    keep: Scratch | None = None  # a rewritten copy lives as long as this


def opened(path: Path, shown: str) -> Text:
    """A text file as columns of strings, with what each column holds."""
    head = _head(path)
    encoding, facts = _encoding(head)
    if b"\0" in head and not encoding.startswith(("utf-16", "utf-32")):
        raise ValueError(
            f"{shown}: not a text file\n"
            "  give a CSV, Parquet, Arrow, JSON lines or npz file with the ending of its kind"
        )
    lines = head.decode(encoding, errors="ignore").lstrip("\ufeff").splitlines()
    skip = 0
    delimiter: str | None = None
    if lines and re.fullmatch(r"sep=.", lines[0].strip("\r\n") or "-"):
        delimiter, skip = lines[0].strip("\r\n")[4], 1
    body = [line for line in lines[skip:] if line.strip()][: LINES + 1]
    if len(lines) > 2 and not head.endswith((b"\n", b"\r", b"\n\0")) and len(head) >= _HEAD:
        body = body[:-1] if len(body) <= LINES else body
    if not body:
        raise ValueError(f"{shown}: the file is empty\n  it needs a line of column names and at least one row")
    delimiter = delimiter or _delimiter(body, shown)
    facts = (f"delimiter {_shown(delimiter)}", *facts) if delimiter else (*facts,)
    keep = None
    old_lines = b"\r" in head and b"\n" not in head  # as old Macintosh programs end them
    if encoding not in ("utf-8", "utf-8-sig") or delimiter == " " or old_lines:
        keep = _rewritten(path, shown, encoding, skip, delimiter == " ")
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
    if all(_is_number(re.sub(r"_duplicated_\d+$", "", name)) for name in full) and raw.height:
        raise ValueError(
            f"{shown}: the first line holds numbers ({', '.join(full[:4])}), not the names of columns\n"
            "  put a line of names above it, such as  y,p"
        )
    twice = [name for name in full if (m := re.fullmatch(r"(.+)_duplicated_\d+", name)) and m[1] in columns]
    if twice or len(set(names.values())) < len(names):
        name = re.sub(r"_duplicated_\d+$", "", twice[0]) if twice else "the same name"
        raise ValueError(f"{shown}: two columns are called `{name}`\n  give every column a name of its own")
    blanks = bool(raw.head(1000).select(pl.any_horizontal(pl.all().str.contains(r"^\s|\s$")).any()).item())
    clean = [(_bare(pl.col(c)) if blanks else pl.col(c)).alias(names[c]) for c in full]
    raw = raw.select(clean)
    kinds = {c: _kind(raw[c], delimiter == ",") for c in raw.columns}
    if any("comma" in kind for kind in kinds.values()):
        facts = (*facts, "decimal comma")
    lazy, whole = (raw.lazy(), raw) if small else (lazy.select(clean), None)

    def written() -> pl.DataFrame:
        return _scan(path, delimiter or "\x1f", skip, ()).select(pl.col(c).alias(names[c]) for c in full).collect()

    return Text(lazy, tuple(raw.columns), facts, kinds, whole, raw, tuple(names[c] for c in empty), written, keep)


_HEAD = 1 << 18


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        start = file.read(_HEAD)
    if start[:2] == b"\x1f\x8b":
        with gzip.open(path, "rb") as file:
            return file.read(_HEAD)
    if start[:4] == b"\x28\xb5\x2f\xfd":
        lines = pl.scan_lines(path).head(LINES * 2).collect().to_series().to_list()
        return ("\n".join(lines) + "\n").encode()
    return start


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


def _fields(line: str, delimiter: str) -> int:
    if delimiter == " ":
        return len(line.split())
    return len(re.sub(r'"[^"]*"', "", line).split(delimiter))


def _widths(lines: list[str], delimiter: str) -> list[int]:
    """Fields of each row; a value in quotes may go on in the next line."""
    if delimiter == " " or not any(line.count('"') % 2 for line in lines):
        return [_fields(line, delimiter) for line in lines]
    return [len(row) for row in csv.reader((line + "\n" for line in lines), delimiter=delimiter)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _delimiter(lines: list[str], shown: str) -> str | None:
    """The first of tab ; , | and runs of blanks that gives the same number of fields on nearly all lines."""
    for delimiter in (*DELIMITERS, " "):
        fields = _widths(lines, delimiter)
        most = max(set(fields), key=fields.count)
        if most >= 2 and fields.count(most) >= AGREE * len(fields) - 1e-9:
            return delimiter
    for delimiter in DELIMITERS:  # nearly all lines agree with the header: the others are named
        fields = _widths(lines, delimiter)
        width = fields[0]
        odd = [i for i, found in enumerate(fields) if found != width]
        if width >= 2 and len(odd) <= 0.2 * len(fields):
            raise ValueError(
                f"{shown}: row {odd[0]} has {fields[odd[0]]} fields, the header {width}\n"
                "  a value that contains the delimiter needs quotes"
            )
        rows = set(fields[1:])
        if len(rows) == 1 and width == max(rows) + 1 > 2 and lines[0].rstrip().endswith(delimiter):
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
                f"{shown}: {_lines_above(names)} above the column names ({lines[0].strip()[:40]!r})\n"
                "  the first line of a table names its columns: delete what is above it"
            )
    return None


def _lines_above(n: int) -> str:
    return "a line stands" if n == 1 else f"{n} lines stand"


def _shown(delimiter: str) -> str:
    return {"\t": "tab", " ": "blanks"}.get(delimiter, f'"{delimiter}"')


def _scan(path: Path, delimiter: str, skip: int, missing: Sequence[str] = MISSING) -> pl.LazyFrame:
    return pl.scan_csv(
        path,
        separator=delimiter,
        infer_schema=False,
        skip_lines=skip,
        null_values=list(missing),
        glob=False,
    )


def _chunks(path: Path, encoding: str) -> Iterator[str]:
    with path.open("rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    with gzip.open(path, "rt", encoding=encoding) if compressed else path.open(encoding=encoding) as lines:
        yield from lines


class Scratch:
    """A temporary file that goes when nobody holds it any more."""

    def __init__(self, suffix: str = "") -> None:
        handle, name = tempfile.mkstemp(suffix=suffix)
        os.close(handle)
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)


def _rewritten(path: Path, shown: str, encoding: str, skip: int, blanks: bool) -> Scratch:
    """A copy in UTF-8, runs of blanks as tabs, line by line: memory does not grow with the file."""
    copy = Scratch(".csv")
    try:
        with copy.path.open("w", encoding="utf-8", newline="") as file:
            for number, line in enumerate(_chunks(path, encoding)):
                if number >= skip:
                    bare = line.lstrip("\ufeff").rstrip("\r\n") if number == 0 else line.rstrip("\r\n")
                    file.write(("\t".join(bare.split()) if blanks else bare) + "\n")
    except UnicodeDecodeError as problem:
        raise ValueError(
            f"{shown}: byte {problem.start:,} is no text in any known encoding\n  save it as UTF-8"
        ) from None
    return copy


def _ragged(path: Path, delimiter: str, skip: int, shown: str) -> ValueError:
    lines = list(_chunks(path, "utf-8"))[skip:]
    width = _fields(lines[0], delimiter) if lines else 0
    for row, line in enumerate(lines[1:], start=1):
        if _fields(line, delimiter) > width:
            return ValueError(
                f"{shown}: row {row} has {_fields(line, delimiter)} fields, the header {width}\n"
                f"  a value that contains the delimiter needs quotes"
            )
    return ValueError(
        f"{shown}: the rows cannot be told apart\n  is a quote left open? Values with quotes need them doubled"
    )


def _bare(column: Any) -> Any:
    """Strings, or an expression of them, without blanks around; the words for missing are missing."""
    return column.str.strip_chars().replace(MISSING, [None] * len(MISSING))


def _kind(column: pl.Series, comma_delimiter: bool) -> str:
    """What the strings of a column are."""
    present = column.drop_nulls()
    if not present.len():
        return "number"
    percent = bool(present.str.ends_with("%").all())
    if percent:
        present = present.str.strip_suffix("%").str.strip_chars()
    few = present.head(100)
    if few.cast(pl.Float64, strict=False).null_count() == few.len() and not bool(
        few.str.contains(r"^[+-]?\d+,\d").any()
    ):
        return "text"
    if present.cast(pl.Int64, strict=False).null_count() == 0:
        return "percent" if percent else "whole"
    if bool(present.str.contains(r"^[+-]?\d{16,}$").all()):
        return "text"  # a number of a case that no float holds exactly
    if present.cast(pl.Float64, strict=False).null_count() == 0:
        return "percent" if percent else "number"
    if not comma_delimiter and bool(present.str.contains(r"^[+-]?\d+(,\d+)?(?:[eE][+-]?\d+)?$").all()):
        return "comma percent" if percent else "comma"
    return "text"


def typed(raw: pl.DataFrame, kinds: dict[str, str], where: Any) -> pl.DataFrame:
    """Strings as numbers where the column holds numbers; `where(column, index, value)` words a failure."""
    out = []
    for name in raw.columns:
        column, kind = raw[name], kinds.get(name, "text")
        if kind == "text" or column.dtype != pl.String:
            out.append(column)
            continue
        text = column
        if "percent" in kind:
            text = text.str.strip_suffix("%").str.strip_chars()
        if "comma" in kind:
            text = text.str.replace(",", ".", literal=True)
        numbers = text.cast(pl.Int64 if kind == "whole" else pl.Float64, strict=False)
        if kind == "whole" and numbers.null_count() > column.null_count():
            numbers = text.cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            column = _bare(column)
            numbers = _bare(text).cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            index = int((numbers.is_null() & column.is_not_null()).arg_max() or 0)
            raise where(name, index, column[index])
        out.append((numbers / 100.0 if "percent" in kind else numbers).alias(name))
    return pl.DataFrame(out)
