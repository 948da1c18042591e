"""The check of a tally that was read: whether a pass over forecasts can have written it.

Errors are `Damaged` with a few words; the reader of the bytes adds where they came from.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from veracity.inputs import Forecasts, Names
from veracity.inputs.forecasts import COLUMNS
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.kernels.result import LOWEST, MANY, tolerance
from veracity.records.findings import Finding
from veracity.state.lowest_rows import Low
from veracity.state.plain_bytes import Damaged
from veracity.state.sums import Sums
from veracity.state.tally import Tally
from veracity.types import Array

MOST = 1 << 62  # a count beyond which sums of counts would leave 64 bits
NEAR = 1e-6  # of sums of many floats, whose last digits depend on their order
KINDS: dict[str, Any] = {"outcomes": np.int64, "counts": np.int64, "case": np.uint64, "clusters": np.uint64} | {
    "offered": np.bool_
}
PLACED = ("probabilities", "ideal", "offered")  # columns that may have an entry for each class


def check(tally: Tally, cells: Grid) -> None:
    """Raise `Damaged` for a state that no pass can have written."""
    _require(len(set(map(repr, tally.classes))) == tally.k, "classes")
    _check_sums(tally.sums, tally.k)
    histograms = (tally.pooled, tally.top, *tally.classwise)
    _require(len(tally.classwise) in (0, tally.k), "the number of histograms")
    for i, h in enumerate(histograms):
        edges = cells.nested_edges if i > 1 and tally.k > MANY else cells.edges
        _check_histogram(h, edges, tally.sums.rows * (max(tally.k, 1) if i == 0 else 1))
    _check_totals(tally)
    _check_rows(tally.analysis.rows, tally.analysis.complete, tally.sums.rows, tally.k)
    hash_limit = tally.analysis.hash_limit
    _require(hash_limit is None or (0 <= hash_limit < 1 << 64 and not tally.complete), "the smallest hash left out")
    most = tally.sums.weight * (1 + NEAR)
    lowest = tally.lowest
    _require(len(lowest) <= LOWEST and all(_is_low(low, tally.k, most) for low in lowest), "the lowest rows")
    _check_names(tally.names)
    counted = tally.pooled.cells[tally.pooled.true > 0]
    _require(np.isin(cells.locate(np.array([low.p for low in tally.lowest])), counted).all(), "the lowest rows")
    _require(0 <= tally.cases <= tally.sums.rows, "the number of cases")


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise Damaged(what)


def _check_sums(sums: Sums, k: int) -> None:
    numbers = (sums.rows, sums.zeros)
    _require(all(type(x) is int for x in numbers) and 0 <= sums.zeros <= sums.rows < MOST, "the number of rows")
    weights = (sums.weight, sums.weight2)
    _require(all(isinstance(x, (int, float)) and np.isfinite(x) and x >= 0 for x in weights), "the sums of weights")
    for name, wanted in vars(Sums.zero(k)).items():
        if not isinstance(wanted, np.ndarray):
            continue
        array = getattr(sums, name)
        _require(isinstance(array, np.ndarray) and array.dtype == np.float64 and array.shape == wanted.shape, name)
        _require(not np.isnan(array).any() and not np.isposinf(array).any(), name)
        _require(name == "log_tiny" or np.isfinite(array).all(), name)
    _require(
        (sums.by_class[:, :2] >= 0).all() and (sums.column >= 0).all() and (sums.powers >= 0).all(), "sums below 0"
    )
    _require(_near(sums.by_class[:, 0].sum(), sums.weight) or not sums.by_class.any(), "the weights of the classes")


def _near(value: float, wanted: float) -> bool:
    return abs(float(value) - wanted) <= NEAR * abs(wanted) + NEAR


def _check_histogram(h: Histogram, edges: Array, most: int) -> None:
    for f in fields(Histogram):
        values = getattr(h, f.name)
        if values is None:
            _require(f.name not in ("cells", "all", "true", "all_sum"), f"a histogram without {f.name}")
            continue
        kind = {"cells": np.int32, "all": np.int64, "true": np.int64}.get(f.name, np.float64)
        good = isinstance(values, np.ndarray) and values.dtype == kind and values.shape == np.shape(h.cells)
        _require(good and values.ndim == 1 and np.isfinite(values).all(), f"{f.name} of a histogram")
        _require(f.name == "true_log" or (values >= 0).all(), f"{f.name} of a histogram below 0")
    if not len(h.cells):
        return
    _require(h.cells[-1] < len(edges) and (np.diff(h.cells) > 0).all(), "cells out of order or range")
    _require((h.true <= h.all).all() and h.all.max() < MOST and h.all.sum(dtype=float) <= most * (1 + NEAR), "counts")
    mass = h.all if h.all_weight is None else h.all_weight
    _require((h.all_sum <= mass * (1 + NEAR) + NEAR).all(), "probabilities above 1")
    weights = [getattr(h, f"{which}_weight{power}") for which in ("all", "true") for power in ("", "2")]
    _require(all(w is None for w in weights) or all(w is not None for w in weights), "weights of a histogram")


def _check_totals(tally: Tally) -> None:
    rows = tally.sums.rows
    _require(_near(tally.pooled.true.sum(dtype=float), rows), "the number of outcomes")
    if tally.classwise:
        _require(_near(tally.top.all.sum(dtype=float), rows), "the number of picks")
        _require(_near(sum(float(h.true.sum(dtype=float)) for h in tally.classwise), rows), "outcomes of the classes")


def _check_rows(f: Forecasts, complete: bool, rows: int, k: int) -> None:
    p, y = f.probabilities, f.outcomes
    _require(p is not None or f.log_realised is not None, "analysis rows without forecasts")
    _require(p is None or y is not None, "analysis rows without outcomes")
    _require(not f.split or f.case is not None, "split outcomes without cases")
    forecasts = p if p is not None else f.log_realised
    _require(isinstance(forecasts, np.ndarray) and forecasts.ndim, "analysis rows")
    for name in COLUMNS:
        values = getattr(f, name)
        if values is None:
            continue
        kinds = (np.float32, np.float64) if name == "probabilities" else (KINDS.get(name, np.float64),)
        _require(isinstance(values, np.ndarray) and values.dtype in kinds, f"{name} of rows")
        wide = name == "features" or (name in PLACED and (k != 2 or values.ndim == 2))
        _require(values.shape[:1] == (len(f),) and values.ndim == 1 + wide, f"the shape of {name}")
        _require(name not in PLACED or not wide or values.shape[1] == k, f"the shape of {name}")
        _require(name in ("log_realised", "features") or np.isfinite(values).all(), f"{name} of rows")
    allowed = max(tolerance(np.dtype(kind), k) for kind in (np.float16, np.float32))
    for name in ("probabilities", "ideal"):
        values = getattr(f, name)
        if values is not None and len(f):
            _require(values.min() >= 0 and values.max() <= 1, f"{name} outside 0 to 1")
            _require(
                values.ndim == 1 or (np.abs(values.sum(axis=1, dtype=np.float64) - 1) <= allowed).all(),
                f"sums of {name}",
            )
    _require(y is None or not len(f) or (y.min() >= 0 and y.max() < k), "outcomes that are not classes")
    _require(f.log_realised is None or (f.log_realised <= 0).all(), "probabilities above 1")
    _require(f.weights is None or (f.weights >= 0).all(), "negative weights")
    counts = f.counts
    _require(counts is not None and (counts > 0).all() and (counts < MOST).all(), "counts of rows")
    assert counts is not None
    held_rows = counts.sum(dtype=float)
    _require(held_rows <= rows * (1 + NEAR) and (not complete or _near(held_rows, rows)), "the number of rows")


def check_finding(finding: Finding) -> None:
    """Raise `Damaged` for fields that no finding of this kind has."""
    numbers = (finding.count, finding.total, *finding.rows)
    _require(all(type(x) is int and abs(x) < MOST for x in numbers), "the numbers of a finding")
    kinds = get_type_hints(type(finding))
    _require(all(_fits(value, kinds[name]) for name, value in vars(finding).items()), f"the fields of {finding.code}")


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a value has the type of its field."""
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and all(_fits(one, get_args(kind)[0]) for one in value)
    if get_args(kind):  # a union
        return any(_fits(value, one) for one in get_args(kind))
    return isinstance(value, (int, float) if kind is float else kind)


def _check_names(names: Names) -> None:
    texts = (names.style, names.outcome, names.forecast, names.weight, names.count, names.file, *names.columns)
    _require(all(isinstance(text, str) for text in texts) and isinstance(names.whole, bool), "names")


def _is_low(low: Low, k: int, most: float) -> bool:
    places = -1 <= low.outcome < max(k, 1) and 0 <= low.cases < MOST and abs(low.row) < 1 << 63
    return bool(0.0 <= low.p <= 1.0 and places and 0.0 < low.weight <= most and isinstance(low.case, str))
