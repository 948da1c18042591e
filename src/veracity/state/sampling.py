"""A sample of rows that does not depend on how the rows were cut into parts.

Kept are the rows with the smallest hash of their bytes; equal rows are one row with a count. The sample of a union
is therefore the sample of the samples, in any order, and it holds every row as long as the distinct rows fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.data import Forecasts
from veracity.kernels import forecast_hashes
from veracity.kernels.hashes import MULTIPLY, mix

MOST_ROWS = 1 << 17
MOST_ROWS_OF_TWO = 1 << 15  # of two classes, whose cells say nearly all
MOST_BYTES = 64_000_000
BLOCK = 1 << 14  # rows hashed together: stays in cache
WAITING = 1 << 21  # values of candidates before they are sorted in


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows with counts. `complete`: no row was left out."""

    rows: Forecasts
    complete: bool


def hash_rows(f: Forecasts) -> NDArray[np.uint64]:
    """Return 64 bits from each row's forecast."""
    p = f.log_realised if f.probabilities is None else f.probabilities
    assert p is not None
    return forecast_hashes(p)


def in_order(f: Forecasts) -> NDArray[Any]:
    """The rows in an order that does not depend on how they were given, but for rows that are equal in everything."""
    return _distinct(f, hash_rows(f))[0]


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
        offered=part(f.offered),
        rows=part(f.rows),
        findings=(),
    )


