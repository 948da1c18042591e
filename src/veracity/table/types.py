"""PredictionTable: forecast categories against outcomes, and every number that follows from the counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.formulas import domain
from veracity.formulas import tables as formula
from veracity.options.deciding import Costs
from veracity.results.document import parse
from veracity.types import Array
from veracity.words import in_full

from . import check, order
from .assessment import SCHEMA, TableAssessment


@dataclass(frozen=True, eq=False, repr=False)
class PredictionTable(TableAssessment):
    """Forecast categories (rows, best to worst) against outcomes (columns, no event to event).

    counts     (k, K) cases, or weights when `unit` says so
    forecasts  the probabilities of the categories, (k,) of the last outcome or (k, K); None: each category's own
               observed frequency, so that REL is zero by construction
    cases      the number of cases behind weights; None: unknown, and no tests or intervals
    train      the table whose observed frequencies are the forecasts
    errors     what a false alarm and a miss cost, each a `Costs`: `costs` says when to act, and what it saves
    strata     the tables that were added up; a string says why one could not be used
    other_reading  what gives the table turned round, where its order was assumed and nobody named it

    >>> table = PredictionTable([[83, 56], [2, 12]])  # HB17 scenario A
    >>> round(table.psep, 3), round(table.half_brier, 3), round(table.divergence_score, 3), round(table.g2, 3)
    (0.454, 0.23, 0.65, 11.31)
    """

    # -- other ways in ----------------------------------------------------------------------------------------------

    @classmethod
    def from_rates(
        cls, sens: float, spec: float, prior: float, n: float | None = None, **options: Any
    ) -> PredictionTable:
        """Return the 2 × 2 table with this sensitivity, specificity and prior; with n also tests and intervals.

        >>> round(float(PredictionTable.from_rates(0.833, 0.844, 0.05).predictive_values[1, 1]), 2)  # Madden 2006
        0.22
        """
        if prior in (0, 1):
            word = "always" if prior else "never"
            raise ValueError(f"prior: {prior:g} means that the event {word} happened: there is nothing to forecast")
        rates = zip(("sensitivity", "specificity", "prior"), (sens, spec, prior), strict=True)
        shares = formula.shares_from_rates(*(check.rate(name, value) for name, value in rates))
        if n is not None and not 0 < n < math.inf:
            raise ValueError(f"n: {n!r} is not a number of cases")
        cells = f"its cells are expected counts of {in_full(n)} cases" if n else "its cells are shares of all cases"
        given = [f"{name} {in_full(x)}" for name, x in (("sensitivity", sens), ("specificity", spec), ("prior", prior))]
        note = f"Computed from {given[0]}, {given[1]} and {given[2]}: {cells}."
        return cls(shares, unit="weights", cases=n, **{"notes": (note,), **options})

    @classmethod
    def from_shares(
        cls, shares: ArrayLike, forecasts: ArrayLike | None = None, *, n: float | None = None, **options: Any
    ) -> PredictionTable:
        """Return a table of shares or weights instead of counts; n is the number of cases behind them, if known."""
        stated = None if forecasts is None else np.asarray(forecasts, dtype=np.float64)
        return cls(check.grid(shares), stated, unit="weights", cases=n, **options)

    @classmethod
    def from_tidy(
        cls,
        category: Sequence[Any],
        outcome: Sequence[Any],
        n: ArrayLike | None = None,
        *,
        rows: Sequence[Any] | None = None,
        columns: Sequence[Any] | None = None,
        **options: Any,
    ) -> PredictionTable:
        """Return the table of entries for category and outcome with numbers of cases n; without n, one per case.

        Categories without `rows` are ordered by the observed share of the event, outcomes without `columns` by their
        words (no before yes); the notes say so.

        >>> PredictionTable.from_tidy(["high", "low", "low"], ["yes", "no", "yes"], [5, 9, 1]).rows
        ('low', 'high')
        """
        check.same_length(category=category, outcome=outcome)
        check.present(category=category, outcome=outcome)
        seen = order.distinct(category)
        names, notes = order.outcomes(order.distinct(outcome), columns)
        counts = np.zeros((len(seen), len(names)))
        cells = order.places(category, seen), order.places(outcome, names)
        np.add.at(counts, cells, 1.0 if n is None else domain.numbers("n", n))
        if rows is None:
            by = order.by_event_share(counts)
            note = f"Rows are ordered by the observed share of “{names[-1]}”, lowest first; --rows gives another order."
            notes = (*notes, note)
        else:
            by = order.given("rows", rows, seen)
        return cls(counts[by], rows=tuple(seen[i] for i in by), columns=tuple(names), **{"notes": notes, **options})

    @classmethod
    def from_rows(
        cls,
        y_true: Sequence[Any],
        categories: Sequence[Any] | None = None,
        *,
        y_proba: ArrayLike | None = None,
        rows: Sequence[Any] | None = None,
        columns: Sequence[Any] | None = None,
        **options: Any,
    ) -> PredictionTable:
        """Return the table of single cases: outcomes with forecast categories, or with probabilities.

        >>> PredictionTable.from_rows([0, 1, 1], y_proba=[0.2, 0.2, 0.9]).counts
        array([[1., 1.],
               [0., 1.]])
        """
        if (categories is None) == (y_proba is None):
            raise ValueError("give either categories or y_proba: the one names the forecast, the other says how likely")
        if categories is not None:
            return cls.from_tidy(categories, y_true, rows=rows, columns=columns, **options)
        assert y_proba is not None
        p = domain.numbers("y_proba", y_proba)
        check.same_length(y_true=y_true, y_proba=p)
        check.present(y_true=y_true)
        names, notes = order.outcomes(order.distinct(y_true), columns)
        p = np.stack([1.0 - p, p], -1) if p.ndim == 1 else p
        if p.shape[1] != len(names):
            raise ValueError(f"y_proba: {p.shape[1]} columns for {len(names)} outcomes ({', '.join(names)})")
        # sorted by the last outcome first; + 0.0 makes −0 and 0 one forecast
        f, row = np.unique(p[:, ::-1] + 0.0, axis=0, return_inverse=True)
        f = f[:, ::-1]
        counts = np.zeros(f.shape)
        np.add.at(counts, (row.reshape(-1), order.places(y_true, names)), 1.0)
        return cls(counts, f, order.probability_names(f), tuple(names), **{"notes": notes, **options})

    @classmethod
    def from_probabilities(cls, p: ArrayLike, n: ArrayLike, events: ArrayLike, **options: Any) -> PredictionTable:
        """Return the table of forecast probabilities with numbers of cases and of events, one entry per category.

        >>> round(PredictionTable.from_probabilities([0.1, 0.8], [50, 20], [4, 17]).half_brier, 4)
        0.09
        """
        given = {"p": p, "n": n, "events": events}
        stated, total, happened = (domain.numbers(name, values) for name, values in given.items())
        check.same_length(p=stated, n=total, events=happened)
        for i in np.flatnonzero(happened > total):
            raise ValueError(
                f"events: {happened[i]:g} events among {total[i]:g} cases at probability {stated[i]:g}; "
                "there cannot be more events than cases"
            )
        by = np.argsort(stated, kind="stable")
        f = np.column_stack([1.0 - stated, stated])[by]
        for i in np.flatnonzero(np.diff(stated[by]) == 0):
            raise ValueError(f"p: probability {stated[by][i]:g} is in two rows; add up their cases")
        counts = np.column_stack([total - happened, happened])[by]
        return cls(counts, f, **{"rows": order.probability_names(f), **options})

    @classmethod
    def read(cls, path: str | Path, **asked: Any) -> PredictionTable:
        """Return the table in a text file of matrix, tidy, probability or case-by-case form; see `FileOptions`."""
        from .files import FileOptions, read

        return read(str(path), FileOptions(**asked))

    @classmethod
    def pooled(cls, tables: Mapping[str, PredictionTable | str]) -> PredictionTable:
        """Return the sum of several tables (years, sites), with each as a stratum."""
        if not isinstance(tables, Mapping):
            raise TypeError('tables: give tables by name, such as {"2024": first, "2025": second}')
        usable = [table for table in tables.values() if isinstance(table, PredictionTable)]
        if not usable:
            raise ValueError("; ".join(f"{name}: {why}" for name, why in tables.items()) or "tables: none given")
        return replace(sum(usable[1:], usable[0]), strata=dict(tables))

    def __add__(self, other: PredictionTable) -> PredictionTable:
        """Return the table of both tables' cases; a category that one of them lacks has no cases there."""
        if not isinstance(other, PredictionTable):
            return NotImplemented
        mine, theirs = ", ".join(self.columns), ", ".join(other.columns)
        if self.columns != other.columns:
            raise ValueError(f"tables with different outcomes do not add: {mine} and {theirs}")
        if self.n is None or other.n is None or self.unit != other.unit:
            raise ValueError("a table of shares adds to another only when both say how many cases lie behind them (n)")
        if (self.forecasts is None) != (other.forecasts is None):
            raise ValueError("one table states forecast probabilities and the other does not: they do not add")
        rows = order.merged(self.rows, other.rows)
        counts = np.zeros((len(rows), len(self.columns)))
        forecasts = np.full_like(counts, np.nan)
        for table in (self, other):
            for row, cells, f in zip(table.rows, table.counts, table.stated, strict=True):
                i = rows.index(row)
                counts[i] += cells
                if table.forecasts is not None and not (np.isnan(forecasts[i, 0]) or np.array_equal(forecasts[i], f)):
                    raise ValueError(f"category {row!r} has different probabilities in the two: they do not add")
                forecasts[i] = f
        cases = None if self.unit == "counts" else self.n + other.n
        stated = None if self.forecasts is None else forecasts
        notes = tuple(dict.fromkeys([*self.notes, *other.notes]))
        return replace(self, counts=counts, forecasts=stated, rows=rows, cases=cases, strata={}, notes=notes)

    def scored_with(self, train: PredictionTable) -> PredictionTable:
        """Return this table (validation) scored with observed frequencies of another (training) (HB17 C1 → C2).

        >>> training, validation = PredictionTable([[98, 6], [18, 28]]), PredictionTable([[9, 3], [3, 14]])
        >>> round(validation.scored_with(training).terms("log").reliability, 3)
        0.144
        """
        if train.columns != self.columns:
            raise ValueError(f"train: outcomes {', '.join(train.columns)}; this table has {', '.join(self.columns)}")
        for row in self.rows:
            if row not in train.rows:
                raise ValueError(f"train: no category {row!r} in the training table ({', '.join(train.rows)})")
        forecasts = train.predictive_values[[train.rows.index(row) for row in self.rows]]
        return replace(self, forecasts=forecasts, train=train, other_reading="")

    def versus_rest(self, column: str) -> PredictionTable:
        """Return the table of two outcomes: this one as the event, all others together as no event."""
        if column not in self.columns:
            raise ValueError(f"column: {column!r} is not an outcome here; there are {', '.join(self.columns)}")
        at = self.columns.index(column)

        def two(a: Array) -> Array:
            return np.column_stack([np.delete(a, at, 1).sum(1), a[:, at]])

        changes: dict[str, Any] = {"counts": two(self.counts), "columns": (f"not {column}", column)}
        changes["forecasts"] = None if self.forecasts is None else two(self.forecasts)
        return replace(self, **changes, train=None, strata={}, notes=())

    # -- ways out ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_json(cls, text: str) -> PredictionTable:
        """Return the table that `to_json` wrote; anything else is a ValueError."""
        document = parse(text)
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema != SCHEMA:
            raise ValueError(f"schema: {schema!r}; a table is {SCHEMA!r}")
        try:
            strata = {name: s if isinstance(s, str) else cls._rebuilt(s) for name, s in document["strata"].items()}
            train = None if document["train"] is None else cls._rebuilt(document["train"])
            prevalences = tuple(entry["prevalence"] for entry in document["prevalence"])
            errors = tuple(dict.fromkeys(Costs(one["false_alarm"], one["miss"]) for one in document["costs"]))
            return replace(cls._rebuilt(document), train=train, strata=strata, prevalences=prevalences, errors=errors)
        except (LookupError, TypeError, AttributeError, ArithmeticError) as problem:
            reason = f"{type(problem).__name__} {problem}"
            raise ValueError(f"text: a table that is damaged ({reason}); give what to_json() returned") from None

    @classmethod
    def _rebuilt(cls, core: dict[str, Any]) -> PredictionTable:
        cases = core["n"] if core["unit"] == "weights" else None
        fields = {name: core[name] for name in ("counts", "forecasts", "rows", "columns", "unit", "level", "notes")}
        return cls(**fields, cases=cases)

    def plot(self, name: str | None = "table_mosaic", **options: Any) -> Any:
        """Return bregman_tangents, predictive_values, table_mosaic or attributes, an Altair chart."""
        return super().plot(name, **options)
