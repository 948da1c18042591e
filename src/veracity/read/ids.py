"""Rows of a second file, with outcomes or weights, paired with those of the data: by ids, or by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import polars as pl

from veracity.inputs.names import listed, many
from veracity.records import findings_of_input as of_input
from veracity.records.layout import Companion, Layout

from ..options import ReadOptions
from . import column_meaning as meaning
from .column_meaning import key_of
from .table import Table

EXAMPLES = 3  # ids named in a message
AT = "\0at"  # the position of a row


@dataclass(frozen=True)
class Pairing:
    """The rows of a second file that belong to the rows of the data.

    on       the id columns of the data; empty: the rows are paired by position
    only     the only file with ids, where that is why they are paired by position
    rows     of each row of the data, the position in the second file; null where there is none
    ids      of the rows of the second file, as they are shown
    twice    an id that several rows of the data have, as it is shown
    """

    file: str
    held: str  # "outcome" or "weight"
    size: int  # rows of the second file
    on: tuple[str, ...] = ()
    only: str = ""
    rows: pl.Series | None = None
    ids: pl.Series | None = None
    twice: str = ""

    def taken(self, values: pl.Series) -> pl.Series:
        """Return the values of the second file in the order of the data; null where there is none."""
        return values if self.rows is None else values.gather(self.rows)

    def joined_to(self, layout: Layout, options: ReadOptions, table: Table) -> Layout:
        """Return the layout with how the rows are paired; refuse ids that are foreign, or given twice in the data."""
        companion = Companion(self.held, self.file, self.on, self.only)
        layout = replace(layout, companions=(*layout.companions, companion))
        if self.rows is None or self.ids is None:
            return layout
        several = options.id or options.cluster or layout.model_column or layout.undivided
        if self.twice and not several:
            word = table.option("id", ",".join(self.on))
            raise table.error(
                f"{self.twice} is given more than once, and {self.file} has one {self.held} for it.",
                f"give each row an id of its own; if several forecasts of one case are meant:  {word}",
            )
        foreign = np.ones(self.size, bool)
        foreign[self.rows.drop_nulls().to_numpy()] = False
        number, findings = int(foreign.sum()), layout.findings
        if number and options.missing == "error":
            shown = listed(self.ids.filter(pl.Series(foreign)).head(EXAMPLES + 1).to_list(), EXAMPLES)
            raise ValueError(
                f"{self.file}: {number:,} of {many(self.size, self.held)} belong to no row of {table.name} ({shown}).\n"
                f"  correct the ids, or leave these {self.held}s out:  {table.option('missing', 'drop')}"
            )
        if number:
            note = of_input.ForeignIds(number, self.size, held=self.held, file=self.file)
            findings = (*findings, note)
        unused = tuple(unused for unused in layout.unused if unused.column not in self.on)
        return replace(layout, findings=findings, unused=unused, joined_on=self.on)


def together(pairings: Sequence[Pairing]) -> Pairing:
    """Return the pairing of several files of data with one second file."""
    first, *others = pairings
    if not others or any(each.rows is None for each in pairings):
        return first
    rows = pl.concat([each.rows for each in pairings if each.rows is not None])
    twice = next((each.twice for each in pairings if each.twice), "")
    shared = rows.drop_nulls().filter(rows.drop_nulls().is_duplicated())
    if not twice and shared.len() and first.ids is not None:
        twice = str(first.ids[int(shared[0])])
    return replace(first, rows=rows, twice=twice)


def id_columns(table: Table) -> list[str]:
    """Return the columns that identify rows, by their names."""
    named = [c for c in table.columns if meaning.is_id(c) or key_of(c) in meaning.CASE_IDS]
    return [c for c in named if key_of(c) not in meaning.MODELS]


def shared_ids(data: Table, other: Table, value: str, reading: ReadOptions) -> list[tuple[str, str]]:
    """Return the id columns of two tables: those that --id names, or all that both have; empty: one has none."""
    ours, theirs = id_columns(data), [c for c in id_columns(other) if c != value]
    by_key = {key_of(c): c for c in other.columns if c != value}
    if reading.id and (theirs or any(key_of(c) in by_key for c in reading.id)):
        return [(data.column(c), by_key[key_of(c)] if key_of(c) in by_key else other.column(c)) for c in reading.id]
    on = [(c, by_key[key_of(c)]) for c in ours if by_key.get(key_of(c)) in theirs]
    if ours and theirs and not on:
        raise other.error(
            f"its ids are in `{theirs[0]}`, those of {data.name} in `{ours[0]}`.",
            "give the column of ids one name in both files",
        )
    return on


def by_row(data: Table, rows: int, other: Table, value: str, role: str) -> Pairing:
    """Return the pairing by position with so many rows of data."""
    if other.rows != rows:
        raise other.error(f"{other.rows:,} {role}s for {rows:,} rows.", f"one {role} for each row of the data")
    if rows == data.rows:
        _require_one_order(data, other, value)
    with_ids = [table.name for table in (data, other) if any(c != value for c in id_columns(table))]
    return Pairing(other.name, role, other.rows, only=with_ids[0] if with_ids else "")


def by_ids(
    data: Table, other: Table, on: Sequence[tuple[str, str]], value: str, role: str, reading: ReadOptions
) -> Pairing:
    """Return which rows of another table, with a column of values, have the ids of the rows of the data."""
    names = [ours for ours, _ in on]
    a, b = comparable(data.read(names)[1], other.read([theirs for _, theirs in on])[1])
    for table, ids in ((data, a), (other, b)):
        _require_ids(table, ids, names)
    if b.is_duplicated().any():
        where = b.is_duplicated().arg_true()
        shown, further = _shown(b, names, int(where[0])), _further(data, other, names, value)
        remedy = f"give one {role} for each id" + (f", or name what identifies a row:  {further}" if further else "")
        raise other.error(f"{shown} is given more than once ({many(where.len(), 'row')} share their ids).", remedy)
    matches = a.join(b.with_row_index(AT), on=a.columns, how="left", maintain_order="left")[AT]
    missing = matches.is_null()
    if missing.all():
        raise data.error(
            f"none of its ids is in {other.name} ({_shown(a, names, 0)}; there {_shown(b, names, 0)}).",
            f"name the columns that identify a row in both files:  {data.option('id', 'COL')}",
        )
    if missing.any() and (role == "weight" or reading.missing == "error"):
        shown = listed([_shown(a, names, i) for i in missing.arg_true()[: EXAMPLES + 1].to_list()], EXAMPLES)
        drop = f", or leave these rows out:  {data.option('missing', 'drop')}" if role == "outcome" else ""
        raise data.error(
            f"{int(missing.sum()):,} of {many(data.rows, 'row')} have no {role} in {other.name} ({shown}).",
            f"add them to {other.name}{drop}",
        )
    again = a.is_duplicated().arg_true()
    twice = _shown(a, names, int(again[0])) if again.len() else ""
    return Pairing(other.name, role, other.rows, tuple(names), rows=matches, ids=_all_shown(b, names), twice=twice)


def comparable(ours: pl.DataFrame, theirs: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the ids of two tables as texts that are equal where the ids are: 7, 7.0 and "7" are one id."""
    a, b = [], []
    for i, (mine, other) in enumerate(zip(ours.iter_columns(), theirs.iter_columns(), strict=True)):
        digits = mine.dtype.is_numeric() != other.dtype.is_numeric()
        a.append(_text(mine, digits).alias(str(i)))
        b.append(_text(other, digits).alias(str(i)))
    return pl.DataFrame(a), pl.DataFrame(b)


