"""The cases of each model as 64-bit keys: repeated ones, and those that all models have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veracity.inputs import Forecasts
from veracity.inputs.check import EXPLAINED
from veracity.read.pairing import Keys, cases_of, keys_of_ids, mixed
from veracity.records import findings_of_input as of_input
from veracity.records.findings import Finding

MOST_CASES = 1 << 25  # of all models together, where they are paired by id
MOST_IDS = 1 << 23  # rows whose ids are compared; 64 MB
WHOLE = (1 << 64) - 1


class CaseIndex:
    """The cases of each model, as far as they are needed later.

    wanted  "repeated"  keys of ids, up to a number of rows, to find repeated cases
            "ids"       keys and outcomes of all cases, to find those that all models have
            "rows"      number of cases and a sum of their keys and outcomes, to see whether all models have the same
            ""          nothing
    """

    def __init__(self, wanted: str = "") -> None:
        self.wanted = wanted
        self.sums: dict[str, tuple[int, int]] = {}
        self.unpaired = 0  # rows that not all models have, where they are paired by row
        self._held: dict[str, list[tuple[Keys, Keys]]] | None = {}  # None: too many
        self._number = 0

    def take(self, f: Forecasts) -> Forecasts:
        """Remember the cases; return the forecasts for counting, without keys."""
        model = f.model or ""
        if self.wanted == "repeated":
            if f.case is not None and not any(isinstance(finding, EXPLAINED) for finding in f.findings):
                keys = keys_of_ids(f.case)
                self._hold(model, keys, keys[:0])
            return f
        if not self.wanted:
            return f
        keys, outcomes, _ = cases_of(f)
        if self.wanted == "ids":
            self._hold(model, keys, outcomes)
        else:
            self._sum(model, len(keys), int(mixed(keys ^ outcomes).sum(dtype=np.uint64)))
        return replace(f, case=None)

    def _sum(self, model: str, number: int, total: int) -> None:
        before = self.sums.get(model, (0, 0))
        self.sums[model] = before[0] + number, (before[1] + total) & WHOLE

    def _hold(self, model: str, keys: Keys, outcomes: Keys) -> None:
        self._number += len(keys)
        if self.wanted == "repeated" and self._number > MOST_IDS:
            self._held = None
        elif self._number > MOST_CASES:
            raise ValueError(
                f"more than {MOST_CASES:,} cases: too many to be paired by id\n"
                "  put the models into columns of one set, or into files with the same rows in the same order"
            )
        if self._held is not None:
            self._held.setdefault(model, []).append((keys, outcomes))

    def of(self, model: str) -> tuple[Keys, Keys]:
        """Return the keys of a model in order, with their outcomes."""
        parts = (self._held or {}).get(model, [])
        nothing = [np.zeros(0, np.uint64)]
        keys = np.concatenate([part[0] for part in parts] or nothing)
        order = np.argsort(keys, kind="stable")
        outcomes = np.concatenate([part[1] for part in parts] or nothing)
        return keys[order], outcomes[order] if len(outcomes) else outcomes

    def repeated(self, model: str) -> tuple[Finding, ...]:
        """Return the finding about repeated cases, if any."""
        if self.wanted != "repeated":
            return ()
        if self._held is None:
            return (of_input.CasesNotLookedAt(MOST_IDS),)
        keys, _ = self.of(model)
        _, times = np.unique(keys, return_counts=True)
        shared = int(times[times > 1].sum())
        return (of_input.RepeatedCases(shared, len(keys)),) if shared else ()

    def state(self) -> dict[str, Any]:
        """Return the cases as plain values: the arguments of `merge`."""
        cases = None if self._held is None else {model: self.of(model) for model in self._held}
        return {"sums": self.sums, "unpaired": self.unpaired, "held": cases}

    def merge(
        self, sums: Mapping[str, Sequence[int]], unpaired: int, held: Mapping[str, Sequence[Keys]] | None
    ) -> None:
        """Add the cases of another state."""
        self.unpaired += unpaired
        for model, (number, total) in sums.items():
            self._sum(model, number, total)
        if held is None:
            self._held = None
        for model, (keys, outcomes) in (held or {}).items():
            self._hold(model, keys, outcomes)
