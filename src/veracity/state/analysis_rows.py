"""The analysis rows: the rows that maps, tests and resampling work on after the pass.

They are the same in memory, in parts and on a cluster: the rows whose *forecast* has the smallest hash, equal rows as
one row with a count, in the order of (hash, content). The hash never sees the outcome, so a sample is as calibrated as
the whole. Rows are copied: nothing here refers to the caller's arrays. Two classes in more rows than fit are not
sampled: cells of the grid hold every row (`Tally.rows`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.inputs import Forecasts
from veracity.inputs.arguments import keys_of
from veracity.inputs.content import cluster_numbers
from veracity.inputs.names import Names
from veracity.kernels.hashes import SEED, forecast_hashes, mix

Hashes = NDArray[np.uint64]

MOST_ROWS = 1 << 17
MOST_ENTRIES = 4_000_000
# Columns that distinguish rows, besides the forecast and the outcome.
CONTENT = ("log_realised", "ideal", "features", "case", "clusters", "time", "offered")


@dataclass(frozen=True, eq=False)
class AnalysisRows:
    """Distinct rows with counts. `complete`: no row was left out; `hash_limit`: the smallest hash that was left out."""

    rows: Forecasts
    complete: bool
    hash_limit: int | None = None


def capacity(k: int) -> int:
    """Return the largest number of analysis rows of k classes."""
    return max(1, min(MOST_ROWS, MOST_ENTRIES // max(k, 1)))


def analysis_rows(f: Forecasts, h: Hashes | None = None) -> AnalysisRows:
    """Return the analysis rows of one part; h are the hashes of its forecasts, where they are known."""
    growing = RunningRows()
    growing.add(f, h=h)
    return growing.rows()


class RunningRows:
    """The analysis rows of parts that arrive one after another; late in a stream the hash alone excludes most rows."""

    def __init__(self) -> None:
        self._parts: list[Forecasts] = []
        self._hashes: list[Hashes] = []
        self._waiting, self._cases, self._complete = 0, 0, True
        self._hash_limit: int | None = None  # forecasts with this or a larger hash can no longer be analysis rows

    def add(self, f: Forecasts, complete: bool = True, h: Hashes | None = None, hash_limit: int | None = None) -> None:
        """Add rows; `complete` says that they are all rows of their part, h their hashes where they are known.

        hash_limit  the smallest hash that the part left out: larger ones are no longer complete.
        """
        self._complete &= complete
        self._leave_out(hash_limit)
        self._cases += len(f) if f.counts is None else int(f.counts.sum())
        if fits_binary_histogram(f) and (self._cases > MOST_ROWS or not self._complete):
            self._complete = False  # cells of the grid serve
            f, h = f.take(slice(0)), None
            self._parts, self._hashes, self._waiting = [], [], 0
        h = hashes(f) if h is None else h
        order, hash_limit = _nearest(h, capacity(f.k), self._hash_limit)
        self._leave_out(hash_limit)
        self._complete &= len(order) == len(f)
        self._parts.append(_copied(f, order))
        self._hashes.append(h[order])
        self._waiting += len(order)
        if self._waiting > 2 * capacity(f.k):
            self._settle()

    def _leave_out(self, hash_limit: int | None) -> None:
        if hash_limit is not None:
            self._hash_limit = hash_limit if self._hash_limit is None else min(hash_limit, self._hash_limit)

    def _settle(self) -> None:
        """Sort, merge equal rows, and cut at whole forecasts."""
        f, h = self._parts[0], self._hashes[0]
        if len(self._parts) > 1:
            split = any(part.split for part in self._parts)
            f = Forecasts.concat([_with_cases(part) for part in self._parts] if split else self._parts)
            h = np.concatenate(self._hashes)
            order = _order(h)
            f, h = f.take(order), h[order]
        if (h[1:] == h[:-1]).any():
            order, first = _distinct(f, h)
            assert f.counts is not None
            f, h = replace(f.take(order[first]), counts=np.add.reduceat(f.counts[order], first)), h[first]
        most = capacity(f.k)
        end = len(h) if self._hash_limit is None else int(np.searchsorted(h, np.uint64(self._hash_limit)))
        if end > most:
            end = int(np.searchsorted(h, h[most]))  # forecasts with all their outcomes, at least one of them
            end = end if end else int(np.searchsorted(h, h[0], "right"))
        if end < len(h):
            self._complete = False
            self._leave_out(int(h[end]))
            f, h = f.take(slice(end)), h[:end]
        self._parts, self._hashes = [replace(f, rows=None)], [h]
        self._waiting = 0

    def rows(self) -> AnalysisRows:
        """Return the analysis rows of everything added, at least one part."""
        self._settle()
        return AnalysisRows(self._parts[0], self._complete, self._hash_limit)


def fits_binary_histogram(f: Forecasts) -> bool:
    """Return whether the cells of the grid hold everything about these forecasts of two classes."""
    return f.k == 2 and f.probabilities is not None and all(getattr(f, name) is None for name in ("weights", *CONTENT))


def hashes(f: Forecasts) -> Hashes:
    """Return 64 bits for each forecast, the same for equal forecasts in any order of classes."""
    values = f.log_realised if f.probabilities is None else f.probabilities
    assert values is not None
    return forecast_hashes(values)


def _copied(f: Forecasts, order: NDArray[Any]) -> Forecasts:
    """Return these rows, with counts, sharing no memory with the input; probabilities keep their precision."""

    def taken(values: Any, kind: Any = None) -> Any:
        if values is None:
            return None
        chosen = values.take(order, axis=0) if values.flags.c_contiguous else values[order]  # take would copy all
        return np.ascontiguousarray(chosen, dtype=kind)

    columns: dict[str, Any] = {name: taken(getattr(f, name)) for name in ("weights", *CONTENT)}
    if f.features is not None:
        columns["features"] = _numbered(columns["features"])
    split = f.split and f.case is not None
    if f.case is not None and not split:
        columns["case"] = keys_of(columns["case"])
    p = f.probabilities
    p = f.matrix if p is not None and p.ndim == 1 and f.log_realised is not None else p
    p = taken(p, np.float32 if p is not None and p.dtype == np.float32 else np.float64)
    if p is not None:
        p += p.dtype.type(0.0)  # −0 is 0
    rows = Forecasts(
        p,
        taken(f.outcomes, np.int64),
        f.classes,
        counts=np.ones(len(order), np.int64) if f.counts is None else taken(f.counts, np.int64),
        picks_only=f.picks_only,
        shares_only=f.shares_only,
        half=f.half,
        split=split,
        names=Names(),
        **columns,
    )
    return _with_cases(rows, f.numbers[order]) if split and columns["case"].dtype != np.uint64 else rows


def _with_cases(f: Forecasts, numbers: NDArray[Any] | None = None) -> Forecasts:
    """Return rows of split outcomes with the keys of their cases: the number of the row, and what it holds.

    Rows of two parts with one number and one content have one key, and count as copies of one case. Rows of parts in
    which no outcome was split have no such number: each is a case.
    """
    if f.split and numbers is None:
        return f
    f = replace(f, split=True)
    content = mix(_content(f) ^ np.asarray(1.0 if f.weights is None else f.weights, dtype=np.float64).view(np.uint64))
    if numbers is None:
        return replace(f, case=content)
    number, at = np.unique(numbers, return_inverse=True)
    case = mix(mix(number.astype(np.uint64)) * SEED)
    np.add.at(case, at.ravel(), content)
    return replace(f, case=case[at.ravel()])


def split_copies(f: Forecasts) -> Forecasts:
    """Return the analysis rows of split outcomes with new keys, which tell what a case holds and not where it was.

    Copies of a case become cases by themselves, unless they are more than there may be analysis rows.
    """
    if not f.split or not len(f):
        return f
    columns = [hashes(f), _content(f), *([] if f.weights is None else [f.weights])]
    place = np.cumsum(np.append(True, np.any([c[1:] != c[:-1] for c in columns], axis=0)))  # rows are ordered by them
    copies = f.copies if f.copies.sum() <= capacity(f.k) else np.ones(len(f), np.int64)
    _, first, case = np.unique(f.case, return_index=True, return_inverse=True)  # type: ignore[call-overload]
    whole = np.zeros(len(first), np.uint64)
    np.add.at(whole, case.ravel(), mix(mix(place.astype(np.uint64) * SEED) * SEED))
    before = count_before(whole, copies[first])
    row = np.repeat(np.arange(len(f)), copies)
    copy = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    at = case.ravel()[row]
    key = mix(mix(whole[at] + (before[at] + copy).astype(np.uint64) * SEED) * SEED)
    order = np.lexsort((key, place[row]))
    apart = f.take(row[order])
    counts = apart.copies // copies[row[order]]
    return replace(apart, case=key[order], counts=counts, rows=None)


def in_order(f: Forecasts) -> Forecasts:
    """Return the analysis rows with those of one forecast in an order that no name of a class or cluster decides."""
    h = hashes(f)
    if f.outcomes is None or f.probabilities is None or not (h[1:] == h[:-1]).any():
        return f
    key = f.row_hashes
    keys = [key, h] if f.time is None else [f.time, key, h]
    keys = keys if f.clusters is None else [cluster_numbers(f.clusters, key, f.copies), *keys]
    return replace(f.take(np.lexsort(keys)), rows=None)


def count_before(key: Hashes, counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return (n,) how many cases with the same key come before each row."""
    order = np.argsort(key, kind="stable")
    sums = np.cumsum(counts[order]) - counts[order]
    new = np.concatenate([[True], key[order][1:] != key[order][:-1]])[: len(key)]
    out = np.empty(len(key), np.int64)
    out[order] = sums - np.maximum.accumulate(np.where(new, sums, 0))
    return out


