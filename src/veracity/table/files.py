"""Tables in files and in text: matrix, tidy, probability and case-by-case form."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from veracity.options import canonical
from veracity.read import ReadOptions, strings
from veracity.read import column_meaning as meaning
from veracity.read.column_meaning import key_of
from veracity.read.files import table_of
from veracity.read.free_columns import Columns
from veracity.read.paths import listed
from veracity.read.proposals import Refusal
from veracity.read.table import Table
from veracity.read.text import DELIMITERS
from veracity.types import Array
from veracity.words import natural

from . import check, order
from .types import PredictionTable

# what further names mean in a table of counts
CASES = (*meaning.CASES, "counts", "freq", "frequency", "number")
EVENTS = (*meaning.EVENTS, "event_count", "n_events")
RATES = (*meaning.FREQUENCIES, "obar_i")
CATEGORIES = ("forecast", "forecast_category", "category", *meaning.PICKS, "test", "risk", "class")
PROBABILITIES = ("p", *meaning.PROBABILITIES, "forecast_probability", "predicted_risk", "y")
OUTCOMES = tuple(name for name in meaning.OUTCOMES if name not in (*CATEGORIES, *PROBABILITIES))
OUTCOMES = ("outcome", *OUTCOMES, *meaning.WEAK_OUTCOMES, "disease", "realization")
TOTALS = ("total", "all", "sum", "summe", "gesamt", "totals")
MANY = 60  # more distinct forecasts are probabilities case by case, not categories
FORMS = (
    "  matrix:       forecast,no,yes  then one line per category:  low,83,56\n"
    "  tidy:         forecast,observed,n  then one line per pair:  low,yes,56\n"
    "  probability:  p,n,events  then one line per forecast:  0.4,139,56\n"
    "  case by case: forecast,observed  then one line per case:  low,yes"
)


@dataclass(frozen=True)
class FileOptions:
    """The user's options for a file; None: recognise it."""

    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    label: str | None = None
    category: str | None = None
    count: str | None = None
    weight: str | None = None
    group: str | None = None
    n: float | None = None
    shares: bool = False
    partial: bool = False  # one of several files: it may lack categories that `rows` names
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, str]:
        """Return {option: column} of the columns that were named."""
        given = {name: getattr(self, name) for name in ("count", "weight", "label", "category", "group")}
        return {name: column for name, column in given.items() if column is not None}


@dataclass(frozen=True)
class Source:
    """A file as the common reader sees it, with its cells as numbers or as they are written."""

    table: Table
    columns: Columns
    header: bool  # False: the first line holds counts

    @classmethod
    def of(cls, path: str, asked: FileOptions) -> Source:
        """Return the file, the columns that options name taken out of those that may have another role."""
        file, *others = listed([path])
        if others:
            raise ValueError(f"{path}: {len(others) + 1} files; a table is in one\n  name each of them")
        header, reading = True, ReadOptions(label=asked.label, pick=asked.category, count=asked.count)
        try:
            table = table_of(file.path, reading, file.name)
        except Refusal:  # numbers instead of names
            header, table = False, table_of(file.path, ReadOptions(no_header=True), file.name)
        table.keep = table.keep or file.keep
        if len(table.columns) == 1 and any(mark in table.columns[0] for mark in DELIMITERS):
            raise table.error("the lines have different numbers of cells.", "give each as many as the first")
        taken = [table.column(name) for name in asked.named.values()]
        return cls(table, Columns(table, reading, "").without(taken), header)

    def first(self, names: Sequence[str], without: Sequence[str | None] = ()) -> str | None:
        """Return the first column with one of these names that has no other role."""
        return self.columns.without(filter(None, without)).first(names, lambda column: True)

    def letters(self, name: str) -> list[str]:
        """Return the cells of a column as they are written, without blanks around."""
        written = self.table.with_letters([name])
        cells = written.lazy.select(written.as_given(name)).collect().to_series().to_list()
        return ["" if cell is None else cell.strip() if isinstance(cell, str) else canonical(cell) for cell in cells]

    def parsed(self, name: str) -> list[float | None]:
        """Return the cells of a column as numbers, None where they are none."""
        values = self.table.read([name])[1][name]
        if not values.dtype.is_numeric():
            values = strings.parsed(pl.Series(self.letters(name), dtype=pl.String), "comma")
        return values.cast(pl.Float64).to_list()

    def numbers(self, name: str) -> Array:
        values = self.parsed(name)
        if None in values:
            i = values.index(None)
            raise ValueError(f"row {self.row(i)}, column `{name}`: {_no_number(self.letters(name)[i])}")
        return np.array(values, dtype=np.float64)

    def row(self, i: int) -> int:
        """Return the number of a row in the file, where empty ones count too."""
        numbers, _ = self.table.read(self.table.columns[:1])
        return i + 1 if numbers is None else int(numbers[i])

    def probabilities(self, name: str) -> dict[str, float] | None:
        """Return {as written: value} of a column of probabilities, lowest first; None for labels and other numbers."""
        pairs = zip(self.letters(name), self.parsed(name), strict=True)
        values = {cell: math.nan if x is None else x for cell, x in pairs}
        if not all(0.0 <= x <= 1.0 for x in values.values()) or set(values.values()) <= {0.0, 1.0}:
            return None
        return dict(sorted(values.items(), key=lambda pair: pair[1]))

    def roles(self, **used: str | None) -> str:
        """Return a sentence with the role of each column, and those that were not used."""
        listing = ", ".join(f"{role} `{column}`" for role, column in used.items() if column is not None)
        rest = [f"`{column}`" for column in self.table.columns if column not in used.values()]
        return f"Read as {listing}{'; not used: ' if rest else ''}{', '.join(rest)}."


