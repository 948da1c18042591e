"""The work of a cluster's worker on one part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from veracity import read
from veracity.engines import local
from veracity.engines._sums import Job
from veracity.inputs import Forecasts
from veracity.read import Part, ReadOptions, Source
from veracity.read.parts import PART_BYTES, Batch
from veracity.read.paths import listed
from veracity.results.mapped_files import WriteJob
from veracity.state.accumulator import Progress

FAN = 8  # states that one task adds


def open_for_workers(data: Any, reading: ReadOptions, how: Mapping[str, Any], options: Mapping[str, Any]) -> Source:
    """Return files in parts that any worker can open."""
    files = listed(data)
    if any(file.keep is not None for file in files):
        raise ValueError("standard input cannot be read by workers\n  write it to a file first")
    return read.open(files, reading, cut=options.get("part_bytes", PART_BYTES), **how)


def grouped(job: Job | WriteJob, parts: Sequence[Any], threads: int) -> Sequence[Any]:
    """Return small files grouped into tuples, evenly for the threads: a state costs as much as millions of rows."""
    if isinstance(job, WriteJob) or not all(isinstance(part, Part) for part in parts):
        return parts
    sizes = np.array([PART_BYTES if part.rows is not None else part.size for part in parts], dtype=float)
    tasks = threads * max(1, math.ceil(sizes.sum() / (threads * PART_BYTES)))
    if len(parts) <= tasks:
        return parts
    middle = (np.cumsum(sizes) - sizes / 2) / max(sizes.sum(), 1.0)
    which = np.minimum((middle * tasks).astype(int), tasks - 1)
    groups = [tuple(part for part, own in zip(parts, which, strict=True) if own == task) for task in range(tasks)]
    return [group if len(group) > 1 else group[0] for group in groups if group]


def count(job: Job | WriteJob, part: Any, number: int) -> bytes:
    """Return the state of one part: one or several files, a range of rows, forecasts, or successive frames."""
    if isinstance(job, WriteJob):
        return job.write(part, number)
    if isinstance(part, (Part, tuple)):
        return local.run(job, part if isinstance(part, tuple) else [part], {}).state()
    name = f"partition {number}"
    total = job.make()
    total.name(name)
    given = isinstance(part, Forecasts)
    try:
        for batch in [Batch((part,), len(part))] if given else job.source.batches(Part(file=name, frames=part)):
            total.take(batch)
    except ValueError as problem:
        raise ValueError(f"{name}: {problem}") from None
    return total.state()


class PartsDone:
    """The parts that are done, each once however often it was tried."""

    def __init__(self, parts: int, progress: Callable[[Progress], None] | None) -> None:
        self.parts, self._progress = parts, progress
        self._seen: set[int] = set()
        self._started = time.monotonic()

    def __call__(self, number: int) -> None:
        self._seen.add(number)
        self.report(len(self._seen))

    def report(self, done: int) -> None:
        if self._progress is not None:
            seconds = time.monotonic() - self._started
            self._progress(Progress(0, done / self.parts, seconds, (done, self.parts)))
