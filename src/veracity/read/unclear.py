"""The last word where no rule fits: what each column could be, and the likeliest command."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl

from ..data import Forecasts, check
from . import roles
from .classes import DIGITS, ClassSet, class_sets
from .layouts import run_of
from .refusals import Refusals
from .roles import Column


class Unclear(Refusals):
    """Messages for columns that no rule understands."""

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
        sums = self.table.sample.select(pl.sum_horizontal(pl.col(list(chosen.columns)).cast(pl.Float64))).to_series()
        off = (sums - 1).abs() > 1e-3
        if not off.any():
            return self.table.error(
                f"class columns {run_of(chosen.columns)}, but no column holds outcomes of these classes.",
                f"name it:  {self.table.option('label', 'COL')}   (adjust and calibrate apply do without)",
            )
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
        if table.style == "file" and len(one) == len([c for c in self.pool.values() if c.plain not in roles.IDS]) == 1:
            return table.error(
                f"`{one[0].name}` could be the forecast, but no column holds outcomes: {self._listing()}",
                "add a column of what happened, such as 0 and 1, or give the file that holds it",
            )
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
        labelled = [c for c in self.pool.values() if c.plain in roles.OUTCOMES and len(c.labels) == len(one) > 2]
        if len(labelled) == 1 and roles.share_of_sums(table.sample, [c.name for c in one]) >= 0.99:
            return self._called_otherwise(labelled[0], [c.name for c in one])
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
        percent = [c for c in numeric if c.low >= 0 and 1 < c.high <= 100]
        if len(two) == 1 and len(percent) > 1:
            verb = "compare" if table.style == "file" else "assess"
            columns = ("positive_proba", ",".join(c.name for c in percent))
            command = table.command(("label", two[0].name), columns, ("scale", "percent"), verb=verb)
            return f"if {run_of([c.name for c in percent])} hold percentages of as many models:  {command}"
        if table.nested:
            return (
                f"nested values are not read ({run_of(table.nested)}): options are "
                '"options": {"A": -1.2, …} with "answer", tokens "token_logprobs": [-0.5, …] or '
                '"logprobs": {"content": [{"logprob": -0.5}, …]}'
            )
        taken = [name for name, c in self.all.items() if name not in self.pool and c.probability]
        if taken:
            return f"`{taken[0]}` was given another role, and no other column holds probabilities"
        return "no column holds probabilities (numbers between 0 and 1); percentages need " + table.option(
            "scale", "percent"
        )