def read(path: str, asked: FileOptions) -> PredictionTable:
    """Return the table in a file of any form; its notes say how it was understood."""
    source = Source.of(path, asked)
    forms = (_probability_form, _tidy_form, _matrix_form) if source.header else (_bare_form,)
    name, columns = source.table.name, ", ".join(source.table.columns)
    empty = "".join(f"; `{column}` is empty: write 0 where nothing happened" for column in source.table.empty)
    try:
        for form in forms:
            if (table := form(source, asked)) is not None:
                return table
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    raise ValueError(
        f"{name}: not a table of forecasts against outcomes (columns: {columns}{empty}).\n"
        f"  forms that are read:\n{FORMS}\n  probabilities case by case:  veracity assess {source.table.in_commands}"
    )


def parse_counts(given: str, asked: FileOptions) -> PredictionTable:
    """Return the table of a text such as "83,56;2,12": rows by ;, cells by comma or blank."""
    grid: list[list[float]] = []
    for i, line in enumerate(re.split(r"[;\n]", given.strip().strip(";")), 1):
        if not line.strip():
            raise ValueError(f'counts: row {i} of "{given}" is empty; rows are separated by one ;')
        cells = [cell.strip() for cell in (line.split(",") if "," in line else line.split())]
        values = [strings.number(cell) for cell in cells]
        if None in values:
            j = values.index(None)
            raise ValueError(f'counts: row {i}, column {j + 1} of "{given}": {_no_number(cells[j])}')
        grid.append([value for value in values if value is not None])
    return _unnamed(grid, asked)


def _no_number(cell: str) -> str:
    return f"{cell!r} is not a number" if cell else "the cell is empty; write 0 where nothing happened"


# -- forms --------------------------------------------------------------------------------------------------------


def _probability_form(source: Source, asked: FileOptions) -> PredictionTable | None:
    """Forecast probability, cases, and events or their share: one line per forecast."""
    stated, events, rate = (source.first(names) for names in (PROBABILITIES, EVENTS, RATES))
    cases = asked.count or source.first(CASES)
    if stated is None or (events is None and rate is None):
        first, *others = source.table.columns
        if list(asked.named) != ["count"] or len(others) != 2 or events or rate or not source.probabilities(first):
            return None
        stated, events = first, next(column for column in others if column != cases)  # nothing else is left
    unused = {"rows": asked.rows, "shares": asked.shares, **asked.named}
    for name in (name for name in ("rows", "shares", "category", "label", "group") if unused.get(name)):
        raise ValueError(f"--{name} has no effect on one line per probability; leave it out")
    notes = (source.roles(forecast=stated, cases=asked.weight or cases, events=events or rate),)
    options = {**asked.options, "columns": asked.columns or ("no event", "event"), "notes": notes}
    p = source.numbers(stated)
    if asked.weight is None:
        n = _cases(source, cases, [stated, rate])
        happened = source.numbers(events) if events else np.round(source.numbers(str(rate)) * n)
        if rate is not None:
            _check_rates(source, happened, n, rate)
        return PredictionTable.from_probabilities(p, n, happened, **options)
    if rate is None:
        raise ValueError(f"--weight needs a column of observed shares ({', '.join(RATES[:2])})")
    weights, observed = source.numbers(asked.weight), source.numbers(rate)
    for i in np.flatnonzero(~((observed >= 0) & (observed <= 1))):
        raise ValueError(f"row {source.row(int(i))}, `{rate}` = {observed[i]:g} is outside 0 … 1")
    options |= {"unit": "weights", "cases": asked.n}
    return PredictionTable.from_probabilities(p, weights, weights * observed, **options)


