"""Text files: encoding, delimiter, quotes, decimal comma, percent signs, missing values."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from veracity.inputs.names import many
from veracity.records.layout import Format

from ..options import ReadOptions
from .limits import GZIP, ZSTD, require_few_columns
from .paths import Scratch
from .proposals import Proposal, Refusal
from .strings import MISSING, bare, kind_of
from .table import ROW, SLICE, SLICES, NoRows, Table, resample, with_given

DELIMITERS = ("\t", ";", ",", "|")
ONE_COLUMN = "\x1f"  # a delimiter that no table has
MARKS = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
LINE_ENDS = re.compile(r"\r\n|\r|\n")
BLANKS = re.compile(r"[ \t]+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%?")
COMMA_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*%?")
LINES = 200  # the delimiter is judged on so many records
AGREE = 0.99
IN_MEMORY = 1 << 24  # text files up to so many bytes are read whole, so that every value is known to the rules
SAMPLE = 20_000  # rows of a larger one that the rules look at
NUMERIC = {"whole": pl.Int64, "number": pl.Float64}  # kinds of columns that polars reads as numbers by itself


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    encoding: str
    delimiter: str | None
    skip: int  # lines before the header
    format: Format
    rewrite: bool  # polars cannot read it as it is
    header: tuple[str, ...] = ()  # names of all columns
    unnamed: bool = False  # the first column has no name, as R writes the names of rows


def _dialect(path: Path, shown: str) -> Dialect:
    head = _head(path)
    encoding, shown_encoding = _encoding(head)
    if head[:4] == b"PAR1" or (b"\0" in head and not encoding.startswith(("utf-16", "utf-32"))):
        kinds = "a CSV, Parquet, Arrow, JSON lines or npz file with the ending of its kind"
        raise ValueError(f"{shown}: not a text file\n  give {kinds}")
    text = head.decode(encoding, errors="ignore").lstrip("\ufeff")
    cut = len(head) >= _HEAD  # the last record may not be whole
    lines = LINE_ENDS.split(text)
    given = re.fullmatch(r'"?sep=(.)"?', lines[0])
    skip = 1 if given else _comments(lines)
    body = "\n".join(lines[skip:])
    if not body.strip(" \n\x1a"):
        raise ValueError(f"{shown}: the file is empty\n  it needs a line of column names and at least one row")
    delimiter = given[1] if given else _delimiter(body, cut, shown)
    written = Format(delimiter, shown_encoding, 0 if given else skip)
    old_macintosh = b"\r" in head and b"\n" not in head
    rewrite = old_macintosh or delimiter == " " or encoding not in ("utf-8", "utf-8-sig")
    records = _records(body, delimiter or ONE_COLUMN, cut)
    header, unnamed = records[0] if records else [], _has_names_of_rows(records)
    return Dialect(encoding, delimiter, skip, written, rewrite, ("", *header) if unnamed else tuple(header), unnamed)


def _comments(lines: list[str]) -> int:
    """Return the number of lines before the header that begin with #; the names of the columns may do so too."""
    count = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    if count == 0 or count + 1 >= len(lines):
        return 0
    last, after = lines[count - 1], lines[count]
    for delimiter in DELIMITERS:
        names, row = last.split(delimiter), after.split(delimiter)
        if len(names) == len(row) > 1 and any(NUMBER.fullmatch(cell.strip(' "')) for cell in row):
            return count - 1
    return count


def _between_blanks(line: str) -> list[str]:
    """Return the values of a line between runs of blanks; those in quotes may hold blanks."""
    if '"' not in line:
        return BLANKS.split(line.strip(" \t"))
    return next(csv.reader([BLANKS.sub(" ", line.strip(" \t"))], delimiter=" "), [])


