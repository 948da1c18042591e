"""Which cases each model has: 64-bit keys that say whether models in different parts were asked the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.data import Finding, Forecasts
from veracity.data.check import SAID
from veracity.engines._sums import Tallies
from veracity.state.plan import Plan

Array = NDArray[Any]
Keys = NDArray[np.uint64]

MOST_CASES = 1 << 25  # of all models together, where they are paired by id
MOST_IDS = 1 << 23  # rows whose ids are compared; 64 MB
WHOLE = (1 << 64) - 1


def mixed(values: Any) -> Keys:
    """splitmix64's finaliser: every bit of the input moves every bit of the key."""
    z = np.array(values, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z ^= z >> np.uint64(shift)
        z *= np.uint64(factor)
    return np.asarray(z ^ (z >> np.uint64(31)))


def keys_of_rows(file: int, rows: Array) -> Keys:
    """Keys of the rows of one file of an input."""
    return mixed(rows.astype(np.int64) + (file << 40))


def keys_of_cases(case: Array) -> Keys:
    """Keys of ids; 5 and 5.0 are one id."""
    if case.dtype.kind in "iub":
        return mixed(case.astype(np.int64).view(np.uint64))
    if case.dtype.kind == "f":
        values = case.astype(np.float64)
        whole = (np.abs(values) < 2.0**63) & (values == np.floor(values))
        return mixed(
            np.where(whole, np.where(whole, values, 0.0).astype(np.int64), values.view(np.int64)).view(np.uint64)
        )
    return mixed(pl.Series(case.astype(object), dtype=pl.String).hash().to_numpy())


def cases_of(f: Forecasts) -> tuple[Keys, Keys, Array]:
    """Key, outcome and place of each case in forecasts whose `case` is the key; parts of a split outcome adjoin."""
    keys = f.case
    assert keys is not None
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, np.int64)
    if f.outcomes is None:
        return keys[starts], np.zeros(len(starts), np.uint64), starts
    signs = mixed(f.outcomes.astype(np.int64) + 1)
    return keys[starts], np.add.reduceat(signs, starts) if len(starts) else signs, starts


class CountedCases:
    """Tallies, and the cases of each model: their number and a sum of their keys, or by id the keys themselves."""

    def __init__(self, plan: Plan, files: tuple[str, ...], by_id: bool) -> None:
        self.tallies, self._by_id = Tallies(plan, files), by_id
        self.sums: dict[str, tuple[int, int]] = {}
        self._held: dict[str, list[tuple[Keys, Keys]]] = {}
        self._number = 0

    def take(self, forecasts: Forecasts) -> None:
        self.tallies.take(replace(forecasts, case=None))
        keys, outcomes, _ = cases_of(forecasts)
        model = forecasts.model or ""
        if self._by_id:
            self._hold(model, keys, outcomes)
        else:
            self._sum(model, len(keys), int(mixed(keys ^ outcomes).sum(dtype=np.uint64)))

    def _sum(self, model: str, number: int, total: int) -> None:
        before = self.sums.get(model, (0, 0))
        self.sums[model] = before[0] + number, (before[1] + total) & WHOLE

    def _hold(self, model: str, keys: Keys, outcomes: Keys) -> None:
        self._held.setdefault(model, []).append((keys, outcomes))
        self._number += len(keys)
        if self._number > MOST_CASES:
            raise ValueError(
                f"more than {MOST_CASES:,} cases: too many to be paired by id\n"
                "  put the models into columns of one set, or into files with the same rows in the same order"
            )

    def cases(self, model: str) -> tuple[Keys, Keys]:
        """Keys in order with their outcomes."""
        held = self._held.get(model, [])
        keys = np.concatenate([part[0] for part in held] or [np.zeros(0, np.uint64)])
        order = np.argsort(keys, kind="stable")
        return keys[order], np.concatenate([part[1] for part in held] or [keys])[order]

    def tell(self, model: str, findings: tuple[Finding, ...]) -> None:
        self.tallies.tell(model, findings)

    def name(self, *parts: str) -> None:
        self.tallies.name(*parts)

    def skip(self, part: str, reason: str) -> None:
        self.tallies.skip(part, reason)

    def state(self) -> bytes:
        arrays = {model: self.cases(model) for model in self._held}
        head = {"sums": self.sums, "held": {model: len(keys) for model, (keys, _) in arrays.items()}}
        text = json.dumps(head).encode()
        bodies = (array.tobytes() for pair in arrays.values() for array in pair)
        return b"".join([len(text).to_bytes(8, "little"), text, *bodies, self.tallies.state()])

    def merge(self, state: bytes) -> None:
        at = 8 + int.from_bytes(state[:8], "little")
        head = json.loads(state[8:at])
        for model, (number, total) in head["sums"].items():
            self._sum(model, number, total)
        for model, number in head["held"].items():
            keys, outcomes = np.frombuffer(state, np.uint64, 2 * number, at).reshape(2, number)
            self._hold(model, keys, outcomes)
            at += 16 * number
        self.tallies.merge(state[at:])


class RepeatedCases(Tallies):
    """Tallies, and whether cases stand more than once: up to a number of rows their keys are kept."""

    def __init__(self, plan: Plan, files: tuple[str, ...]) -> None:
        super().__init__(plan, files)
        self._keys: dict[str, list[Keys]] | None = {}  # None: there are too many
        self._number = 0

    def take(self, forecasts: Forecasts) -> None:
        super().take(forecasts)
        split = any(finding.code in SAID for finding in forecasts.findings)
        if forecasts.case is not None and not split:
            self._hold(forecasts.model or "", keys_of_cases(forecasts.case))

    def _hold(self, model: str, keys: Keys) -> None:
        self._number += len(keys)
        if self._number > MOST_IDS:
            self._keys = None
        if self._keys is not None:
            self._keys.setdefault(model, []).append(keys)

    def repeated(self, model: str) -> tuple[Finding, ...]:
        """What is to be said of the cases of a model."""
        if self._keys is None:
            message = f"more than {MOST_IDS:,} rows have ids: whether cases repeat was not looked at"
            return (Finding("cases_not_looked_at", "note", message),)
        keys = np.concatenate(self._keys.get(model, []) or [np.zeros(0, np.uint64)])
        _, times = np.unique(keys, return_counts=True)
        shared = int(times[times > 1].sum())
        return (Finding.of("repeated_cases", shared, len(keys)),) if shared else ()

    def state(self) -> bytes:
        held = None if self._keys is None else {model: np.concatenate(parts) for model, parts in self._keys.items()}
        text = json.dumps(held and {model: len(keys) for model, keys in held.items()}).encode()
        bodies = (keys.tobytes() for keys in (held or {}).values())
        return b"".join([len(text).to_bytes(8, "little"), text, *bodies, super().state()])

    def merge(self, state: bytes) -> None:
        at = 8 + int.from_bytes(state[:8], "little")
        held = json.loads(state[8:at])
        if held is None:
            self._keys = None
        for model, number in (held or {}).items():
            self._hold(model, np.frombuffer(state, np.uint64, number, at))
            at += 8 * number
        super().merge(state[at:])