def _cases(source: Source, cases: str | None, taken: Sequence[str | None]) -> Array:
    if cases is not None:
        return source.numbers(cases)
    numeric = [c for c in source.table.columns if c not in taken and None not in source.parsed(c)]
    hint = "\n  choose:  " + "   or   ".join(f"--weight {column}" for column in numeric) if numeric else ""
    raise ValueError(f"shares of the event, but no number of cases per forecast{hint}")


def _check_rates(source: Source, events: Array, n: Array, rate: str) -> None:
    """Refuse observed shares that contradict events and cases beyond their printed digits."""
    cells = zip(source.letters(rate), source.numbers(rate), events, n, strict=True)
    for i, (written, share, happened, cases) in enumerate(cells):
        printed = 0.5 * 10.0 ** -len(re.sub(r".*[.,]", "", written))
        if cases and abs(share - happened / cases) > printed + 1e-12:
            raise ValueError(
                f"row {source.row(i)}, `{rate}` = {share:g}, but {happened:g} of {cases:g} cases is "
                f"{happened / cases:.4g}; correct the one that is wrong, or leave the column out"
            )


def _tidy_form(source: Source, asked: FileOptions) -> PredictionTable | None:
    """Forecast, outcome and number of cases; without a number, one line per case."""
    columns = source.table.columns
    cases = asked.weight or asked.count or source.first(CASES)
    outcome = asked.label or source.first(OUTCOMES, [cases])
    first = source.letters(columns[0])
    matrix = order.event_last(columns[1:]) is not None and len(set(first)) == len(first)  # columns no, yes
    if outcome is None or matrix:
        return None
    others = [column for column in columns if column not in (cases, asked.group, outcome)]
    category = asked.category or source.first((*CATEGORIES, *PROBABILITIES), [cases, outcome])
    category = category or (others[0] if len(others) == 1 else None)
    if category is None:
        return None
    forecast, happened = source.letters(category), [canonical(label) for label in source.letters(outcome)]
    for i, pair in enumerate(zip(forecast, happened, strict=True)):
        if "" in pair:
            raise ValueError(f"row {source.row(i)}: forecast or outcome is empty; complete the row or remove it")
    stated = None if asked.rows else source.probabilities(category)
    if stated is not None and len(stated) > MANY:
        raise ValueError(
            f"`{category}` holds {len(stated)} different probabilities: too many for a table.\n"
            f"  case by case:  veracity assess {source.table.in_commands}"
        )
    rows = asked.rows if stated is None else tuple(stated)
    if rows is not None and asked.partial:
        rows = tuple(row for row in rows if row in forecast)
    counted = None if cases is not None else _counted(source, [category, outcome, asked.group])
    cases = cases or counted
    n = None if cases is None else source.numbers(cases)
    unit = {"unit": "weights", "cases": asked.n} if asked.shares or asked.weight else {}
    table = PredictionTable.from_tidy(forecast, happened, n, rows=rows, columns=asked.columns, **asked.options, **unit)
    note = source.roles(forecast=category, outcome=outcome, cases=cases, group=asked.group)
    if counted is not None:
        note += f" `{counted}` counts the cases, as no forecast and outcome occur together twice."
    table = replace(table, notes=(note if n is not None else f"{note} Each line is one case.", *table.notes))
    if stated is not None and table.binary:
        table = replace(table, forecasts=np.array(list(stated.values())))
    if asked.group is None:
        return table
    return replace(table, strata=dict(_strata(table, source.letters(asked.group), forecast, happened, n)))