def _numbered(features: NDArray[Any]) -> NDArray[np.float64]:
    """Return (n, features) as numbers: text by its 64-bit keys."""
    columns = features.reshape(len(features), -1).T
    numbers = [c.astype(float) if c.dtype.kind in "fiub" else keys_of(c).astype(np.float64) for c in columns]
    return np.column_stack(numbers)


def _nearest(h: Hashes, most: int, hash_limit: int | None) -> tuple[NDArray[np.int64], int | None]:
    """Return the rows with hashes below `hash_limit`, or else those of the `most` forecasts with the smallest hashes.

    By ascending hash, with the smallest hash that is left out. Hashes are spread evenly, so not all need to be sorted.
    """
    if hash_limit is not None:
        near = np.flatnonzero(h < np.uint64(hash_limit))
        return near[_order(h[near])], hash_limit
    share = 1.05 * most / max(len(h), 1)  # rows of different forecasts: seldom fewer than `most`
    while share < 0.9:
        near = np.flatnonzero(h <= np.uint64(share * 2.0**64))
        near = near[_order(h[near])]
        ordered = h[near]
        different = np.flatnonzero(ordered[1:] != ordered[:-1])
        if len(different) >= most:  # the last of each but the last forecast
            end = different[most - 1] + 1
            return near[:end], int(ordered[end])
        share *= 4.0
    return _order(h), None


