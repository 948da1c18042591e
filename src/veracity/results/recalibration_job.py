"""Maps of one model's forecasts: fitted on its tally or by passes over its rows, applied while rows are written."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veracity import calibrators
from veracity.calibrators import Fitted, additive, coherent, multiplicative
from veracity.calibrators._black_box import by_outcome
from veracity.calibrators._dual_solver import Sums
from veracity.calibrators._fitted import as_rows, blocks
from veracity.calibrators._label_shift import effective_cases, em_chunks
from veracity.files.files_read import FilesRead
from veracity.read import Part, Source
from veracity.read.parts import Batch
from veracity.records.findings import Finding
from veracity.results.mapped_files import Mapped, WriteJob
from veracity.state.accumulator import Accumulator, Progress
from veracity.state.tally import Tally
from veracity.types import Array
from veracity.words import count

if TYPE_CHECKING:
    from veracity.engines import Engine

NO_OUTCOME = (
    "no outcomes to count class frequencies from\n"
    "  give them:  uniform   or a file of class,probability   (or name the outcome:  --label COL)"
)
RULES: dict[str, str | float] = {"multiplicative": "log", "additive": "brier", "coherent": 0.5}


class RecalibrationJob:
    """The forecasts of one model, counted and checked: maps are fitted on them and written as mapped rows."""

    def __init__(self, engine: Engine, source: Source) -> None:
        self.engine, self.source = engine, source

    @cached_property
    def tally(self) -> Tally:
        """Return the tally of the only model."""
        layout = self.source.layout
        models, shown = layout.named_models, ", ".join(layout.files)
        if len(models) > 1:
            raise ValueError(
                f"{shown}: {len(models)} models, {', '.join(models)}; a map belongs to one\n"
                "  choose its columns:  --positive-proba COL   or   --proba PATTERN   or its rows:  --where COL=VALUE"
            )
        counted = self.engine.count(self.source)
        ((model, tally),) = counted.tallies().items()
        if not tally.measurable:
            raise ValueError(f"{shown}: only the probability of the outcome is known; maps need whole rows")
        return replace(tally, findings=(*layout.findings, *tally.findings, *counted.findings(model)))

    @property
    def prior(self) -> Any:
        """Return the frequencies of the outcomes."""
        if not self.source.layout.labelled:
            raise ValueError(NO_OUTCOME)
        return self.tally.sums.by_class[:, 0] / self.tally.sums.weight

    @property
    def numbered(self) -> tuple[str, ...]:
        """Return the columns among weight and count that the rows have."""
        roles, options = self.source.layout.roles, self.source.options
        counted = "count" in roles or "n" in roles or options.count is not None
        return ("weight",) * (self.tally.pooled.all_weight is not None) + ("count",) * counted

    @property
    def _passes(self) -> Passes:
        total = partial(self.engine.total, self.source, doing="fitting")
        return Passes(total, self.tally.sums.weight, self.tally.k)

    def adjustment(self, target: Any = None, *, rule: str | float = "log", inside: bool = False) -> Fitted:
        """Return the map that gives the columns the target means, those of the outcomes by default (KF15 4.1).

        `inside` shifts for the Brier score and takes the nearest rows of [0, 1], where a shift alone would leave it.
        Where the analysis rows are not all rows: one pass for the zeros, and one for each Newton step.
        """
        name, options = ("coherent", {"r": 1.0}) if inside else calibrators.adjustment(rule)
        wanted = self.prior if target is None else target
        if self.tally.complete:
            return calibrators.fit(name, self.tally.rows, target=wanted, **options)
        weight, classes = self.tally.sums.weight, self.tally.classes
        if name == "multiplicative":
            return multiplicative.fit_chunks(self._passes, weight, wanted, classes)
        if name == "additive":
            return additive.fit_chunks(self._passes, wanted, classes)
        try:  # the solution for the analysis rows is a start from which Newton converges for r < 0
            start = coherent.fit(self.tally.rows, r=options["r"], target=wanted).shift
        except calibrators.InfeasibleTarget:
            start = np.zeros(len(classes))
        return coherent.fit_chunks(self._passes, weight, wanted, classes, options["r"], start)

    def label_shift(self, trained_on: Any) -> tuple[Any, Finding]:
        """Return class frequencies estimated from the scores alone: rounds on analysis rows, the last ones on all."""
        if self.tally.complete:
            return calibrators.em(self.tally.rows, trained_on)
        start, _ = calibrators.em(self.tally.rows, trained_on)
        cases = effective_cases(self.tally.rows) * self.tally.cases / float(self.tally.rows.copies.sum())
        return em_chunks(self._passes, trained_on, self.tally.classes, cases=cases, start=start)

    def black_box_shift(self, reference: RecalibrationJob) -> tuple[Any, Finding]:
        """Return class frequencies estimated from mean forecasts here and by outcome in the reference."""
        names, others = ([str(c) for c in job.tally.classes] for job in (self, reference))
        if sorted(names) != sorted(others):
            raise ValueError(
                f"the reference is for classes {', '.join(others)}, the forecasts are for {', '.join(names)}"
            )
        order = [others.index(name) for name in names]
        rows = reference.tally.rows
        same = replace(
            rows,
            probabilities=rows.matrix[:, order],
            outcomes=np.argsort(order)[rows.observed],
            classes=self.tally.classes,
        )
        joint = reference.joint[np.ix_(order, order)]
        return calibrators.black_box(self.tally.rows, same, self.tally.mean_forecast, joint)

    @property
    def joint(self) -> Array:
        """Return (k, k) the mean of probability i where j happened times its frequency, of all rows."""
        rows, k = self.tally.rows, self.tally.k
        if self.tally.complete:
            return by_outcome(rows.matrix, rows.observed, rows.mass / rows.mass.sum())
        work = partial(SumByOutcome, by_outcome, (np.zeros((k, k)),), self.tally.sums.weight, None)
        return np.asarray(self.engine.total(self.source, work, doing="fitting").value[0])

    def check_suffix(self, suffix: str) -> None:
        """Refuse an ending of the names of new columns that would have no effect or hide columns of the files."""
        source = self.source
        if not source.in_place:
            raise ValueError(
                "--suffix has no effect: the rows of the files are no forecasts, so mapped ones get columns of their "
                "own\n  leave it out"
            )
        taken = [name + suffix for name in source.layout.forecasts if name + suffix in source.passthrough]
        if taken:
            raise ValueError(f"--suffix {suffix}: there is a column `{taken[0]}` already\n  give another suffix")

    def fit(self, name: str) -> Fitted:
        """Return the map of this name; those that match class frequencies are fitted on all rows."""
        return self.adjustment(rule=RULES[name]) if name in RULES else calibrators.fit(name, self.tally.rows)

    def basis(self, fitted: Fitted) -> str:
        """Return the rows that a map was fitted on, in words."""
        whole = count(self.tally.cases, "row")
        at_hand = f"on {self.tally.basis}" if self.tally.basis else ""
        return f"{whole}, {at_hand}" if at_hand and fitted.needs_labels else whole

    def write(self, fitted: Fitted, path: str | Path, ending: str | None = None, suffix: str = "") -> int:
        """Write the mapped rows, in order; return their number.

        The columns of the files stay, and mapped probabilities replace the forecasts, or stand beside them in columns
        whose names end in `suffix`; where the rows of the files are no forecasts, such as one line for each class,
        outcome and probabilities are new columns.
        Into a file this machine writes, Parquet or CSV by its ending or by the one given. Into a folder that exists,
        whoever reads a part writes a Parquet file of it.
        """
        target, parts = Path(path), self.source.parts()
        if not isinstance(parts, list) or not all(isinstance(part, Part) for part in parts):
            raise ValueError("only files can be written as they are read\n  apply the map to the frame itself")
        FilesRead(part.path for part in parts).refuse(target)
        skip, source = self.engine.skip_broken, self.source
        mapped = Mapped(source, fitted, self.tally.classes, source.passthrough, skip, self.numbered, suffix)
        seen = self.engine.watched("writing")
        if not target.is_dir():
            started = time.monotonic()
            seen_rows = None if seen is None else lambda n, share: seen(Progress(n, share, time.monotonic() - started))
            return mapped.written(parts, target, ending or target.suffix.lower(), seen_rows)
        job = WriteJob(mapped, str(target.absolute()))
        if self.engine.name == "local":
            files = job.make()
            for number, part in enumerate(parts):
                files.merge(job.write(part, number))
        else:
            files = self.engine.module.run(job, parts, self.engine.options, progress=seen)
        return sum(files.rows.values())


class SumOfWork(Accumulator):
    """The sum of work(rows, shares) over rows."""

    def __init__(self, work: Callable[..., Any], zero: Sums, mass: float, kept: Array | None) -> None:
        self._work, self.value, self._mass, self._kept = work, zero, mass, kept

    def take(self, batch: Batch) -> None:
        for f in batch.forecasts:
            for part in blocks(len(f), f.k):
                rows = as_rows(f.scores[part], f.k)
                rows = rows if self._kept is None else rows[:, self._kept]
                self._add(self._work(rows, f.mass[part] / self._mass))

    def _add(self, other: Sums) -> None:
        self.value = tuple(a + b for a, b in zip(self.value, other, strict=True))

    def merge(self, state: bytes) -> None:
        self._add(pickle.loads(state))

    def state(self) -> bytes:
        return pickle.dumps(self.value)  # between workers of one run, which exchange pickled tasks anyway


class SumByOutcome(SumOfWork):
    """The sum of work(rows, outcomes, shares) over rows."""

    def take(self, batch: Batch) -> None:
        for f in batch.forecasts:
            for part in blocks(len(f), f.k):
                rows = as_rows(f.scores[part], f.k)
                self._add((self._work(rows, f.observed[part], f.mass[part] / self._mass),))


@dataclass(frozen=True, eq=False)
class Passes:
    """Chunks for the dual solver that stay where they are; every sum is a pass of the engine."""

    total: Callable[..., SumOfWork]
    mass: float
    k: int
    kept: Array | None = None
    dense: int = 2000  # classes up to which a matrix of couplings costs less than more passes

    def summed(self, work: Callable[..., Any], zero: Sums) -> Sums:
        return self.total(partial(SumOfWork, work, zero, self.mass, self.kept)).value

    def narrowed(self, kept: Array) -> Passes:
        return replace(self, kept=kept)

    def __call__(self) -> Iterable[tuple[Array, Array]]:
        raise TypeError("rows on a cluster are summed where they are")
