"""One path: the whole document is equal in memory, in batches, in seven uneven parts, in any order, on every engine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity import engines
from veracity.cli import run
from veracity.state.tally import Tally, total

# What an iterative fit gives: maps and calibration slopes stop when a step is small.
FITTED = ("calibration_slope", "losses", "remedies", "adjustment", "verdict_detail", "decomposed_profile", "corp")
CLOSE = (1e-9, 1e-9)  # of few rows: sums in another order, and fits that stop at 1e-12
# Rows have other numbers in another order or in parts.
ROWS = re.compile(r"\b[Rr]ows? \d+( of [\w.]+)?(, (\d+( of [\w.]+)?|…))*")
# Sections that list nothing by class, which an order of classes would move.
WITHOUT_CLASSES = (
    "scores", "skill", "reported", "expected", "measured", "papers", "divergence", "spread_ratio", "verdict",
    "risk_profile", "floors", "decomposition", "losses", "calibration_error", "decomposed_profile", "bins", "remedies",
)  # fmt: skip
SMALL = [(2, 900), (10, 700), (60, 400)]
LARGE = [pytest.param(k, 140_000, marks=pytest.mark.slow) for k in (2, 10)]  # more rows than there are analysis rows


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


def cuts(n: int) -> list[slice]:
    """Seven uneven parts, one of them a single row."""
    return [slice(*ends) for ends in pairwise([0, 3, n // 9, n // 9 + 1, n // 3, n // 2, n - 20, n])]


def document(made: Any) -> dict[str, Any]:
    """The document without its origin and without the numbers of rows."""
    made = json.loads(made if isinstance(made, str) else made.to_json())
    for name in ("provenance", "model"):
        made.pop(name, None)
    for told in [*made["findings"], *made["surprises"], *made["verdict_detail"]["ruled_out"]]:
        for name in ("rows", "row", "files", "file"):
            told.pop(name, None)
    return dict(made)


def same(a: Any, b: Any, at: str = "", bounds: tuple[float, float] = (1e-9, 1e-6)) -> None:
    """Numbers are equal to the first bound, those that are fitted to the second."""
    if isinstance(a, dict):
        assert list(a) == list(b), at
        for name in a:
            same(a[name], b[name], f"{at}.{name}" if at else name, bounds)
    elif isinstance(a, list):
        assert len(a) == len(b), at
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{at}[{i}]", bounds)
    elif isinstance(a, float) or isinstance(b, float):
        bound = bounds[re.split(r"[.[]", at)[0] in FITTED]
        assert a == pytest.approx(b, rel=bound, abs=1e-12 if bounds == CLOSE else bound), at
    elif isinstance(a, str):
        assert ROWS.sub("", a) == ROWS.sub("", b), at
    else:
        assert a == b, at


@pytest.mark.parametrize(("k", "n"), [*SMALL, *LARGE])
def test_document_is_equal_in_memory_in_parts_and_in_any_order(k: int, n: int) -> None:
    y, p = forecasts(k, n)
    labels = list(range(k))
    whole = document(vc.assess(y, p, labels=labels))
    parts = total(Tally.of(y[rows], p[rows], labels=labels) for rows in cuts(n))
    same(whole, document(vc.assess(parts)))
    order = np.random.default_rng(1).permutation(n)
    same(whole, document(vc.assess(y[order], p[order], labels=labels)))


@pytest.mark.parametrize(("k", "n"), SMALL[1:])
def test_numbers_are_equal_for_any_order_of_classes(k: int, n: int) -> None:
    y, p = forecasts(k, n)
    names = np.array([f"c{j:02}" for j in range(k)])
    order = np.random.default_rng(5).permutation(k)
    one, other = (document(vc.assess(names[y], p[:, at], labels=list(names[at]))) for at in (np.arange(k), order))
    for made in (one, other):
        made["papers"]["classes"] = dict(sorted(made["papers"]["classes"].items()))
    for section in WITHOUT_CLASSES:
        same(one[section], other[section], section)


@pytest.mark.parametrize(("k", "n"), [*SMALL, LARGE[-1]])
def test_document_of_files_is_that_of_arrays_on_every_engine(engine: Any, tmp_path: Path, k: int, n: int) -> None:
    y, p = forecasts(k, n)
    frame = pl.DataFrame({"label": y, **{f"p{j}": p[:, j] for j in range(k)}})
    for i, rows in enumerate(np.array_split(np.arange(n), 7)):
        frame[rows].write_parquet(tmp_path / f"part{i}.parquet")
    (made,) = engine.assess([str(tmp_path)]).values()
    (held,) = engines.assess(frame, engine="local").values() if engine.name == "local" else [None]
    memory = document(vc.assess(y, p, labels=[str(j) for j in range(k)] if made.classes[0] == "0" else list(range(k))))
    found = document(made)
    told = {finding["code"] for finding in memory["findings"]}
    found["findings"] = [finding for finding in found["findings"] if finding["code"] in told]  # about reading files
    same(memory, found)
    assert held is None or held.verdict == made.verdict


@pytest.fixture(params=SMALL)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder with the same rows, of two sites, in one file, in parts, and shuffled."""
    k, n = request.param
    y, p = forecasts(k, n)
    columns = {"p": p[:, 1]} if k == 2 else {f"p{j}": p[:, j] for j in range(k)}
    frame = pl.DataFrame({"y": y, **columns, "site": np.random.default_rng(k).choice(["A", "B"], n)})
    frame.write_parquet(tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    for i, rows in enumerate(cuts(n)):
        frame[rows].write_parquet(tmp_path / "parts" / f"{i}.parquet")
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(tmp_path / "shuffled.parquet")
    return tmp_path


@pytest.fixture
def assessed(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """The document that the command prints, by site."""

    def printed(path: Path, *options: str) -> dict[str, Any]:
        assert run(["assess", str(path), "--group", "site", "--json", "-", *options]) == 0
        return document(capsys.readouterr().out)

    return printed


def test_document_of_the_command_is_equal_in_parts_on_every_engine(
    engine: Any, files: Path, assessed: Callable[..., dict[str, Any]]
) -> None:
    same(assessed(files / "whole.parquet"), assessed(files / "parts", "--engine", engine.name), bounds=CLOSE)


def test_document_of_the_command_is_equal_in_batches_and_for_shuffled_rows(
    files: Path, assessed: Callable[..., dict[str, Any]], small_batches: Callable[[int], None]
) -> None:
    expected = assessed(files / "whole.parquet")
    same(expected, assessed(files / "shuffled.parquet"), bounds=CLOSE)
    small_batches(64)
    same(expected, assessed(files / "whole.parquet"), bounds=CLOSE)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder with outcomes between 0 and 1 in one file and in parts, some without them or with certain forecasts."""
    rng = np.random.default_rng(8)
    p = np.round(rng.random(90), 1)
    y = np.where(rng.random(90) < 0.5, np.round(rng.random(90), 1), rng.random(90) < p)
    y[:30], p[60:70] = rng.random(30) < p[:30], 1.0
    frame = pl.DataFrame({"y": y, "p": p, "site": rng.choice(["A", "B"], 90)})
    frame.write_parquet(tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    for i, start in enumerate(range(0, 90, 10)):
        frame[start : start + 10].write_parquet(tmp_path / "parts" / f"{i}.parquet")
    return tmp_path


def test_split_outcomes_are_one_case_each_on_every_engine(
    engine: Any, shared: Path, assessed: Callable[..., dict[str, Any]]
) -> None:
    roles = ("--label", "y", "--positive-proba", "p")
    whole = assessed(shared / "whole.parquet", *roles)
    assert any(told["code"] == "soft_outcomes" for told in whole["findings"])
    same(whole, assessed(shared / "parts", *roles, "--engine", engine.name), bounds=CLOSE)
