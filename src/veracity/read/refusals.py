"""How a search ends when the columns leave more than one reading, or none: what, where, and a ready command."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from ..forecasts.names import many
from . import roles
from .classes import DIGITS, ClassSet, class_sets
from .layouts import Layout, run_of
from .pool import Pool
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

    def _other_labels(self, column: Column, chosen: ClassSet) -> ValueError:
        """An outcome by its name whose values are not the classes of the columns."""
        classes = chosen.classes
        if column.numeric and len(column.labels) != 2 and len(column.labels) != len(classes):
            return self._needs_cut(column, chosen)
        what = f"outcome `{column.name}` holds {short(column.labels, ', ')}, the classes are {short(classes, ', ')}."
        pair = roles.event_of(column.labels) if len(column.labels) == 2 else None
        if len(classes) == 2 and pair:
            options = "   or   ".join(self.table.option("positive_proba", c) for c in chosen.columns)
            return self.table.error(what, f"name the probability of {pair[1]}:  {options}")
        return self.table.error(
            what, "name the columns like the outcomes, or the outcome column:  " + self.table.option("label", "COL")
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
        names = ", ".join(f"`{c.name}`" for c in fits[:4])
        differ = ""
        if len(fits) == 2:
            _, both = self.table.read([c.name for c in fits])
            apart = int((both[fits[0].name].cast(str) != both[fits[1].name].cast(str)).fill_null(True).sum())
            differ = f" (they differ in {apart:,} of {both.height:,} rows)"
        many = "two" if len(fits) == 2 else str(len(fits))
        return self.table.error(
            f"{many} columns could be the outcome: {names}{differ}.",
            f"choose:  {self.table.option('label', fits[0].name)}",
        )

    def _more_than_two(self, column: Column, forecast: str) -> ValueError:
        many = {3: "three", 4: "four", 5: "five"}.get(column.distinct, f"{column.distinct:,}")
        values = f" ({short(column.labels, ', ')})" if column.labels else ""
        what = f"one probability column `{forecast}`, but `{column.name}` has {many} values{values}."
        what += " An outcome for one probability has two values."
        if not column.labels:
            middle = f"{float(column.present.median() or 0):g}" if column.numeric else "X"  # type: ignore[arg-type]
            return self.table.error(what, f"if it is a measurement, cut it:  {self.table.option('cut', middle)}")
        two = [c for c in self.pool.values() if c.two_valued and not self._is_pick(c)]
        others = f"      if another is the outcome:  {self.table.option('label', two[0].name)}" if two else ""
        event = column.labels[1] if len(column.labels) > 1 else column.labels[0]
        return self.table.error(
            what,
            f"if one value is the event:  {self.table.option('label', column.name)} "
            f"{self.table.option('versus_rest', event)}{others}",
        )

    def _nearly_numbers(self, column: Column) -> None:
        """A column of probabilities by its name that holds a few words: the first is named."""
        if column.values.dtype != pl.String or not roles.named_probability(column.name):
            return
        numbers = column.values.cast(pl.Float64, strict=False)
        if numbers.count() * 2 >= column.present.len() > numbers.count():
            index = int((numbers.is_null() & column.values.is_not_null()).arg_max() or 0)
            raise self.table.error(
                f"row {index + self.table.first_row}, `{column.name}` = {column.values[index]!r}: not a number.",
                "correct the value, or leave it empty",
            )

    def _sums_off(self, chosen: ClassSet) -> ValueError:
        sums = self.table.sample.select(pl.sum_horizontal(pl.col(list(chosen.columns)))).to_series()
        off = (sums - 1).abs() > 1e-3
        index = int(off.arg_max() or 0)
        return self.table.error(
            f"class columns {run_of(chosen.columns)}, but {int(off.sum()):,} of {sums.len():,} rows do not sum to one "
            f"(first: row {index + self.table.first_row}, sum {float(sums[index]):.6g}).",
            f"fix the {'file' if self.table.style == 'file' else 'frame'}, or rescale these rows:  "
            + self.table.option("normalise"),
        )

    def _listing(self) -> str:
        described: list[str] = []
        runs = self._runs()
        for first, last, size in runs[:10]:
            if size > 1:
                described.append(f"`{first}`…`{last}` ({size} columns of numbers)")
                continue
            column = self.all[first]
            could = (
                "a probability"
                if column.probability
                else "two values"
                if column.two_valued
                else "numbers"
                if column.numeric
                else f"{column.distinct:,} values"
            )
            described.append(f"`{column.name}` ({could})")
        return ", ".join(described) + (f", … ({len(self.all)} columns)" if len(runs) > 10 else "")

    def _runs(self) -> list[tuple[str, str, int]]:
        """Columns, with long numbered rows of them (the members of an ensemble) taken together."""
        stems = {name: DIGITS.match(name) for name in self.all}
        sizes = Counter(m[1] for name, m in stems.items() if m and self.all[name].numeric)
        runs: list[tuple[str, str, int]] = []
        for name, match in stems.items():
            before = DIGITS.match(runs[-1][0]) if runs else None
            many = match is not None and sizes[match[1]] > 5 and self.all[name].numeric
            if many and match and before and before[1] == match[1]:
                runs[-1] = (runs[-1][0], name, runs[-1][2] + 1)
                continue
            runs.append((name, name, 1))
        return runs

    def _refusal(self) -> ValueError:
        table = self.table
        if len(self.all) == 1:
            (only,) = self.all.values()
            weights = table.style == "file" and only.plain in roles.WEIGHTS
            no = "no outcome" if only.within else "no outcome and no probability"
            what = f"nothing to assess in {table.name}: one column `{only.name}`, {no}."
            if only.within:
                what += f"\n  if it is the probability of what happened:  {table.option('layout', 'realised')}"
            if weights:
                data = table.companion(roles.WEIGHTS) or "FILE"
                what += f"   weights for another file:  veracity assess {data} --weight {table.name}"
            return ValueError(what)
        for column in self.pool.values():
            self._nearly_numbers(column)
        loose = class_sets(self, loose=True)
        if len(loose) == 1:
            raise self._sums_off(loose[0])
        two = [c for c in self.pool.values() if c.outcome_like and c.distinct == 2 and not self._is_pick(c)]
        one = [c for c in self.pool.values() if c.probability]
        what = f"not clear which column is the outcome and which the forecast: {self._listing()}"
        if len(two) == 1 and len(one) > 1:
            return table.error(
                what,
                f"as {len(one)} models:  {table.command(('label', two[0].name), verb='compare')}      "
                f"one of them:  {table.option('label', two[0].name)} {table.option('positive_proba', one[0].name)}",
            )
        if two and one:
            return table.error(
                what, f"for example:  {table.command(('label', two[0].name), ('positive_proba', one[0].name))}"
            )
        if not one:
            return table.error(
                what,
                "no column holds probabilities (numbers between 0 and 1); percentages need "
                + table.option("scale", "percent"),
            )
        return table.error(what, f"name both:  {table.command(('label', 'COL'), ('positive_proba', one[0].name))}")


def short(values: Any, between: str = " ") -> str:
    values = list(values)
    return between.join(map(str, values)) if len(values) <= 12 else f"{values[0]}…{values[-1]} ({len(values)})"
