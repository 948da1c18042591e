"""The names of clusters matter as little on a cluster of machines and in batches as they do in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import engines
from veracity.read import ReadOptions

READING = ReadOptions(label="y", positive_proba="p", cluster="who", group=("site",))


def written(folder: Path, names: list[str]) -> Path:
    """Cases of twenty units in two files, repeated forecasts among them."""
    rng = np.random.default_rng(7)
    unit = rng.integers(0, 20, 600)
    z = rng.normal(size=600) + 0.8 * rng.normal(size=20)[unit]
    p = np.round(1 / (1 + np.exp(-1.3 * z)), 1) * 0.9 + 0.05
    y = (rng.random(600) < 1 / (1 + np.exp(-z))).astype(int)
    frame = pl.DataFrame({"y": y, "p": p, "who": np.array(names)[unit], "site": np.array(["n", "s", "w"])[unit % 3]})
    folder.mkdir()
    frame[:250].write_parquet(folder / "a.parquet")
    frame[250:].write_parquet(folder / "b.parquet")
    return folder


def both(folder: Path) -> tuple[Path, Path]:
    plain = [f"unit {i:02d}" for i in range(20)]
    return written(folder / "plain", plain), written(folder / "other", [f"{(7 * i) % 20} µ" for i in range(20)])


def document(found: dict[str, Any]) -> Any:
    (one,) = found.values()
    held = json.loads(one.to_json())
    held.pop("provenance")
    return held


def same(one: Any, other: Any, path: str = "") -> None:
    """Compare documents; sums of clusters in another order are rounded otherwise."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for name in one:
            same(one[name], other[name], f"{path}.{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), path
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            same(a, b, f"{path}[{i}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-12), path
    else:
        assert one == other, path


@pytest.mark.parametrize("rows", [1 << 20, 100])
def test_the_names_of_clusters_in_files_do_not_matter(
    tmp_path: Path, small_batches: Callable[[int], None], rows: int
) -> None:
    small_batches(rows)
    one, other = (document(engines.assess(folder, READING)) for folder in both(tmp_path))
    assert one["verdict_detail"]["method"] == "signs of 20 blocks"
    same(one, other)


@pytest.mark.slow
def test_the_names_of_clusters_on_a_cluster_do_not_matter(tmp_path: Path, cluster: Any) -> None:
    one, other = (document(engines.assess(folder, READING, engine="dask")) for folder in both(tmp_path))
    same(one, other)
