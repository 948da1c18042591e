"""Spark: `mapInArrow` makes one state of each partition, executors add them in a tree.

Never accumulators: a task that is tried again would count twice.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from veracity.engines._sums import Job, merged
from veracity.engines._worker import FAN, PartsDone, count, grouped, open_for_workers
from veracity.read import ReadOptions, Source
from veracity.read.parts import source_of_frame
from veracity.state.accumulator import Accumulator, Progress

OPTIONS = {"master": str, "part_bytes": int}
STATE = "key long, state binary"
MARK = "veracity says "  # finds a worker's message in Spark's report
ROWS = 1 << 18  # gathered from Arrow batches before they are counted
SAMPLE = 20_000  # rows of a frame in which the layout is recognised
LOOK = 0.5  # seconds between looks at how many tasks are done


def open(data: Any, reading: ReadOptions, how: Mapping[str, Any], options: Mapping[str, Any]) -> Source:
    """Return the source of a DataFrame, of paths that every worker can open, or of an address that Spark opens."""
    name = "DataFrame"
    if isinstance(data, str) and "://" in data:
        name = data
        with _one_message():
            reader = _session(options).read
            text = ".csv" in data.lower()
            data = reader.csv(data, header=True, inferSchema=True) if text else reader.parquet(data)
    if isinstance(data, DataFrame):
        with _one_message():
            sample = data.limit(SAMPLE).toArrow()
        return source_of_frame(sample, reading, name, data)
    return open_for_workers(data, reading, how, options)


def run(
    job: Job, parts: Any, options: Mapping[str, Any], *, progress: Callable[[Progress], None] | None = None, **_: Any
) -> Accumulator:
    """Return the sum over all partitions."""
    with _one_message():
        if isinstance(parts, DataFrame):
            frame, work = parts, _of_rows(job)
            left = frame.rdd.getNumPartitions()
        else:
            session = _session(options)
            parts = grouped(job, parts, session.sparkContext.defaultParallelism)
            left = len(parts)
            frame, work = session.range(0, left, 1, left), _of_parts(job, parts)
        states = frame.mapInArrow(work, STATE)
        done = PartsDone(left, progress)
        while left > FAN:  # a shuffle takes longer than adding a few here
            states, left = states.groupBy("key").applyInArrow(_adding(job), STATE), -(-left // FAN)
        with _watched(frame.sparkSession, done) if progress is not None else nullcontext():
            rows = states.select("state").collect()
    total = job.make()
    for row in rows:
        total.merge(bytes(row["state"]))
    return total


@contextmanager
def _watched(session: SparkSession, done: PartsDone) -> Iterator[None]:
    """Report the completed tasks of the first stage, which counts the parts."""
    over = threading.Event()

    def look() -> None:
        tracker = session.sparkContext.statusTracker()
        with suppress(Exception):  # a lost session fails where its result is awaited
            while not over.wait(LOOK):
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                for stage in stages:
                    if stage is not None and stage.numTasks == done.parts:
                        done.report(stage.numCompletedTasks)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _session(options: Mapping[str, Any]) -> SparkSession:
    """Return the open session, or a new one whose workers run this Python."""
    builder = SparkSession.builder
    own = SparkSession.getActiveSession() is None
    if own:
        builder = builder.config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else it would be any python3
    session = (builder.master(options["master"]) if "master" in options else builder).getOrCreate()
    if own:
        server: Any = getattr(session.sparkContext, "_accumulatorServer", None)
        if server is not None:
            server.handle_error = lambda *_: None  # a lost session is reported once, without its traceback
    return session


Batches = Iterator[pa.RecordBatch]


def _of_parts(job: Job, parts: Sequence[Any]) -> Callable[[Batches], Batches]:
    def counted(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _state(number // FAN, _marked(partial(count, job, parts[number], number)))

    return counted


def _of_rows(job: Job) -> Callable[[Batches], Batches]:
    def counted(batches: Batches) -> Batches:
        number = TaskContext.get().partitionId()  # type: ignore[union-attr]
        yield _state(number // FAN, _marked(partial(count, job, _gathered(batches), number)))

    return counted


def _adding(job: Job) -> Callable[[pa.Table], pa.Table]:
    def added(table: pa.Table) -> pa.Table:
        key, states = table.column("key")[0].as_py(), (value.as_py() for value in table.column("state"))
        return pa.Table.from_batches([_state(key // FAN, _marked(partial(merged, job.make, states)))])

    return added


def _state(key: int, state: bytes) -> pa.RecordBatch:
    return pa.record_batch({"key": pa.array([key], pa.int64()), "state": pa.array([state], pa.binary())})


def _gathered(batches: Batches) -> Iterator[pa.Table]:
    """Yield Arrow batches gathered into large tables."""
    buffer: list[pa.RecordBatch] = []
    for batch in batches:
        buffer.append(batch)
        if sum(b.num_rows for b in buffer) >= ROWS:
            yield pa.Table.from_batches(buffer)
            buffer = []
    if buffer:
        yield pa.Table.from_batches(buffer)


def _marked(work: Callable[[], bytes]) -> bytes:
    """Return the state, or raise the message about the data, marked so that the driver finds it in Spark's report."""
    try:
        return work()
    except ValueError as problem:
        raise RuntimeError(MARK + json.dumps(str(problem))) from None


@contextmanager
def _one_message() -> Iterator[None]:
    """Turn Spark's reports into one message."""
    try:
        yield
    except PySparkException as problem:
        raise _message(str(problem) or type(problem).__name__) from None
    except Py4JJavaError as problem:
        raise _message(str(problem.java_exception)) from None
    except (Py4JError, ConnectionError) as lost:
        raise ValueError(
            f"spark: the session was lost in mid-run ({type(lost).__name__}): its Java process is gone\n"
            "  look at its memory (spark.driver.memory) and run this again: nothing of this run is kept"
        ) from None


def _message(text: str) -> ValueError:
    at = text.find(MARK)
    if at >= 0:
        message, _ = json.JSONDecoder().raw_decode(text, at + len(MARK))
        return ValueError(message)
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    if "JAVA_GATEWAY_EXITED" in text:
        return ValueError(f"spark: {lines[0]}\n  Spark needs Java 17 or later: install it, or set JAVA_HOME")
    raised = [line for line in lines if re.match(r"\w+(Error|Exception): ", line)]
    return ValueError(f"spark: {(raised or lines)[0]}\n  the log of the executors says more")
