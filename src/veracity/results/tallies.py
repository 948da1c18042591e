"""Tallies as files: parts, days and sites that are merged later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

import numpy as np

from veracity.inputs import Forecasts
from veracity.inputs.names import first_line
from veracity.state.packing import KIND
from veracity.state.plain_bytes import Damaged, dumps_checked, loads_checked
from veracity.state.tally import Tally, total

RING = b"veracity ring 1\n"


def read_tally(path: str | Path) -> Tally:
    """Return the tally in a file."""
    data = Path(path).read_bytes()
    if not data.startswith(KIND):
        old = data.startswith(b"veracity tally ")
        kind = "a tally of another version of veracity: make it again" if old else "no tally"
        raise ValueError(f"{path}: this is {kind}\n  write one:  veracity assess FILE --tally OUT")
    try:
        return Tally.from_bytes(data)
    except ValueError as problem:
        raise ValueError(f"{path}: {problem}") from None


def merged(paths: Sequence[str | Path]) -> Tally:
    """Return the sum of the tallies in several files."""
    tallies = [read_tally(path) for path in paths]
    first: dict[bytes, str | Path] = {}
    for path, tally in zip(paths, tallies, strict=True):
        if first.setdefault(tally.to_bytes(), path) is not path:
            same = first[tally.to_bytes()]
            raise ValueError(f"{path} holds the same cases as {same}\n  give each part once")
    for path, tally in zip(paths[1:], tallies[1:], strict=True):
        try:
            total((tallies[0], tally))
        except ValueError as problem:
            raise ValueError(f"{paths[0]} and {path}: {problem}") from None
    return total(tallies)


def ring_after(ring: bytes | None, tallies: Sequence[bytes], slots: int) -> bytes:
    """Return the ring after further tallies, one slot each: the last `slots` of them; None begins one."""
    kept: list[bytes] = [] if ring is None else _slots(ring)
    for number, tally in enumerate(tallies):
        if tally in kept:
            raise ValueError(
                f"tally {number + 1} of {len(tallies)} is in the ring already\n"
                "  give each day once; or begin again without the ring"
            )
        kept.append(tally)
    return dumps_checked(RING, kept[-slots:])


def ring_total(ring: bytes) -> Tally:
    """Return the sum of the tallies in a ring."""
    return total(map(Tally.from_bytes, _slots(ring)))


def _slots(ring: bytes) -> list[bytes]:
    if not ring.startswith(RING):
        raise ValueError("this is no ring of tallies of this version\n  give another name")
    try:
        slots = loads_checked(RING, ring)
        if isinstance(slots, list) and slots and all(isinstance(slot, bytes) for slot in slots):
            return slots
        raise Damaged("no slots")
    except Damaged as problem:
        raise ValueError(f"the ring is damaged ({first_line(problem)})\n  delete it to begin again") from None


def same_cases(tallies: Mapping[str, Tally]) -> dict[str, Forecasts]:
    """Return the cases that all tallies hold, in one order; refuse tallies that do not hold their cases by id."""
    by_id = {name: _identified(name, tally) for name, tally in tallies.items()}
    keys = [np.asarray(f.case) for f in by_id.values()]
    common = reduce(np.intersect1d, keys)
    if not len(common):
        raise ValueError(f"no case is in all {len(by_id)} tallies\n  were they counted with the same ids?  --id COL")
    paired = {}
    for (name, f), own in zip(by_id.items(), keys, strict=True):
        order = np.argsort(own, kind="stable")
        rows = order[np.searchsorted(own, common, sorter=order)]
        paired[name] = replace(f.take(rows), case=None, rows=np.arange(len(common)))
    return paired


def _identified(name: str, tally: Tally) -> Forecasts:
    """Return every case of a tally with its key, once."""
    rows = tally.analysis.rows
    if not len(rows) or rows.case is None or rows.split:
        raise ValueError(
            f"{name}: this tally holds no cases by id, so it cannot be paired with another\n"
            "  count again with it:  veracity assess FILE --id COL --tally OUT\n"
            "  or compare the files:  veracity compare FILE FILE"
        )
    if not tally.complete:
        raise ValueError(
            f"{name}: this tally holds {len(rows):,} of its {tally.cases:,} cases, which are not those of another model"
            "\n  compare the files:  veracity compare FILE FILE"
        )
    if len(np.unique(rows.case)) < rows.copies.sum():
        raise ValueError(
            f"{name}: {tally.cases:,} cases have {len(np.unique(rows.case)):,} ids\n  count each case once, or name "
            "the columns that identify a case together:  --id A,B"
        )
    return rows.precise()
