"""From rows of a table to `Forecasts`: what all layouts share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from veracity.inputs import Forecasts, Names, NothingLeft, check, prepare
from veracity.inputs.names import listed
from veracity.records.findings import Finding
from veracity.records.layout import Layout

from ..options import ReadOptions, canonical
from . import layouts, strings
from .column_meaning import SENTINELS, VOID
from .table import Table

Array = Any
Batch = tuple[int, Any, pl.DataFrame]  # number of the first row, numbers of all rows or None, the columns
PIVOTED = "\0p"  # before the class in the name of a column that a layout made


@dataclass(frozen=True)
class ModelRows:
    """Rows of one model of a table, from which a layout builds forecasts.

    columns  the forecast's
    numbers  of the rows in the file, where they are not start, start + 1, …
    whole    False for one batch of many
    """

    table: Table
    match: Layout
    options: ReadOptions
    frame: pl.DataFrame
    model: str
    columns: tuple[str, ...]
    start: int
    numbers: Array
    weight: Array
    whole: bool

    @property
    def row_numbers(self) -> Array:
        return np.arange(self.start, self.start + self.frame.height) if self.numbers is None else self.numbers

    @property
    def names(self) -> Names:
        return self.table.names(
            outcome=self.match.outcome or "outcome",
            forecast=self.columns[0] if len(self.columns) == 1 else "forecast",
            columns=tuple(c.removeprefix(PIVOTED) for c in self.columns),
            weight=self.options.weight or "weight",
            count=self.options.count or "count",
            cluster=self.options.cluster or "cluster",
            whole=self.whole,
        )

    def common_arguments(self) -> dict[str, Any]:
        """Return the arguments that `prepare` and `prepare_realised` share."""
        frame, options = self.frame, self.options
        return {
            "sample_weight": self.weight,
            "counts": numbers_in(frame[options.count]) if options.count else None,
            "missing": options.missing,
            "groups": {c: labels(frame[c]) for c in options.group if c in frame.columns},
            "case": self._case(),
            "clusters": labels(frame[options.cluster]) if options.cluster else None,
            "time": frame[options.time].to_numpy() if options.time else None,
            "first_row": self.start,
            "rows": self.numbers,
            "names": self.names,
            "model": self.model,
        }

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `prepare`."""
        return self.common_arguments() | {
            "soft": self.options.soft,
            "normalise": self.options.normalise,
            "scale": self.options.scale or self.match.scale,
            "features": feature_matrix(self.frame, self.options.feature),
            "ideal": matrix(self.frame, self.match.ideal) if self.match.ideal else None,
        }

    def _case(self) -> Array:
        case = self.match.case
        if len(case) < 2:
            return labels(self.frame[case[0]]) if case else None
        text = pl.concat_str([pl.lit(f"{c}=") + pl.col(c).cast(pl.String).fill_null("") for c in case], separator=", ")
        return labels(self.frame.select(text.alias("case"))["case"])

    def outcomes(self) -> Array:
        """Return the column numbers of the outcomes; NaN where missing; shares where outcomes are fractions."""
        if not self.match.labelled:
            return np.zeros(self.frame.height, np.int64)  # nobody looks at these
        column, options, wanted = self.frame[str(self.match.outcome)], self.options, self.match.labels
        if column.dtype == pl.String:
            column = column.str.strip_chars().replace("", None)  # a blank is missing
        if options.cut:
            if not column.dtype.is_numeric():
                raise self.table.error(f"outcome `{column.name}` holds text: it cannot be cut.", "leave --cut out")
            return between(options.cut, numbers_in(column))
        if options.versus_rest and len(self.columns) == 1:
            return codes_of_event(column, {canonical(v) for v in options.versus_rest})
        if wanted == tuple(str(i) for i in range(len(wanted))) and column.dtype.is_numeric():
            return numbers_in(column, integers=True)
        return codes_of_labels(column, wanted, self.names, self.row_numbers)


