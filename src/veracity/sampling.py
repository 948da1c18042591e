"""A sample of rows that does not depend on how the rows were cut into parts.

Kept are the rows with the smallest hash of their bytes; equal rows are one row with a count. The sample of a union
is therefore the sample of the samples, in any order, and it holds every row as long as the distinct rows fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.forecasts import Forecasts

MOST_ROWS = 1 << 17
MOST_BYTES = 64_000_000
HASHED_COLUMNS = 8  # evenly spaced; enough to tell rows apart, few enough for a thousand classes


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows with counts. `complete`: no row was left out."""

    rows: Forecasts
    complete: bool


def hash_rows(f: Forecasts) -> NDArray[np.uint64]:
    """64 bits from each row's outcome and probabilities, the same for float32 and float64 input."""
    h = np.zeros(len(f), dtype=np.uint64)
    p = f.probabilities
    columns: list[Any]
    if p is None:
        columns = [f.log_realised]
    elif p.ndim == 1:
        columns = [p]
    else:
        columns = [p[:, j] for j in np.unique(np.linspace(0, p.shape[1] - 1, HASHED_COLUMNS).astype(int))]
    if f.outcomes is not None:
        h = _mix(f.outcomes.astype(np.uint64) + np.uint64(1))
    for column in columns:
        # Adding zero turns −0 into 0.
        h = _mix(h ^ (column.astype(np.float64) + 0.0).view(np.uint64))
    return h


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every input bit moves every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def take(f: Forecasts, index: Any) -> Forecasts:
    """The rows `index` of f, without findings."""

    def part(values: Any) -> Any:
        return None if values is None else values[index]

    return replace(
        f,
        probabilities=part(f.probabilities),
        outcomes=part(f.outcomes),
        weights=part(f.weights),
        counts=part(f.counts),
        log_realised=part(f.log_realised),
        ideal=part(f.ideal),
        features=part(f.features),
        groups={name: values[index] for name, values in f.groups.items()},
        case=part(f.case),
        findings=(),
    )


def few(f: Forecasts, rows: int) -> Forecasts:
    """About `rows` rows of f, chosen by hash: a row given twice is chosen like the same row counted twice."""
    if len(f) <= rows:
        return f
    h = hash_rows(f)
    limit = np.partition(h, rows - 1)[rows - 1]
    # Many equal rows count once, or a few values would be all of the sample.
    distinct = np.unique(h[h <= limit])
    if len(distinct) * 2 < rows:
        distinct = np.unique(h)
        limit = distinct[min(rows, len(distinct)) - 1]
    return take(f, np.flatnonzero(h <= limit))


def capacity(k: int) -> int:
    return max(1, min(MOST_ROWS, MOST_BYTES // (8 * max(k, 1))))


def sample(f: Forecasts) -> Sample:
    """The sample of all rows of f."""
    return _thin(_plain(f), hash_rows(f), complete=True)


def join(a: Sample, b: Sample) -> Sample:
    """The sample of the rows behind both."""
    rows = concatenate([a.rows, b.rows])
    return _thin(rows, hash_rows(rows), a.complete and b.complete)


def _plain(f: Forecasts) -> Forecasts:
    """Float64 rows with counts and, where there are any, weights; nothing else."""
    p = None if f.probabilities is None else np.asarray(f.probabilities, dtype=np.float64)
    if p is not None and p.ndim == 1 and f.log_realised is not None:
        p = f.matrix
    counts = np.ones(len(f), dtype=np.int64) if f.counts is None else np.asarray(f.counts, dtype=np.int64)
    outcomes = None if f.outcomes is None else f.outcomes.astype(np.int64)
    return Forecasts(p, outcomes, f.classes, f.weights, counts, f.log_realised)


def concatenate(parts: list[Forecasts]) -> Forecasts:
    """Rows of several forecasts of the same classes, one after another."""

    def joined(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        if all(a is None for a in arrays):
            return None
        # A part without weights has weight one.
        return np.concatenate([np.ones(len(part)) if a is None else a for part, a in zip(parts, arrays, strict=True)])

    names = ("probabilities", "outcomes", "weights", "counts", "log_realised")
    return Forecasts(classes=parts[0].classes, **{name: joined(name) for name in names})


def _thin(f: Forecasts, h: NDArray[np.uint64], complete: bool) -> Sample:
    most = capacity(f.k)
    if len(f) > 4 * most:
        # A first cut by hash alone; equal rows share their hash, so no row loses part of its count.
        distinct = np.unique(h)
        if len(distinct) > most:
            kept = h <= distinct[most - 1]
            f, h, complete = take(f, kept), h[kept], False
    full = _fingerprint(f)
    order = np.lexsort([full, h])
    new = np.ones(len(order), dtype=bool)
    new[1:] = (h[order][1:] != h[order][:-1]) | (full[order][1:] != full[order][:-1])
    first = np.flatnonzero(new)
    assert f.counts is not None
    counts = np.add.reduceat(f.counts[order], first) if len(first) else f.counts[:0]
    thin = replace(take(f, order[first[:most]]), counts=counts[:most])
    return Sample(thin, complete and len(first) <= most)


def _fingerprint(f: Forecasts) -> NDArray[np.uint64]:
    """64 bits from everything in a row; with its hash, rows that agree in both are taken as equal."""
    p = f.probabilities
    columns = [] if p is None else [p] if p.ndim == 1 else list(p.T)
    columns += [values for values in (f.outcomes, f.log_realised, f.weights) if values is not None]
    full = np.zeros(len(f), dtype=np.uint64)
    for column in columns:
        full = _mix(full * np.uint64(3) ^ (column.astype(np.float64) + 0.0).view(np.uint64))
    return full
