"""Tables from text and small text files: matrix, tidy, probability and case-by-case form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from veracity.formulas.domain import Array
from veracity.read import roles, strings, text
from veracity.read.options import canonical
from veracity.read.paths import listed
from veracity.read.roles import key_of

from . import check, order
from .types import PredictionTable

CASES = (*roles.CASES, "counts", "freq", "frequency", "number")
EVENTS = (*roles.EVENTS, "event_count", "n_events")
RATES = (*roles.FREQUENCIES, "obar_i")
PROBABILITIES = ("p", "prob", "proba", "probability", "forecast_probability", "forecast", "risk", "predicted_risk", "y")
OUTCOMES = (
    *("outcome", "observed", "observation", "obs", "truth", "true", "y_true", "event", "label", "target", "status"),
    *("disease", "result", "actual", "realization"),
)
CATEGORIES = ("forecast", "forecast_category", "category", "predicted", "prediction", "pred", "test", "risk", "class")
TOTALS = ("total", "all", "sum", "summe", "gesamt", "totals")
MANY = 60  # more distinct forecasts are probabilities case by case, not categories
FORMS = (
    "  matrix:       forecast,no,yes  then one line per category:  low,83,56\n"
    "  tidy:         forecast,observed,n  then one line per pair:  low,yes,56\n"
    "  probability:  p,n,events  then one line per forecast:  0.4,139,56\n"
    "  case by case: forecast,observed  then one line per case:  low,yes"
)


@dataclass(frozen=True)
class Sheet:
    """Cells of a text file below a header; columns are found by their names in lower case with underscores."""

    name: str
    header: list[str]
    cells: list[list[str]]
    comma: bool  # decimal commas are possible

    @classmethod
    def of(cls, path: str) -> Sheet:
        """Return the cells of a text file, without empty rows and columns."""
        given, *others = listed([path])
        if others:
            raise ValueError(f"{path}: {len(others) + 1} files; a table is in one\n  name each of them")
        file, name = given.path, given.name
        data = file.read_bytes()
        if data[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
            raise ValueError(f"{name}: an Excel workbook: save the sheet as CSV (any delimiter) and try again")
        cells, comma = text.cells(file, name) if data.strip() else ([], False)
        if len(cells) < 2:
            what = "one line only" if cells else "empty"
            raise ValueError(f"{name}: {what}; a table needs at least two lines.\n  forms that are read:\n{FORMS}")
        width = max(len(row) for row in cells)
        cells = [row + [""] * (width - len(row)) for row in cells]
        used = [j for j in range(width) if any(row[j] for row in cells)]
        header, *rows = ([row[j] for j in used] for row in cells)
        return cls(name, header, rows, comma)

    def column(self, at: int) -> list[str]:
        return [row[at] for row in self.cells]

    def find(self, names: Sequence[str], taken: Sequence[int] = ()) -> int | None:
        """Return the first column with one of these names that is not taken."""
        titles = [key_of(title) for title in self.header]
        return next((titles.index(name) for name in names if name in titles and titles.index(name) not in taken), None)

    def named(self, title: str, option: str) -> int:
        if title in self.header:
            return self.header.index(title)
        raise ValueError(f"{self.name}: no column `{title}` ({option}); columns: {', '.join(self.header)}")

    def parsed(self, cells: list[str]) -> list[float | None]:
        """Return cells of one column as numbers, None where they are none."""
        column = pl.Series(cells, dtype=pl.String)
        kind = strings.kind_of(column.replace("", None), self.comma)
        kind = "comma" if kind == "text" and self.comma else kind  # some are numbers
        return strings.parsed(column, kind).cast(pl.Float64).to_list()

    def numbers(self, at: int) -> list[float]:
        found = self.parsed(self.column(at))
        for i, value in enumerate(found):
            if value is None:
                cell = self.cells[i][at]
                what = f"{cell!r} is not a number" if cell else "the cell is empty; write 0 where nothing happened"
                raise ValueError(f"{self.name}: row {i + 1}, column `{self.header[at]}`: {what}")
        return [value for value in found if value is not None]

    def probabilities(self, at: int) -> dict[str, float] | None:
        """Return {as written: value} of a column of probabilities, lowest first; None for labels and other numbers."""
        found = dict(zip(self.column(at), self.parsed(self.column(at)), strict=True))
        values = {cell: value for cell, value in found.items() if value is not None and 0.0 <= value <= 1.0}
        if len(values) < len(found) or set(values.values()) <= {0.0, 1.0}:
            return None
        return dict(sorted(values.items(), key=lambda pair: pair[1]))

    def roles(self, used: dict[str, int | None]) -> str:
        """Return a sentence with the role of each column, and those that were not used."""
        said = ", ".join(f"{role} `{self.header[at]}`" for role, at in used.items() if at is not None)
        rest = [f"`{title}`" for j, title in enumerate(self.header) if j not in used.values()]
        unused = f"; not used: {', '.join(rest)}" if rest else ""
        return f"Read as {said}{unused}."


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


def parse_counts(given: str, asked: FileOptions) -> PredictionTable:
    """Return the table of a text such as "83,56;2,12": rows by ;, cells by comma or blank."""
    lines = [line.strip() for line in re.split(r"[;\n]", given.strip().strip(";"))]
    grid: list[list[float]] = []
    for i, line in enumerate(lines):
        if not line:
            raise ValueError(f'counts: row {i + 1} of "{given}" is empty; rows are separated by one ;')
        grid.append([])
        for j, cell in enumerate(line.split(",") if "," in line else line.split()):
            value, cell = strings.number(cell), cell.strip()
            if value is None:
                what = f"{cell!r} is not a number" if cell else "the cell is empty; write 0 where nothing happened"
                raise ValueError(f'counts: row {i + 1}, column {j + 1} of "{given}": {what}')
            grid[-1].append(value)
    named = asked.rows is not None or asked.columns is not None
    other = "" if named else _cells_turned(grid)
    remedy = f"give {other}" if other else "turn it round; --rows and --columns name it"
    hint = f"If your table has the event and the positive test first, {remedy}."
    notes = () if asked.rows and asked.columns else (hint,)
    table = _build(grid, asked, asked.rows or (), asked.columns or (), notes, other_reading=other)  # refuses a misfit
    down, said = _direction(None, list(asked.rows or [""] * len(grid)), "--rows", "Rows")
    across, also = _direction(None, list(asked.columns or [""] * len(grid[0])), "--columns", "Columns")
    if not (said or also):
        return table
    turned = np.asarray(grid)[np.ix_(down, across)].tolist()
    rows = tuple(asked.rows[i] for i in down) if asked.rows else ()
    columns = tuple(asked.columns[j] for j in across) if asked.columns else ()
    return _build(turned, asked, rows, columns, (*said, *also))


def _cells_turned(grid: Sequence[Sequence[float]]) -> str:
    """Return the options that give a 2 × 2 table with the event and the positive test first."""
    if [len(line) for line in grid] != [2, 2]:
        return ""
    cells = zip(("--tp", "--fp", "--fn", "--tn"), (cell for line in grid for cell in line), strict=True)
    return " ".join(f"{name} {value:.0f}" for name, value in cells)


def read(path: str, asked: FileOptions) -> PredictionTable:
    """Return the table in a text file of any form; its notes say how it was understood."""
    sheet = Sheet.of(path)
    named = {role: getattr(asked, role) for role in ("count", "weight", "label", "category", "group")}
    at = {role: sheet.named(title, f"--{role}") for role, title in named.items() if title is not None}
    try:
        for form in (_probability_form, _tidy_form, _matrix_form):
            if (made := form(sheet, asked, at)) is not None:
                return made
    except ValueError as error:
        known = str(error).startswith(f"{sheet.name}: ")
        raise error if known else ValueError(f"{sheet.name}: {error}") from None
    raise ValueError(
        f"{sheet.name}: not a table of forecasts against outcomes (columns: {', '.join(sheet.header)}).\n"
        f"  forms that are read:\n{FORMS}\n"
        f"  probabilities case by case:  veracity assess {sheet.name}"
    )


# -- forms --------------------------------------------------------------------------------------------------------


def _probability_form(sheet: Sheet, asked: FileOptions, at: dict[str, int]) -> PredictionTable | None:
    """Forecast probability, cases, and events or their share: one line per forecast."""
    stated, events, rate = sheet.find(PROBABILITIES), sheet.find(EVENTS), sheet.find(RATES)
    cases, weight = at.get("count", sheet.find(CASES)), at.get("weight")
    if list(at) == ["count"] and len(sheet.header) == 3 and events is None and rate is None and sheet.probabilities(0):
        stated, events = 0, next((j for j in (1, 2) if j != cases), None)  # the third column can only be the events
    outcome = rate if events is None else events
    if stated is None or outcome is None:
        return None
    unused = {"rows": asked.rows, "shares": asked.shares} | {
        name: name in at for name in ("category", "label", "group")
    }
    for name in (name for name, given in unused.items() if given):
        raise ValueError(f"--{name} has no effect on one line per probability; leave it out")
    p = sheet.numbers(stated)
    said = sheet.roles({"forecast": stated, "cases": cases if weight is None else weight, "events": outcome})
    options = {**asked.options, "columns": asked.columns or ("no event", "event"), "notes": (said,)}
    if cases is not None and weight is None:
        n, happened = sheet.numbers(cases), sheet.numbers(outcome)
        if events is None:
            happened = [float(round(share * of)) for share, of in zip(happened, n, strict=True)]
        if rate is not None:
            _check_shares(sheet, happened, n, rate)
        return PredictionTable.from_probabilities(p, n, happened, **options)
    if weight is None:
        others = [j for j in range(len(sheet.header)) if j not in (stated, rate)]
        numeric = [sheet.header[j] for j in others if None not in sheet.parsed(sheet.column(j))]
        hint = "\n  choose:  " + "   or   ".join(f"--weight {title}" for title in numeric) if numeric else ""
        raise ValueError(f"shares of the event, but no number of cases per forecast{hint}")
    if rate is None:
        raise ValueError(f"--weight needs a column of observed shares ({', '.join(RATES[:2])})")
    weights, observed = np.array(sheet.numbers(weight)), np.array(sheet.numbers(rate))
    for i in np.flatnonzero(~((observed >= 0) & (observed <= 1))):
        raise ValueError(f"row {i + 1}, `{sheet.header[rate]}` = {observed[i]:g} is outside 0 … 1")
    by = np.argsort(p, kind="stable")
    f = np.column_stack([1.0 - np.array(p), p])[by]
    cells = np.column_stack([weights * (1.0 - observed), weights * observed])[by]
    return PredictionTable.from_shares(cells, f, n=asked.n, rows=order.probability_names(f), **options)


def _check_shares(sheet: Sheet, events: list[float], n: list[float], at: int) -> None:
    for i, (share, happened, cases) in enumerate(zip(sheet.numbers(at), events, n, strict=True)):
        printed = 0.5 * 10.0 ** -len(re.sub(r".*[.,]", "", sheet.cells[i][at]))
        if cases and abs(share - happened / cases) > printed + 1e-12:
            raise ValueError(
                f"{sheet.name}: row {i + 1}, `{sheet.header[at]}` = {share:g}, but {happened:g} of {cases:g} cases is "
                f"{happened / cases:.4g}; correct the one that is wrong, or leave the column out"
            )


def _tidy_form(sheet: Sheet, asked: FileOptions, at: dict[str, int]) -> PredictionTable | None:
    """Forecast, outcome and number of cases; without a number, one line per case."""
    cases = at.get("weight", at.get("count", sheet.find(CASES)))
    taken = [j for j in (cases, at.get("group")) if j is not None]
    outcome = at.get("label", sheet.find(OUTCOMES, taken))
    if outcome is None or order.event_last(sheet.header[1:]) is not None:  # columns no, yes: a matrix
        return None
    category = at.get("category", sheet.find((*CATEGORIES, *PROBABILITIES), [*taken, outcome]))
    others = [j for j in range(len(sheet.header)) if j not in (*taken, outcome)]
    if category is None and len(others) == 1:
        category = others[0]
    if category is None:
        return None
    for i, row in enumerate(sheet.cells):
        if not row[outcome] or not row[category]:
            raise ValueError(f"row {i + 1}: forecast or outcome is empty; complete the row or remove it")
    n = None if cases is None else np.array(sheet.numbers(cases))
    forecast, happened = sheet.column(category), [canonical(label) for label in sheet.column(outcome)]
    rows, stated = asked.rows, sheet.probabilities(category)
    if stated is not None and rows is None:
        if len(stated) > MANY:
            raise ValueError(
                f"`{sheet.header[category]}` holds {len(stated)} different probabilities: too many for a table.\n"
                f"  case by case:  veracity assess {sheet.name}"
            )
        rows = tuple(stated)
    elif rows is not None and asked.partial:
        rows = tuple(row for row in rows if row in forecast)
    unit = {"unit": "weights", "cases": asked.n} if asked.shares or "weight" in at else {}
    options = {**asked.options, **unit, "rows": rows, "columns": asked.columns}
    table = PredictionTable.from_tidy(forecast, happened, n, **options)
    said = sheet.roles({"forecast": category, "outcome": outcome, "cases": cases, "group": at.get("group")})
    table = replace(table, notes=(said if n is not None else f"{said} Each line is one case.", *table.notes))
    if stated is not None and asked.rows is None and table.binary:
        table = replace(table, forecasts=np.array(list(stated.values())))
    return table if "group" not in at else _stratified(table, sheet.column(at["group"]), forecast, happened, n)


def _stratified(
    table: PredictionTable, group: list[str], forecast: list[str], happened: list[str], weights: Any
) -> PredictionTable:
    """Return the pooled table with one stratum per value of a column."""
    held = np.array(group)
    cells = np.array([table.rows.index(f) for f in forecast]), np.array([table.columns.index(o) for o in happened])
    strata: dict[str, PredictionTable | str] = {}
    for name in order.ascending(order.distinct(group)):
        counts, own = np.zeros(table.counts.shape), held == name
        np.add.at(counts, (cells[0][own], cells[1][own]), 1.0 if weights is None else weights[own])
        used = counts.sum(1) > 0
        rows = tuple(category for category, use in zip(table.rows, used, strict=True) if use)
        stated = None if table.forecasts is None else table.forecasts[used]
        try:
            strata[name] = PredictionTable(counts[used], stated, rows, table.columns, table.unit, level=table.level)
        except ValueError as error:
            strata[name] = str(error).removeprefix("counts: ")
    return replace(table, strata=strata)


def _matrix_form(sheet: Sheet, asked: FileOptions, at: dict[str, int]) -> PredictionTable | None:
    """One line per category, one column per outcome."""
    width = len(sheet.header)
    if at:
        return None
    if None not in sheet.parsed(sheet.header):  # no names at all: the first line holds counts
        whole = replace(sheet, header=[""] * width, cells=[sheet.header, *sheet.cells])
        grid = np.array([whole.numbers(j) for j in range(width)]).T
        other = "" if asked.rows or asked.columns else _cells_turned(grid.tolist())
        return _build(grid, asked, asked.rows or (), asked.columns or (), (), other_reading=other)
    if width < 3 or len(sheet.cells) > MANY or len(set(sheet.column(0))) < len(sheet.cells):
        return None
    if set(sheet.parsed([cell for row in sheet.cells for cell in row[1:]])) == {None}:
        return None
    grid, rows, columns, notes = _without_totals(sheet)
    within = len(columns) == 2 and bool((grid[:, 1] <= grid[:, 0]).all())
    if within and asked.columns is None and order.event_last(columns) is None and sheet.probabilities(0):
        a, b = columns
        raise ValueError(
            f"`{b}` never exceeds `{a}`: does `{a}` count all cases, or those without the event?\n"
            f'  all cases:  --count "{a}"      without the event:  --columns "{a},{b}"'
        )
    across, said = _direction(asked.columns, columns, "--columns", "Columns")
    down, also = _direction(asked.rows, rows, "--rows", "Rows")
    turned = grid[np.ix_(down, across)]
    if grid.shape == (2, 2) and turned[0, 1] * turned[1, 0] > turned[0, 0] * turned[1, 1]:
        # The words of one side reversed it; the other side, without such words, was written in the same direction.
        if also and asked.columns is None and order.event_last(columns) is None:
            said = (f"Columns turned round with the rows: “{columns[0]}” is taken for the event.",)
            across = across[::-1]
        elif said and asked.rows is None and order.event_last(rows) is None:
            also = (f"Rows turned round with the columns: “{rows[0]}” is taken for the worst.",)
            down = down[::-1]
    stated = sheet.probabilities(0) if key_of(sheet.header[0]) in PROBABILITIES else None
    options: dict[str, Any] = {}
    if len(columns) == 2 and asked.columns is None and not said and order.event_last(columns) is None:
        notes += (f"The last column, “{columns[1]}”, is taken for the event; --columns gives another order.",)
        if asked.rows is None and not also:
            names = [",".join(reversed(side)) for side in (columns, rows)]
            options["other_reading"] = f'--columns "{names[0]}" --rows "{names[1]}"'
    if stated is not None and len(stated) == len(rows) and len(columns) == 2:
        options["forecasts"] = np.array([stated[rows[i]] for i in down])
    rows, columns = [rows[i] for i in down], [columns[j] for j in across]
    return _build(grid[np.ix_(down, across)], asked, rows, columns, (*notes, *said, *also), **options)


def _direction(
    given: Sequence[str] | None, names: list[str], option: str, what: str
) -> tuple[list[int], tuple[str, ...]]:
    """Return the order of rows or columns: as given, by yes and no words, or as written; and a note about it."""
    if given is not None:
        return order.given(option, given, names), ()
    words = order.event_last(names)
    if words is None or words == names:
        return list(range(len(names))), ()
    return [names.index(name) for name in words], (f"{what} turned round by their words: {' before '.join(words)}.",)


def _without_totals(sheet: Sheet) -> tuple[Array, list[str], list[str], tuple[str, ...]]:
    """Return cells, rows, columns and notes without a last row or column of totals, which must agree with the cells."""
    rows, columns, notes = sheet.column(0), sheet.header[1:], list[str]()
    grid = np.array([sheet.numbers(j + 1) for j in range(len(columns))]).T
    for axis, what in enumerate(("row", "column")):
        names, others = (columns, rows) if axis else (rows, columns)
        if key_of(names[-1]) not in TOTALS or len(names) < 3:
            continue
        printed, grid = grid.take(-1, axis), np.delete(grid, -1, axis)
        added = grid.sum(axis)
        for i in np.flatnonzero(np.abs(added - printed) > 1e-9):
            raise ValueError(
                f"{sheet.name}: {what} {names[-1]!r} says {printed[i]:g} for {others[i]!r}, but the cells add up to "
                f"{added[i]:g}; correct the one that is wrong"
            )
        notes.append(f"{what.capitalize()} “{names[-1]}” holds totals and is left out.")
        rows, columns = (rows, columns[:-1]) if axis else (rows[:-1], columns)
    return grid, rows, columns, tuple(notes)


def _build(
    grid: Any, asked: FileOptions, rows: Sequence[str], columns: Sequence[str], notes: tuple[str, ...], **more: Any
) -> PredictionTable:
    options = {**asked.options, **more, "rows": tuple(rows), "columns": tuple(columns), "notes": notes}
    if len({len(line) for line in grid}) > 1:
        widths = ", ".join(str(len(line)) for line in grid)
        raise ValueError(f"counts: rows of different length ({widths}); each category needs one number per outcome")
    if asked.shares:
        return PredictionTable.from_shares(grid, n=asked.n, **options)
    return PredictionTable(check.grid(grid), **options)
