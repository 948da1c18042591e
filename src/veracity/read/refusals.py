"""How a search ends when the columns leave more than one reading, or none: what, where, and a ready command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.names import many
from . import roles
from .classes import ClassSet
from .layouts import Layout, run_of
from .pool import Pool
from .reading import canonical
from .roles import Column


class Refusals(Pool):
    """The messages of a search."""

    def _only_reading(self, found: Layout) -> None:
        """A second complete reading of other columns: nobody may choose but the user."""
        if found.kind != "wide" or self.reading.label:
            return
        rest = [c for n, c in self.pool.items() if n not in found.columns and not self._is_pick(c)]
        two, one = [c for c in rest if c.two_valued], [c for c in rest if c.probability]
        if len(two) == 1 and len(one) == 1:
            raise self.table.error(
                f"two readings: classes {run_of(found.models[0][1])} with outcome `{found.outcome}`, "
                f"or `{one[0].name}` with outcome `{two[0].name}`.",
                f"choose:  {self.table.option('label', found.outcome)}   or   "
                f"{self.table.option('positive_proba', one[0].name)}",
            )

    def _not_swapped(self, outcome: Column, forecast: str) -> None:
        """An outcome that is called like a forecast, for a forecast that is called like an outcome."""
        if roles.plain(forecast) in roles.OUTCOMES and roles.named_probability(outcome.name):
            options = ("label", outcome.name), ("positive_proba", forecast)
            raise self.table.error(
                f"`{forecast}` holds probabilities and `{outcome.name}` {' and '.join(outcome.labels)}: "
                "their names say the opposite.",
                f"if the names are wrong:  {self.table.command(*options)}",
            )

    def _called_otherwise(self, outcome: Column, columns: Sequence[str]) -> ValueError:
        """As many labels as columns, and none that is the name of one: 0, 1, 2 for setosa, versicolor, virginica."""
        name, labels = outcome.name, outcome.labels
        return self.table.error(
            f"outcome `{name}` holds {short(labels, ', ')}, the columns are called {run_of(columns)}.",
            f"give both the same names: columns {short(labels)}, or the names of the columns in `{name}`",
        )

    def _other_labels(self, column: Column, chosen: ClassSet) -> ValueError:
        """An outcome by its name whose values are not the classes of the columns."""
        classes = chosen.classes
        inside = sum(times for label, times in column.times.items() if label in classes) if column.labels else 0
        # Words of which most are classes are not a class renamed: numbers may be, counted from 0 and from 1.
        renamed = column.numeric or len(column.labels) != len(classes)
        if inside > (0.9 if renamed else 0.5) * column.present.len():
            return self._stray_label(column, classes)
        if column.numeric and len(column.labels) != 2 and len(column.labels) != len(classes):
            return self._needs_cut(column, chosen)
        what = f"outcome `{column.name}` holds {short(column.labels, ', ')}, the classes are {short(classes, ', ')}."
        pair = roles.event_of(column.labels) if len(column.labels) == 2 else None
        if len(classes) == 2 and pair:
            options = "   or   ".join(self.table.option("positive_proba", c) for c in chosen.columns)
            return self.table.error(what, f"name the probability of {pair[1]}:  {options}")
        if len(column.labels) == len(classes) and chosen.stem:
            alike = run_of([chosen.stem + label for label in column.labels])
            return self.table.error(what, f"name each column after its class: {alike}")
        return self.table.error(
            what, "name the columns like the outcomes, or the outcome column:  " + self.table.option("label", "COL")
        )

    def _stray_label(self, column: Column, classes: tuple[str, ...]) -> ValueError:
        """Most outcomes are classes: those that are not are named, with the rows left out."""
        strays = [label for label in column.labels if label not in classes]
        row, count = 0, 0
        for index, value in enumerate(column.values.to_list()):
            if value is not None and canonical(value) in strays:
                row, count = row or index + 1, count + 1
        first = canonical(column.values[row - 1])
        where = " ".join(self.table.option("where", f"{column.name}!={label}") for label in strays[:3])
        remedy = "correct the outcome, or name every class" + (
            f"; without these rows:  {where}" if len(strays) < 4 else ""
        )
        return self.table.error(
            f"row {row - 1 + self.table.first_row}, `{column.name}` = {first}: none of the classes "
            f"{short(classes, ', ')} ({count:,} of {column.values.len():,} rows).",
            remedy,
        )

    def _hub_of_classes(self, klass: str, outcome: str | None) -> None:
        """Hub files also hold quantiles and means, and keep what happened in another file."""
        if outcome is None:
            raise self.table.error(
                f"one row per case and class in `{klass}`, but no column of what happened.",
                f"add one called observed, or name it:  {self.table.option('label', 'COL')}",
            )
        if not set(self.all[outcome].labels) <= set(self.all[klass].labels) or not self.all[klass].labels:
            raise self.table.error(
                f"`{klass}` does not hold the classes of `{outcome}` ({short(self.all[klass].labels) or 'fractions'}).",
                f"keep the rows of class probabilities:  {self.table.option('where', 'output_type=pmf')}",
            )

    def _event_or_realised(self, outcome: str | None, columns: list[str]) -> None:
        """An outcome beside a column named for what happened: of which of the two is it the probability?"""
        if outcome is None or len(columns) != 1 or self.reading.layout != "auto":
            return
        if roles.plain(columns[0]) not in roles.REALISED:
            return
        raise self.table.error(
            f"`{columns[0]}` beside the outcome `{outcome}`: the probability of the event, or of what happened?",
            f"of the event:  {self.table.option('positive_proba', columns[0])}      "
            f"of what happened:  {self.table.option('layout', 'realised')}",
        )

    def _needs_cut(self, column: Column, chosen: ClassSet) -> ValueError:
        classes = chosen.classes
        # limits with which each class would happen as often as it is forecast on average
        means = [self.table.sample[c].mean() or 0.0 for c in chosen.columns]
        shares = np.cumsum(np.array(means, dtype=float))[:-1]
        ranked = np.sort(column.present.to_numpy())
        limits = [f"{x:g}" for x in ranked[np.minimum((shares * len(ranked)).astype(int), len(ranked) - 1)]]
        arrows = ", ".join(f"≤ {x} → {c}" for x, c in zip(limits, classes, strict=False))
        return self.table.error(
            f"outcome `{column.name}` is a number ({column.low:g} to {column.high:g}, {column.distinct} values), "
            f"the classes are {', '.join(classes)}.",
            f"give the limits between the classes:  {self.table.option('cut', ','.join(limits))}"
            f"        ({arrows}, above → {classes[-1]})",
        )

    def _cut_note(self, order: tuple[str, ...]) -> str:
        cut = self.reading.cut
        if len(cut) != len(order) - 1:
            raise self.table.error(
                f"{many(len(cut), 'limit')} cut {len(cut) + 1} classes, "
                f"the forecast has {len(order)}: {' '.join(order)}.",
                f"give {many(len(order) - 1, 'limit')}, from low to high",
            )
        return (
            "cut: " + ", ".join(f"≤ {x:g} → {c}" for x, c in zip(cut, order, strict=False)) + f", above → {order[-1]}"
        )

    def _two_outcomes(self, fits: list[Column]) -> ValueError:
        likely = sorted(fits, key=_likely_outcome)[0].name
        names = ", ".join(f"`{c.name}`" for c in fits[:4])
        differ = ""
        if len(fits) == 2:
            _, both = self.table.read([c.name for c in fits])
            apart = int((both[fits[0].name].cast(str) != both[fits[1].name].cast(str)).fill_null(True).sum())
            differ = f" (they differ in {apart:,} of {both.height:,} rows)"
        many = "two" if len(fits) == 2 else str(len(fits))
        return self.table.error(
            f"{many} columns could be the outcome: {names}{differ}.",
            f"choose:  {self.table.option('label', likely)}",
        )

    def _more_than_two(self, column: Column, forecast: str) -> ValueError:
        many = {3: "three", 4: "four", 5: "five"}.get(column.distinct, f"{column.distinct:,}")
        values = f" ({short(column.labels, ', ')})" if column.labels else ""
        what = f"one probability column `{forecast}`, but `{column.name}` has {many} values{values}."
        what += " An outcome for one probability has two values."
        if not column.labels:
            middle = f"{float(column.present.median() or 0):g}" if column.numeric else "X"  # type: ignore[arg-type]
            name = "" if column.plain in roles.OUTCOMES else self.table.option("label", column.name) + " "
            return self.table.error(what, f"if it is a measurement, cut it:  {name}{self.table.option('cut', middle)}")
        two = [c for c in self.pool.values() if c.two_valued and not self._is_pick(c)]
        others = f"      if another is the outcome:  {self.table.option('label', two[0].name)}" if two else ""
        words = {label.lower(): label for label in column.labels}
        pairs = [{event, other} for event, other in roles.EVENT_WORDS.items() if {event, other} <= set(words)]
        odd = set(words) - pairs[0] if pairs else set()
        if len(odd) == 1 and not (label := words[odd.pop()]).isdigit():  # "unknown", -9999
            others += f"      without these rows:  {self.table.option('where', f'{column.name}!={label}')}"
        return self.table.error(
            what,
            f"if one value is the event:  {self.table.option('label', column.name)} "
            f"{self.table.option('versus_rest', _likely_event(column.labels, forecast))}{others}",
        )


def _likely_outcome(column: Column) -> tuple[bool, bool, int]:
    """What comes first where several columns could be the outcome: a known name, a known event, many classes."""
    named = column.plain in roles.OUTCOMES or column.plain in roles.WEAK_OUTCOMES
    return not named, roles.event_of(column.labels) is None and len(column.labels) == 2, -len(column.labels)


def _likely_event(labels: tuple[str, ...], forecast: str) -> str:
    """The value that a column of probabilities is likely to be of: named in it, a word for events, or the second."""
    named = [label for label in labels if roles.plain(label) and roles.plain(forecast).endswith(roles.plain(label))]
    words = [label for label in labels if label.lower() in roles.EVENT_WORDS]
    return ",".join(named[-1:] or words or [labels[min(1, len(labels) - 1)]])


def short(values: Any, between: str = " ") -> str:
    values = list(values)
    return between.join(map(str, values)) if len(values) <= 12 else f"{values[0]}…{values[-1]} ({len(values)})"
