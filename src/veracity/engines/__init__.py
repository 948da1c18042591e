"""Where the counting is done: one file per engine, found by listing this folder and imported when asked for.

An engine maps one job over parts of the input and adds what comes back. It offers

    OPTIONS                                        {name: type} of its own options
    parts_of(data, reading, skip_broken, options)  how the data are read, and their parts
    run(job, parts, options, …)                    the sum over all parts
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veracity.assessment import Assessment
    from veracity.engines.local import Progress
    from veracity.forecasts import Finding
    from veracity.maps.multiplicative import Multiplicative
    from veracity.plan import Plan
    from veracity.read import Layout, Reading
    from veracity.read.parts import Stream

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


class Input:
    """Data that an engine reads in parts: files, folders, or a frame of the engine's own kind."""

    def __init__(
        self,
        data: Any,
        reading: Reading | None = None,
        *,
        engine: str = "local",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        from veracity.read import Reading

        self.engine, self._module = engine, _engine(engine)
        self._options = _checked(options or {}, engine, self._module.OPTIONS)
        self._skip_broken = self._options.pop("on_error", "raise") == "skip"
        self.reading = reading or Reading()
        self._stream: Stream
        self._stream, self._parts = self._module.parts_of(data, self.reading, self._skip_broken, self._options)

    @property
    def layout(self) -> Layout:
        """How the columns are understood."""
        return self._stream.layout

    def total(
        self,
        make: Callable[[], Any],
        *,
        plan: Plan | None = None,
        checkpoint: str | Path | None = None,
        progress: Callable[[Progress], None] | None = None,
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
        import time

        from veracity.assessment import of_tally
        from veracity.engines._sums import Tallies
        from veracity.plan import Plan

        started = time.perf_counter()
        plan = plan or Plan()
        counted: Tallies = self.total(partial(Tallies, plan), plan=plan, checkpoint=checkpoint, progress=progress)
        tallies = counted.tallies()
        made: dict[str, Assessment] = {}
        for model, column, _ in tallies:
            if column:
                continue
            tally = tallies[model, "", ""]
            findings = (*self.layout.findings, *tally.findings, *counted.finding(), *self._unused())
            tally = replace(tally, findings=findings)
            groups: dict[str, dict[str, Any]] = {}
            for (name, by, level), part in sorted(tallies.items(), key=lambda item: item[0]):
                if by and name == model:
                    groups.setdefault(by, {})[level] = part
            given = {
                "engine": self.engine,
                "reading": self.layout.describe() if self.layout.files else None,
                **(provenance or {}),
            }
            made[model] = of_tally(tally, model=model or None, provenance=given, groups=groups, started=started)
        if not made:
            raise ValueError("no rows in any part of the input\n  there is nothing to assess")
        return made

    def _unused(self) -> tuple[Finding, ...]:
        """What was given and cannot be used without all rows."""
        from veracity.forecasts import Finding

        given = [name for name in ("ideal", "feature") if getattr(self.reading, name)]
        if not given:
            return ()
        message = f"{' and '.join(given)}: not used, because the rows are read in parts"
        return (Finding("not_used_in_parts", "warning", message),)

    def adjustment(self, target: Any = None) -> Multiplicative:
        """Weights that give the columns the target means, those of the outcomes when none are given (KF15 4.1).

        One pass for the frequencies, one for the zeros, one for each Newton step.
        """
        from veracity.engines._passes import Passes
        from veracity.engines._sums import Tallies
        from veracity.maps.multiplicative import fit_chunks
        from veracity.plan import Plan

        counted: Tallies = self.total(partial(Tallies, Plan()))
        whole = {key[0]: tally for key, tally in counted.tallies().items() if not key[1]}
        if len(whole) != 1:
            raise ValueError(f"{len(whole)} models: {', '.join(sorted(whole))}\n  adjust one of them")
        (tally,) = whole.values()
        if not tally.measurable:
            raise ValueError("only the probability of what happened is known\n  an adjustment needs every class")
        sums = tally.sums
        wanted = sums.by_class[:, 0] / sums.weight if target is None else target
        return fit_chunks(Passes(self.total, sums.weight, tally.k), sums.weight, wanted, tally.classes)


_engine = engine


def assess(
    data: Any,
    reading: Reading | None = None,
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
