"""The mergeable state of an assessment: sums, histograms and analysis rows.

Tallies of parts add to the tally of the whole, in any order: integers exactly, sums to rounding. An assessment is a
function of a tally alone, so it is the same for arrays in memory, a stream and a cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity import kernels
from veracity.inputs import Forecasts, Names, NothingLeft, prepare, refuse
from veracity.inputs.arguments import is_empty
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid, grid
from veracity.kernels.result import LOWEST, MANY
from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding, merge
from veracity.state.analysis_rows import AnalysisRows, RunningRows, analysis_rows, in_order, split_copies
from veracity.state.clusters import TIME, ClusterScores
from veracity.state.histograms import Cells, forecasts_from_cells, true_entries, without_not_offered
from veracity.state.lowest_rows import Low, lowest_of
from veracity.state.merging import require_same_kind
from veracity.state.plan import VERY_MANY_CLASSES, Plan
from veracity.state.sums import Sums, plus, with_logs, with_tiny
from veracity.types import Floats

if TYPE_CHECKING:
    from veracity.state.from_cells import CellCounts

Groups = Mapping[str, Mapping[str, "Tally"]]

PERCENTS = tuple(i / 100 for i in range(1, 100))
FEWEST = 30  # rows of a sample, however many classes
SPLIT = (of_input.SoftOutcomes, of_input.NoNumberOfCases)  # findings about several rows for one case
DERIVED = (of_input.ZeroProbability, of_input.ConstantForecast, of_input.OneOutcome)  # follow from the sums


@dataclass(frozen=True, eq=False)
class Tally:
    """State of an assessment. `Tally.of(y_true, y_proba)`; tallies with the same plan add.

    >>> a, b = Tally.of([0, 1], [0.2, 0.7]), Tally.of([1, 1], [0.9, 0.4])
    >>> (a + b).sums.rows
    4
    """

    plan: Plan
    classes: tuple[Any, ...]
    sums: Sums
    pooled: Histogram  # all entries by cell
    top: Histogram  # the largest entry of each row
    classwise: Sequence[Histogram]  # the entries of each class; none where only realised probabilities are known
    lowest: tuple[Low, ...]  # smallest probability first
    findings: tuple[Finding, ...]
    cases: int  # rows, except that the parts of a split outcome are one case
    analysis: AnalysisRows
    groups: Groups = field(default_factory=dict)  # tallies of the levels of each group
    names: Names = field(default_factory=Names)  # how messages call the forecast and the options
    picks_only: bool = False
    shares_only: bool = False
    by_key: ClusterScores | None = None  # scores by cluster or time, where these are given

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_proba: Any = None,
        *,
        sample_weight: Any = None,
        counts: Any = None,
        labels: Any = None,
        pos_label: Any = None,
        plan: Plan | None = None,
        **options: Any,
    ) -> Tally:
        """Return the tally of outcomes and probabilities, or of one `Forecasts`; options are those of `Plan`.

        A part without rows adds nothing.
        """
        if not isinstance(plan, Plan | None):
            raise TypeError(f"plan: a {type(plan).__name__}; give a Plan, or its options by name")
        plan = plan or Plan(**options)
        if isinstance(y_true, Forecasts):
            return _with_groups(y_true, plan)
        if is_empty(y_true) and is_empty(y_proba):
            k = np.shape(y_proba)[1] if np.ndim(y_proba) == 2 else 2
            classes = list(range(k) if labels is None else labels)
            if len(classes) != k:
                raise ValueError(f"labels names {len(classes)} classes, y_proba has {k}\n  one label for each column")
            if pos_label is not None and k == 2 and classes[0] == pos_label:
                classes = classes[::-1]
            return cls.zero(classes, plan)
        given = {"labels": labels, "pos_label": pos_label}
        try:
            forecasts = prepare(y_true, y_proba, sample_weight=sample_weight, counts=counts, **given)
        except NothingLeft:  # every count is 0
            return cls.zero(prepare(y_true, y_proba, **given).classes, plan)
        return _with_groups(forecasts, plan)

    @classmethod
    def zero(cls, classes: Iterable[Any], plan: Plan | None = None) -> Tally:
        """Return the tally of no rows."""
        classes = tuple(classes)
        nothing = np.zeros((0, len(classes)))
        return _counted(Forecasts(nothing, np.zeros(0, dtype=np.int64), classes), plan or Plan())

    @property
    def k(self) -> int:
        return len(self.classes)

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.plan, self.k)

    @property
    def measurable(self) -> bool:
        """Whether forecasts can be compared with frequencies: not where only realised probabilities are known."""
        return bool(self.classwise)

    @cached_property
    def rows(self) -> Forecasts:
        """The analysis rows in float64; of two classes beyond 2^17 cases the cells, a row per cell and outcome."""
        if not self.on_cells:
            return self._split_copies.precise()
        rows = forecasts_from_cells(self.classwise[1], self.grid.edges, self.classes)
        return replace(rows, picks_only=self.picks_only, shares_only=self.shares_only)

    @cached_property
    def _split_copies(self) -> Forecasts:
        return in_order(split_copies(self.analysis.rows))

    @property
    def on_cells(self) -> bool:
        """Whether `rows` are cells of the grid."""
        return self.k == 2 and not self.analysis.complete and not len(self.analysis.rows) and self.measurable

    @property
    def complete(self) -> bool:
        """Whether every row is an analysis row."""
        return self.analysis.complete

    @property
    def basis(self) -> str:
        """The sample behind numbers from the analysis rows, in words; empty where it is every row."""
        if self.complete:
            return ""
        return "cells of the grid" if self.on_cells else f"a sample of {len(self.rows):,} rows"

    def few_rows(self, most: int, entries: int) -> Forecasts:
        """Return the first analysis rows, at most so many rows and entries, but 30: in the order of their hashes.

        Cells of the grid are returned whole.
        """
        most = max(FEWEST, min(most, entries // max(self.k, 1)))
        rows = self._split_copies
        return self.rows if self.on_cells or len(rows) <= most else rows.take(slice(most)).precise()

    @staticmethod
    def dependent(rows: Forecasts) -> NDArray[Any] | None:
        """Return the clusters of rows that depend on each other: those given, or cases with several rows."""
        if rows.clusters is not None or rows.case is None:
            return rows.clusters
        return rows.case if len(np.unique(rows.case)) < len(rows) else None

    @property
    def picks(self) -> Histogram:
        """Histogram of the picks' probabilities; true entries are correct picks."""
        return self.classwise[1] if self.picks_only else self.top

    @property
    def frequencies(self) -> Floats:
        """(k,) weighted class frequencies of the outcomes."""
        by_class = self.sums.by_class[:, 0]
        share: Floats = by_class / by_class.sum()
        return share

    @property
    def mean_forecast(self) -> Floats:
        """(k,) weighted mean probability of each class."""
        return np.asarray(self.sums.column / self.sums.weight)

    def require_effect(self) -> None:
        """Refuse options of the plan that have no effect on these data."""
        keyed = [] if self.by_key is None else [self.by_key.sums]
        held = [*["groups"] * bool(self.groups), *["classes"] * self.measurable, *(sums.kind for sums in keyed)]
        times = min((len(sums) for sums in keyed if sums.kind == TIME), default=math.inf)
        dashes = "--" if self.names.style == "file" else ""
        self.plan.require(held, dashes, times, dates=self.names.dates, cases=self.sums.rows)
        if self.measurable:
            self.plan.require_decisions(self.classes, self.sums.by_class[:, 0].tolist(), dashes)

    def __add__(self, other: Tally) -> Tally:
        return total((self, other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_bytes(), self.lowest, self.findings)

    def __deepcopy__(self, memo: Any) -> Tally:
        return self  # frozen

    @classmethod
    def of_cells(cls, cells: CellCounts, classes: Sequence[Any], *, plan: Plan | None = None, **options: Any) -> Tally:
        """Return the tally of two classes counted in cells of the grid, such as by `veracity.sql`."""
        from veracity.state.from_cells import tally_of_cells

        return tally_of_cells(cells, classes, plan or Plan(**options))

    def without_rows(self, at_least: int = 10) -> Tally:
        """Return a tally that may leave a site: cells of at least so many cases, joined where they have fewer.

        No row, key, group or lowest probability is in it. All sums stay exact, so that scores, means and level of
        merged sites are those of the pooled cases. Of two classes verdict, recalibration and AUC come from the cells;
        of more, level and confidence: joint verdict and recalibration need rows.
        """
        from veracity.state.from_cells import without_rows

        return without_rows(self, at_least)

    def to_bytes(self) -> bytes:
        """Return the state as bytes that hold no code, with a checksum."""
        from veracity.state.packing import pack

        return pack(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """Return the tally that `to_bytes` wrote."""
        from veracity.state.packing import unpack

        return unpack(data)


class RunningTally:
    """A sum of tallies that grows in place, for streams."""

    def __init__(self) -> None:
        self._held: Tally | None = None  # the only one with rows; of several, without what grows in place
        self._cells: tuple[Cells, Cells] | None = None  # whole and class-wise histograms of several
        self._rows = RunningRows()
        self._places: kernels.Places | None = None
        self._groups: dict[str, dict[str, list[Tally]]] = {}  # perhaps thousands of levels: added at the end
        self._waiting = 0

    def count(self, f: Forecasts, plan: Plan) -> None:
        """Add the rows of forecasts."""
        self._places = self._places or kernels.Places(grid_of(plan, 2))
        so_far = 0 if self._held is None else self._held.cases
        self.add(_with_groups(f, plan, _Stream(self._places, so_far)))

    def add(self, tally: Tally) -> None:
        """Add a tally of the same plan and classes."""
        base = self._held or tally
        require_same_kind(base, tally)
        if self._held is None or (self._cells is None and not base.cases):
            self._held = tally
        elif tally.cases:
            if self._cells is None:
                cells, classes = base.grid, len(base.classwise)
                size = len(cells) if base.k <= MANY else len(cells.nested_edges)
                self._cells = Cells(2, len(cells)), Cells(classes, size)
                self._grow(base, *self._cells)
                nothing = AnalysisRows(base.analysis.rows.take(slice(0)), False)
                base = replace(base, analysis=nothing, groups={})  # its rows need not stay in memory
            self._grow(tally, *self._cells)
            self._held = replace(
                base,
                sums=base.sums + tally.sums,
                lowest=tuple(sorted(base.lowest + tally.lowest)[:LOWEST]),
                findings=merge(base.findings + tally.findings),
                cases=base.cases + tally.cases,
                by_key=plus(base.by_key, tally.by_key),
            )

    def _grow(self, tally: Tally, whole: Cells, classwise: Cells) -> None:
        whole.add((tally.pooled, tally.top))
        if tally.classwise:
            classwise.add(tally.classwise)
        self._rows.add(tally.analysis.rows, tally.analysis.complete, hash_limit=tally.analysis.hash_limit)
        for column, levels in tally.groups.items():
            for level, part in levels.items():
                self._groups.setdefault(column, {}).setdefault(level, []).append(part)
                self._waiting += len(part.analysis.rows)
        if self._waiting > 1 << 22:
            self._settle_groups()

    def _settle_groups(self) -> None:
        self._groups = {
            column: {level: [total(parts)] for level, parts in levels.items()}
            for column, levels in self._groups.items()
        }
        self._waiting = 0

    def tally(self) -> Tally:
        """Return the sum so far."""
        tally, counted = self._added(), None if self._places is None else self._places.result()
        if counted is None:
            return tally
        return replace(
            tally,
            sums=tally.sums + Sums.of(counted),
            pooled=Histogram.merge([tally.pooled, counted.pooled]),
            top=Histogram.merge([tally.top, counted.top]),
            classwise=tuple(map(Histogram.merge, zip(tally.classwise, counted.classwise, strict=True))),
        )

    def _added(self) -> Tally:
        """Return the sum of the tallies, without the rows that were counted by place."""
        base = self._held
        if base is None:
            raise ValueError("nothing to add: give at least one tally")
        if self._cells is None:
            return base
        self._settle_groups()
        (pooled, top), classwise = self._cells[0].histograms(), self._cells[1]
        return replace(
            base,
            pooled=pooled,
            top=top,
            classwise=classwise.histograms() if base.classwise else (),
            findings=tuple(sorted(_of_all(base.findings, base.cases), key=lambda f: (f.code, repr(f)))),
            analysis=self._rows.rows(),
            groups={c: {v: parts[0] for v, parts in sorted(ls.items())} for c, ls in self._groups.items()},
        )


def total(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of at least one tally."""
    running = RunningTally()
    for tally in tallies:
        running.add(tally)
    return running.tally()


def _of_all(findings: Iterable[Finding], cases: int) -> list[Finding]:
    """Return the findings of a sum; parts in which no outcome was split said nothing of it, but count."""
    return [replace(f, total=cases) if isinstance(f, of_input.SoftOutcomes) else f for f in findings]


def _restored(data: bytes, lowest: tuple[Low, ...], findings: tuple[Finding, ...]) -> Tally:
    """Return a pickled tally; rows of several files keep their file."""
    return replace(Tally.from_bytes(data), lowest=lowest, findings=findings)


def grid_of(plan: Plan, k: int) -> Grid:
    """Return the grid of the plan's cuts, and of percents while there are few classes: people decide at those."""
    cuts = tuple(sorted({*plan.cuts, *PERCENTS})) if k <= MANY else plan.cuts
    return grid(cuts, coarse=k > VERY_MANY_CLASSES)


class _Stream(NamedTuple):
    """Where rows of a stream are counted by place, and how many came before."""

    places: kernels.Places
    so_far: int


def _with_groups(f: Forecasts, plan: Plan, stream: _Stream | None = None) -> Tally:
    """Return the tally of f with those of the levels of its groups; without rows that are counted in the stream."""
    whole = _counted(f, plan, stream)
    if not f.groups:
        return whole
    alone, plan = replace(f, groups={}, rows=None, findings=()), replace(plan, bootstrap=None)
    groups: dict[str, dict[str, Tally]] = {}
    for column, values in f.groups.items():
        levels, place = np.unique(np.asarray(values).astype(str), return_inverse=True)
        place = place.ravel()
        order = np.argsort(place, kind="stable")
        rows, ends = alone.take(order), np.searchsorted(place[order], np.arange(len(levels) + 1))
        parts = (rows.take(slice(*ends[i : i + 2].tolist())) for i in range(len(levels)))
        groups[column] = {str(v): _counted(part, plan) for v, part in zip(levels, parts, strict=True)}
    return replace(whole, groups=groups)


def _counted(f: Forecasts, plan: Plan, stream: _Stream | None = None) -> Tally:
    """Return the tally of one pass over the rows, which also refuses values that are not probabilities."""
    cells = grid_of(plan, f.k)
    counted = _of_realised(f, cells) if f.probabilities is None else _of_forecasts(f, cells, stream)
    h = counted.pop("hashes", None)
    return Tally(
        plan=plan,
        classes=f.classes,
        **counted,
        findings=tuple(known for known in f.findings if not isinstance(known, DERIVED)),
        cases=_cases(f),
        analysis=analysis_rows(f, h),
        names=f.names,
        picks_only=f.picks_only,
        shares_only=f.shares_only,
        by_key=ClusterScores.of(f),
    )


def _of_forecasts(f: Forecasts, cells: Grid, stream: _Stream | None) -> dict[str, Any]:
    """Return sums, histograms and lowest rows of whole forecasts."""
    own = all(getattr(f, name) is None for name in ("weights", "counts", "offered", "log_realised"))
    seen = None
    if stream is not None and own and f.scores.ndim == 1:
        seen = stream.places.add(f.scores, f.observed, stream.so_far, f.allowed)
    seen = seen or kernels.scan(f.scores, f.observed, cells, weights=f.weights, counts=f.counts, allowed=f.allowed)
    refuse(seen.problems, f)
    sums, pooled, classwise = Sums.of(seen), seen.pooled, seen.classwise
    if f.offered is not None:
        pooled = without_not_offered(pooled, ~f.offered, f)
        classwise = tuple(without_not_offered(h, ~f.offered[:, j], f) for j, h in enumerate(classwise))
    if f.log_realised is not None:
        sums = with_logs(sums, f)
    elif len(seen.tiny):
        sums = with_tiny(sums, f, seen.tiny)
    lowest = lowest_of(f, seen.lowest, seen.lowest_realised)
    counted = {"sums": sums, "pooled": pooled, "top": seen.top, "classwise": classwise, "lowest": lowest}
    return counted | {"hashes": seen.hashes}


def _of_realised(f: Forecasts, cells: Grid) -> dict[str, Any]:
    """Return those of realised probabilities alone: moments, and true entries without frequencies."""
    logs = f.log_realised
    assert logs is not None
    p, weight = np.exp(logs), float(f.mass.sum())
    none = replace(Sums.zero(f.k), rows=int(f.copies.sum()), weight=weight, weight2=float(f.squared_mass.sum()))
    order = np.lexsort([np.arange(len(logs)), logs])[:LOWEST]
    return {
        "sums": with_logs(none, f),
        "pooled": true_entries(f, p, cells),
        "top": true_entries(f, p[:0], cells),
        "classwise": (),
        "lowest": lowest_of(f, order, p[order]),
    }


def _cases(f: Forecasts) -> int:
    """Return the number of cases: rows, the parts of a split outcome counted once."""
    counts = f.counts
    if f.rows is not None and any(isinstance(finding, SPLIT) for finding in f.findings):
        first = np.unique(f.rows, return_index=True)[1]
        return len(first) if counts is None else int(counts[first].sum())
    return len(f) if counts is None else int(counts.sum())
