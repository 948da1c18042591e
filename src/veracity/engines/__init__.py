"""Where the counting is done: one file per engine, found by listing this folder and imported when asked for.

An engine maps one job over parts of the input and adds what comes back. It offers

    OPTIONS                                        {name: type} of its own options
    parts_of(data, reading, skip_broken, options)  how the data are read, and their parts
    run(job, parts, options, …)                    the sum over all parts
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from veracity.engines._one_model import OneModel

if TYPE_CHECKING:
    from veracity.data import Finding
    from veracity.engines._sums import Tallies
    from veracity.engines.local import Progress
    from veracity.read import Match, ReadOptions
    from veracity.read.parts import Stream
    from veracity.results.assessment import Assessment
    from veracity.state.plan import Plan

    Watch = Callable[[str], Callable[[Progress], None] | None]

__all__ = ["Input", "assess", "names"]

COMMON = {"on_error": str}


def names() -> list[str]:
    """The engines there are."""
    return sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_"))


def engine(name: str) -> ModuleType:
    """The engine of this name."""
    if name not in names():
        raise ValueError(f"engine: {name!r} is none of {', '.join(names())}")
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as missing:
        raise ValueError(f"engine: {name} needs {missing.name}\n  pip install 'veracity[{name}]'") from None


class Input(OneModel):
    """Data that an engine reads in parts: files, folders, or a frame of the engine's own kind.

    watch   called with a word or two when a pass over the data begins; it may return what is told the pass's progress
    """

    def __init__(
        self,
        data: Any,
        reading: ReadOptions | None = None,
        *,
        engine: str = "local",
        options: Mapping[str, Any] | None = None,
        watch: Watch | None = None,
    ) -> None:
        from veracity.read import ReadOptions

        self.engine, self._module = engine, _engine(engine)
        self._options = _checked(options or {}, engine, self._module.OPTIONS)
        self._skip_broken = self._options.pop("on_error", "raise") == "skip"
        self.reading = reading or ReadOptions()
        self._watch = watch
        self._stream: Any  # a Stream, or several as one
        self._stream, self._parts = self._opened(data)

    def _opened(self, data: Any) -> tuple[Any, Any]:
        opened: tuple[Stream, Any] = self._module.parts_of(data, self.reading, self._skip_broken, self._options)
        return opened

    @property
    def layout(self) -> Match:
        """How the columns are understood."""
        layout: Match = self._stream.layout
        return layout

    def total(
        self,
        make: Callable[[], Any],
        *,
        plan: Plan | None = None,
        checkpoint: str | Path | None = None,
        progress: Callable[[Progress], None] | None = None,
        doing: str = "counting",
    ) -> Any:
        """The sum over all rows that `make()` begins."""
        from veracity.engines._checkpoint import Checkpoint
        from veracity.engines._sums import Job

        job = Job(self._stream, make, self._skip_broken)
        kept = None
        if checkpoint is not None:
            if self.engine != "local":
                raise ValueError(
                    f"checkpoint: {self.engine} repeats lost work by itself\n  leave --checkpoint to the local engine"
                )
            kept = Checkpoint(checkpoint, self._parts, self.reading, plan)
        progress = progress or (self._watch(doing) if self._watch else None)
        return self._module.run(job, self._parts, self._options, checkpoint=kept, progress=progress)

    def assess(
        self,
        plan: Plan | None = None,
        *,
        checkpoint: str | Path | None = None,
        progress: Callable[[Progress], None] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> dict[str, Assessment]:
        """The assessment of each model, in one pass."""
        from veracity.data.check import SAID
        from veracity.engines._sums import Tallies
        from veracity.state.plan import Plan

        started = time.perf_counter()
        plan = plan or Plan()
        kind: type[Tallies] = Tallies
        if self.layout.case and not any(finding.code in SAID for finding in self.layout.findings):
            from veracity.engines._cases import RepeatedCases

            kind = RepeatedCases
        make = partial(kind, plan, self._files)
        counted: Tallies = self.total(make, plan=plan, checkpoint=checkpoint, progress=progress)
        return self._assessments(counted, provenance or {}, started)

    def _assessments(self, counted: Tallies, provenance: Mapping[str, Any], started: float) -> dict[str, Assessment]:
        from veracity.engines._files import with_files
        from veracity.results.assessment import of_tally

        tallies = counted.tallies()
        made: dict[str, Assessment] = {}
        for model, column, _ in tallies:
            if column:
                continue
            layout = self._layout_of(model)
            tally = with_files(tallies[model, "", ""], self._files if len(layout.files) > 1 else ())
            repeated = counted.repeated(model)
            findings = (*layout.findings, *tally.findings, *repeated, *counted.finding(), *self._unused(bool(repeated)))
            tally = replace(tally, findings=findings)
            groups: dict[str, dict[str, Any]] = {}
            for (name, by, level), part in sorted(tallies.items(), key=lambda item: item[0]):
                if by and name == model:
                    groups.setdefault(by, {})[level] = part
            given = {"engine": self.engine, "reading": layout.describe() if layout.files else None, **provenance}
            made[model] = of_tally(tally, model=model or None, provenance=given, groups=groups, started=started)
        if not made:
            raise ValueError("no rows in any part of the input\n  there is nothing to assess")
        if self.reading.ideal:
            self._compare_with_ideal(made)
        return made

    def _compare_with_ideal(self, made: Mapping[str, Assessment]) -> None:
        """The losses of every row with the ideal probabilities that are given, in a second pass."""
        from veracity.data import Finding
        from veracity.engines._ideal import Losses, Stages

        ladders = {model: assessment._live("losses") for model, assessment in made.items()}
        stages = {model: Stages.of(ladder) for model, ladder in ladders.items() if not ladder.problem}
        looked: Losses = self.total(partial(Losses, stages), doing="comparing with the ideal")
        for model in stages:
            sections = made[model]._sections
            sections["losses"] = looked.losses(model, sections["level"])
            sections["findings"] += (Finding("ideal_given", "note", "ideal as given"),)

    @property
    def _files(self) -> tuple[str, ...]:
        """Names of the files whose rows would be confused without them."""
        return self.layout.files if len(self.layout.files) > 1 else ()

    def _layout_of(self, model: str) -> Match:
        return self.layout

    def _unused(self, repeated: bool) -> tuple[Finding, ...]:
        """What was given and cannot be used without all rows."""
        from veracity.data import Finding

        given = ["feature"] if self.reading.feature else []
        given += ["repeated outcomes of one case"] if repeated else []
        if not given:
            return ()
        message = f"{' and '.join(given)}: not used, because the rows are read in parts"
        return (Finding("not_used_in_parts", "warning", message),)


_engine = engine


def assess(
    data: Any,
    reading: ReadOptions | None = None,
    plan: Plan | None = None,
    *,
    engine: str = "local",
    options: Mapping[str, Any] | None = None,
    checkpoint: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Assessment]:
    """The assessment of each model in data that need not fit in memory, by name.

    data      paths, globs, folders; for "dask" also a dask dataframe or delayed Forecasts; for "spark" a DataFrame
    options   of the engine; on_error="skip" leaves out files that cannot be read, and a finding says which
    """
    opened = Input(data, reading, engine=engine, options=options)
    return opened.assess(plan, checkpoint=checkpoint, progress=progress)


def _checked(options: Mapping[str, Any], engine: str, own: Mapping[str, type]) -> dict[str, Any]:
    """Options of the engine with their types; a name that it does not have is an error."""
    known = {**COMMON, **own}
    made: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"engine option: {engine} has no {name!r}\n  it has {', '.join(known)}")
        try:
            made[name] = known[name](value)
        except (TypeError, ValueError):
            raise ValueError(f"engine option: {name}={value} is no {known[name].__name__}") from None
    if made.get("on_error", "raise") not in ("raise", "skip"):
        raise ValueError(f"engine option: on_error={made['on_error']} is neither raise nor skip")
    return made
