"""What a worker adds up, and how it travels: as bytes that hold no code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import numpy as np

from veracity.data import Finding, Forecasts, merge, saying_something
from veracity.engines._files import coded_rows
from veracity.read.parts import Stream
from veracity.state.plan import Plan
from veracity.state.sampling import take
from veracity.state.tally import Running, Tally, stored_finding, total

Key = tuple[str, str, str]  # model, group column, level; all rows of a model: ("name", "", "")
WAITING_ROWS = 1 << 22  # of levels, before they are added


class Sum(Protocol):
    """A sum over rows: taking rows in parts and merging gives the same as taking all."""

    def take(self, forecasts: Forecasts) -> None: ...
    def tell(self, model: str, findings: tuple[Finding, ...]) -> None: ...
    def name(self, *parts: str) -> None: ...
    def skip(self, part: str, reason: str) -> None: ...
    def merge(self, state: bytes) -> None: ...
    def state(self) -> bytes: ...


@dataclass(frozen=True)
class Job:
    """What is to be done with every part; it travels to the workers."""

    stream: Stream
    make: Callable[[], Sum]
    skip_broken: bool = False

    def merged(self, states: Iterable[bytes]) -> bytes:
        """One state from several."""
        total = self.make()
        for state in states:
            total.merge(state)
        return total.state()


class Tallies:
    """A tally for each model, and for each level of each group."""

    def __init__(self, plan: Plan, files: tuple[str, ...] = ()) -> None:
        self._plan, self._files = plan, files
        self._level_plan = replace(plan, bootstrap=None)
        self._running: dict[Key, Running] = {}
        self._levels: dict[Key, list[Tally]] = {}  # there may be thousands: no cells without rows
        self._waiting = 0
        self._of: list[str] = []  # the part or parts that were counted, for messages
        self._told: dict[str, tuple[Finding, ...]] = {}
        self.skipped: dict[str, str] = {}

    def take(self, forecasts: Forecasts) -> None:
        model = forecasts.model or ""
        plain = replace(forecasts, groups={}) if forecasts.groups else forecasts
        try:
            self._running.setdefault((model, "", ""), Running()).count(coded_rows(plain, self._files), self._plan)
        except ValueError:
            Tally.count(plain, self._plan)  # says the same of the row in its file
            raise
        for column, values in forecasts.groups.items():
            levels, place = np.unique(np.asarray(values).astype(str), return_inverse=True)
            for i, level in enumerate(levels):
                part = replace(take(plain, np.flatnonzero(place == i)), rows=None)
                self._add((model, column, str(level)), Tally.count(part, self._level_plan))

    def _add(self, key: Key, tally: Tally) -> None:
        if not key[1]:
            self._running.setdefault(key, Running()).add(tally)
            return
        self._levels.setdefault(key, []).append(tally)
        self._waiting += tally.sums.rows
        if self._waiting > WAITING_ROWS:
            self._settle()

    def _settle(self) -> None:
        self._levels = {key: [total(tallies)] for key, tallies in self._levels.items()}
        self._waiting = 0

    def tell(self, model: str, findings: tuple[Finding, ...]) -> None:
        """Findings about rows of which none is left to count."""
        self._told[model] = merge((*self._told.get(model, ()), *findings))

    def skip(self, part: str, reason: str) -> None:
        self.skipped[part] = reason

    def merge(self, state: bytes) -> None:
        size = int.from_bytes(state[:8], "little")
        head = json.loads(state[8 : 8 + size])
        self.skipped |= head["skipped"]
        at = 8 + size
        for key, length in head["tallies"]:
            try:
                self._add((key[0], key[1], key[2]), Tally.from_bytes(state[at : at + length]))
            except ValueError as problem:
                raise ValueError(f"{' to '.join(self._of)} and {' to '.join(head['of'])}: {problem}") from None
            at += length
        self.name(*head["of"])
        for model, findings in head["told"].items():
            self.tell(model, tuple(stored_finding(finding) for finding in findings))

    def name(self, *parts: str) -> None:
        """Remember what was counted: by its first and last part."""
        self._of = [*self._of, *parts]
        self._of = self._of if len(self._of) < 3 else [self._of[0], self._of[-1]]

    def state(self) -> bytes:
        bodies = {key: tally.to_bytes() for key, tally in self._tallies().items()}
        head = {
            "of": self._of,
            "skipped": self.skipped,
            "told": {model: [asdict(finding) for finding in findings] for model, findings in self._told.items()},
            "tallies": [(key, len(body)) for key, body in bodies.items()],
        }
        text = json.dumps(head).encode()
        return b"".join([len(text).to_bytes(8, "little"), text, *bodies.values()])

    def tallies(self) -> dict[Key, Tally]:
        """The sums so far."""
        made = self._tallies()
        for key, tally in made.items():
            told = self._told.get(key[0], ()) if not key[1] else ()
            made[key] = replace(tally, findings=saying_something(merge((*tally.findings, *told))))
        return made

    def _tallies(self) -> dict[Key, Tally]:
        self._settle()
        levels = {key: tallies[0] for key, tallies in self._levels.items()}
        return {key: running.tally() for key, running in self._running.items()} | levels

    def repeated(self, model: str) -> tuple[Finding, ...]:
        """Cases that stand more than once, where ids are compared."""
        return ()

    def finding(self) -> tuple[Finding, ...]:
        """Parts that could not be read, in words."""
        if not self.skipped:
            return ()
        names = sorted(self.skipped)
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        message = f"{len(names):,} of the files could not be read and are left out: {shown}"
        return (Finding("skipped_files", "changes the meaning", message, len(names)),)
