"""Maps of one model whose rows are read in parts: fitted by passes over them, applied while they are written."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veracity.words import count

if TYPE_CHECKING:
    from veracity.data import Finding, Forecasts
    from veracity.engines._sums import Tallies
    from veracity.estimate.ladder import Ladder
    from veracity.maps import Fitted
    from veracity.read import Match, ReadOptions
    from veracity.state.tally import Tally


NO_OUTCOME = (
    "there is no outcome to count class frequencies from\n"
    "  give them:  uniform   or a file of class,probability   (or name the outcome:  --label COL)"
)


class OneModel(ABC):
    """What an input offers where it holds the forecasts of one model."""

    engine: str
    reading: ReadOptions
    total: Callable[..., Any]
    _module: Any
    _stream: Any
    _parts: Any
    _options: dict[str, Any]
    _skip_broken: bool
    _watch: Any

    @property
    @abstractmethod
    def layout(self) -> Match:
        """How the columns are understood."""

    @cached_property
    def tally(self) -> Tally:
        """All rows of the only model, counted: every value has been looked at."""
        from veracity.engines._sums import Tallies
        from veracity.state.plan import Plan

        models = self.layout.named_models
        if len(models) > 1:
            raise ValueError(
                f"{', '.join(self.layout.files)}: {len(models)} models, {', '.join(models)}; a map belongs to one\n"
                "  choose its columns:  --positive-proba COL   or   --proba PATTERN   or its rows:  --where COL=VALUE"
            )
        counted: Tallies = self.total(partial(Tallies, Plan()))
        (tally,) = (tally for key, tally in counted.tallies().items() if not key[1])
        if not tally.measurable:
            raise ValueError("only the probability of what happened is known\n  a map needs every class")
        return replace(tally, findings=(*tally.findings, *counted.finding()))

    @property
    def _passes(self) -> Any:
        from veracity.engines._passes import Passes

        return Passes(partial(self.total, doing="fitting"), self.tally.sums.weight, self.tally.k)

    def adjustment(self, target: Any = None, *, rule: str | float = "log") -> Fitted:
        """The map that gives the columns the target means, those of the outcomes when none are given (KF15 4.1).

        One pass for the frequencies, one for the zeros, one for each Newton step.
        """
        import numpy as np

        from veracity import maps
        from veracity.maps import additive, coherent, multiplicative

        name, options = maps.adjustment(rule)
        sums, classes = self.tally.sums, self.tally.classes
        wanted = self.prior if target is None else target
        if name == "multiplicative":
            return multiplicative.fit_chunks(self._passes, sums.weight, wanted, classes)
        if name == "additive":
            return additive.fit_chunks(self._passes, wanted, classes)
        try:  # begin where the rows at hand end: from nowhere, Newton loses its way for r < 0
            start = coherent.fit(self.rows, r=options["r"], target=wanted).shift
        except maps.InfeasibleTarget:
            start = np.zeros(len(classes))
        return coherent.fit_chunks(self._passes, sums.weight, wanted, classes, options["r"], start)

    def label_shift(self, trained_on: Any) -> tuple[Any, Finding]:
        """Class frequencies estimated from the scores alone: rounds on the rows at hand, the last ones on all."""
        from veracity import maps
        from veracity.maps._label_shift import em_chunks

        start, _ = maps.em(self.rows, trained_on)
        return em_chunks(self._passes, trained_on, self.tally.classes, start)

    @cached_property
    def _ladder(self) -> Ladder:
        from veracity.estimate.ladder import Ladder

        return Ladder(self.tally)

    @property
    def rows(self) -> Forecasts:
        """Rows at hand: all distinct ones where they are few, cells of two classes, or a sample."""
        return self._ladder.rows

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.tally.classes

    @property
    def beside(self) -> dict[str, Any]:
        """Columns of the files that stay beside the mapped ones, and their kinds."""
        return dict(self._stream.beside)

    @property
    def labelled(self) -> bool:
        return self.layout.labelled

    @property
    def cases(self) -> int:
        return self.tally.cases

    @property
    def numbered(self) -> tuple[str, ...]:
        """Which of weight and count the rows have."""
        weight = self.tally.binned.all_weight is not None
        counted = "count" in self.layout.roles or "n" in self.layout.roles or self.reading.count is not None
        return ("weight",) * weight + ("count",) * counted

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.tally.findings

    @property
    def prior(self) -> Any:
        """Frequencies of the outcomes."""
        if not self.labelled:
            raise ValueError(NO_OUTCOME)
        return self.tally.sums.by_class[:, 0] / self.tally.sums.weight

    @property
    def mean(self) -> Any:
        """Mean forecast of each class."""
        return self.tally.sums.column / self.tally.sums.weight

    def fit(self, name: str) -> Fitted:
        """A map of this name: by passes over all rows where it can be, otherwise on the rows at hand."""
        from veracity import maps

        rules: dict[str, str | float] = {"multiplicative": "log", "additive": "brier", "coherent": 0.5}
        return self.adjustment(rule=rules[name]) if name in rules else maps.fit(name, self.rows)

    def basis(self, fitted: Fitted) -> str:
        """What a map was fitted on, in words."""
        whole = count(self.tally.cases, "row")
        at_hand = self._ladder.basis.partition(", ")[2]
        return f"{whole}, {at_hand}" if at_hand and fitted.needs_labels else whole

    def write(self, fitted: Fitted, path: str | Path, ending: str | None = None) -> int:
        """Write the rows as the map changes them, in order; how many there are.

        Into a file this machine writes, Parquet or CSV by its ending or by the one given. Into a folder that exists,
        whoever reads a part writes a Parquet file of it.
        """
        from veracity.engines import local
        from veracity.engines._mapped import Mapped, Writing
        from veracity.read.parts import Part

        tally, target = self.tally, Path(path)
        also = dict.fromkeys(self.numbered, True)
        mapped = Mapped(self._stream, fitted, tally.classes, self._skip_broken, **also)
        if not isinstance(self._parts, list) or not all(isinstance(part, Part) for part in self._parts):
            raise ValueError("only files can be written as they are read\n  apply the map to the frame itself")
        seen = self._watch("writing") if self._watch else None
        if not target.is_dir():
            started = time.monotonic()
            told = None if seen is None else lambda n, share: seen(local.Progress(n, share, time.monotonic() - started))
            return mapped.written(self._parts, target, ending or target.suffix.lower(), told)
        job = Writing(mapped, str(target.absolute()))
        if self.engine == "local":
            states = [job.write(part, number) for number, part in enumerate(self._parts)]
            files = job.make()
            files.merge(job.merged(states))
        else:
            files = self._module.run(job, self._parts, self._options, progress=seen)
        return sum(files.rows.values())