def _order(h: Hashes) -> NDArray[np.int64]:
    """Return the rows by ascending hash: by leading bits, counted, and then hardly any move."""
    below = np.uint64(max(int(h.max(initial=0)).bit_length() - 16, 0))
    order = np.argsort((h >> below).astype(np.uint16), kind="stable")
    return order[np.argsort(h[order], kind="stable")]


def _distinct(f: Forecasts, h: Hashes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order by (hash, content) of rows sorted by hash, and where in it a row differs from the one before."""
    order, new = np.arange(len(h)), np.ones(len(h), dtype=bool)
    new[1:] = h[1:] != h[:-1]
    tied = ~new
    tied[:-1] |= ~new[1:]  # few in continuous forecasts: only these are compared whole
    rows = order[tied]
    keys = [_content(f.take(rows)), h[rows]]
    if f.weights is not None:
        keys.insert(0, f.weights[rows])  # by size and not by hash: weights have no scale
    if f.split:
        keys.insert(0, np.asarray(f.case)[rows])  # last: it depends on the number of the row
    again = np.lexsort(keys)
    order[tied] = rows[again]
    new[tied] = np.append(True, np.any([key[again][1:] != key[again][:-1] for key in keys], axis=0))
    return order, np.flatnonzero(new)


def _content(f: Forecasts) -> Hashes:
    """Return 64 bits from everything a row holds but its weight; classes count by their names, not by their columns.

    Row numbers, which are the cases of split outcomes, are not content.
    """
    columns: list[NDArray[Any]] = []
    names = keys_of(np.array([str(c) for c in f.classes])) if f.classes else np.empty(0, np.uint64)
    if f.probabilities is not None and f.probabilities.ndim == 2:
        columns.append(_named_hash(f.probabilities, names))
    if f.outcomes is not None:
        columns += [names[f.outcomes], f.realised]
    for name in CONTENT:
        values = None if name == "case" and f.split else getattr(f, name)
        if values is not None and values.ndim == 2 and name in ("ideal", "offered"):
            columns.append(_named_hash(values, names))
        elif values is not None:
            columns += [values] if values.ndim == 1 else list(values.T)
    full = hashes(f)
    for column in columns:
        bits = column if column.dtype == np.uint64 else (column.astype(np.float64) + 0.0).view(np.uint64)
        full = mix(full * SEED ^ bits)
    return full


def _named_hash(p: NDArray[Any], names: Hashes) -> Hashes:
    """Return 64 bits from which class has which probability, whatever the order of the classes."""
    total = np.zeros(len(p), dtype=np.uint64)
    for column, name in zip(p.T, names, strict=True):
        total += mix(mix((column.astype(np.float64) + 0.0).view(np.uint64) * SEED ^ name))
    return total
