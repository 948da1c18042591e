"""Tallies as bytes: a line of JSON and the arrays, with a checksum. No code is stored; reading checks everything."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from veracity.data import Finding, Forecasts, Names
from veracity.data.types import COLUMNS
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.state.plan import Plan
from veracity.state.rows import AnalysisRows
from veracity.state.sums import Sums
from veracity.state.tally import Low, Tally, grid_of

MAGIC, VERSION = b"veracity tally\n", 2
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
        "groups": {c: {v: _state(t, arrays) for v, t in levels.items()} for c, levels in tally.groups.items()},
    }


def unpack(data: bytes) -> Tally:
    """Return the tally of these bytes; whatever else is given is a ValueError."""
    at = len(MAGIC)
    if data[:at] != MAGIC:
        raise ValueError("data: these bytes are no tally; give what Tally.to_bytes() returned")
    body = data[at + 4 :]
    if crc32(body) != int.from_bytes(data[at : at + 4], "little"):
        raise ValueError(DAMAGED.format("checksum differs"))
    size = int.from_bytes(body[:8], "little")
    try:
        state = json.loads(body[8 : 8 + size])
        if state["version"] != VERSION:
            raise ValueError(f"data: tally version {state['version']}, this program reads {VERSION}; make it again")
        return _tally(state, _Arrays(body, 8 + size))
    except (KeyError, TypeError, IndexError, AttributeError) as problem:
        raise ValueError(DAMAGED.format(f"{type(problem).__name__} {problem}")) from None


class _Arrays:
    """Arrays in the order in which they were written."""

    def __init__(self, body: bytes, offset: int) -> None:
        self._body, self._offset = body, offset

    def get(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        dtype = np.dtype(value["dtype"])
        size = int(np.prod(value["shape"]))
        if dtype.kind not in "biuf" or size < 0:
            raise ValueError(DAMAGED.format(f"an array of {dtype}"))
        array = np.frombuffer(self._body, dtype, size, self._offset).reshape(value["shape"])
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
    rows = {name: arrays.get(value) for name, value in state["rows"].items()}
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
        groups={c: {v: _tally(t, arrays) for v, t in levels.items()} for c, levels in state["groups"].items()},
    )
    _check(tally, cells)
    return tally


def _check(tally: Tally, cells: Grid) -> None:
    """Refuse a state that no pass can have written."""
    sums, k = tally.sums, tally.k
    shapes = {name: getattr(Sums.zero(k), name).shape for name in ("score", "by_class", "column", "powers", "log_tiny")}
    wrong = [name for name, shape in shapes.items() if getattr(sums, name).shape != shape]
    if wrong or not (sums.rows >= 0 and sums.zeros >= 0 and np.isfinite([sums.weight, sums.weight2]).all()):
        raise ValueError(DAMAGED.format(f"sums {', '.join(wrong) or 'below zero'}"))
    for i, h in enumerate((tally.pooled, tally.top, *tally.classwise)):
        size = len(cells.nested_edges) if i > 1 and k > 50 else len(cells)
        arrays = [value for f in fields(Histogram) if (value := getattr(h, f.name)) is not None]
        if any(a.shape != h.cells.shape or a.ndim != 1 for a in arrays) or h.cells.dtype != np.int32:
            raise ValueError(DAMAGED.format("a histogram of several shapes"))
        if len(h.cells) and (h.cells[0] < 0 or h.cells[-1] >= size or (np.diff(h.cells) <= 0).any()):
            raise ValueError(DAMAGED.format("cells out of order or range"))
        if (h.all < 0).any() or (h.true < 0).any() or (h.true > h.all).any():
            raise ValueError(DAMAGED.format("negative counts"))
    f = tally.analysis.rows
    if any(len(values) != len(f) for name in COLUMNS if (values := getattr(f, name)) is not None):
        raise ValueError(DAMAGED.format("rows of several lengths"))
    if f.outcomes is not None and len(f) and not (f.outcomes.min() >= 0 and f.outcomes.max() < k):
        raise ValueError(DAMAGED.format("outcomes that are no classes"))
    if f.counts is not None and (f.counts < 0).any():
        raise ValueError(DAMAGED.format("negative counts"))


def fingerprint(cells: Grid) -> int:
    """Return a number that differs between grids: tallies add only on the same cells."""
    return crc32(cells.nested_edges.tobytes(), crc32(cells.edges.tobytes()))


def stored_finding(stored: dict[str, Any]) -> Finding:
    """Return the finding from the plain values of `asdict`."""
    details = tuple((name, value) for name, value in stored.get("details", ()))
    return Finding(**{**stored, "rows": tuple(stored["rows"]), "details": details})