def _text(ids: pl.Series, digits: bool) -> pl.Series:
    """Return ids as text; `digits`: those of the other table are numbers, so 007 is 7."""
    if ids.dtype.is_float():
        ids = ids.fill_nan(None)
        whole = ids.cast(pl.Int64, strict=False)
        ids = whole if (whole.cast(pl.Float64) == ids).all() else ids
    text = ids.cast(pl.String).str.strip_chars().str.normalize("NFC").replace("", None)
    return text.str.replace(r"^([+-]?\d+)\.0+$", "$1").str.replace(r"^([+-]?)0+(\d)", "$1$2") if digits else text


def _require_ids(table: Table, ids: pl.DataFrame, names: Sequence[str]) -> None:
    gaps = reduce(lambda one, other: one | other, (ids[c].is_null() for c in ids.columns))
    if gaps.any():
        row = int(gaps.arg_max() or 0) + table.first_row
        raise table.error(
            f"{many(int(gaps.sum()), 'row')} without an id in `{', '.join(names)}` (first: row {row}).",
            "fill them in, or take these rows out of the file",
        )


def _shown(ids: pl.DataFrame, names: Sequence[str], row: int) -> str:
    return str(_all_shown(ids[row : row + 1], names)[0])


def _all_shown(ids: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    parts = [pl.lit(f"{name} ") + pl.col(column) for name, column in zip(names, ids.columns, strict=True)]
    return ids.select(pl.concat_str(parts, separator=", ").alias("ids"))["ids"]


def _shared(data: Table, other: Table, value: str) -> list[tuple[str, str]]:
    """Return the columns of both tables that have one name and hold no fractions."""
    by_key = {key_of(c): c for c in other.columns if c != value}
    both = [(c, by_key[key_of(c)]) for c in data.columns if key_of(c) in by_key]
    return [(a, b) for a, b in both if not (data.sample[a].dtype.is_float() or other.sample[b].dtype.is_float())]


def _further(data: Table, other: Table, names: Sequence[str], value: str) -> str:
    """Return the option that names all shared columns, if they tell the rows of both files apart; else nothing."""
    shared = _shared(data, other, value)
    if len(shared) <= len(names):
        return ""
    tables = data.read([a for a, _ in shared])[1], other.read([b for _, b in shared])[1]
    unique = not any(ids.is_duplicated().any() for ids in comparable(*tables))
    return data.option("id", ",".join(a for a, _ in shared)) if unique else ""


def _require_one_order(data: Table, other: Table, value: str) -> None:
    """Refuse rows paired by position where a column that both files have differs."""
    for ours, theirs in _shared(data, other, value):
        a, b = comparable(data.read([ours])[1], other.read([theirs])[1])
        differ = a["0"].ne_missing(b["0"])
        if differ.any():
            i = int(differ.arg_max() or 0)
            option = _further(data, other, (), value)
            raise other.error(
                f"its rows are not those of {data.name}: row {i + other.first_row}, `{theirs}` = {b['0'][i]}, "
                f"there {a['0'][i]}.",
                f"join them:  {option}" if option else "bring both files into one order",
            )
