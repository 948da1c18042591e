"""The rows of some cases, chosen by the keys of cases: the same cases for every model that is compared."""

from __future__ import annotations

import numpy as np

from veracity.inputs import Forecasts, Names

MOST_CASES, MOST_ENTRIES = 20_000, 1_000_000  # of one model
SAMPLED = (
    "probabilities", "outcomes", "weights", "counts", "log_realised", "case", "clusters", "time", "offered", "rows",
)  # fmt: skip


def capacity(k: int) -> int:
    """The largest number of cases of a sample with k classes."""
    return max(1, min(MOST_CASES, MOST_ENTRIES // max(k, 1)))


class Sample:
    """The rows of the cases with the smallest keys, in the order of keys. `complete`: no case was left out."""

    def __init__(self, rows: Forecasts | None = None, complete: bool = True) -> None:
        self._parts = [] if rows is None else [rows]
        self._waiting = 0 if rows is None else len(rows)
        self.complete = complete
        self._limit: np.uint64 | None = None  # a case with a larger key is left out, whatever comes

    def add(self, f: Forecasts, complete: bool = True) -> None:
        """Add rows whose `case` is their key."""
        assert f.case is not None
        self.complete &= complete
        most = capacity(f.k)
        if self._limit is None and len(f) > 2 * most:
            keys = np.unique(f.case)
            self._limit = keys[most - 1] if len(keys) > most else None
        if self._limit is not None:
            near = np.flatnonzero(f.case <= self._limit)
            self.complete &= len(near) == len(f)
            f = f.take(near)
        self._parts.append(_copied(f))
        self._waiting += len(f)
        if self._waiting > 2 * most:
            self._settle()

    def _settle(self) -> None:
        if not self._parts:
            return
        f = Forecasts.concat(self._parts)
        assert f.case is not None
        keys, most = np.unique(f.case), capacity(f.k)
        if len(keys) > most:
            self._limit = keys[most - 1]
            self.complete = False
        order = np.argsort(f.case, kind="stable")
        end = len(order) if self._limit is None else int(np.searchsorted(f.case[order], self._limit, "right"))
        self._parts, self._waiting = [f.take(order[:end])], end

    def rows(self) -> Forecasts | None:
        """Return the rows in the order of keys; None where there are none."""
        self._settle()
        return self._parts[0] if self._parts else None


def _copied(f: Forecasts) -> Forecasts:
    """Return float64 rows that share no memory with the input, without columns that a sample does not need."""
    columns = {name: None if (v := getattr(f, name)) is None else np.array(v) for name in SAMPLED}
    if f.probabilities is not None:
        columns["probabilities"] = np.array(f.probabilities, dtype=np.float64) + 0.0
    columns["rows"] = np.array(f.numbers)
    groups = {name: np.asarray(values).astype(str) for name, values in f.groups.items()}
    return Forecasts(**columns, classes=f.classes, picks_only=f.picks_only, groups=groups, names=Names())  # type: ignore[arg-type]
