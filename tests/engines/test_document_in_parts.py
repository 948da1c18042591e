"""One path: the whole document is equal in memory, in seven uneven parts, in any order, on Dask and on Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity import engines
from veracity.state.tally import Tally, total

# What an iterative fit gives: maps and calibration slopes stop when a step is small.
FITTED = ("losses", "remedies", "adjustment", "verdict_detail", "decomposed_profile", "corp")
# Rows have other numbers in another order or in parts.
ROWS = re.compile(r"\b[Rr]ows? [\d, …]+( of [\w.]+)?")
# Sections that list nothing by class, which an order of classes would move.
WITHOUT_CLASSES = (
    "scores", "skill", "reported", "expected", "measured", "measured_plain", "divergence", "slope", "verdict",
    "risk_profile", "floors", "decomposition", "losses", "calibration_error", "decomposed_profile", "bins", "remedies",
)  # fmt: skip
SIZES = [
    (2, 900),
    (10, 700),
    (60, 400),
    *(pytest.param(k, 140_000, marks=pytest.mark.slow) for k in (2, 10)),  # more rows than there are analysis rows
]


def forecasts(k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Over-confident forecasts, some of them repeated."""
    rng = np.random.default_rng(k + n)
    z = rng.normal(0.0, 1.2, (n, k))
    p, q = (np.exp(s - s.max(axis=1, keepdims=True)) for s in (1.6 * z, z))
    p, q = p / p.sum(axis=1, keepdims=True), q / q.sum(axis=1, keepdims=True)
    again = rng.integers(0, n, n // 10)
    p[: len(again)], q[: len(again)] = p[again], q[again]
    y = np.minimum((np.cumsum(q, axis=1) < rng.random((n, 1))).sum(axis=1), k - 1)
    return y, p


def document(a: vc.Assessment) -> dict[str, Any]:
    made = json.loads(a.to_json())
    for name in ("provenance", "model"):
        del made[name]
    for told in [*made["findings"], *made["surprises"]]:
        for name in ("rows", "row", "files", "file"):
            told.pop(name, None)
    return made


def same(a: Any, b: Any, at: str, bound: float = 1e-9) -> None:
    bound = 1e-6 if at.split(".")[0] in FITTED else bound
    if isinstance(a, dict):
        assert list(a) == list(b), at
        for name in a:
            same(a[name], b[name], f"{at}.{name}" if at else name, bound)
    elif isinstance(a, list):
        assert len(a) == len(b), at
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{at}[{i}]", bound)
    elif isinstance(a, float) or isinstance(b, float):
        assert a == pytest.approx(b, rel=bound, abs=bound), at
    elif isinstance(a, str):
        assert ROWS.sub("", a) == ROWS.sub("", b), at
    else:
        assert a == b, at


@pytest.mark.parametrize(("k", "n"), SIZES)
def test_document_is_equal_in_memory_in_parts_and_in_any_order(k: int, n: int) -> None:
    y, p = forecasts(k, n)
    labels = list(range(k))
    whole = document(vc.assess(y, p, labels=labels))
    cuts = np.split(np.arange(n), [3, n // 9, n // 9 + 1, n // 3, n // 2, n - 20])
    assert len(cuts) == 7
    parts = total(Tally.of(y[rows], p[rows], labels=labels) for rows in cuts)
    same(whole, document(vc.assess(parts)), "")
    order = np.random.default_rng(1).permutation(n)
    same(whole, document(vc.assess(y[order], p[order], labels=labels)), "")


@pytest.mark.parametrize(("k", "n"), [(10, 700), (60, 400)])
def test_numbers_are_equal_for_any_order_of_classes(k: int, n: int) -> None:
    y, p = forecasts(k, n)
    names = np.array([f"c{j:02}" for j in range(k)])
    order = np.random.default_rng(5).permutation(k)
    one, other = (document(vc.assess(names[y], p[:, at], labels=list(names[at]))) for at in (np.arange(k), order))
    for section in WITHOUT_CLASSES:
        same(one[section], other[section], section)


@pytest.mark.parametrize(("k", "n"), [*SIZES[:3], SIZES[-1]])
def test_document_of_files_is_equal_on_every_engine(engine: Any, tmp_path: Path, k: int, n: int) -> None:
    y, p = forecasts(k, n)
    columns = {f"p{j}": p[:, j] for j in range(k)}
    frame = pl.DataFrame({"label": y, **columns})
    for i, rows in enumerate(np.array_split(np.arange(n), 7)):
        frame[rows].write_parquet(tmp_path / f"part{i}.parquet")
    (made,) = engines.assess([str(tmp_path)], engine=engine.name, options=engine.options).values()
    (held,) = engines.assess(frame, engine="local").values() if engine.name == "local" else [None]
    memory = document(vc.assess(y, p, labels=[str(j) for j in range(k)] if made.classes[0] == "0" else list(range(k))))
    found = document(made)
    told = {finding["code"] for finding in memory["findings"]}
    found["findings"] = [finding for finding in found["findings"] if finding["code"] in told]  # about reading files
    same(memory, found, "")
    assert held is None or held.verdict == made.verdict