def prepared(rows: ModelRows, outcomes: Array, *, absent: bool = False, **changed: Any) -> Forecasts:
    """Return forecasts of the forecast columns; `absent`: NaN means that an option was not offered."""
    given, p = rows.arguments() | changed, matrix(rows.frame, rows.columns)
    absent = absent or rows.options.absent == "nan"
    given["absent"] = absent and p.ndim == 2 and bool(np.isnan(p).any())
    if rows.options.versus_rest:
        return _versus_rest(rows, outcomes, p, given)
    forecasts = prepare(outcomes, p, classes=rows.match.classes, **given)
    return replace(forecasts, half=True) if rows.match.half else forecasts


def _versus_rest(rows: ModelRows, outcomes: Array, p: Array, given: dict[str, Any]) -> Forecasts:
    """Return the probability of some classes together against all others."""
    chosen = [canonical(v) for v in rows.options.versus_rest]
    classes = ("rest", ",".join(chosen))
    if p.ndim == 1:
        return prepare(outcomes, p, classes=classes, **given)
    order = [canonical(c) for c in rows.match.classes]
    missing = [c for c in chosen if c not in order]
    if missing:
        raise rows.table.error(f"no class {missing[0]}: the classes are {' '.join(order)}.", "name some of them")
    index = [order.index(c) for c in chosen]
    forecasts = check(
        replace(prepare(outcomes, p, **given), half=rows.match.half or p.dtype == np.float16)
    )  # settles scale, missing and soft outcomes; the sums are lost below
    together = forecasts.matrix[:, index].sum(axis=1)
    # 0.1 + 0.2 and 0.3 are one forecast: rounding must not part ties
    together = np.where(together > 1e-3, np.round(together, 15), together)
    together = np.where((together > 1) & (together <= 1 + forecasts.allowed), 1.0, together)  # rounding of the sum
    return replace(
        forecasts,
        probabilities=together,
        outcomes=np.isin(np.asarray(forecasts.outcomes), index).astype(np.int8),
        classes=classes,
        log_realised=None,
        ideal=None if forecasts.ideal is None else forecasts.ideal[:, index].sum(axis=1),
        offered=None,
    )


def repeated(rows: ModelRows, times: int) -> dict[str, Any]:
    """Return the arguments of `prepare` with each row several times."""
    given = rows.arguments()
    for name in ("sample_weight", "counts", "features", "ideal", "clusters", "time"):
        given[name] = None if given[name] is None else np.repeat(given[name], times, axis=0)
    given["groups"] = {c: np.repeat(v, times) for c, v in given["groups"].items()}
    given["rows"] = np.repeat(rows.row_numbers, times)
    return given