def _records(text: str, delimiter: str, cut: bool) -> list[list[str]]:
    """Return the first records that are not blank; a value in quotes may go on in the next line."""
    if delimiter == " ":
        reader: Iterator[list[str]] = map(_between_blanks, text.split("\n"))
    else:
        reader = iter(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    records: list[list[str]] = []
    try:
        for record in reader:
            if any(cell.strip(" \x1a") for cell in record):
                records.append(record)
            if len(records) > LINES + 1:
                return records[:-1]
    except csv.Error:  # a value that is longer than any in a table
        cut = True
    return records[:-1] if cut and len(records) > 2 else records


def table_of(path: Path, shown: str, reading: ReadOptions) -> Table:
    """Return a text file as a table of strings, with the kind of each column; rows without a value are left out."""
    header = not reading.no_header
    named = {reading.positive, *reading.order, *reading.versus_rest}  # classes, also words for a missing value
    dialect = _dialect(path, shown)
    delimiter, skip, keep = dialect.delimiter, dialect.skip, None
    if dialect.rewrite:
        keep = _rewritten(path, shown, dialect)
        path, skip = keep.path, 0
        delimiter = "\t" if delimiter == " " else delimiter
    classes = _words_of_classes(dialect.header if header else (), named)
    missing = [word for word in MISSING if word not in classes]
    unnamed = header and dialect.unnamed
    scan = partial(pl.scan_csv, path, separator=delimiter or ONE_COLUMN, infer_schema=False, glob=False)
    scan = partial(scan, skip_lines=skip + unnamed, has_header=header and not unnamed)
    lazy = scan(null_values=missing)
    try:
        columns = tuple(lazy.collect_schema().names())
        require_few_columns(len(columns), shown)
        small = path.stat().st_size <= IN_MEMORY
        # of a long text lines are counted, which is quick, unless its rows are paired with others; counting maps the
        # file into memory, so it is done before there are values
        counted = small or bool(reading.label_file or reading.weight or reading.where)
        lines = None if counted else int(scan().select(pl.len()).collect(engine="streaming").item())
        first = lazy.collect() if small else lazy.head(SLICES * SLICE).collect()
    except pl.exceptions.PolarsError:
        raise _ragged(path, delimiter or ONE_COLUMN, skip, shown) from None
    raw = first if small else first.head(SAMPLE)
    written = dialect.header if len(dialect.header) == len(columns) else columns
    bare_names = {c: name.strip() if header else "" for c, name in zip(columns, written, strict=True)}
    # an empty column is dropped; of a file that was not read whole, only one that has no name either
    nulls = dict(zip(columns, raw.null_count().row(0), strict=True))
    full = [c for c in columns if nulls[c] < raw.height or (bare_names[c] and not small)]
    full = full or [c for c in columns if bare_names[c]]
    if header and raw.height:
        _refuse_numbers_as_names([bare_names[c] for c in full], shown)
    names, same = _own_names({c: bare_names[c] or f"column {i}" for i, c in enumerate(columns, 1)}, raw, small)
    full = [c for c in full if c in names]
    filled = set(full)
    empty = [c for c in names if c not in filled and bare_names[c]]
    blanks = bool(raw.head(1000).select(pl.any_horizontal(pl.all().str.contains(r"^\s|\s$")).any()).item())
    clean = [(bare(pl.col(c), missing) if blanks else pl.col(c)).alias(names[c]) for c in full]
    raw = raw.select(clean)
    kinds = {c: kind_of(bare(raw[c]) if classes else raw[c], delimiter != ",") for c in raw.columns}
    comma = any("comma" in kind for kind in kinds.values())
    told = replace(dialect.format, empty=tuple(names[c] for c in empty), decimal_comma=comma)

    def as_written() -> pl.DataFrame:
        return scan().select(pl.col(c).alias(names[c]) for c in full).collect()

    def filled_rows(frame: pl.LazyFrame) -> pl.LazyFrame:
        frame = frame.with_row_index(ROW, offset=1)
        return frame.filter(~pl.all_horizontal(pl.col(raw.columns).is_null())) if raw.columns else frame

    lazy = filled_rows(raw.lazy() if small else lazy.select(clean))
    converted = frozenset(name for name, kind in kinds.items() if kind != "text" and not small)
    table = Table(
        # in one scan, so that what is missing stays empty
        *(shown, "file", with_given(lazy, converted), tuple(raw.columns), 0, pl.DataFrame(), small, told, kinds),
        numbered=True,
        keep=keep,
        empty=tuple(names[c] for c in empty),
        header=tuple(name for c, name in names.items() if c in filled or bare_names[c]),
        converted=converted,
        written=as_written if small else None,
        same=same,
    )
    if not small and not blanks:
        types = {c: NUMERIC[kinds[names[c]]] for c in full if kinds[names[c]] in NUMERIC}
        readings = [scan(null_values=missing, schema_overrides=types).select(clean)]
        if not any(nulls[c] for c in types):  # to look for the words in each value takes as long as reading it
            plain = [_without(pl.col(c), types.get(c), missing).alias(names[c]) for c in full]
            readings.insert(0, scan(schema_overrides=types).select(plain))
        table.numeric = (table.lazy, *map(filled_rows, readings))
    table.counted = counted
    resample(table, lines, filled_rows(first.lazy().select(clean)))
    if table.rows == 0 or not table.sample.height:
        raise NoRows(f"{shown}: no rows below the column names\n  there is nothing to assess")
    if small and table.rows < raw.height:  # rows of words for "missing", unlike empty ones, are not left out in silence
        left_out = as_written().filter(pl.any_horizontal(pl.all().is_not_null())).height - table.rows
        table.format = replace(table.format, blank_rows=left_out)
    return table


def _without(column: pl.Expr, kind: Any, missing: Sequence[str]) -> pl.Expr:
    """Return a column in which words for "missing" are: of numbers polars reads NaN and refuses all others."""
    if kind is None:
        return column.replace(list(missing), [None] * len(missing))
    return column.fill_nan(None) if kind == pl.Float64 else column


def _refuse_numbers_as_names(names: Sequence[str], shown: str) -> None:
    """Refuse a first line that is a row like the others."""
    if names and all(map(NUMBER.fullmatch, names)):
        raise Refusal(
            f"the first line holds numbers ({', '.join(names[:4])}), not the names of columns.",
            Proposal("if it is a row like the others", {"no_header": True}, "assess"),
            otherwise="put a line of names above it, such as  y,p      if it is a row like the others:  "
            "--no-header --label COL        (columns are called 'column 1', 'column 2', …)",
            file=shown,
        )


def _words_of_classes(header: Sequence[str], labels: set[str | None]) -> set[str]:
    """Return the words for missing values that are classes here: by option, or as the end of a column's name."""
    words = {word for word in MISSING if word and word != "\x1a"}
    ends = {before + word: word for before in ("_", ".", " ", ":", "-") for word in words}
    suffixes, bare_names = tuple(ends), [name.strip() for name in header]
    endings = {ends[end] for name in bare_names if name.endswith(suffixes) for end in suffixes if name.endswith(end)}
    return endings | (words & {*labels, *bare_names})


def _own_names(names: dict[str, str], raw: pl.DataFrame, whole: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Return a distinct name for each column, and the columns that share a name with an earlier one.

    A copy of an earlier column is left out.
    """
    seen: dict[str, list[str]] = {}
    distinct, same = {}, {}
    for column, name in names.items():
        earlier = seen.setdefault(name, [])
        if whole and any(raw[column].equals(raw[other]) for other in earlier):
            continue
        distinct[column] = f"{name} ({len(earlier) + 1})" if earlier else name
        if earlier:
            same[distinct[column]] = name
        earlier.append(column)
    return distinct, same


_HEAD, _LONGEST_HEAD = 1 << 18, 1 << 24


def _head(path: Path) -> bytes:
    """Return the first 256 kB of a text, or as many as hold three lines."""
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
    with gzip.open(path, "rb") if packed else path.open("rb") as file:
        start = more = file.read(_HEAD)
        while more and start.count(b"\n") < 3 and len(start) < _LONGEST_HEAD:
            start += (more := file.read(_HEAD))
    if start[:4] == ZSTD:
        lines = pl.scan_lines(path).head(LINES * 2).collect().to_series().to_list()
        return ("\n".join(lines) + "\n").encode()
    return start


def first_byte(path: Path) -> bytes:
    """Return the first byte of a text that is no blank."""
    return _head(path).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]


def _encoding(head: bytes) -> tuple[str, str]:
    """Return the encoding, and how it is called where that is worth telling."""
    for mark, name in MARKS.items():
        if head.startswith(mark):
            return name, name.upper()
    for zeros, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 8 and set(head[zeros:16:2]) == {0} and 0 not in head[1 - zeros : 16 : 2]:
            return name, "UTF-16"
    if head[:3] == b"\xef\xbb\xbf":
        return "utf-8-sig", ""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < _HEAD)  # the last letter may be cut
        return "utf-8", ""
    except UnicodeDecodeError:
        return "cp1252", "Windows-1252"


def _delimiter(body: str, cut: bool, shown: str) -> str | None:
    """Return the delimiter with the same number of fields in nearly all records: tab ; , | or runs of blanks.

    Of several, the one that gives most columns of numbers, then the first: texts may hold the others.
    """
    choices: list[tuple[int, str]] = []
    widths: dict[str, list[int]] = {}
    for delimiter in (*DELIMITERS, " "):
        records = _records(body, delimiter, cut)
        fields = widths[delimiter] = [len(record) for record in records] or [1]
        most = max(set(fields), key=fields.count)
        header = fields[0] == most or len(fields) < 3
        agree = header and fields.count(most) >= AGREE * len(fields) - 1e-9
        if most >= 2 and (agree or _has_names_of_rows(records)):
            numbers = _columns_of_numbers([record for record in records[1:] if len(record) == most], delimiter)
            choices.append((-numbers, delimiter))
    if choices:
        return min(choices, key=lambda item: (item[0] if item[1] != " " else 0, (*DELIMITERS, " ").index(item[1])))[1]
    for delimiter in DELIMITERS:  # nearly all records agree with the header: the others are named
        fields = widths[delimiter]
        width = fields[0]
        odd = [i for i, number in enumerate(fields) if number != width]
        if width >= 2 and len(odd) <= 0.2 * len(fields):
            raise ValueError(
                f"{shown}: row {odd[0]} has {fields[odd[0]]} fields, the header {width}\n"
                "  a value that contains the delimiter needs quotes"
            )
        rows = set(fields[1:])
        first = LINE_ENDS.split(body)[0].rstrip()
        if len(rows) == 1 and width == max(rows) + 1 > 2 and first.endswith(delimiter):
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
                f"{shown}: {many(names, 'line')} above the column names ({first.strip()[:40]!r})\n"
                "  the first line of a table names its columns: delete what is above it"
            )
    return None


def _has_names_of_rows(records: list[list[str]]) -> bool:
    """Whether all rows begin with a name of their own, which has no name in the header: R writes tables like this."""
    rows, width = records[1:], len(records[0]) + 1 if records else 0
    if len(rows) < 2 or any(len(row) != width for row in rows) or not any(row[-1].strip() for row in rows):
        return False
    return len({row[0] for row in rows}) == len(rows)


def _columns_of_numbers(records: list[list[str]], delimiter: str) -> int:
    number = NUMBER if delimiter == "," else COMMA_NUMBER
    cells = zip(*records, strict=True)
    return sum(all(not c.strip() or number.fullmatch(c.strip()) for c in column) for column in cells)


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


def _rewritten(path: Path, shown: str, dialect: Dialect) -> Scratch:
    """Return a copy in UTF-8, runs of blanks as tabs, made line by line: memory does not grow with the file."""
    copy = Scratch(".csv")
    with copy.path.open("w", encoding="utf-8", newline="") as file:
        for number, line in enumerate(lines(path, dialect.encoding, shown)):
            if number >= dialect.skip:
                bare = line.lstrip("\ufeff").rstrip("\r\n") if number == 0 else line.rstrip("\r\n")
                file.write(("\t".join(_between_blanks(bare)) if dialect.delimiter == " " else bare) + "\n")
    return copy


def _ragged(path: Path, delimiter: str, skip: int, shown: str) -> ValueError:
    records = csv.reader(islice(lines(path, "utf-8", shown), skip, None), delimiter=delimiter)
    with suppress(csv.Error):  # a value that is longer than any in a table
        widths = (len(record) for record in records if record)
        header = next(widths, 0)
        for row, width in enumerate(widths, start=1):
            if width > header:
                return ValueError(
                    f"{shown}: row {row} has {width} fields, the header {header}\n"
                    "  a value that contains the delimiter needs quotes"
                )
    return ValueError(
        f"{shown}: the rows cannot be told apart\n  is a quote left open? Values with quotes need them doubled"
    )
