"""The columns of a table while its layout is looked for: which are free, and what they look like."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from veracity.inputs.names import run_of

from ..options import ReadOptions, canonical
from . import column_meaning as meaning
from .column_meaning import Column
from .patterns import items_of, matching
from .proposals import Proposal, Refusal
from .table import Table


class Columns:
    """All columns of a table, and those that are free to be given a role.

    model   name of the model where the table has only one
    forced  the layout is given by option
    """

    def __init__(self, table: Table, options: ReadOptions, model: str) -> None:
        self.table, self.options, self.model = table, options, model
        self.error, self.option = table.error, table.option
        declared = {name: tuple(map(canonical, order)) for name, order in table.declared.items()}
        self.all = {name: Column(name, table.sample[name], declared.get(name, ())) for name in table.sample.columns}
        self.forced = options.layout != "auto"
        self.scale = options.scale or "probability"
        taken = {table.column(name) for name in options.given if name != options.weight}
        if options.weight in table.columns:
            taken.add(options.weight)
        for name, what in ((options.weight, "weights"), (options.count, "counts")):
            if name in self.all and table.sample[name].dtype != pl.Boolean:
                self._require_numbers(name, what, "choose a column of numbers")
        if options.ideal:
            taken |= {c for _, _, c in self.matched("ideal", options.ideal)}
        self.free = {name: column for name, column in self.all.items() if name not in taken}

    def refuse(self, what: str, *proposals: Proposal, **how: Any) -> Refusal:
        """Return a refusal with proposals, which are tried before they are printed."""
        return Refusal(what, *proposals, file=self.table.names().file, **how)

    def without(self, names: Iterable[str]) -> Columns:
        """Return the same columns with fewer of them free."""
        other = copy.copy(self)
        taken = set(names)
        other.free = {name: column for name, column in self.free.items() if name not in taken}
        return other

    def where(self, fits: Callable[[Column], bool], without: Sequence[str] = ()) -> list[Column]:
        """Return the free columns that fit, apart from some."""
        apart = set(without)
        return [c for c in self.free.values() if c.name not in apart and fits(c)]

    def candidates(self, fits: Callable[[Column], bool], without: Sequence[str] = ()) -> list[Column]:
        """Return the free columns that fit and may hold outcomes or picks: no time stamp, no id, no free text."""
        return self.where(lambda c: fits(c) and not c.no_label, without)

    def with_label(self) -> Columns:
        """Return the same columns with the outcome that is given among the free ones."""
        other, label = copy.copy(self), self.options.label
        other.free = {name: column for name, column in self.all.items() if name in self.free or name == label}
        return other

    def first(self, names: Sequence[str], fits: Callable[[Column], bool]) -> str | None:
        """Return the free column with the first of these names that fits."""
        named = self.where(lambda c: c.key in names and fits(c))
        return min(named, key=lambda c: names.index(c.key)).name if named else None

    def is_pick(self, column: Column) -> bool:
        """Whether the column holds predicted labels, by its name."""
        return column.key in meaning.PICKS and not column.probability and column.name != self.options.label

    def one_probability(self, without: Sequence[str] = ()) -> str | None:
        """Return the only column that can be the probability of the event, or the only one with such a name."""
        numeric = self.where(lambda c: c.numeric and c.key not in meaning.WEIGHTS, without)
        fits = [c for c in numeric if c.on_scale(self.scale)]
        # a forecast by name that is out of range is still the forecast: the check says what is wrong
        named = [c for c in fits or numeric if c.key in meaning.PROBABILITIES]
        named = named or [c for c in fits or numeric if meaning.named_probability(c.name)]
        fits = named or fits
        return fits[0].name if len(fits) == 1 else None

    def ordered(self, classes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the classes in the order of --order."""
        order = tuple(canonical(c) for c in self.options.order)
        if not order or self.options.versus_rest:
            return classes
        if set(order) != set(classes) or len(order) != len(classes):
            raise self.error(
                f"the order {','.join(order)} does not name each class once: the classes are {' '.join(classes)}.",
                self.option("order", ",".join(classes)),
            )
        return order

    def matched(self, option: str, pattern: str) -> list[tuple[str | None, str | None, str]]:
        """Return (model, class, column) of each column that the pattern of an option matches."""
        names = self.table.columns
        for item in items_of(pattern, names):
            if not matching(item, names):
                if any(c in item for c in "*?[{"):
                    raise self.error(f"no column fits {self.option(option, item)}.", f"columns: {run_of(names)}")
                self.table.column(item)
        exact = {*items_of(pattern, names)}  # a pattern takes no column that another option names
        matches = [each for each in matching(pattern, names) if each[2] in exact or each[2] not in self.options.given]
        for _, _, name in matches:
            self._require_numbers(name, "probabilities", "choose columns of numbers")
        return matches

    def _require_numbers(self, name: str, wanted: str, remedy: str) -> None:
        if not self.all[name].numeric:
            value = self.all[name].present
            content = f"text ({value[0]!r})" if value.len() else "nothing"
            raise self.error(f"`{name}` holds {content}, not {wanted}.", remedy)

    # ---------------------------------------------------------------- models

    def model_column(self) -> str | None:
        """Return the column that names the model of each row, given or recognised."""
        given = self.options.model
        if given:
            return None if given == "none" else self.table.column(given)
        known = copy.copy(self)
        known.free = self.free | {name: self.all[name] for name in self.options.id}  # one of them may name the model
        name = known.first(meaning.MODELS, lambda c: 2 <= c.distinct <= 50)
        name = name or known.first(meaning.WEAK_MODELS, lambda c: 2 <= c.distinct <= 50 and self._have_all_cases(c))
        return name if name and (self.table.whole or self.options.id) else None

    def _have_all_cases(self, models: Column) -> bool:
        """Whether a column that identifies the cases has each of them once for every model."""
        keys = self.options.id or [c.name for c in self.all.values() if c.key in meaning.CASE_IDS]
        pairs = self.table.sample.select(models.name, *keys) if keys else self.table.sample.head(0)
        cases = pairs.select(keys).n_unique() if keys else 0
        return cases > 1 and pairs.n_unique() == pairs.height == cases * models.distinct

    def model_names(self, column: str) -> tuple[str, ...]:
        _, frame = self.table.read([column])
        return tuple(str(v) for v in frame[column].unique(maintain_order=True).to_list() if v is not None)

    def case_columns(self, used: Iterable[str | None]) -> tuple[str, ...]:
        """Return the columns that identify a case: those of --id, or all that have no other role."""
        options = self.options
        weight = options.weight if options.weight in self.table.columns else None
        apart = {*used, weight, options.count, *options.feature}
        return tuple(c for c in options.id or self.all if c not in apart)
