"""Ideal probabilities that are given tell grouping from irreducible loss in parts as in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import engines
from veracity.cli import run
from veracity.read import ReadOptions

LOSSES = ("L", "AL", "PCL", "CL", "GL", "IL", "EL", "PEL", "RL", "PL", "remainder")


def written(folder: Path, k: int, n: int, digits: int) -> None:
    """Forecasts that know a part of what the ideal knows, in three files."""
    rng = np.random.default_rng(k)
    for i in range(3):
        ideal = rng.dirichlet(np.full(k, 5.0), n)  # every class happens in every cell: no loss is infinite
        mixed = 0.7 * ideal + 0.3 * rng.dirichlet(np.ones(k), n)
        stated = np.round(0.03 + (1.0 - 0.03 * k) * mixed, digits)  # nothing is ruled out
        stated[:, 0] += 1.0 - stated.sum(axis=1)
        y = (rng.random(n)[:, None] > ideal.cumsum(axis=1)[:, :-1]).sum(axis=1)
        columns = {"label": y, "w": rng.gamma(3.0, size=n)}
        columns |= {f"p{j}": stated[:, j] for j in range(k)}
        columns |= {f"q{j}": ideal[:, j] for j in range(k)}
        pl.DataFrame(columns).write_parquet(folder / f"{i}.parquet", row_group_size=300)


@pytest.mark.parametrize(("k", "weight"), [(2, None), (3, None), (3, "w")])
def test_losses_with_ideal_are_equal_in_memory_and_in_parts(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    small_batches: Callable[[int], None],
    k: int,
    weight: str | None,
) -> None:
    written(tmp_path, k, 1000, 2)
    command = ["assess", str(tmp_path), "--proba", "p[0-9]", "--ideal", "q[0-9]", "--json", "-"]
    command += ["--weight", weight] if weight else []
    documents: list[dict[str, Any]] = []
    for rows in (1 << 20, 250):
        small_batches(rows)
        assert run(command) == 0
        documents.append(json.loads(capsys.readouterr().out))
    expected, found = documents
    for rule in ("log", "brier"):
        for name in LOSSES:
            one, other = expected["losses"][rule][name], found["losses"][rule][name]
            # All distinct rows fit, so the maps are fitted on the same rows in another order.
            assert other["value"] == pytest.approx(one["value"], rel=1e-8, abs=1e-10), (rule, name)
            assert (other["method"], other.get("reason")) == (one["method"], one.get("reason")), (rule, name)
            for end in ("low", "high"):
                if one[end] is None:
                    assert other[end] is None, (rule, name, end)
                else:
                    assert other[end] == pytest.approx(one[end], rel=1e-6, abs=1e-8), (rule, name, end)
    codes = [{f["code"] for f in document["findings"]} for document in documents]
    assert codes[0] == codes[1]
    assert "ideal_given" in codes[1]


def test_features_tell_the_ideal_in_parts(folder: Callable[[str], Path], small_batches: Callable[[int], None]) -> None:
    options = ReadOptions(feature=("site",))
    found = []
    for data in (folder("grouped") / "part17.parquet",) * 2:
        found.append(*engines.assess(data, options).values())
        small_batches(50)
    one, other = found
    assert float(one.losses("log").GL) > 0.0
    for rule in ("log", "brier"):
        for name in LOSSES:
            expected = float(one.losses(rule).readings()[name])
            assert float(other.losses(rule).readings()[name]) == pytest.approx(
                expected, rel=1e-9, abs=1e-12, nan_ok=True
            ), name
    assert {f.message for f in one.findings} == {f.message for f in other.findings}
    assert "3 distinct feature rows" in " ".join(f.message for f in other.findings)


@pytest.mark.slow
def test_ideal_on_a_cluster_equals_that_on_one_machine(tmp_path: Path, cluster: Any) -> None:
    written(tmp_path, 3, 500, 2)
    reading = ReadOptions(proba="p[0-9]", ideal="q[0-9]")
    (one,), (other,) = (engines.assess(tmp_path, reading, engine=name).values() for name in ("local", "dask"))
    for name in LOSSES:
        assert float(other.losses("log").readings()[name]) == pytest.approx(
            float(one.losses("log").readings()[name]), rel=1e-9, abs=1e-12
        )


def test_ideals_are_looked_at(tmp_path: Path) -> None:
    written(tmp_path, 3, 200, 2)
    frame = pl.read_parquet(tmp_path / "1.parquet")
    frame.with_columns(pl.when(pl.int_range(200) == 77).then(1.5).otherwise("q1").alias("q1")).write_parquet(
        tmp_path / "1.parquet"
    )
    with pytest.raises(ValueError, match=r"1\.parquet: .*row 78.*\n  give the ideal as probabilities"):
        engines.assess(tmp_path, ReadOptions(proba="p[0-9]", ideal="q[0-9]"))