def _counted(source: Source, roles: Sequence[str | None]) -> str | None:
    """Return the only further column of whole numbers where each forecast has each outcome at most once."""
    taken = [column for column in roles if column is not None]
    lines = list(zip(*(source.letters(column) for column in taken), strict=True))
    if len(set(lines)) < len(lines):
        return None
    rest = [c for c in source.table.columns if c not in taken and key_of(c) not in meaning.IDS]
    whole = [c for c in rest if all(x is not None and x >= 0.0 and x.is_integer() for x in source.parsed(c))]
    if len(whole) > 1:
        choices = "   or   ".join(f'--count "{column}"' if " " in column else f"--count {column}" for column in whole)
        raise ValueError(f"each forecast has each outcome once: which column counts the cases?\n  choose:  {choices}")
    return next(iter(whole), None)


def _strata(
    table: PredictionTable, group: list[str], forecast: list[str], happened: list[str], n: Array | None
) -> Iterator[tuple[str, PredictionTable | str]]:
    """Yield the table of each group, or the reason why there is none."""
    places = order.places(forecast, table.rows), order.places(happened, table.columns)
    for name in sorted(set(group), key=natural):
        own = np.array(group) == name
        counts = np.zeros(table.counts.shape)
        np.add.at(counts, (places[0][own], places[1][own]), 1.0 if n is None else n[own])
        used = counts.sum(1) > 0
        rows = tuple(category for category, use in zip(table.rows, used, strict=True) if use)
        stated = None if table.forecasts is None else table.forecasts[used]
        problem = check.problem(counts[used], rows, table.columns, table.unit)
        part = problem or PredictionTable(counts[used], stated, rows, table.columns, table.unit, level=table.level)
        yield name, part


def _bare_form(source: Source, asked: FileOptions) -> PredictionTable | None:
    """Counts without any names."""
    return _unnamed(np.array([source.numbers(column) for column in source.table.columns]).T.tolist(), asked)


def _unnamed(grid: list[list[float]], asked: FileOptions) -> PredictionTable:
    """Return the table of counts alone; names that were given may turn it round by their words."""
    other = "" if asked.rows or asked.columns else _as_cells(grid)
    remedy = f"give {other}" if other else "turn it round; --rows and --columns name it"
    hint = f"If your table has the event and the positive test first, {remedy}."
    notes = () if asked.rows and asked.columns else (hint,)
    table = _build(grid, asked, asked.rows or (), asked.columns or (), notes, other_reading=other)
    down, row_notes = _direction(None, table.rows, "--rows", "Rows")
    across, also = _direction(None, table.columns, "--columns", "Columns")
    return _turned(table, down, across, (*row_notes, *also)) if row_notes or also else table


def _as_cells(grid: Sequence[Sequence[float]]) -> str:
    """Return the options that give a 2 × 2 table with the event and the positive test first."""
    if [len(line) for line in grid] != [2, 2]:
        return ""
    cells = zip(("--tp", "--fp", "--fn", "--tn"), (cell for line in grid for cell in line), strict=True)
    return " ".join(f"{name} {value:.0f}" for name, value in cells)


def _matrix_form(source: Source, asked: FileOptions) -> PredictionTable | None:
    """One line per category, one column per outcome."""
    first, *others = source.table.columns
    rows = source.letters(first)
    if asked.named or len(others) < 2 or len(rows) > MANY or len(set(rows)) < len(rows):
        return None
    if all(value is None for column in others for value in source.parsed(column)):
        return None
    for name in source.table.same.values():
        raise ValueError(f"columns: the name {name!r} occurs twice; give each its own")
    grid, rows, columns, notes = _without_totals(source, rows, others)
    stated, worded = source.probabilities(first), order.event_last(columns) is not None
    if stated and len(columns) == 2 and asked.columns is None and not worded and (grid[:, 1] <= grid[:, 0]).all():
        a, b = columns
        raise ValueError(
            f"`{b}` never exceeds `{a}`: does `{a}` count all cases, or those without the event?\n"
            f'  all cases:  --count "{a}"      without the event:  --columns "{a},{b}"'
        )
    down, across, turned = _orientation(grid, rows, columns, asked)
    options: dict[str, Any] = {}
    if len(columns) == 2 and asked.columns is None and across == [0, 1] and not worded:
        notes += (f"The last column, “{columns[1]}”, is taken for the event; --columns gives another order.",)
        if asked.rows is None and not turned:
            names = [",".join(reversed(side)) for side in (columns, rows)]
            options["other_reading"] = f'--columns "{names[0]}" --rows "{names[1]}"'
    if stated and key_of(first) in PROBABILITIES and len(stated) == len(rows) and len(columns) == 2:
        options["forecasts"] = np.array([stated[row] for row in rows])
    return _turned(_build(grid, asked, rows, columns, (), **options), down, across, (*notes, *turned))


