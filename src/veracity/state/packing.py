"""Tallies as bytes: a line of JSON and the arrays, with a checksum. No code is stored; reading checks everything."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from math import prod
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from veracity.data import Finding, Forecasts, Names
from veracity.data.types import COLUMNS
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.state.checks import Damaged, check
from veracity.state.keyed import SCORES, KeyedScores, KeyedSums
from veracity.state.plan import Plan
from veracity.state.rows import AnalysisRows
from veracity.state.sums import Sums
from veracity.state.tally import Low, Tally, grid_of

MAGIC, VERSION = b"veracity tally\n", 3
STORED = ("<f8", "<f4", "<i8", "<i4", "<u8", "|b1")  # kinds of numbers
DAMAGED = "data: the tally is damaged ({}); make it again"


def pack(tally: Tally) -> bytes:
    """Return the bytes of a tally."""
    arrays: list[NDArray[Any]] = []
    head = json.dumps({"version": VERSION, **_state(tally, arrays)}).encode()
    body = len(head).to_bytes(8, "little") + head + b"".join(array.tobytes() for array in arrays)
    return MAGIC + crc32(body).to_bytes(4, "little") + body


def _state(tally: Tally, arrays: list[NDArray[Any]]) -> dict[str, Any]:
    def put(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(np.ascontiguousarray(value))
            return {"dtype": value.dtype.str, "shape": list(value.shape)}
        return value

    rows = tally.analysis.rows
    return {
        "grid": fingerprint(tally.grid),
        "plan": asdict(tally.plan),
        "classes": [c.item() if isinstance(c, np.generic) else c for c in tally.classes],
        "sums": {f.name: put(getattr(tally.sums, f.name)) for f in fields(Sums)},
        "histograms": [
            {f.name: put(getattr(h, f.name)) for f in fields(Histogram)}
            for h in (tally.pooled, tally.top, *tally.classwise)
        ],
        "lowest": tally.lowest,
        "findings": [asdict(f) for f in tally.findings],
        "cases": tally.cases,
        "complete": tally.analysis.complete,
        "rows": {name: put(getattr(rows, name)) for name in COLUMNS},
        "names": asdict(tally.names),
        "flags": [tally.picks_only, tally.shares_only],
        "by_key": None if tally.by_key is None else _stored(tally.by_key, put),
        "groups": {c: {v: _state(t, arrays) for v, t in levels.items()} for c, levels in tally.groups.items()},
    }


def unpack(data: bytes) -> Tally:
    """Return the tally of these bytes; whatever else is given is a ValueError."""
    at = len(MAGIC)
    if data[:at] != MAGIC:
        raise ValueError("data: these bytes are not a tally; give what Tally.to_bytes() returned")
    body = data[at + 4 :]
    if crc32(body) != int.from_bytes(data[at : at + 4], "little"):
        raise ValueError(DAMAGED.format("checksum differs"))
    size = int.from_bytes(body[:8], "little")
    try:
        state = json.loads(body[8 : 8 + size])
        if state["version"] != VERSION:
            raise ValueError(f"data: tally version {state['version']}, this program reads {VERSION}; make it again")
        return _tally(state, _Arrays(body, 8 + size))
    except Damaged as problem:
        raise ValueError(DAMAGED.format(problem)) from None
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as problem:
        raise ValueError(DAMAGED.format(f"{type(problem).__name__} {problem}")) from None


class _Arrays:
    """Arrays in the order in which they were written."""

    def __init__(self, body: bytes, offset: int) -> None:
        self._body, self._offset = body, offset

    def get(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        shape = value["shape"]
        if value["dtype"] not in STORED or len(shape) > 2 or not all(type(n) is int and n >= 0 for n in shape):
            raise Damaged(f"an array of {value['dtype']!r} with shape {shape!r}")
        dtype, size = np.dtype(value["dtype"]), prod(shape)
        if size * dtype.itemsize > len(self._body) - self._offset:
            raise Damaged("cut short")
        array = np.frombuffer(self._body, dtype, size, self._offset).reshape(shape)
        self._offset += size * dtype.itemsize
        return array if array.flags.aligned else array.copy()  # C needs aligned numbers


def _tally(state: dict[str, Any], arrays: _Arrays) -> Tally:
    plan, classes = Plan(**state["plan"]), tuple(state["classes"])
    cells = grid_of(plan, len(classes))
    if state["grid"] != fingerprint(cells):
        raise ValueError("data: the tally was counted on another grid, by another version; make it again")
    sums = Sums(**{name: arrays.get(value) for name, value in state["sums"].items()})
    histograms = [Histogram(**{name: arrays.get(value) for name, value in h.items()}) for h in state["histograms"]]
    names = {**state["names"], "columns": tuple(state["names"]["columns"])}
    rows = {name: arrays.get(state["rows"][name]) for name in COLUMNS}
    picks_only, shares_only = (bool(flag) for flag in state["flags"])
    tally = Tally(
        plan=plan,
        classes=classes,
        sums=sums,
        pooled=histograms[0],
        top=histograms[1],
        classwise=tuple(histograms[2:]),
        lowest=tuple(Low(float(p), int(i), int(y), int(n), float(w)) for p, i, y, n, w in state["lowest"]),
        findings=tuple(stored_finding(f) for f in state["findings"]),
        cases=int(state["cases"]),
        analysis=AnalysisRows(
            Forecasts(classes=classes, picks_only=picks_only, shares_only=shares_only, **rows), bool(state["complete"])
        ),
        names=Names(**names),
        picks_only=picks_only,
        shares_only=shares_only,
        by_key=None if state["by_key"] is None else _keyed(state["by_key"], arrays),
        groups={c: {v: _tally(t, arrays) for v, t in levels.items()} for c, levels in state["groups"].items()},
    )
    check(tally, cells)
    return tally


def fingerprint(cells: Grid) -> int:
    """Return a number that differs between grids: tallies add only on the same cells."""
    return crc32(cells.nested_edges.tobytes(), crc32(cells.edges.tobytes()))


def stored_finding(stored: dict[str, Any]) -> Finding:
    """Return the finding from the plain values of `asdict`."""
    details = tuple((name, value) for name, value in stored.get("details", ()))
    return Finding(**{**stored, "rows": tuple(stored["rows"]), "details": details})


def _stored(scores: KeyedScores, put: Any) -> dict[str, Any]:
    sums = {f.name: put(getattr(scores.sums, f.name)) for f in fields(KeyedSums)}
    return {"sums": sums, "weight2": scores.weight2, "plain": put(scores.plain)}


def _keyed(state: dict[str, Any], arrays: _Arrays) -> KeyedScores:
    sums = KeyedSums(**{name: arrays.get(value) for name, value in state["sums"].items()})
    found = KeyedScores(sums, float(state["weight2"]), arrays.get(state["plain"]))
    if any(len(x) != len(sums.keys) for x in (sums.cases, sums.weight, sums.values)) or len(found.plain) != len(SCORES):
        raise ValueError(DAMAGED.format("sums by key of several lengths"))
    return found
