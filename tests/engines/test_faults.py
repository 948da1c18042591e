"""What breaks is named; what is lost is counted again; nothing is counted twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from veracity import engines
from veracity.cli import run
from veracity.engines._sums import Tallies
from veracity.read import ReadOptions, read
from veracity.read.parts import Batch, Source
from veracity.state.plan import Plan


@pytest.fixture
def parts(folder: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of the binary parts that a test may damage."""
    return Path(shutil.copytree(folder("binary"), tmp_path / "parts"))


class Deadly(Tallies):
    """Kills its process after it has counted something, once."""

    def __init__(self, plan: Plan, flag: str) -> None:
        super().__init__(plan)
        self._flag = flag

    def take(self, batch: Batch) -> None:
        super().take(batch)
        try:
            os.close(os.open(self._flag, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


def bits(tallies: dict[Any, Any]) -> list[tuple[Any, ...]]:
    """All that is exact in tallies."""
    return [
        (
            key,
            t.sums.rows,
            t.sums.zeros,
            t.lowest,
            *(h.tobytes() for h in (t.pooled.cells, t.pooled.all, t.pooled.true)),
        )
        for key, t in sorted(tallies.items())
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dask", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_killed_worker_changes_nothing(
    name: str, parts: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue({"dask": "cluster", "spark": "spark"}[name])
    if name == "dask":
        import cloudpickle
    else:
        from pyspark import cloudpickle
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    flag = tmp_path / "killed"
    engine, local = engines.Engine(name), engines.Engine()
    counted = engine.total(engine.open(parts), partial(Deadly, Plan(), str(flag)))
    assert flag.exists()
    assert bits(counted.tallies()) == bits(local.total(local.open(parts), partial(Tallies, Plan())).tallies())


KILLED = """
import os, signal, sys
from functools import partial
from veracity import engines
from veracity.cli import run
from veracity.state.plan import Plan
import veracity.read.parts as parts
parts.MOST_ROWS = parts.FEWEST_ROWS = 256

def progress(now):
    if now.rows > 4000:
        os.kill(os.getpid(), signal.SIGKILL)

engines.assess(sys.argv[1], options={"checkpoint_seconds": 0}, checkpoint=sys.argv[2], progress=progress)
"""


@pytest.mark.parametrize("one_file", [False, True])
def test_a_killed_run_goes_on(parts: Path, tmp_path: Path, one_file: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data, kept = parts, tmp_path / "state"
    if one_file:
        data = tmp_path / "one.parquet"
        pl.read_parquet(parts / "*.parquet").write_parquet(data, row_group_size=500)
    killed = subprocess.run([sys.executable, "-c", KILLED, data, kept], check=False, env=_environment())
    assert killed.returncode == -signal.SIGKILL
    assert kept.exists()
    monkeypatch.setattr("veracity.read.parts.MOST_ROWS", 256)
    monkeypatch.setattr("veracity.read.parts.FEWEST_ROWS", 256)
    rows: list[int] = []
    (resumed,) = engines.assess(data, checkpoint=kept, progress=lambda now: rows.append(now.rows)).values()
    (whole,) = engines.assess(data).values()
    assert rows[0] > 3000  # it did not begin again
    assert not kept.exists()
    assert bits({"": resumed.tally}) == bits({"": whole.tally})
    assert {n: float(v) for n, v in resumed.measured.readings().items()} == {
        n: float(v) for n, v in whole.measured.readings().items()
    }
    for name in ("score", "powers", "column"):
        np.testing.assert_allclose(
            getattr(resumed.tally.sums, name), getattr(whole.tally.sums, name), rtol=1e-12, atol=1e-12
        )


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def checkpoint(parts: Path, tmp_path: Path) -> Path:
    """The checkpoint of a run over `parts` that was stopped."""

    def stop(now: Any) -> None:
        if now.rows > 2000:
            raise KeyboardInterrupt

    kept = tmp_path / "state"
    with pytest.raises(KeyboardInterrupt):
        engines.assess(parts, options={"checkpoint_seconds": 0}, checkpoint=kept, progress=stop)
    return kept


def test_a_checkpoint_of_another_run_is_refused(parts: Path, checkpoint: Path) -> None:
    before = checkpoint.read_bytes()
    with pytest.raises(ValueError, match="state is of another run: the plan differ"):
        engines.assess(parts, plan=Plan(floor=0.01), checkpoint=checkpoint)
    with pytest.raises(ValueError, match="the reading options differ"):
        engines.assess(parts, ReadOptions(missing="drop"), checkpoint=checkpoint)
    (parts / "part07.parquet").write_bytes((parts / "part08.parquet").read_bytes())
    with pytest.raises(ValueError, match="the files differ\n  give the same files and options, or delete it"):
        engines.assess(parts, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before


def test_a_damaged_checkpoint_is_refused(parts: Path, checkpoint: Path, tmp_path: Path) -> None:
    damaged = bytearray(checkpoint.read_bytes())
    damaged[-100] ^= 1
    checkpoint.write_bytes(damaged)
    with pytest.raises(ValueError, match="state is damaged"):
        engines.assess(parts, checkpoint=checkpoint)
    checkpoint.write_text("something else")
    with pytest.raises(ValueError, match="a file of another kind"):
        engines.assess(parts, checkpoint=checkpoint)
    with pytest.raises(ValueError, match="no folder"):
        engines.assess(parts, checkpoint=tmp_path / "none" / "state")


def damage(path: Path) -> None:
    """Keep the end, by which a Parquet file is opened, and spoil its pages."""
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = bytes(b ^ 0x5A for b in data[4 : len(data) // 2])
    path.write_bytes(data)


def test_a_damaged_file_is_named(engine: Any, parts: Path) -> None:
    damage(parts / "part11.parquet")
    with pytest.raises(ValueError, match=r"part11\.parquet"):
        engine.assess(parts)


def test_a_damaged_file_is_left_out_by_choice(engine: Any, parts: Path, tmp_path: Path) -> None:
    damage(parts / "part11.parquet")
    (parts / "part00.parquet").write_bytes(b"PAR1")
    (made,) = engine.assess(parts, on_error="skip").values()
    (skipped,) = (f for f in made.findings if f.code == "skipped_files")
    assert skipped.count == 2
    assert "part00.parquet, part11.parquet" in skipped.message
    (parts / "part00.parquet").unlink()
    (parts / "part11.parquet").unlink()
    (rest,) = engines.assess(parts).values()
    assert bits({"": made.tally}) == bits({"": rest.tally})


def test_a_file_that_vanishes_is_named(engine: Any, parts: Path) -> None:
    used = engines.Engine(engine.name)
    source = used.open(parts)
    (parts / "part12.parquet").unlink()
    with pytest.raises(ValueError, match=r"part12\.parquet: cannot be read"):
        used.count(source)


def test_a_part_that_grows_while_it_is_read_is_named(parts: Path) -> None:
    path = parts / "part12.parquet"
    source = engines.Engine().open(path)
    batches = source.batches(source.parts()[0], rows=100)
    next(batches)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(ValueError, match=r"part12\.parquet: changed while it was read"):
        list(batches)


@pytest.mark.parametrize("change", ["grows", "vanishes", "lacks a column"])
def test_a_later_file_that_changes_is_named_and_nothing_is_written(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, later = (tmp_path / name for name in ("jan.csv", "feb.csv"))
    for path, start in ((first, 0), (later, 300)):
        path.write_text("case,y,p\n" + "".join(f"{i},{i % 2},{(i % 7 + 1) / 9}\n" for i in range(start, start + 300)))
    if change == "lacks a column":
        later.write_text("case,y\n" + "".join(f"{i},{i % 2}\n" for i in range(300, 600)))
    whole, done = Source._of_table, []

    def changing(self: Source, table: Any, *rest: Any) -> Any:
        yield from whole(self, table, *rest)
        done.append(table.name)
        if change == "vanishes" and len(done) == 1:
            later.unlink()
        if change == "grows" and len(done) == 2:
            later.write_text(later.read_text() + "600,1,0.5\n")

    monkeypatch.setattr(Source, "_of_table", changing)
    out = tmp_path / "out.json"
    assert run(["assess", str(first), str(later), "--label", "y", "--json", str(out), "--force"]) == 2
    said = capsys.readouterr().err
    wanted = {"grows": "changed while it was read", "vanishes": "feb.csv: ", "lacks a column": "different columns (p)"}[
        change
    ]
    assert "feb.csv" in said
    assert wanted in said
    assert sorted(p.name for p in tmp_path.iterdir()) == ["feb.csv", "jan.csv"][change == "vanishes" :]


def test_a_part_with_other_columns_is_named(engine: Any, parts: Path) -> None:
    path = parts / "part09.parquet"
    pl.read_parquet(path).rename({"p": "q"}).write_parquet(path)
    with pytest.raises(ValueError, match=r"part00\.parquet and part09\.parquet have different columns \(p, q\)"):
        engine.assess(parts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.with_columns(pl.lit(7, pl.Int8).alias("y")), r"part09\.parquet"),
        (lambda f: f.with_columns(pl.lit("?").alias("p")), r"part09\.parquet"),
        (lambda f: f.with_columns((pl.col("p") * 100).alias("p")), r"part09\.parquet.*above 1"),
    ],
    ids=["classes", "type", "scale"],
)
def test_a_part_that_differs_is_named(parts: Path, change: Any, message: str) -> None:
    path = parts / "part09.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    with pytest.raises(ValueError, match=message):
        engines.assess(parts)


def test_no_rows_at_all(tmp_path: Path) -> None:
    pl.DataFrame({"y": pl.Series([], dtype=pl.Int8), "p": pl.Series([], dtype=pl.Float64)}).write_parquet(
        tmp_path / "none.parquet"
    )
    with pytest.raises(ValueError, match=r"none\.parquet: no rows"):
        engines.assess(tmp_path)


def test_rows_that_are_left_out_are_counted(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing is left of a batch, and no batch follows."""
    path = parts / "part19.parquet"
    frame = pl.read_parquet(path)
    gone = pl.int_range(pl.len()) >= 300
    frame.with_columns(pl.when(gone).then(None).otherwise(pl.col("p")).alias("p")).write_parquet(path)
    monkeypatch.setattr("veracity.read.parts.MOST_ROWS", 256)
    monkeypatch.setattr("veracity.read.parts.FEWEST_ROWS", 256)
    (made,) = engines.assess(parts, ReadOptions(missing="drop")).values()
    (left_out,) = (f for f in made.findings if f.code == "missing_rows")
    assert left_out.count == frame.height - 300
    assert made.n == pl.read_parquet(parts / "*.parquet").drop_nulls().height


@pytest.mark.parametrize("name", ["local", pytest.param("dask", marks=pytest.mark.slow)])
def test_cases_that_repeat_across_parts(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty ids stand once in each of three files, and two of them twice in the first."""
    if name == "dask":
        request.getfixturevalue("cluster")
    rng = np.random.default_rng(1)
    for i in range(3):
        who = [f"id {j}" for j in (*range(20), *((0, 7) if i == 0 else ()))] + [f"{i} {j}" for j in range(30)]
        p = rng.uniform(0.2, 0.8, len(who))
        y = (rng.random(len(who)) < p).astype(int)
        pl.DataFrame({"who": who, "y": y, "p": p}).write_parquet(tmp_path / f"{i}.parquet")
    reading = ReadOptions(id=("who",))
    (expected,) = read(sorted(tmp_path.iterdir()), reading).values()
    (in_memory,) = (f for f in expected.findings if f.code == "repeated_cases")
    (made,) = engines.assess(tmp_path, reading, engine=name).values()
    (found,) = (f for f in made.findings if f.code == "repeated_cases")
    assert (
        found.message
        == in_memory.message
        == "rows look dependent (62 of 152 share their case with another); the intervals assume they are not"
    )
    if name == "local":
        monkeypatch.setattr("veracity.engines._case_keys.MOST_IDS", 100)
        monkeypatch.setattr("veracity.engines._case_keys.MOST_CASES", 120)  # a limit of pairing alone
        (made,) = engines.assess(tmp_path, reading, engine=name).values()
        assert "more than 100 rows have ids" in " ".join(f.message for f in made.findings)


def test_unknown_engines_and_options_are_refused(parts: Path) -> None:
    with pytest.raises(ValueError, match="'cloud' is not one of dask, local, spark"):
        engines.assess(parts, engine="cloud")
    with pytest.raises(ValueError, match="local has no 'workers'\n  it has on_error, checkpoint_seconds"):
        engines.assess(parts, options={"workers": 3})
    with pytest.raises(ValueError, match="on_error=ignore is neither raise nor skip"):
        engines.assess(parts, options={"on_error": "ignore"})
    with pytest.raises(ValueError, match="checkpoint_seconds=soon is no float"):
        engines.assess(parts, options={"checkpoint_seconds": "soon"})
    with pytest.raises(ValueError, match="dask repeats lost work by itself"):
        engines.assess(parts, engine="dask", checkpoint=parts / "state")


def test_progress_rises_to_the_whole_input(parts: Path) -> None:
    seen: list[Any] = []
    engines.assess(parts, progress=seen.append)
    shares = [now.share for now in seen]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert seen[-1].rows == pl.read_parquet(parts / "*.parquet").height
    assert seen[-1].rate > 0
    assert seen[-1].left == pytest.approx(0.0)
