"""The sums of workers, and their states as bytes that hold no code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veracity.engines._case_keys import CaseIndex
from veracity.inputs import Forecasts, check
from veracity.inputs.row_numbers import decoded
from veracity.read import Source
from veracity.read.pairing import Paired, with_file
from veracity.read.parts import Batch
from veracity.records import findings_of_input as of_input
from veracity.records.findings import FIRST, Finding, merge
from veracity.records.findings_of_input import without_empty
from veracity.state.accumulator import Accumulator
from veracity.state.packing import packed_finding, stored_finding
from veracity.state.plain_bytes import dumps, loads
from veracity.state.plan import Plan
from veracity.state.tally import RunningTally, Tally


@dataclass(frozen=True)
class Job:
    """The work for every part; it is sent to the workers."""

    source: Source | Paired
    make: Callable[[], Accumulator]
    skip_broken: bool = False


def merged(make: Callable[[], Any], states: Iterable[bytes]) -> bytes:
    """Return the state of the sum of several states, starting from `make()`."""
    total = make()
    for state in states:
        total.merge(state)
    return bytes(total.state())


class Tallies(Accumulator):
    """A running tally for each model.

    files  of the source where there are several, so that rows are named with their file
    cases  see `CaseIndex`
    """

    def __init__(self, plan: Plan, files: tuple[str, ...] = (), cases: str = "") -> None:
        self._plan, self._files = plan, files
        self.cases = CaseIndex(cases)
        self._running: dict[str, RunningTally] = {}
        self._of: list[str] = []  # the part or parts that were counted
        self._findings: dict[str, tuple[Finding, ...]] = {}
        self._skipped: dict[str, str] = {}

    def take(self, batch: Batch) -> None:
        for forecasts in batch.forecasts:
            self._count(forecasts)
        for model, findings in batch.emptied:
            self._found(model, findings)
        self.cases.unpaired += batch.unpaired

    def _found(self, model: str, findings: Iterable[Finding]) -> None:
        self._findings[model] = merge((*self._findings.get(model, ()), *findings))

    def _count(self, f: Forecasts) -> None:
        if f.ideal is not None:
            check(f)  # the pass looks at the forecasts alone
        f = self.cases.take(f)
        try:
            self._running.setdefault(f.model or "", RunningTally()).count(with_file(f, self._files), self._plan)
        except ValueError:
            Tally.of(f, plan=self._plan)  # the message names the row of its file
            raise

    def name(self, *parts: str) -> None:
        self._of = [*self._of, *parts]
        self._of = self._of if len(self._of) < 3 else [self._of[0], self._of[-1]]

    def skip(self, part: str, reason: str) -> None:
        self._skipped[part] = reason

    def merge(self, state: bytes) -> None:
        content = loads(state)
        self._skipped |= content["skipped"]
        for model, tally in content["tallies"].items():
            try:
                self._running.setdefault(model, RunningTally()).add(Tally.from_bytes(tally))
            except ValueError as problem:
                raise ValueError(f"{' to '.join(self._of)} and {' to '.join(content['of'])}: {problem}") from None
        self.cases.merge(**content["cases"])
        self.name(*content["of"])
        for model, findings in content["findings"].items():
            self._found(model, map(stored_finding, findings))

    def state(self) -> bytes:
        tallies = {model: running.tally().to_bytes() for model, running in self._running.items()}
        findings = {model: [packed_finding(one) for one in several] for model, several in self._findings.items()}
        content = {"of": self._of, "skipped": self._skipped, "findings": findings, "cases": self.cases.state()}
        return dumps(content | {"tallies": tallies})

    def tallies(self) -> dict[str, Tally]:
        """Return the tally of each model so far."""
        by_model = {model: running.tally() for model, running in self._running.items()}
        for model, tally in by_model.items():
            findings = merge((*tally.findings, *self._findings.get(model, ())))
            by_model[model] = replace(tally, findings=without_empty(findings))
        return by_model

    def findings(self, model: str) -> tuple[Finding, ...]:
        """Return the findings about repeated cases of a model, and about parts that could not be read."""
        findings = self.cases.repeated(model)
        if self._skipped:
            names = sorted(self._skipped)
            findings = (*findings, of_input.SkippedFiles(len(names), files=tuple(names[:FIRST])))
        return findings


def with_files(tally: Tally, files: Sequence[str]) -> Tally:
    """Return the tally with the file of each named row."""
    return replace(
        tally,
        lowest=tuple(low._replace(row=decoded(low.row, files)) for low in tally.lowest),
        findings=tuple(replace(f, rows=tuple(decoded(row, files) for row in f.rows)) for f in tally.findings),
    )
