"""The columns of a table while its layout is searched: which are free, what they look like, what is said of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from ..data.names import many
from . import roles
from .classes import ClassSet, given_sets
from .files import Table
from .layouts import Layout, run_of
from .reading import ReadOptions, canonical, items_of, matching
from .roles import Column


class Pool:
    """Columns that are free to be given a role, and what every rule needs of them."""

    def __init__(self, table: Table, reading: ReadOptions, stem: str) -> None:
        self.table, self.reading, self.stem = table, reading, stem
        self.all = roles.columns_of(table.sample)
        taken = {table.column(name) for name in reading.given if name != reading.weight}
        if reading.weight in table.columns:
            taken.add(reading.weight)
        for name, what in ((reading.weight, "weights"), (reading.count, "counts")):
            if name in self.all and table.sample[name].dtype != pl.Boolean:
                self._holds_numbers(name, what, "choose a column of numbers")
        if reading.ideal:
            taken |= {c for _, _, c in self._matched("ideal", reading.ideal)}
        self.pool = {name: column for name, column in self.all.items() if name not in taken}
        self.scale = reading.scale or "probability"

    def _models(self, found: Layout) -> Layout:
        """The model column, if rows of one model do not repeat a case."""
        reading = self.reading
        if found.kind == "long" or len(found.models) > 1 or found.kind in ("counts", "events"):
            return self._with_extras(found)
        column = found.model_column or self._model_column()
        if column is None:
            return self._with_extras(found)
        if not reading.model and self.table.whole and column not in found.case:
            rest = [c for c in self.all if c not in found.columns] if not reading.id else [*reading.id, column]
            if self.table.sample.select(rest).is_duplicated().any():
                unused = tuple(
                    (c, "rows of one model repeat a case" if c == column else why) for c, why in found.unused
                )
                return self._with_extras(replace(found, unused=unused, model_column=None))
        case = reading.id or tuple(c for c in self.all if c not in (*found.columns, column, *self._aside()))
        unused = () if not reading.id else tuple((c, why) for c, why in found.unused if c != column)
        names = self._model_values(column)
        columns = found.models[0][1]
        found = replace(found, models=tuple((n, columns) for n in names), model_column=column, case=case, unused=unused)
        return self._with_extras(found)

    def _with_extras(self, found: Layout) -> Layout:
        if found.kind == "long":
            names = self._model_values(found.model_column) if found.model_column else (self.stem,)
            found = replace(found, models=tuple((n, found.models[0][1]) for n in names))
        elif self.reading.id and not found.case:
            found = replace(found, case=self.reading.id)
        if self.reading.ideal:
            found = replace(found, ideal=self._ideal(found))
        return found

    def _ideal(self, found: Layout) -> tuple[str, ...]:
        """The columns of the true probabilities, in the order of the classes."""
        assert self.reading.ideal is not None
        matched = self._matched("ideal", self.reading.ideal)
        columns = tuple(c for _, _, c in matched)
        if len(columns) != len(found.models[0][1]):
            raise self.table.error(
                f"the ideal has {many(len(columns), 'column')}, the forecast {len(found.models[0][1])}.",
                "one for each class",
            )
        if found.kind != "wide" or len(columns) == 1:
            return columns
        (given,) = given_sets([(None, k, c) for _, k, c in matched], self)
        if set(given.classes) != set(found.labels):
            raise self.table.error(
                f"the ideal has the classes {' '.join(given.classes)}, the forecast {' '.join(found.labels)}.",
                f"let * stand for the class:  {self.table.option('ideal', 'q_*')}",
            )
        return tuple(given.columns[given.classes.index(label)] for label in found.labels)

    def _model_values(self, column: str) -> tuple[str, ...]:
        _, frame = self.table.read([column])
        return tuple(str(v) for v in frame[column].unique(maintain_order=True).to_list() if v is not None)

    def _model_column(self) -> str | None:
        if self.reading.model == "none":
            return None
        if self.reading.model:
            return self.table.column(self.reading.model)
        name = self._first(roles.MODELS, lambda c: 2 <= c.distinct <= 50)
        return name if name and (self.table.whole or self.reading.id) else None

    def _aside(self) -> tuple[str, ...]:
        """Columns that have a role by option and are no part of a case."""
        weight = self.reading.weight if self.reading.weight in self.table.columns else None
        return tuple(c for c in (weight, self.reading.count) if c) + self.reading.feature

    def _done(self, found: Layout, outcome_note: str, why: str, keep: tuple[str, ...] = ()) -> Layout:
        used = {*found.columns, *keep, *self.reading.given}
        unused, remark = [], ""
        for name, column in self.all.items():
            if name in used:
                continue
            why_not = "looks like a predicted label" if self._is_pick(column) and column.labels else ""
            twin = self._percent_of(column, found)
            why_not = f"looks like `{twin}` in percent" if twin else why_not
            if column.plain in roles.WEIGHTS and not self.reading.weight:
                remark = f"{name} is not used as case weights ({self.table.option('weight', name)} would)"
            unused.append((name, why_not))
        return replace(
            found, why=why, outcome_note=outcome_note, unused=tuple(unused), remark=remark, tally=self._tally(found)
        )

    def _tally(self, found: Layout) -> tuple[tuple[str, int], ...]:
        if (
            not self.table.whole
            or not found.outcome
            or len(found.labels) > 4
            or self.reading.cut
            or found.kind == "long"
        ):
            return ()
        seen = self.all[found.outcome].times if self.all[found.outcome].labels else {"": 0}
        if not set(seen) <= set(found.labels):
            return ()
        return tuple(sorted((label, seen.get(label, 0)) for label in found.labels))

    def _percent_of(self, column: Column, found: Layout) -> str | None:
        if not column.numeric or column.high <= 1:
            return None
        for _, columns in found.models:
            values = self.table.sample[columns[0]]
            if len(columns) == 1 and values.dtype.is_numeric():
                apart = (column.values - 100 * values).abs().max()
                if apart is not None and float(apart) < 1e-6:  # type: ignore[arg-type]
                    return columns[0]
        return None

    def _is_pick(self, column: Column) -> bool:
        return column.plain in roles.PICKS and not column.probability and column.name != self.reading.label

    def _first(self, names: tuple[str, ...], fits: Callable[[Column], bool]) -> str | None:
        for wanted in names:
            for name, column in self.pool.items():
                if column.plain == wanted and fits(column):
                    return name
        return None

    def _one_probability(self, exclude: tuple[str, ...]) -> str | None:
        pool = [c for c in self.pool.values() if c.numeric and c.name not in exclude]
        fits = pool if self.scale in ("logit", "log") else [c for c in pool if c.within]
        if self.scale == "percent":
            fits = [c for c in pool if c.low >= 0 and c.high <= 100]
        # a forecast by name that is out of range is still the forecast: the check says what is wrong
        named = [c for c in fits or pool if c.plain in roles.PROBABILITIES] or [
            c for c in fits or pool if roles.named_probability(c.name)
        ]
        fits = named or fits
        return fits[0].name if len(fits) == 1 else None

    def _ordered(self, classes: tuple[str, ...]) -> tuple[str, ...]:
        order = tuple(canonical(c) for c in self.reading.order)
        if not order or self.reading.versus_rest:
            return classes
        if set(order) != set(classes) or len(order) != len(classes):
            raise self.table.error(
                f"the order {','.join(order)} does not name each class once: the classes are {' '.join(classes)}.",
                self.table.option("order", ",".join(classes)),
            )
        return order

    def _scale_of(self, chosen: ClassSet) -> str:
        return self.reading.scale or chosen.scale

    def _matched(self, option: str, pattern: str) -> list[tuple[str | None, str | None, str]]:
        found = matching(pattern, self.table.columns)
        for item in items_of(pattern, self.table.columns):
            if not matching(item, self.table.columns):
                if any(c in item for c in "*?[{"):
                    raise self.table.error(
                        f"no column fits {self.table.option(option, item)}.", f"columns: {run_of(self.table.columns)}"
                    )
                self.table.column(item)
        for _, _, name in found:
            self._holds_numbers(name, "probabilities", "choose columns of numbers")
        return found

    def _holds_numbers(self, name: str, wanted: str, remedy: str) -> None:
        if not self.all[name].numeric:
            value = self.all[name].present
            held = f"text ({value[0]!r})" if value.len() else "nothing"
            raise self.table.error(f"`{name}` holds {held}, not {wanted}.", remedy)