def _orientation(
    grid: Array, rows: Sequence[str], columns: Sequence[str], asked: FileOptions
) -> tuple[list[int], list[int], tuple[str, ...]]:
    """Return the order of rows and of columns, by options and by words, and notes about it.

    A 2 × 2 table of which the words of one side reversed half was written in one direction: the other side follows.
    """
    across, column_notes = _direction(asked.columns, columns, "--columns", "Columns")
    down, also = _direction(asked.rows, rows, "--rows", "Rows")
    turned = grid[np.ix_(down, across)]
    if grid.shape == (2, 2) and turned[0, 1] * turned[1, 0] > turned[0, 0] * turned[1, 1]:
        if also and asked.columns is None and order.event_last(columns) is None:
            column_notes = (f"Columns turned round with the rows: “{columns[0]}” is taken for the event.",)
            across = across[::-1]
        elif column_notes and asked.rows is None and order.event_last(rows) is None:
            also = (f"Rows turned round with the columns: “{rows[0]}” is taken for the worst.",)
            down = down[::-1]
    return down, across, (*column_notes, *also)


def _direction(
    given: Sequence[str] | None, names: Sequence[str], option: str, what: str
) -> tuple[list[int], tuple[str, ...]]:
    """Return the order of rows or columns: as given, by yes and no words, or as written; and a note about it."""
    if given is not None:
        return order.given(option, given, list(names)), ()
    worded = order.event_last(names)
    if worded is None or worded == list(names):
        return list(range(len(names))), ()
    return [names.index(name) for name in worded], (f"{what} turned round by their words: {' before '.join(worded)}.",)


def _turned(table: PredictionTable, down: list[int], across: list[int], notes: tuple[str, ...]) -> PredictionTable:
    """Return the table with rows and columns in this order."""
    return replace(
        table,
        counts=table.counts[np.ix_(down, across)],
        forecasts=None if table.forecasts is None else table.forecasts[down],
        rows=tuple(table.rows[i] for i in down),
        columns=tuple(table.columns[j] for j in across),
        notes=notes,
    )


def _without_totals(
    source: Source, rows: list[str], columns: list[str]
) -> tuple[Array, list[str], list[str], tuple[str, ...]]:
    """Return cells, rows, columns and notes without a last row or column of totals, which must agree with the cells."""
    grid, notes = np.array([source.numbers(column) for column in columns]).T, list[str]()
    for axis, what in enumerate(("row", "column")):
        names, others = (columns, rows) if axis else (rows, columns)
        if key_of(names[-1]) not in TOTALS or len(names) < 3:
            continue
        printed, grid = grid.take(-1, axis), np.delete(grid, -1, axis)
        added = grid.sum(axis)
        for i in np.flatnonzero(np.abs(added - printed) > 1e-9):
            raise ValueError(
                f"{what} {names[-1]!r} says {printed[i]:g} for {others[i]!r}, but the cells add up to "
                f"{added[i]:g}; correct the one that is wrong"
            )
        notes.append(f"{what.capitalize()} “{names[-1]}” holds totals and is left out.")
        rows, columns = (rows, columns[:-1]) if axis else (rows[:-1], columns)
    return grid, rows, columns, tuple(notes)


def _build(
    grid: Any, asked: FileOptions, rows: Sequence[str], columns: Sequence[str], notes: tuple[str, ...], **more: Any
) -> PredictionTable:
    if len({len(line) for line in grid}) > 1:
        widths = ", ".join(str(len(line)) for line in grid)
        raise ValueError(f"counts: rows of different length ({widths}); each category needs one number per outcome")
    unit = {"unit": "weights", "cases": asked.n} if asked.shares else {}
    options = {**asked.options, **unit, **more, "rows": tuple(rows), "columns": tuple(columns), "notes": notes}
    return PredictionTable(check.grid(grid), **options)
