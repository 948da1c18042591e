"""Spark: `mapInArrow` makes one state of each partition, executors add them in a tree.

Never accumulators: a task that is tried again would count twice.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from veracity.engines._sums import Job, Sum
from veracity.engines._worker import FAN, count, opened_for_workers
from veracity.read import Reading
from veracity.read.parts import Part, Stream, of_sample

OPTIONS = {"master": str, "part_bytes": int}
STATE = "key long, state binary"
SAID = "veracity says "  # before a message that a worker hands to the driver
ROWS = 1 << 18  # gathered from Arrow batches before they are counted
SAMPLE = 20_000


def parts_of(data: Any, reading: Reading, skip_broken: bool, options: Mapping[str, Any]) -> tuple[Stream, Any]:
    """Of a DataFrame, of paths that every worker can open, or of a path with a scheme that Spark opens."""
    if isinstance(data, str) and "://" in data:
        read = _session(options).read
        data = read.csv(data, header=True) if ".csv" in data.lower() else read.parquet(data)
    if isinstance(data, DataFrame):
        return of_sample(data.limit(SAMPLE).toArrow(), reading, "the DataFrame"), data
    return opened_for_workers(data, reading, skip_broken, options)


def run(job: Job, parts: Any, options: Mapping[str, Any], **_: Any) -> Sum:
    """The sum over all partitions."""
    if isinstance(parts, DataFrame):
        frame, work = parts, _of_rows(job)
        left = frame.rdd.getNumPartitions()
    else:
        left = len(parts)
        frame, work = _session(options).range(0, left, 1, left), _of_parts(job, parts)
    states = frame.mapInArrow(work, STATE)
    while left > 1:
        states, left = states.groupBy("key").applyInArrow(_adding(job), STATE), -(-left // FAN)
    total = job.make()
    try:
        for row in states.select("state").collect():
            total.merge(bytes(row["state"]))
    except PySparkException as problem:
        raise _in_words(problem) from None
    return total


def _session(options: Mapping[str, Any]) -> SparkSession:
    """The session that is open, or a new one whose workers run this Python."""
    builder = SparkSession.builder
    if SparkSession.getActiveSession() is None:
        builder = builder.config("spark.log.level", "OFF").config("spark.ui.showConsoleProgress", "false")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else it would be any python3
    return (builder.master(options["master"]) if "master" in options else builder).getOrCreate()


Batches = Iterator[pa.RecordBatch]


def _of_parts(job: Job, parts: list[Part]) -> Callable[[Batches], Batches]:
    def counted(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _state(number // FAN, _told(partial(count, job, parts[number], number)))

    return counted


def _of_rows(job: Job) -> Callable[[Batches], Batches]:
    def counted(batches: Batches) -> Batches:
        number = TaskContext.get().partitionId()  # type: ignore[union-attr]
        yield _state(number // FAN, _told(partial(count, job, _gathered(batches), number)))

    return counted


def _adding(job: Job) -> Callable[[pa.Table], pa.Table]:
    def added(table: pa.Table) -> pa.Table:
        key, states = table.column("key")[0].as_py(), (value.as_py() for value in table.column("state"))
        return pa.Table.from_batches([_state(key // FAN, _told(partial(job.merged, states)))])

    return added


def _state(key: int, state: bytes) -> pa.RecordBatch:
    return pa.record_batch({"key": pa.array([key], pa.int64()), "state": pa.array([state], pa.binary())})


def _gathered(batches: Batches) -> Iterator[pa.Table]:
    """Arrow batches as tables that are worth counting."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(b.num_rows for b in held) >= ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _told(work: Callable[[], bytes]) -> bytes:
    """What is wrong with the data, marked so that the driver finds it in Spark's report."""
    try:
        return work()
    except ValueError as problem:
        raise RuntimeError(SAID + json.dumps(str(problem))) from None


def _in_words(problem: PySparkException) -> ValueError:
    text = str(problem)
    at = text.find(SAID)
    if at >= 0:
        said, _ = json.JSONDecoder().raw_decode(text, at + len(SAID))
        return ValueError(said)
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [type(problem).__name__]
    raised = [line for line in lines if re.match(r"\w+(Error|Exception): ", line)]
    return ValueError(f"spark: {(raised or lines)[0]}\n  the log of the executors says more")