class Builder:
    """Makes the forecasts of one table, batch by batch or whole.

    weights      from a file of their own, by row; `offset`: rows of other tables before this one
    pending      findings by model, of batches in which no row was left
    passthrough  columns that are read and not looked at
    """

    def __init__(
        self,
        table: Table,
        match: Layout,
        options: ReadOptions,
        weights: Array = None,
        offset: int = 0,
        passthrough: Sequence[str] = (),
    ) -> None:
        self.table, self.match, self.options = table, match, options
        self.weights, self.offset = weights, offset
        self.pending: dict[str, tuple[Finding, ...]] = {}
        self.passthrough = [table.as_given(c) for c in passthrough]
        self.layout = layouts.load(match.layout)

    @cached_property
    def columns(self) -> list[str]:
        options = self.options
        named = (options.weight, options.count, options.cluster, options.time, *options.group)
        optional = [c for c in named if c in self.table.columns]
        return list(dict.fromkeys([*self.match.columns, *optional, *options.feature, *self.passthrough]))

    def frames(self, size: int) -> Iterator[Batch]:
        """Yield the table in batches that do not part rows which belong together."""
        if self.match.undivided:
            return whole_cases(self.table, self.match, self.columns, size)
        return self.table.batches(self.columns, size)

    def forecasts(self, frame: pl.DataFrame, start: int, numbers: Array, whole: bool) -> Iterator[Forecasts]:
        """Yield the forecasts of each model in a frame; none where every row of one batch of many is left out."""
        match, weight = self.match, self._weights(frame, start, numbers)
        everything = ModelRows(self.table, match, self.options, frame, "", (), start, numbers, weight, whole)
        values = frame[match.model_column].cast(pl.String) if match.model_column else None
        for model, columns in match.models:
            rows = replace(everything, model=model, columns=columns)
            if values is not None:
                index = (values == model).fill_null(False).arg_true().to_numpy()
                if not len(index):
                    continue
                own = None if weight is None else weight[index]
                rows = replace(rows, frame=frame[index], numbers=everything.row_numbers[index], weight=own)
            try:
                forecasts = self.layout.build(rows)
            except NothingLeft as nothing:
                if whole:
                    raise
                self.pending[model] = (*self.pending.get(model, ()), nothing.finding)
                continue
            findings = (*self.pending.pop(model, ()), *forecasts.findings)
            yield replace(forecasts, findings=findings, picks_only=match.picks_only, shares_only=match.shares_only)

    def _weights(self, frame: pl.DataFrame, start: int, numbers: Array) -> Array:
        if self.weights is None:
            return numbers_in(frame[self.options.weight]) if self.options.weight else None
        # the weights of a file belong to all rows, also to those that --where leaves out
        rows = numbers if self.options.where and numbers is not None else np.arange(start, start + frame.height)
        return self.weights[self.offset + np.asarray(rows, dtype=np.int64) - self.table.first_row]


# -- batches of whole cases, for tables with several rows per case


def whole_cases(table: Table, match: Layout, columns: Sequence[str], size: int) -> Iterator[Batch]:
    """Yield batches of about `size` rows that end with a case; all rows at once where those of a case are apart."""
    keys = _keys(table, match) if "class" in match.roles and table.rows > size else None
    if keys is None:
        numbers, frame = table.read(columns)
        yield table.first_row + table.passed, numbers, frame
        return
    rest: Batch | None = None
    for batch in table.batches(columns, size):
        start, numbers, frame = batch if rest is None else _joined(rest, batch)
        if not frame.height:
            continue
        marks = _marks(frame, keys)
        others = np.flatnonzero(marks != marks[-1])
        end = int(others[-1]) + 1 if len(others) else 0
        if end:
            yield start, None if numbers is None else numbers[:end], frame[:end]
        rest = start + end, None if numbers is None else numbers[end:], frame[end:]
    if rest is not None:
        yield rest


def _joined(first: Batch, then: Batch) -> Batch:
    numbers = None if first[1] is None else np.concatenate([first[1], then[1]])
    return first[0], numbers, pl.concat([first[2], then[2]], how="vertical_relaxed")


def _keys(table: Table, match: Layout) -> list[str] | None:
    """Return the columns by which all rows of a case follow one another: those of the case, or with its model."""
    case = list(match.case)
    tried = [[match.model_column, *case], case] if match.model_column else [case]
    return next((keys for keys in tried if keys and _together(table, keys)), None)


def _together(table: Table, keys: list[str]) -> bool:
    """Whether no case comes again after another; takes eight bytes for each case."""
    begun: list[Any] = []
    last = None
    for _, _, frame in table.batches(keys):
        if frame.height:
            marks = _marks(frame, keys)
            begun.append(marks[np.r_[marks[0] != last, marks[1:] != marks[:-1]]])
            last = marks[-1]
    runs = np.concatenate(begun) if begun else np.zeros(0)
    return len(np.unique(runs)) == len(runs)


def _marks(frame: pl.DataFrame, keys: list[str]) -> Any:
    # equal hashes of two cases do no harm: the cases stay together, or the file is read at once
    return frame.select(keys).hash_rows().to_numpy()


# -- columns of a table as arrays -------------------------------------------------------------------------------------


