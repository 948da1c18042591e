"""Frames of the clusters' own kinds, delayed forecasts, files cut in parts, and clusters that are not there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from veracity import Tally, engines
from veracity.cli import run
from veracity.engines._sums import Job, Tallies
from veracity.inputs import Forecasts
from veracity.read import ReadOptions, read
from veracity.state.plan import Plan
from veracity.state.tally import total


def counts(tally: Tally) -> tuple[Any, ...]:
    held = (tally.pooled, tally.top, *tally.classwise)
    return (tally.sums.rows, tally.sums.zeros, *(h.all.tobytes() + h.true.tobytes() + h.cells.tobytes() for h in held))


def only(made: dict[str, Any]) -> Tally:
    (one,) = made.values()
    tally: Tally = one.tally
    return tally


@pytest.mark.slow
def test_dask_dataframe_counts_as_its_files(cluster: Any, folder: Callable[[str], Path]) -> None:
    import dask.dataframe as dd

    frame = dd.read_parquet(str(folder("grouped")))
    assert frame.npartitions > 16
    found = engines.assess(frame, ReadOptions(group=("site",)), engine="dask")
    expected = engines.assess(folder("grouped"), ReadOptions(group=("site",)))
    assert counts(only(found)) == counts(only(expected))
    (made,), (other,) = found.values(), expected.values()
    assert {k: v.n for k, v in made.groups["site"].levels.items()} == {
        k: v.n for k, v in other.groups["site"].levels.items()
    }


@pytest.mark.slow
def test_delayed_forecasts_are_counted_by_dask(cluster: Any) -> None:
    from dask.delayed import delayed

    parts = [delayed(Forecasts.of)([0, 1, 1, 0], [0.1, 0.8, p, 0.3]) for p in (0.2, 0.4, 0.6)]
    made = engines.assess(parts, engine="dask")
    whole = total([Tally.of([0, 1, 1, 0], [0.1, 0.8, p, 0.3]) for p in (0.2, 0.4, 0.6)])
    assert counts(only(made)) == counts(whole)
    model = engines.Engine("dask").recalibration(parts)
    with pytest.raises(ValueError, match="only files can be written as they are read"):
        model.write(model.adjustment(), "out.csv")
    odd = delayed(Forecasts.of)([0, 2, 1], [[0.1, 0.8, 0.1]] * 3)
    with pytest.raises(ValueError, match=r"partition 0.* and partition 3: tallies of different classes do not add"):
        engines.assess([*parts, odd], engine="dask")


def test_dask_without_a_client(folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of this machine, where nobody has opened a client."""
    monkeypatch.setattr("veracity.engines.dask._open_client", lambda: None)
    made = engines.assess(folder("binary"), engine="dask")
    assert counts(only(made)) == counts(only(engines.assess(folder("binary"))))


@pytest.mark.slow
def test_dask_without_workers_is_refused(folder: Callable[[str], Path]) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty:
        address = empty.scheduler_address
        with pytest.raises(ValueError, match=f"dask: no workers at {address}"):
            engines.assess(folder("binary"), engine="dask", options={"scheduler": address, "timeout": 0.5})
    with pytest.raises(ValueError, match=r"dask: no connection at tcp://127\.0\.0\.1:9"):
        engines.assess(folder("binary"), engine="dask", options={"scheduler": "tcp://127.0.0.1:9", "timeout": 0.5})


@pytest.mark.slow
@pytest.mark.spark
def test_spark_frame_counts_as_its_files(spark: Any, folder: Callable[[str], Path]) -> None:
    frame = spark.read.parquet(str(folder("binary"))).repartition(18)
    found = engines.assess(frame, engine="spark")
    assert counts(only(found)) == counts(only(engines.assess(folder("binary"))))


@pytest.mark.slow
@pytest.mark.spark
def test_spark_names_the_partition(spark: Any) -> None:
    frame = spark.range(0, 100, 1, 4).selectExpr("id % 2 as y", "if(id = 60, 1.5, 0.5) as p")
    with pytest.raises(ValueError, match=r"partition 2: .*1\.5"):
        engines.assess(frame, ReadOptions(label="y", positive_proba="p"), engine="spark")


@pytest.mark.slow
@pytest.mark.spark
def test_spark_reads_folders_by_address(
    spark: Any, folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """An address that Spark opens: a folder of Parquet files, a folder of text."""
    expected = counts(only(engines.assess(folder("binary"))))
    assert counts(only(engines.assess(f"file://{folder('binary')}", engine="spark"))) == expected
    text = engines.assess(f"file://{folder('text')}/*.csv", engine="spark")
    assert counts(only(text)) == counts(only(engines.assess(folder("text"))))
    with pytest.raises(ValueError, match=r"spark: .*PATH_NOT_FOUND"):
        engines.assess("file:///none/such.parquet", engine="spark")


def test_file_addresses_are_paths_and_others_need_spark(
    folder: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """file:// is a path; anything else is left to Spark."""
    expected = counts(only(engines.assess(folder("binary"))))
    assert counts(only(engines.assess(f"file://{folder('binary')}"))) == expected
    assert run(["assess", f"file://{folder('binary')}", "--quiet", "--engine", "local"]) == 0
    for engine in ("local", "dask"):
        assert run(["assess", "s3://bucket/part.parquet", "--engine", engine]) == 2
        assert "s3://bucket/part.parquet: an address, not a file" in capsys.readouterr().err


def test_rows_of_a_large_file(folder: Callable[[str], Path], tmp_path: Path) -> None:
    """A Parquet file in several parts counts as one, with the numbers of its rows."""
    path = tmp_path / "large.parquet"
    pl.read_parquet(folder("grouped") / "*.parquet").write_parquet(path, row_group_size=1000)
    options = {"part_bytes": path.stat().st_size // 5}
    for where in ((), ("site=B",)):
        source = engines.Engine("dask", options).open(path, ReadOptions(where=where))
        assert len(source.parts()) == 5
        job = Job(source, partial(Tallies, Plan()))
        states = [engines.local.run(job, [part], {}).state() for part in source.parts()]
        merged = Tallies(Plan())
        for state in states:
            merged.merge(state)
        (expected,) = read(path, ReadOptions(where=where)).values()
        (found,) = merged.tallies().values()
        assert counts(found) == counts(Tally.of(expected, plan=Plan()))
        assert found.lowest == Tally.of(expected, plan=Plan()).lowest


def test_small_files_share_tasks(tmp_path, monkeypatch):
    """In order, all of them, and about as large as one another; a part that has its own output stays alone."""
    from veracity.engines import _worker
    from veracity.read.parts import Part

    sizes = [3, 1, 1, 1, 1, 1, 1, 1, 7, 3]
    paths = [tmp_path / f"{i}" for i in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(bytes(1000 * size))
    parts = [Part(str(path)) for path in paths]
    job = Job(None, None)
    found = _worker.grouped(job, parts, 4)
    assert len(found) == 4
    assert [part for group in found for part in (group if isinstance(group, tuple) else (group,))] == parts
    weight = [sum(sizes[parts.index(p)] for p in (g if isinstance(g, tuple) else (g,))) for g in found]
    assert max(weight) <= 8
    assert _worker.grouped(job, parts, 10) is parts
    monkeypatch.setattr(_worker, "PART_BYTES", 1500)
    assert len(_worker.grouped(job, parts[1:8], 2)) == 6  # five would do, but not for two threads
    frames = [object()] * 40
    assert _worker.grouped(job, frames, 1) is frames
