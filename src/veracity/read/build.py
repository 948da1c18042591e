"""From rows of a table to `Forecasts`, by the layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ..data import Finding, Forecasts, Names, NothingLeft, check, prepare, prepare_realised
from .cases import whole_cases
from .files import Table
from .layouts import Layout
from .reading import ReadOptions, canonical
from .values import codes_of_labels, feature_matrix, labels, matrix, numbers_in, pair_outcomes

Array = Any
N, CLASS, OUTCOMES, CLASSES, P = "\0n", "\0class", "\0outcomes", "\0classes", "\0p"  # columns of a pivot


class Builder:
    """Makes the forecasts of one table, batch by batch or whole."""

    def __init__(
        self,
        table: Table,
        layout: Layout,
        reading: ReadOptions,
        weights: Array = None,
        offset: int = 0,
        pending: dict[str, tuple[Finding, ...]] | None = None,
        beside: Sequence[str] = (),
    ) -> None:
        self.table, self.layout, self.reading = table, layout, reading
        self.weights, self.offset = weights, offset  # weights from a file, and where this table starts in them
        self.pending = {} if pending is None else pending  # by model, of batches in which no row was left
        self.beside = [table.as_given(c) for c in beside]  # columns that are read and not looked at

    @cached_property
    def columns(self) -> list[str]:
        extra = [c for c in (self.reading.weight, self.reading.count) if c in self.table.columns]
        named = [*self.layout.columns, *extra, *self._groups, *self.reading.feature]
        return list(dict.fromkeys([*named, *self.beside]))

    @property
    def _groups(self) -> list[str]:
        """Groups that are columns; separate events are one without."""
        return [name for name in self.reading.group if name in self.table.columns]

    def frames(self, size: int) -> Iterator[tuple[int, Array, pl.DataFrame]]:
        """The table in batches; several rows of one case are never parted, and options that differ by row neither."""
        if self.layout.kind in ("long", "lm-eval"):
            return whole_cases(self.table, self.layout, self.columns, size)
        return self.table.batches(self.columns, size)

    def forecasts(self, frame: pl.DataFrame, start: int, numbers: Array, whole: bool) -> Iterator[Forecasts]:
        layout = self.layout
        if layout.kind == "long":
            frame, numbers = self._pivoted(frame, start, numbers)
            layout = replace(layout, models=tuple((m, tuple(P + c for c in layout.labels)) for m, _ in layout.models))
        weight = self._weights(frame, start, numbers)
        if layout.model_column is None:
            for model, columns in layout.models:
                yield from self._some(frame, model, columns, start, numbers, weight, whole)
            return
        values = frame[layout.model_column].cast(pl.String)
        for model, columns in layout.models:
            index = (values == model).fill_null(False).arg_true().to_numpy()
            if len(index):
                rows = numbers[index] if numbers is not None else start + index
                held = None if weight is None else weight[index]
                yield from self._some(frame[index], model, columns, start, rows, held, whole)

    # ---------------------------------------------------------------- one model

    def _some(self, *told: Any) -> Iterator[Forecasts]:
        """The forecasts of one model; nothing where every row of one batch of many is left out."""
        model, whole = told[1], told[-1]
        try:
            made = self._one(*told)
        except NothingLeft as nothing:
            if whole:
                raise
            self.pending[model] = (*self.pending.get(model, ()), nothing.finding)
        else:
            told_before = self.pending.pop(model, ())
            yield replace(made, findings=(*told_before, *made.findings)) if told_before else made

    def _one(
        self,
        frame: pl.DataFrame,
        model: str,
        columns: tuple[str, ...],
        start: int,
        numbers: Array,
        weight: Array,
        whole: bool,
    ) -> Forecasts:
        layout, reading = self.layout, self.reading
        names = self.table.names(
            outcome=layout.outcome or "outcome",
            forecast=columns[0] if len(columns) == 1 else "forecast",
            columns=tuple(c.removeprefix(P) for c in columns),
            weight=reading.weight or "weight",
            count=reading.count or "count",
            whole=whole,
        )
        count = numbers_in(frame[reading.count]) if reading.count else None
        given: dict[str, Any] = {
            "sample_weight": weight,
            "counts": count,
            "missing": reading.missing,
            "groups": {c: labels(frame[c]) for c in self._groups},
            "case": self._case(frame),
            "first_row": start,
            "rows": numbers,
            "names": names,
            "model": model,
        }
        if layout.kind == "realised":
            return self._realised(frame, columns[0], given)
        given |= {
            "soft": reading.soft,
            "normalise": reading.normalise,
            "scale": reading.scale or layout.scale,
            "features": feature_matrix(frame, reading.feature),
            "ideal": matrix(frame, layout.ideal) if layout.ideal else None,
        }
        if "count" in layout.roles:
            given["counts"] = numbers_in(frame[layout.roles["count"]])
        if "n" in layout.roles or "frequency" in layout.roles:
            return self._counted(frame, columns[0], given, names)
        if layout.kind == "events":
            return self._events(frame, columns, given)
        p = matrix(frame, columns)
        if layout.kind == "unlabelled":  # nobody will look at these
            y = np.zeros(len(p), np.int64)
        elif layout.kind == "pairs":
            y = pair_outcomes(matrix(frame, layout.outcomes))
        elif layout.kind == "top":
            y = self._picked(frame, names, start, numbers)
        else:
            y = self._outcomes(frame, names, start, numbers)
        absent = reading.absent == "nan" or layout.kind == "lm-eval"
        given["absent"] = absent and p.ndim == 2 and bool(np.isnan(p).any())
        if reading.versus_rest:
            return self._versus_rest(y, p, given)
        made = prepare(y, p, classes=layout.classes, **given)
        return _decided(made) if layout.outcome == f"{columns[0]}_outcome" else made

    def _outcomes(self, frame: pl.DataFrame, names: Names, start: int, numbers: Array) -> Array:
        """Column numbers of what happened; NaN where it is missing; shares where outcomes are fractions."""
        assert self.layout.outcome is not None
        column, reading = frame[self.layout.outcome], self.reading
        if reading.cut:
            if not column.dtype.is_numeric():
                raise self.table.error(f"outcome `{column.name}` holds text: it cannot be cut.", "leave --cut out")
            values = numbers_in(column)
            cut = np.searchsorted(reading.cut, values, side="left").astype(float)
            cut[np.isnan(values)] = np.nan
            return cut if np.isnan(cut).any() else cut.astype(np.int64)
        wanted = self.layout.labels
        if reading.versus_rest and len(self.layout.models[0][1]) == 1:
            inside = {canonical(v) for v in reading.versus_rest}
            return codes_of_labels(column, None, inside, names, start, numbers)
        plain = wanted == tuple(str(i) for i in range(len(wanted)))
        if plain and column.dtype.is_numeric():
            return numbers_in(column, integers=True)
        return codes_of_labels(column, wanted, None, names, start, numbers)

    def _picked(self, frame: pl.DataFrame, names: Names, start: int, numbers: Array) -> Array:
        assert self.layout.outcome is not None
        pick = self.layout.roles.get("pick")
        if pick is None:
            return self._outcomes(frame, names, start, numbers)
        truth, said = frame[self.layout.outcome], frame[pick]
        if not (truth.dtype.is_numeric() and said.dtype.is_numeric()):
            truth, said = truth.cast(pl.String), said.cast(pl.String)
        return (truth == said).cast(pl.Float64).fill_null(np.nan).to_numpy()

    def _versus_rest(self, y: Array, p: Array, given: dict[str, Any]) -> Forecasts:
        """Some classes together against all others."""
        reading, layout = self.reading, self.layout
        chosen = [canonical(v) for v in reading.versus_rest]
        event = ",".join(chosen)
        if p.ndim == 1:
            return prepare(y, p, classes=("rest", event), **given)
        order = [canonical(c) for c in layout.classes]
        missing = [c for c in chosen if c not in order]
        if missing:
            raise self.table.error(f"no class {missing[0]}: the classes are {' '.join(order)}.", "name some of them")
        index = [order.index(c) for c in chosen]
        made = prepare(y, p, **given)  # settles scale, missing and soft outcomes
        check(made)  # the rows as they stand: their sums are lost below
        assert made.outcomes is not None
        together = made.matrix[:, index].sum(axis=1)
        # 0.1 + 0.2 and 0.3 are one forecast: rounding must not part what is tied
        together = np.where(together > 1e-3, np.round(together, 15), together)
        together = np.where((together > 1) & (together <= 1 + made.allowed), 1.0, together)  # rounding of the sum
        happened = np.isin(made.outcomes, index).astype(np.int8)
        ideal = None if made.ideal is None else made.ideal[:, index].sum(axis=1)
        return replace(
            made,
            probabilities=together,
            outcomes=happened,
            classes=("rest", event),
            log_realised=None,
            ideal=ideal,
            offered=None,
        )

    def _realised(self, frame: pl.DataFrame, column: str, given: dict[str, Any]) -> Forecasts:
        if self.reading.feature or self.reading.ideal:
            raise self.table.error(
                "only the probability of what happened is known: an ideal or features cannot be compared with it.",
                "leave them out",
            )
        rows = given["rows"]
        if given["case"] is None and rows is not None and (rows[1:] == rows[:-1]).any():  # tokens of one answer
            given["case"] = rows
        return prepare_realised(numbers_in(frame[column]), scale=self.layout.scale, **given)

    def _counted(self, frame: pl.DataFrame, column: str, given: dict[str, Any], names: Names) -> Forecasts:
        """Each row is two: the events and the others, with their numbers or shares."""
        layout = self.layout
        p = numbers_in(frame[column])
        twice: dict[str, Any] = {
            "groups": {c: np.repeat(v, 2) for c, v in given["groups"].items()},
            "rows": np.repeat(_numbers_of(frame, given), 2),
            "features": None if given["features"] is None else np.repeat(given["features"], 2, axis=0),
            "ideal": None if given["ideal"] is None else np.repeat(given["ideal"], 2, axis=0),
            "case": None,
        }
        y = np.tile(np.array([1, 0]), len(p))
        weight, n = given["sample_weight"], given["counts"]
        if "frequency" in layout.roles and n is None:
            frequency = numbers_in(frame[layout.roles["frequency"]])
            share = np.ones(len(p)) if weight is None else weight
            twice["sample_weight"] = np.column_stack([share * frequency, share * (1 - frequency)]).reshape(-1)
        else:
            if "frequency" in layout.roles:
                events = self._whole_events(n, frame, given)
            else:
                n, events = numbers_in(frame[layout.roles["n"]]), numbers_in(frame[layout.roles["events"]])
                twice["names"] = replace(names, count=layout.roles["n"])
            twice["counts"] = np.column_stack([events, n - events]).reshape(-1)
            twice["sample_weight"] = None if weight is None else np.repeat(weight, 2)
        made = prepare(y, np.repeat(p, 2), **(given | twice))
        return replace(made, findings=tuple(f for f in made.findings if f.code not in ("zero_count", "zero_weight")))

    def _whole_events(self, n: Array, frame: pl.DataFrame, given: dict[str, Any]) -> Array:
        """The number of events behind a frequency, which may have been rounded to two digits."""
        column = self.layout.roles["frequency"]
        events = n * numbers_in(frame[column])
        broken = np.abs(events - np.round(events)) > 0.005 * n + 1e-9
        if broken.any():
            i = int(np.argmax(broken))
            raise self.table.error(
                f"row {_numbers_of(frame, given)[i]}, `{column}` of {n[i]:g} cases is {events[i]:.6g} events: "
                "not a whole number.",
                f"if these are shares of the cases:  {self.table.option('weight', self.reading.count)}",
            )
        return np.round(events)

    def _events(self, frame: pl.DataFrame, columns: tuple[str, ...], given: dict[str, Any]) -> Forecasts:
        """Separate yes/no events in columns, stacked case by case; the column's name is the group `event`."""
        m = len(columns)
        names = replace(given["names"], forecast="forecast", columns=())
        stacked: dict[str, Any] = {
            "groups": {c: np.repeat(v, m) for c, v in given["groups"].items()}
            | {"event": np.tile(np.array(columns, dtype=object), frame.height)},
            "rows": np.repeat(_numbers_of(frame, given), m),
            "case": np.repeat(given["case"] if given["case"] is not None else _numbers_of(frame, given), m),
            "sample_weight": None if given["sample_weight"] is None else np.repeat(given["sample_weight"], m),
            "counts": None if given["counts"] is None else np.repeat(given["counts"], m),
            "features": None if given["features"] is None else np.repeat(given["features"], m, axis=0),
            "ideal": None if given["ideal"] is None else given["ideal"].reshape(-1),
            "names": names,
        }
        p, y = matrix(frame, columns), matrix(frame, self.layout.outcomes)
        return _decided(prepare(y.reshape(-1).astype(np.float64), p.reshape(-1), **(given | stacked)))

    def _pivoted(self, frame: pl.DataFrame, start: int, numbers: Array) -> tuple[pl.DataFrame, Array]:
        """Long rows as one row per case and model with a column per class."""
        layout, table = self.layout, self.table
        klass, value, outcome = layout.roles["class"], layout.roles["value"], layout.outcome
        assert outcome is not None
        key = [c for c in ([layout.model_column] if layout.model_column else []) + list(layout.case) if c]
        rows = numbers if numbers is not None else np.arange(start, start + frame.height)
        seen = [value for value in frame[klass].unique().to_list() if value is not None]
        frame = frame.with_columns(
            pl.Series(N, rows),
            pl.col(klass).replace_strict(seen, [canonical(v) for v in seen], return_dtype=pl.String).alias(CLASS),
        )
        twice = frame.select([*key, CLASS]).is_duplicated()
        if twice.any():
            row = int(frame[N][int(twice.arg_max() or 0)])
            raise table.error(
                f"row {row}: class {frame[CLASS][int(twice.arg_max() or 0)]} of one case stands there twice.",
                f"name the columns of a case:  {table.option('id', 'COL,COL')}",
            )
        extra = [c for c in frame.columns if c not in (*key, klass, value, outcome, CLASS, N)]
        made = frame.group_by(key, maintain_order=True).agg(
            pl.col(outcome).first(),
            pl.col(outcome).n_unique().alias(OUTCOMES),
            pl.col(N).first(),
            *[pl.col(c).first() for c in extra],
            *[pl.col(value).filter(pl.col(CLASS) == c).first().alias(P + c) for c in layout.labels],
            pl.len().alias(CLASSES),
        )
        odd = made.filter(pl.col(OUTCOMES) > 1)
        if odd.height:
            raise table.error(
                f"row {odd[N][0]}: one case has several outcomes in `{outcome}`.",
                f"name the columns of a case:  {table.option('id', 'COL,COL')}",
            )
        short = made.filter(pl.col(CLASSES) != len(layout.labels))
        if short.height and not self.reading.absent and self.reading.missing == "error":
            raise table.error(
                f"row {short[N][0]}: a case with {short[CLASSES][0]} of {len(layout.labels)} classes "
                f"({short.height:,} of {made.height:,} cases).",
                f"leave these cases out:  {table.option('missing', 'drop')}"
                f"      or, if an option was not offered:  {table.option('absent', 'nan')}",
            )
        return made, made[N].to_numpy()

    def _case(self, frame: pl.DataFrame) -> Array:
        layout = self.layout
        if not layout.case or layout.kind in ("lm-eval",):
            return None
        if len(layout.case) == 1:
            return labels(frame[layout.case[0]])
        text = pl.concat_str(
            [pl.lit(f"{c}=") + pl.col(c).cast(pl.String).fill_null("") for c in layout.case], separator=", "
        )
        return frame.select(text.alias("case"))["case"].to_numpy()

    def _weights(self, frame: pl.DataFrame, start: int, numbers: Array) -> Array:
        if self.weights is not None:
            rows = np.arange(start, start + frame.height)
            # rows were left out, or several are one case: their own numbers count
            if numbers is not None and (self.reading.where or self.layout.kind == "long"):
                rows = np.asarray(numbers, dtype=np.int64)
            return self.weights[self.offset + rows - self.table.first_row]
        return numbers_in(frame[self.reading.weight]) if self.reading.weight else None


def _numbers_of(frame: pl.DataFrame, given: dict[str, Any]) -> Array:
    if given["rows"] is not None:
        return np.asarray(given["rows"])
    return np.arange(given["first_row"], given["first_row"] + frame.height)


def _decided(made: Forecasts) -> Forecasts:
    """Forecasts kept up after the event: exact zeros and ones that came true are no forecasts any more."""
    p, y = made.probabilities, made.outcomes
    assert p is not None
    true = np.flatnonzero(((p == 0) | (p == 1)) & (p == y))
    if len(true) < 0.1 * len(p):
        return made
    rows = [made.row(i) for i in true[:20]]
    return replace(made, findings=(*made.findings, Finding.of("already_decided", len(true), len(p), rows)))
