"""How a search ends when the columns leave more than one reading, or none: what, where, and a ready command."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from ..forecasts import Forecasts, check
from ..forecasts.names import many
from . import roles
from .classes import DIGITS, ClassSet, class_sets
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

    def _other_labels(self, column: Column, chosen: ClassSet) -> ValueError:
        """An outcome by its name whose values are not the classes of the columns."""
        classes = chosen.classes
        inside = sum(times for label, times in column.times.items() if label in classes) if column.labels else 0
        if inside > 0.9 * column.present.len():
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

    def _nearly_numbers(self, column: Column) -> None:
        """A column of probabilities by its name that holds a few words: the first is named."""
        if column.values.dtype != pl.String or not roles.named_probability(column.name):
            return
        percent = column.present.str.ends_with("%")
        if 0.5 < float(percent.sum()) / max(1, percent.len()) < 1:
            index = int((~column.values.str.ends_with("%")).fill_null(False).arg_max() or 0)
            raise self.table.error(
                f"row {index + self.table.first_row}, `{column.name}` = {column.values[index]!r}: without the % sign "
                "of the other values.",
                "write it like the others",
            )
        commas = column.present.str.contains(r"^\d+,\d+$").sum()
        if 2 * commas > column.present.len():
            raise self.table.error(
                f"`{column.name}` has decimal commas ({column.present[0]!r}) and the columns are parted by commas.",
                "save the file with another delimiter, such as ;",
            )
        numbers = column.values.cast(pl.Float64, strict=False)
        if column.present.len() and numbers.count() == column.present.len():
            raise self.table.error(
                f"`{column.name}` holds numbers written as text ({column.present[0]!r}).", "write them as numbers"
            )
        strange = not numbers.count() and bool(column.present.str.contains(r"\d").all())  # '0.5' in quotes, 0·5
        if numbers.count() * 2 >= column.present.len() > numbers.count() or strange:
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
            no = "no probability" if only.plain in roles.OUTCOMES else no
            if table.nested:
                return table.error(
                    f"one column `{only.name}`, no outcome and no probability.", self._no_probability([])
                )
            empty = next((f" ({fact})" for fact in table.facts if fact.startswith("empty")), "")
            what = f"nothing to assess in {table.name}: one column `{only.name}`, {no}{empty}."
            if empty:
                what += "\n  fill the empty column, or give the file that holds its values"
            elif only.within:
                what += f"\n  if it is the probability of what happened:  {table.option('layout', 'realised')}"
            if not weights and not only.within and not empty:
                what += "\n  a table needs a column of outcomes and one of probabilities, and a delimiter between them"
            if weights:
                data = table.companion(roles.WEIGHTS) or "FILE"
                what += f"   weights for another file:  veracity assess {data} --weight {table.name}"
            return ValueError(what)
        for column in self.pool.values():
            self._nearly_numbers(column)
        loose = class_sets(self, loose=True)
        if len(loose) == 1:
            raise self._sums_off(loose[0])
        self._out_of_range()
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
            return table.error(what, self._no_probability(two))
        behind = self._classes_before()
        if behind:
            return table.error(what, f"for example:  {table.command(*behind)}")
        single = [c for c in self.pool.values() if c.plain in roles.OUTCOMES and len(c.labels) == 1]
        if len(single) == 1 and len(one) == 1:
            return table.error(
                f"outcome `{single[0].name}` holds nothing but {single[0].labels[0]}.",
                f"if this is the event:  {table.option('label', single[0].name)} "
                f"{table.option('positive', single[0].labels[0])}",
            )
        soft = [c for c in one if c.plain in roles.OUTCOMES]
        if len(soft) == 1 and len(one) == 2:
            (forecast,) = (c for c in one if c is not soft[0])
            return table.error(
                what,
                "outcomes between 0 and 1:  "
                + table.command(("label", soft[0].name), ("positive_proba", forecast.name)),
            )
        measured = [c for c in self.pool.values() if c.numeric and c not in one and c.plain not in roles.IDS]
        measured = [c for c in measured if c.plain in roles.OUTCOMES] or measured
        if len(measured) == 1 and len(one) == 1 and not measured[0].labels:
            return self._more_than_two(measured[0], one[0].name)
        return table.error(what, f"name both:  {table.command(('label', 'COL'), ('positive_proba', one[0].name))}")

    def _out_of_range(self) -> None:
        """Columns named after the very classes of an outcome, but no probabilities: the check says what they are."""
        sets = class_sets(self, loose=True, any_values=True)
        if len(sets) == 1:
            p = self.table.sample.select(pl.col(sets[0].columns).cast(pl.Float64)).to_numpy()
            names = self.table.names(columns=sets[0].columns, whole=self.table.whole)
            zeros = np.zeros(len(p), int)
            check(Forecasts(p, zeros, sets[0].classes, first_row=self.table.first_row, names=names))

    def _classes_before(self) -> tuple[tuple[str, str], ...]:
        """The options for columns that begin with the class: home_prob, draw_prob, away_prob."""
        for column in self.pool.values():
            ends = [
                {c.name[len(label) :] for c in self.pool.values() if c.within and c.name.startswith(label)}
                for label in column.labels[:20]
            ]
            common = set.intersection(*ends) - {""} if len(ends) > 1 else set()
            if common:
                return ("label", column.name), ("proba", "*" + min(common))
        return ()

    def _no_probability(self, two: list[Column]) -> str:
        """What to do where no column lies within [0, 1]."""
        table = self.table
        runs = [run for run in self._runs() if run[2] > 5]
        if runs:
            return (
                f"{runs[0][2]} members of an ensemble are no probabilities: make them one first, such as the share of "
                "members above a limit"
            )
        numeric = [c for c in self.pool.values() if c.numeric and c.distinct > 2 and c.plain not in roles.IDS]
        counted = [c for c in self.all.values() if c.numeric and c.labels and c.low >= 0]
        if len(self.all) == len(counted) + 1 >= 3 and table.style == "file" and table.rows <= 50:
            return f"if these are numbers of cases by forecast and outcome:  veracity table {table.name}"
        if len(two) == 1 and len(numeric) == 1:
            only = numeric[0]
            scale = "log" if only.high <= 0 else "percent" if only.low >= 0 and only.high <= 100 else "logit"
            what = {"log": "log-probabilities", "percent": "percentages", "logit": "logits"}[scale]
            options = (("label", two[0].name), ("positive_proba", only.name), ("scale", scale))
            return f"if `{only.name}` holds {what}:  {table.command(*options)}"
        if table.nested:
            return (
                f"nested values are not read ({run_of(table.nested)}): options are "
                '"options": {"A": -1.2, …} with "answer", tokens "token_logprobs": [-0.5, …]'
            )
        return "no column holds probabilities (numbers between 0 and 1); percentages need " + table.option(
            "scale", "percent"
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
