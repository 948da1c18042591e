"""The mergeable state of an assessment: moments, grid and rows.

Tallies of parts add to the tally of the whole, in any order: integers exactly, sums to rounding. Whatever an
assessment says about data that never were in memory together, it says from this.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from veracity import kernels
from veracity.data import Finding, Forecasts, NothingLeft, merge, prepare, refuse
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid, grid
from veracity.state.cells import Cells
from veracity.state.plan import Plan
from veracity.state.sampling import Growing, Sample, concatenate, sample, take
from veracity.state.sums import Sums, squared_mass, totals, with_logs, with_tiny

Floats = NDArray[np.float64]

MANY_CLASSES = 50  # beyond, class-wise histograms are nested
VERY_MANY_CLASSES = 128  # beyond, the grid is coarse below 2^-22
LOWEST = 20  # rows kept that gave least to what happened
WAITING = 1 << 14  # rows that are counted together
PAIRED = 1 << 15  # rows in a part of a stream of two classes from which they are counted by place
SPLIT = ("soft_outcomes", "no_number_of_cases")  # rows of which several are one case
DERIVED = ("zero_probability", "constant_forecast", "one_outcome")  # findings about all rows: found again from the sums
MAGIC, VERSION = b"veracity tally\n", 1


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
    binned: Histogram  # all entries by cell
    top: Histogram
    classwise: Sequence[Histogram]
    lowest: tuple[tuple[float, int, int], ...]  # (probability, row, outcome), smallest first; outcome −1: not known
    findings: tuple[Finding, ...]
    cases: int  # rows, except that the parts of a split outcome are one case
    held: Forecasts | None = None  # all rows, where they are in memory
    thinned: Sample | None = None

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
        plan: Plan | None = None,
        **options: Any,
    ) -> Tally:
        """Tally of outcomes and probabilities; options are those of `Plan`. A part without rows adds nothing."""
        plan = plan or Plan(**options)
        if np.size(y_true) == 0 and np.size(y_proba) == 0:
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
        except NothingLeft:  # every row stands no times
            return cls.zero(prepare(y_true, y_proba, **given).classes, plan)
        return cls.count(forecasts, plan)

    @classmethod
    def zero(cls, classes: Iterable[Any], plan: Plan | None = None) -> Tally:
        """The tally of no rows."""
        classes = tuple(classes)
        nothing = np.zeros((0, len(classes)))
        return cls.count(Forecasts(nothing, np.zeros(0, dtype=np.int64), classes), plan or Plan())

    @classmethod
    def count(cls, f: Forecasts, plan: Plan) -> Tally:
        """One pass over the rows, which also refuses values that are no probabilities."""
        return cls._count_realised(f, plan) if f.probabilities is None else cls._count(f, plan)

    @classmethod
    def _count(cls, f: Forecasts, plan: Plan) -> Tally:
        assert f.probabilities is not None
        assert f.outcomes is not None
        grid = grid_of(plan, f.k)
        seen = kernels.scan(f.probabilities, f.outcomes, grid, weights=f.weights, counts=f.counts, allowed=f.allowed)
        refuse({name: problem for name, problem in seen.problems.items() if problem.rows}, f)
        sums = Sums.of(seen)
        pooled, classwise = seen.pooled, seen.classwise
        if f.offered is not None:
            pooled = _without(pooled, ~f.offered, f)
            classwise = tuple(_without(h, ~f.offered[:, j], f) for j, h in enumerate(classwise))
        if f.log_realised is not None:
            sums = with_logs(sums, f)
        elif len(seen.tiny):
            sums = with_tiny(sums, f, seen.tiny)
        least = seen.lowest_realised.tolist(), map(f.row, seen.lowest.tolist()), f.outcomes[seen.lowest].tolist()
        lowest = tuple(zip(*least, strict=True))
        return cls(
            plan=plan,
            classes=f.classes,
            sums=sums,
            binned=pooled,
            top=seen.top,
            classwise=classwise,
            lowest=lowest,
            findings=_told(f),
            cases=_cases(f),
            held=f,
        )

    @classmethod
    def _count_realised(cls, f: Forecasts, plan: Plan) -> Tally:
        """Only the probability of what happened is known: moments, and true entries without frequencies."""
        logs = f.log_realised
        assert logs is not None
        p, grid = np.exp(logs), grid_of(plan, f.k)
        sums = with_logs(replace(Sums.zero(f.k), **totals(f)), f)
        order = np.lexsort([np.arange(len(logs)), logs])[:LOWEST]
        lowest = tuple((float(p[i]), f.row(i), -1) for i in order)
        return cls(
            plan=plan,
            classes=f.classes,
            sums=sums,
            binned=_histogram(f, p, grid),
            top=_histogram(f, p[:0], grid),
            classwise=(),
            lowest=lowest,
            findings=_told(f),
            cases=sums.rows,
            held=f,
        )

    @property
    def k(self) -> int:
        return len(self.classes)

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.plan, self.k)

    @property
    def pooled(self) -> Histogram:
        """All entries by cell."""
        return self.binned

    @property
    def measurable(self) -> bool:
        """Whether frequencies can be compared with forecasts: not where only what happened has a probability."""
        return bool(self.classwise)

    @cached_property
    def sample(self) -> Sample:
        """The rows that can be looked at again: all of them, or those with the smallest hash."""
        if self.thinned is not None:
            return self.thinned
        assert self.held is not None
        return sample(self.held)

    @property
    def shares_only(self) -> bool:
        """Whether only shares of cases are given, so that nothing is known about sampling errors."""
        return any(finding.code == "no_number_of_cases" for finding in self.findings)

    @property
    def picks_given(self) -> bool:
        """Whether the forecast is of one pick being right: then it is the pick, however sure, and nothing else is."""
        return any(finding.code == "pick_only" for finding in self.findings)

    @property
    def picks(self) -> Histogram:
        """Probabilities of the picks, and of those that were right."""
        return self.classwise[1] if self.picks_given else self.top

    @property
    def every_row(self) -> Forecasts | None:
        """All rows: in memory as they came, or the sample where none was left out; otherwise None."""
        if self.held is not None:
            return self.held
        return self.sample.rows if self.sample.complete else None

    def __add__(self, other: Tally) -> Tally:
        return total((self, other))

    def _same_kind(self, other: Tally) -> None:
        if not isinstance(other, Tally):
            raise TypeError(f"a Tally adds to a Tally, not to {type(other).__name__}")
        if self.plan is other.plan and self.classes == other.classes and self.measurable == other.measurable:
            return
        mine, theirs = asdict(self.plan), asdict(other.plan)
        for option, value in mine.items():
            if value != theirs[option]:
                raise ValueError(
                    f"tallies of different plans do not add: {option} is {value!r} in one and {theirs[option]!r} in "
                    "the other; make both with the same options"
                )
        if self.classes != other.classes:
            raise ValueError(
                f"tallies of different classes do not add: {list(self.classes)} and {list(other.classes)}; "
                "give both the same labels="
            )
        if self.sums.rows and other.sums.rows and self.measurable != other.measurable:
            raise ValueError("a tally of realised probabilities only does not add to one of whole forecasts")

    def to_bytes(self) -> bytes:
        """The state as bytes: a line of JSON and the arrays, with a checksum. No code is stored."""
        arrays: list[NDArray[Any]] = []

        def put(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                arrays.append(np.ascontiguousarray(value))
                return {"dtype": value.dtype.str, "shape": list(value.shape)}
            return value

        rows = self.sample.rows
        state = {
            "version": VERSION,
            "grid": _fingerprint(self.grid),
            "plan": asdict(self.plan),
            "classes": [c.item() if isinstance(c, np.generic) else c for c in self.classes],
            "sums": {f.name: put(getattr(self.sums, f.name)) for f in fields(Sums)},
            "histograms": [
                {f.name: put(getattr(h, f.name)) for f in fields(Histogram)}
                for h in (self.pooled, self.top, *self.classwise)
            ],
            "lowest": self.lowest,
            "findings": [asdict(f) for f in self.findings],
            "cases": self.cases,
            "complete": self.sample.complete,
            "rows": {
                name: put(getattr(rows, name))
                for name in ("probabilities", "outcomes", "weights", "counts", "log_realised")
            },
        }
        head = json.dumps(state).encode()
        body = len(head).to_bytes(8, "little") + head + b"".join(array.tobytes() for array in arrays)
        return MAGIC + crc32(body).to_bytes(4, "little") + body

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """The tally that `to_bytes` wrote."""
        at = len(MAGIC)
        if data[:at] != MAGIC:
            raise ValueError("data: these bytes are no tally; give what Tally.to_bytes() returned")
        body = data[at + 4 :]
        if crc32(body) != int.from_bytes(data[at : at + 4], "little"):
            raise ValueError("data: the tally is damaged (checksum differs); make it again")
        size = int.from_bytes(body[:8], "little")
        state = json.loads(body[8 : 8 + size])
        if state["version"] != VERSION:
            raise ValueError(f"data: tally version {state['version']}, this program reads {VERSION}; make it again")
        if state["grid"] != _fingerprint(grid_of(Plan(**state["plan"]), len(state["classes"]))):
            raise ValueError("data: the tally was counted on another grid, by another version; make it again")
        offset = 8 + size

        def get(value: Any) -> Any:
            nonlocal offset
            if not isinstance(value, dict):
                return value
            dtype = np.dtype(value["dtype"])
            size = int(np.prod(value["shape"]))
            array = np.frombuffer(body, dtype, size, offset).reshape(value["shape"])
            offset += size * dtype.itemsize
            return array if array.flags.aligned else array.copy()  # C reads numbers only where they may lie

        sums = Sums(**{name: get(value) for name, value in state["sums"].items()})
        histograms = [Histogram(**{name: get(value) for name, value in h.items()}) for h in state["histograms"]]
        classes = tuple(state["classes"])
        rows = Forecasts(classes=classes, **{name: get(value) for name, value in state["rows"].items()})
        return cls(
            plan=Plan(**state["plan"]),
            classes=classes,
            sums=sums,
            binned=histograms[0],
            top=histograms[1],
            classwise=tuple(histograms[2:]),
            lowest=tuple((p, row, y) for p, row, y in state["lowest"]),
            findings=tuple(stored_finding(f) for f in state["findings"]),
            cases=state["cases"],
            thinned=Sample(rows, state["complete"]),
        )


class Running:
    """A sum of tallies that grows in place: what a stream is counted into."""

    def __init__(self) -> None:
        self._first: Tally | None = None  # the only one so far, or one of no rows
        self._sums: Sums | None = None
        self._lowest: tuple[tuple[float, int, int], ...] = ()
        self._findings: tuple[Finding, ...] = ()
        self._cases = 0
        self._sample = Growing()
        self._pair: Any = None  # kernels.Pair: rows of two classes that are not among the sums yet
        self._others: list[Forecasts] = []  # those that it does not count

    def count(self, f: Forecasts, plan: Plan) -> None:
        """Add the rows of f; those of a large part are not held."""
        rest = self._paired(f, plan)
        if rest is None:
            self.add(Tally.count(f, plan))
            return
        assert f.outcomes is not None
        if self._sample.limit is None:
            self._sample.add(f)
        elif plan.bootstrap is not None:
            self._sample.add_near(f, rest.near)
        elif self._sample.limit:  # cells say all of two classes where the rows do not fit; only a bootstrap draws rows
            self._sample.give_up(f)
        if told := _told(f):
            self._findings = merge(self._findings + told)
        if len(rest.lowest):
            found = zip(rest.lowest_realised.tolist(), rest.lowest.tolist(), strict=True)
            lowest = tuple((p, f.row(i), int(f.outcomes[i])) for p, i in found)
            self._lowest = tuple(sorted(self._lowest + lowest)[:LOWEST])
        self._cases += len(f) - len(rest.others)
        if len(rest.others):
            numbers = np.array([f.row(i) for i in rest.others])
            self._others.append(replace(take(f, rest.others), rows=numbers))
            if sum(map(len, self._others)) > WAITING:
                self._settle(self._others)

    def _settle(self, others: list[Forecasts]) -> None:
        """Count what `kernels.Pair` left; such rows are few, and in small parts they would cost much."""
        assert self._first is not None
        if others:
            numbers = np.concatenate([part.rows for part in others if part.rows is not None])
            self._put_counts(Tally.count(replace(concatenate(others), rows=numbers), self._first.plan))
            others.clear()

    def _paired(self, f: Forecasts, plan: Plan) -> Any:
        """What `kernels.Pair` leaves of the rows it has counted; None where it cannot, or a row must be refused."""
        p, y = f.probabilities, f.outcomes
        plain = f.weights is None and f.counts is None and f.log_realised is None
        if kernels.Pair is None or p is None or y is None or p.ndim != 1 or not plain:
            return None
        if self._pair is None and len(f) < PAIRED:
            return None
        if p.dtype not in (np.float32, np.float64) or not y.dtype.isnative:
            return None
        if self._first is None:
            self._first = Tally.zero(f.classes, plan)
        if f.classes != self._first.classes or (plan is not self._first.plan and plan != self._first.plan):
            return None
        if self._sums is None:
            self._start(self._first)
        self._pair = self._pair or kernels.Pair(self._first.grid)
        limit = self._sample.limit
        least = self._lowest[-1][0] if len(self._lowest) == LOWEST else np.inf
        return self._pair.add(p, y, None if limit is None else int(limit), least)

    def add(self, tally: Tally) -> None:
        """Add a tally of the same plan and classes."""
        if self._first is None:
            self._first = tally
            return
        self._first._same_kind(tally)
        if self._sums is None and not self._first.sums.rows:
            self._first = tally
        elif tally.sums.rows:
            if self._sums is None:
                self._start(self._first)
            self._put(tally)

    def _start(self, first: Tally) -> None:
        grid = first.grid
        size = len(grid) if first.k <= MANY_CLASSES else len(grid.nested_edges)
        self._whole, self._classwise = Cells(2, len(grid)), Cells(len(first.classwise), size)
        self._put(first)
        # Its rows need not stay in memory.
        self._first = replace(first, held=None, thinned=Sample(take(first.sample.rows, slice(0)), False))

    def _put_sums(self, sums: Sums, whole: Sequence[Histogram], classwise: Sequence[Histogram]) -> None:
        self._sums = sums if self._sums is None else self._sums + sums
        self._whole.add(whole)
        if classwise:
            self._classwise.add(classwise)

    def _put_counts(self, tally: Tally) -> None:
        self._put_sums(tally.sums, (tally.pooled, tally.top), tally.classwise)
        self._lowest = tuple(sorted(self._lowest + tally.lowest)[:LOWEST])
        self._findings = merge(self._findings + tally.findings)
        self._cases += tally.cases

    def _put(self, tally: Tally) -> None:
        self._put_counts(tally)
        if tally.held is not None and len(tally.held):
            self._sample.add(tally.held)
        elif tally.held is None:
            self._sample.add(tally.sample.rows, tally.sample.complete)

    def tally(self) -> Tally:
        """The sum so far."""
        if self._first is None:
            raise ValueError("nothing to add: give at least one tally")
        if self._sums is None:
            return self._first
        self._settle(self._others)
        if self._pair is not None:
            seen, self._pair = self._pair.result(), None
            self._put_sums(Sums.of(seen), (seen.pooled, seen.top), seen.classwise)
        pooled, top = self._whole.histograms()
        return replace(
            self._first,
            sums=self._sums,
            binned=pooled,
            top=top,
            classwise=self._classwise.histograms() if self._first.classwise else (),
            lowest=self._lowest,
            findings=_sorted(self._findings),
            cases=self._cases,
            thinned=self._sample.sample(),
        )


def total(tallies: Iterable[Tally]) -> Tally:
    """The sum of at least one tally."""
    running = Running()
    for tally in tallies:
        running.add(tally)
    return running.tally()


def grid_of(plan: Plan, k: int) -> Grid:
    return grid(plan.cuts, coarse=k > VERY_MANY_CLASSES)


def _without(h: Histogram, absent: NDArray[np.bool_], f: Forecasts) -> Histogram:
    """The histogram less the entries that rows did not have; the pass has put them into the cell of exactly 0."""
    lost = absent if absent.ndim == 1 else absent.sum(axis=1)
    counts = lost if f.counts is None else lost * f.counts
    held = {name: values.copy() for name in h.__dataclass_fields__ if (values := getattr(h, name)) is not None}
    zero = held["cells"] == 0
    held["all"][zero] -= int(counts.sum())
    if f.weights is not None and "all_weight" in held:
        held["all_weight"][zero] -= float(counts @ f.weights)
        held["all_weight2"][zero] -= float(counts @ f.weights**2)
    some = held["all"] > 0
    return Histogram(**{name: values[some] for name, values in held.items()})


def _fingerprint(grid: Grid) -> int:
    """Cells are numbers, so tallies add only where the numbers mean the same."""
    return crc32(grid.nested_edges.tobytes(), crc32(grid.edges.tobytes()))


def _histogram(f: Forecasts, p: Floats, grid: Grid) -> Histogram:
    """True entries alone, where nothing is known of the others."""
    cells, place = np.unique(grid.locate(p), return_inverse=True)
    mass, mass2 = f.mass[: len(p)], squared_mass(f)[: len(p)]
    above = p > 0.0
    safe = np.where(above, p, 1.0)

    def sums(values: Any) -> Any:
        return np.bincount(place, weights=values, minlength=len(cells))

    counts = sums(np.ones(len(p)) if f.counts is None else f.counts[: len(p)]).astype(np.int64)
    weighted = f.weights is not None
    weight, weight2 = (sums(mass), sums(mass2)) if weighted else (None, None)
    logs, powers = sums(mass * above * np.log(safe)), sums(mass * above * safe ** (-2 / 3))
    total = sums(mass * p)
    return Histogram(
        cells.astype(np.int32), counts, counts, total, total, logs, powers, weight, weight, weight2, weight2
    )


def _told(f: Forecasts) -> tuple[Finding, ...]:
    return tuple(known for known in f.findings if known.code not in DERIVED)


def _cases(f: Forecasts) -> int:
    """Rows, the parts of a split outcome counted once."""
    counts = f.counts
    if f.rows is not None and any(finding.code in SPLIT for finding in f.findings):
        first = np.unique(f.rows, return_index=True)[1]
        return len(first) if counts is None else int(counts[first].sum())
    return len(f) if counts is None else int(counts.sum())


def _sorted(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """In an order that does not depend on which part came first."""
    return tuple(sorted(findings, key=lambda f: (f.code, f.message)))


def stored_finding(stored: dict[str, Any]) -> Finding:
    details = tuple((name, value) for name, value in stored.get("details", ()))
    return Finding(**{**stored, "rows": tuple(stored["rows"]), "details": details})
