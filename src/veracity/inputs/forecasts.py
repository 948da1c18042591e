"""The type `Forecasts`: probabilities, outcomes, and the columns that share their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from veracity.inputs import content
from veracity.inputs.names import Names
from veracity.kernels.result import tolerance
from veracity.options import READING
from veracity.records.findings import Finding
from veracity.types import Array

# The columns that share their rows, apart from groups and row numbers.
COLUMNS = (
    "probabilities", "outcomes", "weights", "counts", "log_realised", "ideal", "features", "case", "clusters", "time",
    "offered",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Forecast probabilities with outcomes, already checked: build with `Forecasts.of`.

    probabilities  (n,) the probability of classes[1] for two classes given as one column, or (n, k) with k >= 2;
                   None when only the realised probabilities are known. The input's dtype and memory are kept,
                   except that half precision (float16) becomes float32.
    outcomes       (n,) column number of the outcome; None when only the realised probabilities are known.
    log_realised   (n,) log-probability of the outcome where the input had logs: no underflow to log scores.

    >>> forecasts = Forecasts.of(["no", "yes", "yes"], [0.2, 0.7, 0.9], pos_label="yes")
    >>> forecasts.classes, forecasts.outcomes.tolist()
    (('no', 'yes'), [0, 1, 1])
    """

    probabilities: Array | None
    outcomes: Array | None
    classes: tuple[Any, ...]
    weights: Array | None = None
    counts: Array | None = None
    log_realised: Array | None = None
    ideal: Array | None = None
    features: Array | None = None
    groups: dict[str, Array] = field(default_factory=dict)
    case: Array | None = None  # rows with one value are parts of one case (split soft outcomes, repeated outcomes)
    split: bool = False  # soft outcomes were split and there are no ids: `case` is the number of the row before
    clusters: Array | None = None  # uint64 keys: rows of one cluster are dependent
    time: Array | None = None  # float64: when the case took place
    picks_only: bool = False  # the event is "the pick was right"; nothing is known about the other classes
    shares_only: bool = False  # weights are shares of an unknown number of cases
    findings: tuple[Finding, ...] = ()
    first_row: int = 0  # number of the first row in messages: 0 for arrays, 1 for files
    rows: Array | None = None  # row numbers, where rows were left out or split
    offered: Array | None = None  # (n, k) bool: the options of each row, where they differ; others have probability 0
    model: str | None = None
    half: bool = False  # the input had half precision: rows may be further from one (kernels.result.tolerance)
    names: Names = field(default_factory=Names)  # how messages call the outcome, the forecast, the options

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_proba: Any,
        *,
        sample_weight: Any = None,
        counts: Any = None,
        labels: Any = None,
        pos_label: Any = None,
        missing: str = "error",
        soft: str = "split",
        normalise: bool = False,
        scale: str = "probability",
        ideal: Any = None,
        features: Any = None,
        groups: Any = None,
        case: Any = None,
        clusters: Any = None,
        time: Any = None,
        first_row: int = 0,
        names: Names | None = None,
    ) -> Forecasts:
        """Return forecasts from outcomes and probabilities, every value checked.

        y_proba is (n,), the probability of the second of two classes, or (n, k) with a column per class.
        Integers within 0…k-1 in y_true are column numbers; other labels, sorted, must be exactly k (else `labels`).

        >>> Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9]).realised
        array([0.8, 0.7, 0.9])
        >>> Forecasts.of(["no", "yes"], [83, 20])
        Traceback (most recent call last):
        ...
        veracity.inputs.check.Percentages: y_proba[0] = 83: above 1 (all 2 values lie between 20 and 83).
          if these are percentages:  Forecasts.of(…, scale="percent")
        """
        given = {name: value for name, value in locals().items() if name != "cls"}
        for name in ("missing", "soft", "scale"):
            READING[name].take(READING[name], given[name])
        from veracity.inputs.check import check
        from veracity.inputs.prepare import prepare

        return check(prepare(**given))

    def take(self, index: Any) -> Forecasts:
        """Return these rows, in this order, without findings."""
        columns = {name: values[index] for name in COLUMNS if (values := getattr(self, name)) is not None}
        columns["groups"] = {name: values[index] for name, values in self.groups.items()}
        if self.rows is None and isinstance(index, slice):
            first, end, step = index.indices(len(self))
            rows = self.first_row + np.arange(first, end, step)
        else:
            rows = self.numbers[index]
        return replace(self, **columns, rows=rows, findings=())

    def precise(self) -> Forecasts:
        """Return the same rows with probabilities in float64."""
        p = self.probabilities
        return self if p is None or p.dtype == np.float64 else replace(self, probabilities=p.astype(np.float64))

    @classmethod
    def concat(cls, parts: Sequence[Forecasts]) -> Forecasts:
        """Return the rows of several parts with the same classes, one after another, without findings.

        A part without weights or counts has ones; every other column must be in all parts or in none.
        """
        first = parts[0]
        if len(parts) == 1:
            return replace(first, findings=())
        columns: dict[str, Any] = {}
        for name in (*COLUMNS, "rows"):
            arrays = [getattr(part, name) for part in parts]
            if any(values is not None for values in arrays):
                ones = {"weights": np.float64, "counts": np.int64}.get(name)
                whole = [np.ones(len(p), ones) if a is None else a for p, a in zip(parts, arrays, strict=True)]
                columns[name] = np.concatenate(whole)
        columns["groups"] = {name: np.concatenate([part.groups[name] for part in parts]) for name in first.groups}
        return replace(first, **columns, findings=())

    def row(self, index: int) -> int:
        """Return the row number for messages: counted from 0 in arrays, from 1 in files."""
        return int(self.rows[index]) if self.rows is not None else self.first_row + int(index)

    @property
    def numbers(self) -> Array:
        """The row numbers of all rows."""
        return self.rows if self.rows is not None else np.arange(self.first_row, self.first_row + len(self))

    def __len__(self) -> int:
        rows = self.probabilities if self.probabilities is not None else self.log_realised
        assert rows is not None
        return len(rows)

    @property
    def k(self) -> int:
        return len(self.classes)

    @property
    def allowed(self) -> float:
        """The largest distance of a row's sum from one, by the precision of the input."""
        return tolerance(np.dtype(np.float16) if self.half else self.scores.dtype, self.k)

    @property
    def scores(self) -> Array:
        """The probabilities, which must be known."""
        if self.probabilities is None:
            raise ValueError("only the probability of the outcome is known; maps need the whole row of probabilities")
        return self.probabilities

    @property
    def observed(self) -> Array:
        """The outcomes, which must be known."""
        assert self.outcomes is not None
        return self.outcomes

    @property
    def copies(self) -> Array:
        """(n,) how many cases each row counts as."""
        return np.ones(len(self), np.int64) if self.counts is None else self.counts

    @property
    def matrix(self) -> Array:
        """(n, k) float64 probabilities; a copy where the input has one column or another dtype."""
        p = np.asarray(self.probabilities, dtype=np.float64)
        return np.column_stack([1.0 - p, p]) if p.ndim == 1 else p

    @property
    def ideal_matrix(self) -> Array | None:
        """(n, k) ideal probabilities, where they are given."""
        return None if self.ideal is None else Forecasts(self.ideal, None, self.classes).matrix

    @property
    def positive(self) -> Array:
        """(n,) probability of classes[1]; two classes only."""
        p = self.scores
        assert self.k == 2
        return np.asarray(p if p.ndim == 1 else p[:, 1], dtype=np.float64)

    @cached_property
    def realised(self) -> Array:
        """(n,) probability given to the outcome."""
        if self.probabilities is None:
            assert self.log_realised is not None
            return np.exp(self.log_realised)
        p, y = self.probabilities, self.observed
        if p.ndim == 1:
            p = p.astype(np.float64)
            return np.where(y == 1, p, 1.0 - p)
        return p[np.arange(len(p)), y].astype(np.float64)

    @cached_property
    def mass(self) -> Array:
        """(n,) weight times count of each row."""
        mass = np.ones(len(self))
        if self.weights is not None:
            mass = mass * self.weights
        if self.counts is not None:
            mass = mass * self.counts
        return mass

    @property
    def squared_mass(self) -> Array:
        """(n,) count times squared weight of each row."""
        return self.mass if self.weights is None else self.mass * self.weights

    @cached_property
    def prior(self) -> Array:
        """(k,) weighted frequencies of the outcomes."""
        sums = np.bincount(self.observed, weights=self.mass, minlength=self.k)
        prior: Array = sums / sums.sum()
        return prior

    @cached_property
    def class_keys(self) -> content.Hashes:
        """(k,) 64 bits of what each class holds."""
        return content.class_keys(self)

    @cached_property
    def forecast_hashes(self) -> content.Hashes:
        """(n,) 64 bits of each forecast."""
        return content.forecast_hashes(self, self.class_keys)

    @cached_property
    def row_hashes(self) -> content.Hashes:
        """(n,) 64 bits of each forecast with its outcome and weight."""
        return content.row_hashes(self, self.forecast_hashes, self.class_keys)
