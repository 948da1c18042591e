"""Schedulers, workers and sessions that are lost in mid-run: one message that says what, and nothing counted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from veracity import engines
from veracity.engines._sums import Tallies
from veracity.read.parts import Batch
from veracity.state.plan import Plan

pytestmark = pytest.mark.slow

SCHEDULER = """
import asyncio, sys
from distributed import Scheduler

async def serve():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(serve())
"""
WORKER = """
import asyncio, sys
from distributed import Worker

async def serve():
    async with Worker(sys.argv[1], nthreads=1, dashboard=False) as worker:
        print(worker.address, flush=True)
        await worker.finished()

asyncio.run(serve())
"""


class Halting(Tallies):
    """Says that it has begun, and then takes its time."""

    def __init__(self, plan: Plan, flag: str) -> None:
        super().__init__(plan)
        self._flag = flag

    def take(self, batch: Batch) -> None:
        Path(self._flag).touch()
        time.sleep(20)


class Deadly(Tallies):
    """Kills its process whenever it is tried."""

    def take(self, batch: Batch) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(autouse=True)
def by_value() -> Iterator[None]:
    """Workers cannot import this file."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture
def started() -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Programs of their own, and the address that each prints."""
    running: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str) -> tuple[subprocess.Popen[str], str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", program, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
            )
        )
        assert running[-1].stdout is not None
        return running[-1], running[-1].stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


def when(flag: Path, act: Callable[[], Any]) -> threading.Thread:
    """Act as soon as the flag is there."""

    def wait() -> None:
        while not flag.exists():
            time.sleep(0.05)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_the_scheduler_is_lost(folder: Callable[[str], Path], tmp_path: Path, started: Any) -> None:
    scheduler, address = started(SCHEDULER)
    started(WORKER, address)
    flag = tmp_path / "begun"
    killer = when(flag, scheduler.kill)
    engine = engines.Engine("dask", {"scheduler": address, "timeout": 2})
    source = engine.open(folder("binary"))
    with pytest.raises(ValueError, match=f"the connection to the scheduler was lost in mid-run: {address}") as told:
        engine.total(source, partial(Halting, Plan(), str(flag)))
    assert "nothing of this run is kept" in str(told.value)
    killer.join()


def test_the_only_worker_is_lost(folder: Callable[[str], Path], started: Any) -> None:
    """Without anybody who starts it again."""
    _, address = started(SCHEDULER)
    worker, _ = started(WORKER, address)
    engine = engines.Engine("dask", {"scheduler": address, "timeout": 2})
    source = engine.open(folder("binary"))
    with pytest.raises(ValueError, match=f"dask: all workers at {address} are gone, and none came back within 2 s"):
        engine.total(source, partial(Deadly, Plan()))
    assert worker.wait(5) == -signal.SIGKILL
    # With a worker again, the same scheduler counts everything once.
    started(WORKER, address)
    counted = engine.count(source).tallies()
    expected = engines.Engine().count(source).tallies()
    assert {key: tally.sums.rows for key, tally in counted.items()} == {
        key: tally.sums.rows for key, tally in expected.items()
    }


def test_every_worker_dies_of_a_part(folder: Callable[[str], Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dask
        from distributed import LocalCluster

        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 1}),
            LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=60) as mortal,
        ):
            options = {"scheduler": mortal.scheduler_address}
            engine = engines.Engine("dask", options)
            source = engine.open(folder("binary") / "part07.parquet")
            with pytest.raises(
                ValueError, match=r"dask: part07\.parquet, task 0 of \w+ was tried on 2 workers"
            ) as told:
                engine.total(source, partial(Deadly, Plan()))
            assert "each died" in str(told.value)


LOST_SPARK = """
import sys, time
from functools import partial
from pathlib import Path
from veracity import engines
from veracity.engines._sums import Tallies
from veracity.state.plan import Plan

class Halting(Tallies):
    def __init__(self, plan, flag):
        super().__init__(plan)
        self.flag = flag

    def take(self, batch):
        Path(self.flag).touch()
        time.sleep(60)

engine = engines.Engine("spark", {"master": "local[2,4]"})
source = engine.open(sys.argv[1])
try:
    engine.total(source, partial(Halting, Plan(), sys.argv[2]))
except ValueError as problem:
    print(problem)
"""


@pytest.mark.spark
def test_the_spark_session_is_lost(folder: Callable[[str], Path], tmp_path: Path, java: str) -> None:
    flag = tmp_path / "begun"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = subprocess.Popen(
        [sys.executable, "-c", LOST_SPARK, str(folder("binary") / "part07.parquet"), str(flag)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )

    def kill() -> None:
        for child in psutil.Process(running.pid).children(recursive=True):
            if "java" in child.name():
                child.kill()

    killer = when(flag, kill)
    out, err = running.communicate(timeout=120)
    killer.join()
    assert "spark: the session was lost in mid-run" in out
    assert "nothing of this run is kept" in out
    assert "Traceback" not in err
