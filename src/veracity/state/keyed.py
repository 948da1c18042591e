"""Sums by key: what clusters and moments of time add to, so that dependent cases can be judged after the pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]

MOST_KEYS = 1 << 17
CLUSTER, TIME = "cluster", "time"


@dataclass(frozen=True, eq=False)
class KeyedSums:
    """Number of cases, weight and weighted sums of rows by key, keys in order.

    kind    "cluster" (keys are hashes) or "time" (keys are moments)
    values  (keys, columns)
    """

    kind: str
    keys: Array
    cases: Array
    weight: Floats
    values: Floats

    @classmethod
    def of(cls, kind: str, keys: Array, cases: Array, weight: Floats, values: Floats) -> KeyedSums:
        """Return the sums of rows: `values` (rows, columns) are weighted already."""
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)])
        if len(first) > MOST_KEYS:
            what = {CLUSTER: "clusters", TIME: "different times"}[kind]
            raise ValueError(
                f"{kind}: more than {MOST_KEYS:,} {what}\n"
                + (
                    "  cases that are nearly all alone in their cluster are independent: leave --cluster out"
                    if kind == CLUSTER
                    else "  give coarser times, such as days"
                )
            )
        if not len(first):
            return cls(kind, keys, cases, weight, values)
        return cls(
            kind,
            keys[first],
            np.add.reduceat(cases[order], first),
            np.add.reduceat(weight[order], first),
            np.add.reduceat(values[order], first, axis=0),
        )

    def __len__(self) -> int:
        return len(self.keys)

    def influences(self, columns: Any, combine: Floats | None = None) -> Floats:
        """(keys, means) sums of w (x − mean)/Σw of the columns, or of linear combinations of them."""
        values = self.values[:, columns]
        values = values if combine is None else values @ combine
        total = self.weight.sum()
        found: Floats = (values - self.weight[:, None] * (values.sum(axis=0) / total)) / total
        return found


def added(parts: Sequence[KeyedSums]) -> KeyedSums:
    """Return the sum of at least one; with one, itself."""
    first = parts[0]
    if len(parts) == 1:
        return first
    names = ("keys", "cases", "weight", "values")
    return KeyedSums.of(first.kind, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