def few(f: Forecasts, rows: int) -> Forecasts:
    """About `rows` rows of f, chosen by hash: a row given twice is chosen like the same row counted twice."""
    if len(f) <= rows:
        return f
    near, h = _near(f, _enough(rows, len(f)))
    if len(near) < rows:
        near, h = _near(f, None)
    is_kept = h <= np.sort(h)[rows - 1]
    # Many equal rows count once, or a few values would be all of the sample.
    if len(np.unique(h[is_kept])) * 2 < rows:
        near, h = _near(f, None)
        distinct = np.unique(h)
        is_kept = h <= distinct[min(rows, len(distinct)) - 1]
    kept = near[is_kept]
    return take(f, kept[:: max(1, len(kept) // (4 * rows))])


def capacity(k: int) -> int:
    return max(1, min(MOST_ROWS_OF_TWO if k == 2 else MOST_ROWS, MOST_BYTES // (8 * max(k, 1))))


class Growing:
    """The sample of rows that arrive in parts. Most rows of a long stream are ruled out by their hash alone."""

    def __init__(self) -> None:
        self._parts: list[Forecasts] = []
        self._waiting, self._complete = 0, True
        self._made: Sample | None = None  # of the parts before those that wait, in order of their hashes
        self.limit: np.uint64 | None = None  # a row with a larger hash is not in the sample, whatever comes

    def add(self, f: Forecasts, complete: bool = True) -> None:
        """`complete`: these are all rows of the part, not a sample of them."""
        self._complete &= complete
        if self.limit is not None or len(f) > 2 * capacity(f.k):
            h = hash_rows(f)
            self.limit = _limit(h, capacity(f.k)) if self.limit is None else self.limit
            if self.limit is not None:
                self.add_near(f, np.flatnonzero(h <= self.limit))
                return
        self._keep(f)

    def add_near(self, f: Forecasts, near: NDArray[np.int64]) -> None:
        """Rows of which those at `near` have a hash up to the limit."""
        self._complete &= len(near) == len(f)
        self._keep(take(f, near))

    def give_up(self, f: Forecasts) -> None:
        """Keep no rows: f, and all that follow, are left out."""
        self._parts, self._waiting, self._complete, self.limit = [], 0, False, np.uint64(0)
        self._made = Sample(_plain(take(f, slice(0))), False)
        self._hashes = self._prints = np.empty(0, dtype=np.uint64)

    def _keep(self, f: Forecasts) -> None:
        self._parts.append(_plain(f))
        self._waiting += len(f)
        if self._waiting > min(2 * capacity(f.k), WAITING // max(f.k, 1)):
            self.sample()

    def sample(self) -> Sample:
        """The sample of everything added; at least one part."""
        new = concatenate(self._parts) if self._parts else None
        if self._made is not None and new is not None:
            new = self._unknown(self._made, new)
        if new is not None:
            rows = new if self._made is None else concatenate([self._made.rows, new])
            self._made = _thin(rows, hash_rows(rows), self._complete)
            self._hashes, self._prints = hash_rows(self._made.rows), _fingerprint(self._made.rows)
            if len(self._hashes) >= capacity(rows.k):
                self.limit = self._hashes[-1]
        assert self._made is not None
        self._parts, self._waiting = [], 0
        self._made = replace(self._made, complete=self._made.complete and self._complete)
        return self._made

    def _unknown(self, made: Sample, new: Forecasts) -> Forecasts | None:
        """The new rows that the sample does not have; the others are counted there, which spares sorting them in."""
        old = made.rows
        if (
            not len(old)
            or old.weights is not None
            or new.weights is not None
            or old.counts is None
            or new.counts is None
        ):
            return new
        h = hash_rows(new)
        order = np.argsort(h)  # neighbours are looked up one after another
        at = np.minimum(np.searchsorted(self._hashes, h[order]), len(old) - 1)
        same = (self._hashes[at] == h[order]) & (self._prints[at] == _fingerprint(new)[order])
        counts = old.counts.copy()
        more, first = np.unique(at[same], return_index=True)
        counts[more] += np.add.reduceat(new.counts[order[same]], first) if len(more) else 0
        self._made = replace(made, rows=replace(old, counts=counts))
        return None if same.all() else take(new, order[~same])


def sample(f: Forecasts) -> Sample:
    """The sample of all rows of f."""
    return _thin(_plain(f), hash_rows(f), complete=True)


def join(*samples: Sample) -> Sample:
    """The sample of the rows behind all."""
    growing = Growing()
    for one in samples:
        growing.add(one.rows, one.complete)
    return growing.sample()


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
    if len(f) > 2 * most:
        # A first cut by hash alone; equal rows share their hash, so no row loses part of its count.
        limit = _limit(h, most)
        if limit is not None:
            kept = np.flatnonzero(h <= limit)
            complete &= len(kept) == len(h)
            f, h = take(f, kept), h[kept]
    order, new = _distinct(f, h)
    first = np.flatnonzero(new)
    assert f.counts is not None
    counts = np.add.reduceat(f.counts[order], first) if len(first) else f.counts[:0]
    thin = replace(take(f, order[first[:most]]), counts=counts[:most])
    return Sample(thin, complete and len(first) <= most)


def _enough(count: int, rows: int) -> np.uint64:
    """A hash up to which there should be half as many again as `count`: they are spread evenly."""
    return np.uint64(2.0**63 * min(1.0, 3.0 * count / rows))


def _near(f: Forecasts, limit: np.uint64 | None) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Rows whose hash is at most `limit`, and these hashes; block by block, as most are soon forgotten."""
    found = []
    for start in range(0, len(f), BLOCK):
        h = hash_rows(take(f, slice(start, start + BLOCK)))
        at = np.arange(len(h)) if limit is None else np.flatnonzero(h <= limit)
        found.append((at + start, h[at]))
    rows, hashes = zip(*found, strict=True)
    return np.concatenate(rows), np.concatenate(hashes)


def _smallest(h: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
    """The smallest hashes in order, at least `count` of them."""
    near = h[h <= _enough(count, len(h))]
    return np.sort(near if len(near) >= count else h)


def _limit(h: NDArray[np.uint64], most: int) -> np.uint64 | None:
    """The hash up to which there are `most` distinct ones; None where there are fewer."""
    for values in (_smallest(h, most + 1), h):
        distinct = _sorted_values(values)
        if len(distinct) >= most:
            return np.uint64(distinct[most - 1])
    return None


def _sorted_values(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The distinct values; np.unique hashes them first, which takes longer."""
    h = np.sort(h)
    distinct: NDArray[np.uint64] = h[np.concatenate([[True], h[1:] != h[:-1]])]
    return distinct


def _distinct(f: Forecasts, h: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Rows in the order of (hash, fingerprint), and which of them differ from the one before."""
    order = np.argsort(h)
    new = np.ones(len(h), dtype=bool)
    new[1:] = h[order][1:] != h[order][:-1]
    tied = ~new
    tied[:-1] |= ~new[1:]
    if tied.any():  # few in continuous forecasts: only these are looked at whole
        rows = order[tied]
        full = _fingerprint(take(f, rows))
        again = np.lexsort([full, h[rows]])
        full, shared = full[again], h[rows][again]
        order[tied] = rows[again]
        differs = np.ones(len(rows), dtype=bool)
        differs[1:] = (shared[1:] != shared[:-1]) | (full[1:] != full[:-1])
        new[tied] = differs
    return order, new


def _fingerprint(f: Forecasts) -> NDArray[np.uint64]:
    """64 bits from everything in a row; with its hash, rows that agree in both are taken as equal."""
    p = f.probabilities
    columns = [] if p is None else [p] if p.ndim == 1 else list(p.T)
    columns += [values for values in (f.outcomes, f.log_realised, f.weights) if values is not None]
    full = np.zeros(len(f), dtype=np.uint64)
    for column in columns:
        full = mix((full * MULTIPLY) ^ (column.astype(np.float64) + 0.0).view(np.uint64))
    return full
