"""The engines, each with its cluster, and folders of parts for them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import engines
from veracity.engines._sums import Tallies
from veracity.read import ReadOptions
from veracity.state.plan import Plan
from veracity.state.tally import Tally

PARTS = 20  # more than two levels of a tree of eight


@dataclass(frozen=True)
class Engine:
    """An engine under test."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def tallies(self, data: Any, reading: ReadOptions | None = None, plan: Plan | None = None) -> dict[str, Tally]:
        engine = engines.Engine(self.name, self.options)
        counted: Tallies = engine.count(engine.open(data, reading), plan)
        return counted.tallies()

    def assess(self, data: Any, reading: ReadOptions | None = None, **options: Any) -> Any:
        return engines.assess(data, reading, engine=self.name, options=self.options | options)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Dask cluster of two processes, open as the default client."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made,
            Client(made) as client,
        ):
            yield client


@pytest.fixture(scope="session")
def spark(java: str) -> Iterator[Any]:
    """A Spark session with two threads that try a lost task again (plain local[2] would not)."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = (
            SparkSession.builder.master("local[2,4]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.log.level", "OFF")
            .getOrCreate()
        )
        yield made
        made.stop()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """From now on, files are read so many rows at a time."""

    def cut(rows: int) -> None:
        for name, value in (("MOST_ROWS", rows), ("FEWEST_ROWS", 1)):
            monkeypatch.setattr(f"veracity.read.parts.{name}", value)

    return cut


@pytest.fixture
def by_passes(monkeypatch: pytest.MonkeyPatch, small_batches: Callable[[int], None]) -> Callable[[], None]:
    """From now on, files are read in small batches and few rows are kept: what needs all of them passes over them."""

    def cut() -> None:
        small_batches(64)
        monkeypatch.setattr("veracity.state.analysis_rows.MOST_ROWS", 100)

    return cut


ENGINES = [
    pytest.param("local"),
    pytest.param("dask", marks=pytest.mark.slow),
    pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.spark]),
]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Every engine in turn."""
    if request.param == "dask":
        request.getfixturevalue("cluster")
    if request.param == "spark":
        request.getfixturevalue("spark")
    return Engine(request.param)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of parts by kind of data, made once."""
    made: dict[str, Path] = {}

    def of(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind)
            rng = np.random.default_rng(sorted(KINDS).index(kind))
            for i in range(PARTS):
                frame = KINDS[kind](rng, 0 if i == 3 else 100 + 37 * i)  # one part has no rows
                if kind == "text":
                    frame.write_csv(made[kind] / f"part{i:02}.csv")
                else:
                    frame.write_parquet(made[kind] / f"part{i:02}.parquet")
        return made[kind]

    return of


def _binary(rng: np.random.Generator, n: int) -> pl.DataFrame:
    p = rng.beta(0.5, 0.7, n)
    p[rng.random(n) < 0.1] = 0.25  # repeated rows
    p[rng.random(n) < 0.02] = 0.0
    return pl.DataFrame({"y": (rng.random(n) < p).astype(np.int8), "p": p})


def _grouped(rng: np.random.Generator, n: int) -> pl.DataFrame:
    p = rng.dirichlet([0.5, 0.5, 1.0], n).astype(np.float32)
    y = (rng.random(n)[:, None] > p.cumsum(axis=1)[:, :2]).sum(axis=1)
    names = np.array(["low", "mid", "high"])
    columns = {f"p_{name}": p[:, j] for j, name in enumerate(names)}
    return pl.DataFrame({"label": names[y], **columns, "site": rng.choice(["A", "B", "C"], n)})


def _weighted(rng: np.random.Generator, n: int) -> pl.DataFrame:
    return _binary(rng, n).with_columns(
        pl.Series("w", rng.gamma(2.0, size=n)), pl.Series("times", rng.integers(1, 4, n))
    )


def _logs(rng: np.random.Generator, n: int) -> pl.DataFrame:
    return pl.DataFrame({"logprob": -rng.exponential(2.0, n) - 300.0 * (rng.random(n) < 0.01)})


def _many(rng: np.random.Generator, n: int, k: int = 60) -> pl.DataFrame:
    p = rng.dirichlet(np.full(k, 0.1), n)
    return pl.DataFrame({"y": rng.integers(0, k, n), **{f"p{j}": p[:, j] for j in range(k)}})


KINDS: dict[str, Callable[[np.random.Generator, int], pl.DataFrame]] = {
    "binary": _binary,
    "grouped": _grouped,
    "weighted": _weighted,
    "logs": _logs,
    "many": _many,
    "very many": partial(_many, k=150),  # wide cells
    "text": _binary,
}
