"""Where parts are counted: one file per engine, found by listing this folder and imported when asked for.

An engine maps one job over the parts of a source and adds what comes back. It offers

    OPTIONS                              {name: type} of options that only this engine has
    open(data, reading, how, options)    the source with its parts; `how` are options of `read.open`
    run(job, parts, options, …)          the sum over all parts
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

if TYPE_CHECKING:
    from veracity.engines._sums import Tallies
    from veracity.read import ReadOptions, Source
    from veracity.read.pairing import Paired
    from veracity.results.assessment import Assessment
    from veracity.results.recalibration_job import RecalibrationJob
    from veracity.state.accumulator import Progress
    from veracity.state.plan import Plan

    Watch = Callable[[str], Callable[[Progress], None] | None]

__all__ = ["Engine", "assess", "assessments", "names"]

COMMON = {"on_error": str}


def names() -> list[str]:
    """Return the names of all engines."""
    return sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_"))


def module(name: str) -> ModuleType:
    """Return the engine of this name."""
    if name not in names():
        raise ValueError(f"engine: {name!r} is not one of {', '.join(names())}")
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as missing:
        raise ValueError(f"engine: {name} needs {missing.name}\n  pip install 'veracity[{name}]'") from None


class Engine:
    """An engine with its options.

    options  its own; on_error="skip" leaves out files that cannot be read, and a finding names them
    watch    called with a word or two when a pass over the data begins; may return a callback for its progress
    """

    def __init__(
        self, name: str = "local", options: Mapping[str, Any] | None = None, watch: Watch | None = None
    ) -> None:
        self.name, self.module, self._watch = name, module(name), watch
        self.options = _checked(options or {}, name, self.module.OPTIONS)
        self.skip_broken = self.options.pop("on_error", "raise") == "skip"

    def open(self, data: Any, reading: ReadOptions | None = None) -> Source:
        """Return the source of files, folders, or a frame of the engine's own kind."""
        from veracity.read import ReadOptions

        how = {"skip_broken": self.skip_broken}
        source: Source = self.module.open(data, reading or ReadOptions(), how, self.options)
        return source

    def recalibration(self, data: Any, reading: ReadOptions | None = None) -> RecalibrationJob:
        """Return the forecasts of the only model in the data, to be mapped and written."""
        from veracity.results.recalibration_job import RecalibrationJob

        return RecalibrationJob(self, self.open(data, reading))

    def total(
        self,
        source: Source | Paired,
        make: Callable[[], Any],
        *,
        plan: Plan | None = None,
        checkpoint: str | Path | None = None,
        progress: Callable[[Progress], None] | None = None,
        doing: str = "counting",
    ) -> Any:
        """Return the sum over all rows, starting from `make()`."""
        from veracity.engines._checkpoint import Checkpoint
        from veracity.engines._sums import Job

        kept = None
        if checkpoint is not None:
            if self.name != "local":
                raise ValueError(
                    f"checkpoint: {self.name} repeats lost work by itself\n  leave --checkpoint to the local engine"
                )
            kept = Checkpoint(checkpoint, source.parts(), source.options, plan)
        progress = progress or self.watched(doing)
        job = Job(source, make, self.skip_broken)
        return self.module.run(job, source.parts(), self.options, checkpoint=kept, progress=progress)

    def watched(self, doing: str) -> Callable[[Progress], None] | None:
        """Announce a pass over the data and return the callback for its progress."""
        return self._watch(doing) if self._watch else None

    def count(self, source: Source, plan: Plan | None = None, **how: Any) -> Tallies:
        """Return the tally of each model, in one pass; `how` are options of `total`."""
        from veracity.engines._sums import Tallies
        from veracity.inputs.check import EXPLAINED
        from veracity.state.plan import Plan

        plan = plan or Plan()
        has_ids = source.layout.case and not any(isinstance(finding, EXPLAINED) for finding in source.layout.findings)
        make = partial(Tallies, plan, source.files, cases="repeated" if has_ids else "")
        counted: Tallies = self.total(source, make, plan=plan, **how)
        return counted


def assessments(
    source: Source | Paired,
    counted: Tallies,
    provenance: Mapping[str, Any] | None = None,
    started: float | None = None,
) -> dict[str, Assessment]:
    """Return the assessment of each model from its tally, in the order of the source."""
    from veracity.engines._sums import with_files
    from veracity.results.assess import assessment

    tallies = counted.tallies()
    if not tallies:
        raise ValueError("no rows in any part of the input\n  there is nothing to assess")
    by_model: dict[str, Assessment] = {}
    for model in sorted(tallies, key=[*source.models, *tallies].index):
        layout = source.layout_of(model)
        tally = with_files(tallies[model], source.files if len(layout.files) > 1 else ())
        findings = (*layout.findings, *tally.findings, *counted.findings(model))
        origin = dict(provenance or {})
        if layout.files:
            origin.setdefault("reading", layout.describe())
        if origin.get("given") is not None and len(layout.models) > 1:
            own = () if layout.model_column else dict(layout.models)[model]
            origin["given"] = replace(origin["given"], column=layout.model_column, forecasts=own)
        tally = replace(tally, findings=findings)
        by_model[model] = assessment(tally, model=model or None, provenance=origin, started=started)
    return by_model


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
    """Return the assessment of each model, by name, of data that need not fit in memory.

    data      paths, globs, folders, or a frame; for "dask" also a dask dataframe or delayed Forecasts; for "spark" a
              Spark DataFrame
    options   of the engine; on_error="skip" leaves out files that cannot be read, and a finding names them
    progress  called now and then; by default a bar is shown on a terminal or in a notebook after two seconds
    """
    from veracity.progress import ProgressBar

    started = time.perf_counter()
    with ProgressBar("reading", quiet=progress is not None) as working:
        used = Engine(engine, options, working.watch)
        source = used.open(data, reading)
        counted = used.count(source, plan, checkpoint=checkpoint, progress=progress)
    return assessments(source, counted, {"engine": engine}, started)


def _checked(options: Mapping[str, Any], engine: str, own: Mapping[str, type]) -> dict[str, Any]:
    """Return options with the types of the engine; a name that it does not have is an error."""
    known = {**COMMON, **own}
    settings: dict[str, Any] = {}
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"engine option: {engine} has no {name!r}\n  it has {', '.join(known)}")
        try:
            settings[name] = known[name](value)
        except (TypeError, ValueError):
            raise ValueError(f"engine option: {name}={value} is no {known[name].__name__}") from None
    if settings.get("on_error", "raise") not in ("raise", "skip"):
        raise ValueError(f"engine option: on_error={settings['on_error']} is neither raise nor skip")
    return settings
