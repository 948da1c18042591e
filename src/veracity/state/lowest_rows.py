"""The rows that gave least to their outcome: a screenful of them is kept of every pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veracity.inputs import Forecasts
from veracity.types import Floats


class Low(NamedTuple):
    """A row whose outcome had a low probability; outcome −1: not known; case: its id, empty without ids."""

    p: float
    row: int
    outcome: int
    cases: int
    weight: float
    case: str = ""


def lowest_of(f: Forecasts, at: NDArray[Any], p: Floats) -> tuple[Low, ...]:
    """Return the rows numbered `at`, whose outcomes had the probabilities p."""
    outcomes = np.full(len(at), -1) if f.outcomes is None else f.outcomes[at]
    counts = np.ones(len(at), np.int64) if f.counts is None else f.counts[at]
    weights = np.ones(len(at)) if f.weights is None else f.weights[at]
    rows = f.first_row + at if f.rows is None else f.rows[at]
    ids = [""] * len(at) if f.case is None or f.split else [str(name) for name in f.case[at].tolist()]
    columns = (x.tolist() for x in (p, rows, outcomes, counts, weights))
    return tuple(map(Low, *columns, ids))