def matrix(frame: pl.DataFrame, columns: tuple[str, ...]) -> Array:
    """Return (n,) or (n, k) floats in their own precision, without a copy for one column; missing is NaN."""
    if len(columns) == 1:
        return numbers_in(frame.get_column(columns[0]))
    first, *others = {frame[c].dtype for c in columns}
    wanted = first if not others and first in (pl.Float16, pl.Float32) else pl.Float64
    return frame.select(pl.col(c).cast(wanted).fill_null(np.nan) for c in columns).to_numpy(order="c")


def numbers_in(column: pl.Series, integers: bool = False) -> Array:
    """Return the numbers of a column; integers as floats unless they are wanted; missing is NaN."""
    if column.null_count():
        return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    if column.dtype.is_integer() and not integers:
        return column.cast(pl.Float64).to_numpy()
    return column.to_numpy() if column.dtype.is_numeric() else column.cast(pl.Float64).to_numpy()


def between(limits: Sequence[float], values: Array) -> Array:
    """Return the number of limits below each value, which is its class; NaN where missing."""
    codes = np.searchsorted(limits, values, side="left")
    missing = np.isnan(values)
    return np.where(missing, np.nan, codes) if missing.any() else codes


def labels(column: pl.Series) -> Array:
    """Return the values of a group or id: numbers as they are, anything else as text."""
    numeric = column.dtype.is_numeric() and not column.null_count()
    return (column if numeric else strings.composed(column.cast(pl.String))).to_numpy()


def codes_of_labels(column: pl.Series, classes: tuple[str, ...], names: Names, rows: Array) -> Array:
    """Return the column numbers of labels; NaN where missing. A label outside the classes is an error."""
    place = {label: i for i, label in enumerate(classes)}
    mapping = {v: place.get(canonical(v), -1) for v in column.unique().to_list() if v is not None and v == v}
    strays = [value for value, code in mapping.items() if code < 0]
    if strays:
        bad = column.is_in(strays)
        index, known = int(bad.arg_max() or 0), listed(classes, 8)
        quote = "'" if names.style == "file" else ""
        codes = [canonical(v) for v in strays]
        where = [names.option("where", f"{quote}{names.outcome}!={code}{quote}") for code in codes]
        unknown = all(code.lower() in VOID or code in SENTINELS for code in codes)  # no outcome is ever to be left out
        without = f"      if the outcome is not known there:  {' '.join(where)}" if unknown else ""
        raise names.error(
            f"{names.cell(names.outcome, int(rows[index]))} = {column[index]}: none of the classes {known} "
            f"({int(bad.sum()):,} of {column.len():,} rows).",
            f"correct the outcome, or choose the columns of all classes:  {names.option('proba', 'PATTERN')}{without}",
        )
    return _replaced(column, mapping)


def codes_of_event(column: pl.Series, event: set[str]) -> Array:
    """Return 1 for labels of the event, 0 for others; NaN where missing."""
    values = [v for v in column.unique().to_list() if v is not None and v == v]
    return _replaced(column, {v: int(canonical(v) in event) for v in values})


def _replaced(column: pl.Series, mapping: dict[Any, int]) -> Array:
    if column.dtype.is_float():
        column = column.fill_nan(None)
    codes = column.replace_strict(list(mapping), list(mapping.values()), default=None, return_dtype=pl.Int32)
    return codes.to_numpy() if not codes.null_count() else codes.cast(pl.Float64).fill_null(np.nan).to_numpy()


def feature_matrix(frame: pl.DataFrame, names: tuple[str, ...]) -> Array:
    """Return (n, f) features; words by their hash."""
    if not names:
        return None
    columns = [
        # hashes are the same in every batch, cut to what a float holds exactly
        numbers_in(frame[c]) if frame[c].dtype.is_numeric() else (frame[c].cast(pl.String).hash() // 2**11).to_numpy()
        for c in names
    ]
    return np.column_stack(columns)
